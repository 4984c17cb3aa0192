"""Directories that an argument names with a slash behind them, as a shell completes them."""

from __future__ import annotations

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Said, Stage, Variation


def folders(g: Grammar) -> list[Choice]:
    """Of tasks that change something: how an answer spells a path then, no recording says."""
    named = [p for p, v in sorted(g.args.items()) if isinstance(v, str) and (e := g.base.get(v)) is not None and e.type == "dir"]
    return [(p,) for p in named if p in g.template.parameters] if g.expectation.effects else []


def slashed(draft: Draft, parameter: str) -> None:
    draft.args = {**draft.args, parameter: f"{as_text(draft.args[parameter])}/"}


VARIATIONS = (
    Variation(
        name="value-slashed", why="A directory that an argument names has a slash behind it.",
        choices=folders, apply=slashed, stage=Stage.CHANGE, alone=2,
        recorded=lambda *_: Said.HARM, never="no directory is named with a slash behind it",
        examples=(Example(("d",), {"foo/": ""}, {"foo/": ""}, {"d": "foo"}, "cp -r foo bar", {"bar/": ""}),),
    ),
)  # fmt: skip
