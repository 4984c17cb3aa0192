"""What grouping looks at: of each commit its message and its changes, both without their values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

from synth.history.commits import Change, Commit
from synth.history.objects import Objects
from synth.history.shapes import GITLINK, SYMLINK, Hunk, hunks, role, shapes_of, wide_role
from synth.history.values import abstract, leading, tokens, values, without_names

MOST_FILES = 64
"""Of a commit that is looked at line by line."""
_RECURS = 3
"""Commits that do the same to a path, its values left out, that is a place of its own."""
_SHORT = 4
"""Words of a line that is no prose."""
Class = Literal["plain", "merge", "revert", "empty", "root"]
_REVERTS = re.compile(r'^Revert "|^This reverts commit [0-9a-f]{7,40}', re.MULTILINE | re.IGNORECASE)
_BOT = re.compile(r"\[bot\]|\bbot\b|-bot\b|\bbot@", re.IGNORECASE)
_TAIL = re.compile(r"\s*\((?:#|gh-|!)\d+\)\s*$|\s*#\d+\s*$|[.\s]+$", re.IGNORECASE)

_GENERATED = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|go\.sum|[^/]+\.lock|[^/]+-lock\.(?:json|yaml)|[^/]+\.min\.(?:js|css)|"
    r"[^/]+\.(?:map|snap|pb\.go)|[^/]+_pb2\.py)$|(?:^|/)(?:dist|vendor|node_modules)/"
)
"""Files that tools write, by their names: what is in them is for the tool to say."""
OPERATIONS = frozenset({"add", "delete", "change", "mode", "link", "submodule"})
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
    """The subject also without the names that the change holds."""
    touched: frozenset[Feature]
    """Path and operation."""
    shapes: frozenset[Feature]
    """Path and shape of the change."""
    loose_shapes: frozenset[Feature]
    """The same without those names."""
    indented: frozenset[Feature]
    """Path and with what its changed lines are indented: a blank or a tab."""
    wide: frozenset[Feature]
    """Both, without those names and those of the files."""
    bot: bool
    """Whether a program made it, by its author's name."""
    generated: frozenset[str]
    """Paths that it changes and that a tool writes."""
    lines: int
    """Put in or taken out."""
    tells: bool
    """Whether its message holds every value that it puts into a line."""

    @property
    def features(self) -> frozenset[Feature]:
        return self.touched | self.shapes


def facts_of(commits: Sequence[Commit], objects: Objects) -> list[Facts]:
    """What grouping looks at, of each commit of a history."""
    made = Counter((role(c.path), operation(c)) for commit in commits for c in commit.changes)
    recurring = frozenset(feature for feature, n in made.items() if n >= _RECURS)
    return [_facts(commit, objects, recurring) for commit in commits]


def _facts(commit: Commit, objects: Objects, recurring: Set[Feature]) -> Facts:
    kind = _class(commit)
    message = abstract(subject_of(commit))
    found = [(c, operation(c), _lines(c, objects, len(commit.changes))) for c in commit.changes] if kind == "plain" else []
    names = frozenset(tokens(message)[1:]) & _held(found, recurring)
    touched: set[Feature] = set()
    shapes: set[Feature] = set()
    wide: set[Feature] = set()
    unnamed: set[Feature] = set()
    indented: set[Feature] = set()
    new: set[str] = set()
    count = 0
    for change, done, lines in found:
        count += sum(len(h.old) + len(h.new) for h in lines or ())
        new |= {v for h in lines or () if len(h.old) == len(h.new) for v in _added(h)}
        # Where a submodule lies says nothing about what was done.
        where = "*" if done == "submodule" else role(change.path)
        own = done in ("add", "delete") and (where, done) in recurring
        place = where if own or done == "submodule" else wide_role(change.path)
        forms = shapes_of(lines) if lines is not None else frozenset({done})
        touched.add((where, done))
        shapes |= {(where, form) for form in forms}
        loose = {without_names(form, names) for form in forms}
        unnamed |= {(where, form) for form in loose}
        indented |= {(where, line[0]) for h in lines or () for line in h.new if line[0] in " \t"}
        wide |= {(place, done), *((place, form) for form in loose)}
    return Facts(
        commit, kind, message.lower(), without_names(message, names), frozenset(touched), frozenset(shapes),
        frozenset(unnamed), frozenset(indented), frozenset(wide),
        bot=_BOT.search(commit.author) is not None, lines=count, tells=bool(new) and all(v in commit.message for v in new),
        generated=frozenset(role(c.path) for c in commit.changes if _GENERATED.search(c.path)),
    )  # fmt: skip


def _added(hunk: Hunk) -> set[str]:
    """Values that lines in place of others have and these have not, as a message writes them."""
    return {v.lstrip("vV") for v in set(values("".join(hunk.new))) - set(values("".join(hunk.old)))}


def _lines(change: Change, objects: Objects, files: int) -> tuple[Hunk, ...] | None:
    return changed_lines(change, objects) if files <= MOST_FILES else None


def _held(found: Sequence[tuple[Change, str, tuple[Hunk, ...] | None]], recurring: Set[Feature]) -> set[str]:
    """What a change holds that its message may name: in a path that comes once, or in lines with other values or a new one."""
    held: set[str] = set()
    for change, done, lines in found:
        where = role(change.path)
        if done != "change" and (where, done) not in recurring:
            held.update(tokens(where), tokens(where.rpartition("/")[2]))
        for hunk in lines or ():
            if len(hunk.new) <= 1 or len(hunk.old) == len(hunk.new):
                for line in (*hunk.old, *hunk.new):
                    said = tokens(abstract(line))
                    if len(said) <= _SHORT:
                        held.update(part for token in said for part in leading(token))
    return held


def subject_of(commit: Commit) -> str:
    """The first line of the message without the number of a pull request and other tails."""
    subject, before = commit.subject, ""
    while subject != before:
        subject, before = _TAIL.sub("", subject), subject
    return " ".join(subject.split())


def operation(change: Change) -> str:
    """What was done to a path: one of ``OPERATIONS``."""
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


def _class(commit: Commit) -> Class:
    if len(commit.parents) != 1:
        return "merge" if commit.parents else "root"
    if _REVERTS.search(commit.message):
        return "revert"
    return "plain" if commit.changes else "empty"
