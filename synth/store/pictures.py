"""Pictures of real trees, as quick as ``git status``: a commit with what differs from it, else files by time stamp and size.

Contents go into the store, never into the user's repository. What is left out (ignored directories, secrets, what is too large)
is named, with the reason.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

from synth.store.objects import Objects

MOST_FILES = 20_000
"""Of a tree without git, and of the files that differ from the commit."""
MOST_BYTES = 64 << 20
"""Of contents read for one picture."""
LARGEST = 8 << 20
"""Of one file."""
_STATUS = (
    "git", "--no-optional-locks", "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--ignored=matching",
)  # fmt: skip
_LISTED = ("git", "--no-optional-locks", "ls-files", "-t", "-z")
GIT_S = 10.0
"""Seconds that git may take."""
IGNORED, UNREADABLE = "ignored by git", "it may not be read"
MOST_NAMED = 50
"""Paths that are left out, told one by one; what git does not ignore is always known by the picture."""
LEFT_OUT = frozenset({
    ".git", "node_modules", "__pycache__", ".venv", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".assay",
})  # fmt: skip
OURS = (".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json", ".gemini/settings.json")
"""Where hooks are installed: they are no part of a project."""
_OUR_PLACES = frozenset(path.partition("/")[0] for path in OURS)
SECRET = re.compile(
    r"(^|/)(\.env(\.(?!example|sample|template)[\w.-]+)?|id_(rsa|dsa|ecdsa|ed25519)|\.netrc|\.pgpass|credentials(\.json)?|[^/]+\.(pem|p12|pfx|key))$"
)
"""Paths whose contents are not kept."""


@dataclass(slots=True)
class Picture:
    """A tree: all of a commit but for ``files`` and ``gone``; without a commit, ``files`` are all."""

    root: str
    commit: str = ""
    files: dict[str, list[str]] = field(default_factory=dict)
    """Path -> kind (file, symlink, dir), mode in octal, digest (of a link its target)."""
    gone: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    """Path that is not in the picture -> why."""
    failed: str = ""
    """Why there is no picture."""

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Picture:
        return cls(**json.loads(text))


def project_root(cwd: Path) -> tuple[Path, bool]:
    """The top of the git work tree that holds a directory, else the directory itself; and which of the two."""
    for place in (cwd, *cwd.parents):
        if (place / ".git").exists():
            return place, True
    return cwd, False


def picture_of(root: Path, git: bool, objects: Objects, index: Path, as_of: float | None = None) -> Picture:
    """The picture of a tree now. Never raises: what could not be seen is said in ``failed``.

    Args:
        git: Whether it is a git work tree.
        index: File that remembers digests by time stamp and size.
        as_of: The time (seconds since the epoch) that it is to be of; what was changed since then spoils it. None = now.
    """
    picture = Picture(str(root))
    try:
        _Taker(picture, root, objects, index, as_of).take(git)
    except subprocess.TimeoutExpired:
        picture.failed = f"git status took more than {GIT_S:.0f} s"
    except subprocess.CalledProcessError as e:
        picture.failed = f"git status failed: {' '.join(os.fsdecode(e.stderr).split())[:300]}"
    except (OSError, ValueError) as e:
        picture.failed = f"the tree cannot be read: {e}"
    return picture


class _Taker:
    def __init__(self, picture: Picture, root: Path, objects: Objects, index: Path, as_of: float | None) -> None:
        self.picture, self.root, self.objects, self._as_of = picture, root, objects, as_of
        self._index_file = index
        self._known = _load(index)
        self._new: dict[str, list[object]] = {}
        self._bytes = 0

    def take(self, git: bool) -> None:
        paths = list(islice(self._of_git() if git else self._walk(""), MOST_FILES + 1))
        if len(paths) > MOST_FILES:  # said before any is read: an agent waits
            self.picture.failed = f"more than {MOST_FILES} files would have to be kept"
            return
        for path in paths:
            try:
                self._add(path)
            except PermissionError:
                self._leave_out(path, UNREADABLE)
        if self._new != self._known:
            _save(self._index_file, self._new)

    # ------------------------------------------------------------ which files

    def _of_git(self) -> Iterator[str]:
        """What differs from the commit, by git's own index."""
        if self._is_sparse():
            listed = (entry.partition(" ") for entry in self._git(_LISTED))
            self.picture.gone += [path for tag, _, path in listed if tag == "S"]
        records = self._git(_STATUS)
        for record in records:
            kind, _, rest = record.partition(" ")
            if record.startswith("# branch.oid ") and "initial" not in record:
                self.picture.commit = record.removeprefix("# branch.oid ")
            elif kind == "!":
                self._leave_out(rest.rstrip("/"), IGNORED)
            elif kind == "?" and rest.endswith("/"):
                self._leave_out(rest.rstrip("/"), "a repository of its own")
            elif kind == "?":
                yield rest
            elif kind in ("1", "u"):
                yield from self._tracked(rest, 7 if kind == "1" else 9)
            elif kind == "2":
                yield from self._tracked(rest, 8)
                yield from self._there_or_gone(next(records, ""))

    def _git(self, words: tuple[str, ...]) -> Iterator[str]:
        done = subprocess.run(words, cwd=self.root, capture_output=True, check=True, timeout=GIT_S, stdin=subprocess.DEVNULL)
        return iter(os.fsdecode(done.stdout).split("\0"))

    def _is_sparse(self) -> bool:
        """Whether some of the commit's files may not be in the tree, of which git says that nothing changed."""
        place = self.root / ".git"
        if place.is_file():  # of another work tree of the same repository
            place = self.root / place.read_text().removeprefix("gitdir:").strip()
        return (place / "info" / "sparse-checkout").exists()

    def _tracked(self, rest: str, before: int) -> Iterator[str]:
        fields = rest.split(" ", before)
        if fields[1].startswith("S"):
            self._leave_out(fields[before], "a submodule")
        else:
            yield from self._there_or_gone(fields[before])

    def _there_or_gone(self, path: str) -> Iterator[str]:
        if os.path.lexists(self.root / path):
            yield path
        else:
            self.picture.gone.append(path)
            with suppress(OSError):
                self._must_be_old(path, (self.root / path).parent.stat())

    def _walk(self, below: str) -> Iterator[str]:
        try:
            with os.scandir(self.root / below) as found:
                items = sorted(found, key=lambda e: e.name)
        except PermissionError:
            self._leave_out(below, UNREADABLE)
            return
        for item in items:
            path = f"{below}/{item.name}" if below else item.name
            if item.is_dir(follow_symlinks=False):
                if item.name in LEFT_OUT:
                    self._leave_out(path, "no part of what people write")
                    continue
                if path not in _OUR_PLACES:
                    yield path  # with files of the person's own in it, it is there by them
                yield from self._walk(path)
            else:
                yield path

    def _leave_out(self, path: str, why: str) -> None:
        if why != IGNORED or len(self.picture.absent) < MOST_NAMED:
            self.picture.absent[path] = why

    # ------------------------------------------------------------ their contents

    def _add(self, path: str) -> None:
        if path in OURS:
            return
        info = os.lstat(self.root / path)
        self._must_be_old(path, info)
        mode = f"{stat.S_IMODE(info.st_mode):04o}"
        if stat.S_ISLNK(info.st_mode):
            self.picture.files[path] = ["symlink", "0777", os.readlink(self.root / path)]  # noqa: PTH115  as stored
        elif stat.S_ISDIR(info.st_mode):
            self.picture.files[path] = ["dir", mode, ""]
        elif not stat.S_ISREG(info.st_mode):
            self._leave_out(path, "neither a file nor a directory")
        elif SECRET.search(path):
            self._leave_out(path, "it may hold secrets")
        elif info.st_size > LARGEST:
            self._leave_out(path, f"too large ({info.st_size} bytes)")
        elif self._bytes + info.st_size > MOST_BYTES:
            self._leave_out(path, f"more than {MOST_BYTES >> 20} MB would have to be read at once")
        else:
            self.picture.files[path] = ["file", mode, self._digest(path, info)]

    def _must_be_old(self, path: str, info: os.stat_result) -> None:
        if self._as_of is not None and info.st_ctime > self._as_of and not self.picture.failed:
            self.picture.failed = f"{path} was changed before the tree was seen"

    def _digest(self, path: str, info: os.stat_result) -> str:
        seen: list[object] = [info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino]
        known = self._known.get(path)
        if known is not None and known[:4] == seen:
            self._new[path] = known
            return str(known[4])
        data = (self.root / path).read_bytes()
        self._bytes += len(data)
        self._new[path] = [*seen, self.objects.put(data)]
        return str(self._new[path][4])


def _load(index: Path) -> dict[str, list[object]]:
    try:
        found = json.loads(index.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _save(index: Path, known: dict[str, list[object]]) -> None:
    index.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = index.with_name(f".{index.name}.{os.getpid()}")
    temporary.write_text(json.dumps(known))
    temporary.replace(index)
