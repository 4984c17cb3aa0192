"""A skill whose versions are marked with how well they do, a judge that reads the marks, and a run that is killed half-way."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from factories import SANDBOX, draft, measured, report, source
from messages_server import MessagesServer

from sandbox.interface import SandboxInfo, Snapshot
from synth.crystallization.promotion import Crystallization
from synth.evolve import Base, Evolution
from synth.interface import Candidate, Draft
from synth.llm import Connection, ModelGenerator, Settings
from synth.registry import Registry
from synth.registry.receipt import evidence_sha256
from verifiers.interface import (
    Args,
    Behaviour,
    CheckResult,
    Counterexample,
    Decision,
    Evidence,
    EvidenceSummary,
    Finding,
    GeneratedCase,
    NotChecked,
    Question,
    Report,
    Verdict,
)

NAME = "batch_rename"
HELD = "rename-00"
"""What is held out of the five recordings of ``base``."""


def code(marks: str = "", name: str = NAME) -> str:
    """A version. Marks: ``generated=N`` (its score), ``questions=N``, ``wrong=TASK_ID``, ``lost=1`` (the sandbox)."""
    return source(name) + (f'\n\nMARKS = "{marks}"\n' if marks else "")


def question() -> Question:
    tree = Snapshot({})
    return Question("refused", "What is to be done?", GeneratedCase("rename-01", tree, {}), Behaviour(tree), Behaviour(tree))


@dataclass
class Judge:
    """A ``Judge`` that runs nothing."""

    dies_at: int = 0
    """Kills this process at so many verifications."""
    dies_of: int = signal.SIGKILL
    seen_counts: bool = False
    """Recordings that a version was made with count nothing in its score."""
    calls: list[tuple[frozenset[str], frozenset[str]]] = field(default_factory=list)
    """task_ids judged on, and the unseen ones."""
    info: SandboxInfo | None = SANDBOX

    def rebuilt(self, evidence: Sequence[Evidence]) -> Sequence[Evidence]:
        return evidence

    def lets_in(self, source: str) -> bool:
        return True

    def unusable(self, evidence: Sequence[Evidence]) -> Mapping[str, str]:
        return {}

    def bind(self, candidate: Candidate, seen: Sequence[Evidence], new: Sequence[Evidence]) -> Mapping[str, Args]:
        return {e.task_id: {"old_ext": "x", "new_ext": "y"} for e in new}

    def bind_alone(self, candidate: Candidate, seen: Sequence[Evidence], new: Evidence) -> Args | None:
        return None

    def deciding(self, decisions: tuple[Decision, ...]) -> Judge:
        return self

    def holds(self, candidate: Candidate, evidence: Sequence[Evidence], bindings: Mapping[str, Args]) -> bool:
        return True

    def verify(
        self, candidate: Candidate, evidence: Sequence[Evidence], bindings: Mapping[str, Args], unseen: frozenset[str],
        failures: int,
    ) -> Report:  # fmt: skip
        self.calls.append((frozenset(e.task_id for e in evidence), unseen))
        if len(self.calls) == self.dies_at:
            if self.dies_of == signal.SIGINT:
                raise KeyboardInterrupt  # what is run in the background may not hear the signal
            os.kill(os.getpid(), self.dies_of)
        marks = dict(re.findall(r"(\w+)=([\w-]+)", candidate.source.partition("MARKS")[2]))
        asked = CheckResult("generalises", Verdict.PASS, questions=(question(),) * int(marks.get("questions", 1)))
        made = report(
            replace(draft(), source=candidate.source), bindings=dict(bindings), checks=(asked,),
            evidence=EvidenceSummary(evidence_sha256(evidence), len(evidence), len(evidence), 0),
            score=measured(int(marks.get("generated", 100)), len(unseen) if self.seen_counts else len(evidence)),
        )  # fmt: skip
        if "lost" in marks:
            return replace(made, verdict=Verdict.INCONCLUSIVE, score=None, not_checked=(NotChecked("contained", "no engine"),))
        wrong = next((e.task_id for e in evidence if e.task_id == marks.get("wrong")), None)
        if wrong is None:
            return made
        finding = Finding("it does something else", counterexample=Counterexample(f"trace {wrong}", trace=wrong))
        check = CheckResult("effect-equivalent", Verdict.FAIL, (finding,))
        return replace(made, verdict=Verdict.FAIL, score=None, checks=(check,))


def base(registry: Registry, of: Draft | None = None, by_hand: str = "", unseen: frozenset[str] = frozenset({HELD})) -> Base:
    """A registered skill with five recordings, of which its code was made without the held-out one."""
    chosen = of or draft(traces=5)
    entry = registry.register(chosen, report(chosen, generated=100))
    return Base(entry.name, registry.draft(entry.name), unseen, 0, entry, by_hand)


def evolution(
    registry: Registry, url: str, folder: Path, judge: Judge | None = None, of: Base | None = None,
    speaks: type[MessagesServer] = MessagesServer, **settings: Any,
) -> Evolution:  # fmt: skip
    """Of the skill, with the answers of a server, kept in a folder."""
    chosen = Settings(**{"model": "claude-sonnet-5-5", "cache": folder / "answers", "max_tokens": None, **settings})
    generator = ModelGenerator(chosen, speaks.client(Connection(url, 10.0, 0, 0), lambda seconds: None))
    return Evolution(of or base(registry), generator, Crystallization(generator, judge or Judge(), registry), most=4)


def killed(folder: Path, url: str, dies_at: int) -> None:
    """One run, in a process of its own that does not survive it."""
    with Registry(folder / "skills") as registry:
        evolution(registry, url, folder, Judge(dies_at)).run()
