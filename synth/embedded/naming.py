"""A skill's name and summary from the pattern: snake_case, without values that vary and without anything secret-looking."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from synth.tracing.redact import redact

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
    out = "_".join(dict.fromkeys(words))[:60].strip("_")
    if "_" not in out:
        out = f"{out}_task"
    return out if out[0].isalpha() else f"do_{out}"


def summary_of(cases: Sequence[tuple[str, Mapping[str, str]]]) -> str:
    """The description in which most values are found, with the parameters' names in their place.

    Args:
        cases: per trace its description and its values by parameter name.
    """
    best, found = "Repeat a recorded task", -1
    for description, values in cases:
        text, n = " ".join(redact(description).split()), 0
        for name, value in sorted(values.items(), key=lambda item: -len(item[1])):
            if value:
                text, hits = re.subn(rf"(?<!\w){re.escape(value)}(?!\w)", f"<{name}>", text)
                n += hits > 0
        if text and (n > found or (n == found and len(text) < len(best))):
            best, found = text, n
    return best if len(best) <= 100 else best[:100].rsplit(" ", 1)[0]
