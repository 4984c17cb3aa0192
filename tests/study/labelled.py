"""The labelled skills of ``fixtures/gate`` and ``fixtures/heldout``, their traces, and one way to have them judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.catalog import CATALOG
from verifiers.evidence import load_evidence
from verifiers.expectation.sessions import Memory
from verifiers.interface import Args, Binding, Evidence, Report, Subject, Verdict
from verifiers.subject import load_subject
from verifiers.verify import Options, verify

FIXTURES = Path(__file__).parents[2] / "fixtures"
DYNAMIC = frozenset(c.id for c in CATALOG if c.stage == "dynamic")


@dataclass(frozen=True, slots=True)
class Label:
    """One skill with what is known about it. Only studies and tests read labels."""

    path: str
    """Below ``folder``."""
    family: str
    good: bool
    fault: str
    """``good`` for the good ones."""
    bindings: tuple[tuple[str, Args], ...]
    """task_id and arguments."""
    folder: str = "gate"
    """Below ``fixtures``. The checks were tuned on ``gate``; ``heldout`` was written without looking at them."""

    @property
    def subject(self) -> Subject:
        return load_subject(FIXTURES / self.folder / self.path)


@dataclass(frozen=True, slots=True)
class Row:
    """One judged skill."""

    label: Label
    report: Report

    @property
    def right(self) -> bool:
        return (self.report.verdict is Verdict.PASS) == self.label.good


@dataclass
class Bench:
    """A sandbox with the recorded traces. Their replays are shared by what one process judges."""

    sandbox: Sandbox
    traces: dict[str, Evidence]
    memory: Memory = field(default_factory=dict)

    def verify(self, subject: Subject, bindings: Sequence[tuple[str, Args]], options: Options) -> Report:
        bound = {task_id: Binding(task_id, args) for task_id, args in bindings}
        return verify(subject, [self.traces[t] for t in bound], bound, sandbox=self.sandbox, options=options)

    def judge(self, label: Label, options: Options) -> Row:
        return Row(label, self.verify(label.subject, label.bindings, options))


def load_labels(folder: str = "gate") -> list[Label]:
    rows = [json.loads(line) for line in (FIXTURES / folder / "labels.jsonl").read_text("utf-8").splitlines()]
    return [
        Label(
            r["path"], r["family"], r["label"] == "good", r["fault"] or "good",
            tuple((b["task_id"], b["args"]) for b in r["bindings"]), folder,
        )
        for r in rows
    ]  # fmt: skip


def spread(labels: Sequence[Label], every: int) -> list[Label]:
    """Every n-th good skill, and of each fault every n-th faulty one, the first of each always."""
    kinds: dict[str, list[Label]] = {}
    for label in sorted(labels, key=lambda x: x.path):
        kinds.setdefault(label.fault, []).append(label)
    kept = {x.path for of_kind in kinds.values() for x in of_kind[::every]}
    return [x for x in labels if x.path in kept]


@contextmanager
def open_bench(image: str | None = None, host: str | None = None, workers: int | None = None) -> Iterator[Bench]:
    files = [f for folder in ("traces", "heldout") if (f := FIXTURES / folder / "traces.jsonl").exists()]
    traces = {e.task_id: e for file in files for e in load_evidence(file)}
    with open_sandbox(image=image, host=host, workers=workers) as sandbox:
        yield Bench(sandbox, traces)
