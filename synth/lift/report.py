"""What was measured, as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from synth.lift.intervals import Interval, paired_means, paired_shares, wilson
from synth.lift.measuring import Lift, Pair
from synth.lift.trial import Run
from verifiers.formats.text import plural

SCHEMA = "assay-lift/1"
MEASURES: Mapping[str, Callable[[Run], float | None]] = {
    "turns": lambda r: float(r.spent.turns) if r.spent is not None else None,
    "tokens": lambda r: float(r.spent.tokens) if r.spent is not None else None,
    "seconds": lambda r: r.seconds,
    "USD": lambda r: r.spent.usd if r.spent is not None else None,
}
MAX_WHY = 160
"""Characters of a reason in the text; the JSON has all."""
METHODS = "95 %: shares after Wilson, their paired difference after Bonett and Price, paired means after Student"


def to_json(lift: Lift, client_version: str, not_run: Mapping[str, str]) -> dict[str, Any]:
    """The whole of it."""
    client = lift.settings.client
    return {
        "schema": SCHEMA,
        "agent": client.name,
        "client_version": client_version,
        "model": lift.settings.model,
        "skills": [{"name": s.entry.name, "version": s.entry.version} for s in lift.skills],
        "tasks": [
            {"task_id": p.task.task_id, "request": p.task.request, "without": _run(p.without), "with": _run(p.skilled)}
            for p in lift.pairs
        ],
        "not_run": [{"task_id": task_id, "why": why} for task_id, why in not_run.items()],
        "stopped": lift.stopped or None,
        "reached": _reached(lift.pairs),
        **{name: _measured(lift.pairs, name) for name in MEASURES},
        "methods": METHODS,
    }


def _run(run: Run) -> dict[str, Any]:
    spent = asdict(run.spent) if run.spent is not None else dict.fromkeys(("turns", "usd"))
    kept = {k: v for k, v in spent.items() if k not in ("said", "failed")}
    return {"reached": run.reached, "why": run.why or None, "seconds": round(run.seconds, 3), **kept}


def _reached(pairs: Sequence[Pair]) -> dict[str, Any]:
    n = len(pairs)
    counts = {"without": sum(p.without.reached for p in pairs), "with": sum(p.skilled.reached for p in pairs)}
    shares = {way: {"k": k, "n": n, "interval": list(wilson(k, n))} for way, k in counts.items()}
    return {**shares, "difference": asdict(paired_shares([(p.without.reached, p.skilled.reached) for p in pairs]))}


def _measured(pairs: Sequence[Pair], name: str) -> dict[str, Any] | None:
    """Means over the pairs of which both sides are known, and the mean difference; None where there is no such pair."""
    of = MEASURES[name]
    both = [(a, b) for p in pairs if (a := of(p.without)) is not None and (b := of(p.skilled)) is not None]
    if not both:
        return None
    before, after = (math.fsum(column) / len(both) for column in zip(*both, strict=True))
    found = paired_means([b - a for a, b in both])
    return {"pairs": len(both), "without": before, "with": after, "difference": asdict(found) if found is not None else None}


def plain(lift: Lift, client_version: str, not_run: Mapping[str, str]) -> str:
    """For people."""
    client, count = lift.settings.client, len(lift.pairs)
    model = f", {lift.settings.model}" if lift.settings.model else ""
    counts = f"{plural(count, 'held-out recording')}, {plural(len(lift.skills), 'skill')}"
    head = f"{client.name} ({client_version or 'version unknown'}{model}): {counts}"
    rows = [("", "without", "with the skills")]
    rows += [(p.task.task_id, _short(p.without), _short(p.skilled)) for p in lift.pairs]
    table = [("", "without", "with", "difference"), _reached_row(lift.pairs)]
    table += [row for name in MEASURES if (row := _row(lift.pairs, name)) is not None]
    why = [f"{p.task.task_id} {way}: {_clipped(r.why)}" for p in lift.pairs for way, r in _ways(p) if r.why]
    left = [f"{task_id} was not run: {text}" for task_id, text in not_run.items()]
    parts = [[head], _columns(rows), _columns(table), why, left, [lift.stopped] if lift.stopped else [], [METHODS]]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_WHY else f"{text[: MAX_WHY - 1]}…"


def _ways(pair: Pair) -> tuple[tuple[str, Run], tuple[str, Run]]:
    return ("without", pair.without), ("with", pair.skilled)


def _short(run: Run) -> str:
    how = "reached" if run.reached else "not reached"
    if run.spent is None:
        return f"{how}, {run.seconds:.1f} s"
    usd = f", {run.spent.usd:.4f} USD" if run.spent.usd is not None else ""
    return f"{how}, {run.spent.turns} turns, {run.spent.tokens} tokens, {run.seconds:.1f} s{usd}"


def _reached_row(pairs: Sequence[Pair]) -> tuple[str, ...]:
    found = _reached(pairs)
    shares = ("{k}/{n} ({low:.2f}..{high:.2f})".format(**s, low=s["interval"][0], high=s["interval"][1]) for s in _two(found))
    return ("reached", *shares, _interval(Interval(**found["difference"]), 2))


def _two(found: Mapping[str, Any]) -> tuple[Any, Any]:
    return found["without"], found["with"]


def _row(pairs: Sequence[Pair], name: str) -> tuple[str, ...] | None:
    found = _measured(pairs, name)
    if found is None:
        return None
    digits = {"turns": 1, "tokens": 0, "seconds": 1, "USD": 4}[name]
    difference = found["difference"]
    shown = _interval(Interval(**difference), digits) if difference is not None else "one pair says nothing"
    return (name, *(f"{value:.{digits}f}" for value in _two(found)), shown)


def _interval(x: Interval, digits: int) -> str:
    return f"{x.value:+.{digits}f} ({x.low:+.{digits}f}..{x.high:+.{digits}f})"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
