"""What a git directory holds, so that two of them can be compared: refs, history (trees, messages), index paths.

Object names of commits carry dates, so they are left out; tree names depend on content and modes only.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dulwich.errors import NotGitRepository
from dulwich.index import ConflictedIndexEntry, Index
from dulwich.objects import Commit, ObjectID, Tag
from dulwich.refs import Ref
from dulwich.repo import Repo

from sandbox.interface import Entry

MAX_COMMITS = 2_000


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
    with tempfile.TemporaryDirectory(prefix="assay-git-") as tmp:
        _write(Path(tmp), inside)
        try:
            with Repo(tmp, bare=True) as repo:
                return _summary(repo)
        except (NotGitRepository, KeyError, ValueError, OSError, AssertionError, IndexError) as error:
            raw = hashlib.sha256()
            for path, e in sorted(inside.items()):
                raw.update(f"{path}\0{e.type}\0".encode("utf-8", "surrogateescape") + e.content)
            return f"unreadable repository ({type(error).__name__}) {raw.hexdigest()}"


def _write(top: Path, entries: Mapping[str, Entry]) -> None:
    for path, e in entries.items():
        at = top / path
        if e.type == "dir":
            at.mkdir(parents=True, exist_ok=True)
        elif e.type == "file":
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(e.content)


def _summary(repo: Repo) -> str:
    lines = []
    for ref, sha in sorted(repo.refs.as_dict().items()):
        lines.append(f"ref {ref.decode('utf-8', 'replace')}: {_history(repo, sha)}")
    head = repo.refs.read_ref(Ref(b"HEAD"))
    lines.append(f"HEAD {head.decode('utf-8', 'replace') if head and head.startswith(b'ref:') else 'detached'}")
    if (Path(repo.path) / "index").exists():
        for name, entry in sorted(Index(str(Path(repo.path) / "index")).items()):
            object_name = bytes(entry.sha) if not isinstance(entry, ConflictedIndexEntry) else b"conflict"
            lines.append(f"index {name.decode('utf-8', 'replace')} {object_name.decode('ascii', 'replace')}")
    return "\n".join(lines)


def _history(repo: Repo, sha: ObjectID) -> str:
    obj = repo[sha]
    if isinstance(obj, Tag):
        return f"tag {obj.name!r} {obj.message!r} of {_history(repo, ObjectID(obj.object[1]))}"
    if not isinstance(obj, Commit):
        return f"{obj.type_name!r} {sha!r}"
    walk = repo.get_walker(include=[sha], max_entries=MAX_COMMITS)
    return " <- ".join(f"{w.commit.tree.decode()} {w.commit.message!r} ({len(w.commit.parents)})" for w in walk)
