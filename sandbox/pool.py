"""Sessions: the containers of one subject, a thread for each, requests spread over them longest first."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from queue import LifoQueue

from sandbox import owner, telemetry
from sandbox.container import LABEL, LABEL_SUBJECT, ContainerSpec
from sandbox.engine import Engine
from sandbox.interface import ReplayRecord, RunRequest, SandboxError, SandboxInfo, ShellJob
from sandbox.worker import Worker

WORTH_A_CONTAINER_MS = 600.0
"""Work that pays for the start of one more container: once a session has done so much, more of it is likely to come."""


class DockerSession:
    """See ``sandbox.interface.Session``. Safe to be used from several threads.

    One container is started ahead; further ones only when the work is worth their start.
    """

    def __init__(self, engine: Engine, spec: ContainerSpec, workers: int) -> None:
        self._workers = [Worker(engine, spec) for _ in range(workers)]
        self._free: LifoQueue[Worker] = LifoQueue()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="sandbox")
        self._runs = self._busy = 0
        self._asked_ms = 0.0
        self._lock = threading.Lock()
        self._closed = False
        self._span = telemetry.begin("sandbox.session", subject=spec.labels.get(LABEL_SUBJECT, ""), workers=workers)
        first, *others = self._workers
        for worker in others:
            self._free.put(worker)
        self._ahead = self._threads.submit(self._start, first)

    def _start(self, worker: Worker) -> None:
        try:
            worker.start()
        except SandboxError:
            return  # the first run meets the same trouble, and says so
        finally:
            self._free.put(worker)

    @property
    def runs(self) -> int:
        return self._runs

    @property
    def replaced(self) -> tuple[str, ...]:
        """Why containers of this session were replaced."""
        return tuple(why for worker in self._workers for why in worker.replaced)

    @property
    def audit(self) -> tuple[int, tuple[str, ...]]:
        """How many runs were repeated in a fresh container, and those that came out otherwise there."""
        return sum(w.audited for w in self._workers), tuple(d for w in self._workers for d in w.disagreements)

    def run(self, request: RunRequest) -> ReplayRecord:
        worker = self._take()
        try:
            return worker.run(request)
        finally:
            with self._lock:
                self._runs += 1
                self._busy -= 1
            self._free.put(worker)

    def _take(self) -> Worker:
        """A free worker, a started one before others; the one that is being started ahead is waited for."""
        with self._lock:
            alone = self._busy == 0
            self._busy += 1
        if alone:
            self._ahead.result()
        return self._free.get()

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        wanted = list(requests)
        costs = [_cost(r) for r in wanted]
        waiting = deque(sorted(range(len(wanted)), key=lambda i: -costs[i]))
        records: dict[int, ReplayRecord] = {}
        with self._lock:
            self._asked_ms += sum(costs)
            worth = int(self._asked_ms / WORTH_A_CONTAINER_MS) + 1
        lanes = max(1, min(len(self._workers), len(wanted), worth))
        if lanes == 1:
            self._work(wanted, waiting, records)
        else:
            _finish([self._threads.submit(self._work, wanted, waiting, records) for _ in range(lanes)], waiting)
        return [records[i] for i in range(len(wanted))]

    def _work(self, wanted: Sequence[RunRequest], waiting: deque[int], records: dict[int, ReplayRecord]) -> None:
        while True:
            try:
                index = waiting.popleft()
            except IndexError:
                return
            records[index] = self.run(wanted[index])

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        with ThreadPoolExecutor(len(self._workers)) as closing:  # the engine takes its time for each
            list(closing.map(Worker.close, self._workers))
        self._span.set_attribute("assay.runs", self._runs)
        self._span.set_attribute("assay.containers_replaced", len(self.replaced))
        audited, disagreements = self.audit
        self._span.set_attribute("assay.runs_repeated", audited)
        self._span.set_attribute("assay.runs_that_came_out_otherwise", len(disagreements))
        self._span.end()

    def __enter__(self) -> DockerSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _finish(lanes: Sequence[Future[None]], waiting: deque[int]) -> None:
    """Waits for all lanes; the first error ends the others after their current run."""
    try:
        for lane in as_completed(lanes):
            lane.result()
    except BaseException:
        waiting.clear()
        raise


def _cost(request: RunRequest) -> float:
    """What a run takes, roughly, in milliseconds: processes cost most."""
    job, where = request.job, request.surroundings
    commands = 12 * sum(1 + c.count("|") + c.count(";") for c in job.commands) if isinstance(job, ShellJob) else 8
    return commands + 0.03 * len(request.base) + 1000 * where.delay_s


class DockerSandbox:
    """See ``sandbox.interface.Sandbox``."""

    def __init__(self, engine: Engine, spec: ContainerSpec, info: SandboxInfo, workers: int) -> None:
        self._engine, self._spec, self._info, self._workers = engine, spec, info, workers
        self._sessions: list[DockerSession] = []

    @property
    def info(self) -> SandboxInfo:
        return self._info

    def session(self, label: str, workers: int | None = None, *, mounts: tuple[str, ...] = ()) -> DockerSession:
        """Opens a session. ``mounts``: absolute workspace paths that its requests will use, mounted from the start."""
        labels = {LABEL: owner.label(), LABEL_SUBJECT: label[:200]}
        session = DockerSession(self._engine, replace(self._spec, mounts=mounts, labels=labels), workers or self._workers)
        self._sessions.append(session)
        return session

    def close(self) -> None:
        for session in self._sessions:
            session.close()
        self._engine.close()

    def __enter__(self) -> DockerSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def default_workers() -> int:
    """One for each core."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
