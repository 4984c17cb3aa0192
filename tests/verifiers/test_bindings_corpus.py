"""Bindings on the real traces of the fixtures: the labelled ones are accepted, and most are found without the labels."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from verifiers.binding.bindings import infer_bindings, validate_binding
from verifiers.evidence import load_evidence
from verifiers.interface import Args, Binding, Evidence, Parameter, Subject

TRACES = Path(__file__).parent.parent.parent / "fixtures" / "traces"


@pytest.fixture(scope="module")
def evidence() -> dict[str, Evidence]:
    return {e.task_id: e for e in load_evidence(TRACES / "traces.jsonl")}


@pytest.fixture(scope="module")
def labelled() -> dict[str, dict[str, Args]]:
    """Task kind -> task_id -> the arguments that a correct skill gets."""
    out: dict[str, dict[str, Args]] = defaultdict(dict)
    for line in (TRACES / "labels.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row.get("skill_args_hint"):
            out[row["task_family"]][row["task_id"]] = row["skill_args_hint"]
    return out


def subject(args: Args) -> Subject:
    """A skill with those parameters: names and types only, no descriptions."""
    return Subject("s", "s.py", "", tuple(Parameter(k, type(v).__name__, "", True) for k, v in args.items()))


def test_labelled_bindings_are_accepted(evidence: dict[str, Evidence], labelled: dict[str, dict[str, Args]]) -> None:
    """No right binding is called foreign."""
    refused = [
        (task, found[0].message)
        for rows in labelled.values()
        for task, args in rows.items()
        if (found := validate_binding(subject(args), evidence[task], Binding(task, args)))
    ]
    assert refused == []


def test_bindings_of_other_traces_are_mostly_refused(evidence: dict[str, Evidence], labelled: dict[str, dict[str, Args]]) -> None:
    """Arguments of one trace do not pass for another's: the rule has teeth."""
    mixed = [
        bool(validate_binding(subject(args), evidence[other], Binding(other, args)))
        for rows in labelled.values()
        for (task, args), other in zip(rows.items(), [*list(rows)[1:], next(iter(rows))], strict=True)
        if rows[other] != args and task != other
    ]
    assert len(mixed) > 100
    assert sum(mixed) > 0.9 * len(mixed)


def test_most_bindings_are_inferred(evidence: dict[str, Evidence], labelled: dict[str, dict[str, Args]]) -> None:
    """For most kinds of task the best guess is right in every trace; for nearly all, the right one is among the guesses."""
    ranks = []
    for rows in labelled.values():
        wanted = {task: args for task, args in rows.items() if evidence[task].success}
        if wanted:
            guesses = infer_bindings(subject(next(iter(wanted.values()))), [evidence[t] for t in wanted])
            found = [{t: b.args for t, b in g.bindings.items()} for g in guesses]
            ranks.append(found.index(wanted) if wanted in found else None)
    assert len(ranks) == 42
    assert ranks.count(0) >= 38
    assert ranks.count(None) <= 2
