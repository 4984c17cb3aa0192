"""Which recordings are held out, and their runs in pairs: without skills and with them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from synth.export import Skill, skill_of
from synth.interface import ExecutionTrace
from synth.lift.clients import Spent
from synth.lift.trial import Run, Settings, run
from synth.llm.budget import Price, price_of
from synth.registry import Registry
from synth.tracing.traces import trace_digest
from synth.usage import Usage
from verifiers.expectation.oracle import Expectation, Usable
from verifiers.interface import AssayError


class LiftError(AssayError, RuntimeError):
    """The agent could not be run at all."""

    exit_code: ClassVar[int] = 3


@dataclass(frozen=True, slots=True)
class Task:
    """A held-out recording: what is asked, from which start, and what the recording's own commands do."""

    task_id: str
    request: str
    expectation: Expectation


@dataclass(frozen=True, slots=True)
class Pair:
    task: Task
    without: Run
    skilled: Run
    """With the skills."""


@dataclass
class Lift:
    """The measurement.

    Args:
        most_usd: Spent from which no further pair is begun, where it is known; None = any.
        most_tokens: The same in tokens.
        prices: Of models, for clients that tell tokens alone.
    """

    settings: Settings
    skills: Sequence[Skill]
    most_usd: float | None = None
    most_tokens: int | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    stopped: str = ""
    """Why not all pairs were run."""

    def run(self, tasks: Sequence[Task], say: Callable[[str, int, int], None] = lambda *_: None) -> None:
        """Runs every task in both ways; which comes first changes from pair to pair.

        Raises:
            LiftError: the client gave no answer at all in the first pair.
        """
        for number, task in enumerate(tasks):
            self.stopped = self._too_dear()
            if self.stopped:
                return
            say(task.task_id, number, len(tasks))
            order = (False, True) if number % 2 == 0 else (True, False)
            runs = {skilled: self._run(task, self.skills if skilled else ()) for skilled in order}
            self.pairs.append(Pair(task, runs[False], runs[True]))
            self._check_first()

    def _run(self, task: Task, skills: Sequence[Skill]) -> Run:
        found = run(self.settings, task.request, task.expectation, skills)
        return replace(found, spent=self._priced(found.spent)) if found.spent is not None else found

    def _priced(self, spent: Spent) -> Spent:
        price = price_of(self.settings.model or spent.model, self.prices)
        if spent.usd is not None or price is None:
            return spent
        fresh = spent.input_tokens - spent.cached_tokens
        return replace(spent, usd=price.cost(Usage(fresh, spent.output_tokens, spent.cached_tokens)))

    def _too_dear(self) -> str:
        spent = [r.spent for p in self.pairs for r in (p.without, p.skilled) if r.spent is not None]
        usd, tokens = sum(s.usd or 0.0 for s in spent), sum(s.tokens for s in spent)
        if self.most_usd is not None and spent and all(s.usd is None for s in spent):
            return "what it costs is not known: name the model's price in llm.prices, or use --max-tokens instead of --max-cost"
        if self.most_usd is not None and usd >= self.most_usd:
            return f"the limit of {self.most_usd:g} USD is reached: raise it with --max-cost"
        if self.most_tokens is not None and tokens >= self.most_tokens:
            return f"the limit of {self.most_tokens} tokens is reached: raise it with --max-tokens"
        return ""

    def _check_first(self) -> None:
        """A wrong key fails every run alike: the first pair is enough to see it."""
        (first, *others) = self.pairs
        runs = (first.without, first.skilled)
        if not others and not any(r.spent is not None and r.spent.output_tokens for r in runs):
            what = f"{self.settings.client.name} did nothing: {first.without.why}"
            raise LiftError(what, f"Try it by hand: {self.settings.client.program} (key, model, network)")


def version(program: str) -> str:
    """What the client says of its version; "" where it says nothing."""
    try:
        done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip().split("\n")[0][:80]


def active(registry: Registry) -> list[Skill]:
    """Every active skill, without its recordings: an agent must not find there what it is asked to do.

    Raises:
        ExportError, RegistryUnusable: one of them cannot be exported.
    """
    return [skill_of(registry, entry.name, with_evidence=False) for entry in registry.list()]


def held_out(registry: Registry, traces: Sequence[ExecutionTrace] | None = None) -> list[ExecutionTrace]:
    """Successful recordings that none of the active skills was made from.

    Args:
        traces: Of these; None = of those that the skills were judged on.
    """
    drafts = [(registry.draft(e.name, e.version).evidence, registry.origin(e.name, e.version).unseen) for e in registry.list()]
    shown = [t for evidence, unseen in drafts for t in evidence if t.task_id not in unseen]
    digests, ids = {trace_digest(t) for t in shown}, {t.task_id for t in shown}
    found = traces if traces is not None else [t for evidence, unseen in drafts for t in evidence if t.task_id in unseen]
    return [t for t in found if t.success and trace_digest(t) not in digests and t.task_id not in ids]


def tasks_of(usable: Sequence[Usable]) -> Iterator[tuple[Task, str]]:
    """Replayed recordings as tasks, each with why it cannot be asked elsewhere ("" where it can)."""
    for u in usable:
        root, request = u.evidence.workspace_root, u.evidence.description
        why = "" if request.strip() else "nothing was asked for"
        if root and root in request:
            why = "its request names the directory that it was recorded in"
        yield Task(u.task_id, request, u.expectation), why
