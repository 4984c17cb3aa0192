"""The search with a scripted generator and a scripted judge: order, hold-out, leave-one-out, what is told to whom."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pytest
from factories import draft, report, trace

from sandbox.interface import SandboxInfo, Snapshot
from synth.crystallization.search import Found, NotFound, Search, SearchSettings, code_of, without
from synth.interface import Candidate, Template, TracePattern
from synth.llm.errors import ModelUnavailable
from synth.tracing.traces import to_evidence
from verifiers.interface import (
    Args,
    Behaviour,
    CheckResult,
    Counterexample,
    Decision,
    Evidence,
    Finding,
    GeneratedCase,
    Question,
    Report,
    Verdict,
)

BASE = trace(0)


def traces(count: int) -> TracePattern:
    made = tuple(replace(trace(0), task_id=f"t{n}", commands=(f"touch {n}",)) for n in range(count))
    return TracePattern("repetitive", made[0].commands, count, 1.0, "touch_file", "file-touch", made)


def candidate(body: str, evidence: Sequence[Evidence], summary: str = "Do it.") -> Candidate:
    source = f'"""{summary}"""\n\ndef do_it(name):\n    """{summary}"""\n    return {body!r}\n'
    return Candidate("do_it", source, {e.task_id: {"name": e.task_id} for e in evidence}, summary, "scripted/1")


@dataclass
class Scripted:
    """Proposes these bodies, whatever it is shown; remembers what it was shown and told."""

    bodies: tuple[str, ...]
    summary_from_evidence: bool = False
    name: str = "scripted/1"
    shown: list[frozenset[str]] = field(default_factory=list)
    told: list[Report] = field(default_factory=list)

    def generate(self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill") -> Iterator[Candidate]:
        self.shown.append(frozenset(e.task_id for e in evidence) | {t.task_id for t in pattern.traces})
        for body in self.bodies:
            yield candidate(body, evidence, evidence[0].description if self.summary_from_evidence else "Do it.")

    def rejected(self, candidate: Candidate, report: Report) -> None:
        self.told.append(report)

    def why_none(self) -> str:
        return "the script is empty"


def verdict_of(body: str, evidence: Sequence[Evidence]) -> str:
    """``good`` always passes; ``only:t1,t2`` is right on those traces alone; anything else fails everywhere."""
    if body == "good":
        return ""
    right = set(body.removeprefix("only:").split(",")) if body.startswith("only:") else set()
    return next((e.task_id for e in evidence if e.task_id not in right), "")


@dataclass
class Judge:
    """Judges by the body of the candidate's one return statement."""

    bad_evidence: Mapping[str, str] = field(default_factory=dict)
    calls: list[tuple[frozenset[str], frozenset[str], int]] = field(default_factory=list)
    """task_ids judged on, unseen ones, refit failures."""
    decisions: tuple[Decision, ...] = ()
    info: SandboxInfo | None = None
    wrong_on: frozenset[str] = frozenset()
    """Traces on which every candidate is wrong."""

    def rebuilt(self, evidence: Sequence[Evidence]) -> Sequence[Evidence]:
        return evidence

    def lets_in(self, source: str) -> bool:
        return True

    def unusable(self, evidence: Sequence[Evidence]) -> Mapping[str, str]:
        return {e.task_id: self.bad_evidence[e.task_id] for e in evidence if e.task_id in self.bad_evidence}

    def bind_alone(self, candidate: Candidate, seen: Sequence[Evidence], new: Evidence) -> Args | None:
        return None

    def bind(self, candidate: Candidate, seen: Sequence[Evidence], new: Sequence[Evidence]) -> Mapping[str, Args]:
        return {e.task_id: {"name": e.task_id} for e in new}

    def verify(
        self,
        candidate: Candidate,
        evidence: Sequence[Evidence],
        bindings: Mapping[str, Args],
        unseen: frozenset[str],
        failures: int,
    ) -> Report:
        assert set(bindings) >= {e.task_id for e in evidence}
        self.calls.append((frozenset(e.task_id for e in evidence), unseen, failures))
        wrong = verdict_of(self._body(candidate), evidence) or next(iter(self.wrong_on & {e.task_id for e in evidence}), "")
        made = replace(draft("do_it"), source=candidate.source)
        if not wrong:
            return report(made)
        finding = Finding(f"wrong on trace {wrong}", counterexample=Counterexample(f"trace {wrong}", trace=wrong))
        check = CheckResult("effect-equivalent", Verdict.FAIL, (finding,))
        return report(made, verdict=Verdict.FAIL, score=None, checks=(check,))

    def deciding(self, decisions: tuple[Decision, ...]) -> Judge:
        self.decisions = decisions
        return self

    def holds(self, candidate: Candidate, evidence: Sequence[Evidence], bindings: Mapping[str, Args]) -> bool:
        return not verdict_of(self._body(candidate), evidence) and not self.wrong_on & {e.task_id for e in evidence}

    @staticmethod
    def _body(candidate: Candidate) -> str:
        return candidate.source.rsplit("return ", 1)[1].strip().strip("'")


def search(count: int, generator: Scripted, judge: Judge, **settings: object) -> Found | NotFound:
    pattern = traces(count)
    chosen = SearchSettings(**{"refits": True, **settings})  # type: ignore[arg-type]  # a test's shorthand
    return Search(pattern, [to_evidence(t) for t in pattern.traces], generator, judge, chosen).run()


def test_first_good_candidate_wins() -> None:
    """Candidates are judged in order; refused ones are told to the generator; later ones are not judged."""
    generator, judge = Scripted(("bad", "good", "never")), Judge()
    found = search(3, generator, judge)
    assert isinstance(found, Found)
    assert (found.tried, len(generator.told)) == (2, 1)


class OfEach(Scripted):
    """A good skill of each recording alone, in two forms."""

    def generate(self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill") -> Iterator[Candidate]:
        for cost, e in itertools.product((0.0, 1.0), evidence):
            yield replace(candidate("good", [e]), name=f"of_{e.task_id}", cost=cost)


REFUSED = 9


class Asking(Judge):
    """Asks about skills, by name, and refuses those about which it asks most."""

    asked: Mapping[str, int] = MappingProxyType({})

    def verify(self, candidate: Candidate, *given: Any) -> Report:
        case = GeneratedCase("t0", Snapshot(), {})
        question = Question("commands-disagree", "m", case, Behaviour(Snapshot()), Behaviour(Snapshot()))
        asked = self.asked.get(candidate.name, 0)
        said = replace(super().verify(candidate, *given), questions=(question,) * asked)
        return replace(said, verdict=Verdict.FAIL, score=None) if asked == REFUSED else said


@pytest.mark.parametrize(
    ("asked", "taken", "tried"),
    [
        ({}, "of_t0", 1),
        ({"of_t0": 1}, "of_t1", 2),
        ({"of_t0": 2, "of_t1": 1, "of_t2": 1}, "of_t1", 3),
        ({f"of_t{n}": 1 for n in range(3)}, "of_t0", 3),
        ({"of_t0": 1, "of_t1": REFUSED, "of_t2": REFUSED}, "of_t0", 3),
        ({"of_t0": REFUSED, "of_t1": 1}, "of_t2", 3),
    ],
)
def test_whose_commands_nobody_disputes_is_taken(asked: Mapping[str, int], taken: str, tried: int) -> None:
    """A skill that passes with open questions is compared with two made from other recordings; the first among equals wins."""
    judge = Asking()
    judge.asked = asked
    found = search(5, OfEach(()), judge)
    assert isinstance(found, Found)
    assert (found.candidate.name, len(judge.calls)) == (taken, tried)


def test_the_same_recordings_in_another_form_are_not_judged_again() -> None:
    """Of one recording that alone leads to something, with a question."""

    class OfOne(OfEach):
        def generate(self, pattern: TracePattern, evidence: Sequence[Evidence], *given: Any) -> Iterator[Candidate]:
            yield from (c for c in super().generate(pattern, evidence) if c.name == "of_t0")

    judge = Asking()
    judge.asked = {"of_t0": 1}
    found = search(5, OfOne(()), judge)
    assert isinstance(found, Found)
    assert len(judge.calls) == 1


def test_held_out_trace_is_not_shown_and_judges() -> None:
    """With four cases one is kept from the generator, judged on, and counted as unseen."""
    generator, judge = Scripted(("good",)), Judge()
    found = search(4, generator, judge, refits=False)
    assert isinstance(found, Found)
    assert len(found.held_out) == 1
    assert not generator.shown[0] & set(found.held_out)
    assert judge.calls[-1][0] == frozenset({"t0", "t1", "t2", "t3"})
    assert judge.calls[-1][1] == frozenset(found.held_out)


def test_leave_one_out_marks_what_comes_out_again() -> None:
    """The same code made without a trace makes that trace unseen, docstrings apart."""
    generator, judge = Scripted(("good",), summary_from_evidence=True), Judge()
    found = search(3, generator, judge)
    assert isinstance(found, Found)
    assert found.refitted == ("t0", "t1", "t2")
    assert judge.calls[-1][1] == frozenset({"t0", "t1", "t2"})


def test_wrong_refit_counts_as_a_failure() -> None:
    """A refit that builds another skill, good on the rest and wrong on the trace left out, lowers the score."""

    class Changing(Scripted):
        def generate(
            self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill"
        ) -> Iterator[Candidate]:
            ids = {e.task_id for e in evidence}
            body = "good" if ids >= {"t1", "t2"} else f"only:{','.join(sorted(ids))}"
            yield candidate(body, evidence)

    judge = Judge()
    found = search(3, Changing(()), judge)
    assert isinstance(found, Found)
    assert found.refitted == ("t0",)
    assert judge.calls[-1][2] == 2
    assert any("was wrong on it" in note for note in found.notes)


def test_not_refittable_is_said_and_not_a_failure() -> None:
    """Where the rest leads to nothing, the trace counts as seen and no failure is counted."""

    class Needing(Scripted):
        def generate(
            self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill"
        ) -> Iterator[Candidate]:
            if len(evidence) == 3:
                yield candidate("good", evidence)

    judge = Judge()
    found = search(3, Needing(()), judge)
    assert isinstance(found, Found)
    assert judge.calls[-1][1:] == (frozenset(), 0)
    assert len([n for n in found.notes if n.startswith("not refittable")]) == 3


def test_feedback_never_tells_of_the_held_out_trace() -> None:
    """What a model hears of a refused candidate does not name the trace that was kept from it."""

    class Overfitted(Scripted):
        def generate(
            self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill"
        ) -> Iterator[Candidate]:
            self.shown.append(frozenset(e.task_id for e in evidence))
            yield candidate(f"only:{','.join(sorted(e.task_id for e in evidence))}", evidence)

    generator = Overfitted(())
    found = search(5, generator, Judge(), refits=False)
    assert isinstance(found, NotFound)
    assert "left-out trace" in found.why
    assert found.nearest is not None
    assert found.nearest.report is found.report
    (hidden,) = found.held_out
    assert hidden not in generator.shown[0]
    assert hidden not in repr(generator.told[0].checks)


def test_hold_out_is_a_case_that_the_code_does_not_need() -> None:
    """A trace that alone shows a value cannot be held out; another is, and the skill is found."""

    class Learning(Scripted):
        def generate(
            self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill"
        ) -> Iterator[Candidate]:
            ids = sorted(e.task_id for e in evidence)
            made = candidate("good" if "t2" in ids else f"only:{','.join(ids)}", evidence)
            yield made if "t2" in ids else replace(made, bindings={i: {} for i in ids})

    judge = Judge()
    found = search(5, Learning(()), judge)
    assert isinstance(found, Found)
    assert len(found.held_out) == 1
    assert "t2" not in found.held_out
    assert "t2" not in found.refitted
    assert judge.calls[-1][1] == frozenset({"t0", "t1", "t3", "t4"})
    assert judge.calls[-1][2] == 0


def test_held_out_words_do_not_reach_the_skill() -> None:
    """Where the same code comes out without a trace, the text of the skill is the one made without it."""
    pattern = traces(4)
    told = replace(pattern, traces=tuple(replace(t, task_description=f"words of {t.task_id}") for t in pattern.traces))

    class Quoting(Scripted):
        def generate(
            self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill"
        ) -> Iterator[Candidate]:
            yield candidate("good", evidence, " ".join(e.description for e in evidence))

    found = Search(told, [to_evidence(t) for t in told.traces], Quoting(()), Judge(), SearchSettings(refits=True)).run()
    assert isinstance(found, Found)
    assert f"words of {found.held_out[0]}" not in found.candidate.source


def test_what_is_wrong_whichever_trace_is_left_out_is_refused() -> None:
    """Without one trace that stands the test nothing is registered, whatever passes on all of them together."""

    class Memorising(Scripted):
        def generate(
            self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill"
        ) -> Iterator[Candidate]:
            yield candidate(f"only:{','.join(sorted(e.task_id for e in evidence))}", evidence)

    found = search(4, Memorising(()), Judge())
    assert isinstance(found, NotFound)
    assert "without one of the traces" in found.why


def test_sealed_search_judges_shown_traces_first() -> None:
    """For a model the held-out trace is judged only after everything shown passed."""
    generator, judge = Scripted(("bad", "good")), Judge()
    found = search(4, generator, judge, refits=False, sealed=True)
    assert isinstance(found, Found)
    hidden = set(found.held_out)
    assert [bool(hidden & on) for on, _, _ in judge.calls] == [False, False, True]


@pytest.mark.parametrize(("count", "bad"), [(2, 0), (4, 2)])
def test_too_little_evidence_generates_nothing(count: int, bad: int) -> None:
    """Fewer usable cases than the policy asks for: no candidate is made, and the reason is one sentence."""
    generator = Scripted(("good",))
    found = search(count, generator, Judge({f"t{n}": "it needs the network" for n in range(bad)}))
    assert isinstance(found, NotFound)
    assert found.refused_evidence
    assert "2 distinct usable traces, 3 are needed" in found.why
    assert generator.shown == []
    assert ("it needs the network" in found.why) == bool(bad)


def test_unusable_traces_are_left_out_and_noted() -> None:
    """One trace that does not replay costs itself, not the pattern."""
    generator, judge = Scripted(("good",)), Judge({"t1": "its replays disagree"})
    found = search(4, generator, judge)
    assert isinstance(found, Found)
    assert found.unused == {"t1": "its replays disagree"}
    assert all("t1" not in on for on, _, _ in judge.calls)


def test_nothing_generated_says_why() -> None:
    """The generator's own sentence."""
    found = search(3, Scripted(()), Judge())
    assert isinstance(found, NotFound)
    assert found.why == "the script is empty"


def test_code_is_compared_without_what_it_says() -> None:
    """Docstrings and descriptions do not count, code does; text that does not parse is itself."""
    a = 'def f(x=Q(1, description="a")):\n    """One."""\n    return x\n'
    assert code_of(a) == code_of(a.replace("One.", "Two.").replace('"a"', '"b"'))
    assert code_of(a) != code_of(a.replace("return x", "return 1"))
    assert code_of("def (") == "def ("


def test_without_hides_findings_about_hidden_traces() -> None:
    """Whatever part of a finding names the trace."""
    told = Finding("wrong", notes=("effect: in t9 the file is missing",))
    kept = Finding("also wrong")
    full = report(draft(), verdict=Verdict.FAIL, checks=(CheckResult("x", Verdict.FAIL, (told, kept), why="trace t9 differs"),))
    shown = without(full, frozenset({"t9"}))
    assert shown.checks[0].findings == (kept,)
    assert "t9" not in shown.why


def test_what_was_found_before_the_generator_was_lost_is_kept() -> None:
    """A service that gives no answer after a first candidate leaves the task open, with that candidate's report."""

    class Lost(Scripted):
        def generate(
            self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill"
        ) -> Iterator[Candidate]:
            yield from super().generate(pattern, evidence, template)
            raise ModelUnavailable("the service gave no answer", "Try again later")

    found = search(3, Lost(("bad",)), Judge(), refits=False)
    assert isinstance(found, NotFound)
    assert found.interrupted
    assert (found.tried, found.report is not None) == (1, True)
    assert found.why.startswith("the service gave no answer. Try again later (so far: ")
    with pytest.raises(ModelUnavailable):
        search(3, Lost(()), Judge(), refits=False)


def test_why_a_model_stopped_is_said_beside_what_was_refused() -> None:
    """A decline after a candidate is not lost."""

    class Declining(Scripted):
        def why_none(self) -> str:
            return "the model declined the task: it must grow"

    found = search(3, Declining(("bad",)), Judge(), refits=False)
    assert isinstance(found, NotFound)
    assert found.why.endswith("; the model declined the task: it must grow")


def test_noise_is_split_off_where_enough_is_left() -> None:
    """A trace of another form, for which no arguments are found, is not used; a candidate for all of them comes first."""
    made_of_three = Partial(("good",), 3)
    judge = Judge()
    judge.wrong_on = frozenset({"t3"})
    found = search(4, made_of_three, judge)
    assert isinstance(found, Found)
    assert set(found.bindings) == {"t0", "t1", "t2"}
    assert list(found.unused) == ["t3"]


def test_what_is_left_must_be_enough() -> None:
    """Two traces are no pattern: the candidate is judged on all, and refused."""
    judge = Judge()
    judge.wrong_on = frozenset({"t2"})
    found = search(3, Partial(("good",), 2), judge)
    assert isinstance(found, NotFound)


def test_what_a_skill_is_to_supersede_is_never_split_off() -> None:
    """A new version does all that the one before it does."""
    pattern, judge = traces(4), Judge()
    judge.wrong_on = frozenset({"t3"})
    found = Search(
        pattern, [to_evidence(t) for t in pattern.traces], Partial(("good",), 3), judge, SearchSettings(refits=True),
        bound=frozenset({"t3"}),
    ).run()  # fmt: skip
    assert isinstance(found, NotFound)


@dataclass
class Partial(Scripted):
    """Knows arguments of the first traces only."""

    known: int = 0

    def __init__(self, bodies: tuple[str, ...], known: int) -> None:
        super().__init__(bodies)
        self.known = known

    def generate(self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill") -> Iterator[Candidate]:
        for made in super().generate(pattern, evidence, template):
            ids = [f"t{n}" for n in range(self.known)]
            yield replace(made, bindings={t: a for t, a in made.bindings.items() if t in ids})
