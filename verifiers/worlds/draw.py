"""Examples drawn from hypothesis strategies in one go, so that they can be run as a batch; and a small shrinker for plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from verifiers.worlds.plans import Plan

T = TypeVar("T")


def draw(strategy: st.SearchStrategy[T], count: int, seed_number: int) -> list[T]:
    """At most ``count`` distinct examples, the same ones for the same seed. The simplest comes first."""
    out: list[T] = []

    @seed(seed_number)
    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=False,
    )
    @given(strategy)
    def collect(example: T) -> None:
        out.append(example)

    if count > 0:
        collect()
    return list({repr(example): example for example in out}.values())


def smaller(plan: Plan) -> Iterator[Plan]:
    """Plans with one thing less: all steps of one variation, or one of several."""
    for name in dict.fromkeys(s.variation for s in plan.steps):
        own = [s for s in plan.steps if s.variation == name]
        for less in [own, *([s] for s in own if len(own) > 1)]:
            yield replace(plan, steps=tuple(s for s in plan.steps if s not in less))


def shrink(plan: Plan, still_wrong: Callable[[Plan], bool], budget: int) -> Plan:
    """The smallest plan found that is still wrong, within ``budget`` tries."""
    tries = 0
    progress = True
    while progress:
        progress = False
        for candidate in smaller(plan):
            tries += 1
            if tries > budget:
                return plan
            if still_wrong(candidate):
                plan, progress = candidate, True
                break
    return plan
