"""No line, no first column, or no first column with another one stands twice in a file, remarks left aside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.columns import SEPARATORS
from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines

LEAST = 5
_LONG, _SHORT = re.compile(r"[A-Za-z]{2,}|\d{2,}"), re.compile(r"\d")
_REMARK = ("#", ";")
_CUT = re.compile("[" + re.escape("".join(SEPARATORS)) + "]")


WHOLE: tuple[Learned, ...] = ((),)
"""The line is its own key."""


def key(row: str, columns: Learned) -> str:
    """What a line says in some columns; the line itself without any."""
    cells = _CUT.split(row)
    numbers = [int(str(n)) for n in columns] if isinstance(columns, tuple) else []
    return "\n".join(cells[n] if n < len(cells) else "" for n in numbers) if numbers else row


class Unique:
    name = "unique-keys"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        texts = [[row for row in lines(t) if _counts(row)] for t in seen]
        rows = sum(len(t) for t in texts if len(t) > 1)
        width = min((len(_CUT.split(row)) for t in texts for row in t), default=1)
        if rows < LEAST:
            return None
        pairs = tuple((0, n) for n in range(1, width) if _repeats(texts, (0,)) and _repeats(texts, (n,)))
        pairs = tuple(pair for pair in pairs if not _repeats(texts, pair))
        first: tuple[Learned, ...] = ((0,),) if width > 1 else ()
        for keys in (first, pairs, WHOLE):
            if keys and not any(_repeats(texts, columns) for columns in keys):
                return Lesson(keys, rows)
        return None

    def holds(self, value: Learned, text: str) -> bool:
        rows = [row for row in lines(text) if _counts(row)]
        return not any(_repeats([rows], columns) for columns in _each(value))

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """Repeated ones get a word of their own where they have one, and are left out where not."""
        seen: set[tuple[int, str]] = set()

        def keys(row: str) -> set[tuple[int, str]]:
            return {(n, key(row, columns)) for n, columns in enumerate(_each(value))} if _counts(row) else set()

        out = []
        for row in lines(text):
            for _ in range(4):
                if not keys(row) & seen:
                    break
                end = len(row) if value == WHOLE else len(key(row, (0,)))
                row = renamed(row[:end], rng) + row[end:]
            if not keys(row) & seen:
                out.append(row)
            seen |= keys(row)
        return joined(out, text)

    def says(self, value: Learned) -> str:
        if value == WHOLE:
            return "has no line twice"
        return "has no first column twice" if value == ((0,),) else "has no first column with the same other one twice"


def _counts(row: str) -> bool:
    return bool(row.strip()) and not row.startswith(_REMARK)


def _each(value: Learned) -> tuple[Learned, ...]:
    return value if isinstance(value, tuple) else ()


def _repeats(texts: Sequence[Sequence[str]], columns: Learned) -> bool:
    """Whether some text says the same in these columns twice."""
    return any(len({key(row, columns) for row in t}) < len(t) for t in texts)


def renamed(row: str, rng: Random) -> str:
    """A line with another first word or number. A digit alone may be a code, and is changed where there is nothing else."""
    found = _LONG.search(row) or _SHORT.search(row)
    return f"{row[: found.start()]}{_another(found[0], rng)}{row[found.end() :]}" if found else row


def _another(word: str, rng: Random) -> str:
    if word.isdecimal():
        return str(int(word) + rng.randint(1000, 9000))
    return word + "".join(rng.choice("bdfgklmnprstvz") for _ in range(3))


KIND = Unique()
