"""A remark stands behind what the task changes in a line, and says what is changed: it is somebody's, as every word is."""

from __future__ import annotations

import re

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.invariants.columns import KIND as COLUMNS
from verifiers.worlds.invariants.kind import lines
from verifiers.worlds.invariants.xml_shape import root
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.variation import Choice, Example, Rule, Said, Stage, Variation, of_content

CELLS = (",", ";", "\t", "|")
_SIGN = re.compile(r"(?m)^[ \t]*(#(?!!)|;|//|--|%)")


def changed(g: Grammar, path: str) -> list[int]:
    """Numbers of the lines that the task changes; nothing where it adds lines or takes some away."""
    after = g.expectation.tree.get(path)
    if after is None or after.type != "file":
        return []
    old, new = g.base[path].content.split(b"\n"), after.content.split(b"\n")
    return [n for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b] if len(old) == len(new) else []


def remarked(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents if takes_lines(g.base[p].content) and changed(g, p) and _has_room(g.base[p].content)]


def _has_room(content: bytes) -> bool:
    """Whether something may stand behind a value: no cell of a table, however short, and no XML."""
    text = decoded(content)
    lesson = COLUMNS.learn([text])
    marks = [m[0] for m in lesson.value if isinstance(m, tuple)] if lesson is not None and isinstance(lesson.value, tuple) else []
    rows = [row for row in lines(text) if row.strip()]
    cells = [mark for mark in CELLS if len(found := {row.count(mark) for row in rows}) == 1 and found != {0}]
    return root(text) is None and not cells and all(mark == " " for mark in marks)


def behind(content: bytes, draft: Draft, path: str) -> bytes:
    rows = decoded(content).split("\n")
    sign = next(iter(_SIGN.findall(decoded(content))), "#")
    new = decoded(draft.g.expectation.tree[path].content).split("\n")
    for n in changed(draft.g, path):
        rows[n] = f"{rows[n]}  {sign} {_replaced(rows[n], new[n])}{draft.word()}"
    return encoded("\n".join(rows))


def _replaced(old: str, new: str) -> str:
    """What the task takes out of a line, with the word before it: a remark may say that too. "" where it is no word."""
    words, others = old.split(), new.split()
    at = next((k for k, (a, b) in enumerate(zip(words, others, strict=False)) if a != b), 0)
    plain = at and len(words) == len(others) and words[at].isalnum() and words[at - 1].isalnum()
    return f"{words[at - 1]} {words[at]} " if plain else ""


VARIATIONS = (
    Variation(
        name="remarks", why="A remark stands behind what the task changes in a line.",
        choices=remarked, apply=of_content(behind), rule=Rule.REMARK, stage=Stage.EDIT, alone=1, asks=False,
        recorded=lambda *_: Said.HARM, never="no line that the task changes has a remark behind it",
        examples=(
            Example(("a",), {"a": "k 1\nl 2\n"}, {"a": "k 1\nl 2  # l 2 …\n"}, {}, "sed -i 's/l 2/l 3/' a", {"a": "k 1\nl 3\n"}),
        ),
    ),
)  # fmt: skip
