"""The newest era of a kind, and which of its commits do what the others do. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from synth.history.facts import Facts, Feature
from synth.history.kinds import Group

_WINDOW = 8
"""Newest commits that say what the layout is now."""
_STRANGERS = 3
"""Commits in a row with another layout that end an era."""
_RARE = 0.1
"""Share of an era's commits below which what only they do is a rider."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Commits that come again and again."""

    name: str
    message: str
    """What most of them say, without values."""
    found: tuple[Facts, ...]
    """All, newest first."""
    era: int
    """So many of them, the newest, are of the layout of today."""
    conforming: tuple[Facts, ...]
    """Those of the era that do what most do and nothing else."""
    odd: tuple[tuple[Facts, str], ...]
    """The others of the era, and how they part."""


def kinds_of(groups: Sequence[Group]) -> list[Kind]:
    """Groups with names of their own, eras and odd commits."""
    names: Counter[str] = Counter()
    out = []
    for group in groups:
        found = tuple(sorted(group.members, key=lambda f: f.commit.time, reverse=True))
        message = Counter(f.message for f in found).most_common(1)[0][0]
        era = found[: _era(found)]
        name = _name(message, era)
        names[name] += 1
        judged = [(f, why) for f, why in zip(era, _oddities(era), strict=True)]
        out.append(
            Kind(
                name if names[name] == 1 else f"{name}-{names[name]}", message, found, len(era),
                tuple(f for f, why in judged if not why), tuple((f, why) for f, why in judged if why),
            )  # fmt: skip
        )
    return out


def _era(found: Sequence[Facts]) -> int:
    """How many of the newest have the layout that the newest have."""
    newest = found[:_WINDOW]
    counts = Counter(p for f in newest for p in f.touched)
    layout = {p for p, n in counts.items() if 2 * n > len(newest)}
    if not layout:
        return len(found)
    strange, end = 0, len(newest)
    for n, facts in enumerate(found):
        fits = 2 * len(layout & facts.touched) >= len(layout | facts.touched)
        strange = 0 if fits else strange + 1
        end = n + 1 if fits else end
        if strange >= _STRANGERS:
            break
    return end


def _oddities(era: Sequence[Facts]) -> list[str]:
    """How each commit of an era parts from the others; "" where it does not."""
    every: Counter[Feature] = Counter(f for one in era for f in one.touched)
    shapes: Counter[Feature] = Counter(f for one in era for f in one.shapes)
    core = {f for f, n in every.items() if 2 * n > len(era)}
    exact = {f for f, n in shapes.items() if 2 * n > len(era) and f[1].startswith("sub ")}
    values_only = {p for p, _ in exact}
    least = max(2.0, _RARE * len(era))
    return [
        _oddity(
            sorted(p for p, _ in core - one.touched),
            sorted({p for p, _ in one.touched - core if every[p, _] < least}),
            sorted({p for p, shape in one.shapes - exact if p in values_only and shapes[p, shape] < least}),
        )
        for one in era
    ]


def _oddity(lacking: list[str], besides: list[str], otherwise: list[str]) -> str:
    said = [("leaves out", lacking), ("also changes", besides), ("changes more in", otherwise)]
    return "; ".join(f"{what} {', '.join(paths[:3])}{' …' if len(paths) > 3 else ''}" for what, paths in said if paths)


def _name(message: str, era: Sequence[Facts]) -> str:
    """A name to type: words of the message, and of the path for a message without any."""
    words = [w for w in "".join(c if c.isascii() and c.isalnum() else " " for c in _bare(message)).split() if not w.isdigit()]
    if not words:
        counts = Counter(p for f in era for p, _ in f.touched)
        path = counts.most_common(1)[0][0] if counts else "commit"
        words = ["change", *"".join(c if c.isascii() and c.isalnum() else " " for c in _bare(path.rpartition("/")[2])).split()]
    return "-".join(words[:5])[:48].lower()


def _bare(text: str) -> str:
    for sign in ("<hash>", "<value>", "<name>"):
        text = text.replace(sign, " ")
    return text
