"""New names like those that are there, and what a trace means by its words. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import TOKEN, later, like, tokens

DAY = re.compile(r"(?<!\d)(?:\d{8}|\d{4}([-/._])\d\d\1\d\d)(?!\d)")
"""What may be a day of a year."""
LONGEST_NAME = 230
"""Bytes: file systems take 255, and skills add an ending."""


def too_long(path: str) -> bool:
    """Whether no file system takes one of its names."""
    return any(len(name.encode("utf-8", "surrogateescape")) > LONGEST_NAME for name in path.split("/"))


def below(where: str, name: str) -> str:
    return f"{where}/{name}" if where else name


def parents(path: str) -> list[str]:
    """The directories above a path, the topmost first."""
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def beyond(numbers: Sequence[int], least: int, most: int) -> int:
    """A count above every number up to ``most`` that the skill mentions, and not below ``least``."""
    return max([least, *(n + n // 8 + 3 for n in numbers if n + n // 8 + 3 <= most)])


def argument_tokens(g: Grammar) -> set[str]:
    return {t for v in g.args.values() for t in tokens(as_text(v))}


def meant(g: Grammar) -> frozenset[str]:
    """Words and numbers that arguments and the commands mention."""
    said = argument_tokens(g).union(tokens(g.template.literal_text()))
    return frozenset(said | {t.lower() for t in said})


def renamed_stem(name: str, word: str, g: Grammar) -> str:
    """A file name with its first free token replaced; "" where all of it means something."""
    fixed = argument_tokens(g).union(tokens(g.template.literal_text()), g.kinds)
    end = name.rfind(".") if "." in name else len(name)
    for m in TOKEN.finditer(name):
        if m.start() < end and m.group() not in fixed and not m.group().isdecimal():
            return name[: m.start()] + like(m.group(), word) + name[m.end() :]
    return ""


def numbered(name: str, n: int, g: Grammar) -> str:
    """A file name with another number in the place of its last one: ``part2`` of a series goes on to ``part11``, and days go on
    by the calendar."""
    last = _last_number(name)
    if last is None or last.group() in argument_tokens(g):
        return ""
    day = next((m for m in DAY.finditer(name) if m.end() == last.end()), None)
    if day is not None and (date := later(day.group(), n + 1)):
        return f"{name[: day.start()]}{date}{name[day.end() :]}"
    return f"{name[: last.start()]}{str(int(last.group()) + n + 1).zfill(len(last.group()))}{name[last.end() :]}"


def last_number(name: str) -> int:
    """The last number in a name; 0 for none."""
    found = _last_number(name)
    return int(found.group()) if found else 0


def _last_number(name: str) -> re.Match[str] | None:
    found = [m for m in TOKEN.finditer(name) if m.group().isdecimal() and m.group().isascii()]
    return found[-1] if found else None
