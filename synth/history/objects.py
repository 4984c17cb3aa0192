"""A repository read by its objects alone: no checkout, no hook, nothing of its configuration.

git runs on a scratch directory of ours that borrows the repository's objects and has a copy of its references. What else a
repository carries (``config``, ``hooks``, ``info/attributes``, grafts, alternates, a commit-graph) is not there to be honoured.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from verifiers.interface import AssayError

LARGEST = 8 << 20
"""Bytes of a file that is read; larger ones count as not there."""
_MOST_SAID = 64 << 20
_MOST_MEMORY = 1 << 30
_MOST_SECONDS = 45
"""Bytes that git may print of a history and use for it, and its time: a few nested trees can stand for more files than there
are."""
_OBJECT_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REFERENCE = re.compile(rb"refs/(?:heads|tags|remotes)/[^\0-\x20\x7f~^:?*\[\\]+")
_CONFIG = (
    "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n\tcommitGraph = false\n\tmultiPackIndex = false\n"
    "\tpackedGitWindowSize = 16m\n\tpackedGitLimit = 128m\n"
)
_SHA256 = "[extensions]\n\tobjectFormat = sha256\n"


class HistoryError(AssayError, OSError):
    """A repository whose history cannot be read."""


class File(NamedTuple):
    """An entry of a tree."""

    mode: int
    oid: str
    size: int
    """In bytes; 0 of a submodule, or of what a partial clone lacks."""


class Objects:
    """The objects and references of a repository. Never writes to it, runs nothing of it.

    Args:
        repository: A working tree, a bare repository or a linked working tree.

    Raises:
        HistoryError: it is no repository, or one that cannot be read this way.
    """

    def __init__(self, repository: Path) -> None:
        if shutil.which("git") is None:
            raise HistoryError("cannot be read: there is no git on this machine", "Install git", repository)
        self.repository = repository
        own, common = _directories(repository)
        self._alternates = (common / "objects" / "info" / "alternates").is_file()
        self._scratch = tempfile.TemporaryDirectory(prefix="assay-git-")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self.boundary = frozenset(_borrow(own, common, Path(self._scratch.name), repository))
            """Commits of a shallow clone whose parents are not there."""
        except BaseException:
            self._scratch.cleanup()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in self._processes.values():
            process.kill()
            process.communicate()
        self._scratch.cleanup()

    def resolve(self, revision: str) -> str:
        """The id of the commit that a revision names.

        Raises:
            HistoryError: it names none.
        """
        done = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if done.returncode:
            if self._alternates:
                raise self._damaged(f"commit {revision!r} is not among its own objects")
            if revision == "HEAD":
                raise HistoryError("has no commit yet, or not that of its HEAD", "Name a branch with --until", self.repository)
            raise HistoryError(f"has no commit {revision!r}", "Name a branch, a tag or a commit", self.repository)
        return done.stdout.decode("ascii").strip()

    def commits(self, until: str, since: str | None, most: int) -> list[str]:
        """Ids of the commits reachable from one and not from the other, newest first, at most so many.

        Raises:
            HistoryError: a commit between them is missing or damaged.
        """
        wanted = [until, *([f"^{since}"] if since is not None else [])]
        done = self._run("rev-list", f"--max-count={most}", "--end-of-options", *wanted)
        if done.returncode:
            raise self._damaged(_last(done.stderr))
        return done.stdout.decode("ascii").split()

    def count(self, until: str, since: str | None) -> int:
        """How many commits there are."""
        done = self._run("rev-list", "--count", "--end-of-options", until, *([f"^{since}"] if since is not None else []))
        return int(done.stdout or 0)

    def changes(self, commits: Iterable[str]) -> Iterator[tuple[str, list[tuple[int, int, str, str, str]]]]:
        """Of each commit with one parent: its id, and mode, mode, object, object and path of what it changed.

        Raises:
            HistoryError: a tree is missing or damaged.
        """
        command = ("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
        done = self._run(*command, given="".join(f"{c}\n" for c in commits).encode("ascii"))
        if done.returncode:
            raise self._damaged(_last(done.stderr))
        found: list[tuple[int, int, str, str, str]] = []
        commit = ""
        fields = iter(done.stdout.split(b"\0"))
        for part in fields:
            if part.startswith(b":"):
                before, after, old, new, _ = part[1:].decode("ascii").split(" ")
                path = next(fields).decode("utf-8", "surrogateescape")
                found.append((int(before, 8), int(after, 8), old, new, path))
                continue
            if commit:
                yield commit, found
            commit, found = part.decode("ascii"), []
        if commit:
            yield commit, found

    def files(self, commit: str) -> dict[str, File]:
        """Every path of a commit's tree, submodules among them."""
        done = self._run("ls-tree", "-r", "-z", "-l", "--full-tree", "--end-of-options", commit)
        if done.returncode:
            raise self._damaged(_last(done.stderr))
        out = {}
        for line in filter(None, done.stdout.split(b"\0")):
            facts, _, path = line.partition(b"\t")
            mode, _, oid, size = facts.decode("ascii").split()
            out[path.decode("utf-8", "surrogateescape")] = File(int(mode, 8), oid, int(size) if size.isdecimal() else 0)
        return out

    def read(self, oid: str) -> bytes | None:
        """The content of an object; None where it is missing (a partial clone) or larger than ``LARGEST``."""
        size = self._asked("--batch-check", oid)
        if size is None or size > LARGEST:
            return None
        size = self._asked("--batch", oid)
        if size is None:
            return None
        out = self._pipe("--batch").stdout
        assert out is not None
        content = out.read(size + 1)
        if len(content) <= size:
            raise self._damaged(f"object {oid} is damaged, or made of larger ones than are read")
        return content[:size]

    def _asked(self, how: str, oid: str) -> int | None:
        """The size that a running ``cat-file`` says an object has."""
        process = self._pipe(how)
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(f"{oid}\n".encode("ascii"))
            process.stdin.flush()
        said = process.stdout.readline().split()
        if not said:
            raise self._damaged(f"object {oid} is damaged, or made of larger ones than are read")
        return int(said[2]) if len(said) == 3 and said[1] != b"missing" else None

    def _pipe(self, how: str) -> subprocess.Popen[bytes]:
        if how not in self._processes:
            self._processes[how] = subprocess.Popen(
                ["git", "cat-file", how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=self._environment(), cwd=self._scratch.name,
            )  # fmt: skip
            _bound(self._processes[how], resource.RLIMIT_AS, _MOST_MEMORY)
        return self._processes[how]

    def _damaged(self, why: str) -> HistoryError:
        if self._alternates:
            advice = "It borrows objects from another one, which is not followed: git repack -a -d there makes it whole"
        else:
            advice = "Run git fsck there, or make a full clone"
        return HistoryError(f"cannot be read: {why}", advice, self.repository)

    def _run(self, *command: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """One command of git to its end.

        Raises:
            HistoryError: it says more than any history that is read.
        """
        with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as errors:
            asked.write(given)
            asked.seek(0)
            where = self._scratch.name
            with subprocess.Popen(
                ["git", *command], stdin=asked, stdout=subprocess.PIPE, stderr=errors, env=self._environment(), cwd=where
            ) as process:
                _bound(process, resource.RLIMIT_AS, _MOST_MEMORY)
                _bound(process, resource.RLIMIT_CPU, _MOST_SECONDS)
                assert process.stdout is not None
                said = process.stdout.read(_MOST_SAID + 1)
                if len(said) > _MOST_SAID:
                    process.kill()
            errors.seek(0)
            wrong = errors.read(1 << 16)
            if len(said) > _MOST_SAID or process.returncode < 0 or b"memory" in wrong:
                what = f"takes more than {_MOST_SAID >> 20} MiB, or {_MOST_SECONDS} s, to list its changed files"
                raise HistoryError(what, "Read a part of it, with --since and --until", self.repository)
            return subprocess.CompletedProcess(command, process.returncode, said, wrong)

    def _environment(self) -> Mapping[str, str]:
        """Nothing of the caller's but where programs are: ``GIT_DIR`` and the like would lead elsewhere."""
        home = self._scratch.name
        return {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": home, "XDG_CONFIG_HOME": home, "LC_ALL": "C", "GIT_DIR": home,
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0",
        }  # fmt: skip


def _bound(process: subprocess.Popen[bytes], what: int, most: int) -> None:
    """Bounds a running program, where the system can."""
    if hasattr(resource, "prlimit"):
        with suppress(ProcessLookupError):
            resource.prlimit(process.pid, what, (most, most))


def _last(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("fatal: ").removeprefix("error: ") if lines else "git says nothing"


def _directories(repository: Path) -> tuple[Path, Path]:
    """Where a repository keeps its HEAD, and where its objects and references are."""
    place = repository / ".git"
    if not place.exists():
        place = repository
    if place.is_file():
        place = _linked(place, repository)
        common = _named(place / "commondir")
        return place, (place / common).resolve() if common else place
    if not (place / "HEAD").is_file() or not (place / "objects").is_dir():
        raise HistoryError("is no git repository", "Give a clone, or a bare repository", repository)
    return place, place


def _linked(file: Path, repository: Path) -> Path:
    """What the ``.git`` file of a linked working tree points to. Followed only where that points back: a copied one may lead
    anywhere."""
    named = _named(file)
    place = (file.parent / named.removeprefix("gitdir:").strip()).resolve() if named.startswith("gitdir:") else None
    back = _named(place / "gitdir") if place is not None and place.is_dir() else ""
    if place is None or not back or (place / back).resolve() != file.resolve():
        raise HistoryError("keeps its history elsewhere, in a place that does not point back here", "Give that one", repository)
    return place


def _named(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip() if file.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _borrow(own: Path, common: Path, scratch: Path, repository: Path) -> list[str]:
    """Makes the scratch directory: links to packs and loose objects, a copy of the references; returns where a shallow clone
    ends."""
    try:
        objects = (common / "objects").resolve(strict=True)
        (scratch / "objects").mkdir()
        if not objects.is_relative_to(common.resolve()):
            raise HistoryError("keeps its objects outside of itself", "Clone it, and give the clone", repository)
        for part in objects.iterdir():
            if re.fullmatch(r"[0-9a-f]{2}|pack", part.name):
                _only_files(part, repository)
                (scratch / "objects" / part.name).symlink_to(part, target_is_directory=True)
        head, references = _head(own), _references(common)
        if (common / "reftable").is_dir():
            raise HistoryError("keeps a reftable, which is not read", "Clone it with --ref-format=files", repository)
        (scratch / "refs").mkdir()
        lines = [oid + b" " + name + b"\n" for name, oid in sorted(references.items())]
        (scratch / "packed-refs").write_bytes(b"".join(lines))
        (scratch / "HEAD").write_bytes(head + b"\n")
        wide = any(_OBJECT_ID.fullmatch(oid) and len(oid) == 64 for oid in (head, *references.values()))
        (scratch / "config").write_text(_CONFIG.format(version=int(wide)) + (_SHA256 if wide else ""), encoding="ascii")
        roots = _OBJECT_ID.findall(_bytes(common / "shallow"))
        if roots:
            (scratch / "shallow").write_bytes(b"".join(oid + b"\n" for oid in roots))
    except PermissionError as e:
        raise HistoryError(f"cannot be read: {e.strerror}", "Run as its owner, or clone it", repository) from e
    return [oid.decode("ascii") for oid in roots]


def _only_files(folder: Path, repository: Path) -> None:
    """Refuses objects that lie elsewhere, and pipes that never end: no git makes them."""
    if not folder.is_symlink():
        with os.scandir(folder) as entries:
            if all(e.is_file(follow_symlinks=False) or e.is_dir(follow_symlinks=False) for e in entries):
                return
    raise HistoryError(f"has objects in {folder.name} that are not plain files", "Clone it, and give the clone", repository)


def _head(own: Path) -> bytes:
    """What is checked out: a reference or a commit, never what else the file may hold."""
    text = _bytes(own / "HEAD").strip()
    named = text.removeprefix(b"ref:").strip()
    if _REFERENCE.fullmatch(named):
        return b"ref: " + named
    return text if _OBJECT_ID.fullmatch(text) else b"ref: refs/heads/none"


def _references(common: Path) -> dict[bytes, bytes]:
    """Branches and tags, with what they point to; a file of its own wins over the packed list."""
    found: dict[bytes, bytes] = {}
    for line in _bytes(common / "packed-refs").splitlines():
        oid, _, name = line.partition(b" ")
        if _OBJECT_ID.fullmatch(oid) and _REFERENCE.fullmatch(name):
            found[name] = oid
    for folder, _, files in os.walk(os.fsencode(common / "refs")):
        for file in files:
            path = Path(os.fsdecode(folder)) / os.fsdecode(file)
            name = os.fsencode(path.relative_to(common).as_posix())
            oid = _bytes(path).strip()
            if _REFERENCE.fullmatch(name) and _OBJECT_ID.fullmatch(oid):
                found[name] = oid
    return found


def _bytes(file: Path) -> bytes:
    """A small regular file; nothing where there is none, and nothing of a link or a pipe."""
    with suppress(OSError):
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= 64 << 20:
            return file.read_bytes()
    return b""
