"""The start of a task from the project's repository: a commit named by the session, the parent of one that it made, or by time.

None of them says what was changed and not yet committed: such a start is a lower bound, and replay decides whether it will do.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from synth.importers.turns import Ran, State, Turn
from synth.store.pictures import LARGEST, SECRET
from verifiers.interface import AssayError

if TYPE_CHECKING:
    from dulwich.objects import Commit, ObjectID
    from dulwich.repo import Repo

_MADE = re.compile(r"^\[[^\]\n]+ (?:\(root-commit\) )?([0-9a-f]{7,40})\] ", re.MULTILINE)
"""What ``git commit`` prints: ``[main 1a2b3c4] subject``."""
_MOST_COMMITS = 20_000
"""That are looked through for one of a time."""
_POINTER = b"version https://git-lfs.github.com/spec/"


class RepositoryError(AssayError, OSError):
    """A directory that is no repository."""


class Repository:
    """Starts from a local repository. Never writes to it."""

    def __init__(self, directory: Path) -> None:
        from dulwich.errors import NotGitRepository
        from dulwich.repo import Repo

        try:
            self._repo: Repo = Repo.discover(str(directory))
        except (NotGitRepository, OSError) as e:
            raise RepositoryError("is no git repository", "Give the project's own clone with --repo", directory) from e

    def starts(self, turn: Turn) -> Iterator[State]:
        """What the start of a turn may be. What its session began with is the start of its first turn alone: the parent of a
        commit that the turn made tells more."""
        seen: set[bytes] = set()
        for by, commit in self._found(turn):
            if commit is not None and commit.id not in seen:
                seen.add(commit.id)
                yield State(Tree(self._repo, commit.tree), {"commit": commit.id.decode("ascii"), "by": by})

    def _found(self, turn: Turn) -> Iterator[tuple[str, Commit | None]]:
        yield "id", self._named(turn.metadata.get("snapshot"))  # the tree as it was, with what was not committed
        yield "parent", self._parent(turn)
        yield "id", self._named(turn.metadata.get("commit"))
        yield "time", self._before(turn)

    def tree(self, commit: str) -> Tree | None:
        """The files of a commit; None where the repository does not have it."""
        found = self._commit(commit)
        return Tree(self._repo, found.tree) if found is not None else None

    def span(self, first: str, last: str) -> tuple[Tree, Tree, str] | None:
        """The files before one commit and after another, and the commit before; None where the repository lacks one of them."""
        begun, done = self._commit(first), self._commit(last)
        before = self._commit(begun.parents[0].decode("ascii")) if begun is not None and begun.parents else None
        if before is None or done is None:
            return None
        return Tree(self._repo, before.tree), Tree(self._repo, done.tree), before.id.decode("ascii")

    def _named(self, named: object) -> Commit | None:
        return self._commit(named) if isinstance(named, str) else None

    def _parent(self, turn: Turn) -> Commit | None:
        """The parent of the first commit that the turn's commands report to have made."""
        ran = (step for step in turn.steps if isinstance(step, Ran) and "--amend" not in step.command)
        outputs = (step.output for step in ran if "commit" in step.command)
        made = next((m[1] for output in outputs for m in _MADE.finditer(output)), None)
        commit = self._commit(made) if made is not None else None
        return self._commit(commit.parents[0].decode("ascii")) if commit is not None and commit.parents else None

    def _before(self, turn: Turn) -> Commit | None:
        """The last commit on the branch that is checked out before the request was made."""
        if turn.time is None:
            return None
        until = turn.time.timestamp()
        return next((c for c in islice(self._history(), _MOST_COMMITS) if c.commit_time <= until), None)

    def _history(self) -> Iterator[Commit]:
        try:
            head = self._repo.head()
        except KeyError:
            return
        for entry in self._repo.get_walker([head]):
            yield entry.commit

    def _commit(self, name: str) -> Commit | None:
        from dulwich.objects import Commit

        if not re.fullmatch(r"[0-9a-f]{7,40}", name):
            return None
        found = list(islice(self._repo.object_store.iter_prefix(name.encode("ascii")), 2))
        if len(found) != 1:
            return None
        thing = self._repo[found[0]]
        return thing if isinstance(thing, Commit) else None


class Tree(Mapping[str, tuple[int, bytes]]):
    """Files and links of a commit: path -> mode and content (of a link its target), read when asked for."""

    def __init__(self, repo: Repo, tree: ObjectID) -> None:
        from dulwich.object_store import iter_tree_contents

        self._repo = repo
        self._entries: dict[str, tuple[int, ObjectID]] = {}
        self.absent: dict[str, str] = {}
        """What the commit has and this has not -> why; of contents, those that were asked for."""
        for entry in iter_tree_contents(repo.object_store, tree):
            path, mode = entry.path.decode("utf-8", "surrogateescape"), entry.mode
            if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
                self._entries[path] = (mode, entry.sha)
            else:
                self.absent[path] = "a submodule"

    def __getitem__(self, path: str) -> tuple[int, bytes]:
        mode, sha = self._entries[path]
        content: bytes = self._repo[sha].as_raw_string()
        why = _unkept(path, content)
        if why:
            self.absent[path] = why
            raise KeyError(path)
        return mode if stat.S_ISLNK(mode) else 0o755 if mode & 0o100 else 0o644, content

    def differing(self, other: Tree) -> set[str]:
        """Paths that are not the same in both."""
        return {p for p in {*self._entries, *other._entries} if self._entries.get(p) != other._entries.get(p)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, path: object) -> bool:
        return path in self._entries


def _unkept(path: str, content: bytes) -> str:
    """Why contents of a commit are no part of a start; "" where they are."""
    if SECRET.search(path):
        return "it may hold secrets"
    if len(content) > LARGEST:
        return f"too large ({len(content)} bytes)"
    return "only Git LFS has its contents" if content.startswith(_POINTER) else ""
