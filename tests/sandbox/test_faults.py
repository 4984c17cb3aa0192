"""Faults of our own side: each ends in a SandboxError that names the cause, or is retried and completes. Nothing is left.

A fault must never look like a skill's failure (a record), hang, or leak a container.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sandbox import engine as engine_module
from sandbox import open_sandbox, owner, worker
from sandbox.container import LABEL
from sandbox.engine import Engine
from sandbox.image_store import open_images
from sandbox.interface import Cause, Limits, ReplayRecord, Returned, RunRequest, SandboxError, Session, ShellJob

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]


def ours(client: Any, label: str | None = None) -> list[str]:
    """Containers with an owner's label: ids of all that are not on their way out."""
    wanted = owner.label() if label is None else label
    found = client.api.containers(all=True, filters={"label": f"{LABEL}={wanted}"})
    return [c["Id"] for c in found if c["State"] not in ("removing", "dead")]


def gone_soon(what: Callable[[], list[str]], within_s: float = 30.0) -> bool:
    """Whether a list becomes empty in time."""
    end = time.monotonic() + within_s
    while what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture(autouse=True)
def nothing_is_left(sandbox_image: str) -> Iterator[None]:
    """After each test, no container of this process is left on the usual engine."""
    yield
    engine = Engine()
    assert gone_soon(lambda: ours(engine.client))
    engine.close()


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    short(monkeypatch)


def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines of seconds where the product has half a minute and more."""
    monkeypatch.setattr(worker, "GRACE_S", 3.0)
    monkeypatch.setattr(worker, "HELLO_S", 4.0)
    monkeypatch.setattr(engine_module, "TIMEOUT_S", 4)


def started(session: Session, request: RunRequest) -> Callable[[], ReplayRecord]:
    """Starts a run in a thread; returns how to wait for its record."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(session.run, request)

    def result() -> ReplayRecord:
        try:
            return future.result(120)
        finally:
            pool.shutdown()

    return result


def ok(record: ReplayRecord) -> bool:
    """Whether a ``slow`` run did what it should."""
    return record.ended == "exited" and record.steps[0].stdout == b"a\n" and set(record.post) == {".", "c.txt"}


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


# ---------------------------------------------------------------- the daemon dies


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_daemon_that_ends_in_the_middle_is_named_and_can_come_back(
    private_engine: Any, slow: RunRequest, number: signal.Signals
) -> None:
    """The run fails with a sentence; after a restart the same session goes on, and no container of before is left."""
    with open_sandbox(workers=1, host=private_engine.host) as sandbox, sandbox.session("x") as session:
        wait = started(session, slow)
        time.sleep(1.0)
        private_engine.stop(number)
        with pytest.raises(SandboxError) as caught:
            wait()
        assert caught.value.cause in (Cause.ENGINE_LOST, Cause.ENGINE_MISSING, Cause.IMAGE_BROKEN)
        assert caught.value.diagnostics()
        private_engine.start()
        assert ok(session.run(slow))
    after = Engine(private_engine.host)
    after.sweep()
    assert gone_soon(lambda: ours(after.client))
    after.close()


def test_a_daemon_that_restarts_at_once_is_survived(private_engine: Any, slow: RunRequest) -> None:
    """Four workers' runs over a restart: each completes or is a named error, none is a record of something else."""
    with open_sandbox(workers=2, host=private_engine.host) as sandbox, sandbox.session("x") as session:
        waits = [started(session, slow) for _ in range(4)]
        time.sleep(0.7)
        private_engine.stop()
        private_engine.start()
        for wait in waits:
            with contextlib.suppress(SandboxError):
                assert ok(wait())
        assert ok(session.run(slow))


def test_no_engine_at_all_is_one_sentence(tmp_path: Path) -> None:
    """With the command that helps."""
    with pytest.raises(SandboxError, match="no Docker Engine answers") as caught:
        open_sandbox(host=f"unix://{tmp_path}/none.sock")
    assert caught.value.cause is Cause.ENGINE_MISSING
    assert "assay engine up" in caught.value.diagnostics()


def test_a_socket_that_may_not_be_used_is_one_sentence(tmp_path: Path) -> None:
    """A user without rights is told so, not that there is no engine."""
    program = "from sandbox.engine import Engine\nfrom sandbox.interface import SandboxError\n"
    program += "try: Engine('unix://%s')\nexcept SandboxError as error: print(error.cause.value)"
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.owner() == "root" and parent != Path("/") and not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
    path = tmp_path / "e.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        path.chmod(0o600)
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            try:
                Engine(f"unix://{path}")
            except SandboxError as error:
                os._exit(17 if error.cause is Cause.ENGINE_DENIED else 18)
            os._exit(19)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17, program


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    ],
)
def test_something_that_is_no_engine_is_an_error(answer: bytes) -> None:
    """A web server on that port, a broken proxy: never a crash of our own."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                client.recv(4096)
                client.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        with pytest.raises(SandboxError):
            open_sandbox(host=f"tcp://127.0.0.1:{server.getsockname()[1]}")
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(5)


# ---------------------------------------------------------------- disk and images


@pytest.fixture
def small_engine(tmp_path: Path, sandbox_image: str, make_private_engine: Callable[[Path], Any]) -> Iterator[Any]:
    """A private engine on a disk that has room for the image and little more."""
    private = make_private_engine(tmp_path)
    private.data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1100m", "none", str(private.data)], check=True)
    try:
        private.start()
        private.load(sandbox_image)
        yield private
    finally:
        private.destroy()


def test_a_full_disk_of_the_engine_is_named(small_engine: Any, quick: RunRequest) -> None:
    """No container can be made; the sentence says disk. With room again the session goes on."""
    with open_sandbox(workers=1, host=small_engine.host) as sandbox, sandbox.session("x") as session:
        session.run(quick)
        session.close()
        filler = small_engine.data / "filler"
        fill(filler)
        with pytest.raises(SandboxError) as caught, sandbox.session("y") as other:
            other.run(quick)
        assert caught.value.cause is Cause.DISK
        with open_images(small_engine.host) as store, pytest.raises(SandboxError) as imported:
            store.import_root(_tar_of(tmp := small_engine.daemon.log.parent / "root.tar"), "too:big", [])
        assert imported.value.cause is Cause.DISK
        tmp.unlink()
        filler.unlink()
        with sandbox.session("z") as again:
            assert again.run(quick).outcome == Returned(7)


def fill(path: Path) -> None:
    """Writes a file as large as the disk allows."""
    with path.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(bytes(1 << 20))


def _tar_of(path: Path) -> Path:
    """A root file system of 5 MB."""
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("big")
        info.size = 5 << 20
        tar.addfile(info, io.BytesIO(os.urandom(info.size)))
    return path


def test_a_removed_image_is_named(private_engine: Any, sandbox_image: str, quick: RunRequest) -> None:
    """Containers that run go on; the next one cannot start, and the sentence says what to do."""
    with open_sandbox(workers=1, host=private_engine.host) as sandbox, sandbox.session("x") as session:
        assert session.run(quick).outcome == Returned(7)
        engine = Engine(private_engine.host)
        engine.client.api.remove_image(sandbox_image, force=True)
        assert session.run(quick).outcome == Returned(7)
        session.close()
        for image in engine.client.images.list(all=True):
            engine.client.api.remove_image(image.id, force=True)
        with pytest.raises(SandboxError, match="image") as caught, sandbox.session("y") as other:
            other.run(quick)
        assert caught.value.cause is Cause.IMAGE_MISSING
        assert "assay engine image" in caught.value.diagnostics()
        engine.close()
    with pytest.raises(SandboxError) as missing:
        open_sandbox(host=private_engine.host)
    assert missing.value.cause is Cause.IMAGE_MISSING
    private_engine.load(sandbox_image)


def test_an_image_that_cannot_run_us_is_named(tmp_path: Path) -> None:
    """No Python in it: broken, with the command that helps, and nothing is left."""
    with open_images() as store:
        store.import_root(_tar_of(tmp_path / "root.tar"), "assay-test-empty:1", [])
        try:
            with pytest.raises(SandboxError) as caught:
                open_sandbox(image="assay-test-empty:1")
        finally:
            store.untag("assay-test-empty:1")
    assert caught.value.cause is Cause.IMAGE_BROKEN
    assert caught.value.advice


def test_an_image_without_a_name_is_named() -> None:
    """A typing error in --image."""
    with pytest.raises(SandboxError) as caught:
        open_sandbox(image="no-such-image:at-all")
    assert caught.value.cause is Cause.IMAGE_MISSING


def test_a_runtime_that_is_not_there_is_named() -> None:
    """A typing error in --runtime."""
    with pytest.raises(SandboxError) as caught:
        open_sandbox(runtime="no-such-runtime")
    assert caught.value.cause is Cause.OPTION_IGNORED
