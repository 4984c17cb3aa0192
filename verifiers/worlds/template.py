"""The commands of a trace as a template over the arguments of its binding (docs/semantics.md, "Zones").

A hole is a place whose text is the value of one parameter. Holes are found by reading several traces of the same shape side
by side:
the reference's text, with its holes filled from another trace's binding, must mean that trace's own commands, for every one
of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from verifiers.interface import Args
from verifiers.shell.characters import Char, characters, meaning, splice

MAX_STATES = 20_000


@dataclass(frozen=True, slots=True)
class Hole:
    command: int
    first: int
    last: int
    """Indices into ``characters(command)``, end exclusive."""
    parameter: str
    escaped: str = ""
    """Signs of the value that have a backslash there: ``.`` where a pattern says ``1\\.2`` for 1.2."""


@dataclass(frozen=True, slots=True)
class Template:
    """One trace's commands with holes."""

    commands: tuple[str, ...]
    args: Args
    holes: tuple[Hole, ...]
    why_not: Mapping[str, str] = field(default_factory=dict)
    """Parameters that have no holes, and why."""

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset(h.parameter for h in self.holes)

    def fill(self, args: Args, literal: Collection[Hole] = ()) -> tuple[str, ...]:
        """The commands with the holes filled from ``args``.

        Args:
            literal: holes that are patterns: what is filled in stands for nothing but itself.
        """
        texts = {h: as_text(args[h.parameter]) for h in self.holes}
        # What is escaped stays as it was written where the value is the recorded one.
        filled_in = {h: t for h, t in texts.items() if not h.escaped or t != as_text(self.args[h.parameter])}
        filled_in |= {h: _escaped(t, h.escaped) for h, t in filled_in.items() if h.escaped}
        filled_in |= {h: as_pattern(texts[h]) for h in literal}
        holes = [[(h.first, h.last, t) for h, t in filled_in.items() if h.command == i] for i in range(len(self.commands))]
        return tuple(splice(command, filled) for command, filled in zip(self.commands, holes, strict=True))

    def globbed(self, parameter: str) -> bool:
        """Whether the value is part of a word with wildcards: it is a pattern's already."""
        return any(h.parameter == parameter and _beside(self.commands[h.command], h) & set("*?[") for h in self.holes)

    def literal_text(self) -> str:
        """The commands with their holes blanked: what the template says by itself."""
        out = []
        for i, command in enumerate(self.commands):
            covered = {j for h in self.holes if h.command == i for j in range(h.first, h.last)}
            out.append("".join("\0" if j in covered else c.value for j, c in enumerate(characters(command))))
        return "\n".join(out)


def _beside(command: str, hole: Hole) -> set[str]:
    """The characters of the word that a hole is part of."""
    found = [c.value for c in characters(command)]
    first, last = hole.first, hole.last
    while first > 0 and not found[first - 1].isspace():
        first -= 1
    while last < len(found) and not found[last].isspace():
        last += 1
    return set("".join(found[first : hole.first] + found[hole.last : last]))


def as_text(value: object) -> str:
    """An argument as it stands in a command: numbers in decimal."""
    return value if isinstance(value, str) else str(value)


def as_pattern(text: str) -> str:
    """A pattern, basic or extended, that matches a text and no other."""
    return re.sub(r"[.*+?(){}|$\[]", r"[\g<0>]", text)


@lru_cache(4096)
def _written(value: str) -> re.Pattern[str]:
    """The ways to write a value: its signs with or without a backslash."""
    return re.compile("".join(c if c.isalnum() else rf"\\?{re.escape(c)}" for c in value))


def _read(text: str, at: int, value: str) -> str:
    """How the value is written at an offset of a text; "" where it does not stand there."""
    if text.startswith(value, at):
        return value
    found = _written(value).match(text, at) if "\\" in text else None
    return found[0] if found is not None else ""


def _signs(written: str, value: str) -> str:
    """The signs of a value that have a backslash where it is written."""
    return "".join(sorted({b for a, b in pairwise(written) if a == "\\"})) if written != value else ""


def _escaped(text: str, signs: str) -> str:
    """A text as such signs are written: where those of patterns are, it is a pattern of its own."""
    if set(signs) & set(".*+?(){}|$[]^"):
        return as_pattern(text).replace("/", r"\/") if "/" in signs else as_pattern(text)
    return "".join(f"\\{c}" if c in signs else c for c in text)


def templates(traces: Sequence[tuple[tuple[str, ...], Args]]) -> list[Template]:
    """One template a trace, in order. A trace without a companion of its shape gets holes only at whole, unmistakable words."""
    out = []
    for i, (commands, args) in enumerate(traces):
        companions = [t for j, t in enumerate(traces) if j != i and same_shape(commands, args, t)]
        varying = {p for p in args if any(as_text(a.get(p)) != as_text(args[p]) for _, a in companions)}
        holes = aligned_holes(commands, args, companions, varying) if varying else None
        out.append(_template(commands, args, holes if holes is not None else unmistakable_holes(commands, args)))
    return out


def _template(commands: tuple[str, ...], args: Args, holes: Sequence[Hole]) -> Template:
    own = Template(commands, args, tuple(holes)).fill(args)
    if [meaning(c) for c in own] != [meaning(c) for c in commands]:
        holes = ()
    found = {h.parameter for h in holes}
    return Template(
        commands,
        args,
        tuple(holes),
        {p: "ambiguous: its value has no place of its own in the commands" for p in args if p not in found},
    )


def same_shape(commands: tuple[str, ...], args: Args, other: tuple[tuple[str, ...], Args]) -> bool:
    """Whether another trace's commands are these with other arguments."""
    return (
        len(other[0]) == len(commands)
        and set(other[1]) == set(args)
        and aligned_holes(commands, args, [other], {p for p in args if as_text(other[1][p]) != as_text(args[p])}) is not None
    )


def aligned_holes(
    commands: tuple[str, ...], args: Args, others: Sequence[tuple[tuple[str, ...], Args]], varying: set[str]
) -> list[Hole] | None:
    """The one way to place holes so that every other trace is regenerated; None where there is none, or more than one."""
    holes: list[Hole] = []
    for k, command in enumerate(commands):
        streams = [meaning(command), *(meaning(o[0][k]) for o in others)]
        ways = _ways(streams, {p: tuple(as_text(a[p]) for a in (args, *(o[1] for o in others))) for p in sorted(varying)})
        if len(ways) != 1:
            return None
        holes += [Hole(k, *way) for way in ways[0]]
    return holes


Stream = tuple[tuple[str, bool], ...]
Way = tuple[tuple[int, int, str, str], ...]


def _ways(streams: Sequence[Stream], values: Mapping[str, tuple[str, ...]]) -> list[Way]:
    """Up to two ways to read all streams at once as literals and holes. A hole reads each trace's own value of one parameter."""
    texts = ["".join(c for c, _ in s) for s in streams]
    found: list[Way] = []
    dead: set[tuple[int, ...]] = set()
    budget = MAX_STATES

    def read(at: tuple[int, ...], way: Way) -> bool:
        nonlocal budget
        budget -= 1
        if budget < 0 or len(found) > 1:
            return False
        if all(a == len(s) for a, s in zip(at, streams, strict=True)):
            found.append(way)
            return True
        if at in dead:
            return False
        hit = False
        for p, vs in values.items():
            written = [_read(t, a, v) for v, t, a in zip(vs, texts, at, strict=True)]
            if all(written) and len(set(vs)) > 1:
                signs = "".join(dict.fromkeys("".join(map(_signs, written, vs))))
                hole = (at[0], at[0] + len(written[0]), p, signs)
                hit |= read(tuple(a + len(w) for a, w in zip(at, written, strict=True)), (*way, hole))
        run = _literal_run(streams, at, texts, values)
        if run:
            hit |= read(tuple(a + run for a in at), way)
        if not hit:
            dead.add(at)
        return hit

    read((0,) * len(streams), ())
    return found if budget >= 0 else []


def _literal_run(
    streams: Sequence[Stream], at: tuple[int, ...], texts: Sequence[str], values: Mapping[str, tuple[str, ...]]
) -> int:
    """How many characters are equal in all streams from ``at`` on, up to the next place where a hole could begin."""
    run = 0
    while all(a + run < len(s) for a, s in zip(at, streams, strict=True)):
        if len({s[a + run] for a, s in zip(at, streams, strict=True)}) > 1:
            break
        run += 1
        here = tuple(a + run for a in at)
        if any(all(_read(t, h, v) for v, t, h in zip(vs, texts, here, strict=True)) for vs in values.values()):
            break
    return run


def unmistakable_holes(commands: tuple[str, ...], args: Args) -> list[Hole]:
    """Holes of a trace that stands alone: whole words' parts of two letters, or three digits, or more, where no value is part of
    another."""
    texts = {p: as_text(v) for p, v in args.items()}
    bare = Template(commands, args, ())
    holes: list[Hole] = []
    for p, value in texts.items():
        others = [v for q, v in texts.items() if q != p]
        if len(value) < (3 if value.isdecimal() else 2) or any(value in o or o in value for o in others if o):
            continue
        whole = bounded_places(bare, p)
        holes += whole if whole == places(bare, p) else []
    return holes


def with_holes(template: Template, more: Sequence[Hole]) -> Template | None:
    """The template with more holes; None where they overlap or no longer give back its own commands."""
    holes = sorted((*template.holes, *more), key=lambda h: (h.command, h.first))
    if any(a.command == b.command and a.last > b.first for a, b in pairwise(holes)):
        return None
    found = _template(template.commands, template.args, holes)
    return found if found.holes else None


def places(template: Template, parameter: str) -> list[Hole]:
    """Wherever a value stands in the commands, outside of other holes."""
    value = as_text(template.args[parameter])
    taken = [(h.command, h.first, h.last) for h in template.holes]
    found = []
    for k, command in enumerate(template.commands) if value else ():
        text = "".join(c.value for c in characters(command))
        for m in _written(value).finditer(text):
            if not any(c == k and first < m.end() and m.start() < last for c, first, last in taken):
                found.append(Hole(k, m.start(), m.end(), parameter, _signs(m[0], value)))
    return found


def bounded_places(template: Template, parameter: str) -> list[Hole]:
    """Those of them where the value is a word, and none that names a command."""
    return [h for h in places(template, parameter) if _is_word(characters(template.commands[h.command]), h.first, h.last)]


def _is_word(found: Sequence[Char], first: int, last: int) -> bool:
    text = "".join(c.value for c in found)
    before, after = text[first - 1 : first], text[last : last + 1]
    bounded = not (before and (before.isalnum() or before in "_-")) and not (after and (after.isalnum() or after == "_"))
    return bounded and not (found[first].context == "bare" and _names_command(text, first))


def _names_command(text: str, at: int) -> bool:
    """Whether the word at an offset stands where a command's name stands."""
    head = text[:at].rstrip()
    return not head or head[-1] in "|;&(`\n{"
