"""What is tried: starts made from the recorded ones, each in its zone. Pure.

Within the evidence the recordings say what is right: what holds over all recorded starts holds there too. Beyond it one thing
that always held does not, or there is something that no recording speaks of: there nobody has said what is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from verifiers.worlds.grammar import Grammar
from verifiers.worlds.invariants.facts import Facts, Start, learn
from verifiers.worlds.plans import Plan, bare, usual
from verifiers.worlds.world import World, realise

MOST_BEYOND = 24


@dataclass(frozen=True, slots=True)
class Beyond:
    """Why a start is beyond the evidence."""

    name: str
    sentence: str
    """What holds in every recording."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One start to try."""

    g: Grammar
    plan: Plan
    world: World
    beyond: Beyond | None = None
    """None = within the evidence."""
    odd_value: bool = False
    """An argument is made of other characters than the recorded ones: within only where the commands take it for text."""


@dataclass(frozen=True, slots=True)
class Evidenced:
    """What the recordings of one skill have in common."""

    gs: tuple[Grammar, ...]
    facts: Facts

    @classmethod
    def of(cls, gs: Sequence[Grammar]) -> Evidenced:
        return cls(tuple(gs), learn([Start(g.base, g.args) for g in gs]))

    def trials(self, g: Grammar, plan: Plan) -> list[Trial]:
        """The trials of one plan: one that keeps what always held, and where the plan breaks just one such thing, that one."""
        world = realise(g, plan)
        if world is None or (world.base == g.base and not world.varied):
            return []
        recorded = Start(g.base, g.args)
        fitted = replace(world, base=self.facts.kept(Start(world.base, world.args), recorded, Random(plan.salt)))
        out = [self._trial(g, plan, fitted, recorded)]
        if fitted.base != world.base:
            out.append(self._trial(g, plan, world, recorded))
        return [t for t in out if t is not None]

    def _trial(self, g: Grammar, plan: Plan, world: World, recorded: Start) -> Trial | None:
        if world.base == g.base and not world.varied:
            return None
        found = self.facts.broken(Start(world.base, world.args), recorded)
        values = [f for f in found if f.scope == "value"][:1]
        unsaid = self._unsaid(g, plan)
        reasons = [*unsaid, *(Beyond(f.kind.name, f.sentence) for f in (values or found))]
        if len(reasons) > 1:
            return None
        return Trial(g, plan, world, reasons[0] if reasons else None, bool(values) and not unsaid)

    def _unsaid(self, g: Grammar, plan: Plan) -> list[Beyond]:
        """What the plan adds or leaves out that no recording speaks of."""
        if plan.before:
            return [Beyond("new-results", "nothing of what the task makes is there before")]
        if bare(g, plan) and len(plan.drops) == len(g.files) > 0:
            return [Beyond("something-to-do", "there is something to do")]
        if plan != usual(self.gs, g, plan) and plan.odd:
            return [Beyond("no-links", "there are no links among the files")]
        return []


def distinct(trials: Iterable[Trial]) -> list[Trial]:
    """Those that differ from each other, in order; of those beyond the evidence only so many of one cause."""
    found: dict[tuple[str, str, str], Trial] = {}
    causes: dict[str, int] = {}
    for t in trials:
        key = (t.g.task_id, t.world.base.digest, repr(t.world.args))
        if key in found:
            continue
        if t.beyond is not None and not t.odd_value:
            causes[t.beyond.name] = causes.get(t.beyond.name, 0) + 1
            if causes[t.beyond.name] > 3 or sum(causes.values()) > MOST_BEYOND:
                continue
        found[key] = t
    return list(found.values())
