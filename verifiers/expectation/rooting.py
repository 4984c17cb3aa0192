"""Absolute paths of a recording: mounted where they were, or rewritten as whole words (docs/semantics.md, "Absolute paths")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from sandbox.interface import Entry, Snapshot
from verifiers.interface import Evidence

WORKSPACE = "/ws"
"""Where the sandbox has its workspace unless asked otherwise."""
_MOUNTABLE = re.compile(r"/(?:home/[^,\n]+|tmp/[^,\n]+|(?:repo|testbed|app|work[^/,\n]*)(?:/[^,\n]+)?)")


def rooted(evidence: Evidence) -> Evidence:
    """The evidence with its ``workspace_root`` settled.

    None where nothing mentions it: the workspace may then lie anywhere. Kept where the sandbox can mount the workspace at that
    path. Otherwise the path is rewritten to the sandbox's own in commands, outputs and link targets, and the evidence is marked
    ``rewritten``.
    """
    root = evidence.workspace_root
    if root is None:
        return evidence
    root = root.rstrip("/") or "/"
    texts = (*evidence.commands, *evidence.outputs, *_targets(evidence.base), *_targets(evidence.post))
    word = re.compile(rf"(?<![\w./~-]){re.escape(root)}(?![\w.-])")
    if root == "/" or not any(word.search(t) for t in texts):
        return replace(evidence, workspace_root=None)
    if mountable(root):
        return replace(evidence, workspace_root=root)

    def rewritten(text: str) -> str:
        return word.sub(WORKSPACE, text)

    return replace(
        evidence,
        commands=tuple(map(rewritten, evidence.commands)),
        outputs=tuple(map(rewritten, evidence.outputs)),
        stderrs=None if evidence.stderrs is None else tuple(map(rewritten, evidence.stderrs)),
        base=_relinked(evidence.base, rewritten),
        post=_relinked(evidence.post, rewritten),
        rewritten=True,
        workspace_root=None,
    )


def mountable(root: str) -> bool:
    """Whether the sandbox can have the workspace at this path without hiding what its image needs."""
    return _MOUNTABLE.fullmatch(root) is not None and ".." not in root.split("/")


def _targets(tree: Snapshot | None) -> Iterable[str]:
    return (e.target for e in tree.values() if e.type == "symlink") if tree is not None else ()


def _relinked(tree: Snapshot | None, change: Callable[[str], str]) -> Snapshot | None:
    if tree is None:
        return None
    return Snapshot({p: Entry(e.type, e.mode, e.content, change(e.target)) if e.target else e for p, e in tree.items()})
