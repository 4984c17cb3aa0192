"""What the trace makes is there before, in whole or as something older."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.interface import Entry
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import parents
from verifiers.worlds.variation import Choice, Example, Rule, Said, Step, Variation

OLDER = b"an older one\n"
LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789"
OTHER_LETTERS = bytes.maketrans(LETTERS, LETTERS[1:26] + b"a" + LETTERS[27:] + b"0")


def made(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.made]


def older(content: bytes) -> bytes:
    """Another result of the same size: who compares sizes takes it for this one."""
    other = content.translate(OTHER_LETTERS)
    return other if other != content else OLDER


def stale(draft: Draft, recorded: str) -> None:
    """With the directories that it needs."""
    path = draft.renamed(recorded)
    above = {p: draft.here(p) for p in parents(path)}
    if all(e is None or e.type == "dir" for e in above.values()):
        draft.changes |= {p: Entry("dir", 0o755) for p, e in above.items() if e is None}
        draft.changes[path] = Entry("file", 0o644, OLDER)
        draft.made += [*above, path]


def before(draft: Draft, recorded: str) -> None:
    """With the modes that the trace gives: an older file, or a directory with one more file."""
    path, result, word = draft.renamed(recorded), draft.g.expectation.tree, draft.word()
    above = zip(parents(path), parents(recorded), strict=False)
    new = {p: result[r] for p, r in above if r in draft.g.made}
    if result[recorded].type == "dir":
        new |= {path: result[recorded], f"{path}/{word}.{word[:3]}": Entry("file", 0o640, b"a bystander\n")}
    elif result[recorded].type == "file":
        new[path] = Entry("file", result[recorded].mode, older(result[recorded].content))
    fresh = {p: e for p, e in new.items() if draft.here(p) is None}
    draft.changes |= fresh
    draft.made += fresh


def some(name: str, directories: int, files: int) -> Callable[[Grammar], list[tuple[Step, ...]]]:
    """Empty files first, for those are often touched and not written."""

    def plans(g: Grammar) -> list[tuple[Step, ...]]:
        of = {kind: [p for p in g.made if g.expectation.tree[p].type == kind] for kind in ("dir", "file")}
        few = sorted(of["file"], key=lambda p: len(g.expectation.tree[p].content))[:files]
        return [(Step(name, (p,)),) for p in (*of["dir"][:directories], *few)]

    return plans


MAKES = {"o/": "", "o/r": "1"}
OLD = Example(("o/r",), {}, {"o/": "", "o/r": "an older one\n"}, made=MAKES)
ANOTHER = Example(("o/r",), {}, {"o/": "", "o/r": "2"}, made=MAKES)
VARIATIONS = (
    Variation(
        name="stale", why="There is an older file in the place of what the trace makes.",
        choices=made, apply=stale, rule=Rule.UNSAID, together=some("stale", 2, 1), examples=(OLD,),
    ),
    Variation(
        name="before", why="A file or a directory that the trace makes is there before.",
        choices=made, apply=before, rule=Rule.BYSTANDER, together=some("before", 1, 3), recorded=lambda *_: Said.HARM,
        never="nothing of what the task makes is there before",
        examples=(ANOTHER, Example(("o",), {}, {"o/": "", "o/….…": "a bystander\n"}, made=MAKES)),
    ),
)  # fmt: skip
