"""What to vary about a trace: plans, drawn by hypothesis or systematic, and what the commands' word is worth on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from hypothesis import strategies as st

from verifiers.worlds.catalog import CATALOG
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.variation import Choice, Rule, Said, Stage, Step, Turns, Variation

MOST_EDITS = 2
"""Changes of contents that a random plan has at most, whatever their kinds."""
BARE_ONE_IN = 4
"""How seldom a random plan leaves nothing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to vary about one trace; nothing is the recorded trace itself."""

    steps: tuple[Step, ...] = ()
    salt: int = 0
    """Of the seed of what is drawn."""

    def has(self, *rules: Rule) -> bool:
        return any(CATALOG[s.variation].rule in rules for s in self.steps)

    def without(self, *rules: Rule) -> Plan:
        """The plan without what is judged by one of these rules."""
        return self._only(lambda v, _: v.rule not in rules)

    def held(self, gs: Sequence[Grammar]) -> Plan:
        """The plan without what says nothing of a skill, not even by the harm it does."""
        return self._only(lambda v, choice: v.said(choice, gs) is not Said.NOTHING)

    def apart(self, names: Collection[str]) -> Plan:
        """The plan without these variations, unless it has no others."""
        rest = self._only(lambda v, _: v.name not in names)
        return rest if rest.steps else self

    def usual(self, gs: Sequence[Grammar]) -> Plan:
        """The plan without what no recording speaks of: there only harm counts."""
        return self._only(lambda v, choice: v.said(choice, gs) is Said.ALL)

    @property
    def odd(self) -> Variation | None:
        """The odd variation, where nothing of a usual one or of another kind of oddness is varied with it."""
        found = [CATALOG[s.variation] for s in self.steps]
        return found[0] if len({v.odd for v in found}) == 1 and found[0].odd else None

    def fits(self, g: Grammar) -> bool:
        """Whether every choice is one that the trace allows, and none comes twice."""
        allowed = {name: set(CATALOG[name].choices(g)) for name in {s.variation for s in self.steps} & CATALOG.keys()}
        once = len(set(self.steps)) == len(self.steps)
        return once and all(s.choice in allowed.get(s.variation, ()) for s in self.steps)

    def _only(self, keep: Callable[[Variation, Choice], bool]) -> Plan:
        return replace(self, steps=tuple(s for s in self.steps if keep(CATALOG[s.variation], s.choice)))


def plans(g: Grammar) -> st.SearchStrategy[Plan]:
    """Plans for one trace."""
    steps = {name: [Step(name, c) for c in v.choices(g)] for name, v in CATALOG.items() if v.drawn}
    edits = [s for name, found in steps.items() if CATALOG[name].stage is Stage.EDIT for s in found]
    parts = [_some(found, CATALOG[name]) for name, found in steps.items() if CATALOG[name].stage is not Stage.EDIT]
    drawn = st.tuples(*parts, _list(edits, MOST_EDITS)).map(lambda found: tuple(chain(*found)))
    return st.builds(Plan, drawn, st.integers(0, 3))


def _some(steps: Sequence[Step], v: Variation) -> st.SearchStrategy[list[Step]]:
    if v.rule is not Rule.BARE:
        return _list(steps, v.drawn)
    return st.integers(0, BARE_ONE_IN - 1).map(lambda n: [*steps[:1]] if n == BARE_ONE_IN - 1 else [])


def _list(steps: Sequence[Step], most: int) -> st.SearchStrategy[list[Step]]:
    if not steps:
        return st.just([])
    return st.lists(st.sampled_from(steps), max_size=min(most, len(steps)), unique=True)


def systematic(g: Grammar, *, turns: Collection[Turns] = frozenset(Turns)) -> list[Plan]:
    """Plans that chance should not miss, of variations that have these turns."""
    return [Plan(steps) for v in CATALOG.values() if v.turns in turns for steps in v.systematic(g)]


def dealt(gs: Sequence[Grammar], works: Callable[[Grammar, Plan], bool]) -> list[tuple[Grammar, Plan]]:
    """The plans of which each trace gets its share, among those traces where the variation ``works``."""
    found = []
    for v in (v for v in CATALOG.values() if v.turns is Turns.SHARED):
        of_each = [(g, [p for steps in v.systematic(g) if works(g, p := Plan(steps))]) for g in gs]
        able = [(g, plans) for g, plans in of_each if plans]
        found += [(g, p) for turn, (g, plans) in enumerate(able) for p in plans[turn :: len(able)]]
    return found
