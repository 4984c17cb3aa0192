"""Differences between two texts as hunks, and hunks of several examples that are of one kind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import product

from synth.embedded.states.examples import Example

GRAINS = (r"[\w+-]+(?:\.[\w+-]+)*", r"[\w./+-]+", r"\d+(?:\.\d+)+|[^\W_]+", r"[^\s\"'`<>(){}\[\],;]+")
"""What counts as one word of a line, from the usual to the unusual."""
RULE = re.compile(r"([=~^*_#-])\1{3,}")
"""A line under a heading."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of a file that became other lines."""

    example: int
    path: str
    line: int
    """Index of its first line at the start."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    before: tuple[str, ...]
    """All lines above it."""
    after: tuple[str, ...]
    """All lines below it."""


def hunks_of(number: int, example: Example) -> Iterator[Hunk]:
    """What changed in the files that are there before and after, in order."""
    for path in example.changed:
        a, b = example.start[path].splitlines(keepends=True), example.end[path].splitlines(keepends=True)
        same = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        tail = next((n for n, (x, y) in enumerate(zip(a[same:][::-1], b[same:][::-1], strict=False)) if x != y), None)
        tail = min(len(a), len(b)) - same if tail is None else tail
        matcher = SequenceMatcher(None, a[same : len(a) - tail], b[same : len(b) - tail], autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag != "equal":
                yield from _parts(number, path, a, same + i1, same + i2, b[same + j1 : same + j2])


def _parts(number: int, path: str, a: list[str], i1: int, i2: int, new: list[str]) -> Iterator[Hunk]:
    """One hunk, or one for each line where every line became a line like it."""
    old = a[i1:i2]
    if len(old) == len(new) > 1 and all(map(_like, old, new)):
        for k, line in enumerate(new):
            yield Hunk(number, path, i1 + k, (old[k],), (line,), tuple(a[: i1 + k]), tuple(a[i1 + k + 1 :]))
    else:
        yield Hunk(number, path, i1, tuple(old), tuple(new), tuple(a[:i1]), tuple(a[i2:]))


def _like(a: str, b: str) -> bool:
    return not RULE.fullmatch(a.strip()) and kind_of((a,)) == kind_of((b,))


def words(text: str, grain: str) -> list[str]:
    """The text as words, rules under headings, runs of blanks, and single characters. Joined they give the text."""
    return [m[0] for m in re.finditer(rf"{RULE.pattern}|{grain}|[ \t]+|.", text, re.DOTALL)]


# ---------------------------------------------------------------- of one kind


def groupings(hunks: Sequence[Hunk], examples: Sequence[Example]) -> Iterator[list[list[Hunk]]]:
    """Ways to see hunks of several examples as the same edits, the narrowest first: each of their groups is in every example."""
    seen: list[list[list[Hunk]]] = []
    for idle, by_folder, mask in product((False, True), (False, True), (kind_of, bare)):
        groups: dict[object, list[Hunk]] = defaultdict(list)
        for h in hunks:
            place = folder_of(h.path) if by_folder else h.path
            groups[(place, mask(h.old), bool(h.new)) if h.old else (place, ())].append(h)
        coarse = [_with_idle(g, examples, mask) if idle else g for g in groups.values()]
        for found in ([part for g in coarse for part in _parted(g, len(examples))], coarse):
            if found not in seen and all(_everywhere(g, len(examples)) for g in found):
                seen.append(found)
                yield found


def _with_idle(group: list[Hunk], examples: Sequence[Example], mask: Callable[[Sequence[str]], tuple[str, ...]]) -> list[Hunk]:
    """The group with a hunk that changes nothing in each example that has none: the value there was what it was to become. Most
    have a hunk, they do not all say the same, and the lines are like no others of the file."""
    there, first = {h.example for h in group}, group[0]
    if 2 * len(there) <= len(examples) or not first.old or not first.new or len({h.new for h in group}) == 1:
        return group
    idle = [h for n, x in enumerate(examples) if n not in there for h in _lines_like(first, n, x, mask)]
    return group + idle if len({h.example for h in idle}) == len(idle) else group


def _lines_like(like: Hunk, number: int, x: Example, mask: Callable[[Sequence[str]], tuple[str, ...]]) -> Iterator[Hunk]:
    lines, size, wanted = x.start.get(like.path, "").splitlines(keepends=True), len(like.old), mask(like.old)
    for at in range(len(lines) - size + 1):
        old = tuple(lines[at : at + size])
        if mask(old) == wanted:
            yield Hunk(number, like.path, at, old, old, tuple(lines[:at]), tuple(lines[at + size :]))


def _parted(group: list[Hunk], examples: int) -> list[list[Hunk]]:
    """The group in smaller ones that are in every example still, where there are such."""
    for mask in (_digits, numbered):
        parts: dict[object, list[Hunk]] = defaultdict(list)
        for h in group:
            parts[mask(h.old)].append(h)
        if all(_everywhere(p, examples) for p in parts.values()):
            return list(parts.values())
    return [group]


def _everywhere(group: Sequence[Hunk], examples: int) -> bool:
    return len({h.example for h in group}) == examples


def folder_of(path: str) -> str:
    """A pattern for the files of the same folder and kind."""
    folder, _, name = path.rpartition("/")
    _, dot, suffix = name.rpartition(".")
    return (re.escape(folder) + "/" if folder else "") + r"[\w.@+-]+" + (re.escape(dot + suffix) if dot else "")


def _digits(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines, digits left open."""
    return tuple(re.sub(r"\d+", "#", line) for line in lines)


def numbered(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines, words with digits in them left open."""
    return tuple(re.sub(r"[\w.+-]*\d[\w.+-]*", "#", line) for line in lines)


def kind_of(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines, all words but the first of each left open."""
    return tuple(_first(line) + re.sub(r"[\w./+@-]+", "#", line[len(_first(line)) :]) for line in lines)


def bare(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines, all words left open."""
    return tuple(re.sub(r"[\w./+@-]+", "#", line) for line in lines)


def _first(line: str) -> str:
    found = re.match(r"\s*(?:-\s+)?[^\s\w]*[\w-]*", line)
    return found[0] if found else ""
