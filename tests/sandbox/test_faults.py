"""Faults of our own side: each ends in a SandboxError that names the cause, or is retried and completes. Nothing is left.

A fault must never look like a skill's failure (a record), hang, or leak a container.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from breaking import gone_soon, ok, ours, started

from sandbox import engine as engine_module
from sandbox import open_sandbox, owner, worker
from sandbox.container import LABEL
from sandbox.engine import Engine
from sandbox.interface import Cause, Limits, Returned, RunRequest, SandboxError, ShellJob

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300), pytest.mark.usefixtures("nothing_is_left")]


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    short(monkeypatch)


def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines of seconds where the product has half a minute and more."""
    monkeypatch.setattr(worker, "GRACE_S", 3.0)
    monkeypatch.setattr(worker, "HELLO_S", 4.0)
    monkeypatch.setattr(engine_module, "TIMEOUT_S", 4)


# ---------------------------------------------------------------- the client dies


CLIENT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores it
from sandbox import open_sandbox
from sandbox.interface import *
base = Snapshot({"a": Entry("file", 0o644, b"x" * 1000)})
with open_sandbox(workers=2) as sandbox, sandbox.session("killed") as session:
    print("up", flush=True)
    sleeper = SkillJob("import time\\ndef f():\\n    time.sleep(30)\\n", {}, function="f")
    jobs = [ShellJob(("sleep 0.3",)), sleeper, ShellJob(("yes | head -c 3000000",))]
    while True:
        session.map([RunRequest(job, base, limits=Limits(wall_s=60)) for job in jobs])
"""


def killed_client(moment: tuple[bool, float]) -> str:
    """Starts a client, kills it some seconds after its start or after it is up; returns the label of its containers."""
    when_up, after_s = moment
    with subprocess.Popen([sys.executable, "-c", CLIENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
        label = owner.label(client.pid)
        if when_up and client.stdout is not None:
            client.stdout.readline()
        time.sleep(after_s)
        client.send_signal(signal.SIGKILL)
    return label


def test_fifty_clients_killed_at_random_moments_leave_nothing() -> None:
    """Running containers end by themselves; what was created but never started goes with the next sweep."""
    moments = random.Random(20261121)
    engine = Engine()
    with ThreadPoolExecutor(5) as pool:
        labels = list(pool.map(killed_client, [(n % 3 > 0, moments.uniform(0.0, 2.0)) for n in range(50)]))
    assert all(owner.is_dead(label) for label in labels)
    running = {"status": "running"}

    def left(**more: str) -> list[str]:
        found = engine.client.api.containers(all=True, filters={"label": LABEL, **more})
        return [c["Id"] for c in found if c["Labels"][LABEL] in labels and c["State"] not in ("removing", "dead")]

    assert gone_soon(lambda: left(**running))
    engine.sweep()
    assert gone_soon(left)
    engine.close()


def test_an_interrupted_client_leaves_nothing() -> None:
    """Ctrl-C unwinds the sessions."""
    with subprocess.Popen([sys.executable, "-c", CLIENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
        assert client.stdout is not None
        client.stdout.readline()
        label = owner.label(client.pid)
        client.send_signal(signal.SIGINT)
        try:
            client.wait(60)
        finally:
            client.kill()
    engine = Engine()
    assert gone_soon(lambda: ours(engine.client, label))
    engine.close()


# ---------------------------------------------------------------- the container dies


def test_a_container_killed_from_outside_is_replaced(slow: RunRequest) -> None:
    """The run is done again in another container and completes."""
    engine = Engine()
    with open_sandbox(workers=1) as sandbox, sandbox.session("x") as session:
        wait = started(session, slow)
        time.sleep(1.0)
        for identity in ours(engine.client):
            engine.remove(identity)
        assert ok(wait())
        assert ok(session.run(slow))
    engine.close()


def test_a_mount_that_appears_from_outside_replaces_the_container(sandbox_image: str, quick: RunRequest) -> None:
    """No job can mount anything; were something mounted all the same, nothing more would run there."""
    engine = Engine()
    with open_sandbox(workers=1) as sandbox, sandbox.session("x") as session:
        session.run(quick)
        (identity,) = ours(engine.client)
        command = ["nsenter", "--target=1", "--mount", "mount", "-t", "tmpfs", "none", "/opt"]
        free = ["seccomp=unconfined", "apparmor=unconfined"]
        rights = {"cap_add": ["SYS_ADMIN", "SYS_CHROOT", "SYS_PTRACE"], "security_opt": free}
        where = {"pid_mode": f"container:{identity}", "network_mode": "none"}
        engine.client.containers.run(sandbox_image, command, remove=True, **rights, **where)
        assert [session.run(quick).outcome for _ in range(2)] == [Returned(7)] * 2
        assert any("mounted" in why for why in session.replaced)
    engine.close()


def test_a_container_killed_again_and_again_is_an_error(slow: RunRequest) -> None:
    """One retry, then the cause is named; the session is still of use."""
    engine = Engine()
    stop = threading.Event()

    def hunt() -> None:
        while not stop.wait(0.2):
            for identity in ours(engine.client):
                engine.remove(identity)

    with open_sandbox(workers=1) as sandbox, sandbox.session("x") as session:
        hunter = threading.Thread(target=hunt)
        hunter.start()
        with pytest.raises(SandboxError) as caught:
            session.run(slow)
        stop.set()
        hunter.join()
        assert caught.value.cause in (Cause.ENGINE_LOST, Cause.IMAGE_BROKEN)
        assert "lost" in caught.value.what or "gone" in caught.value.what or "did not start" in caught.value.what
        assert ok(session.run(slow))
    engine.close()


def test_a_paused_container_is_given_up_in_time(quick: RunRequest, short_waits: None) -> None:
    """Frozen from outside: the deadline passes, the run is done again elsewhere."""
    engine = Engine()
    with open_sandbox(workers=1) as sandbox, sandbox.session("x") as session:
        session.run(quick)
        for identity in ours(engine.client):
            engine.client.api.pause(identity)
        assert session.run(RunRequest(quick.job, quick.base, limits=Limits(wall_s=1))).outcome == Returned(7)
    engine.close()


# ---------------------------------------------------------------- the connection dies


def test_a_cut_attach_stream_is_retried(proxy: Any, slow: RunRequest) -> None:
    """The engine is still there: another container does the run."""
    with open_sandbox(workers=1, host=proxy.host) as sandbox, sandbox.session("x") as session:
        wait = started(session, slow)
        time.sleep(1.0)
        proxy.cut()
        assert ok(wait())


def test_an_engine_that_is_gone_for_good_is_named(proxy: Any, slow: RunRequest) -> None:
    """No retry can help; the sentence is about the engine, and the container ends by itself."""
    with open_sandbox(workers=1, host=proxy.host) as sandbox, sandbox.session("x") as session:
        wait = started(session, slow)
        time.sleep(1.0)
        proxy.refusing = True
        proxy.cut()
        with pytest.raises(SandboxError, match=r"engine|sandbox") as caught:
            wait()
        assert caught.value.cause in (Cause.ENGINE_LOST, Cause.ENGINE_MISSING)
    proxy.refusing = False


def test_a_slow_engine_only_takes_longer(proxy: Any, quick: RunRequest) -> None:
    """Every answer comes late: nothing fails."""
    proxy.delay_s = 0.05
    with open_sandbox(workers=1, host=proxy.host) as sandbox, sandbox.session("x") as session:
        assert session.run(quick).outcome == Returned(7)


def hesitates(proxy: Any, quick: RunRequest, moment: str, silence_s: float) -> bool:
    """A run over an engine that falls silent for some time at one moment; whether it came out right, in a container or two."""
    slow = RunRequest(ShellJob(("sleep 1; cat a.txt; mv a.txt c.txt",)), quick.base, limits=Limits(wall_s=5))

    def pause(after_s: float) -> None:
        time.sleep(after_s)
        proxy.flowing.clear()
        time.sleep(silence_s)
        proxy.flowing.set()

    with open_sandbox(workers=1, host=proxy.host) as sandbox, ThreadPoolExecutor(1) as pool:
        if moment == "while a container starts":
            pool.submit(pause, 0.0)
            time.sleep(0.1)
        with sandbox.session("x") as session:
            if moment != "while a container starts":
                session.run(quick)
                pool.submit(pause, 0.0 if moment == "before a run" else 0.5)
            time.sleep(0.1)
            return ok(session.run(slow))


MOMENTS = ("while a container starts", "before a run", "in the middle of a run")


def test_an_engine_that_hesitates_is_waited_for(
    make_proxy: Callable[[], Any], quick: RunRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silence that is shorter than the deadline costs time only. ``ASSAY_SILENCE_S=30`` asks the product's own deadlines."""
    silence_s = float(os.environ.get("ASSAY_SILENCE_S", "0"))
    if not silence_s:
        short(monkeypatch)
    with ThreadPoolExecutor(len(MOMENTS)) as pool:
        done = [pool.submit(hesitates, make_proxy(), quick, moment, silence_s or 3.0) for moment in MOMENTS]
        assert [d.result(200) for d in done] == [True] * len(MOMENTS)


def test_an_engine_that_falls_silent_is_given_up(proxy: Any, quick: RunRequest, short_waits: None) -> None:
    """Silence without end: a deadline, not a hang, and the sentence says what was waited for."""
    with open_sandbox(workers=1, host=proxy.host) as sandbox, sandbox.session("x") as session:
        session.run(quick)
        proxy.flowing.clear()
        request = RunRequest(quick.job, quick.base, limits=Limits(wall_s=1))
        with pytest.raises(SandboxError, match=r"did not answer") as caught:
            session.run(request)
        assert caught.value.cause is Cause.DEADLINE
        proxy.flowing.set()
        time.sleep(1.0)  # what was held back reaches the engine now: also a request for another container
