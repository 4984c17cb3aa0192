"""Verification: runs the checks in order, merges their verdicts, scores a full PASS. The one place that catches a check's own
crash."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path

import platformdirs

from sandbox import telemetry
from sandbox.interface import Sandbox, SandboxError
from verifiers.binding.cases import Bound, bind
from verifiers.binding.doubt import doubted, in_their_file
from verifiers.binding.fixed import fixed_names
from verifiers.capabilities import capabilities
from verifiers.catalog import DYNAMIC, STATIC, Check
from verifiers.context import Context, Judge
from verifiers.decisions import decided, digest_of
from verifiers.expectation.oracle import Replayed, replay
from verifiers.expectation.sessions import Memory, RememberingSession
from verifiers.interface import (
    AS_LISTED,
    MOST_QUESTIONS,
    Binding,
    Budget,
    CheckResult,
    Decision,
    Evidence,
    EvidenceSummary,
    Finding,
    ImportRules,
    NotChecked,
    Profile,
    Question,
    Report,
    SandboxSummary,
    Score,
    Subject,
    Verdict,
    merge,
)
from verifiers.reconstruction.reconstruct import rebuild
from verifiers.score import ScoreInputs, Trial, score
from verifiers.source.static import run_static
from verifiers.worlds.past import Past

NOT_REQUIRED = frozenset({"mutants-killed"})
"""May be missing without making the verdict INCONCLUSIVE (docs/semantics.md, "Results and merging")."""

TOOLS = ("skill-assay", "libcst", "ruff", "mypy", "hypothesis")


@dataclass(frozen=True, slots=True)
class Options:
    budget: Budget = "standard"
    seed: int | None = None
    """None = derived from the digest of the inputs and the salt."""
    salt: str = ""
    profile: Profile = "seed"
    checks: frozenset[str] | None = None
    """Only these; the report is then partial."""
    static_only: bool = False
    stop_early: bool = True
    """Stop after the first FAIL."""
    min_usable: int = 3
    unseen: frozenset[str] = frozenset()
    """task_ids that the author of the skill has not seen."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """task_id -> reason."""
    imports: ImportRules = AS_LISTED
    """What the configuration says of imports besides the list in the manual."""
    programs: frozenset[str] = frozenset()
    """Programs that skills may start besides the built-in list and what the recordings name."""
    workers: int | None = None
    torn_strict: bool = False
    forbid_outside: bool = False
    leave_one_out_failures: int = 0
    decisions: tuple[Decision, ...] = ()
    """Answers to earlier questions, in the order in which they were given."""
    database: Path | None = None
    """Directory of past counterexamples, which are tried first."""
    reproduce_with: tuple[str, ...] = ()
    """What commands that show a finding again must say besides the skill, quoted."""
    bindings_path: str = ""
    """Where the bindings were read from, as reports show it; "" where they are inferred or have no file."""
    memory: Memory | None = None
    """Replays of traces to share between verifications in one process."""
    progress: Callable[[str], None] | None = None
    """Called with the id of each check as it starts."""
    planned: Callable[[int], None] | None = None
    """Called with how many runs of the skill are to come, wherever a check has settled that."""
    look: Callable[[Context], None] | None = None
    """Called once with what the checks worked with, when they have ended."""

    @property
    def partial(self) -> bool:
        return self.static_only or self.checks is not None

    def wants(self, check_id: str) -> bool:
        return self.checks is None or check_id in self.checks


NOTHING_REPLAYED = Replayed(())


@dataclass
class _Run:
    """What one verification has found so far."""

    results: list[CheckResult] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    replayed: Replayed = NOTHING_REPLAYED
    bound: Bound = field(default_factory=Bound)
    context: Context | None = None
    sandbox_seconds: float = 0.0

    @property
    def failed(self) -> bool:
        return any(r.verdict is Verdict.FAIL for r in self.results)


def verify(
    subject: Subject,
    evidence: Sequence[Evidence],
    bindings: Mapping[str, Binding] | None = None,
    *,
    sandbox: Sandbox | None = None,
    options: Options = Options(),
    no_sandbox: str = "no sandbox was given",
) -> Report:
    """Judges one skill on its evidence.

    Args:
        bindings: None = inferred from the evidence.
        sandbox: None = the dynamic checks are not checked, for the reason ``no_sandbox``.

    Returns:
        A report. A bad skill, an unusable trace, a lost engine or a crashed check are all in it; nothing is raised for them.
    """
    _keep_the_directory_clean()
    with telemetry.span("verification", skill=subject.name, path=subject.path, sha256=subject.sha256) as span:
        report = _verified(subject, evidence, bindings, sandbox, options, no_sandbox)
        span.set_attribute("assay.verdict", report.verdict.name)
    return report


def _keep_the_directory_clean() -> None:
    """Hypothesis keeps what it read of modules below the working directory, unless it is told another place."""
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(platformdirs.user_cache_path("assay") / "hypothesis"))


def _verified(
    subject: Subject, evidence: Sequence[Evidence], bindings: Mapping[str, Binding] | None, sandbox: Sandbox | None,
    options: Options, no_sandbox: str,
) -> Report:  # fmt: skip
    began = time.monotonic()
    seed = derive_seed(subject, evidence, bindings, options) if options.seed is None else options.seed
    run = _Run()
    _static(run, subject, options)
    dynamic = [c for c in DYNAMIC if options.wants(c.id)]
    if not options.static_only and dynamic:
        _dynamic(run, dynamic, subject, _kept(evidence, options), bindings, sandbox, options, seed, no_sandbox)
    able = _capabilities(run)
    verdict = _verdict(run)
    scored = _score(run, options) if verdict is Verdict.PASS and not options.partial else None
    return Report(
        name=subject.name, path=subject.path, sha256=subject.sha256, verdict=verdict, score=scored,
        checks=tuple(run.results), not_checked=tuple(run.not_checked), evidence=_summary(run, evidence),
        bindings={t: dict(b.args) for t, b in sorted(run.bound.bindings.items())},
        sandbox=_sandbox_summary(run, sandbox), tools=tool_versions(), seed=seed, seconds=round(time.monotonic() - began, 3),
        partial=options.partial, budget=options.budget, profile=options.profile,
        capabilities=able, excluded=dict(sorted(options.excluded.items())),
        inferred=tuple(sorted(t for t, b in run.bound.bindings.items() if b.inferred)),
        questions=_questions(run, subject, options), decisions=tuple(decided(d) for d in options.decisions),
    )  # fmt: skip


def _questions(run: _Run, subject: Subject, options: Options) -> tuple[Question, ...]:
    """The most harmful ones, each with the command that answers it: the case is named too, for numbers change with answers."""
    asked = sorted((q for r in run.results for q in r.questions), key=lambda q: -q.harm)[:MOST_QUESTIONS]
    more = "".join(f" {option}" for option in options.reproduce_with)
    skill = shlex.quote(subject.place)
    return tuple(replace(q, answer=f"assay answer {skill} {n} --case {q.case.digest[:12]}{more}") for n, q in enumerate(asked, 1))


def derive_seed(subject: Subject, evidence: Sequence[Evidence], bindings: Mapping[str, Binding] | None, options: Options) -> int:
    """A seed from the digest of everything judged, so that the same inputs give the same report
    (docs/semantics.md, "The same verdict again")."""
    bound = sorted((t, sorted(b.args.items())) for t, b in (bindings or {}).items())
    doc = [subject.sha256, sorted(e.digest for e in evidence), repr(bound), options.profile, options.budget, options.salt]
    if options.imports:
        doc.append(["imports", str(options.imports)])
    if options.programs:
        doc.append(["programs", *sorted(options.programs)])
    if options.decisions:
        doc.append([digest_of(d) for d in options.decisions])
    return int.from_bytes(hashlib.sha256(json.dumps(doc).encode("utf-8", "surrogatepass")).digest()[:4], "big")


def tool_versions() -> dict[str, str]:
    """Versions of what the verdict depends on."""
    out = {}
    for name in TOOLS:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            out[name] = "not installed"
    return out


def _kept(evidence: Sequence[Evidence], options: Options) -> list[Evidence]:
    return [e for e in evidence if e.task_id not in options.excluded]


def _static(run: _Run, subject: Subject, options: Options) -> None:
    if not any(options.wants(c.id) for c in STATIC):
        return
    if options.progress:
        options.progress("static checks")
    with telemetry.span("check", id="static"):
        run.results += [r for r in run_static([subject], imports=options.imports)[0] if options.wants(r.id)]


def _dynamic(
    run: _Run, checks: Sequence[Check], subject: Subject, evidence: Sequence[Evidence], bindings: Mapping[str, Binding] | None,
    sandbox: Sandbox | None, options: Options, seed: int, no_sandbox: str,
) -> None:  # fmt: skip
    waiting = [c.id for c in checks]
    decided = run.failed and options.stop_early
    why = "a static check failed" if decided else ""
    why = why or ("" if sandbox is not None else no_sandbox)
    why = why or ("" if evidence else "there is no evidence: record some with `assay record`")
    if why or sandbox is None:
        run.not_checked += [NotChecked(i, why, decided) for i in waiting]
        return
    memory: Memory = options.memory if options.memory is not None else {}
    began = time.monotonic()
    try:
        with (
            sandbox.session(f"skill {subject.name}", options.workers) as skill,
            RememberingSession(sandbox, "traces", memory) as traces,
        ):
            if options.progress:
                options.progress("replaying the evidence")
            kept, lost = _rebuilt(evidence, traces)
            run.replayed = replay(kept, traces, lost)
            run.bound = in_their_file(bind(subject, run.replayed, bindings, skill), options.bindings_path)
            if options.wants("bindings") or run.bound.result.verdict is not Verdict.PASS:
                run.results.append(run.bound.result)
            run.context = Context(
                subject, run.replayed, run.bound.cases, skill, traces, sandbox.info, options.budget, seed,
                Judge(run.replayed.read_only, None), options.min_usable, options.torn_strict, options.forbid_outside,
                options.programs,
                options.reproduce_with,
                Past(options.database, subject.name) if options.database is not None else None,
                options.decisions,
                planned=options.planned,
            )  # fmt: skip
            _run_checks(run, checks, run.context, options, waiting)
            if options.bindings_path:
                run.results = doubted(run.results, run.replayed, subject, skill, options.bindings_path)
            if options.look:
                options.look(run.context)
    except SandboxError as error:
        run.not_checked += [NotChecked(i, error.diagnostics()) for i in waiting]
    run.sandbox_seconds = time.monotonic() - began


def _rebuilt(evidence: Sequence[Evidence], traces: RememberingSession) -> tuple[list[Evidence], dict[str, str]]:
    """The evidence with missing bases reconstructed, and why some could not be."""
    kept, lost = [], {}
    for e in evidence:
        found = rebuild(e, traces) if e.base is None and e.success else e
        if isinstance(found, str):
            lost[e.task_id] = f"the recording has no workspace, and none could be reconstructed: {found}"
        else:
            kept.append(found)
    return kept, lost


def _run_checks(run: _Run, checks: Sequence[Check], context: Context, options: Options, waiting: list[str]) -> None:
    """Runs the checks; ``waiting`` loses each id as its result is in, so that the caller knows what was not checked."""
    queue = list(checks)
    while queue:
        check = queue.pop(_next(queue, context) if options.stop_early else 0)
        if run.failed and options.stop_early:
            run.not_checked += [NotChecked(i, "stopped after the first FAIL (--all goes on)", True) for i in waiting]
            waiting.clear()
            return
        if not context.cases and check.id != "evidence-reproduces":
            run.not_checked.append(NotChecked(check.id, "no usable trace with a binding"))
            waiting.remove(check.id)
            continue
        if options.progress:
            options.progress(check.id)
        began = time.monotonic()
        with telemetry.span("check", id=check.id) as span:
            result = _guarded(check, context)
            span.set_attribute("assay.verdict", result.verdict.name if result.verdict is not None else "NOT_APPLICABLE")
            span.set_attribute("assay.runs", result.runs)
        run.results.append(replace(result, seconds=round(time.monotonic() - began, 3)))
        waiting.remove(check.id)


def _next(queue: Sequence[Check], context: Context) -> int:
    """Index of the check to run now: the next one, or ``contained`` as soon as some run has broken out."""
    watch = [i for i, c in enumerate(queue) if c.id == "contained"]
    return watch[0] if watch and context.broke_out() else 0


def _guarded(check: Check, context: Context) -> CheckResult:
    try:
        return check.run(context)
    except SandboxError:
        raise
    except Exception as error:  # noqa: BLE001  # a crashed check is never a pass, and never takes the report down with it
        why = f"the check itself crashed ({type(error).__name__}: {error})"
        return CheckResult.inconclusive(check.id, why, [Finding(why)])


def _capabilities(run: _Run) -> tuple[str, ...]:
    """What the skill was seen to do; where that cannot be told, the report is inconclusive."""
    try:
        return capabilities(run.context) if run.context else ()
    except Exception as error:  # noqa: BLE001  # what a guest left behind must not end the judging of others
        why = f"what it does cannot be told ({type(error).__name__}: {error})"
        run.results.append(CheckResult.inconclusive("capabilities", why, [Finding(why)]))
        return ()


def _verdict(run: _Run) -> Verdict:
    verdicts = [
        r.verdict for r in run.results if r.verdict is not None and (r.id not in NOT_REQUIRED or r.verdict is Verdict.FAIL)
    ]
    missing = [n for n in run.not_checked if n.id not in NOT_REQUIRED]
    return merge([*verdicts, *([Verdict.INCONCLUSIVE] if missing else [])])


def _score(run: _Run, options: Options) -> Score | None:
    context = run.context
    if context is None:
        return None
    measured = {r.id: r.measured for r in run.results}
    blind = measured.get("controls-fail", {}).get("not_discriminating", [])
    adequacy = measured.get("mutants-killed", {}).get("adequacy")
    generated = measured.get("generalises", {}).get("judged_nonempty", 0)
    crash = measured.get("crash-convergent", {})
    seen: set[str] = set()
    trials = []
    for case in context.cases:
        if case.distinct in seen or (isinstance(blind, list) and case.label in blind):
            continue
        seen.add(case.distinct)
        trials.append(Trial(case.task_id, case.task_id in options.unseen, _taken_on_trust(case.evidence)))
    inputs = ScoreInputs(
        tuple(trials), generated=generated if isinstance(generated, int) else 0,
        adequacy=float(adequacy) if isinstance(adequacy, int | float) else None,
        torn=bool(crash.get("torn")), residue=bool(crash.get("residue")), failures=options.leave_one_out_failures,
        fixed=fixed_names(context.subject.source, [(c.evidence, c.args) for c in context.cases if c.evidence is not None]),
    )  # fmt: skip
    return score(inputs)


def _taken_on_trust(evidence: Evidence | None) -> bool:
    """Whether nothing of a trace was borne out: its start is a guess, or it has no steps that could be run again."""
    return evidence is not None and (evidence.reconstructed or not (evidence.commands or evidence.edits))


def _summary(run: _Run, evidence: Sequence[Evidence]) -> EvidenceSummary:
    digest = hashlib.sha256("\n".join(sorted(e.digest for e in evidence)).encode()).hexdigest()
    volatile = {
        u.task_id: tuple(sorted(f"{p} ({k})" for p, k in u.expectation.volatile))
        for u in run.replayed.usable
        if u.expectation.volatile
    }
    reconstructed = sum(u.evidence.reconstructed for u in run.replayed.usable)
    return EvidenceSummary(
        digest, len(evidence), len(run.replayed.usable), reconstructed, dict(sorted(run.replayed.unusable.items())), volatile
    )


def _sandbox_summary(run: _Run, sandbox: Sandbox | None) -> SandboxSummary | None:
    if sandbox is None or run.context is None:
        return None
    info = sandbox.info
    runs = len(run.context.ran) + sum(r.runs for r in run.results if r.id == "evidence-reproduces")
    return SandboxSummary(info.runtime, info.image, info.inventory, runs, round(run.sandbox_seconds, 3))
