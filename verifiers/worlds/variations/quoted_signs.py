"""A quoted text holds the sign that stands behind its closing quote: whoever cuts there, quotes or not, loses the rest."""

from __future__ import annotations

import re

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

QUOTED = re.compile(r"""(?<==)"([^"\\\n]*[^\W\d_][^"\\\n]*)"([^\s\w"<>/&])""")
"""The value of a name, and a sign behind it that parts something."""


def _free(g: Grammar, text: str) -> bool:
    """Whether neither an argument nor the commands say it."""
    return text not in g.template.literal_text() and not any(as_text(v) in text for v in g.args.values() if as_text(v))


def with_quotes(g: Grammar) -> list[Choice]:
    texts = ((p, decoded(g.base[p].content)) for p in g.contents if takes_lines(g.base[p].content))
    return [(p,) for p, text in texts if any(_free(g, m[1]) for m in QUOTED.finditer(text))]


def holding(content: bytes, draft: Draft, _path: str) -> bytes:
    g, text = draft.g, decoded(content)
    back = {new: old for old, new in draft.renames.items()}
    made = QUOTED.sub(lambda m: f'"{m[1]}{m[2]}z"{m[2]}' if _free(g, back.get(m[1], m[1])) else m[0], text)
    return encoded(made)


VARIATIONS = (
    Variation(
        name="quoted-signs", why="Quoted texts hold the sign that stands behind them.",
        choices=with_quotes, apply=of_content(holding), stage=Stage.EDIT, alone=2,
        examples=(Example(("a",), {"a": 'm{a="x",b="y"} 1\n'}, {"a": 'm{a="x,z",b="y}z"} 1\n'}),),
    ),
)  # fmt: skip
