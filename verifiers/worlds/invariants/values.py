"""Arguments that are numbers, dates or words for yes and no stay such."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson
from verifiers.worlds.tokens import YES_OR_NO

SHAPES = (
    ("a file mode in octal", re.compile(r"[0-7]{3,4}")),
    ("a positive whole number without leading zeros", re.compile(r"[1-9]\d*")),
    ("a whole number", re.compile(r"-?\d+")),
    ("a date", re.compile(r"\d{4}-\d{2}-\d{2}")),
    ("a word for yes or no", YES_OR_NO),
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
