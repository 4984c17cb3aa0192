"""How far a replay is from a recording: the lines that only one of them has, step by step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.interface import ExecResult, ReplayRecord
from verifiers.interface import Evidence

_LONG_LISTING = re.compile(
    r"(?P<kind>[-dlbcps])(?P<mode>[-rwxsStT]{9})[.+@]?\s+\d+\s+\S+\s+\S+\s+(?P<size>\d+)\s+"
    r"(?:[A-Z][a-z]{2}\s+\d+\s+[\d:]+|\d{4}-\d\d-\d\d\s+\d\d:\d\d\S*(?:\s+[+-]\d{4})?)\s(?P<name>.*)"
)
_TOTAL = re.compile(r"total \d+")


@dataclass(frozen=True, slots=True)
class Step:
    """One step's difference."""

    index: int
    cwd: str
    missing: tuple[str, ...]
    """Lines that the recording has and the replay has not, in order."""
    extra: tuple[str, ...]
    """Lines that the replay has and the recording has not, in order."""


@dataclass(frozen=True, slots=True)
class Gap:
    """How a replay differs from a recording."""

    steps: tuple[Step, ...]
    """Those that differ."""
    order: int
    """Steps whose lines are the same in another order."""
    codes: int
    """Steps whose exit code is zero in one and not in the other, where codes were recorded."""

    @property
    def lines(self) -> int:
        return sum(len(s.missing) + len(s.extra) for s in self.steps) + self.codes


def gap(evidence: Evidence, record: ReplayRecord) -> Gap:
    """Compares a replay with a recording: outputs as multisets of lines, stdout and stderr apart where the recording has both."""
    steps: list[Step] = []
    order = codes = 0
    for index, step in enumerate(record.steps):
        missing, extra, reordered = _step(evidence, index, step)
        if missing or extra:
            steps.append(Step(index, step.cwd, tuple(missing), tuple(extra)))
        order += reordered
        if evidence.exit_codes is not None and (evidence.exit_codes[index] == 0) != (step.exit_code == 0):
            codes += 1
    return Gap(tuple(steps), order, codes)


def _step(evidence: Evidence, index: int, step: ExecResult) -> tuple[list[str], list[str], bool]:
    out, err = _text(step.stdout), _text(step.stderr)
    if evidence.stderrs is None:
        return _lines(evidence.outputs[index], out + err)
    missing, extra, reordered = _lines(evidence.stdout(index), out)
    more_missing, more_extra, _ = _lines(evidence.stderrs[index], err)
    return missing + more_missing, extra + more_extra, reordered


def _lines(recorded: str, replayed: str) -> tuple[list[str], list[str], bool]:
    a = [normal(line) for line in recorded.splitlines()]
    b = [normal(line) for line in replayed.splitlines()]
    a, b = [x for x in a if x is not None], [x for x in b if x is not None]
    missing, extra = _without(a, b), _without(b, a)
    return missing, extra, a != b and not missing and not extra


def _without(lines: Iterable[str | None], others: Iterable[str | None]) -> list[str]:
    left = Counter(others)
    out: list[str] = []
    for line in lines:
        if left[line]:
            left[line] -= 1
        elif line is not None:
            out.append(line)
    return out


def normal(line: str) -> str | None:
    """A line without what no base brings back: owner, links, times, a directory's size. None = a line that is not compared."""
    if _TOTAL.fullmatch(line):
        return None
    found = _LONG_LISTING.fullmatch(line)
    if found is None:
        return line
    if found["name"] == "..":
        return None
    size = found["size"] if found["kind"] == "-" else ""
    return f"{found['kind']}{found['mode']} {size} {found['name']}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
