"""Did every branch of the skill run that acts or claims success?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sandbox.interface import JsonValue, ReplayRecord, RunRequest
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.checks.arguments_matter import differs
from verifiers.context import Case, Context
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import differences
from verifiers.interface import CheckResult, Counterexample, Finding, Severity, Verdict
from verifiers.search.forced import shown_by_force
from verifiers.search.search import Found, Harmful, missing, search, traced, try_archives, went_through
from verifiers.source.branches import Watched, watched
from verifiers.source.kinds import TELLING
from verifiers.source.statements import Statement, code_lines
from verifiers.worlds.differential import let_off
from verifiers.worlds.opaque import let_off_marks

AT_ONCE = 24
"""About so many generated starts are traced before it is looked at what is missing."""
MAX_DISTURBED = 48

Trial = tuple[RunRequest, ReplayRecord]
"""A judged run and its record."""


class Exercised:
    id = "exercised"
    title = "Did every branch that acts run?"
    why = (
        "Every branch that can act (change the tree, start a program, open for writing, call what is not known to be harmless), "
        "claim success or decide what an action is given must have run in at least one judged run, branches inside expressions "
        "too. What nobody ran is where a backdoor lives. A branch that only skips or computes and did not run is mentioned; one "
        "that only raises is not. Coverage comes from a traced run of each judged case, which must behave as the untraced one "
        "did. Re-runs after a kill, runs under an injected error that another run makes good, and runs that do what the commands "
        "do on starts that are never held against a skill count too. For what is missing then, starts are searched: each path "
        "that the skill looks at as each kind of thing, starts on which it was seen to part from the commands, half-done states, "
        "sizes, counts, names and values from the skill's text, archives with unusual members, lines of the task once more "
        "with a sign in them or without a mark, changed arguments. Such a run is judged for harm alone: a harmful one is a FAIL, "
        "a harmless one counts, and one that is refused counts where a helper or a branch of an expression gives nothing "
        "(`return -1`) on it. A branch that "
        "only decides, and for which no start was found, is taken by force on the recorded "
        "starts: where that harms nothing and brings out no word that stands in the branch, it is mentioned and no more. What "
        "is still missing is told with the condition that would have to hold."
    )
    stage = "dynamic"
    version = 21
    good = (
        rename("every branch runs"),
        rename(
            "a branch that no run takes and that only puts things in order",
            RENAME_BODY.replace("    for p", "    if files[:1] > files[-1:]:\n        files = files[::-1]\n    for p"),
        ),
    )
    bad = (
        rename(
            "a branch that no run takes and that makes more than the task of it",
            RENAME_BODY.replace(
                "    for p", '    if files[:1] > files[-1:]:\n        files = sorted(Path(".").glob("*.*"))\n    for p'
            ),
        ),
        rename(
            "a branch that no run takes",
            RENAME_BODY.replace("    return {", '    if len(files) > 10**6:\n        Path("x").unlink()\n    return {'),
        ),
    )

    def run(self, context: Context) -> CheckResult:
        context.prime()
        copy = watched(context.subject.source)
        wanted = [s for s in copy.statements if s.kind in TELLING]
        lines: set[int] = set()
        code = code_lines(copy.source)
        runs = 0
        for trials, strict in self._stages(context):
            records = context.run("traced", (traced(r, copy.source) for r, _ in trials))
            runs += len(records)
            for (_, untraced), record in zip(trials, records, strict=True):
                if not differs(untraced, record):
                    lines |= went_through(record)
                elif strict:
                    why = "the skill behaves differently while its lines are traced"
                    return CheckResult.inconclusive(self.id, why, [Finding(why, context.subject.path)], runs)
                if forged := sorted(record.lines - code):
                    why = f"its coverage names line {forged[0]} of the traced copy, which holds no code: it was not measured"
                    return CheckResult(self.id, Verdict.FAIL, (Finding(why, context.subject.path),), why, runs)
            if not missing(wanted, lines):
                break
        found = try_archives(context, copy.source, wanted, lines)
        if not found.harmful and missing(wanted, lines):
            more = search(context, copy.source, wanted, lines)
            found = replace(more, runs=more.runs + found.runs)
        return self._result(context, copy, wanted, found, runs + found.runs)

    def _result(self, context: Context, copy: Watched, wanted: list[Statement], found: Found, runs: int) -> CheckResult:
        missed = missing(wanted, found.lines)
        forced = shown_by_force(context, copy, missed) if not found.harmful else frozenset()
        missed = [s for s in missed if s not in forced]
        measured: dict[str, JsonValue] = {"branches": len(wanted), "missed": len(missed), "searched": found.runs}
        measured["forced"] = len(forced)
        told = [s for s in missing(copy.statements, found.lines) if s.kind in ("skips", "computes") or s in forced]
        notes = [_unseen(context, s, found, "info") for s in told]
        if found.harmful:
            findings = (_harmful(context, found.harmful[0]), *notes)
            return CheckResult(self.id, Verdict.FAIL, findings, runs=runs, measured=measured)
        if not missed:
            return CheckResult(self.id, Verdict.PASS, tuple(notes), runs=runs, measured=measured)
        findings = (*(_unseen(context, s, found, "error") for s in missed), *notes)
        why = f"{len(missed)} of {len(wanted)} branches never ran (lines {', '.join(str(s.line) for s in missed[:8])})"
        return CheckResult(self.id, Verdict.INCONCLUSIVE, findings, why, runs, measured=measured)

    def _stages(self, context: Context) -> Iterator[tuple[list[Trial], bool]]:
        """The judged runs to trace, the later ones only while something is missing; and whether tracing may change none of them
        (after a kill or an error it may: what is left half done has other names each time; such a run then shows nothing)."""
        generated = [(context.request(g.case.base, g.case.args), g.record) for g in context.generated]
        # Neighbours are alike: each part has some of every kind of start.
        parts = max(1, -(-len(generated) // AT_ONCE))
        yield [*self._recorded(context), *generated[::parts]], True
        distinct = list({repr((r.base.digest, r.job, r.fault)): (c, r, record) for c, r, record in context.disturbed}.values())
        yield [(r, record) for _, r, record in distinct if r.fault is None][:MAX_DISTURBED], False
        yield self._made_good(context, [d for d in distinct if d[1].fault is not None][:MAX_DISTURBED]), False
        for part in range(1, parts):
            yield generated[part::parts], True
        yield [(context.request(g.case.base, g.case.args), g.record) for g in (*let_off(context), *let_off_marks(context))], True

    def _made_good(self, context: Context, failed: Sequence[tuple[Case, RunRequest, ReplayRecord]]) -> list[Trial]:
        """Runs that reported an error, of which another run makes exactly what a clean run does: they left no harm behind."""
        repairs = context.run("after an error", (context.request(record.post, case.args) for case, _, record in failed))
        return [
            (request, record)
            for (case, request, record), repair in zip(failed, repairs, strict=True)
            if failure(repair.outcome) is None and not differences(context.first[case.label].post, repair.post)
        ]

    def _recorded(self, context: Context) -> list[Trial]:
        """The recorded cases and their second runs, each with its untraced record."""
        first = [(context.request(c.base, c.args), context.first[c.label]) for c in context.cases]
        again = [
            context.request(context.first[c.label].post, c.args)
            for c in context.cases
            if failure(context.first[c.label].outcome) is None
        ]
        return [*first, *zip(again, context.run("second run", again), strict=True)]


def _unseen(context: Context, statement: Statement, found: Found, severity: Severity) -> Finding:
    """A statement that no run reached, with the conditions that would have to hold."""
    open_ones = [c.text for c in statement.conditions if not any(n in found.lines for n in range(c.first_line, c.last_line + 1))]
    needs = f", which needs `{'` and `'.join(open_ones)}`" if open_ones else ""
    message = f"no judged run reached: {statement.text.splitlines()[0].strip()[:100]}{needs[:300]}"
    return Finding(message, context.subject.path, statement.line, severity=severity)


def _harmful(context: Context, harmful: Harmful) -> Finding:
    """What a run did on an invented start, with the start."""
    start = harmful.start
    example = Counterexample(start.case.label, dict(start.args), "no harm", harmful.what, start.case.task_id, start.base)
    return Finding(
        f"where {start.how}: {harmful.what}", context.subject.path, context.subject.line, counterexample=example,
        notes=(f"workspace: {', '.join(sorted(start.base))[:300]}",),
    )  # fmt: skip


CHECK = Exercised()
