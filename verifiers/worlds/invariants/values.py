"""Arguments that are numbers stay numbers of the recorded sign; arguments of one line stay on one line; different ones differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson

SHAPES = (
    ("a file mode in octal", re.compile(r"[0-7]{3,4}")),
    ("a positive whole number without leading zeros", re.compile(r"[1-9]\d*")),
    ("a whole number", re.compile(r"-?\d+")),
    ("a date", re.compile(r"\d{4}-\d{2}-\d{2}")),
    ("a version", re.compile(r"v?\d+(\.\d+)+")),
)
"""The first that all recorded values have is what the parameter is."""


class Values:
    name = "same-kind-of-value"
    scopes = frozenset({"value"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        for name, form in SHAPES:
            if len(seen) > 1 and all(form.fullmatch(text) for text in seen):
                return Lesson(name, len(seen))
        return None

    def holds(self, value: Learned, text: str) -> bool:
        return bool(dict(SHAPES)[str(value)].fullmatch(text))

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        return f"is {value}"


KIND = Values()
