"""The newest era of a kind, and which of its commits do what the others do. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from synth.history.facts import OPERATIONS, Facts, Feature
from synth.history.kinds import LEAST, Group
from synth.history.values import HASH, NAME, VALUE

_WINDOW = 5
"""Newest commits that say what the layout is now: three of them are enough."""
_STRANGERS = 3
"""Commits in a row with another layout that end an era."""
_RARE = 0.1
"""Share of an era's commits below which what only they do is a rider."""
_MUCH, _FEW_LINES = 5, 20
"""How many times the usual number of lines is too many, and how many lines never are."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Commits that come again and again."""

    name: str
    message: str
    """What most of them say, without values."""
    found: tuple[Facts, ...]
    """All, newest first."""
    era: tuple[Facts, ...]
    """The newest of them that have one layout."""
    conforming: tuple[Facts, ...]
    """Those of the era that do what most do and nothing else."""
    odd: tuple[tuple[Facts, str], ...]
    """The others of the era, and how they part."""

    @property
    def by_bots(self) -> int:
        """How many of all a program made."""
        return sum(f.bot for f in self.found)

    @property
    def generated(self) -> tuple[str, ...]:
        """Paths that most of the era change and that a tool writes."""
        counts = Counter(p for f in self.era for p in f.generated)
        return tuple(sorted(p for p, n in counts.items() if 2 * n > len(self.era)))


def kinds_of(groups: Sequence[Group]) -> list[Kind]:
    """Groups with names of their own, eras and odd commits."""
    names: Counter[str] = Counter()
    out = []
    for group in groups:
        found = tuple(sorted(group.members, key=lambda f: f.commit.time, reverse=True))
        era = _era(found)
        name = _name(era)
        names[name] += 1
        judged = list(zip(era, _oddities(era), strict=True))
        own = name if names[name] == 1 else f"{name}-{names[name]}"
        conforming, odd = tuple(f for f, why in judged if not why), tuple((f, why) for f, why in judged if why)
        out.append(Kind(own, _shared([f.message for f in era]), found, tuple(era), conforming, odd))
    return out


_T = TypeVar("_T", bound=Hashable)


def _most(things: Sequence[_T]) -> _T:
    return Counter(things).most_common(1)[0][0]


def _places(facts: Facts, wide: bool) -> frozenset[Feature]:
    """What a commit touches: paths, or only where files are and what they end in."""
    return frozenset(f for f in facts.wide if f[1] in OPERATIONS) if wide else facts.touched


def _layout(facts: Facts, wide: bool) -> frozenset[Feature]:
    """What tells one era from the next: what is touched and, where that is always the same, which lines get other values and how
    they are indented."""
    lines = frozenset(s for s in facts.loose_shapes if s[1].startswith("sub "))
    return _places(facts, wide) | (frozenset() if wide else lines | facts.indented)


def _is_wide(some: Sequence[Facts]) -> bool:
    """Whether each commit may touch other files: no set of paths is that of most."""
    return 2 * Counter(f.touched for f in some).most_common(1)[0][1] <= len(some)


def _era(found: Sequence[Facts]) -> Sequence[Facts]:
    """The commits from the newest on, as far back as those of the newest layout go that is there often enough to learn from."""
    for start in range(len(found)):
        window = found[start : start + _WINDOW]
        wide = _is_wide(window)
        counts = Counter(p for f in window for p in _layout(f, wide))
        layout = {p for p, n in counts.items() if 2 * n > len(window)}
        fitting = _fitting(found, layout, start, wide) if layout else []
        if len(fitting) >= LEAST:
            return found[: fitting[-1] + 1]
    return found


def _fitting(found: Sequence[Facts], layout: Set[Feature], start: int, wide: bool) -> list[int]:
    """Which commits have a layout, until too many in a row have not."""
    out: list[int] = []
    for n in range(start, len(found)):
        if layout <= _layout(found[n], wide):
            out.append(n)
        elif n - (out[-1] if out else start) >= _STRANGERS:
            break
    return out


def _oddities(era: Sequence[Facts]) -> list[str]:
    """How each commit of an era parts from the others; "" where it does not."""
    wide = _is_wide(era)
    every = Counter(p for f in era for p in _places(f, wide))
    core = {p for p, n in every.items() if 2 * n > len(era)}
    least = max(2.0, _RARE * len(era))
    tells = 2 * sum(f.tells for f in era) > len(era)
    most_lines = max(_FEW_LINES, _MUCH * median(f.lines for f in era))
    # A word of the message is a name in one commit and part of the line in another: what is usual either way is usual.
    exactly, loosely = _unusual([f.shapes for f in era], least), _unusual([f.loose_shapes for f in era], least)
    out = []
    for n, one in enumerate(era):
        places = _places(one, wide)
        said = [
            _paths("leaves out", {p for p, _ in core - places}),
            _paths("also changes", {p for p, done in places - core if every[p, done] < least}),
            _paths("changes more in", exactly[n] & loosely[n]),
            f"changes {one.lines} lines" if one.lines > most_lines else "",
            "does not name the values that it puts in" if tells and not one.tells else "",
        ]
        out.append("; ".join(filter(None, said)))
    return out


def _unusual(changes: Sequence[Set[Feature]], least: float) -> list[set[str]]:
    """Of each change the paths in which lines usually get other values and no more, and where it does what few do."""
    counts = Counter(s for change in changes for s in change)
    usual = {s for s, n in counts.items() if 2 * n > len(changes) and s[1].startswith("sub ")}
    paths = {path for path, _ in usual}
    return [{s[0] for s in change - usual if s[0] in paths and counts[s] < least} for change in changes]


def _paths(what: str, paths: Set[str]) -> str:
    some = sorted(paths)
    return f"{what} {', '.join(some[:3])}{' …' if len(some) > 3 else ''}" if some else ""


def _shared(messages: Sequence[str]) -> str:
    """What most messages say, one word after the other; what they part in as dots."""
    counts = Counter(word for message in messages for word in dict.fromkeys(message.split()))
    best = max(messages, key=lambda m: (sum(2 * counts[w] > len(messages) for w in m.split()) / (1 + len(m.split())), m))
    words = [w if 2 * counts[w] > len(messages) else "…" for w in best.split()]
    return " ".join(w for n, w in enumerate(words) if w != "…" or words[n - 1 : n] != ["…"])


def _name(era: Sequence[Facts]) -> str:
    """A name to type: the words of the message; where it says nothing but values and names, what is done to which path."""
    message = _shared([f.loose for f in era])
    words = _words(message)
    if not words or (len(words) < 2 and (NAME in message or "…" in message)):
        path, done = _most(sorted(place for f in era for place in f.touched))
        parts = [w for part in reversed(path.split("/")) if (w := _words(part))]
        words = [*(words or [done]), *(parts[0] if parts else [])]
    return "-".join(words[:5])[:48]


def _words(text: str) -> list[str]:
    for sign in (HASH, VALUE, NAME):
        text = text.replace(sign, " ")
    return re.findall(r"[a-z0-9]+", text.lower())
