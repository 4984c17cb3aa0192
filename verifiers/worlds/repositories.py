"""Git directories with other words in them: in names, contents, messages, refs and people, as if history had been written so.

An object is named by a digest of what it holds. So every object that holds a word is written anew, and whatever names it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from dulwich.index import ConflictedIndexEntry, Index
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tag, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo

from sandbox.interface import Entry
from verifiers.expectation.git_objects import check_objects
from verifiers.expectation.repositories import UNREADABLE, write

T = TypeVar("T")
Spell = Callable[[str], str]
Listed = tuple[tuple[str, Entry], ...]
"""The paths below a git directory, sorted, with what is there."""

_NAMED = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
_SETTINGS = re.compile(r"config|description|hooks/.*|info/(?!refs$).*", re.DOTALL)
_REF = re.compile(r"(refs/(?:heads|tags|remotes)/)(\S+)")


def below(tree: Mapping[str, Entry], root: str) -> Listed:
    """What lies in a git directory."""
    return tuple((p[len(root) + 1 :], e) for p, e in tree.items() if p.startswith(f"{root}/"))


@lru_cache(maxsize=64)
def told(listed: Listed) -> str:
    """The messages and people of all commits and tags, one below the other; "" for what cannot be read."""

    def words(made: ShaFile) -> list[bytes]:
        if isinstance(made, Commit):
            return [made.message, made.author, made.committer]
        return [made.message] if isinstance(made, Tag) else []

    return "\n".join(text.decode("utf-8", "replace") for texts in _of_each(listed, words) for text in texts)


@lru_cache(maxsize=64)
def head(listed: Listed) -> str:
    """The name of the commit that is checked out; "" where there is none, or the directory cannot be read."""
    with tempfile.TemporaryDirectory(prefix="assay-git-") as top:
        try:
            with _opened(Path(top), listed) as repo:
                return repo.head().decode()
        except UNREADABLE:
            return ""


def beside(listed: Listed, message: str) -> dict[str, Entry]:
    """Files of a commit that nothing names, as one that was taken back; none where there is nothing to go on from."""
    with tempfile.TemporaryDirectory(prefix="assay-git-") as top:
        try:
            with _opened(Path(top), listed) as repo:
                last = _commit(repo, repo.head())
                return dict(_loose(_next(last, last.tree, [last.id], message)))
        except UNREADABLE:
            return {}


@lru_cache(maxsize=64)
def has_merges(listed: Listed) -> bool:
    """Whether a commit has two parents; False for what cannot be read."""
    return any(_of_each(listed, lambda made: isinstance(made, Commit) and len(made.parents) > 1))


def _of_each(listed: Listed, read: Callable[[ShaFile], T]) -> list[T]:
    """What is read off each object of a git directory; nothing of one that cannot be read."""
    with tempfile.TemporaryDirectory(prefix="assay-git-") as tmp:
        try:
            with _opened(Path(tmp), listed) as repo:
                return [read(repo[sha]) for sha in repo.object_store]
        except UNREADABLE:
            return []


def respelled(listed: Listed, spell: Spell) -> Listed:
    """The git directory with all its words spelled otherwise; as it is where nothing changes or it cannot be read."""
    with tempfile.TemporaryDirectory(prefix="assay-git-") as tmp:
        try:
            with _opened(Path(tmp), listed) as repo:
                return _Respelling(repo, spell).listed(listed)
        except UNREADABLE:
            return listed


@dataclass(frozen=True, slots=True)
class Change:
    """What one more commit does: a tracked file gets this content."""

    path: str
    """In the work tree."""
    content: bytes
    message: str


def continued(listed: Listed, changes: Sequence[Change], *, moved: bool = False, merged: bool = False) -> Listed | None:
    """The git directory after one more commit for each change; None where that cannot be done.

    Args:
        moved: tags and branches that named the last commit name the new one.
        merged: a last commit brings the others in, as from a branch.
    """
    with tempfile.TemporaryDirectory(prefix="assay-git-") as tmp:
        try:
            with _opened(Path(tmp), listed) as repo:
                return _continued(repo, dict(listed), changes, moved, merged)
        except UNREADABLE:
            return None


def _continued(repo: Repo, listed: dict[str, Entry], changes: Sequence[Change], moved: bool, merged: bool) -> Listed:
    first = last = _commit(repo, repo.head())
    made: list[ShaFile] = []

    def keep(new: ShaFile) -> None:
        repo.object_store.add_object(new)
        made.append(new)

    for change in changes:
        blob = Blob.from_string(change.content)
        trees = _with(repo, last.tree, change.path.encode().split(b"/"), blob)
        last = _next(last, trees[-1].id, [last.id], change.message)
        for new in (blob, *trees, last):
            keep(new)
        if "index" in listed:
            listed["index"] = _staged(repo, change.path.encode(), blob)
    if merged:
        last = _next(last, last.tree, [first.id, last.id], "Merge branch")
        keep(last)
    refs = [name for name, sha in repo.refs.as_dict().items() if moved and name != b"HEAD" and _named(repo, sha) == first.id]
    for name in {*refs, repo.refs.follow(Ref(b"HEAD"))[0][-1]}:
        target, tag = last.id, repo[repo.refs[Ref(name)]].copy()
        if isinstance(tag, Tag):
            tag.object = (Commit, last.id)
            keep(tag)
            target = tag.id
        listed[name.decode()] = Entry("file", 0o644, target + b"\n")
        listed |= {folder: Entry("dir", 0o755) for folder in map(str, Path(name.decode()).parents) if folder != "."}
    listed |= dict(pair for new in made for pair in _loose(new))
    return tuple(sorted(listed.items(), key=lambda pair: pair[0]))


def _commit(repo: Repo, name: bytes) -> Commit:
    found = repo[ObjectID(name)]
    if not isinstance(found, Commit):
        raise ValueError("HEAD is no commit")
    return found


def _named(repo: Repo, name: bytes) -> bytes:
    """The commit that a ref names, through a tag of its own."""
    found = repo[ObjectID(name)]
    return found.object[1] if isinstance(found, Tag) else name


def _next(last: Commit, tree: ObjectID, parents: list[ObjectID], message: str) -> Commit:
    commit = Commit()
    commit.tree, commit.parents, commit.message = tree, parents, f"{message}\n".encode()
    commit.author, commit.committer = last.author, last.committer
    commit.author_time = commit.commit_time = last.commit_time + 60
    commit.author_timezone = commit.commit_timezone = last.commit_timezone
    return commit


def _staged(repo: Repo, path: bytes, blob: Blob) -> Entry:
    """The index with other content of one file."""
    at = Path(repo.path) / "index"
    index = Index(str(at))
    old = index[path]
    if isinstance(old, ConflictedIndexEntry):
        raise ValueError("a merge is on its way")
    index[path] = replace(old, sha=blob.id, size=0)
    index.write()
    return Entry("file", 0o644, at.read_bytes())


def _with(repo: Repo, name: ObjectID, parts: list[bytes], blob: Blob) -> list[Tree]:
    """The trees along a path to a file, the outermost last, with the file's new content."""
    tree = repo[name]
    if not isinstance(tree, Tree):
        raise ValueError("a tree is none")
    mode, old = tree[parts[0]]
    inner = _with(repo, old, parts[1:], blob) if parts[1:] else []
    new = Tree()
    for item in tree.items():
        new.add(item.path, item.mode, item.sha)
    new.add(parts[0], mode, inner[-1].id if inner else blob.id)
    return [*inner, new]


def _loose(made: ShaFile) -> Iterator[tuple[str, Entry]]:
    """An object's own file, and the folder that it stands in."""
    folder, name = made.id.decode()[:2], made.id.decode()[2:]
    yield f"objects/{folder}", Entry("dir", 0o755)
    yield f"objects/{folder}/{name}", Entry("file", 0o444, made.as_legacy_object())


def _opened(top: Path, listed: Listed) -> Repo:
    check_objects({p: e.content for p, e in listed if e.type == "file"})
    write(top, dict(listed))
    return Repo(str(top), bare=True)


class _Respelling:
    def __init__(self, repo: Repo, spell: Spell) -> None:
        self._repo = repo
        self._spell = spell
        self._names: dict[bytes, bytes] = {}
        """Name of an object -> its new one."""
        self._made: dict[ObjectID, ShaFile] = {}

    def listed(self, old: Listed) -> Listed:
        for sha in self._repo.object_store:
            self._image(sha)
        before = [(p, e) for p, e in old if p != "index" and p.partition("/")[0] != "objects"]
        others = [(self._refs(p), self._file(p, e)) for p, e in before]
        if others == before and all(name == new for name, new in self._names.items()):
            return old
        return tuple(sorted([*others, *self._objects(), *self._index()], key=lambda pair: pair[0]))

    def _image(self, sha: bytes) -> bytes:
        """The new name of an object, which is written first, and what it names before it."""
        todo = [sha]
        while todo:
            name = todo[-1]
            made = self._repo[ObjectID(name)]
            waiting = [n for n in _names_in(made) if n not in self._names and ObjectID(n) in self._repo.object_store]
            if name in self._names or not waiting:
                todo.pop()
                if name not in self._names:
                    new = self._anew(made)
                    self._names[name], self._made[new.id] = new.id, new
            else:
                todo += waiting
        return self._names[sha]

    def _anew(self, old: ShaFile) -> ShaFile:
        new = old.copy()
        if isinstance(new, Blob):
            new.data = self._text(new.data)
        elif isinstance(new, Tree):
            items = list(new.items())
            new = Tree()
            for item in items:
                new.add(self._text(item.path), item.mode, ObjectID(self._name(item.sha)))
            if len(new) != len(items):
                raise ValueError("two names fall together")
        elif isinstance(new, Commit):
            new.tree = ObjectID(self._name(new.tree))
            new.parents = [ObjectID(self._name(p)) for p in new.parents]
            new.message, new.author, new.committer = map(self._text, (new.message, new.author, new.committer))
        elif isinstance(new, Tag):
            kind, name = new.object
            new.object = (kind, ObjectID(self._name(name)))
            new.name, new.message = self._text(new.name), self._text(new.message)
        return new

    def _name(self, old: bytes) -> bytes:
        return self._names.get(old, old)

    def _text(self, data: bytes) -> bytes:
        """Bytes that are text, with the new words."""
        try:
            return self._spell(data.decode("utf-8")).encode("utf-8")
        except UnicodeDecodeError:
            return data

    def _file(self, path: str, entry: Entry) -> Entry:
        """A file beside the objects. What names objects names the new ones."""
        if entry.type != "file" or _SETTINGS.fullmatch(path):
            return entry
        spell = self._spell if path.startswith("logs/") or path == "COMMIT_EDITMSG" else self._refs
        text = entry.content.decode("utf-8", "surrogateescape")
        parts = _NAMED.split(text)
        names = [self._name(n.encode()).decode() for n in _NAMED.findall(text)]
        made = "".join(part for pair in zip(map(spell, parts), [*names, ""], strict=True) for part in pair)
        if path == "packed-refs" and made != text:
            made = made.replace(" sorted", "", 1)  # under their new names they no longer are
        return Entry("file", entry.mode, made.encode("utf-8", "surrogateescape"))

    def _refs(self, text: str) -> str:
        return _REF.sub(lambda m: m[1] + self._spell(m[2]), text)

    def _objects(self) -> Iterator[tuple[str, Entry]]:
        yield "objects", Entry("dir", 0o755)
        yield from {name: e for made in self._made.values() for name, e in _loose(made)}.items()

    def _index(self) -> Iterator[tuple[str, Entry]]:
        at = Path(self._repo.path) / "index"
        if not at.exists():
            return
        index = Index(str(at))
        entries = list(index.items())
        index.clear()
        for path, entry in entries:
            if isinstance(entry, ConflictedIndexEntry):
                raise ValueError("a merge is on its way")
            # Without a size git looks at the file itself.
            index[self._text(path)] = replace(entry, sha=ObjectID(self._name(entry.sha)), size=0)
        index.write()
        yield "index", Entry("file", 0o644, at.read_bytes())


def _names_in(made: ShaFile) -> list[bytes]:
    if isinstance(made, Tree):
        return [item.sha for item in made.items()]
    if isinstance(made, Commit):
        return [made.tree, *made.parents]
    return [made.object[1]] if isinstance(made, Tag) else []
