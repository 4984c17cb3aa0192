"""One run: start the job's processes, drain them, watch the clock and the client, note what is left. Guest side."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sandbox.guest import memory, private, procs
from sandbox.guest.notify import prefer_same_cpu
from sandbox.guest.parents import Key, Parent, Parents, Refused, fresh_key
from sandbox.guest.reads import Reads
from sandbox.guest.supervisor import Supervisor

GRACE_S = 0.25
"""How long output may still come from other processes after a command itself has ended."""

SETTLE_S = 0.05
"""How long a process that is on its way out may take before it is called a leftover."""

NO_PROCESS = 254 << 8
"""Status of a command that could not be started: what Bash's own ``fork`` error gives."""

HOST_INPUT = b"of-the-host-5c1e8b20\n" * 4
"""Stands on the standard input of a skill: the next messages of its host, as it were."""

PRIVATE_BYTES = 16 << 20
CHUNK = 1 << 16


class ClientGone(Exception):
    """The client's end of stdin is closed: nobody wants the result."""


@dataclass
class Sink:
    """Drains a pipe; keeps the first ``limit`` bytes."""

    fd: int
    limit: int
    kept: bytearray = field(default_factory=bytearray)
    total: int = 0
    open: bool = True

    def drain(self) -> None:
        data = os.read(self.fd, CHUNK)
        if not data:
            self.close()
            return
        self.total += len(data)
        if len(self.kept) < self.limit:
            self.kept += data[: self.limit - len(self.kept)]

    def close(self) -> None:
        if self.open:
            self.open = False
            os.close(self.fd)


@dataclass
class Process:
    """One process that a warm parent made for this run."""

    pid: int
    out: Sink
    err: Sink
    private: Sink
    key: bytes
    """By which its frames are known."""
    cwd: str
    status: int | None = None
    ended_in: str = ""


class Run:
    """The processes of one run and the loop that serves them. ``spec`` is the client's request."""

    def __init__(
        self, spec: dict[str, Any], parts: list[bytes], parents: Parents, reads: Reads, elsewhere: tuple[str, ...]
    ) -> None:
        self.spec, self.parts, self.parents, self.reads = spec, parts, parents, reads
        self.workdir: str = spec["workdir"]
        self.done: list[Process] = []
        self.ended = "exited"
        self.fault_reached = False
        self._live: dict[int, Process] = {}
        self._poll = select.poll()
        self._poll.register(0, 0)  # only the hang-up of the client
        self._serving: dict[int, Callable[[int], None]] = {0: self._client_gone}
        self._listeners: set[int] = set()
        watch = spec["watch"]
        self.supervisor = Supervisor(watch, self.workdir, elsewhere, self._crash, self._hold) if watch else None
        self._sinks: list[Sink] = []
        self._inputs: list[int] = []
        self._deadline = 0.0
        self._kill_at = 0.0
        self._held_until = 0.0
        """Until when a call of the run is held; 0 = none is."""
        self.duration_s = 0.0

    # ------------------------------------------------------------ the run as a whole

    def perform(self) -> None:
        """Runs the job to its end, its deadline or its fault. Raises ClientGone."""
        start = time.monotonic()
        self._deadline = start + self.spec["wall"]
        self._kill_at = start + self.spec["kill_after"] if self.spec["kill_after"] is not None else float("inf")
        watching = memory.as_job() if self.supervisor else contextlib.nullcontext()
        with watching, self._reads():
            if self.spec["kind"] == "skill":
                self._skill(self.spec["watch"])
            else:
                self._shell()
        self.duration_s = time.monotonic() - start

    def _skill(self, watch: dict[str, Any] | None) -> None:
        if watch and watch["fault"] and watch["fault"]["type"] == "overtake":
            self.parents.get(self._skills()).need(2)
        self._wait([self._start(None, ".", watch)])

    def _skills(self) -> Key:
        return Key("skill", self.spec["hash_seed"], self.spec["locale"])

    @contextlib.contextmanager
    def _reads(self) -> Iterator[None]:
        """Notes which workspace files are opened for reading, where that is asked for and not announced anyway."""
        if self.supervisor is None or not self.spec["watch"]["reads"]:
            yield
            return
        self.reads.start(self.spec["directories"])
        self._serve(self.reads.fd, self._note_reads)
        try:
            yield
        finally:
            self._note_reads(0)
            self._unserve(self.reads.fd)
            self.reads.stop()

    def _note_reads(self, _: int) -> None:
        for path in self.reads.take():
            if self.supervisor is not None:
                self.supervisor.note_read(path)

    def _shell(self) -> None:
        cwd = "."
        for command in self.spec["commands"]:
            process = self._start(command, cwd, self.spec["watch"])
            self._wait([process])
            if self.ended != "exited":
                return
            cwd = self._relative(process.ended_in)

    def _relative(self, path: str) -> str:
        """A final directory as the start of the next command: below the workspace, else its root."""
        if path.startswith(self.workdir + "/"):
            return path[len(self.workdir) + 1 :]
        return "."

    # ------------------------------------------------------------ starting

    def _start(self, command: str | None, cwd: str, watch: dict[str, Any] | None) -> Process:
        spec = self.spec
        parent = self.parents.get(self._skills() if command is None else Key("shell"))
        self._serve(parent.line.fileno(), partial(self._parent_says, parent))
        secret = fresh_key()
        order = {
            "kind": "skill" if command is None else "exec",
            "argv": [] if command is None else ["/bin/bash", "-c", command],
            "key": secret.hex(),
            "cwd": cwd,
            "probe": not self.done,
            "classes": watch["classes"] if watch else [],
            "input": spec["input"],
            **{k: spec[k] for k in ("function", "trace", "cancel", "module", "env", "workdir", "umask", "cpus", "file_bytes")},
        }
        with memory.as_runner():  # pipes of the job's own uid could be opened by it, and read
            pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(3)]
            for _, fd in pipes[:2]:
                with contextlib.suppress(PermissionError):  # gVisor's pipes have no mode
                    os.fchmod(fd, 0o622)  # for /dev/stdout and /dev/stderr by name, to write only
        writers = [w for _, w in pipes]
        given = [self._host_input()] if spec["input"] else []
        control = self._control() if watch else None
        try:
            fds = [*given, *writers, *([control.fileno()] if control else [])]
            pid = parent.spawn(order, self.parts, fds, self._exited)
        except Refused as error:
            pid = 0
            os.write(writers[1], f"/bin/bash: fork: {error}\n".encode())
        for fd in writers:
            os.close(fd)
        if control is not None:
            control.close()
        keep = spec["output"]
        sinks = [Sink(r, limit) for (r, _), limit in zip(pipes, (keep, keep, PRIVATE_BYTES), strict=True)]
        process = Process(pid, sinks[0], sinks[1], sinks[2], secret, cwd)
        for sink in sinks:
            self._serve(sink.fd, partial(self._drain, sink))
        self._sinks += sinks
        if pid:
            self._live[pid] = process
        else:
            process.status = NO_PROCESS
        self.done.append(process)
        return process

    def _host_input(self) -> int:
        """What a skill gets as its standard input. A pipe, as a host's is: by another name it is the same one."""
        with memory.as_runner():
            reader, writer = os.pipe2(os.O_CLOEXEC)
        with contextlib.suppress(PermissionError):
            os.fchmod(reader, 0o644)
        os.write(writer, HOST_INPUT)
        os.close(writer)
        self._inputs.append(reader)
        return reader

    def took_input(self) -> bool:
        """Whether some process took what stood on its standard input."""
        return any(_waiting(fd) < len(HOST_INPUT) for fd in self._inputs)

    def _control(self) -> socket.socket:
        """The job's end of a line over which it hands its listener to the supervisor."""
        ours, theirs = socket.socketpair()
        self._serve(ours.fileno(), partial(self._ready, ours))
        return theirs

    def _ready(self, line: socket.socket, _: int) -> None:
        """A job's process is under supervision."""
        self._unserve(line.fileno())
        with line:
            fds = socket.recv_fds(line, 16, 1)[1]
        for fd in fds:
            prefer_same_cpu(fd)
            self._listeners.add(fd)
            self._serve(fd, partial(self._announced, fd))

    def _announced(self, listener: int, events: int) -> None:
        if events & select.POLLIN and self.supervisor is not None:
            self.supervisor.answer(listener)
        elif events & select.POLLHUP:  # every process under this filter is gone
            self._unserve(listener)
            self._listeners.discard(listener)
            os.close(listener)

    def _crash(self) -> None:
        self._end("killed")

    # ------------------------------------------------------------ a second run in between

    def _hold(self) -> None:
        """Takes no more calls from the run, so that all its processes stop at their next one."""
        now = time.monotonic()
        self._held_until = now + (self._deadline - now) / 2
        for listener in self._listeners:
            self._unserve(listener)

    def _overtake(self, group: list[Process]) -> None:
        """Starts the job once more; lets the held run go on when that has ended or has had its share of the time."""
        if len(group) == 1:
            group.append(self._start(None, ".", None))
        ended = group[1].status is not None
        if not ended and time.monotonic() < self._held_until:
            return
        self._held_until = 0.0
        assert self.supervisor is not None
        self.supervisor.reached = ended
        for listener in self._listeners:
            self._serve(listener, partial(self._announced, listener))
        self.supervisor.go_on()

    # ------------------------------------------------------------ serving

    def _serve(self, fd: int, action: Callable[[int], None]) -> None:
        self._serving[fd] = action
        self._poll.register(fd, select.POLLIN)

    def _unserve(self, fd: int) -> None:
        del self._serving[fd]
        self._poll.unregister(fd)

    def _client_gone(self, _: int) -> None:
        raise ClientGone

    def _drain(self, sink: Sink, _: int) -> None:
        sink.drain()
        if not sink.open:
            self._unserve(sink.fd)

    def _parent_says(self, parent: Parent, _: int) -> None:
        for message in parent.exits():
            self._exited(message)

    def _exited(self, frame: dict[str, Any]) -> None:
        process = self._live.pop(frame["exit"], None)
        if process is not None:
            process.status, process.ended_in = frame["status"], frame["cwd"]

    def _turn(self, until: float) -> None:
        """Serves what is ready, waiting no longer than ``until``."""
        wait = max(0.0, until - time.monotonic())
        for fd, events in self._poll.poll(min(wait, 3600.0) * 1000):
            action = self._serving.get(fd)
            if action is not None:
                action(events)

    def _wait(self, group: list[Process]) -> None:
        """Until every process of the group has ended and its pipes are closed, or time is up."""
        grace = float("inf")
        while True:
            if self._held_until:
                self._overtake(group)
            now = time.monotonic()
            if all(p.status is not None for p in group):
                if not any(s.open for p in group for s in (p.out, p.err)):
                    return
                grace = min(grace, now + GRACE_S)
                if now >= grace:
                    return
            if now >= self._kill_at:
                self.fault_reached = True
                self._end("killed")
                self._kill_at = float("inf")
            elif now >= self._deadline:
                self._end("timeout")
                self._deadline = float("inf")
            self._turn(min(grace, self._held_until or self._deadline, self._deadline, self._kill_at))

    def _end(self, why: str) -> None:
        self.ended = why
        self.kill()

    def kill(self) -> tuple[list[int], bool]:
        """Kills every process of the run: what could not be killed, and whether there was anything to kill."""
        return procs.kill_all(self.parents.pids())

    # ------------------------------------------------------------ afterwards

    def leftovers(self) -> list[list[str]]:
        """Processes that outlived the run, described. They still run."""
        keep = self.parents.pids()
        deadline = time.monotonic() + SETTLE_S
        while (left := procs.strangers(keep)) and time.monotonic() < deadline:
            self._turn(time.monotonic() + 0.002)
        if not left:
            return []
        found = [["process", procs.describe(pid)] for pid in left[:50]]
        return found + [["abstract-socket", name] for name in procs.abstract_sockets()]

    def close(self) -> None:
        """Takes what is still in the pipes and closes every descriptor of the run."""
        for sink in self._sinks:
            while sink.open and select.select([sink.fd], [], [], 0)[0] and sink.total < 1 << 28:
                sink.drain()
            sink.close()
        for fd in self._inputs:
            os.close(fd)
        for fd in [fd for fd in self._serving if fd != 0]:
            self._poll.unregister(fd)
        for listener in self._listeners:
            os.close(listener)

    def messages(self) -> list[tuple[list[bytes], list[str]]]:
        """Per process, what it said over its private pipe, and findings about that."""
        out = []
        for process in self.done:
            found, notes = private.parse_frames(process.key, bytes(process.private.kept))
            if process.private.total > len(process.private.kept):
                notes.append("a flood of bytes came over the job's private pipe")
            out.append((found, notes))
        return out


def _waiting(fd: int) -> int:
    """How many bytes a pipe still holds."""
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), sys.byteorder)
