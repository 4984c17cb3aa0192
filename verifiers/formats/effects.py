"""The differences that a finding tells of, taken apart for showing: which path, what was expected, what was there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from verifiers.formats.text import one_line
from verifiers.interface import Finding

_EFFECT = re.compile(
    r"(?:effect: )?(?P<path>.+?): (?P<kind>created|removed|type|mode|content|target)"
    r": expected (?P<expected>.*), observed (?P<observed>.*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Side:
    """Two texts to compare, under a heading ("" = the finding's own)."""

    heading: str
    expected: str
    observed: str


def sides(finding: Finding) -> tuple[list[Side], list[str]]:
    """What to compare in a finding, each difference once, and the notes that are not differences."""
    found: list[Side] = []
    rest: list[str] = []
    for note in finding.notes:
        side = _side(note) if note.startswith("effect: ") else None
        if side is None:
            rest.append(note)
        elif side not in found:
            found.append(side)
    example = finding.counterexample
    if example is not None and (example.expected or example.observed):
        told = {(s.expected, s.observed) for s in found}
        again = _side(example.observed)
        if (example.expected, example.observed) not in told and (again is None or again not in found):
            found.insert(0, again or Side("", example.expected, example.observed))
            said = f"effect: {example.observed}"
            rest = [note for note in rest if note != said]
    return found, rest


def details(finding: Finding) -> list[str]:
    """What a finding has besides its message, a fact a line: notes, case, both sides, how to see it again."""
    lines = list(finding.notes)
    example = finding.counterexample
    if example is not None:
        lines.append(f"case: {example.case}" + (f" with {one_line(dict(example.args))}" if example.args else ""))
        lines += [f"{k}: {v}" for k, v in (("expected", example.expected), ("observed", example.observed)) if v]
    if finding.reproduce:
        lines.append(f"reproduce: {finding.reproduce}")
    return lines


def headline(finding: Finding) -> str:
    """The message without the values that are shown beside each other anyway."""
    message = finding.message
    for side in sides(finding)[0]:
        message = message.replace(f": expected {side.expected}, observed {side.observed}", " differs")
    return message


def _side(text: str) -> Side | None:
    match = _EFFECT.fullmatch(text)
    return Side(f"{match['path']}: {match['kind']}", match["expected"], match["observed"]) if match else None
