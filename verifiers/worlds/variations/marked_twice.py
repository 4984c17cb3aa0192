"""A value holds the mark that stands before it: whoever cuts the line at each such mark loses the rest."""

from __future__ import annotations

import re

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.invariants.xml_shape import root
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Rule, Said, Stage, Turns, Variation, of_content

_NOT = r"=:,;|\"'{}\[\]()<>#\n"
_PAIR = re.compile(rf"(?m)^[ \t]*[^\W\d][\w.-]{{0,40}}(?P<mark> ?[=:] ?)(?P<value>(?=.*[^\W\d]{{3}})[^\s{_NOT}]+ [^{_NOT}]*)$")
"""A name, a mark, and several words behind it: no number, no path, nothing quoted and no list."""
FEWEST = 2


def free(g: Grammar, content: bytes) -> list[re.Match[str]]:
    """The pairs of a file whose values neither the arguments nor the commands speak of."""
    text = decoded(content)
    if not takes_lines(content) or root(text) is not None:
        return []
    said, literal = [t for v in g.args.values() if (t := as_text(v))], g.template.literal_text()
    return [m for m in _PAIR.finditer(text) if m["value"] not in literal and not any(t in m["value"] for t in said)]


def marked(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents if len(free(g, g.base[p].content)) >= FEWEST]


def again(content: bytes, draft: Draft, path: str) -> bytes:
    text = decoded(content)
    for m in reversed(free(draft.g, content)):
        text = f"{text[: m.end()]}{m['mark']}{draft.word()}{text[m.end() :]}"
    return encoded(text)


VARIATIONS = (
    Variation(
        name="marked-twice", why="A value holds the mark that stands before it.",
        choices=marked, apply=of_content(again), rule=Rule.REMARK, stage=Stage.EDIT, turns=Turns.SHARED, alone=3,
        asks=False, recorded=lambda *_: Said.HARM, never="no value holds the mark that stands before it",
        examples=(
            Example(("a",), {"a": "T=Two words\nN=Some name\nC=2\n"}, {"a": "T=Two words=…\nN=Some name=…\nC=2\n"}),
        ),
    ),
)  # fmt: skip
