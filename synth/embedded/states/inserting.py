"""Learns where lines are put in, and what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from synth.embedded.states.blocks import templates
from synth.embedded.states.edits import KEYS, Edit, Insert, InsertSorted
from synth.embedded.states.hunks import GRAINS, Hunk
from synth.embedded.states.patterns import Hole, Pattern, common, literal
from synth.embedded.states.rewriting import Group
from synth.embedded.states.values import Values

_LINES = 4
"""Lines above or below that may say where the place is."""


def insertions(group: Group, values: Values) -> Iterator[tuple[Edit, Values]]:
    """Insertions that are right in every example."""
    if len(group.hunks) != len(group.examples) or group.where.many:
        return
    for slide in (_up, _down):
        hunks = sorted((slide(h) for h in group.hunks), key=lambda h: h.example)
        blocks = ["".join(h.new) for h in hunks]
        anchor = next((a for a in _anchors(hunks) if _meets(a, hunks)), None)
        for block, found in templates(blocks, values):
            edits: list[Edit] = [Insert(hunks[0].path, anchor, block)] if anchor is not None else []
            edits += [InsertSorted(hunks[0].path, p, block, key) for p in _alike(hunks) for key in KEYS]
            yield from ((e, found) for e in edits if _right(group, e, found))


def _up(hunk: Hunk) -> Hunk:
    """The same change, seen as early as it can be."""
    before, new, after = list(hunk.before), list(hunk.new), list(hunk.after)
    while before and before[-1] == new[-1]:
        after.insert(0, new.pop())
        new.insert(0, before.pop())
    return replace(hunk, line=len(before), new=tuple(new), before=tuple(before), after=tuple(after))


def _down(hunk: Hunk) -> Hunk:
    """The same change, seen as late as it can be."""
    before, new, after = list(hunk.before), list(hunk.new), list(hunk.after)
    while after and after[0] == new[0]:
        before.append(new.pop(0))
        new.append(after.pop(0))
    return replace(hunk, line=len(before), new=tuple(new), before=tuple(before), after=tuple(after))


def _anchors(hunks: Sequence[Hunk]) -> Iterator[Pattern]:
    """Patterns that end where the lines are put in: behind these lines, before those, at the top, at the end."""
    for grain in GRAINS:
        for n in range(1, _LINES + 1):
            if found := _lines(["".join(h.before[len(h.before) - n :]) for h in hunks if len(h.before) >= n], hunks, grain):
                yield Pattern((f"^{found}",))
        for n in range(1, _LINES + 1):
            if found := _lines(["".join(h.after[:n]) for h in hunks if len(h.after) >= n], hunks, grain):
                yield Pattern((f"(?=^{found})",))
    yield Pattern((r"\A",))
    yield Pattern((r"\Z",))


def _lines(texts: Sequence[str], hunks: Sequence[Hunk], grain: str) -> str:
    pieces = common(texts, grain) if len(texts) == len(hunks) else None
    if pieces is None or not any(isinstance(p, str) and re.search(r"\w", p) for p in pieces):
        return ""
    return "".join(literal(p) if isinstance(p, str) else p.form for p in pieces)


def _meets(anchor: Pattern, hunks: Sequence[Hunk]) -> bool:
    for h in hunks:
        above = "".join(h.before)
        found = re.search(anchor.at({}, 0), above + "".join(h.after), re.MULTILINE)
        if found is None or found.end() != len(above):
            return False
    return True


def _alike(hunks: Sequence[Hunk]) -> Iterator[Pattern]:
    """Patterns of the lines among which a new one stands."""
    if any(len(h.new) != 1 or not h.before or not h.after for h in hunks):
        return
    for grain in GRAINS[:2]:
        pieces = common([line for h in hunks for line in (h.before[-1], h.new[0], h.after[0])], grain)
        if pieces is not None and sum(isinstance(p, Hole) for p in pieces) == 1:
            body = "".join(literal(p) if isinstance(p, str) else f"({p.form})" for p in pieces)
            yield Pattern((f"^{body}",))


def _right(group: Group, edit: Edit, values: Values) -> bool:
    for e, example in enumerate(group.examples):
        wanted = group.expected[e]
        files = dict(example.start)
        try:
            edit.apply(values.env(e), files)
        except ValueError:
            return False
        if any(files[p] != text for p, text in wanted.items()):
            return False
    return True
