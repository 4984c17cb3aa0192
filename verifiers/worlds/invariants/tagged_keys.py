"""Lines that begin with one word or mark (``#KONTO 1930 …``, ``server web1 …``, ``id: GO:1``) have another second word each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines
from verifiers.worlds.invariants.unique import renamed

LEAST = 5
_TAGGED = re.compile(r"([^\s\w]?\w+[:=]?)[ \t]+(\S+)(?:\s|$)")


def tagged(text: str) -> Mapping[str, Sequence[str]]:
    """By the first word of lines at the margin their second words."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in lines(text):
        if m := _TAGGED.match(row):
            found[m[1]].append(m[2])
    return found


class TaggedKeys:
    name = "tagged-keys"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        found = [tagged(text) for text in seen]
        keys = {tag: [f[tag] for f in found if tag in f] for tag in {t for f in found for t in f}}
        several = {t: sum(len(k) for k in of if len(k) > 1) for t, of in keys.items() if len(of) > 1 and _distinct(of)}
        known = {t: n for t, n in several.items() if n >= LEAST}
        return Lesson(frozenset(known), sum(known.values())) if known else None

    def holds(self, value: Learned, text: str) -> bool:
        return _distinct([keys for tag, keys in tagged(text).items() if tag in _tags(value)])

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """Repeated ones get a second word of their own."""
        seen, out = set[tuple[str, str]](), []
        for row in lines(text):
            for _ in range(4):
                m = _TAGGED.match(row)
                if m is None or m[1] not in _tags(value) or m.groups() not in seen:
                    break
                row = f"{row[: m.start(2)]}{renamed(m[2], rng)}{row[m.end(2) :]}"
            seen |= {(m[1], m[2])} if m is not None else set()
            out.append(row)
        return joined(out, text)

    def says(self, value: Learned) -> str:
        return f"has no two lines that begin with {sorted(_tags(value))[0]!r} and go on with the same word"


def _tags(value: Learned) -> frozenset[str]:
    return value if isinstance(value, frozenset) else frozenset()


def _distinct(found: Sequence[Sequence[str]]) -> bool:
    return all(len(set(keys)) == len(keys) for keys in found)


KIND = TaggedKeys()
