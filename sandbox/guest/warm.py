"""A warm parent: it forks one process for each job, ahead of time, so that a job starts without waiting for the fork.

Two kinds: ``skill`` has everything loaded that skills import; ``shell`` has next to nothing, and shares its working
directory with its children, which is how the end of a ``cd`` is seen. It speaks with the runner over descriptor 3:
``fork`` in; ``standby`` (with the line to a process that waits for its job) and ``exit`` out. It and the waiting
processes stay uid 0, so that no job can touch them.
"""

from __future__ import annotations

import io
import json
import os
import select
import signal
import socket
import sys
from typing import Any, NoReturn

from sandbox.guest import enter, guard, private, wire

CONTROL = 3
MESSAGE = 1 << 16


class WarmParent:
    """``sharing``: children share the working directory (shell). ``ready``: what a child does before its job comes."""

    def __init__(self, sharing: bool, unlocked: str) -> None:
        self._sharing, self._unlocked = sharing, unlocked
        self._line = socket.socket(fileno=CONTROL)
        self._null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)

    def serve(self) -> NoReturn:
        """Until the runner closes its end."""
        wake_in, wake_out = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_out, warn_on_full_buffer=False)
        self._say({"hello": os.getpid(), "hash": f"{hash('probe') & 0xFFFFFFFF:08x}", "unlocked": self._unlocked})
        poll = select.poll()
        poll.register(CONTROL, select.POLLIN)
        poll.register(wake_in, select.POLLIN)
        self._fork()
        while True:
            for fd, _ in poll.poll():
                if fd == CONTROL:
                    if not self._line.recv(MESSAGE):
                        os._exit(0)
                    self._fork()
                else:
                    os.read(wake_in, 512)
                    self._report_exits()

    def _say(self, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        socket.send_fds(self._line, [json.dumps(message).encode("ascii")], fds)

    def _report_exits(self) -> None:
        """Says which children have ended and where, and forks as many again."""
        ended = 0
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            self._say({"exit": pid, "status": status, "cwd": self._cwd()})
            ended += 1
        for _ in range(ended):
            self._fork()

    def _cwd(self) -> str:
        """Where the last command ended; empty where that is gone. Goes back to the root."""
        if not self._sharing:
            return ""
        try:
            return os.getcwd()
        except OSError:
            return ""
        finally:
            os.chdir("/")

    def _fork(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            pid = enter.clone_sharing_cwd() if self._sharing else os.fork()
        except OSError as error:  # a run has used up all processes
            self._say({"refused": error.strerror or "fork failed"})
        else:
            if pid == 0:
                ours.close()
                self._stand_by(theirs)
            self._say({"standby": pid}, (ours.fileno(),))
        ours.close()
        theirs.close()

    def _stand_by(self, line: socket.socket) -> None:
        """A child: waits for its job and becomes it. Never comes back, whatever happens."""
        status = 70
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if not self._sharing:
                _touch()
            if (job := _taken(line)) is not None:
                status = _become(*job[:2], self._null, job[2])
        finally:
            os._exit(status)


def _touch() -> None:
    """Runs a small skill, so that the pages which every skill needs are this process's own before its job comes."""
    from sandbox.guest import job

    job.rehearse()
    wire.read_frame(io.BytesIO(wire.encode({"kind": "skill"}, [b"", b""])).read)
    enter.take_environment(dict(os.environ))
    enter.probe()


def _taken(line: socket.socket) -> tuple[dict[str, Any], list[bytes], list[int]] | None:
    """The job that comes over the line; None where the runner has gone. Its bytes, with the key in them, are not kept."""
    first, fds, _, _ = socket.recv_fds(line, MESSAGE, 8)
    if not first:
        return None
    spec, parts = wire.read_frame(_Rest(line, first).read)
    return spec, parts, fds


class _Rest:
    """Reads on from a socket after the first bytes came together with descriptors."""

    def __init__(self, line: socket.socket, first: bytes) -> None:
        self._line, self._held = line, first

    def read(self, count: int) -> bytes:
        while len(self._held) < count:
            more = self._line.recv(1 << 20)
            if not more:
                os._exit(0)
            self._held += more
        out, self._held = self._held[:count], self._held[count:]
        return out


def _become(spec: dict[str, Any], parts: list[bytes], null: int, fds: list[int]) -> int:
    """From a waiting process to the job and through it; the exit status."""
    given = fds.pop(0) if spec["input"] else null
    out, err, hidden, *control = fds
    hidden, line = enter.take_descriptors(given, out, err, hidden, control[0] if control else None)
    say = private.speaker(bytes.fromhex(spec.pop("key")), hidden)
    try:
        enter.become_job(spec)
        enter.take_environment(spec["env"])
        seen = enter.probe() if spec["probe"] else {}
        if seen and spec["kind"] == "exec":
            seen["hash_seed"] = f"PYTHONHASHSEED={spec['env'].get('PYTHONHASHSEED', '')}"  # what its own Pythons will see
        if line is not None:
            enter.submit(line, spec["classes"])
    except (OSError, LookupError) as error:
        say({"failed": f"the job's process could not be set up: {error}"})
        return 70
    if spec["kind"] == "exec":
        say({"probe": seen})
        _execute(spec)
    from sandbox.guest import audit, job

    audit.install(say, job.serve.__code__)
    del say, hidden, fds
    return job.serve(spec, parts, seen)


def _execute(spec: dict[str, Any]) -> NoReturn:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execve(spec["argv"][0], spec["argv"], spec["env"])
    except OSError as error:
        os.write(2, f"{spec['argv'][0]}: {error.strerror}\n".encode())
        os._exit(127)


def main() -> NoReturn:
    """``argv[1]`` is ``skill`` or ``shell``."""
    enter.prepare()
    if sys.argv[1] == "skill":
        from sandbox.guest import preload

        preload.everything()
    WarmParent(sharing=sys.argv[1] == "shell", unlocked=guard.lock()).serve()
