"""The records of a content: one less, one twice, another order."""

from __future__ import annotations

import re
from collections.abc import Collection
from random import Random

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import records, takes_lines
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Rule, Said, Stage, Variation, contents, of_content, pairs
from verifiers.worlds.variations.near import NO_SUCH_LINES

MOST_TWINS = 200
LESS, TWICE, REORDERED = "less", "twice", "reordered"


def other_lines(
    content: bytes, way: str, rng: Random, *, named: bool = False, size: int = 1, framing: Collection[str] = ()
) -> bytes:
    """Text with a record dropped or doubled, or with its records in another order; what is no text of several lines stays, and so
    does one whose lines are framed by others. Of a file that an argument names the first line stays: it may be a header."""
    found = records(content, size, head=named and content.count(b"\n") > 2)
    if found is None or len(found.items) < (1 if way == TWICE else 2) or found.framed(framing):
        return content
    items = list(found.items)
    if way == LESS:
        items.pop(rng.randrange(len(items)))
    elif way == TWICE:
        items.insert(rng.randrange(len(items) + 1), rng.choice(items))
    else:
        rng.shuffle(items)
    return found.joined(items)


def lines_and_ways(g: Grammar) -> list[Choice]:
    """What two equal entries of a file mean that an argument names, no recording says: none of its lines is doubled."""
    return [(p, way) for p, way in pairs(g.contents, (LESS, TWICE, REORDERED)) if way != TWICE or p in g.files]


def _edited(content: bytes, draft: Draft, path: str, way: str) -> bytes:
    g = draft.g
    return other_lines(content, way, draft.rng, named=draft.named(path), size=g.record_lines(path), framing=g.framing(path))


def twice(content: bytes, draft: Draft, path: str) -> bytes:
    """With the first line that the task changes once more at the end; else with any record, or with all of them for an answer."""
    changed = [draft.renamed(line).encode() for line in gone(draft.g, path)[:1]]
    if changed and changed[0] in content and content.endswith(b"\n"):
        return content + changed[0]
    size = draft.g.record_lines(path)
    found = records(content, size, head=draft.named(path) and content.count(b"\n") > 2)
    if draft.g.expectation.effects or found is None or len(found.items) > MOST_TWINS:
        return other_lines(content, TWICE, draft.rng, named=draft.named(path), size=size)
    return found.joined([*found.items, *found.items])


def twins(content: bytes, draft: Draft, path: str) -> bytes:
    """Each record once more, with another first word: two things may well be alike in all the rest. Not what begins with a word
    that every recording has: there may be one heading of a name."""
    found = records(content, draft.g.record_lines(path), head=draft.named(path) and content.count(b"\n") > 2)
    if found is None or not found.items or len(found.items) > MOST_TWINS:
        return content
    first = re.compile(r"[A-Za-z]{2,}|\d+")
    pairs = ((item, first.search(item)) for item in found.items)
    doubled = ((x, first.sub(_another, x, count=1)) if m and m[0] not in draft.g.common else (x,) for x, m in pairs)
    return found.joined([x for items in doubled for x in items])


def gone(g: Grammar, path: str) -> list[str]:
    """Lines of a file that are not there any more once the task is done, of a file of which something stays."""
    after = g.expectation.tree.get(path)
    if after is None or not after.content or not takes_lines(g.base[path].content):
        return []
    left = set(after.content.splitlines(keepends=True))
    lines = g.base[path].content.splitlines(keepends=True)
    lost = [line for line in lines if line not in left]
    return [line.decode("utf-8", "replace") for line in lost] if len(lost) < len(lines) else []


def taken(g: Grammar, path: str) -> bool:
    """Whether the task takes lines away, and adds none."""
    after = g.expectation.tree.get(path)
    adds = after is not None and set(after.content.split(b"\n")) - set(g.base[path].content.split(b"\n"))
    return bool(gone(g, path)) and not adds


def only_gone(content: bytes, draft: Draft, path: str) -> bytes:
    return _with(content, draft, path, wanted=True)


def without_gone(content: bytes, draft: Draft, path: str) -> bytes:
    return _with(content, draft, path, wanted=False)


def _with(content: bytes, draft: Draft, path: str, *, wanted: bool) -> bytes:
    lines = {draft.renamed(line) for line in gone(draft.g, path)}
    return b"".join(x for x in content.splitlines(keepends=True) if (x.decode("utf-8", "replace") in lines) is wanted) or content


def said_again(content: bytes, draft: Draft, path: str) -> bytes:
    """Each line that the task changes, or that says what an argument says, twice on one line: who changes the first place of a
    line alone leaves the second."""
    if not takes_lines(content):
        return content
    changed = {draft.renamed(line).encode() for line in gone(draft.g, path)}
    said = [t.encode("utf-8", "surrogateescape") for v in draft.args.values() if len(t := as_text(v)) > 1]
    rows = content.splitlines(keepends=True)
    about = {row for row in rows if row in changed or any(v in row for v in said)}
    return b"".join(row.rstrip(b"\n") + b" " + row if row in about else row for row in rows)


def _another(word: re.Match[str]) -> str:
    return word.group() + ("7" if word.group().isdecimal() else "x")


VARIATIONS = (
    Variation(
        name="only-taken", why="A file has nothing but what the task takes away from it.",
        choices=lambda g: [(p,) for p in g.contents if taken(g, p)], apply=of_content(only_gone), stage=Stage.EDIT,
        alone=1,
        examples=(Example(("a",), {"a": "1\n2\n"}, {"a": "2\n"}, made={"a": "1\n"}),),
    ),
    Variation(
        name="twins", why="A file has each record once more, with another first word.",
        choices=contents, apply=of_content(twins), stage=Stage.EDIT, alone=2,
        examples=(Example(("a",), {"a": "ka v\nbo w\n"}, {"a": "ka v\nkax v\nbo w\nbox w\n"}),),
    ),
    Variation(
        name="line-twice", why="A file that an argument names has a line twice.",
        choices=lambda g: [(p,) for p in g.contents if p not in g.files], apply=of_content(twice), stage=Stage.EDIT,
        alone=2, recorded=lambda *_: Said.HARM, never=NO_SUCH_LINES,
        examples=(Example(("a",), {"a": "1\n"}, {"a": "1\n1\n"}, {"f": "a"}, "cat a"),),
    ),
    Variation(
        name="said-again", why="Each line that the task is about says twice what it says.",
        choices=contents, apply=of_content(said_again), stage=Stage.EDIT, alone=2,
        recorded=lambda *_: Said.HARM, never=NO_SUCH_LINES,
        examples=(Example(("a",), {"a": "ka v\nbo\n"}, {"a": "ka v ka v\nbo\n"}, {"w": "ka"}, "grep ka a"),),
    ),
    Variation(
        name="nothing-to-change", why="A file lacks the lines that the task changes or takes away.",
        choices=lambda g: [(p,) for p in g.contents if gone(g, p)], apply=of_content(without_gone), stage=Stage.EDIT,
        rule=Rule.BARE, alone=1, never="there is something to change",
        examples=(Example(("a",), {"a": "1\n2\n"}, {"a": "1\n"}, made={"a": "1\nx\n"}),),
    ),
    Variation(
        name="lines", why="A file has a line less, a line twice, or its lines in another order.",
        choices=lines_and_ways, apply=of_content(_edited), stage=Stage.EDIT, drawn=2,
        examples=(
            Example(("a", LESS), {"a": "1\n2\n"}, {"a": "…\n"}),
            Example(("a", TWICE), {"a": "1\n"}, {"a": "1\n1\n"}),
            Example(("a", REORDERED), {"a": "1\n2\n"}, {"a": "…\n…\n"}),
        ),
    ),
)  # fmt: skip
