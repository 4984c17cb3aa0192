"""What grouping looks at: of each commit its message and its changes, both without their values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from synth.history.commits import Change, Commit
from synth.history.objects import Objects
from synth.history.shapes import GITLINK, SYMLINK, Hunk, hunks, role, shapes_of
from synth.history.values import abstract

MOST_FILES = 64
"""Of a commit that is looked at line by line."""
Class = Literal["plain", "merge", "revert", "empty", "root"]
_REVERTS = re.compile(r'^Revert "|^This reverts commit [0-9a-f]{7,40}', re.MULTILINE | re.IGNORECASE)
_BOT = re.compile(r"\[bot\]|\bbot\b|-bot\b|\bbot@", re.IGNORECASE)
_TAIL = re.compile(r"\s*\((?:#|gh-|!)\d+\)\s*$|\s*#\d+\s*$|[.\s]+$", re.IGNORECASE)

Feature = tuple[str, str]
"""A path without its values, and what was done to it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """One commit as grouping sees it."""

    commit: Commit
    kind: Class
    message: str
    """The subject without values."""
    loose: str
    """The subject also without the words that the change itself holds."""
    touched: frozenset[Feature]
    """Path and operation."""
    shapes: frozenset[Feature]
    """Path and shape of the change."""
    bot: bool


def facts_of(commit: Commit, objects: Objects) -> Facts:
    """What grouping looks at."""
    kind = _class(commit)
    subject = subject_of(commit)
    touched: set[Feature] = set()
    shapes: set[Feature] = set()
    words: set[str] = set()
    if kind == "plain":
        for change in commit.changes:
            where = role(change.path)
            touched.add((where, operation(change)))
            words |= _words(change.path)
            found = changed_lines(change, objects) if len(commit.changes) <= MOST_FILES else None
            if found is None:
                shapes.add((where, operation(change)))
                continue
            shapes |= {(where, shape) for shape in shapes_of(found)} or {(where, "mode")}
            words |= {w for hunk in found for line in (*hunk.old[:50], *hunk.new[:50]) for w in _words(line)}
    loose = re.sub(r"[^\W\d_]\w*", lambda m: "<word>" if m[0].lower() in words else m[0].lower(), abstract(subject))
    return Facts(
        commit, kind, abstract(subject).lower(), loose, frozenset(touched), frozenset(shapes),
        _BOT.search(commit.author) is not None,
    )  # fmt: skip


def subject_of(commit: Commit) -> str:
    """The first line of the message without the number of a pull request and other tails."""
    subject, before = commit.subject, ""
    while subject != before:
        subject, before = _TAIL.sub("", subject), subject
    return " ".join(subject.split())


def operation(change: Change) -> str:
    """``add``, ``delete``, ``change``, ``mode``, ``link`` or ``submodule``."""
    if GITLINK in (change.mode_before, change.mode_after):
        return "submodule"
    if SYMLINK in (change.mode_before, change.mode_after):
        return "link"
    if not change.mode_before or not change.mode_after:
        return "delete" if change.mode_before else "add"
    return "mode" if change.before == change.after else "change"


def changed_lines(change: Change, objects: Objects) -> tuple[Hunk, ...] | None:
    """The hunks of a changed text; None for anything else."""
    if operation(change) != "change":
        return None
    before, after = objects.read(change.before), objects.read(change.after)
    return hunks(before, after) if before is not None and after is not None else None


def _words(text: str) -> set[str]:
    return {w.lower() for w in re.findall(r"[^\W\d_]\w*", text[:500])}


def _class(commit: Commit) -> Class:
    if len(commit.parents) != 1:
        return "merge" if commit.parents else "root"
    if _REVERTS.search(commit.message):
        return "revert"
    return "plain" if commit.changes else "empty"
