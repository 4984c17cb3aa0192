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


def free(g: Grammar, path: str) -> set[str]:
    """The quoted texts of a file that neither an argument nor the commands say."""
    content, literal = g.base[path].content, g.template.literal_text()
    said = [text for v in g.args.values() if (text := as_text(v))]
    found = {m[1] for m in QUOTED.finditer(decoded(content))} if takes_lines(content) else set[str]()
    return {text for text in found if text not in literal and not any(v in text for v in said)}


def with_quotes(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents if free(g, p)]


def holding(content: bytes, draft: Draft, path: str) -> bytes:
    own = {draft.renamed(text) for text in free(draft.g, path)}
    return encoded(QUOTED.sub(lambda m: f'"{m[1]}{m[2]}z"{m[2]}' if m[1] in own else m[0], decoded(content)))


VARIATIONS = (
    Variation(
        name="quoted-signs", why="Quoted texts hold the sign that stands behind them.",
        choices=with_quotes, apply=of_content(holding), stage=Stage.EDIT, alone=2,
        examples=(Example(("a",), {"a": 'm{a="x",b="y"} 1\n'}, {"a": 'm{a="x,z",b="y}z"} 1\n'}),),
    ),
)  # fmt: skip
