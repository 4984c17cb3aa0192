"""From one pattern to its best verified candidate, or to the reason why there is none. Registers nothing.

Traces are usable or not before anything is generated. Candidates are judged in the generator's order, and the first that passes
on all usable traces wins; one that passes with open questions is compared with those made from other recordings. Some traces
must judge it unseen: either they are kept from the generator from the start (a model), or the generator is asked again without
them and has to make the very same code (the embedded one).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice

from synth.crystallization.holdout import Split, case_key, distinct, enough_left, in_order, split
from synth.crystallization.judge import Judge
from synth.interface import Candidate, Generator, Names, Template, TracePattern
from verifiers.interface import Args, AssayError, Evidence, Inconclusive, Report, Verdict
from verifiers.source.parsing import parsed

MOST_REFITS = 2
"""Other skills that are tried where leaving a trace out does not lead to the same code."""

MOST_OTHERS = 2
"""Skills made from other recordings that are judged besides one that passed with open questions: whose commands nobody
disputes is taken."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    hold_out: int = 1
    """Cases kept from the generator where there are at least four."""
    min_usable: int = 3
    max_candidates: int = 8
    seed: int = 0
    template: Template = "skill"
    refits: bool = False
    """The generator is cheap enough to be asked again without each trace (leave-one-out)."""
    sealed: bool = False
    """Judge on the shown traces alone first, so that no feedback to the generator can tell of a held-out one."""


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate that passed everything, on all traces."""

    candidate: Candidate
    report: Report
    bindings: Mapping[str, Args]
    held_out: tuple[str, ...]
    refitted: tuple[str, ...]
    tried: int
    notes: tuple[str, ...] = ()
    unused: Mapping[str, str] = field(default_factory=dict)
    """task_id -> why that recording says nothing here: it does not replay, or it is of another task."""


@dataclass(frozen=True, slots=True)
class NotFound:
    """No candidate passed; ``nearest`` is None where nothing was judged."""

    why: str
    nearest: Found | None = None
    """The candidate that came furthest, with its report."""
    held_out: tuple[str, ...] = ()
    tried: int = 0
    notes: tuple[str, ...] = ()
    unused: Mapping[str, str] = field(default_factory=dict)
    refused_evidence: bool = False
    """Too little of the evidence can be used at all."""
    interrupted: bool = False
    """The generator was lost on the way: what it would have made is not known."""

    @property
    def report(self) -> Report | None:
        return self.nearest.report if self.nearest is not None else None


@dataclass
class Search:
    """One pattern's search. ``say`` hears what happens."""

    pattern: TracePattern
    evidence: Sequence[Evidence]
    generator: Generator
    judge: Judge
    settings: SearchSettings = SearchSettings()
    say: Callable[[str], None] = lambda text: None
    bound: frozenset[str] = frozenset()
    """task_ids that the skill must do whatever else it does: what it is to supersede does them."""
    _reports: dict[str, Report] = field(default_factory=dict)
    """Code -> the report on all traces, of every candidate tried."""
    _without: dict[frozenset[str], tuple[Candidate, ...]] = field(default_factory=dict)
    """task_ids shown -> the candidates that they alone lead to."""

    def run(self) -> Found | NotFound:
        """Searches until a candidate passes on all usable traces."""
        unusable = self.judge.unusable(self.evidence)
        usable = [e for e in self.evidence if e.task_id not in unusable]
        if distinct(usable) < self.settings.min_usable:
            return NotFound(too_few(usable, unusable, self.settings.min_usable), unused=unusable, refused_evidence=True)
        found = self._refitting(usable) if self.settings.refits else self._held_apart(usable)
        return replace(found, unused={**unusable, **found.unused})

    # -------------------------------------------------------- a generator that is asked once

    def _held_apart(self, usable: Sequence[Evidence]) -> Found | NotFound:
        """Some cases are kept from the generator from the start."""
        parts = split(usable, self.settings.hold_out, self.settings.seed)
        held = tuple(e.task_id for e in parts.held_out)
        best: Found | None = None
        tried = 0
        try:
            for candidate in self._candidates(parts.seen):
                tried += 1
                self.say(f"judging candidate {tried} ({candidate.name})")
                report, bindings = self._judge(candidate, parts)
                found = Found(candidate, report, bindings, held, (), tried)
                if report.verdict is Verdict.PASS:
                    return found
                self.generator.rejected(candidate, without(report, frozenset(held)))
                best = found if best is None else _further(best, found)
        except AssayError as e:
            if best is None or e.exit_code != Inconclusive.exit_code:
                raise
            why = f"{e.diagnostics()} (so far: {_refusal(best.report, frozenset(held))})"
            return NotFound(why, best, held, tried, interrupted=True)
        if best is None:
            return NotFound(self.generator.why_none(), held_out=held)
        why, ended = _refusal(best.report, frozenset(held)), self.generator.why_none()
        # A model that declined, or a budget that is spent, ended it before it was at its end.
        return NotFound(why if best.report.why in ended else f"{why}; {ended}", best, held, tried)

    def _judge(self, candidate: Candidate, parts: Split) -> tuple[Report, Mapping[str, Args]]:
        if self.settings.sealed and parts.held_out:
            report = self.judge.verify(candidate, parts.seen, candidate.bindings, frozenset(), 0)
            if report.verdict is not Verdict.PASS:
                return report, candidate.bindings
        bindings = {**candidate.bindings, **self.judge.bind(candidate, parts.seen, parts.held_out)}
        unseen = frozenset(e.task_id for e in parts.held_out)
        return self.judge.verify(candidate, [*parts.seen, *parts.held_out], bindings, unseen, 0), bindings

    # -------------------------------------------------------- a generator that is asked again and again

    def _refitting(self, usable: Sequence[Evidence]) -> Found | NotFound:
        """Candidates from all traces; each is then made again without some of them, and what comes out again was made unseen."""
        best: Found | None = None
        passed: list[Found] = []
        why = ""
        tried = 0
        for candidate, bindings, apart in self._whole_first(usable, passed):
            if passed and tried >= passed[0].tried + MOST_OTHERS:
                break
            tried += 1
            self.say(f"judging candidate {tried} ({candidate.name})")
            shown = [e for e in usable if e.task_id not in apart]
            held = self._held_out(candidate, shown)
            hidden = frozenset(e.task_id for e in held)
            refits = self._leave_one_out(candidate, [e for e in shown if e.task_id not in hidden], shown)
            if refits.wrong and not refits.held and not held:
                why = "skills made without one of the traces are all wrong on it: the traces do not show one task"
                continue
            made = self._made_without(candidate, shown, held)
            if isinstance(self.generator, Names):
                made, bindings = self.generator.told_again(made, [e for e in shown if e not in held], bindings)
            report = self.judge.verify(made, shown, bindings, hidden | set(refits.held), refits.wrong)
            self._reports[code_of(candidate.source)] = report
            unused = dict.fromkeys(sorted(apart), "no arguments make this skill do what it did")
            found = Found(made, report, bindings, tuple(sorted(hidden)), refits.held, tried, refits.notes, unused)
            if report.verdict is Verdict.PASS and not report.questions:
                return found
            if report.verdict is Verdict.PASS:
                passed.append(found)
                continue
            self.generator.rejected(candidate, report)
            best = found if best is None else _further(best, found)
        if passed:
            return min(passed, key=lambda f: len(f.report.questions))
        if best is None:
            return NotFound(why or self.generator.why_none(), tried=tried)
        return NotFound(best.report.why, best, tried=tried)

    def _whole_first(
        self, usable: Sequence[Evidence], passed: Sequence[Found]
    ) -> Iterator[tuple[Candidate, Mapping[str, Args], frozenset[str]]]:
        """Candidates with their bindings and the traces to be split off: those that hold on every trace, those for which some are
        split off, and last, for the sake of what is said of them, those that cannot pass. Beside those that have ``passed`` by
        then only such as are made from other recordings, and leave none out that those do."""
        split: list[tuple[Candidate, Mapping[str, Args], frozenset[str]]] = []
        hopeless: list[tuple[Candidate, Mapping[str, Args], frozenset[str]]] = []
        for candidate in self._made(usable):
            if not _is_other(candidate, frozenset(), passed):
                continue
            bindings, apart = self._bound(candidate, usable)
            if not apart:
                yield candidate, bindings, apart
            elif self._is_noise(apart, usable):
                split.append((candidate, {t: args for t, args in bindings.items() if t not in apart}, apart))
            else:
                hopeless.append((candidate, bindings, frozenset()))
        for candidate, bindings, apart in split:
            if _is_other(candidate, apart, passed):
                yield candidate, bindings, apart
        yield from hopeless if not passed else ()

    def _is_noise(self, apart: frozenset[str], usable: Sequence[Evidence]) -> bool:
        """Whether traces may be split off: they are the fewer, or from before all others, which show how it is done since;
        enough others are left, and none of them is promised."""
        left = [e for e in usable if e.task_id not in apart]
        when = {t.task_id: t.timestamp for t in self.pattern.traces}
        if distinct(left) < self.settings.min_usable or apart & self.bound:
            return False
        began = min(when[e.task_id] for e in left)
        return sum(when[task_id] >= began for task_id in apart) < len(left)

    def _bound(self, candidate: Candidate, usable: Sequence[Evidence]) -> tuple[Mapping[str, Args], frozenset[str]]:
        """The candidate's bindings, with inferred ones for traces whose commands have another form than those that it was made
        from; and which of these it cannot do."""
        known = [e for e in usable if e.task_id in candidate.bindings]
        new = [e for e in usable if e.task_id not in candidate.bindings]
        bindings = {**candidate.bindings, **self.judge.bind(candidate, known, new)} if new else dict(candidate.bindings)
        apart: set[str] = set()
        for e in new:
            if e.task_id in bindings and self.judge.holds(candidate, [e], bindings):
                continue
            args = self.judge.bind_alone(candidate, known, e)
            if args is not None:
                bindings[e.task_id] = args
            else:
                apart.add(e.task_id)
        return bindings, frozenset(apart)

    def _held_out(self, candidate: Candidate, usable: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """Cases without which, all together, the very same code is made: they judge it unseen. None for fewer than four cases."""
        held: tuple[Evidence, ...] = ()
        for part in in_order(usable, self.settings.seed):
            more = (*held, *part)
            rest = [e for e in usable if e not in more]
            if distinct(more) > self.settings.hold_out or not enough_left(usable, rest):
                break
            if self._same_code(candidate, rest) is not None:
                held = more
        return held

    def _made_without(self, candidate: Candidate, usable: Sequence[Evidence], held: Sequence[Evidence]) -> Candidate:
        """The candidate as it is made without the held-out traces: not a word in it comes from them."""
        rest = [e for e in usable if e not in held]
        made = self._same_code(candidate, rest) if held else None
        return replace(candidate, source=made.source, description=made.description) if made is not None else candidate

    def _same_code(self, candidate: Candidate, evidence: Sequence[Evidence]) -> Candidate | None:
        code = code_of(candidate.source)
        return next((c for c in self._made(evidence) if code_of(c.source) == code), None)

    def shown(self) -> tuple[TracePattern, Sequence[Evidence]] | None:
        """What a generator that is asked once will be given; None where too little can be used."""
        unusable = self.judge.unusable(self.evidence)
        usable = [e for e in self.evidence if e.task_id not in unusable]
        if distinct(usable) < self.settings.min_usable:
            return None
        seen = split(usable, self.settings.hold_out, self.settings.seed).seen
        return self._pattern_of(seen), seen

    def _pattern_of(self, seen: Sequence[Evidence]) -> TracePattern:
        ids = {e.task_id for e in seen}
        traces = tuple(t for t in self.pattern.traces if t.task_id in ids)
        commands = tuple(dict.fromkeys(c for t in traces for c in t.commands))
        return replace(self.pattern, traces=traces, frequency=len(traces), command_sequence=commands)

    def _candidates(self, seen: Sequence[Evidence]) -> Iterator[Candidate]:
        made = self.generator.generate(self._pattern_of(seen), seen, self.settings.template)
        return islice(made, self.settings.max_candidates)

    # -------------------------------------------------------- leave-one-out

    def _made(self, evidence: Sequence[Evidence]) -> tuple[Candidate, ...]:
        """What the generator makes of just these traces, remembered."""
        key = frozenset(e.task_id for e in evidence)
        if key not in self._without:
            self._without[key] = tuple(self._candidates(evidence)) if evidence else ()
        return self._without[key]

    def _leave_one_out(self, winner: Candidate, shown: Sequence[Evidence], usable: Sequence[Evidence]) -> _Refits:
        """Makes the skill again without each shown trace, and says on which of them it then holds."""
        held: list[str] = []
        notes: list[str] = []
        wrong = 0
        for out in shown:
            rest = [e for e in usable if case_key(e) != case_key(out)]
            verdict = self._refit(winner, rest, out)
            if verdict is None:
                notes.append(f"not refittable without trace {out.task_id}: the others do not vary enough")
            elif verdict:
                held.append(out.task_id)
            else:
                wrong += 1
                notes.append(f"a skill made without trace {out.task_id} was wrong on it")
        return _Refits(tuple(held), wrong, tuple(notes))

    def _refit(self, winner: Candidate, rest: Sequence[Evidence], out: Evidence) -> bool | None:
        """Whether what the rest leads to holds on the trace left out; None where it leads to nothing that is as general."""
        if self._same_code(winner, rest) is not None:
            return True
        others = [c for c in self._made(rest) if parameters(c) >= parameters(winner) and code_of(c.source) not in self._reports]
        for candidate in others[:MOST_REFITS]:
            if self.judge.holds(candidate, rest, candidate.bindings):
                bindings = self.judge.bind(candidate, rest, [out])
                return out.task_id in bindings and self.judge.holds(candidate, [out], bindings)
        return None


@dataclass(frozen=True, slots=True)
class _Refits:
    """What leave-one-out found."""

    held: tuple[str, ...] = ()
    """Traces on which the skill made without them holds."""
    wrong: int = 0
    notes: tuple[str, ...] = ()


@lru_cache(maxsize=512)
def code_of(source: str) -> str:
    """The code of a skill without what it says of itself: docstrings and descriptions name the traces that it was made from."""
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError):
        return source
    documented = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        elif isinstance(node, ast.Call):
            node.keywords = [k for k in node.keywords if k.arg != "description"]
    return ast.dump(tree)


def parameters(candidate: Candidate) -> int:
    """How many arguments a candidate takes."""
    return max((len(args) for args in candidate.bindings.values()), default=0)


def without(report: Report, hidden: frozenset[str]) -> Report:
    """A report with every finding removed that tells of a hidden trace."""
    if not hidden:
        return report
    telling = re.compile("|".join(re.escape(h) for h in sorted(hidden)))

    def keeps(said: object) -> bool:
        return telling.search(repr(said)) is None

    checks = tuple(
        replace(c, findings=tuple(f for f in c.findings if keeps(f)), measured={}, why=c.why if keeps(c.why) else "")
        for c in report.checks
    )
    bindings = {task_id: args for task_id, args in report.bindings.items() if task_id not in hidden}
    return replace(report, checks=checks, bindings=bindings)


def _is_other(candidate: Candidate, apart: frozenset[str], passed: Sequence[Found]) -> bool:
    """Whether a skill is made from other recordings than those that passed, and leaves none out that they do."""
    return all(apart <= f.unused.keys() and not candidate.bindings.keys() <= f.candidate.bindings.keys() for f in passed)


def _further(a: Found, b: Found) -> Found:
    """The candidate that came nearer to passing."""

    def rank(report: Report) -> tuple[int, int, int]:
        failed = sum(c.verdict is Verdict.FAIL for c in report.checks)
        passed = sum(c.verdict is Verdict.PASS for c in report.checks)
        return (int(report.verdict), failed, -passed)

    return b if rank(b.report) < rank(a.report) else a


def _refusal(report: Report, held: frozenset[str]) -> str:
    """Why the best candidate was not good enough, naming a held-out trace where it failed on one."""
    told = [f.counterexample.trace for c in report.checks if c.verdict is Verdict.FAIL for f in c.findings if f.counterexample]
    failed_on = next((t for t in told if t in held), None)
    return f"does not hold on left-out trace {failed_on}: {report.why}" if failed_on else report.why


def too_few(usable: Sequence[Evidence], unusable: Mapping[str, str], least: int) -> str:
    """What is missing where too few recordings can be used."""
    cases = distinct(usable)
    text = f"only {cases} distinct usable trace{'' if cases == 1 else 's'}, {least} are needed"
    if unusable:
        task_id, why = next(iter(sorted(unusable.items())))
        more = f" and {len(unusable) - 1} more" if len(unusable) > 1 else ""
        text += f" ({task_id}{more} cannot be used: {why})"
    return text
