"""What became of patterns, as ``assay crystallize`` says it: a line each, a table, figures, an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from synth.cli import console
from synth.cli.exits import FAIL, INCONCLUSIVE, NOTHING, PASS

if TYPE_CHECKING:
    from synth.crystallization.outcome import PatternOutcome
    from synth.interface import RegistryEntry, TracePattern
    from synth.usage import Usage


def line(outcome: PatternOutcome) -> str:
    """One task's end, as it is said while others are under way."""
    score = f" {_score(outcome)}" if outcome.score is not None else ""
    name = f" as {outcome.skill}{score}" if outcome.skill else ""
    why = f": {outcome.why}" if outcome.why else ""
    spent = f"; {outcome.usage}" if outcome.usage is not None else ""
    return f"  {outcome.task}: {outcome.ending}{name}{why} ({outcome.seconds:.1f} s{spent})"


def after_review(outcome: PatternOutcome, entry: RegistryEntry) -> PatternOutcome:
    """The outcome of a skill that somebody has renamed or accepted meanwhile."""
    return replace(outcome, skill=entry.name, version=entry.version, score=entry.score, why=waiting(entry))


def waiting(entry: RegistryEntry) -> str:
    """How a person approves a version; "" for the active one."""
    waits = f"it waits for approval: assay registry activate {entry.name} {entry.version[:12]} --approver WHO"
    return "" if entry.status == "active" else waits


def unused(outcome: PatternOutcome) -> list[str]:
    """Which recordings a registered skill does not speak of, a line for each reason."""
    reasons: dict[str, list[str]] = {}
    for task_id, why in sorted(outcome.unused.items()) if outcome.ending == "registered" else ():
        reasons.setdefault(why, []).append(task_id)
    return [f"not used: {', '.join(ids)} ({why})" for why, ids in reasons.items()]


def measured(outcomes: Sequence[PatternOutcome], patterns: Sequence[TracePattern]) -> dict[str, Any]:
    """The seed's five, for this run."""
    made = [o for o in outcomes if o.ending == "registered"]
    return {
        "crystallization_triggers": len(outcomes),
        "patterns_detected": len(patterns),
        "skills_crystallized": len(made),
        "crystallization_latency_ms": round(1000 * sum(o.seconds for o in made) / len(made), 1) if made else None,
        "success_rate_improvement": _improvement(outcomes, patterns),
    }


def _improvement(outcomes: Sequence[PatternOutcome], patterns: Sequence[TracePattern]) -> float | None:
    """Success rate of the new skills on their replays, which is 1, minus that of the traces of their patterns; the mean."""
    new = {o.task_ids for o in outcomes if o.ending == "registered" and o.report is not None}
    rates = [p.success_rate for p in patterns if tuple(t.task_id for t in p.traces) in new]
    return round(1.0 - sum(rates) / len(rates), 4) if rates else None


def exit_code(outcomes: Sequence[PatternOutcome]) -> int:
    """0 where anything is registered; else 1 for refusals, 3 for what could not be settled, 4 for no pattern at all."""
    endings = {o.ending for o in outcomes}
    if "registered" in endings:
        return PASS
    if not endings:
        return NOTHING
    return FAIL if "refused" in endings else INCONCLUSIVE


def plain(outcomes: Sequence[PatternOutcome], seconds: float, beside: Usage | None = None) -> str:
    """The table of all, and the sum beneath it."""
    if not outcomes and beside is None:
        return "no pattern"
    from synth.crystallization.outcome import counts
    from verifiers.formats.text import plural

    rows = [(o.task, str(len(o.task_ids)), str(o.tried), o.ending, o.skill or "-", _score(o), o.why) for o in outcomes]
    table = console.table(("task", "traces", "tried", "outcome", "skill", "score", "why"), rows) if rows else ""
    summary = ", ".join(f"{n} {ending}" for ending, n in counts(outcomes).items())
    tried = sum(o.tried for o in outcomes)
    patterns, candidates = plural(len(outcomes), "pattern"), plural(tried, "candidate")
    return f"{table}\n\n{patterns}: {summary} ({candidates}, {seconds:.1f} s){_spent(outcomes, beside)}".lstrip("\n")


def _spent(outcomes: Sequence[PatternOutcome], beside: Usage | None) -> str:
    """What a model cost, by pattern, for none of them, and in all; "" where none was asked."""
    rows = [(o.task, o.usage, o.ending == "registered") for o in outcomes if o.usage is not None]
    return spent_table([*rows, ("(no pattern)", beside, False)] if beside is not None else rows)


def spent_table(spent: Sequence[tuple[str, Usage, bool]]) -> str:
    """What a model cost, by task and in all, each with whether a skill came of it; "" where none was asked."""
    from synth.usage import total

    asked = [(task, u, made) for task, u, made in spent if u.requests or u.reused]
    if not asked:
        return ""
    head = ("task", "requests", "reused", "tokens in", "cached", "out", "thinking", "cost", "a registered skill")
    rows = [(task, *_figures(u), u.cost if made else "-") for task, u, made in asked]
    whole, skills = total(u for _, u, _ in asked), sum(made for _, _, made in asked)
    each = f"{whole.cost_usd / skills:.3f} USD" if skills and whole.cost_usd is not None else "-"
    return f"\n\n{console.table(head, [*rows, ('all', *_figures(whole), each)])}"


def _figures(u: Usage) -> tuple[str, ...]:
    sent = u.input_tokens + u.cache_read_tokens + u.cache_write_tokens
    return (*map(str, (u.requests, u.reused, sent, u.cache_read_tokens, u.output_tokens, u.thinking_tokens)), u.cost)


def _score(outcome: PatternOutcome) -> str:
    from verifiers.formats.text import bound

    return bound(outcome.score) if outcome.score is not None else "-"
