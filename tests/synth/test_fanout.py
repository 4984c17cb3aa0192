"""Verification on the workers of a real Dask scheduler."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import fanout_work
import pytest
from factories import source

from synth.cli.program import run
from synth.fanout import Fleet, Undone, _judged
from synth.verification import Job
from verifiers.formats.json_report import report_to_json, without_times
from verifiers.interface import ConfigError, Inconclusive, Report
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

ROOT = Path(__file__).resolve().parents[2]
RENAME = ROOT / "fixtures" / "skills" / "rename_ext"
DASK = (sys.executable, "-W", "ignore", "-m", "dask")


@dataclass
class Cluster:
    address: str
    workers: list[subprocess.Popen[bytes]]


def until(what: Callable[[], bool], most_s: float = 120.0) -> None:
    """Waits for something that must come."""
    deadline = time.monotonic() + most_s
    while not what():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


@contextmanager
def process(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "ASSAY_CACHE": str(cwd / "cache")}
    with (cwd / "log").open("ab") as log:
        started = subprocess.Popen([*DASK, *arguments], cwd=cwd, env=env, stdout=log, stderr=log)
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@contextmanager
def cluster(directory: Path, workers: int = 2) -> Iterator[Cluster]:
    """A scheduler and some workers, each a process."""
    contact = directory / "scheduler.json"
    with ExitStack() as stack:
        scheduler = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(contact))
        stack.enter_context(process(*scheduler, cwd=directory))
        until(contact.exists)
        worker = ("worker", "--scheduler-file", str(contact), "--nthreads", "1", "--no-nanny", "--no-dashboard")
        started = [stack.enter_context(process(*worker, cwd=directory)) for _ in range(workers)]
        address = json.loads(contact.read_text("utf-8"))["address"]
        with Fleet(address) as fleet:
            fleet._client.wait_for_workers(workers, timeout=120)
        yield Cluster(address, started)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def job(name: str, notes: Path) -> Job:
    options = Options(static_only=True, checks=frozenset({"parses"}), salt=str(notes))
    return Job(parse_subject(source(name), f"{name}.py"), (), None, options)


def told(report: Report | Undone) -> object:
    assert isinstance(report, Report), report
    return without_times(report_to_json(report))


def test_reports_are_those_of_this_machine(shared: Cluster, tmp_path: Path) -> None:
    """Every job comes back once, with the report that it has here."""
    jobs = [job(f"rename_{n}", tmp_path) for n in range(5)]
    with Fleet(shared.address, work=fanout_work.noted) as fleet:
        found = dict(fleet.verify(jobs))
    here = [verify(j.subject, [], None, options=j.options) for j in jobs]
    assert {n: told(r) for n, r in found.items()} == {n: told(r) for n, r in enumerate(here)}


def test_a_job_that_cannot_be_judged_says_why(shared: Cluster, tmp_path: Path) -> None:
    """An error on a worker is that of the job, and the others are not touched."""
    with Fleet(shared.address, work=fanout_work.noted) as fleet:
        found = dict(fleet.verify([job("refused", tmp_path), job("good", tmp_path)]))
    assert found[0] == Undone("not today. Come back tomorrow", 3)
    assert isinstance(found[1], Report)


def test_an_engine_that_dies_is_said_and_not_taken_elsewhere(shared: Cluster, tmp_path: Path) -> None:
    """The worker answers for it: inconclusive, tried once, and the worker goes on with other skills."""
    names = ["fatal", "good", "better", "best"]
    with Fleet(shared.address, work=fanout_work.noted) as fleet:
        found = dict(fleet.verify([job(name, tmp_path) for name in names]))
    assert found[0] == Undone("the engine died. Start it again", 3)
    assert all(isinstance(found[n], Report) for n in (1, 2, 3))
    assert len(list(tmp_path.glob("fatal began *"))) == 1


def test_what_is_finished_is_not_begun_again(shared: Cluster, tmp_path: Path) -> None:
    """A task that the scheduler starts anew after its worker finished it and was lost finds the report there."""
    packed = zlib.compress(pickle.dumps(job("once", tmp_path)))
    with Fleet(shared.address) as fleet:
        for turn in range(2):
            future = fleet._client.submit(_judged, packed, fanout_work.noted, fleet._run, 0, key=f"turn-{turn}-{fleet._run}")
            assert future.result(timeout=60) is None
        assert len(list(tmp_path.glob("once ended *"))) == 1


def test_a_lost_worker_loses_nothing(tmp_path: Path) -> None:
    """Killed between two skills: each is judged to its end exactly once; with no worker left the rest is inconclusive."""
    notes = tmp_path / "notes"
    notes.mkdir()
    jobs = [job(name, notes) for name in ("a", "b", "slow_c", "slow_d", "slow_e", "slow_f")]

    def pids(what: str) -> set[str]:
        return {p.name.rsplit(" ", 1)[1] for p in notes.glob(f"* {what} *")}

    def at_work() -> list[str]:
        """Processes that have finished one and are in the middle of another."""
        return [
            pid for pid in sorted(pids("ended"))
            if len(list(notes.glob(f"* began {pid}"))) > len(list(notes.glob(f"* ended {pid}")))
        ]  # fmt: skip

    with cluster(tmp_path) as both:
        with Fleet(both.address, work=fanout_work.noted) as fleet:
            running = fleet.verify(jobs)
            first = next(running)
            until(lambda: bool(at_work()))
            os.kill(int(at_work()[0]), signal.SIGKILL)
            (notes / "go").touch()
            found = dict([first, *running])
        assert sorted(found) == list(range(6))
        assert all(isinstance(r, Report) for r in found.values())
        assert len(list(notes.glob("* began *"))) == 7
        assert sorted(p.name.split(" ")[0] for p in notes.glob("* ended *")) == [j.subject.name for j in jobs]
        (notes / "go").unlink()
        with Fleet(both.address, work=fanout_work.noted, no_worker_s=1.0) as fleet:
            running = fleet.verify([job("last", notes), job("slow_g", notes)])
            next(running)
            until(lambda: bool(list(notes.glob("slow_g began *"))))
            for worker in both.workers:
                worker.kill()
            assert list(running) == [(1, Undone("every worker was lost", 3))]
        with pytest.raises(Inconclusive, match="no worker"), Fleet(both.address, no_worker_s=0.5) as fleet:
            fleet.facts(engine=False)


def test_without_a_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody at the address is inconclusive, no address at all a usage error."""
    with pytest.raises(Inconclusive, match="no Dask scheduler"):
        Fleet("tcp://127.0.0.1:9")
    with pytest.raises(ConfigError, match="not the address"):
        Fleet("nonsense://x")
    assert run(["gate", str(RENAME), "--static", "--scheduler", "tcp://127.0.0.1:9"]) == 3
    assert "Start one: dask scheduler" in capsys.readouterr().err


@pytest.mark.parametrize("late", [2, 3])
def test_a_machine_too_busy_for_a_client(late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributed says so by a bare assertion: three attempts, then inconclusive."""
    tried: list[str] = []

    def client(address: str, **_: object) -> object:
        tried.append(address)
        assert len(tried) > late
        raise OSError("nobody there")

    monkeypatch.setattr("distributed.Client", client)
    with pytest.raises(Inconclusive, match="no Dask scheduler" if late < 3 else "too busy"):
        Fleet("tcp://127.0.0.1:9")
    assert len(tried) == 3


def test_gate_with_a_scheduler(shared: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The gate says the same, broken files included, wherever it verifies."""
    for name, text in (("one", source("one")), ("two", source("two")), ("three", "@skill_command\ndef (:\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "skill.py").write_text(text, encoding="utf-8")
    (tmp_path / "three" / "skill.py").write_bytes(b"@skill_command\nx = '\xff\xfe'\n")
    command = ["gate", str(tmp_path), "--static", "--no-cache", "--format", "json"]
    code = run(command)
    local = json.loads(capsys.readouterr().out)
    assert run([*command, "--scheduler", shared.address]) == code
    assert without_times(json.loads(capsys.readouterr().out)) == without_times(local)
    assert len(local["reports"]) + len(local["failures"]) == 3


@pytest.mark.engine
def test_gate_with_a_scheduler_and_engines(shared: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Workers replay the evidence in their own sandboxes, with the verdict of this machine."""
    command = ["gate", str(RENAME), "--checks", "effect-equivalent", "--no-cache", "--format", "json"]
    assert run(command) == 0
    local = json.loads(capsys.readouterr().out)
    assert run([*command, "--scheduler", shared.address]) == 0
    there = json.loads(capsys.readouterr().out)
    assert there["reports"][0]["sandbox"]["runs"] > 0
    assert without_times(there) == without_times(local)
