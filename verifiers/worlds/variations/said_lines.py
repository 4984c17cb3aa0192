"""Lines of what arguments say and the text does not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifiers.worlds.records import decoded, encoded, in_parts, takes_lines
from verifiers.worlds.variation import Example, Rule, Stage, Variation, contents, of_content

MOST_SAID = 8
MAX_LIKE = 1000
"""Characters of a line that others are made like: in longer ones a search for words takes too long."""


def saying(content: bytes, said: Sequence[str]) -> bytes:
    """Text with lines behind its first one that have a word of the arguments which it does not have: each is the next line with
    that word in the place of those that arguments say too, or of its last one. What the task writes may stand there already."""
    if b"\n" not in content or not takes_lines(content) or in_parts(content):
        return content
    head, _, tail = decoded(content).partition("\n")
    like = tail.partition("\n")[0] or head
    if len(like) > MAX_LIKE:
        return content
    heard = re.compile("|".join(rf"\w*{re.escape(w)}\w*" for w in said) or r"(?!)")
    pattern = heard if heard.search(like) else re.compile(r"[^\W\d_]{2,}(?=[\W\d_]*$)")
    lines = [pattern.sub(word, like) for word in said if word not in head + tail][:MOST_SAID]
    return encoded("".join(f"{x}\n" for x in (head, *(x for x in lines if x != like))) + tail)


VARIATIONS = (
    Variation(
        name="said-lines", why="A file has lines of what arguments say.",
        choices=contents, apply=of_content(lambda content, draft, _: saying(content, draft.said)),
        rule=Rule.BYSTANDER, stage=Stage.EDIT, alone=3,
        odd="line",
        examples=(Example(("a",), {"a": "x old\n"}, {"a": "x old\nx new\n"}, {"b": "new", "a": "old"}, "ls old new"),),
    ),
)  # fmt: skip
