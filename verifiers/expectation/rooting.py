"""Absolute paths of a recording: mounted where they were, or rewritten as whole words (docs/semantics.md, "Absolute paths")."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace

from sandbox.interface import Entry, Snapshot
from verifiers.interface import Evidence

WORKSPACE = "/ws"
"""Where the sandbox has its workspace unless asked otherwise."""
_MOUNTABLE = re.compile(r"/(?:home/[^,\n]+|tmp/[^,\n]+|(?:repo|testbed|app|work[^/,\n]*)(?:/[^,\n]+)?)")


def rooted(evidence: Evidence) -> Evidence:
    """The evidence with its ``workspace_root`` settled.

    None where nothing mentions it: the workspace may then lie anywhere. Kept where the sandbox can mount the workspace at that
    path. Otherwise the path is rewritten to the sandbox's own in commands, outputs, link targets and files into which a program
    wrote it, and the evidence is marked ``rewritten``. So it is where such files and outputs alone have it: the workspaces of
    several recordings then lie at one path.
    """
    root = evidence.workspace_root
    if root is None:
        return evidence
    root = root.rstrip("/") or "/"
    word = _word(root)
    asked = any(word.search(t) for t in (*evidence.commands, *_targets(evidence.base), *_targets(evidence.post)))
    noted = _noted(evidence, word)
    if root == "/" or not (asked or noted or any(word.search(t) for t in evidence.outputs)):
        return replace(evidence, workspace_root=None)
    if mountable(root) and (asked or not noted):
        return replace(evidence, workspace_root=root)
    return _rewritten(evidence, word, noted)


def names_its_place(evidence: Evidence) -> bool:
    """Whether a program wrote into files where the workspace of a settled recording lies, and no command says it itself."""
    word = _word(evidence.workspace_root or WORKSPACE)
    return not any(map(word.search, evidence.commands)) and bool(_noted(evidence, word))


def _word(root: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w./~-]){re.escape(root)}(?![\w.-])")


def _rewritten(evidence: Evidence, word: re.Pattern[str], noted: Set[str]) -> Evidence:
    def rewritten(text: str) -> str:
        return word.sub(WORKSPACE, text)

    def retold(entry: Entry | None) -> Entry | None:
        text = _text(entry)
        return replace(entry, content=rewritten(text).encode("utf-8")) if entry is not None and text else entry

    def changed(tree: Snapshot | None) -> Snapshot | None:
        return _relinked(tree, rewritten, {p: retold(tree[p]) for p in noted & tree.keys()}) if tree is not None else None

    return replace(
        evidence,
        commands=tuple(map(rewritten, evidence.commands)),
        outputs=tuple(map(rewritten, evidence.outputs)),
        stderrs=None if evidence.stderrs is None else tuple(map(rewritten, evidence.stderrs)),
        base=changed(evidence.base),
        post=changed(evidence.post),
        edits=tuple(replace(x, before=retold(x.before), after=retold(x.after)) if x.path in noted else x for x in evidence.edits),
        rewritten=True,
        workspace_root=None,
    )


def _noted(evidence: Evidence, word: re.Pattern[str]) -> Set[str]:
    """Files that hold the path because a program wrote it there, during the recording or, as git does of remotes, before. Any
    other file may be a text about the path."""
    base, post = evidence.base or Snapshot(), evidence.post or Snapshot()
    git = {p for p in {*base, *post} if any(_is_git(tree, p) for tree in (base, post))}
    made = {p for p, e in post.items() if base.get(p) != e and _holds(e, word) and not _holds(base.get(p), word)}
    return made | {p for p in git if _holds(base.get(p), word) or _holds(post.get(p), word)}


def _is_git(tree: Snapshot, config: str) -> bool:
    """Whether this is the configuration of a repository."""
    folder = posixpath.dirname(config)
    return posixpath.basename(config) == "config" and posixpath.join(folder, "HEAD") in tree


def _text(entry: Entry | None) -> str | None:
    """What a file says; None of what is no text."""
    try:
        text = entry.content.decode("utf-8") if entry is not None else "\0"
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _holds(entry: Entry | None, word: re.Pattern[str]) -> bool:
    text = _text(entry)
    return text is not None and word.search(text) is not None


def mountable(root: str) -> bool:
    """Whether the sandbox can have the workspace at this path without hiding what its image needs."""
    return _MOUNTABLE.fullmatch(root) is not None and ".." not in root.split("/")


def _targets(tree: Snapshot | None) -> Iterable[str]:
    return (e.target for e in tree.values() if e.type == "symlink") if tree is not None else ()


def _relinked(tree: Snapshot, change: Callable[[str], str], files: Mapping[str, Entry | None]) -> Snapshot:
    links = {p: replace(e, target=change(e.target)) for p, e in tree.items() if e.target}
    return tree.replace({**links, **files})
