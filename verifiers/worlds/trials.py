"""What is tried: starts made from the recorded ones, each in its zone. Pure.

Within the evidence the recordings say what is right: what holds over all recorded starts holds there too. Beyond it one thing
that always held does not, or there is something that no recording speaks of: there nobody has said what is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from random import Random

from verifiers.context import Case
from verifiers.interface import Args
from verifiers.worlds.catalog import CATALOG
from verifiers.worlds.grammar import Grammar, contents_by_ending
from verifiers.worlds.harm import KEEPINGS, Keeping
from verifiers.worlds.invariants.facts import Facts, Start, learn, role
from verifiers.worlds.invariants.values import Values
from verifiers.worlds.plans import Plan
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import tokens
from verifiers.worlds.variation import Rule, Said
from verifiers.worlds.world import World, realise

MOST_BEYOND = 36
MOST_OF_A_CAUSE = 3
ANY = "each file that changes"


@dataclass(frozen=True, slots=True)
class Beyond:
    """Why a start is beyond the evidence."""

    name: str
    sentence: str
    """What holds in every recording."""
    told: str = ""
    """What is odd about the start, as a sentence: then no recording is said to have had anything."""
    always: bool = False
    """Whether it is asked about whatever the variation is worth."""
    vouched: bool = False
    """Whether another recording's commands do there what the skill did."""


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
    common: frozenset[str] = frozenset()
    """Words that stand in the contents of several recorded starts: of a header, say, keys, or values that the format has. People
    seldom write the same by chance."""
    keeping: Mapping[str, Keeping] = field(default_factory=dict)
    """Roles of files that the task changes, with the lines that every recording lets stand."""

    @classmethod
    def of(cls, gs: Sequence[Grammar]) -> Evidenced:
        facts = learn([Start(g.base, g.args) for g in gs])
        words = [frozenset(t for e in g.base.values() for t in tokens(e.content.decode("utf-8", "replace"))) for g in gs]
        everywhere = frozenset.intersection(*words) if len(words) > 1 else frozenset[str]()
        kinds = _kinds(gs)
        formal = _of_the_form(gs, words) | kinds
        common = formal | {t for t, n in Counter(t for found in words for t in found).items() if n > 1}
        contents = contents_by_ending(g.base for g in gs)
        always = frozenset.intersection(*(frozenset(_said(g)) for g in gs)) if gs else frozenset[str]()
        form = (everywhere | formal | _endings(gs)) - always
        names = frozenset(p.rpartition("/")[2] for g in gs for p in g.base)
        known = tuple(replace(_knowing(g, facts, common, form, formal), recorded=contents, names=names, kinds=kinds) for g in gs)
        return cls(known, facts, common, _keeping(gs, facts))

    def keeps(self, case: Case) -> dict[str, Keeping]:
        """Files of a case of which the task lets lines stand."""
        found = {}
        for path, e in case.base.items():
            changes = case.expectation.tree.get(path, e) != e
            keeping = self.keeping.get(role(path, case.args, self.facts.common)) or (self.keeping.get(ANY) if changes else None)
            if keeping is not None:
                found[path] = keeping
        return found

    def trials(self, g: Grammar, plan: Plan) -> list[Trial]:
        """The trials of one plan: one that keeps what always held, and where the plan breaks just one such thing, that one."""
        world = realise(g, plan)
        if world is None or (world.base == g.base and not world.varied):
            return []
        recorded = Start(g.base, g.args)
        fitted = replace(world, base=self.facts.kept(Start(world.base, world.args), recorded, Random(plan.salt)))
        out = [self._trial(g, plan, fitted, recorded)]
        if fitted.base != world.base:
            out.append(self._trial(g, plan, world, recorded, unkept=True))
        return [t for t in out if t is not None]

    def _trial(self, g: Grammar, plan: Plan, world: World, recorded: Start, *, unkept: bool = False) -> Trial | None:
        """``unkept``: the start is there for what its contents no longer keep, and for nothing else."""
        if world.base == g.base and not world.varied:
            return None
        found = self.facts.broken(Start(world.base, world.args), recorded)
        if plan.has(Rule.BYSTANDER, Rule.ITEM):
            # What the commands do with the odd name decides whether it counts, whatever names were recorded.
            found = tuple(f for f in found if f.scope != "name")
        values = sorted((f for f in found if f.scope == "value"), key=lambda f: not isinstance(f.kind, Values))[:1]
        if values and unkept:
            return None  # a start breaks one thing at a time
        unsaid = self._unsaid(plan)
        # A number of another build is none of the kind that the argument is, though commands take it for text.
        odd = (bool(values) or (plan.has(Rule.TEXT) and not unkept)) and not any(isinstance(f.kind, Values) for f in values)
        # What a variation adds on purpose is the cause of whatever else no longer holds.
        # One step that breaks several is one cause, told by what was seen most often.
        broken = sorted(values or found, key=lambda f: -f.count)
        reasons = unsaid or [Beyond(f.kind.name, f.sentence) for f in broken]
        reasons += [Beyond("plain-values", "arguments are plain words")] if odd and not reasons else []
        if len(reasons) > 1 and len(plan.steps) != 1:
            return None
        return Trial(g, plan, world, reasons[0] if reasons else None, odd and not unsaid)

    def _unsaid(self, plan: Plan) -> list[Beyond]:
        """What the plan adds or leaves out that no recording speaks of."""
        found = [CATALOG[s.variation] for s in plan.steps if CATALOG[s.variation].said(s.choice, self.gs) is Said.HARM]
        reasons = [Beyond(v.name, v.never) for v in {v.name: v for v in found}.values() if v.never]
        renamed = sorted({str(s.choice[0]) for s in plan.steps if CATALOG[s.variation].respells} & self.common)
        if renamed:
            reasons.append(Beyond("common-words", f"the word {renamed[0]!r} stands in some file"))
        return reasons


def _kinds(gs: Sequence[Grammar]) -> frozenset[str]:
    """A recording whose arguments say a word tells nothing of it: there it is a value."""
    names = [Counter(t for name in {p.rpartition("/")[2] for p in g.base} for t in {*tokens(name)} - {*_said(g)}) for g in gs]
    recordings = Counter(t for found in names for t, n in found.items() if n > 1)
    return frozenset(t for t, n in recordings.items() if n > 1)


def _endings(gs: Sequence[Grammar]) -> frozenset[str]:
    """Endings that every recorded start has a file with: ``sgf`` is one, also where a folder is called so."""
    found = [frozenset(p.rpartition(".")[2] for p in g.base if "." in p.rpartition("/")[2]) for g in gs]
    return frozenset.intersection(*found) if len(found) > 1 else frozenset()


def _of_the_form(gs: Sequence[Grammar], words: Sequence[frozenset[str]]) -> frozenset[str]:
    """Words with a part that the skill's patterns say, where every recording has one with it: ``citep`` and ``nocite``. And words
    that its texts say and no argument does, where some recording is done without any of them: who knew recordings by their words
    would need one in each."""
    said = {w.lower() for g in gs for w in g.constants.forms}
    lower = [{t.lower(): t for t in found} for found in words]
    shared = {w for w in said if len(words) > 1 and all(any(w in t for t in found) for found in lower)}
    form = frozenset(word for found in lower for t, word in found.items() if any(w in t for w in shared))
    told = {w for g in gs for w in g.constants.words} - {t for g in gs for t in _said(g)} - form
    special = [told & found for found in words]
    everywhere = frozenset.intersection(*map(frozenset, special)) if special else frozenset[str]()
    return form | (frozenset().union(*special) if any(not found - everywhere for found in special) else frozenset())


def _keeping(gs: Sequence[Grammar], facts: Facts) -> dict[str, Keeping]:
    seen: dict[str, list[tuple[bytes, bytes, Args]]] = {}
    for g in gs:
        for path, e in g.base.items():
            after = g.expectation.tree.get(path)
            if e.type == "file" and e.content and after is not None and after.content != e.content:
                for where in (role(path, g.args, facts.common), ANY):
                    seen.setdefault(where, []).append((e.content, after.content, g.args))
    found = {where: next((k for k in KEEPINGS if _kept(k, changes)), None) for where, changes in seen.items()}
    return {where: k for where, k in found.items() if k is not None}


def _kept(keeping: Keeping, changes: Sequence[tuple[bytes, bytes, Args]]) -> bool:
    """Whether it was so in each of several changes."""
    shown = [c for c in changes if keeping.named or keeping.of(c[0], c[2])]
    return len(shown) > 1 and all(keeping.holds(*c) for c in shown)


def _said(g: Grammar) -> list[str]:
    return [t for v in g.args.values() for t in tokens(as_text(v))]


def _knowing(g: Grammar, facts: Facts, common: frozenset[str], form: frozenset[str], formal: frozenset[str]) -> Grammar:
    """The grammar with what is known of all of them: words that some recording lacks are freer than those that all have. Words of
    the form, which stand in every start whatever its arguments say (``diff --git``, ``.sgf``), are none that an argument brings
    along."""
    bound = tuple((token, names) for token, names in g.bound if token not in form)
    freer = tuple(w for w in g.free_words if w not in common)
    names = tuple(w for w in g.free if w not in common)
    told = tuple(dict.fromkeys(w for w in (*g.free, *g.free_words) if w in formal))
    known = replace(g, records=_record_sizes(g, facts), common=common, bound=bound, formal=told)
    return replace(known, free=names or g.free, free_words=freer or g.free_words)


def _record_sizes(g: Grammar, facts: Facts) -> dict[str, int]:
    return {p: facts.record_lines(Start(g.base, g.args), p) for p, e in g.base.items() if e.type == "file"}


def distinct(trials: Iterable[Trial]) -> list[Trial]:
    """Those that differ from each other, in order; of those beyond the evidence only so many: a first one of each cause comes
    before a second of any, and a second one is another start, of another trace, whose commands may be more careful."""
    found: dict[tuple[str, str, str], Trial] = {}
    for t in trials:
        found.setdefault((t.g.task_id, t.world.base.digest, repr(t.world.args)), t)
    causes: dict[str, dict[str, list[tuple[str, str, str]]]] = {}
    for key, t in found.items():
        if t.beyond is not None and not t.odd_value:
            causes.setdefault(t.beyond.name, {}).setdefault(t.g.task_id, []).append(key)
    ranks: dict[tuple[str, str, str], int] = {}
    for of_each in causes.values():
        rows = [keys[n % len(keys) :] + keys[: n % len(keys)] for n, keys in enumerate(of_each.values())]
        turns = (key for turn in zip_longest(*rows) for key in turn if key is not None)
        ranks |= {key: n for n, key in enumerate(turns, 1)}
    few = {k for k in sorted(ranks, key=ranks.__getitem__)[:MOST_BEYOND] if ranks[k] <= MOST_OF_A_CAUSE}
    return [t for key, t in found.items() if key not in ranks or key in few]
