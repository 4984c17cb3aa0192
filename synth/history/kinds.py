"""Kinds of commits: those that say and do the same, their values left out. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise, product

from synth.detect.features import singular
from synth.history.facts import Facts, Feature
from synth.history.values import tokens

LEAST = 3
"""Commits of a kind."""
ALIKE = 0.3
"""How much of what either of two groups does both must do, to be one under one message."""
_AKIN = 0.3
"""The same for the words of two messages over one and the same change."""
_MOST_MESSAGES = 20
_MOST_WORDS, _GAP, _KEPT_WORDS = 16, 3, 3
"""Words of a message that are looked at, that may differ in a row, and that must not be left alone."""
_NEARLY = 0.6
"""How much of the change two groups must share whose messages differ in such words."""
_FREE = frozenset({"edit", "del", "change", "mode"})
"""Shapes of changes that may be anything."""


@dataclass(slots=True)
class Group:
    """Commits that go together."""

    members: list[Facts] = field(default_factory=list)
    exact: Counter[Feature] = field(default_factory=Counter)
    wide: Counter[Feature] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None

    def take(self, facts: Iterable[Facts]) -> None:
        for one in facts:
            self.members.append(one)
            self.exact.update(one.features)
            self.wide.update(one.wide)
            self.messages[one.message] += 1
            time = one.commit.time
            self.first = min(self.first or time, time)
            self.last = max(self.last or time, time)


Join = Callable[[Group, Group], float]
"""How well a smaller group goes with a larger one that it shares a key with; 0 = not at all."""


def groups_of(facts: Sequence[Facts]) -> list[Group]:
    """Groups of at least ``LEAST`` commits, largest first."""
    parts: dict[Hashable, list[Facts]] = defaultdict(list)
    for one in facts:
        if one.kind == "plain":
            parts[one.message, one.features].append(one)
    found = [_group(part) for part in parts.values()]
    found = _joined(found, lambda f: [f.message], _alike)
    found = _joined(found, lambda f: [f.message], _one_after_another)
    found = _joined(found, lambda f: [f.loose], _widely_alike)
    found = _joined(found, _substitution, _akin)
    found = _joined(found, _with_a_gap, _nearly_the_same)
    found = _joined(found, _addition, _same_verb)
    return sorted((g for g in found if len(g.members) >= LEAST), key=lambda g: -len(g.members))


def _group(members: Iterable[Facts]) -> Group:
    out = Group()
    out.take(members)
    return out


def _joined(groups: Sequence[Group], keys_of: Callable[[Facts], Iterable[Hashable]], join: Join) -> list[Group]:
    """The groups, the largest first, each put to the one of those before it that shares a key and that it goes with best."""
    out: list[Group] = []
    by_key: dict[Hashable, dict[int, None]] = defaultdict(dict)
    for group in sorted(groups, key=lambda g: -len(g.members)):
        # In the order of the members: sets would make it another one in each run.
        keys = dict.fromkeys(k for one in group.members for k in keys_of(one))
        near = dict.fromkeys(n for k in keys for n in by_key[k])
        fit, place = max(((join(out[n], group), -n) for n in near), default=(0.0, 0))
        if fit:
            out[-place].take(group.members)
        else:
            place = -len(out)
            out.append(group)
        for k in keys:
            by_key[k][-place] = None
    return out


def _alike(one: Group, other: Group) -> float:
    """One message, and much of the change in common."""
    return _share(one, other, one.exact, other.exact)


def _widely_alike(one: Group, other: Group) -> float:
    """One message but for names, and much of the change in common but for them."""
    return _share(one, other, one.wide, other.wide)


def _share(one: Group, other: Group, a: Counter[Feature], b: Counter[Feature]) -> float:
    n, m = len(one.members), len(other.members)
    both = sum(min(a[f] / n, b[f] / m) for f in a.keys() & b.keys())
    either = sum(a.values()) / n + sum(b.values()) / m - both
    found = both / either if either else 0.0
    return found if found >= ALIKE else 0.0


def _one_after_another(one: Group, other: Group) -> float:
    """One message, and never at the same time: the layout changed in between. What goes on side by side is two kinds."""
    assert one.first is not None
    assert one.last is not None
    inside = sum(one.first <= f.commit.time <= one.last for f in other.members)
    around = sum(other.first <= f.commit.time <= other.last for f in one.members) if other.first and other.last else 0
    return float(not inside and not around)


def _substitution(facts: Facts) -> list[Hashable]:
    """A change that only puts other values into lines: the same one under another message is the same work."""
    return [facts.shapes] if all(form.startswith("sub ") for _, form in facts.shapes) else []


def _akin(one: Group, other: Group) -> float:
    """Messages that share words, or one without any. Two that come by turns are two kinds."""
    if _by_turns(one, other):
        return 0.0
    some = [set(tokens(m)) for m, _ in one.messages.most_common(_MOST_MESSAGES)]
    others = [set(tokens(m)) for m, _ in other.messages.most_common(_MOST_MESSAGES)]
    best = max((len(a & b) / len(a | b) if a and b else 1.0) for a, b in product(some, others))
    return best if best >= _AKIN else 0.0


def _by_turns(one: Group, other: Group) -> bool:
    """Whether two groups of several each follow on each other at least as often as by chance."""
    n, m = len(one.members), len(other.members)
    order = sorted([(f.commit.time, 0) for f in one.members] + [(f.commit.time, 1) for f in other.members])
    turns = sum(a[1] != b[1] for a, b in pairwise(order))
    return min(n, m) >= LEAST and turns * (n + m) >= 2 * n * m


def _with_a_gap(facts: Facts) -> list[Hashable]:
    """The message without a few words in a row, the first and three more kept. Not of a change that is a mere edit: it may be
    anything."""
    words = facts.message.split()[:_MOST_WORDS]
    if all(form in _FREE for _, form in facts.shapes):
        return []
    gaps = [(i, j) for i in range(1, len(words)) for j in range(i + 1, min(i + _GAP, len(words)) + 1)]
    return [(*words[:i], "", *words[j:]) for i, j in gaps if len(words) - (j - i) > _KEPT_WORDS]


def _nearly_the_same(one: Group, other: Group) -> float:
    """Much of the change in common but for names, and not by turns."""
    found = 0.0 if _by_turns(one, other) else _widely_alike(one, other)
    return found if found >= _NEARLY else 0.0


def _addition(facts: Facts) -> list[Hashable]:
    """A change that only adds, with the first word of its message."""
    adds = all(form in ("add", "ins", "ins+") for _, form in facts.shapes)
    return [(singular((tokens(facts.message) or [""])[0]), facts.features)] if adds else []


def _same_verb(one: Group, other: Group) -> float:
    return 1.0
