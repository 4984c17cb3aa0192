"""The connection to a Docker Engine. The only importer of the ``docker`` SDK; its exceptions are translated here."""

from __future__ import annotations

import contextlib
import os
import socket
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import docker
import docker.errors
import requests.exceptions
import urllib3.exceptions
from docker.transport import unixconn

from sandbox import owner
from sandbox.channel import Channel, plain
from sandbox.container import LABEL, LABEL_INSTANCE, ContainerSpec, create_options, deviations
from sandbox.dialect import as_docker, for_podman
from sandbox.interface import Cause, SandboxError

T = TypeVar("T")

TIMEOUT_S = 60
_DENIED = "Join the `docker` group or use sudo"
_LOOK = "Look at `assay engine status`"
_NOBODY = ("FileNotFoundError", "No such file", "Connection refused", "Name or service", "ConnectionRefused")

OLDEST_API = "1.40"
"""Of Docker Engine 19.03, the first whose answers we know. The one in use is what the engine speaks."""
_ATTACH = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}


@contextlib.contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turns what the SDK raises into SandboxError, in the words of what was being done."""
    try:
        yield
    except docker.errors.ImageNotFound as error:
        what = f"the sandbox image is missing ({error.explanation})"
        raise SandboxError(Cause.IMAGE_MISSING, what, "Run `assay engine image`") from None
    except docker.errors.NotFound as error:
        raise SandboxError(Cause.ENGINE_LOST, f"{doing}: the container is gone ({error.explanation})") from None
    except docker.errors.APIError as error:
        raise _refused(doing, str(error.explanation or error)) from None
    except (requests.exceptions.ReadTimeout, urllib3.exceptions.ReadTimeoutError):
        what = f"{doing}: the engine did not answer within {TIMEOUT_S} s"
        raise SandboxError(Cause.DEADLINE, what, "Is the machine overloaded?") from None
    except (docker.errors.DockerException, requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        raise _unreachable(doing, error) from None


def _refused(doing: str, said: str) -> SandboxError:
    if "no space left" in said.lower():
        return SandboxError(Cause.DISK, f"{doing}: the engine's disk is full", "Free some space where the engine keeps its data")
    if "executable file not found" in said:
        return SandboxError(Cause.IMAGE_BROKEN, f"{doing}: the image has no python3", "Run `assay engine image`")
    if "runtime" in said.lower() and "unknown" in said.lower():
        return SandboxError(Cause.OPTION_IGNORED, f"{doing}: {said}", "Install that runtime or leave out --runtime")
    return SandboxError(Cause.ENGINE_LOST, f"{doing}: the engine refused: {said}", "Look at `assay engine status`")


def _unreachable(doing: str, error: Exception) -> SandboxError:
    text = str(error)
    if "Permission denied" in text or "PermissionError" in text:
        return SandboxError(Cause.ENGINE_DENIED, f"{doing}: the engine's socket may not be used", _DENIED)
    if "client version" in text or ("API version" in text and "too" in text):
        return SandboxError(Cause.ENGINE_OLD, f"{doing}: {text}", "Docker Engine 20.10 or newer is needed")
    if any(sign in text for sign in _NOBODY):
        return SandboxError(Cause.ENGINE_MISSING, f"{doing}: no Docker Engine answers", "Run `assay engine up`")
    return SandboxError(Cause.ENGINE_LOST, f"{doing}: the connection to the engine failed: {text[:300]}", _LOOK)


@dataclass(frozen=True, slots=True)
class Running:
    """A started container with its channel. It removes itself when its stdin closes or it is killed."""

    id: str
    channel: Channel


class Engine:
    """One Docker Engine, local or remote, as ``DOCKER_HOST`` or ``host`` says. Methods raise SandboxError only."""

    def __init__(self, host: str | None = None) -> None:
        self.host = host or os.environ.get("DOCKER_HOST") or ""
        self._instance = uuid.uuid4().hex
        self._unsure = False
        """Some container may exist of which we do not know the id."""
        with translated("connecting"):
            self.client = _client(host)
            self._version: dict[str, Any] = dict(self.client.version())

    def close(self) -> None:
        """Ends the connection. A container whose creation was never answered is looked for first."""
        if self._unsure:
            with contextlib.suppress(SandboxError):
                self._remove_all(f"{LABEL_INSTANCE}={self._instance}", lambda _: True)
        with translated("closing"):
            self.client.close()

    def describe(self) -> str:
        """Name and version of the engine."""
        parts = self._version.get("Components") or [{}]
        return f"{parts[0].get('Name') or 'Docker Engine'} {self._version.get('Version', '?')}"

    @property
    def is_podman(self) -> bool:
        """Whether this is Podman's Docker-compatible service."""
        return "podman" in self.describe().lower()

    def version(self) -> dict[str, Any]:
        """What the engine says of its version, as it says it."""
        return self._version

    def image(self, name: str) -> tuple[str, dict[str, str]]:
        """Id and labels of an image. Raises SandboxError (IMAGE_MISSING)."""
        with translated(f"looking for image {name}"):
            found = self.client.images.get(name)
            return str(found.id), dict(found.labels or {})

    def start(self, spec: ContainerSpec, opening: bytes) -> Running:
        """Creates, attaches, starts, checks by inspection, and sends the runner. Leaves no container behind on failure."""
        options = create_options(spec)
        options["labels"][LABEL_INSTANCE] = self._instance
        if self.is_podman:
            options = for_podman(options)
        try:
            with translated("starting a sandbox container"):
                container = self.client.containers.create(**options)
        except SandboxError:
            self._unsure = True
            raise
        identity = str(container.id)
        undo = contextlib.ExitStack()
        try:
            with translated("starting a sandbox container"):
                sock = undo.enter_context(contextlib.closing(plain(self.client.api.attach_socket(identity, _ATTACH))))
                container.start()
                inspected = self.client.api.inspect_container(identity)
            wrong = deviations(spec, as_docker(inspected) if self.is_podman else inspected)
            if wrong:
                what = f"the engine did not honour the sandbox's options: {'; '.join(wrong)}"
                raise SandboxError(Cause.OPTION_IGNORED, what, "Nothing was run")
            channel = Channel(sock)
            channel.send(opening, TIMEOUT_S)
        except BaseException:
            undo.close()
            with contextlib.suppress(SandboxError):
                self.remove(identity)
            raise
        return Running(identity, channel)

    def remove(self, identity: str) -> None:
        """Kills and removes a container; one that is already gone is fine."""
        with translated("removing a sandbox container"):
            try:
                self.client.api.remove_container(identity, force=True, v=True)
            except docker.errors.NotFound:
                return
            except docker.errors.APIError as error:
                if error.status_code != 409:  # its removal is already in progress
                    raise

    def sweep(self) -> int:
        """Removes containers whose owner on this host is dead; how many."""
        return self._remove_all(LABEL, lambda labels: owner.is_dead(labels.get(LABEL, "")))

    def _remove_all(self, label: str, unwanted: Callable[[dict[str, str]], bool]) -> int:
        with translated("looking for orphaned containers"):
            found = self.client.api.containers(all=True, filters={"label": label})
        dead = [c["Id"] for c in found if unwanted(c.get("Labels") or {})]
        for identity in dead:
            self.remove(identity)
        return len(dead)


def _client(host: str | None) -> Any:
    """A client that speaks the engine's own API version."""
    probe = _silent_client(host, OLDEST_API)
    try:
        answer = probe.api.version(api_version=False)
    finally:
        probe.close()
    spoken = str(answer.get("ApiVersion", "")) if isinstance(answer, dict) else ""
    if not spoken:
        raise SandboxError(Cause.ENGINE_LOST, "what answers is no Docker Engine", "Look at DOCKER_HOST")
    if _numbers(spoken) < _numbers(OLDEST_API):
        raise SandboxError(Cause.ENGINE_OLD, f"the engine speaks API {spoken} only", "Docker Engine 20.10 or newer is needed")
    return _silent_client(host, spoken)


def _silent_client(host: str | None, version: str) -> Any:
    """A client that has not spoken to its engine yet."""
    if host:
        client = docker.DockerClient(base_url=host, version=version, timeout=TIMEOUT_S, max_pool_size=32)
    else:
        client = docker.from_env(version=version, timeout=TIMEOUT_S, max_pool_size=32)
    theirs = client.api.get_adapter(client.api.base_url)
    if isinstance(theirs, unixconn.UnixHTTPAdapter):
        client.api.mount("http+docker://", _UnixAdapter(theirs.socket_path, TIMEOUT_S, max_pool_size=32))
    return client


class _UnixConnection(unixconn.UnixHTTPConnection):
    """The SDK's, which would leave its socket open where nobody serves the path."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(self.timeout)
            self.sock.connect(self.unix_socket)
        except BaseException:
            self.close()
            raise


class _UnixPool(unixconn.UnixHTTPConnectionPool):
    def _new_conn(self) -> Any:
        return _UnixConnection(self.base_url, self.socket_path, TIMEOUT_S)


class _UnixAdapter(unixconn.UnixHTTPAdapter):
    def get_connection(self, url: Any, proxies: Any = None) -> _UnixPool:
        with self.pools.lock:
            if (pool := self.pools.get(url)) is None:
                pool = self.pools[url] = _UnixPool(url, self.socket_path, TIMEOUT_S, maxsize=self.max_pool_size)
        return pool


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def ping(host: str | None = None) -> str | None:
    """The version of the engine that answers, as it says it; None where none does."""
    try:
        engine = Engine(host)
    except SandboxError:
        return None
    try:
        return str(engine.version().get("Version", ""))
    finally:
        engine.close()


def or_none(call: Callable[[], T]) -> T | None:
    """What ``call`` returns; None where the engine says that there is no such thing."""
    try:
        return call()
    except docker.errors.NotFound:
        return None


@contextlib.contextmanager
def patience(client: Any, seconds: float) -> Iterator[None]:
    """Lets the engine be silent for so long, instead of the client's usual time."""
    usual = client.api.timeout
    client.api.timeout = seconds
    try:
        yield
    finally:
        client.api.timeout = usual


def run_script(client: Any, image: str, script: str, timeout_s: float = 300.0) -> bytes:
    """What a shell script prints in a fresh container of ``image`` without network, which is removed afterwards.

    Raises:
        SandboxError: it could not run or exited with something else than 0 (IMAGE_BROKEN).
    """
    limits = [docker.types.Ulimit(name="nofile", soft=1024, hard=1024), docker.types.Ulimit(name="nproc", soft=1024, hard=1024)]
    with translated(f"running a script in {image}"), patience(client, timeout_s):
        container = client.containers.create(
            image, ["sh", "-c", script], entrypoint=[], network_mode="none", labels={LABEL: owner.label()}, ulimits=limits
        )
        try:
            container.start()
            code = int(container.wait()["StatusCode"])
            output = bytes(container.logs(stdout=True, stderr=code != 0))
        finally:
            container.remove(force=True)
    if code != 0:
        last = [*output.decode(errors="replace").strip().splitlines(), "(no output)"][-1 if not output.strip() else -2]
        raise SandboxError(Cause.IMAGE_BROKEN, f"a script in {image} exited with {code}: {last}")
    return output
