"""Files with other modes."""

from __future__ import annotations

from dataclasses import replace

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.variation import Example, Step, Variation

MODES = (0o600, 0o640, 0o750)


def changing(g: Grammar) -> list[tuple[Step, ...]]:
    """Only where the task changes modes: everywhere else a file keeps its own, which is looked at for itself."""
    after = g.expectation.tree
    chmods = any(e.type == "file" and p in after and after[p].mode != e.mode for p, e in g.base.items())
    return [(Step("modes", (mode,)),) for mode in MODES if chmods]


def give(draft: Draft, mode: int) -> None:
    draft.changes |= {p: replace(e, mode=mode) for p, e in draft.base.items() if e.type == "file"}


VARIATIONS = (
    Variation(
        name="modes", why="Files have other modes.",
        choices=lambda _: [(mode,) for mode in MODES], apply=give, together=changing,
        examples=(Example((0o600,), {"a": "1"}, {"a": "1"}),),
    ),
)  # fmt: skip
