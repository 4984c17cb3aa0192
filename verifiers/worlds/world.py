"""Clean starts for the differential oracle: ``realise`` turns a ``Plan`` into a workspace, the arguments and the trace's commands
for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.interface import Snapshot
from verifiers.interface import Args
from verifiers.worlds.catalog import CATALOG
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import too_long
from verifiers.worlds.plans import Plan
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text
from verifiers.worlds.variation import Rule, Stage


@dataclass(frozen=True, slots=True)
class World:
    """A generated situation for the commands and for the skill."""

    task_id: str
    base: Snapshot
    args: Args
    commands: tuple[str, ...]
    varied: frozenset[str]
    """Parameters whose value differs from the recorded one."""
    stays: tuple[str, ...] = ()
    """Paths that the commands have to leave as they are: else the case says nothing."""
    made: tuple[str, ...] = ()
    """Paths that the trace makes, and that are there before on purpose."""
    renames: Mapping[str, str] = field(default_factory=dict)
    """Recorded word -> word on this start."""


def realise(g: Grammar, plan: Plan) -> World | None:
    """The world of a plan that fits; None where names would fall together or grow too long."""
    draft = Draft(g, plan.salt)
    _apply(draft, plan, Stage.RENAME)
    if not draft.settle() or not _as_often(g, draft):
        return None
    _apply(draft, plan, Stage.EDIT)
    _apply(draft, plan, Stage.CHANGE)
    base = draft.base.replace(draft.changes)
    other = frozenset(p for p, v in draft.args.items() if as_text(v) != as_text(g.args[p]))
    if any(too_long(p) for p in base if p not in g.base):
        return None
    if other - g.template.parameters or any(draft.renamed(p) in base and draft.renamed(p) not in draft.made for p in g.made):
        return None
    commands = g.template.fill(draft.args)
    return World(g.task_id, base, draft.args, commands, other, tuple(draft.stays), tuple(draft.made), dict(draft.renames))


def _as_often(g: Grammar, draft: Draft) -> bool:
    """Whether each new value stands in the start as often as the recorded one did: a version that has its heading already is
    another situation. Bare numbers fall together by chance, and that means nothing."""
    before, after = all_text(g.base), all_text(draft.base)
    values = [(as_text(g.args[p]), as_text(v)) for p, v in draft.args.items()]
    return all(_count(new, after) == _count(old, before) for old, new in values if new != old and not new.isdecimal())


def _count(value: str, text: str) -> int:
    return len(re.findall(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])", text)) if value else 0


def _apply(draft: Draft, plan: Plan, stage: Stage) -> None:
    """What is judged by a rule of its own comes last: it adds to the start that there is without it."""
    found = [(CATALOG[s.variation], s.choice) for s in plan.steps if CATALOG[s.variation].stage is stage]
    for variation, choice in sorted(found, key=lambda pair: pair[0].rule is not Rule.PLAIN):
        draft.begin(f"{variation.name}{choice}")
        variation.apply(draft, *choice)
