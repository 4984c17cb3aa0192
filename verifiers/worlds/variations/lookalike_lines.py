"""Lines that hold one that is to be written or changed, and words of arguments that come twice in a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.variation import Choice, Example, Rule, Stage, Variation, contents, of_content
from verifiers.worlds.variations.near import transposed

MOST_GONE = 4
SUFFIXED, PREFIXED, ABOVE = "suffixed", "prefixed", "above"
LETTERED, OFF = "lettered", "off"


def holding(content: bytes, lines: Sequence[str], way: str) -> bytes:
    """Text with more lines, made of the given ones: with a letter behind, at the end (SUFFIXED) or at the start (ABOVE), or in
    the other case, with a letter before, and with two letters swapped (PREFIXED)."""
    if b"\0" in content or not (content.endswith(b"\n") or not content):
        return content
    like = [t for x in lines for t in ((x.swapcase(), f"x{x}", transposed(x)) if way == PREFIXED else (f"{x}x",))]
    more = encoded("".join(f"{t}\n" for t in like if t not in lines))
    return more + content if way == ABOVE else content + more


def repeated(content: bytes, said: Sequence[str]) -> bytes:
    """Text in which every line that has a word of the arguments beside a blank has it twice: where none parts words, two are no
    list."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    for word in said:
        w = re.escape(word)
        text = re.sub(rf"(?<=[ \t]){w}(?!\w)|(?<!\w){w}(?=[ \t])", lambda m: f"{m[0]} {m[0]}", text)
    return text.encode("utf-8")


def added_to(g: Grammar) -> list[Choice]:
    whole = [(p, way) for p in g.contents if g.added(p) for way in (SUFFIXED, PREFIXED, ABOVE)]
    return [*((p, OFF) for p in g.contents if put_in(g, p)), *whole]


def put_in(g: Grammar, path: str) -> list[str]:
    """The first lines that the trace adds to a file all of whose lines stay."""
    before, after = g.base[path], g.expectation.tree.get(path)
    if after is None or after.type != "file" or not takes_lines(before.content):
        return []
    old, new = decoded(before.content).split("\n"), decoded(after.content).split("\n")
    more = [line for line in dict.fromkeys(new) if line not in old and line.lstrip()[:1].isalnum()]
    return [] if set(old) - set(new) else more[:MOST_GONE]


def _held(content: bytes, draft: Draft, path: str, way: str) -> bytes:
    if way == OFF:
        return _switched_off(content, draft, path)
    return holding(content, [draft.renamed(line) for line in draft.g.added(path)], way)


def _switched_off(content: bytes, draft: Draft, path: str) -> bytes:
    """Each line that the trace adds stands where it will, as a comment."""
    added = {*put_in(draft.g, path)}
    for before, line in pairwise(decoded(draft.g.expectation.tree[path].content).split("\n")):
        row, word = encoded(draft.renamed(before)) + b"\n", line.lstrip()
        if line in added and before not in added and before.strip():
            margin = line[: len(line) - len(word)]
            content = content.replace(row, row + encoded(f"{margin}# {draft.renamed(word)}\n"), 1)
    return content


def altered(g: Grammar) -> list[Choice]:
    """Files of which the trace changes or removes a line."""
    return [(p, way) for p in g.contents for way in (LETTERED, OFF) if gone(g, p)]


def gone(g: Grammar, path: str) -> list[str]:
    """The first lines of a file that are not there after the task."""
    before, after = g.base[path], g.expectation.tree.get(path)
    if after is None or after.type != "file" or b"\0" in before.content + after.content:
        return []
    left = set(after.content.split(b"\n"))
    lost = [decoded(line) for line in before.content.split(b"\n") if line not in left]
    return [line for line in lost if line.lstrip()[:1].isalnum() or line.lstrip()[:1] == "_"][:MOST_GONE]


def _beside_altered(content: bytes, draft: Draft, path: str, way: str) -> bytes:
    """Before each line that the task changes, one that holds it: with letters before its first word (a digit before a
    number, which stays one), or (OFF) with a mark that makes it a comment."""
    if not takes_lines(content):
        return content
    for line in gone(draft.g, path):
        row = encoded(draft.renamed(line)) + b"\n"
        word = row.lstrip()
        margin = row[: len(row) - len(word)]
        lettered = [b"1" + word] if word[:1].isdigit() else [b"x" + word, b"x_" + word]
        beside = lettered if way == LETTERED else [b"#" + word, b"# " + word]
        content = content.replace(row, b"".join(margin + other for other in beside) + row, 1)
    return content


MILK, SET = {"w": "milk"}, {"v": "2"}
VARIATIONS = (
    Variation(
        name="altered-lines",
        why="A file has lines that hold one which the trace changes, with letters, a digit or a mark before it.",
        choices=altered, apply=of_content(_beside_altered), rule=Rule.BYSTANDER, stage=Stage.EDIT, alone=4,
        examples=(
            Example(("a", LETTERED), {"a": "k=1\n"}, {"a": "xk=1\nx_k=1\nk=1\n"}, SET, "sed -i s/^k=.*/k=2/ a", {"a": "k=2\n"}),
            Example(("a", LETTERED), {"a": "9 k\n"}, {"a": "19 k\n9 k\n"}, SET, "sed -i 's/^9 k/9 j/' a", {"a": "9 j\n"}),
            Example(("a", OFF), {"a": " k=1\n"}, {"a": " #k=1\n # k=1\n k=1\n"}, SET, "sed -i s/^.k=./.k=2/ a", {"a": ".k=2\n"}),
        ),
    ),
    Variation(
        name="holding-lines", why="A file has lines that hold one which the trace adds, with a letter or a mark more.",
        choices=added_to, apply=of_content(_held), rule=Rule.BYSTANDER, stage=Stage.EDIT, alone=4,
        examples=(
            Example(("a", SUFFIXED), {"a": "1\n"}, {"a": "1\nmilkx\n"}, MILK, "echo milk >> a", {"a": "1\nmilk\n"}),
            Example(("a", OFF), {"a": "1\n"}, {"a": "1\n# milk\n"}, MILK, "echo milk >> a", {"a": "1\nmilk\n"}),
            Example(("a", ABOVE), {"a": "1\n"}, {"a": "milkx\n1\n"}, MILK, "echo milk >> a", {"a": "1\nmilk\n"}),
        ),
    ),
    Variation(
        name="repeated-words", why="A word of an argument stands twice in a line where it stood once.",
        choices=contents, apply=of_content(lambda content, draft, _: repeated(content, draft.said)),
        stage=Stage.EDIT, alone=3,
        odd="line",
        examples=(Example(("a",), {"a": "milk milky\n"}, {"a": "milk milk milky\n"}, MILK, "ls milk"),),
    ),
)  # fmt: skip
