"""What a git directory holds, so that two of them can be compared: refs, history (trees, messages), index paths.

Object names of commits carry dates, so they are left out; tree names depend on content and modes only. What else lies in
a git directory (hooks, settings, attributes, alternates, a merge on its way) is compared file by file: git acts on it.
"""

from __future__ import annotations

import hashlib
import re
import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from dulwich.errors import (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    MissingCommitError,
    NotGitRepository,
    ObjectMissing,
    WrongObjectException,
)
from dulwich.index import ConflictedIndexEntry, Index, IndexEntry
from dulwich.objects import Commit, ObjectID, Tag
from dulwich.refs import Ref
from dulwich.repo import Repo

from sandbox.interface import Entry
from verifiers.expectation.git_objects import check_objects

MAX_COMMITS = 2_000
MAX_REFS = 1_000

UNREADABLE = (
    NotGitRepository, FileFormatException, ChecksumMismatch, WrongObjectException, MissingCommitError, ObjectMissing,
    ApplyDeltaError, KeyError, ValueError, OSError, AssertionError, IndexError, TypeError, AttributeError, RecursionError,
    EOFError, MemoryError, OverflowError, StopIteration, struct.error, zlib.error,
)  # fmt: skip
"""What a foreign git directory makes its reader raise."""

_ELSEWHERE = re.compile(r"^(?:(?:modules|worktrees)/[^/]+/)+")
_SUMMED_UP = re.compile(
    r"HEAD|index|packed-refs|(?:ORIG|FETCH)_HEAD|COMMIT_EDITMSG|gc\.(?:log|pid)|(?:refs|logs)/.*"
    r"|objects/(?:[0-9a-f]{2}/.*|pack/.*|info/(?:packs|commit-graphs?(?:/.*)?))|info/refs",
    re.DOTALL,
)


def in_summary(path: str) -> bool:
    """Whether a file of a git directory is told by the summary, or is git's own record of what happened when."""
    return _SUMMED_UP.fullmatch(_ELSEWHERE.sub("", path)) is not None


def repository_roots(tree: Mapping[str, Entry]) -> tuple[str, ...]:
    """Paths of the git directories in a tree: those that hold HEAD, objects and refs."""
    out = []
    for path, e in tree.items():
        if e.type == "file" and (path == "HEAD" or path.endswith("/HEAD")):
            root = path[: -len("/HEAD")]
            kinds = [tree.get(f"{root}/{name}") for name in ("objects", "refs")]
            if root and all(k is not None and k.type == "dir" for k in kinds):
                out.append(root)
    return tuple(r for r in out if not any(r.startswith(o + "/") for o in out))


def repository_summary(tree: Mapping[str, Entry], root: str) -> str:
    """Refs, history and index of the git directory at ``root``, as text that is equal for equal repositories.

    A directory that cannot be read as a repository is summed up by a digest of its bytes.
    """
    inside = {p[len(root) + 1 :]: e for p, e in tree.items() if p.startswith(root + "/")}
    return _summed_up(tuple(sorted(inside.items())))


@lru_cache(maxsize=256)
def _summed_up(listed: tuple[tuple[str, Entry], ...]) -> str:
    inside = dict(listed)
    with tempfile.TemporaryDirectory(prefix="assay-git-") as tmp:
        try:
            check_objects({p: e.content for p, e in inside.items() if e.type == "file"})
            write(Path(tmp), inside)
            with Repo(tmp, bare=True) as repo:
                return _summary(repo)
        except UNREADABLE as error:
            raw = hashlib.sha256()
            for path, e in listed:
                raw.update(f"{path}\0{e.type}\0{len(e.content)}\0".encode("utf-8", "surrogateescape") + e.content)
            return f"unreadable repository ({type(error).__name__}) {raw.hexdigest()}"


def forgotten(base: Mapping[str, Entry], wanted: Mapping[str, Entry], post: Mapping[str, Entry]) -> str:
    """What git knows in ``base``, also where no branch leads to it, what ``wanted`` keeps and ``post`` does not: a line of its
    own record (a stash, or where a branch once was), or a commit; "" where there is none. It can no longer be had."""
    before, kept, left = (Counter(_records(tree)) for tree in (base, wanted, post))
    lost = next(iter((before & kept) - left), b"").rpartition(b"\t")
    found = lost[2] or lost[0]
    if not found and any(path not in post for path in base if "/objects/" in path):
        commits = _commits(_inside(base)).items() & _commits(_inside(wanted)).items() - _commits(_inside(post)).items()
        found = min(commits, default=(b"", b""))[1].partition(b"\n")[0]
    return found.decode("utf-8", "replace") or _left_behind(base, wanted, post)


def _left_behind(base: Mapping[str, Entry], wanted: Mapping[str, Entry], post: Mapping[str, Entry]) -> str:
    """A commit of ``base`` that a branch or a tag leads to in ``wanted`` and none in ``post``: the history was made anew."""
    names = [frozenset(_commits(_inside(tree), led=True)) for tree in (base, wanted, post)] if repository_roots(base) else []
    gone = (names[0] & names[1]) - names[2] if names else frozenset[bytes]()
    return min(gone, default=b"").decode()


def _inside(tree: Mapping[str, Entry]) -> tuple[tuple[str, Entry], ...]:
    roots = repository_roots(tree)
    return tuple((p, e) for p, e in tree.items() if any(p.startswith(f"{root}/") for root in roots))


@lru_cache(maxsize=64)
def _commits(listed: tuple[tuple[str, Entry], ...], *, led: bool = False) -> dict[bytes, bytes]:
    """Name and message of every commit in the repositories of a tree, whether or not something names it; or of those alone that
    a branch, a tag or HEAD leads to (``led``)."""
    found: dict[bytes, bytes] = {}
    tree = dict(listed)
    for root in repository_roots(tree):
        inside = {p[len(root) + 1 :]: e for p, e in listed if p.startswith(f"{root}/")}
        with tempfile.TemporaryDirectory(prefix="assay-git-") as tmp:
            try:
                check_objects({p: e.content for p, e in inside.items() if e.type == "file"})
                write(Path(tmp), inside)
                with Repo(tmp, bare=True) as repo:
                    heads = {peeled for ref in repo.get_refs() if isinstance(repo[peeled := repo.get_peeled(ref)], Commit)}
                    walked = [entry.commit for entry in repo.get_walker(sorted(heads))] if led and heads else []
                    made = walked if led else [repo[sha] for sha in repo.object_store]
                    found |= {c.id: c.message or c.id for c in made if isinstance(c, Commit)}
            except UNREADABLE:
                continue
    return found


def _records(tree: Mapping[str, Entry]) -> Iterator[bytes]:
    for root in repository_roots(tree):
        logs = f"{root}/logs/"
        yield from (line for path, e in tree.items() if path.startswith(logs) for line in e.content.splitlines())


def write(top: Path, entries: Mapping[str, Entry]) -> None:
    for path, e in entries.items():
        at = top / path
        if path in ("config", "commondir") or path.startswith(("objects/info/", "info/")):
            continue  # what would lead the reader elsewhere; it is compared as it is
        if e.type == "dir":
            at.mkdir(parents=True, exist_ok=True)
        elif e.type == "file":
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(e.content)


def _summary(repo: Repo) -> str:
    lines = []
    refs = sorted(repo.refs.as_dict().items())
    if len(refs) > MAX_REFS:
        raise ValueError(f"more than {MAX_REFS} refs")
    for ref, sha in refs:
        lines.append(f"ref {ref.decode('utf-8', 'replace')}: {_history(repo, sha)}")
    head = repo.refs.read_ref(Ref(b"HEAD"))
    lines.append(f"HEAD {head.decode('utf-8', 'replace') if head and head.startswith(b'ref:') else 'detached'}")
    if (Path(repo.path) / "index").exists():
        for name, entry in sorted(Index(str(Path(repo.path) / "index")).items()):
            lines.append(f"index {name!r} {_staged(entry)}")
    return "\n".join(lines)


def _staged(entry: IndexEntry | ConflictedIndexEntry) -> str:
    """Content, mode and the flags by which git looks away (assume-unchanged, skip-worktree)."""
    if isinstance(entry, ConflictedIndexEntry):
        sides = (entry.ancestor, entry.this, entry.other)
        return "conflict " + " ".join(_staged(side) if side is not None else "none" for side in sides)
    return f"{bytes(entry.sha).decode('ascii', 'replace')} {entry.mode:o} {entry.flags & 0x8000:x} {entry.extended_flags:x}"


def _history(repo: Repo, sha: ObjectID) -> str:
    obj = repo[sha]
    if isinstance(obj, Tag):
        return f"tag {obj.name!r} {obj.message!r} of {_history(repo, ObjectID(obj.object[1]))}"
    if not isinstance(obj, Commit):
        return f"{obj.type_name!r} {sha!r}"
    walk = repo.get_walker(include=[sha], max_entries=MAX_COMMITS)
    return " <- ".join(f"{w.commit.tree.decode()} {w.commit.message!r} ({len(w.commit.parents)})" for w in walk)
