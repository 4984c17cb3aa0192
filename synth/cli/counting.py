"""Counters of what commands did. They never fail a command, and judging alone makes no directory for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from synth.cli.metrics import path

if TYPE_CHECKING:
    from sandbox.interface import ReplayRecord, RunRequest, Sandbox, SandboxInfo, Session
    from synth.crystallization.outcome import PatternOutcome
    from synth.metrics import Metrics
    from verifiers.interface import Report


def count_reports(reports: Sequence[Report], cache_hits: int = 0) -> None:
    """Verdicts, runs and seconds of fresh reports, and how many others the cache had."""

    steps: list[tuple[str, float, str]] = [("cache_hits", cache_hits, "")] if cache_hits else []
    for report in reports:
        steps += [(f"gate_{report.verdict.name.lower()}", 1, ""), ("verification_seconds", report.seconds, "")]
        if report.sandbox is not None:
            steps.append(("sandbox_runs", report.sandbox.runs, ""))
        steps += [("check_seconds", check.seconds, check.id) for check in report.checks]
    if steps:
        _count(lambda metrics: metrics.add_all(steps))


def count_here() -> None:
    """Makes the place of the counters: for commands that keep what they made in this project anyway."""
    with suppress(OSError):
        path().parent.mkdir(parents=True, exist_ok=True)


def count_recorded() -> None:
    """One more trace was kept."""
    _count(lambda metrics: metrics.add("traces_recorded"))


def count_runs(runs: int) -> None:
    """Runs that belong to no report: of candidates that were dropped, and of replays."""
    if runs:
        _count(lambda metrics: metrics.add("sandbox_runs", runs))


class Counted:
    """A sandbox that knows how many runs its sessions have made, and how many will have been made as far as that is settled."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box
        self._sessions: list[Session] = []
        self._planned = 0

    @property
    def info(self) -> SandboxInfo:
        return self._box.info

    @property
    def runs(self) -> int:
        return sum(session.runs for session in self._sessions)

    @property
    def planned(self) -> int:
        """Never less than ``runs``."""
        return max(self._planned, self.runs)

    def expect(self, runs: int) -> None:
        """So many are to come. What was expected before includes them: a batch is part of its check."""
        self._planned = max(self._planned, self.runs + runs)

    def session(self, label: str, workers: int | None = None) -> Session:
        self._sessions.append(self._box.session(label, workers))
        return _Expecting(self._sessions[-1], self.expect)

    def close(self) -> None:
        self._box.close()

    def __enter__(self) -> Counted:
        self._box.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._box.__exit__(*exc)


class _Expecting:
    """A session that says how many runs it was asked for before it makes them."""

    def __init__(self, session: Session, expect: Callable[[int], None]) -> None:
        self._session = session
        self._expect = expect

    @property
    def runs(self) -> int:
        return self._session.runs

    def run(self, request: RunRequest) -> ReplayRecord:
        return self._session.run(request)

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        wanted = list(requests)
        self._expect(len(wanted))
        return self._session.map(wanted)

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> _Expecting:
        self._session.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._session.__exit__(*exc)


def count_demotions(skills: int) -> None:
    """Registered skills that were found to have drifted."""
    if skills:
        _count(lambda metrics: metrics.add("skills_demoted", skills))


def count_outcomes(outcomes: Sequence[PatternOutcome], improvement: float | None = None) -> None:
    """The seed's five, and what was spent on a model.

    Args:
        improvement: Success rate of the new skills minus that of their traces; None where no skill is new.
    """

    def add(metrics: Metrics) -> None:
        for outcome in outcomes:
            metrics.add("crystallization_triggers")
            metrics.add("patterns_detected")
            if outcome.usage is not None:
                metrics.add("llm_tokens", outcome.usage.input_tokens + outcome.usage.output_tokens)
            if outcome.ending == "registered" and outcome.report is not None:
                metrics.add("skills_crystallized")
                metrics.add("crystallization_latency_ms", outcome.seconds * 1000)
        if improvement is not None:
            metrics.set("success_rate_improvement", improvement)

    _count(add)


def _count(add: Callable[[Metrics], None]) -> None:
    """Counts where the data directory is there already; a counter that cannot be written costs nothing."""
    from synth.metrics import Metrics, MetricsError

    place = path()
    if not place.parent.is_dir():
        return
    try:
        add(Metrics(place))
    except (OSError, MetricsError):
        # Counting is a courtesy: a full disk or a damaged file must not turn a verdict into an error.
        return
