"""Kinds of commits: those that say and do the same, their values left out. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from synth.history.facts import Facts, Feature

LEAST = 3
"""Commits of a kind."""
SAME_MESSAGE, SAME_WORDS, SAME_CHANGE = 0.3, 0.5, 0.99
"""How like the changes of two groups must be to make them one: with one message, with one but for words of the change, and with
another message."""


@dataclass(slots=True)
class Group:
    """Commits that go together, and how often each feature is among them."""

    members: list[Facts] = field(default_factory=list)
    features: Counter[Feature] = field(default_factory=Counter)

    def add(self, facts: Iterable[Facts]) -> None:
        for one in facts:
            self.members.append(one)
            self.features.update(one.touched | one.shapes)

    @property
    def core(self) -> frozenset[Feature]:
        """What most of them do."""
        return frozenset(f for f, n in self.features.items() if 2 * n > len(self.members))

    def like(self, other: Group) -> float:
        """The share of what both do in what either does, from 0 to 1."""
        return _overlap(self.share(), other.share())

    def share(self) -> dict[Feature, float]:
        return {f: n / len(self.members) for f, n in self.features.items()}


def _overlap(a: dict[Feature, float], b: dict[Feature, float]) -> float:
    both = sum(min(a[f], b[f]) for f in a.keys() & b.keys())
    either = sum(a.values()) + sum(b.values()) - both
    return both / either if either else 0.0


def groups_of(facts: Sequence[Facts]) -> list[Group]:
    """Groups of at least ``LEAST`` commits, largest first."""
    found = [_group(part) for part in _by(facts, lambda f: (f.message, f.touched, f.shapes))]
    found = _merged(found, lambda g: {f.message for f in g.members}, SAME_MESSAGE)
    found = _merged(found, lambda g: {f.loose for f in g.members}, SAME_WORDS)
    found = _merged(found, lambda g: {g.core}, SAME_CHANGE)
    return sorted((g for g in found if len(g.members) >= LEAST), key=lambda g: -len(g.members))


def _group(members: Iterable[Facts]) -> Group:
    out = Group()
    out.add(members)
    return out


def _by(facts: Iterable[Facts], key: Callable[[Facts], object]) -> list[list[Facts]]:
    parts: dict[object, list[Facts]] = defaultdict(list)
    for one in facts:
        if one.kind == "plain":
            parts[key(one)].append(one)
    return list(parts.values())


def _merged(groups: Sequence[Group], keys: Callable[[Group], set[object]], least: float) -> list[Group]:
    """Groups that share a key and are alike as one, the largest first."""
    out: list[Group] = []
    by_key: dict[object, list[Group]] = defaultdict(list)
    for group in sorted(groups, key=lambda g: -len(g.members)):
        near = {id(g): g for key in keys(group) for g in by_key[key]}
        best = max(near.values(), key=lambda g: g.like(group), default=None)
        if best is not None and best.like(group) >= least:
            best.add(group.members)
        else:
            best = _group(group.members)
            out.append(best)
        for key in keys(group):
            if best not in by_key[key]:
                by_key[key].append(best)
    return out
