"""Sessions: the containers of one subject, a thread for each, requests spread over them longest first."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue

from sandbox import owner
from sandbox.container import LABEL, LABEL_SUBJECT, ContainerSpec
from sandbox.engine import Engine
from sandbox.interface import ReplayRecord, RunRequest, SandboxError, SandboxInfo, ShellJob
from sandbox.worker import Worker


class DockerSession:
    """See ``sandbox.interface.Session``. Safe to be used from several threads."""

    def __init__(self, engine: Engine, spec: ContainerSpec, workers: int) -> None:
        self._workers = [Worker(engine, spec) for _ in range(workers)]
        self._free: SimpleQueue[Worker] = SimpleQueue()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="sandbox")
        self._runs = 0
        self._lock = threading.Lock()
        self._closed = False
        for worker in self._workers:
            self._threads.submit(self._start, worker)

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

    def run(self, request: RunRequest) -> ReplayRecord:
        worker = self._free.get()
        try:
            record = worker.run(request)
        finally:
            self._free.put(worker)
        with self._lock:
            self._runs += 1
        return record

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        wanted = list(requests)
        futures: list[Future[ReplayRecord] | None] = [None] * len(wanted)
        for index in sorted(range(len(wanted)), key=lambda i: -_cost(wanted[i])):
            futures[index] = self._threads.submit(self.run, wanted[index])
        return _results([f for f in futures if f is not None])

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def __enter__(self) -> DockerSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _results(futures: Sequence[Future[ReplayRecord]]) -> list[ReplayRecord]:
    try:
        return [f.result() for f in futures]
    except BaseException:
        for future in futures:
            future.cancel()
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
