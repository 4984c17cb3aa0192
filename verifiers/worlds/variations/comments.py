"""More and fewer comments in a file that has some."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.variation import Choice, Example, Rule, Said, Stage, Variation, of_content

_COMMENT = re.compile(r"(?m)^[ \t]*(?:#(?!!)|;|//|--|%).*[^\W\d_]{2,}.*\n")
_WORD = re.compile(r"[^\W\d_]{2,}(?=[^\w]*$)|[^\W\d_]{2,}")


def commented(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents if takes_lines(g.base[p].content) and _COMMENT.search(decoded(g.base[p].content))]


def headed(g: Grammar) -> list[Choice]:
    return [choice for choice in commented(g) if len(_top(decoded(g.base[str(choice[0])].content))) > 2]


def one_more(content: bytes, draft: Draft, _path: str) -> bytes:
    """Behind the first comment, one like it with another word."""
    text = decoded(content)
    m = _COMMENT.search(text)
    if m is None:
        return content
    word = list(_WORD.finditer(m[0]))[-1]
    like = m[0][: word.start()] + draft.word() + m[0][word.end() :]
    return encoded(text[: m.end()] + like + text[m.end() :])


def fewer(content: bytes, _draft: Draft, _path: str) -> bytes:
    """Of the comments at the top the first and the last one: who counts the lines of a head is wrong there."""
    text = decoded(content)
    top = _top(text)
    return encoded(top[0][0] + text[top[-1].start() :]) if len(top) > 2 else content


def _top(text: str) -> list[re.Match[str]]:
    """The comments with which a text begins."""
    found: list[re.Match[str]] = []
    while m := _COMMENT.match(text, found[-1].end() if found else 0):
        found.append(m)
    return found


def heads_differ(choice: Choice, gs: Sequence[Grammar]) -> Said:
    counts = {len(_top(decoded(g.base[str(p)].content))) for g in gs for (p,) in headed(g)}
    return Said.ALL if len(counts) > 1 else Said.HARM


VARIATIONS = (
    Variation(
        name="more-comments", why="A file has one comment more.",
        choices=commented, apply=of_content(one_more), rule=Rule.BYSTANDER, stage=Stage.EDIT, alone=2,
        examples=(Example(("a",), {"a": "# some words\nk=1\n"}, {"a": "# some words\n# some …\nk=1\n"}),),
    ),
    Variation(
        name="fewer-comments", why="A file begins with fewer comments.",
        choices=headed, apply=of_content(fewer), stage=Stage.EDIT, alone=2,
        recorded=heads_differ, never="each file begins with as many comments",
        examples=(Example(("a",), {"a": "# some\n# and\n# more\nk=1\n"}, {"a": "# some\n# more\nk=1\n"}),),
    ),
)  # fmt: skip
