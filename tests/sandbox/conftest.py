"""Engines for tests that break them: a private daemon, and a proxy that can delay, hold and cut."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from breaking import gone_soon, ours
from private_engine import PrivateEngine, unmount_below

from sandbox.engine import Engine
from sandbox.image import ensure_image
from sandbox.interface import Entry, RunRequest, ShellJob, SkillJob, Snapshot

DOCKER_SOCKET = "/var/run/docker.sock"


@pytest.fixture(scope="session")
def sandbox_image() -> str:
    """The tag of the sandbox image, built where it was not."""
    return ensure_image(lambda _: None)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory for a daemon: the paths of its sockets have a hundred characters at most, a worker's ``tmp_path`` is long."""
    place = Path(tempfile.mkdtemp(prefix="assay-"))
    yield place
    subprocess.run(["rm", "-rf", "--one-file-system", str(place)], check=False)


@pytest.fixture(scope="session")
def make_private_engine() -> Callable[[Path], PrivateEngine]:
    """For a test that needs an engine of its own, in a directory of its own."""
    return PrivateEngine


@pytest.fixture(scope="session")
def unmount() -> Callable[[Path], None]:
    """Unmounts everything at or below a directory."""
    return unmount_below


@pytest.fixture(scope="session")
def _private_engine(tmp_path_factory: pytest.TempPathFactory, sandbox_image: str) -> Iterator[PrivateEngine]:
    private = PrivateEngine(tmp_path_factory.mktemp("engine"))
    private.start()
    private.load(sandbox_image)
    yield private
    private.destroy()


@pytest.fixture
def private_engine(_private_engine: PrivateEngine) -> PrivateEngine:
    """A daemon that may be stopped and killed; it runs when the test begins and holds the sandbox image."""
    if _private_engine.process is None:
        _private_engine.start()
    return _private_engine


class Proxy:
    """Forwards TCP connections to a Unix socket. Can hold everything back, cut every connection, refuse new ones."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.delay_s = 0.0
        """Of every piece that is forwarded."""
        self.flowing = threading.Event()
        self.flowing.set()
        self.refusing = False
        self._spawn(self._accept)

    @property
    def host(self) -> str:
        return f"tcp://127.0.0.1:{self._server.getsockname()[1]}"

    def cut(self) -> None:
        """Ends every connection there is."""
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.refusing = True
        self.flowing.set()
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.cut()
        for thread in self._threads:
            thread.join(10)
        for sock in self._open:
            sock.close()

    def _spawn(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            engine = socket.socket(socket.AF_UNIX)
            with self._lock:
                self._open += [client, engine]
            if self.refusing:
                client.shutdown(socket.SHUT_RDWR)
                continue
            engine.connect(self._target)
            self._spawn(self._forward, client, engine)
            self._spawn(self._forward, engine, client)

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                time.sleep(self.delay_s)
                self.flowing.wait()
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def proxy(make_proxy: Callable[[], Proxy]) -> Iterator[Proxy]:
    """The usual engine on a TCP loopback socket."""
    made = make_proxy()
    yield made
    made.close()


@pytest.fixture(scope="session")
def make_proxy() -> Iterator[Callable[[], Proxy]]:
    """Makes proxies of the usual engine; they are closed in the end."""
    made: list[Proxy] = []

    def make() -> Proxy:
        made.append(Proxy(DOCKER_SOCKET))
        return made[-1]

    yield make
    for proxy in made:
        proxy.close()


BASE = Snapshot({"a.txt": Entry("file", 0o644, b"a\n")})


@pytest.fixture
def quick() -> RunRequest:
    """A run that takes no time."""
    return RunRequest(SkillJob("def go():\n    open('b.txt', 'w').close()\n    return 7\n", {}, function="go"), BASE)


@pytest.fixture
def slow() -> RunRequest:
    """A run that takes two seconds."""
    return RunRequest(ShellJob(("sleep 2; cat a.txt; mv a.txt c.txt",)), BASE)


@pytest.fixture
def nothing_is_left(sandbox_image: str) -> Iterator[None]:
    """After the test, no container of this process is left on the usual engine."""
    yield
    engine = Engine()
    assert gone_soon(lambda: ours(engine.client))
    engine.close()
