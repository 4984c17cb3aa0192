"""PID 1 of the container: keeps warm parents, prepares workspaces, runs jobs one after another, proves that it is clean.

It reads requests from stdin and answers on stdout; when stdin closes it ends, and the container with it. Any doubt about
the state of the container is said to the client, which replaces it. Guest side.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import sys
import time
from typing import Any, NamedTuple, NoReturn

from sandbox.guest import belongings, devices, probes, procs, tree, wire
from sandbox.guest.parents import Parents
from sandbox.guest.reads import Reads
from sandbox.guest.run import ClientGone, Run
from sandbox.guest.store import Store, digest, manifest

FS_IOC_GETFLAGS, FS_IOC_SETFLAGS = 0x80086601, 0x40086602
"""Of ``linux/fs.h``."""


class Runner:
    """State that lives as long as the container."""

    def __init__(self, boot: str, payload: bytes) -> None:
        self.store = Store()
        self.parents = Parents(boot, payload)
        self.client_has: set[str] = set()
        """Contents and manifests that need not be sent again."""
        self.last: dict[str, bytes] = {}
        self.dirty = ""
        """Why this container must not be used again."""
        self.scratch: list[str] = []
        self.places: dict[str, Place] = {}
        """Every writable place, as it was when nothing had run yet."""
        self.reads = Reads()
        self.counters = procs.counters()
        """As they were when last nothing ran: between runs nothing can move them."""
        self.devices = devices.keep_few()
        self.own_state = _own_state()
        self.mounts = procs.Mounts()

    # ------------------------------------------------------------ messages

    def answer(self, header: dict[str, Any], parts: list[bytes]) -> tuple[dict[str, Any], list[bytes]]:
        kind = header["type"]
        if kind == "hello":
            return self._hello(header)
        if kind == "put":
            return self._put(header, parts)
        if kind == "tree":
            return {"type": "tree"}, [manifest((self.store.tree(header["name"]) or {}).values())]
        if kind == "get":
            return {"type": "contents", "refs": header["refs"]}, [self.last[ref] for ref in header["refs"]]
        return self._run(header, parts)

    def _hello(self, header: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        self.scratch = [p for p in header["scratch"] if os.path.isdir(p)]  # gVisor has no message queues
        self.places = {p: _taken_over(p) for p in (*header["workdirs"], *self.scratch)}
        for place, own in self.places.items():
            _restore(place, own)  # the first run sees what every later one sees
        found = probes.facts(self.parents, self.reads, header["workdirs"]) if header["probe"] else {}
        return {"type": "hello", **found}, []

    def _put(self, header: dict[str, Any], parts: list[bytes]) -> tuple[dict[str, Any], list[bytes]]:
        for ref, content in zip(header["refs"], parts, strict=False):
            self.store.put(ref, content)
            self.client_has.add(ref)
        if header["manifest"]:
            self.client_has.add(self.store.put_manifest(parts[-1]))
        return {"type": "ok"}, []

    def _run(self, header: dict[str, Any], parts: list[bytes]) -> tuple[dict[str, Any], list[bytes]]:
        if self.dirty:
            return {"type": "unclean", "why": self.dirty}, []
        base = self.store.tree(header["base"])
        if base is None:
            return {"type": "need", "manifest": True, "refs": []}, []
        missing = self.store.missing(base.values())
        if missing:
            return {"type": "need", "manifest": False, "refs": missing}, []
        return self._perform(header, parts, base)

    # ------------------------------------------------------------ one run

    def _perform(
        self, spec: dict[str, Any], parts: list[bytes], base: dict[str, tree.WireEntry]
    ) -> tuple[dict[str, Any], list[bytes]]:
        try:
            self._prepare(spec, base)
        except OSError as error:
            self.dirty = f"the workspace could not be prepared: {error}"
            return {"type": "no-room", "why": str(error)}, []
        if spec["delay"]:
            time.sleep(spec["delay"])
        root = spec["workdir"]
        spec["directories"] = [root, *(f"{root}/{e.path}" for e in base.values() if e.type == "dir" and e.path != tree.ROOT)]
        run = Run(spec, parts, self.parents, self.reads, (*(p for p in self.scratch if p != spec["workdir"]), "/dev"))
        run.perform()
        result: dict[str, Any] = {"type": "result", "leftovers": run.leftovers() if run.ended == "exited" else []}
        survivors, caught = run.kill()
        if survivors:
            self.dirty = f"processes {survivors} could not be killed"
        if caught and run.ended == "exited" and not result["leftovers"]:
            result["leftovers"].append(["process", "one that forks and ends too fast to be seen"])
        result["took_input"] = run.took_input()
        run.close()
        before, self.counters = self.counters, procs.counters()
        if self.counters.network != before.network:
            self.dirty = "the network was used: counters have moved, and addresses may still be taken"
        if run.ended == "exited" and self.counters.oom_kills > before.oom_kills:
            run.ended = "oom"
        result["network"] = procs.network_attempts(before.network, self.counters.network)
        if (names := procs.abstract_sockets()) and not survivors:
            self.dirty = f"the abstract socket {names[0]} outlived its process"
        self._note_traces(result, spec)
        return self._result(run, result, base)

    def _prepare(self, spec: dict[str, Any], base: dict[str, tree.WireEntry]) -> None:
        os.seteuid(procs.JOB_ID)
        try:
            tree.materialise(spec["workdir"], base.values(), self._content, spec["order"])
            os.makedirs(spec["env"]["HOME"], 0o755, exist_ok=True)
            belongings.lay_out(_owned(spec))
        finally:
            os.seteuid(0)

    def _content(self, ref: str) -> bytes:
        content = self.store.get(ref)
        assert content is not None, "asked for before the run"
        return content

    def _note_traces(self, result: dict[str, Any], spec: dict[str, Any]) -> None:
        """Files and IPC objects that the run left outside its workspace. IPC objects cannot all be removed: replace."""
        kinds = {"/dev/shm": "shm", "/dev/mqueue": "mqueue"}
        owned = _owned(spec)
        own = {procs.escaped(path) for path in (spec["env"]["HOME"], *belongings.places(owned))}
        result["leftovers"] += [["home", path] for path in belongings.changed(owned)]
        for path in procs.files_below(p for p in self.places if p != spec["workdir"]):
            kind = next((k for prefix, k in kinds.items() if path.startswith(prefix)), "file")
            if path not in own:
                result["leftovers"].append([kind, path])
        objects = procs.ipc_objects()
        if objects:
            self.dirty = "System V IPC objects were left"
            result["leftovers"] += [["sysv-ipc", o] for o in objects]

    def _result(self, run: Run, result: dict[str, Any], base: dict[str, tree.WireEntry]) -> tuple[dict[str, Any], list[bytes]]:
        parts: list[bytes] = []
        result["steps"] = []
        for process, (frames, notes) in zip(run.done, run.messages(), strict=True):
            parts += [bytes(process.out.kept), bytes(process.err.kept), *frames]
            step = {"status": process.status, "out": process.out.total, "err": process.err.total, "cwd": process.cwd}
            result["steps"].append({**step, "frames": len(frames), "notes": notes})
        scan = tree.Scan(run.workdir, base, self.store.get)
        text = manifest(scan.entries)
        name = digest(text)
        self.last = scan.contents
        fresh = [ref for ref in scan.contents if ref not in self.client_has]
        for ref, content in scan.contents.items():
            self.store.put(ref, content)
        result |= {
            "post": name,
            "post_sent": name not in self.client_has,
            "fresh": fresh,
            "scan_findings": scan.findings,
            "ended": run.ended,
            "fault_reached": run.fault_reached,
            "duration_s": run.duration_s,
            **_supervised(run),
        }
        parts += [scan.contents[ref] for ref in fresh]
        if result["post_sent"]:
            parts.append(text)
        self.client_has.update(fresh, [self.store.put_manifest(text)])
        return result, parts

    # ------------------------------------------------------------ between runs

    def clean(self, workdir: str) -> None:
        """Empties every writable place and looks whether only the runner's own is left; sets ``dirty`` otherwise."""
        if self.dirty:
            return
        try:
            for place, own in self.places.items():
                tree.wipe(place)
                _restore(place, own)
            devices.restore(self.devices)
        except tree.TooMuch as much:
            self.dirty = str(much)
        except OSError as error:
            self.dirty = f"{error.filename or workdir} could not be emptied: {error.strerror}"
        if _own_state() != self.own_state:
            self.dirty = "the runner's own limits have changed"
        if self.mounts.changed():
            self.dirty = "something was mounted or unmounted"
        self.store.trim()


def _supervised(run: Run) -> dict[str, Any]:
    """What the supervisor of a run saw, where there was one."""
    watcher = run.supervisor
    if watcher is None:
        return {"calls": [], "outside": [], "seen_network": [], "missing": []}
    return {
        "calls": watcher.log,
        "outside": watcher.outside,
        "seen_network": watcher.network,
        "missing": watcher.missing,
        "fault_reached": watcher.reached or run.fault_reached,
    }


def _owned(spec: dict[str, Any]) -> dict[str, bytes]:
    return belongings.owned(spec["env"]["HOME"] if spec["lived_in"] else None, spec["neighbours"])


def _own_state() -> tuple[Any, ...]:
    kinds = (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_AS)
    limits = [resource.getrlimit(k) for k in kinds]
    return (*limits, tuple(sorted(os.sched_getaffinity(0))), os.getpriority(os.PRIO_PROCESS, 0))


class Place(NamedTuple):
    """What a job could change of a writable place itself."""

    uid: int
    gid: int
    mode: int
    flags: int
    """Those of ``chattr``."""


def _place(path: str) -> Place:
    info = os.stat(path)
    return Place(info.st_uid, info.st_gid, info.st_mode & 0o7777, _flags(path))


def _flags(path: str, wanted: int | None = None) -> int:
    """The inode flags of a directory (0 where there are none); sets them to ``wanted`` first."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if wanted is not None:
            fcntl.ioctl(fd, FS_IOC_SETFLAGS, wanted.to_bytes(8, sys.byteorder))
        return int.from_bytes(fcntl.ioctl(fd, FS_IOC_GETFLAGS, bytes(8)), sys.byteorder)
    except OSError as error:
        if error.errno in (errno.ENOTTY, errno.ENOTSUP):
            return 0
        raise
    finally:
        os.close(fd)


def _taken_over(path: str) -> Place:
    """A place as it is now, made the job's where the engine could not mount it as the job's."""
    found = _place(path)
    if not found.mode & 0o002 and found.uid != procs.JOB_ID:
        os.chown(path, procs.JOB_ID, procs.JOB_ID)
        found = _place(path)
    return found


def _restore(path: str, own: Place) -> None:
    """Gives a writable place its owner, mode, attributes and times back. Raises OSError."""
    for name in tree.attributes(path):
        os.removexattr(path, name)
    now = _place(path)
    if now != own:
        os.chown(path, own.uid, own.gid)
        os.chmod(path, own.mode)
        _flags(path, own.flags)
    os.utime(path, ns=(tree.FIXED_TIME_NS, tree.FIXED_TIME_NS))


def _stdin(count: int) -> bytes:
    chunks = []
    while count:
        chunk = os.read(0, min(count, 1 << 20))
        if not chunk:
            raise ClientGone
        chunks.append(chunk)
        count -= len(chunk)
    return b"".join(chunks)


def _stdout(data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(1, view) :]
    except BrokenPipeError:
        raise ClientGone from None


def main(boot: str, payload: bytes) -> NoReturn:
    """Serves until the client is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the kernel keeps from PID 1 what it has no handler for
    os.umask(0)
    os.chdir("/")
    os.setegid(procs.JOB_ID)  # what is made for jobs is theirs, and the supervisor may read their memory
    try:
        runner = Runner(boot, payload)
        while True:
            header, parts = wire.read_frame(_stdin)
            reply, reply_parts = runner.answer(header, parts)
            _stdout(wire.encode(reply, reply_parts))
            if reply["type"] == "result":
                runner.clean(header["workdir"])
    except ClientGone:
        sys.exit(0)
