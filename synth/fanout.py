"""Verification on Dask workers, each with an engine of its own. The one importer of ``distributed``.

A finished report is kept by the scheduler before its task ends, so a worker that is lost takes no result with it: its unfinished
verifications start again elsewhere, its finished ones do not.

Jobs travel as pickles, as everything in Dask does: use a scheduler on a network that you trust, or ``tls://``.
"""

from __future__ import annotations

import json
import pickle
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import tenacity

from sandbox.interface import JsonValue, SandboxError
from synth.judged_by import engine_facts, judge_code
from verifiers.formats.json_report import report_from_json, report_to_json
from verifiers.interface import AssayError, ConfigError, Inconclusive, Report

if TYPE_CHECKING:
    from synth.verification import Job

Work = Callable[["Job"], Report]
INSTALL = "Install it with: python3 -m pip install distributed, here and on the workers"
CONNECT_S = 10.0
NO_WORKER_S = 60.0
"""How long to wait for a worker when there is none."""
POLL_S = 1.0
KEPT = "assay"
"""Below which name the scheduler keeps reports."""

_one_at_a_time = threading.Lock()
"""A worker process verifies one skill at a time: a sandbox uses all cores already."""


@dataclass(frozen=True, slots=True)
class Undone:
    """A job that gave no report."""

    why: str
    exit_code: int


class Fleet:
    """The workers of one scheduler. Use as a context manager.

    Args:
        address: of the scheduler, such as ``tcp://10.0.0.5:8786``.
        work: What a worker does with a job; it must be importable there.

    Raises:
        ConfigError: ``distributed`` is not installed, or the workers run another version or have different images.
        Inconclusive: no scheduler at the address, no worker, or a worker without an engine.
    """

    def __init__(self, address: str, *, work: Work | None = None, no_worker_s: float = NO_WORKER_S) -> None:
        self._client = _connect(address)
        self._address = address
        self._work = work or verify_here
        self._patience_s = no_worker_s
        self._run = uuid.uuid4().hex

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if self._client.status == "running":
                self._client.set_metadata([KEPT, self._run], {})
        except OSError:
            pass  # the scheduler is gone, and with it what it kept
        finally:
            self._client.close(timeout=CONNECT_S)

    def facts(self, image: str | None = None, packages: tuple[str, ...] = (), *, engine: bool = True) -> tuple[str, str]:
        """Which image and engines the verdicts come from, after a look at every worker.

        Args:
            engine: False = none is needed (static checks alone).

        Raises:
            ConfigError, Inconclusive: see the class.
        """
        self._wait_for_a_worker()
        said = self._client.run(_introduce, image, packages, engine, on_error="return")
        inventories, engines = set(), set()
        for worker, answer in sorted(said.items()):
            if isinstance(answer, BaseException):
                raise ConfigError(f"the worker {worker} cannot verify: {answer}", "It needs the same skill-assay as here", worker)
            code, facts = answer
            if code != judge_code():
                raise ConfigError("another version of skill-assay runs there", "Install the same one on every worker", worker)
            if engine and facts is None:
                raise Inconclusive("has no engine with a sandbox image", "Run `assay engine status` there", worker)
            inventories.add(facts[0] if facts else "")
            engines.add(facts[1] if facts else "")
        if len(inventories) > 1:
            raise ConfigError("the workers have different sandbox images", "Run `assay engine image` on each", self._address)
        return inventories.pop(), " / ".join(sorted(engines))

    def verify(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Report | Undone]]:
        """Each job's number and report, as they are finished. Every job comes back exactly once."""
        from distributed import wait
        from distributed.client import FutureCancelledError

        pending = {self._submit(number, job): number for number, job in enumerate(jobs)}
        last_seen = time.monotonic()
        while pending:
            try:
                done = wait(list(pending), timeout=POLL_S, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                done = set()
            except (FutureCancelledError, OSError) as e:
                yield from _rest(pending.values(), f"the scheduler was lost ({type(e).__name__})")
                return
            for future in done:
                yield pending[future], self._outcome(pending.pop(future), future)
            if done or self._client.status != "running" or self._client.nthreads():
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > self._patience_s:
                yield from _rest(pending.values(), "every worker was lost")
                return

    def _submit(self, number: int, job: Job) -> Any:
        packed = zlib.compress(pickle.dumps(job), 1)
        return self._client.submit(_judged, packed, self._work, self._run, number, key=f"assay-{self._run}-{number}", pure=False)

    def _outcome(self, number: int, future: Any) -> Report | Undone:
        if future.status != "finished":
            error = future.exception() if future.status == "error" else None
            return Undone(f"its workers were lost ({type(error).__name__}: {error})", Inconclusive.exit_code)
        return _unpacked(self._client.get_metadata([KEPT, self._run, str(number)]))

    def _wait_for_a_worker(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=self._patience_s)
        except TimeoutError as e:
            raise Inconclusive("the scheduler has no worker", "Start some: dask worker ADDRESS", self._address) from e


def verify_here(job: Job) -> Report:
    """Verifies in a sandbox of this machine's own engine."""
    from contextlib import ExitStack

    from sandbox import open_sandbox, telemetry
    from sandbox.interface import Sandbox
    from synth.verification import NoSandbox, run_job

    telemetry.configure()
    with ExitStack() as stack:

        def opened() -> Sandbox | NoSandbox:
            try:
                return stack.enter_context(
                    open_sandbox(image=job.image, runtime=job.runtime, workers=job.workers, packages=job.packages)
                )
            except SandboxError as e:
                return NoSandbox(e.diagnostics())

        return run_job(job, opened)


# ---------------------------------------------------------------- on the worker


def _judged(packed: bytes, work: Work, run: str, number: int) -> None:
    """Leaves the report with the scheduler, unless an earlier worker did so before it was lost."""
    from distributed import get_client

    scheduler, place = get_client(), [KEPT, run, str(number)]
    with _one_at_a_time:
        if scheduler.get_metadata(place, default=None) is None:
            scheduler.set_metadata(place, json.dumps(_outcome(pickle.loads(zlib.decompress(packed)), work)))


def _outcome(job: Job, work: Work) -> Mapping[str, JsonValue]:
    try:
        return {"report": report_to_json(work(job))}
    except AssayError as e:
        return {"why": e.diagnostics(), "exit_code": e.exit_code}
    except SandboxError as e:
        return {"why": e.diagnostics(), "exit_code": Inconclusive.exit_code}


def _introduce(image: str | None, packages: tuple[str, ...], engine: bool) -> tuple[int, tuple[str, str] | None]:
    """The version of the judge here, and its engine."""
    return judge_code(), engine_facts(None, image, packages) if engine else None


# ---------------------------------------------------------------- here


def _connect(address: str) -> Any:
    try:
        return _client(address)
    except OSError as e:
        raise Inconclusive("no Dask scheduler answers there", "Start one: dask scheduler", address) from e
    except AssertionError as e:
        raise Inconclusive("this machine is too busy for its client", "Try again when it is less so", address) from e
    except ValueError as e:
        raise ConfigError(f"is not the address of a scheduler ({e})", "Such as tcp://10.0.0.5:8786", address) from e


@tenacity.retry(retry=tenacity.retry_if_exception_type(AssertionError), stop=tenacity.stop_after_attempt(3), reraise=True)
def _client(address: str) -> Any:
    """Tried anew where distributed's own loop is not up within ten seconds: a bare assertion says so."""
    try:
        from distributed import Client
    except ImportError as e:
        raise ConfigError("--scheduler needs the package distributed", INSTALL) from e
    return Client(address, timeout=CONNECT_S, name="assay")


def _unpacked(text: str) -> Report | Undone:
    said = json.loads(text)
    if "report" in said:
        return report_from_json(said["report"], "a worker's report")
    return Undone(said["why"], said["exit_code"])


def _rest(numbers: Any, why: str) -> Iterator[tuple[int, Undone]]:
    for number in sorted(numbers):
        yield number, Undone(why, Inconclusive.exit_code)
