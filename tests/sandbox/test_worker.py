"""Workers and sessions on a scripted engine: retries, replacement, order, and that nothing is left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.container import ContainerSpec
from sandbox.engine import Engine, Running
from sandbox.guest.store import digest, manifest
from sandbox.guest.tree import WireEntry
from sandbox.interface import Cause, Entry, Limits, RunRequest, SandboxError, ShellJob, SmallDisk, Snapshot, Surroundings
from sandbox.pool import DockerSession
from sandbox.worker import RUNS_PER_CONTAINER, Worker

BASE = Snapshot({"f": Entry("file", 0o644, b"x")})
TEXT = manifest([WireEntry(".", "dir", 0o755, "")])
Reply = tuple[dict[str, Any], list[bytes]]


def result(**more: Any) -> Reply:
    """A run that emptied its workspace."""
    header = {
        "type": "result", "steps": [], "ended": "exited", "leftovers": [], "network": [], "seen_network": [], "outside": [],
        "missing": [],
        "calls": [], "fault_reached": False, "scan_findings": [], "duration_s": 0.0, "post": digest(TEXT), "post_sent": True,
        "took_input": False,
        "fresh": [], **more,
    }  # fmt: skip
    return header, [TEXT] if header["post_sent"] else []


class ScriptedRunner:
    """The other end of a channel: keeps what it is sent, answers runs from a script."""

    def __init__(self, script: list[Reply | SandboxError]) -> None:
        self.script = script
        self.held: set[str] = set()
        self.asked: list[dict[str, Any]] = []

    def ask(self, header: dict[str, Any], parts: list[bytes], timeout_s: float) -> Reply:
        self.asked.append(header)
        if header["type"] == "hello":
            return {"type": "hello"}, []
        if header["type"] == "put":
            assert len(parts) == len(header["refs"]) + header["manifest"]
            self.held.update(header["refs"])
            return {"type": "ok"}, []
        answer = self.script.pop(0)
        if isinstance(answer, SandboxError):
            raise answer
        return answer

    def close(self) -> None:
        pass


class ScriptedEngine(Engine):
    """Starts scripted runners; fails loudly when more are started than foreseen."""

    def __init__(self, *scripts: list[Reply | SandboxError]) -> None:
        self.scripts = list(scripts)
        self.started: list[ContainerSpec] = []
        self.runners: list[ScriptedRunner] = []
        self.alive: set[str] = set()

    def start(self, spec: ContainerSpec, opening: bytes) -> Running:
        assert self.scripts, "one container more than foreseen"
        self.started.append(spec)
        self.runners.append(ScriptedRunner(self.scripts.pop(0)))
        identity = f"c{len(self.started)}"
        self.alive.add(identity)
        return Running(identity, self.runners[-1])  # type: ignore[arg-type]  # has what a worker uses of a channel

    def remove(self, identity: str) -> None:
        self.alive.discard(identity)


SPEC = ContainerSpec(image="i")
LOST = SandboxError(Cause.ENGINE_LOST, "gone")
LATE = SandboxError(Cause.DEADLINE, "late")


def ask(**more: Any) -> RunRequest:
    return RunRequest(ShellJob(("true",)), BASE, **more)


def test_contents_are_sent_once() -> None:
    """A base is sent with the first run and known to the second."""
    engine = ScriptedEngine([result(), result(post_sent=False)])
    worker = Worker(engine, SPEC)
    first, second = worker.run(ask()), worker.run(ask())
    assert [a["type"] for a in engine.runners[0].asked] == ["hello", "put", "run", "run"]
    assert first.post == second.post == Snapshot({".": Entry("dir", 0o755)})
    worker.close()
    assert not engine.alive


def test_what_the_runner_forgot_is_sent_again() -> None:
    """A runner that has dropped a tree or a content asks for it."""
    refs = [digest(b"x")]
    engine = ScriptedEngine([({"type": "need", "manifest": True, "refs": refs}, []), result()])
    Worker(engine, SPEC).run(ask())
    puts = [a for a in engine.runners[0].asked if a["type"] == "put"]
    assert [p["refs"] for p in puts] == [refs, refs]


@pytest.mark.parametrize("trouble", [LOST, LATE, SandboxError(Cause.PROTOCOL, "babble")])
def test_transient_causes_are_retried_once_elsewhere(trouble: SandboxError) -> None:
    """A lost run is made again in a fresh container; lost again, it is an error with its cause."""
    engine = ScriptedEngine([trouble], [result()])
    worker = Worker(engine, SPEC)
    assert worker.run(ask()).ended == "exited"
    assert len(engine.alive) == 1
    assert worker.replaced == [trouble.what]
    engine = ScriptedEngine([trouble], [trouble])
    with pytest.raises(SandboxError) as caught:
        Worker(engine, SPEC).run(ask())
    assert caught.value.cause is trouble.cause
    assert not engine.alive


@pytest.mark.parametrize("cause", [Cause.IMAGE_MISSING, Cause.OPTION_IGNORED, Cause.DISK, Cause.ENGINE_DENIED])
def test_other_causes_are_not_retried(cause: Cause) -> None:
    """What will not pass by itself is reported at once."""
    engine = ScriptedEngine([SandboxError(cause, "no")])
    with pytest.raises(SandboxError):
        Worker(engine, SPEC).run(ask())
    assert not engine.alive


def test_an_unclean_container_is_replaced_without_using_up_the_retry() -> None:
    """A runner that declares itself unclean has run nothing."""
    unclean = ({"type": "unclean", "why": "IPC objects"}, list[bytes]())
    engine = ScriptedEngine([result(), unclean], [LOST], [result()])
    worker = Worker(engine, SPEC)
    worker.run(ask())
    worker.run(ask())
    assert len(engine.started) == 3
    assert "IPC objects" in worker.replaced[0]


def test_a_container_grows_old() -> None:
    """After many runs a container is replaced on principle, and the fresh one must give the last result again."""
    engine = ScriptedEngine([result() for _ in range(RUNS_PER_CONTAINER)], [result(), result()])
    worker = Worker(engine, SPEC)
    for _ in range(RUNS_PER_CONTAINER + 1):
        worker.run(ask())
    assert len(engine.started) == 2
    assert (worker.audited, worker.disagreements) == (1, [])


def test_an_audit_that_disagrees_is_noted() -> None:
    """A run that comes out otherwise in a fresh container is on record."""
    engine = ScriptedEngine([result() for _ in range(RUNS_PER_CONTAINER)], [result(ended="timeout"), result()])
    worker = Worker(engine, SPEC)
    for _ in range(RUNS_PER_CONTAINER + 1):
        worker.run(ask())
    assert len(worker.disagreements) == 1


def test_another_workspace_path_is_mounted() -> None:
    """An absolute path gets a container with that mount; one that may not be mounted is refused."""
    engine = ScriptedEngine([], [result(), result()])
    worker = Worker(engine, SPEC)
    worker.start()
    for _ in range(2):
        worker.run(ask(surroundings=Surroundings(workdir="/testbed/x")))
    assert engine.started[1].mounts == ("/testbed/x",)
    for path in ("/etc", "/", "/usr/lib", "/home", "/workspace/../etc"):
        with pytest.raises(SandboxError, match="cannot be mounted"):
            worker.run(ask(surroundings=Surroundings(workdir=path)))


def test_more_processes_need_another_container() -> None:
    """The limit is the container's; a run that needs more gets one that allows more."""
    engine = ScriptedEngine([], [result()])
    worker = Worker(engine, SPEC)
    worker.start()
    worker.run(ask(limits=Limits(processes=500)))
    assert engine.started[1].processes == 500


def test_a_small_disk_is_a_container_of_its_own() -> None:
    """It has room for the base and as much as is asked, and is gone afterwards."""
    engine = ScriptedEngine([result()])
    record = Worker(engine, SPEC).run(ask(fault=SmallDisk(bytes=8192, inodes=3)))
    assert (engine.started[0].ws_bytes, engine.started[0].ws_inodes) == (4096 + 8192, 1 + 2 + 3)
    assert record.fault_reached
    assert not engine.alive


# ---------------------------------------------------------------- sessions


def by_command(count: int) -> list[Reply | SandboxError]:
    return [result() for _ in range(count)]


def test_records_come_in_the_order_of_the_requests() -> None:
    """Whatever order they were run in."""
    requests = [ask(limits=Limits(wall_s=float(i + 1))) for i in range(5)]

    class Echo(ScriptedRunner):
        def ask(self, header: dict[str, Any], parts: list[bytes], timeout_s: float) -> Reply:
            if header["type"] == "run":
                return result(duration_s=header["wall"])
            return super().ask(header, parts, timeout_s)

    engine = ScriptedEngine([])
    engine_start = engine.start

    def start(spec: ContainerSpec, opening: bytes) -> Running:
        identity = engine_start(spec, opening).id
        return Running(identity, Echo([]))  # type: ignore[arg-type]  # as above

    engine.start = start  # type: ignore[method-assign]  # a runner that answers with what it was asked
    with DockerSession(engine, SPEC, 2) as session:
        assert [r.duration_s for r in session.map(requests)] == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert session.runs == 5
    assert not engine.alive


def test_little_work_takes_one_container() -> None:
    """A second one is started only when there is enough to do."""
    engine = ScriptedEngine(by_command(3))
    with DockerSession(engine, SPEC, 4) as session:
        session.map([ask()] * 3)
    assert len(engine.started) == 1


@pytest.mark.parametrize("use", [lambda s: s.run(ask()), lambda s: s.map([ask()] * 200)], ids=["run", "map"])
def test_an_error_reaches_the_caller_and_leaves_nothing(use: Callable[[DockerSession], object]) -> None:
    """One request that cannot be run ends the others, and no container stays."""
    gone = SandboxError(Cause.IMAGE_MISSING, "no image")
    engine = ScriptedEngine([gone], [gone], [gone], [gone])
    with pytest.raises(SandboxError), DockerSession(engine, SPEC, 2) as session:
        use(session)
    assert not engine.alive


def test_headers_are_json() -> None:
    """What is asked of a runner can be written down."""
    engine = ScriptedEngine(by_command(1))
    Worker(engine, SPEC).run(ask(observe=True))
    assert json.dumps(engine.runners[0].asked)
