"""Is the outcome the same under other surroundings?"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sandbox.interface import JsonValue, ReplayRecord, Returned, Snapshot, Surroundings
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.context import Case, Context, Wrong
from verifiers.expectation.neighbours import neighbours
from verifiers.expectation.oracle import Expectation, expect
from verifiers.expectation.steps import trace_request
from verifiers.interface import CheckResult, Finding, Question, Verdict
from verifiers.worlds.asking import question
from verifiers.worlds.trials import Beyond

FACTORS: Mapping[str, tuple[Surroundings, str]] = {
    "directory order": (Surroundings(order="reversed"), "order"),
    "directory order (shuffled)": (Surroundings(order="shuffled:3"), "order"),
    "hash seed": (Surroundings(hash_seed=1), "hash_seed"),
    "time zone": (Surroundings(tz="Asia/Kathmandu"), "tz"),
    "locale": (Surroundings(locale="en_US.UTF-8"), "locale"),
    "HOME": (Surroundings(home="other"), "home"),
    "umask": (Surroundings(umask=0o077), "umask"),
    "working directory": (Surroundings(workdir="other"), "cwd"),
    "interpreter (optimised)": (Surroundings(optimised=True), "optimised"),
    "name of its module": (Surroundings(module="tools"), "module"),
    "number of CPUs": (Surroundings(cpus=1), "cpus"),
    "wall clock": (Surroundings(delay_s=1.1), "clock"),
}
"""Factor -> surroundings that differ from the normal ones in it alone, and what the probe calls it."""

SAME_VALUE = ("directory order", "directory order (shuffled)", "hash seed", "HOME")
"""Under these the returned JSON must be equal, not only the effect."""

OWN = ("name of its module",)
"""What there is of a skill only: commands have no other outcome under it."""

UNPROMISED = Beyond("usual-umask", "the umask is the usual one")
"""Modes of what is made hang on it, for one of the two sides."""

SLOW = ("wall clock",)
"""Tried on one trace, last, and no longer after the normal run than it takes for time stamps to differ; that the commands do not
depend on it is known from their own repetitions."""


class DeterministicReplay:
    id = "deterministic-replay"
    title = "Same under other surroundings?"
    why = (
        "The trace's commands and the skill run from the same base with one factor changed at a time: directory order, "
        "hash seed, time zone, locale, HOME, umask, working directory, wall clock, number of CPUs, an "
        "interpreter that leaves out assertions, name and file of its module. With another HOME, files of its user lie there, "
        "and in /tmp under each name that the skill takes there and the commands do not. Each path and "
        "attribute must be what the commands leave under that factor or normally: a factor may do to the skill what it "
        "does to the commands, and nothing else; that modes of what is made follow the umask is a question. "
        "The returned value must not depend on directory order, hash seed, or what somebody's HOME and environment hold. A "
        "factor counts only if a probe inside the job saw it change."
    )
    stage = "dynamic"
    version = 8
    good = (
        rename("the same value every time"),
        rename(
            "an assertion that only says", RENAME_BODY.replace("        if target", "        assert old_ext\n        if target")
        ),
    )
    bad = (
        rename(
            "it works only as a module of this name",
            RENAME_BODY.replace("        p.rename(target)\n", '        if __name__ == "skill":\n            p.rename(target)\n'),
        ),
        rename(
            "it works only from a file of this name",
            RENAME_BODY.replace("        p.rename(target)\n", "        if len(__file__) < 10:\n            p.rename(target)\n"),
        ),
        rename(
            "it works in an assertion, which an optimised interpreter leaves out",
            RENAME_BODY.replace("        p.rename(target)\n", "        assert p.rename(target)\n"),
        ),
        rename(
            "a set in the value, whose order hangs on the hash seed",
            RENAME_BODY.replace('"changed": len(files)', '"names": list({p.name for p in files} | {"u", "v", "w"})'),
        ),
    )

    def run(self, context: Context) -> CheckResult:
        context.prime()
        trials = [(factor, case) for factor in FACTORS for case in self._cases(context, factor)]
        traces = self._traces(context, trials)
        skills = self._skills(context, [t for t in trials if t[0] not in SLOW])
        skills += self._skills(context, [t for t in trials if t[0] in SLOW])
        findings: list[Finding] = []
        questions: list[Question] = []
        seen: set[str] = set()
        judged = 0
        for (factor, case), trace, skill in zip(trials, traces, skills, strict=True):
            if not changed(context.first[case.label].probe, skill.probe, FACTORS[factor][1]):
                continue
            seen.add(factor)
            judged += 1
            wrong = self._wrong(context, case, trace, skill, factor)
            if wrong is not None and factor == "umask" and self._only_on_the_way(context, case, trace, skill):
                questions += [question(case, skill, UNPROMISED, context.judge.answer_path)] if not questions else []
            elif wrong is not None:
                text = f"{case.label}: another {factor} flips the outcome: {wrong.message}"
                findings.append(context.finding(self.id, text, case, wrong))
        unseen = [f for f in FACTORS if f not in seen]
        measured: dict[str, JsonValue] = {"judged": judged, "factors_not_checked": list[JsonValue](unseen)}
        notes = tuple(Finding(f"factor not checked: {f} (a probe in the job saw no change)", severity="info") for f in unseen)
        verdict = Verdict.FAIL if findings else Verdict.PASS if judged else Verdict.INCONCLUSIVE
        why = "" if judged else "no factor could be changed here"
        return CheckResult(self.id, verdict, (*findings, *notes), why, len(traces) + len(skills), 0.0, measured, tuple(questions))

    def _only_on_the_way(self, context: Context, case: Case, trace: Expectation | None, skill: ReplayRecord) -> bool:
        """Whether all that differs are modes of what the task makes: nobody promised one or the other."""
        accepted = (trace, masked(case.expectation)) if trace is not None else ()
        return context.judge.wrong(skill, case.expectation, accepted) is None

    def _skills(self, context: Context, trials: Sequence[tuple[str, Case]]) -> list[ReplayRecord]:
        since = time.monotonic() - context.primed
        under = [self._surroundings(context, f, c, since) for f, c in trials]
        requests = (context.request(c.base, c.args, s) for (_, c), s in zip(trials, under, strict=True))
        return context.run("other surroundings", requests)

    @staticmethod
    def _surroundings(context: Context, factor: str, case: Case, since: float) -> Surroundings:
        """Those of a factor for the skill. Where somebody lives, files of theirs are in the way of what it keeps in /tmp."""
        where = FACTORS[factor][0]
        commands = case.evidence.commands if case.evidence is not None else ()
        others = neighbours(context.first[case.label], commands) if where.home is not None else ()
        return replace(where, delay_s=max(0.0, where.delay_s - since), neighbours=others)

    def _cases(self, context: Context, factor: str) -> tuple[Case, ...]:
        return context.cases[: 1 if factor in SLOW else context.counts.factor_traces]

    def _traces(self, context: Context, trials: Sequence[tuple[str, Case]]) -> list[Expectation | None]:
        """What the commands do under each factor; None where they fail under it and not normally: then it is not judged. Of a
        trace that commands did not do alone, what it did: an edit writes the same under any factor."""
        evidence = [c.evidence if c.evidence and c.evidence.by_commands and f not in OWN else None for f, c in trials]
        requests = [
            trace_request(e, c.base, Surroundings() if f in SLOW else FACTORS[f][0])
            for (f, c), e in zip(trials, evidence, strict=True)
            if e is not None
        ]
        records = iter(context.traces.map(requests))
        out: list[Expectation | None] = []
        for (_, case), e in zip(trials, evidence, strict=True):
            x, why = expect(e, [next(records)]) if e is not None else (case.expectation, "")
            out.append(None if why or x.failed != case.expectation.failed else x)
        return out

    def _wrong(self, context: Context, case: Case, trace: Expectation | None, skill: ReplayRecord, factor: str) -> Wrong | None:
        if trace is None:
            return None
        wrong = context.judge.wrong(skill, case.expectation, (trace,))
        if wrong is None and factor in SAME_VALUE:
            a, b = (getattr(r.outcome, "value", None) for r in (context.first[case.label], skill))
            if isinstance(skill.outcome, Returned) and a != b:
                return Wrong("answer", "the returned value differs", repr(a), repr(b))
        return wrong


def masked(x: Expectation) -> Expectation:
    """What is left where all that the task writes gets its modes from the umask, as new files do. That what is there before keeps
    its mode is seen under the usual one, where nothing else can be the cause."""
    mode = FACTORS["umask"][0].umask
    made = {e.path for e in x.effects if e.kind in ("created", "content")}
    tree = {p: replace(e, mode=e.mode & ~mode) if p in made and e.type != "symlink" else e for p, e in x.tree.items()}
    return replace(x, tree=Snapshot(tree))


def changed(normal: Mapping[str, str], under: Mapping[str, str], probe: str) -> bool:
    """Whether the job itself saw the factor change. A probe that reports nothing counts as no change."""
    return probe in under and under.get(probe) != normal.get(probe)


CHECK = DeterministicReplay()
