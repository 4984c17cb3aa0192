"""Lines that hold one that is to be written, and words of arguments that come twice in a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import encoded
from verifiers.worlds.variation import Choice, Example, Rule, Stage, Variation, contents, of_content

SUFFIXED, PREFIXED, ABOVE = "suffixed", "prefixed", "above"


def holding(content: bytes, lines: Sequence[str], way: str) -> bytes:
    """Text with more lines, made of the given ones: with a letter behind, at the end (SUFFIXED) or at the start (ABOVE), or in
    the other case and with a letter before (PREFIXED)."""
    if b"\0" in content or not (content.endswith(b"\n") or not content):
        return content
    more = encoded("".join(f"{x.swapcase()}\nx{x}\n" if way == PREFIXED else f"{x}x\n" for x in lines))
    return more + content if way == ABOVE else content + more


def repeated(content: bytes, said: Sequence[str]) -> bytes:
    """Text in which every line that has a word of the arguments has it twice."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    for word in said:
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", f"{word} {word}", text)
    return text.encode("utf-8")


def added_to(g: Grammar) -> list[Choice]:
    return [(p, way) for p in g.contents if g.added(p) for way in (SUFFIXED, PREFIXED, ABOVE)]


def _held(content: bytes, draft: Draft, path: str, way: str) -> bytes:
    return holding(content, [draft.renamed(line) for line in draft.g.added(path)], way)


MILK = {"w": "milk"}
VARIATIONS = (
    Variation(
        name="holding-lines", why="A file has lines that hold one which the trace adds, with a letter more.",
        choices=added_to, apply=of_content(_held), rule=Rule.BYSTANDER, stage=Stage.EDIT, alone=3, refusable=True,
        examples=(
            Example(("a", SUFFIXED), {"a": "1\n"}, {"a": "1\nmilkx\n"}, MILK, "echo milk >> a", {"a": "1\nmilk\n"}),
            Example(("a", ABOVE), {"a": "1\n"}, {"a": "milkx\n1\n"}, MILK, "echo milk >> a", {"a": "1\nmilk\n"}),
        ),
    ),
    Variation(
        name="repeated-words", why="A word of an argument stands twice in a line where it stood once.",
        choices=contents, apply=of_content(lambda content, draft, _: repeated(content, draft.said)),
        stage=Stage.EDIT, alone=3, refusable=True,
        examples=(Example(("a",), {"a": "milk milky\n"}, {"a": "milk milk milky\n"}, MILK, "ls milk"),),
    ),
)  # fmt: skip
