"""How much does this evidence pin down?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import JsonValue, ReplayRecord, RunRequest, SkillJob
from verifiers.checks._examples import rename
from verifiers.checks.arguments_matter import differs
from verifiers.checks.idempotent_replay import second_effect
from verifiers.context import Case, Context
from verifiers.expectation.answers import failure
from verifiers.interface import CheckResult, Finding, Verdict
from verifiers.mutation.mutants import Mutant, mutants

MAX_GENERATED = 8


class MutantsKilled:
    id = "mutants-killed"
    title = "How much does this evidence pin down?"
    why = (
        "Small changes are made to the skill (conditions, constants, dropped parameters and statements, swallowed "
        "errors), and each mutant goes through the same judged runs. Of those that differ from the skill in any run made,"
        " the share that a judged run refuses is the adequacy of the evidence; it discounts the score. Survivors are what"
        " your evidence does not pin down, and so are mutants that behaved the same in every run (these may be equivalent, "
        "and are not in the share). Never required: adequacy is a measure, not a rule."
    )
    stage = "dynamic"
    version = 2
    good = (rename("most mutants are refused"),)
    bad = ()  # a measure, not a rule: nothing is refused

    def run(self, context: Context) -> CheckResult:
        context.prime()
        made = mutants(
            context.subject.source,
            literals=[dict(c.args) for c in context.cases],
            limit=context.counts.mutants,
            seed=context.number("mutants"),
        )
        if not made:
            return CheckResult.not_applicable(self.id, "nothing in the skill can be mutated")
        judged = self._judged(context)
        killed: list[Mutant] = []
        alive, unlike = list(made), set[str]()
        second: list[tuple[Mutant, Case, ReplayRecord]] = []
        runs = 0
        for case, own in judged:
            records = context.skill.map(self._request(context, m, case) for m in alive)
            runs += len(records)
            for m, record in zip(list(alive), records, strict=True):
                if context.judge.wrong(record, case.expectation) is not None:
                    killed.append(m)
                    alive.remove(m)
                    continue
                if differs(own, record):
                    unlike.add(m.id)
                if case in context.cases and failure(record.outcome) is None:
                    second.append((m, case, record))
        runs += self._second_runs(context, [t for t in second if t[0] in alive], killed, alive)
        return self._result(context, killed, [m for m in alive if m.id in unlike], [m for m in alive if m.id not in unlike], runs)

    def _judged(self, context: Context) -> list[tuple[Case, ReplayRecord]]:
        recorded = [(c, context.first[c.label]) for c in context.cases]
        return [*recorded, *((g.case, g.record) for g in context.generated[:MAX_GENERATED])]

    def _request(self, context: Context, mutant: Mutant, case: Case) -> RunRequest:
        request = context.request(case.base, case.args)
        return replace(
            request,
            job=SkillJob(mutant.source, dict(case.args), function=context.subject.function or None),
            limits=replace(request.limits, wall_s=3.0),
        )

    def _second_runs(
        self, context: Context, second: list[tuple[Mutant, Case, ReplayRecord]], killed: list[Mutant], alive: list[Mutant]
    ) -> int:
        """Mutants that the first runs let through run again on their own results."""
        records = context.skill.map(replace(self._request(context, m, c), base=r.post) for m, c, r in second)
        for (m, c, r), record in zip(second, records, strict=True):
            if m in alive and second_effect(context, c, r.post, record) is not None:
                killed.append(m)
                alive.remove(m)
        return len(records)

    def _result(
        self, context: Context, killed: list[Mutant], survivors: list[Mutant], same: list[Mutant], runs: int
    ) -> CheckResult:
        distinguished = len(killed) + len(survivors)
        measured: dict[str, JsonValue] = {
            "mutants": distinguished + len(same),
            "killed": len(killed),
            "survived": len(survivors),
            "never_distinguished": len(same),
            "survivors": _rows(survivors),
            "same": _rows(same),
        }
        if not distinguished:
            return CheckResult(
                self.id, Verdict.INCONCLUSIVE, (), "no mutant behaved differently in any run", runs, measured=measured
            )
        measured["adequacy"] = round(len(killed) / distinguished, 6)
        notes = [
            Finding(
                f"your evidence does not pin this down: {m.description}",
                context.subject.path,
                m.line,
                severity="info",
                rule=m.operator,
            )
            for m in survivors
        ]
        if same:
            lines = ", ".join(map(str, sorted({m.line for m in same})))
            text = f"your evidence does not pin this down: {len(same)} changes behaved the same in every run (lines {lines})"
            notes.append(Finding(text, context.subject.path, min(m.line for m in same), severity="info", rule="same"))
        return CheckResult(self.id, Verdict.PASS, tuple(notes), runs=runs, measured=measured)


def _rows(mutants: Sequence[Mutant]) -> list[JsonValue]:
    return [{"line": m.line, "operator": m.operator, "description": m.description} for m in mutants]


CHECK = MutantsKilled()
