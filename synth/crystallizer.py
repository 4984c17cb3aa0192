"""``SkillCrystallizer``: what an agent calls after each task. The seed's constructor and methods, with typed results."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox.interface import JsonValue, Sandbox, SandboxError
from synth.asynchronous import Step, off_the_loop
from synth.config import Config
from synth.crystallization.judge import Judge, SandboxJudge
from synth.crystallization.outcome import PatternOutcome
from synth.crystallization.promotion import Crystallization
from synth.crystallization.search import SearchSettings
from synth.detect import detect
from synth.detect.cache import PatternIndex, PatternIndexError
from synth.embedded import EmbeddedGenerator
from synth.interface import ExecutionTrace, Generator, TracePattern
from synth.metrics import Metrics
from synth.registry import Registry
from synth.tracing.collector import TraceCollector, new_trace
from synth.tracing.traces import load_traces
from synth.tracing.workspace import Workspace
from verifiers.interface import EvidenceError

REFRESH_S = 60.0
"""How often the trace directory is listed for what other processes stored; own traces are known at once."""


class SkillCrystallizer:
    """Observes executions and turns repeated, successful ones into verified skills.

    Nothing is ever asked, printed or registered on a failure: what happened is in ``outcomes`` and in the returned values.

    Args:
        trace_dir: Where execution traces are stored.
        learned_skills_dir: The registry of crystallized skills.
        min_frequency: Successful traces from which a task counts as repeated.
        min_complexity: Commands a trace from which a task counts as complex.
        generator: Proposes candidates; by default the one that ``config`` names.
        judge: Judges them; by default one sandbox is opened for each crystallization.
        config: Everything else; the defaults without one.
        progress: Called with one line for each candidate and check, from another thread.
    """

    def __init__(
        self,
        trace_dir: Path | str,
        learned_skills_dir: Path | str,
        min_frequency: int = 3,
        min_complexity: int = 5,
        *,
        generator: Generator | None = None,
        judge: Judge | None = None,
        config: Config | None = None,
        progress: Step | None = None,
    ) -> None:
        settings = config if config is not None else Config.default()
        chosen = {"min_frequency": min_frequency, "min_complexity": min_complexity}
        self.config = replace(settings, evolution=settings.evolution.model_copy(update=chosen))
        self.tracer = TraceCollector(trace_dir, self.config.evolution.max_traces_stored)
        self.generator = generator if generator is not None else self._configured_generator()
        self.registry = Registry(learned_skills_dir, hooks=self.config.reindex_hooks())
        beside = self.tracer.trace_dir.parent
        self.metrics = Metrics(beside / "metrics.json")
        self._index = PatternIndex(self.tracer.trace_dir, beside / "patterns.json", self.config.evolution)
        self._refreshed = float("-inf")
        self.outcomes: list[PatternOutcome] = []
        """Of every crystallization of this object, oldest first."""
        self._attest = self.config.attest()
        self._judge = judge
        self._progress = progress
        self._one_at_a_time = asyncio.Lock()

    @property
    def min_frequency(self) -> int:
        return self.config.evolution.min_frequency

    @property
    def min_complexity(self) -> int:
        return self.config.evolution.min_complexity

    async def record_execution(
        self,
        task_description: str,
        commands: Sequence[str],
        outputs: Sequence[str],
        success: bool,
        duration_ms: float,
        *,
        exit_codes: Sequence[int] | None = None,
        workspace: Workspace | Mapping[str, Any] | None = None,
        post_workspace: Workspace | Mapping[str, Any] | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        task_id: str | None = None,
        task_family: str | None = None,
        steps: Sequence[Mapping[str, JsonValue]] | None = None,
    ) -> str:
        """Stores one execution and, if it completes a pattern, crystallizes it.

        Args:
            task_description: What was asked.
            commands: In order.
            outputs: One for each command.
            success: Whether the task was done.
            duration_ms: Of all of it.
            exit_codes: One for each command.
            workspace: The directory before, as ``Workspace.from_directory`` takes it; None = it is reconstructed.
            post_workspace: The directory after.
            metadata: Anything else worth keeping, as JSON.
            task_id: Its name; made from time and process without one.
            task_family: What all executions of one task share, where that is known.
            steps: Commands by index, and edits, in order (docs/design.md, "The trace format"); None = the commands alone.

        Returns:
            The trace's task_id. What a crystallization came to is in ``outcomes``.

        Raises:
            EvidenceError: the parts do not make a trace.
            TraceStoreError: it cannot be stored.
        """
        trees = {"workspace": _tree(workspace), "post_workspace": _tree(post_workspace)}
        lists = {"exit_codes": exit_codes, "steps": steps}
        known: dict[str, Any] = {name: list(value) for name, value in lists.items() if value is not None}
        known |= {name: value for name, value in {**trees, "task_family": task_family}.items() if value is not None}
        trace = new_trace(
            task_description, commands, outputs, success, duration_ms, task_id=task_id, metadata=metadata, **known
        )  # fmt: skip
        path = await asyncio.to_thread(self.tracer.store, trace)
        self.metrics.add("traces_recorded")
        for pattern in await asyncio.to_thread(self._due, path, trace):
            await self.crystallize(pattern)
        return trace.task_id

    async def crystallize(self, pattern: TracePattern) -> PatternOutcome:
        """Takes one pattern through generation, verification and registration, off the event loop, one at a time.

        Cancelled, it ends before the next check or candidate, closes the sandbox, and registers nothing.
        """
        async with self._one_at_a_time:
            outcome = await off_the_loop(lambda step: self._crystallize(pattern, step), self._progress)
        self.outcomes.append(outcome)
        return outcome

    async def crystallize_due(self) -> list[PatternOutcome]:
        """Crystallizes every due pattern of the store: what ``crystallization_interval`` calls for."""
        return [await self.crystallize(pattern) for pattern in await asyncio.to_thread(self.patterns)]

    def patterns(self) -> list[TracePattern]:
        """The due patterns of the store. Files that are no traces are left out."""
        try:
            return self._index.patterns()
        except PatternIndexError:
            return self._without_index()

    def close(self) -> None:
        self.registry.close()

    def _configured_generator(self) -> Generator:
        if self.config.generator.name == "embedded":
            return EmbeddedGenerator()
        from synth.llm.configured import configured

        return configured(self.config, self.config.generator.name)

    def _due(self, path: Path, trace: ExecutionTrace) -> list[TracePattern]:
        """Patterns that a trace just stored completes: it is compared with those that said or did alike, not with all."""
        wanted = trace.success and self.config.evolution.enabled
        try:
            if time.monotonic() - self._refreshed > REFRESH_S:
                self._index.refresh()  # what other processes stored
                self._refreshed = time.monotonic()
            due = self._index.add(path, trace)
            return [p for d in due if (p := self._index.load(d)) is not None] if wanted else []
        except PatternIndexError:
            return [p for p in self._without_index() if any(t.task_id == trace.task_id for t in p.traces)] if wanted else []

    def _without_index(self) -> list[TracePattern]:
        """The due patterns by reading every trace: the index is only a cache, and its place may be read-only."""
        if not self.tracer.trace_dir.is_dir():
            return []

        def skip(problem: EvidenceError) -> None:
            del problem  # a foreign file in the store must not stop the loop

        return detect(load_traces(self.tracer.trace_dir, skip), self.config)

    def _crystallize(self, pattern: TracePattern, step: Step) -> PatternOutcome:
        self.metrics.add("patterns_detected")
        self.metrics.add("crystallization_triggers")
        try:
            with self._judging(step) as judge:
                outcome = self._loop(judge, step).run(pattern)
        except SandboxError as e:
            task_ids = tuple(t.task_id for t in pattern.traces)
            outcome = PatternOutcome(pattern.task_category, task_ids, "inconclusive", e.diagnostics())
        if outcome.ending == "registered" and outcome.report is not None:
            self.metrics.add("skills_crystallized")
            self.metrics.add("crystallization_latency_ms", outcome.seconds * 1000)
            self.metrics.set("success_rate_improvement", 1.0 - pattern.success_rate)
        return outcome

    def _loop(self, judge: Judge, step: Step) -> Crystallization:
        if isinstance(self.generator, EmbeddedGenerator) and isinstance(judge, SandboxJudge):
            self.generator.replays = judge.replays
        chosen, embedded = self.config.generator, self.generator.name.startswith("embedded")
        asked = 0 if embedded else chosen.candidates * (chosen.repair_rounds + 1)
        settings = SearchSettings(
            hold_out=chosen.hold_out if chosen.hold_out is not None else 1,
            min_usable=self.config.verify.min_usable,
            template=chosen.template,
            max_candidates=max(SearchSettings().max_candidates, asked),
            refits=embedded,
            sealed=not embedded,
        )
        approve = self.config.registry.approve
        # Every further trace of a known task would verify it anew: as many as made it are worth a new version.
        return Crystallization(
            self.generator, judge, self.registry, settings, approve, step, enough_new=self.min_frequency, attest=self._attest
        )

    @contextmanager
    def _judging(self, step: Step) -> Iterator[Judge]:
        if self._judge is not None:
            yield self._judge
            return
        verify = self.config.verify
        with self._open() as box:
            may = self.config.conventions
            yield SandboxJudge(
                box, verify.budget, verify.profile or "seed", None, verify.seed_salt, verify.min_usable,
                may.imports, frozenset(may.allow_programs), step,
            )  # fmt: skip

    def _open(self) -> Sandbox:
        from sandbox import open_sandbox

        where = self.config.sandbox
        return open_sandbox(
            image=where.image, runtime=where.runtime, workers=where.workers, host=where.host, packages=where.packages
        )


def _tree(workspace: Workspace | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return workspace.to_json() if isinstance(workspace, Workspace) else workspace
