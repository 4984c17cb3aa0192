"""Clean starts for the differential oracle: images of a recorded base under renaming, with more or fewer items and bystanders.

``realise`` turns a ``Plan`` (the empty one is the recorded trace itself) into a workspace, the arguments and the trace's commands
for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from sandbox.interface import ROOT, JsonValue, Snapshot
from verifiers.interface import Args
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.plans import SPARE, Plan, marks
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text, fresh_words, like, new_digits, rename_tree, substitute, tokens
from verifiers.worlds.vary import Start, shaped, varied, with_before, with_older


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
    renames: Mapping[str, str] = field(default_factory=dict)
    """Recorded word -> word on this start."""


def realise(g: Grammar, plan: Plan) -> World | None:
    """The world of a plan; None where names would fall together."""
    rng = Random(f"{g.task_id}:{plan.salt}")
    taken = all_text(g.base) + all_text(g.expectation.tree) + "\n".join(g.template.commands)
    words = fresh_words(rng, taken, len(g.bound) + len(g.free) + len(g.free_words) + SPARE)
    renames = _renames(g, plan, words, rng)
    args = {p: _new_value(v, renames) for p, v in g.args.items()}
    base: Snapshot | None = Snapshot({p: e for p, e in g.base.items() if p != ROOT})
    base = rename_tree(base, renames, g.inside) if base is not None else None
    if base is None:
        return None
    paths = {p: substitute(p, renames, inside=g.inside) for p in g.base if p != ROOT}
    said = sorted({t for v in args.values() if isinstance(v, str) for t in tokens(v) if t.isalpha() and len(t) > 1})
    base = varied(Start(g, base, paths, said, renames), plan, words[-SPARE:], rng)
    other = frozenset(p for p, v in args.items() if as_text(v) != as_text(g.args[p]))
    if other - g.template.parameters or _collides(g, base, renames):
        return None
    base = with_older(base, [substitute(g.made[i], renames, inside=g.inside) for i in plan.stale])
    base = with_before(g, base, {substitute(g.made[i], renames, inside=g.inside): g.made[i] for i in plan.before}, words[-SPARE])
    shapes = [shaped(g, base, args, paths[g.files[i]], how, words[-1 - n]) for n, (i, how) in enumerate(plan.shaped)]
    base = base.replace({p: e for made in shapes for p, e in made.items()})
    stays = tuple(p for made in shapes for p, e in made.items() if e.type == "dir")
    return World(g.task_id, base, args, g.template.fill(args), other, stays, renames)


def _renames(g: Grammar, plan: Plan, words: list[str], rng: Random) -> Mapping[str, str]:
    out: dict[str, str] = {}
    fresh = iter(words)
    marked = marks(g, plan)
    for i, (token, _) in enumerate(g.bound):
        word = next(fresh)
        if i in plan.grown:
            out[token] = str(3 * int(token) + 10)
        elif i in plan.rename_bound:
            digits = new_digits(token, rng) if token.isdecimal() else f"0{rng.randint(11, 99)}{i}" if i in plan.numeric else ""
            dash = "-" if i in plan.dashed and not digits else ""
            tail = f".{word[:2].lower()}" if i in plan.dotted and not digits else ""
            tail += marked.get(i, "") if not digits else ""
            out |= {t: digits or dash + like(t, word) + tail for t in (token.upper(), token.capitalize(), token.lower(), token)}
    for i, token in enumerate(g.free):
        word = next(fresh)
        if i in plan.rename_free:
            out[token] = like(token, word)
    for i, token in enumerate(g.free_words):
        word = next(fresh)
        if i in plan.rename_words:
            out[token] = like(token, word)
    for i, j in plan.voiced:
        out[g.bound[i][0]] = g.constants.words[j]
    for i, j in plan.spoken:
        out[g.free_words[i]] = g.constants.words[j]
    return out


def _new_value(value: JsonValue, renames: Mapping[str, str]) -> JsonValue:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    text = substitute(as_text(value), renames)
    return int(text) if isinstance(value, int) else text


def _collides(g: Grammar, base: Snapshot, renames: Mapping[str, str]) -> bool:
    """Whether a path that the trace creates is there from the start."""
    made = [p for p in g.expectation.tree if p not in g.base]
    return any(substitute(p, renames, inside=g.inside) in base for p in made)
