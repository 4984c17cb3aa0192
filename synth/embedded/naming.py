"""A skill's name and summary from the pattern: snake_case, without values that vary and without anything secret-looking."""

from __future__ import annotations

import re
from collections.abc import Sequence

_STOP = frozenset(
    """a an the of in to all any each every with from for and or on at by is are be it this that these those under into below
    here current directory folder please its their there do make sure which what how many as using use""".split()  # noqa: SIM905  (a list of words reads better as text)
)
"""Words that do not tell one task from another."""


def skill_name(category: str, summary: str) -> str:
    """The pattern's category where it is a good identifier, else words of the summary."""
    name = re.sub(r"[^a-z0-9_]+", "_", category.lower()).strip("_")
    words = [w for w in name.split("_") if w]
    if not words or len(words) < 2:
        words = [w for w in re.findall(r"[a-z]+", summary.lower()) if w not in _STOP][:5] or ["learned", "skill"]
    out = "_".join(words)[:60].strip("_")
    return out if out[0].isalpha() else f"skill_{out}"


def summary_of(descriptions: Sequence[str], values: Sequence[str]) -> str:
    """The most general description: the shortest one, values left as they are in quotes."""
    usable = [d for d in descriptions if d.strip()]
    if not usable:
        return "Repeat a recorded task"
    best = max(usable, key=lambda d: (sum(v not in d for v in values if v), -len(d)))
    return " ".join(best.split())[:100]
