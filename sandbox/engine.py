"""The one importer of the ``docker`` SDK: connections, and what its errors mean in our terms."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import docker
import docker.errors
import urllib3.exceptions

from sandbox.interface import Cause, SandboxError

T = TypeVar("T")

LABEL_OWNER = "assay.owner"
"""Of every container: ``<host>/<pid>/<start time>`` of the process that made it."""

CONNECT_S = 10.0

OLDEST_API = "1.40"
"""Of Docker Engine 19.03, the first whose answers we know. The one in use is what the engine speaks."""


def connect(host: str | None = None, timeout_s: float = 60.0) -> Any:
    """A client of the engine at ``host`` (None = as DOCKER_HOST and the Docker context say).

    Raises:
        SandboxError: no engine answers, it refuses this user, or it is too old.
    """
    with translated():
        probe = _client(host, OLDEST_API, timeout_s)
        try:
            _knock(getattr(probe.api.get_adapter(probe.api.base_url), "socket_path", None))
            spoken = str(probe.version(api_version=False)["ApiVersion"])
        finally:
            probe.close()
        if _numbers(spoken) < _numbers(OLDEST_API):
            raise SandboxError(*classify(f"API {spoken} is too old"))
        return _client(host, spoken, timeout_s)


def _client(host: str | None, version: str, timeout_s: float) -> Any:
    """A client that has not spoken to its engine yet."""
    if host is None:
        return docker.from_env(timeout=int(timeout_s), version=version)
    return docker.DockerClient(base_url=host, timeout=int(timeout_s), version=version)


def _knock(path: str | None) -> None:
    """Raises OSError where nobody serves a Unix socket. The SDK would leave its own socket open in that case."""
    if path is not None:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(CONNECT_S)
            probe.connect(path)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def ping(host: str | None = None) -> str | None:
    """The version of the engine that answers, as it says it; None where none does."""
    try:
        client = connect(host, CONNECT_S)
    except SandboxError:
        return None
    try:
        with translated():
            return str(client.version()["Version"])
    except SandboxError:
        return None
    finally:
        client.close()


def owner() -> str:
    """Names this process, so that a later start can tell whether it still lives."""
    started = Path("/proc/self/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    return f"{platform.node()}/{os.getpid()}/{started}"


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turns every error of the SDK and of its transport into a SandboxError that names the cause."""
    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise SandboxError(Cause.IMAGE_MISSING, _words(error), "Run: assay engine image") from error
    except (docker.errors.DockerException, urllib3.exceptions.HTTPError, OSError) as error:
        raise SandboxError(*classify(_words(error))) from error


def classify(words: str) -> tuple[Cause, str, str]:
    """Cause, sentence and advice for what the SDK said."""
    text = words.lower()
    if "permission denied" in text:
        return Cause.ENGINE_DENIED, "the Docker Engine's socket refuses this user", "Join the group docker, or run as root"
    if "no space left on device" in text:
        return Cause.DISK, f"the engine's disk is full: {words}", "Free disk space where the engine keeps its data"
    if "too old" in text or "too new" in text:
        return Cause.ENGINE_OLD, f"engine and client speak no common version: {words}", "Docker Engine 20.10 or newer is needed"
    if "filenotfounderror" in text or "no such file" in text or "connection refused" in text:
        return Cause.ENGINE_MISSING, "no Docker Engine answers", "Run: assay engine up"
    if "timed out" in text:
        return Cause.ENGINE_LOST, f"the Docker Engine did not answer in time: {words}", "Is its machine overloaded?"
    return Cause.ENGINE_LOST, f"the Docker Engine failed: {words}", "Run: assay engine status"


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:400] or type(error).__name__


def or_none(call: Callable[[], T]) -> T | None:
    """What ``call`` returns; None where the engine says that there is no such thing."""
    try:
        return call()
    except docker.errors.NotFound:
        return None


@contextlib.contextmanager
def timeout(client: Any, seconds: float) -> Iterator[None]:
    """Lets the engine be silent for so long, instead of the client's usual time."""
    usual = client.api.timeout
    client.api.timeout = seconds
    try:
        yield
    finally:
        client.api.timeout = usual


def version_facts(client: Any) -> Mapping[str, Any]:
    """The engine's ``/version`` and ``/info`` answers, merged under those two names."""
    with translated():
        return {"version": client.version(), "info": client.info()}


def run_script(client: Any, image: str, script: str, timeout_s: float = 300.0) -> bytes:
    """What a shell script prints in a fresh container of ``image`` without network, which is removed afterwards.

    Raises:
        SandboxError: it could not run or exited with something else than 0 (IMAGE_BROKEN).
    """
    with translated(), timeout(client, timeout_s):
        container = client.containers.create(
            image,
            ["sh", "-c", script],
            entrypoint=[],
            name=f"assay-inventory-{uuid.uuid4().hex[:12]}",
            network_mode="none",
            labels={LABEL_OWNER: owner()},
            ulimits=[docker.types.Ulimit(name="nofile", soft=1024, hard=1024)],
        )
        try:
            container.start()
            code = int(container.wait()["StatusCode"])
            output = bytes(container.logs(stdout=True, stderr=code != 0))
        finally:
            container.remove(force=True)
    if code != 0:
        raise SandboxError(Cause.IMAGE_BROKEN, f"a script in {image} exited with {code}: {_last_line(output)}")
    return output


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "(no output)"
