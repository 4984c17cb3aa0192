"""Inferred bindings, confirmed by behaviour: names, types and descriptions propose, a run on the evidence may only confirm
(docs/semantics.md, "Bindings")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sandbox.interface import Limits, ReplayRecord, RunRequest, Session, SkillJob
from verifiers.binding.aligned import aligned
from verifiers.binding.inference import Guess, infer_bindings
from verifiers.context import Judge, Wrong
from verifiers.expectation.answers import answer_path
from verifiers.expectation.oracle import Replayed, Usable
from verifiers.interface import Args, Binding, Evidence, Finding, Subject

CONFIRM_LIMITS = Limits(wall_s=5.0)


def infer(
    subject: Subject, replayed: Replayed, skill: Session, known: Mapping[str, Args] | None = None
) -> tuple[Mapping[str, Binding], list[Finding]]:
    """Bindings for the usable traces, and what is to be said about them.

    Args:
        known: Arguments that some of the traces are known to have. Where nothing that the names say fits, the others are read
            where the known ones have theirs.

    Returns:
        The best supported guess that reproduces every trace, else the best supported one at all (it then fails by its
        effects). Where only an
        unsupported guess fits (two parameters swapped, say) there are no bindings, and a finding says so.
    """
    usable = replayed.usable
    if not usable:
        return {}, []
    if not any(p.required for p in subject.parameters):
        return {u.task_id: Binding(u.task_id, {}, inferred=True) for u in usable}, []
    traces = [u.evidence for u in usable]
    guesses = list(infer_bindings(subject, traces))
    fitting = _fitting(subject, replayed, usable, guesses, skill) if guesses else []
    if not fitting and known and (read := _fitting(subject, replayed, usable, _as_known(known, traces), skill)):
        return read[0].bindings, [Finding(f"bindings inferred: {read[0].why}", subject.path, severity="info")]
    if not guesses:
        text = "no values for the required parameters could be inferred from the evidence: give them in bindings.json"
        return {}, [Finding(text, subject.path)]
    supported = [g for g in fitting if g.supported]
    chosen = supported[0] if supported else next((g for g in guesses if g.supported), None)
    if fitting and not supported:
        text = f"the effects fit only if the arguments are given in another way than their names say ({fitting[0].why})"
        return {}, [Finding(text, subject.path, rule="bindings-swapped")]
    if chosen is None:
        return {}, [Finding("no well supported values could be inferred: give them in bindings.json", subject.path)]
    return chosen.bindings, [Finding(f"bindings inferred: {chosen.why}", subject.path, severity="info")]


def fitting(subject: Subject, replayed: Replayed, skill: Session) -> Mapping[str, Binding]:
    """Bindings that the recordings support and under which the skill does what every one of them did; none where none are."""
    usable = replayed.usable
    guesses = [g for g in infer_bindings(subject, [u.evidence for u in usable]) if g.supported]
    found = _fitting(subject, replayed, usable, guesses, skill) if guesses else []
    return found[0].bindings if found else {}


def reproducing(subject: Subject, replayed: Replayed, skill: Session, proposed: Iterable[Args]) -> Args | None:
    """The first of these arguments under which the skill does what the one trace did."""
    if not replayed.usable:
        return None
    task_id = replayed.usable[0].task_id
    guesses = [Guess({task_id: Binding(task_id, args, inferred=True)}, True, "by trial", 0.0) for args in proposed]
    fitting = _fitting(subject, replayed, replayed.usable[:1], guesses, skill)
    return fitting[0].bindings[task_id].args if fitting else None


def _as_known(known: Mapping[str, Args], traces: Sequence[Evidence]) -> list[Guess]:
    args = aligned(known, traces)
    if args is None:
        return []
    bindings = {task_id: Binding(task_id, own, inferred=task_id not in known) for task_id, own in args.items()}
    return [Guess(bindings, True, "where the bound traces have them", 0.0)]


def _fitting(
    subject: Subject, replayed: Replayed, usable: Sequence[Usable], guesses: Sequence[Guess], skill: Session
) -> list[Guess]:
    """The guesses under which the skill does what every trace did, in order."""
    alive = list(guesses)
    for u in usable:
        ran = outcomes(subject, replayed, u, [g.bindings[u.task_id].args for g in alive], skill)
        alive = [g for g, (_, wrong) in zip(alive, ran, strict=True) if wrong is None]
        if not alive:
            break
    return alive


def outcomes(
    subject: Subject, replayed: Replayed, usable: Usable, proposed: Sequence[Args], skill: Session
) -> list[tuple[ReplayRecord, Wrong | None]]:
    """What the skill does on a trace's start with each of these arguments, and where that is not what the trace did."""
    records = skill.map(
        RunRequest(
            SkillJob(subject.source, dict(args), function=subject.function or None),
            usable.expectation.base,
            limits=CONFIRM_LIMITS,
        )
        for args in proposed
    )
    judges = (Judge(replayed.read_only, answer_path(getattr(r.outcome, "value", None))) for r in records)
    return [(r, judge.wrong(r, usable.expectation)) for r, judge in zip(records, judges, strict=True)]
