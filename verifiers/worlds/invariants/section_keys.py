"""No key stands twice in a section of ``key=value`` lines: of an INI file, of stanzas, of a message's head."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines

LEAST = 3
"""Sections with two keys or more."""
_KEY = re.compile(r"[^\s=:#;\[][^=:\n]*?(?=\s*[=:])")
_NO_KEY = re.compile(r"\s|[#;!]|$")
"""Blank lines, comments, and lines that go on with the one before."""


def keys(text: str) -> Iterator[tuple[int, str, str]]:
    """The number of the section, the key and the line of each line; a key is "" where the line has none."""
    section = 0
    for row in lines(text):
        section += not row.strip() or row.startswith("[")
        m = _KEY.match(row)
        yield section, m[0] if m else "", row


class SectionKeys:
    name = "section-keys"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        count = 0
        for text in seen:
            found = list(keys(text))
            if any(not key and not _NO_KEY.match(row) and not row.startswith("[") for _, key, row in found):
                return None
            sections = [s for s, key, _ in found if key]
            count += sum(sections.count(s) > 1 for s in set(sections))
        return Lesson(True, count) if count >= LEAST and all(self.holds(True, t) for t in seen) else None

    def holds(self, value: Learned, text: str) -> bool:
        found = [(section, key) for section, key, _ in keys(text) if key]
        return len(set(found)) == len(found)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """The first of each key."""
        seen: set[tuple[int, str]] = set()
        out = []
        for section, key, row in keys(text):
            if not key or (section, key) not in seen:
                out.append(row)
            seen.add((section, key))
        return joined(out, text)

    def says(self, value: Learned) -> str:
        return "has no key twice in a section"


KIND = SectionKeys()
