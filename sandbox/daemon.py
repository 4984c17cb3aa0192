"""One Docker daemon as a process of this machine: told from a stale pid file, started detached, waited for."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from sandbox.interface import Cause, SandboxError

Say = Callable[[str], None]
"""Tells a person what happens, a sentence at a time."""

START_S = 60.0
"""How long a daemon may take until it answers."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """Where one Docker daemon keeps its things. The default is the system's own."""

    binary: str
    socket: Path = Path("/var/run/docker.sock")
    pid_file: Path = Path("/var/run/docker.pid")
    exec_root: Path = Path("/var/run/docker")
    system_containerd: Path = Path("/run/containerd/containerd.sock")
    """dockerd takes the mere existence of this socket for a running containerd."""
    log: Path = field(default_factory=lambda: platformdirs.user_state_path("assay") / "dockerd.log")
    options: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        return f"unix://{self.socket}"


def pid_of(pid_file: Path, comm: str) -> int | None:
    """The process that a pid file names, if it is alive, no zombie, and really is a ``comm``; else None."""
    try:
        pid = int(pid_file.read_text().strip())
        name, _, rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").partition(" (")[2].rpartition(") ")
    except (OSError, ValueError):
        return None
    return pid if name == comm[:15] and rest[:1] not in ("Z", "X") else None


def end_orphan(daemon: Daemon, say: Say, patience_s: float = 5.0) -> None:
    """Ends the containerd of a daemon that is dead: a new daemon would wait for it in vain, as its log pipe is broken."""
    orphan = pid_of(daemon.exec_root / "containerd" / "containerd.pid", "containerd")
    if orphan is None or str(daemon.exec_root) not in " ".join(command_of(orphan)):
        return
    say(f"ending process {orphan}: the containerd of a Docker daemon that is gone")
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(orphan, number)
        deadline = time.monotonic() + patience_s
        while command_of(orphan) and time.monotonic() < deadline:
            time.sleep(0.05)


def command_of(pid: int) -> list[str]:
    """The command line of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def sweep_stale(daemon: Daemon, say: Say) -> None:
    """Removes what a dead daemon left behind and a new one would believe: pid files, its containerd, a socket nobody serves.

    Call it only when the daemon itself is known to be dead.
    """
    end_orphan(daemon, say)
    for pid_file, comm in (
        (daemon.pid_file, "dockerd"),
        (daemon.exec_root / "containerd" / "containerd.pid", "containerd"),
        (daemon.exec_root / "containerd" / "docker-containerd.pid", "containerd"),
    ):
        if pid_file.exists() and pid_of(pid_file, comm) is None:
            say(f"removing {pid_file}: the process it names is gone or is no {comm}")
            pid_file.unlink(missing_ok=True)
    if daemon.system_containerd.is_socket() and not _is_served(daemon.system_containerd):
        say(f"removing {daemon.system_containerd}: nobody serves it")
        daemon.system_containerd.unlink(missing_ok=True)


def _is_served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def spawn(daemon: Daemon, *more: str) -> int:
    """Starts the daemon detached, in its own session, with its output in ``daemon.log``. Returns its process id."""
    daemon.log.parent.mkdir(parents=True, exist_ok=True)
    argv = [daemon.binary, "-H", daemon.host, "--pidfile", str(daemon.pid_file), *daemon.options, *more]
    if daemon.exec_root != Path("/var/run/docker"):
        argv += ["--exec-root", str(daemon.exec_root)]
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(daemon.log), flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    env = {k: v for k, v in os.environ.items() if k not in ("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CONTEXT")}
    return os.posix_spawn(daemon.binary, argv, env, file_actions=files, setsid=True)


def wait_until_it_answers(daemon: Daemon, pid: int | None, say: Say, timeout_s: float = START_S) -> None:
    """Returns when the daemon answers.

    Args:
        pid: a child of ours that is the daemon, so that its early end is noticed; None where it is somebody else's.

    Raises:
        SandboxError: it ended, or did not answer in time.
    """
    from sandbox.engine import ping

    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        answer = ping(daemon.host)
        if answer is not None:
            say(f"the Docker Engine answers ({answer})")
            return
        if pid is not None and _has_ended(pid):
            raise SandboxError(
                Cause.ENGINE_MISSING, f"the Docker daemon ended at once: {last_words(daemon.log)}", f"Its log is {daemon.log}"
            )
        time.sleep(0.2)
    raise SandboxError(
        Cause.ENGINE_LOST,
        f"the Docker daemon does not answer after {timeout_s:.0f} s: {last_words(daemon.log)}",
        f"Its log is {daemon.log}",
    )


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def last_words(log: Path, lines: int = 3) -> str:
    """The end of a daemon's log in one line, or a stand-in where there is none."""
    words = [line.strip() for line in read_lines(log) if line.strip()]
    return " | ".join(words[-lines:]) or "(no log)"


def read_lines(path: Path) -> list[str]:
    """The lines of a text file, none where it cannot be read."""
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []
