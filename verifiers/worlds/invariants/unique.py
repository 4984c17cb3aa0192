"""No line, and no first column, stands twice in a file, remarks left aside."""

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


def key(row: str, what: Learned) -> str:
    return _CUT.split(row, 1)[0] if what == "key" else row


class Unique:
    name = "unique-keys"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        texts = [[row for row in lines(t) if row.strip() and not row.startswith(_REMARK)] for t in seen]
        rows = sum(len(t) for t in texts if len(t) > 1)
        if rows < LEAST:
            return None
        tabular = all(_CUT.search(row) for t in texts for row in t)
        for what in ("key", "line") if tabular else ("line",):
            if all(len({key(row, what) for row in t}) == len(t) for t in texts):
                return Lesson(what, rows)
        return None

    def holds(self, value: Learned, text: str) -> bool:
        keys = [key(row, value) for row in lines(text) if row.strip() and not row.startswith(_REMARK)]
        return len(set(keys)) == len(keys)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """Repeated ones get a word of their own where they have one, and are left out where not."""
        seen: set[str] = set()
        out = []
        for row in lines(text):
            told = row.strip() and not row.startswith(_REMARK)
            for _ in range(4):
                if key(row, value) not in seen or not told:
                    break
                end = len(key(row, value))
                row = renamed(row[:end], rng) + row[end:]
            if not told or key(row, value) not in seen:
                out.append(row)
            seen.add(key(row, value))
        return joined(out, text)

    def says(self, value: Learned) -> str:
        return "has no first column twice" if value == "key" else "has no line twice"


def renamed(row: str, rng: Random) -> str:
    """A line with another first word or number. A digit alone may be a code, and is changed where there is nothing else."""
    found = _LONG.search(row) or _SHORT.search(row)
    return f"{row[: found.start()]}{_another(found[0], rng)}{row[found.end() :]}" if found else row


def _another(word: str, rng: Random) -> str:
    if word.isdecimal():
        return str(int(word) + rng.randint(1000, 9000))
    return word + "".join(rng.choice("bdfgklmnprstvz") for _ in range(3))


KIND = Unique()
