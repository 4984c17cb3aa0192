"""Files without anything in them, files whose last line has no end, and files with the line ends of Windows, all or some."""

from __future__ import annotations

from verifiers.worlds.grammar import Grammar
from verifiers.worlds.variation import Choice, Example, Rule, Said, Stage, Variation, contents, of_content

LINE_ENDS = "line ends"
"""The kind of oddness."""


def ended(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents if g.base[p].content.endswith(b"\n")]


def windows(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def mixed(content: bytes) -> bytes:
    """Every second line ends as Windows writes it."""
    *lines, rest = content.replace(b"\r\n", b"\n").split(b"\n")
    return b"".join(line + (b"\r\n" if n % 2 else b"\n") for n, line in enumerate(lines)) + rest


VARIATIONS = (
    Variation(
        name="emptied", why="A file is empty.",
        choices=contents, apply=of_content(lambda *_: b""), rule=Rule.BARE, stage=Stage.EDIT, drawn=2, alone=2,
        examples=(Example(("a",), {"a": "1\n"}, {"a": ""}),),
    ),
    Variation(
        name="unended", why="The last line of a file has no end, so that some commands glue the next one to it.",
        choices=ended, apply=of_content(lambda content, *_: content.removesuffix(b"\n")),
        stage=Stage.EDIT, alone=3, recorded=lambda *_: Said.HARM, asks=False,
        never="the last line of each file has an end",
        examples=(Example(("a",), {"a": "1\n2\n"}, {"a": "1\n2"}),),
    ),
    Variation(
        name="windows-lines", why="The lines of a file end as Windows writes them.",
        choices=lambda g: [c for c in contents(g) if windows(content := g.base[str(c[0])].content) != content],
        apply=of_content(lambda content, *_: windows(content)), stage=Stage.EDIT, alone=2, asks=False,
        odd=LINE_ENDS,
        examples=(Example(("a",), {"a": "1\n2\n"}, {"a": "1\r\n2\r\n"}),),
    ),
    Variation(
        name="mixed-lines", why="Some lines of a file end as Windows writes them.",
        choices=lambda g: [c for c in contents(g) if g.base[str(c[0])].content.count(b"\n") > 1],
        apply=of_content(lambda content, *_: mixed(content)), stage=Stage.EDIT, alone=2, asks=False,
        odd=LINE_ENDS,
        examples=(Example(("a",), {"a": "1\n2\n3\n"}, {"a": "1\n2\r\n3\n"}),),
    ),
)  # fmt: skip
