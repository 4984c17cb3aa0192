"""Files with the contents of others of their ending: what a file holds is not told by its name."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath

from verifiers.worlds.databases import is_database
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar, in_repository
from verifiers.worlds.invariants.kind import is_text
from verifiers.worlds.variation import Choice, Example, Variation

MOST_PAIRS = 12


def exchange(draft: Draft, one: str, other: str) -> None:
    first, second = (draft.renamed(p) for p in (one, other))
    draft.changes |= {
        first: replace(draft.base[first], content=draft.base[second].content),
        second: replace(draft.base[second], content=draft.base[first].content),
    }


def alike(g: Grammar) -> list[Choice]:
    """Files with one ending and other contents, one of each content; all of them what the task is about, or none."""
    about = g.about()
    first: dict[tuple[tuple[str, bool], bytes], str] = {}
    for path in g.files:
        ending = PurePosixPath(path).suffix
        if ending:
            first.setdefault(((ending, path in about), g.base[path].content), path)
    found = ((a, b) for (kind, _), a in first.items() for (other, _), b in first.items() if kind == other and a < b)
    return list(islice(found, MOST_PAIRS))


def give(draft: Draft, path: str, number: int) -> None:
    here = draft.renamed(path)
    content = draft.g.recorded[PurePosixPath(path).suffix][number]
    draft.changes[here] = replace(draft.base[here], content=content)


def _can_vary(content: bytes) -> bool:
    """Text, or a database: of that the rows vary, and another one has none that the arguments name."""
    return is_text(content.decode("utf-8", "surrogateescape")) or is_database(content)


def recorded(g: Grammar) -> list[Choice]:
    """Files of which little or nothing else varies, such as pictures and archives: what such files hold in any recording."""
    files = {p: e.content for p, e in g.base.items() if e.type == "file" and not in_repository(p, g.base)}
    held = ((p, content, g.recorded.get(PurePosixPath(p).suffix, ())) for p, content in files.items())
    found = ((p, n) for p, own, others in held for n, c in enumerate(others) if c != own and not _can_vary(c))
    return list(islice(found, MOST_PAIRS))


VARIATIONS = (
    Variation(
        name="exchanged", why="Two files of one ending have each other's contents.",
        choices=alike, apply=exchange, drawn=1, alone=2,
        examples=(Example(("a.txt", "b.txt"), {"a.txt": "1", "b.txt": "2"}, {"a.txt": "2", "b.txt": "1"}),),
    ),
    Variation(
        name="recorded-content",
        why="A file that is no text and no database holds what one of its ending does in some recording.",
        choices=recorded, apply=give, drawn=1, alone=4,
        examples=(Example(("a.bin", 1), {"a.bin": "\0001", "b.bin": "\0002"}, {"a.bin": "\0002", "b.bin": "\0002"}),),
    ),
)  # fmt: skip
