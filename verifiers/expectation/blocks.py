"""Where two texts differ, by whole lines. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

_MOST_BYTES = 1 << 20
"""Of a file whose changes are read."""
_LONGEST = 1_000
"""Characters of a line that is read: a longer one is no text that somebody wrote."""


@lru_cache(maxsize=64)
def changed_blocks(before: bytes, after: bytes) -> Sequence[tuple[str, str]]:
    """What stood at each place where two contents differ, and what stands there now: whole lines."""
    if max(len(before), len(after)) > _MOST_BYTES:
        return []
    old, new = (
        [line if len(line) <= _LONGEST else "\n" for line in data.decode("utf-8", "surrogateescape").splitlines(keepends=True)]
        for data in (before, after)
    )
    # difflib takes time in the square of what it compares, and most of a large file is as it was.
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [("".join(old[a:b]), "".join(new[c:d])) for tag, a, b, c, d in changes if tag != "equal"]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two texts have in common before the first that differs."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
