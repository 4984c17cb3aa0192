"""One container at a time, with what it is known to hold; replaced whenever there is the least doubt about it."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import tenacity

from sandbox import codec
from sandbox.bundle import opening
from sandbox.container import MOUNTABLE, ContainerSpec
from sandbox.engine import Engine, Running
from sandbox.guest.store import digest
from sandbox.held import Held
from sandbox.interface import Cause, ReplayRecord, RunRequest, SandboxError, SmallDisk, Snapshot

HELLO_S = 60.0
GRACE_S = 30.0
"""On top of a run's own wall time, for preparing, reading back, and a slow machine."""

RUNS_PER_CONTAINER = 300
"""A container is replaced after so many runs on principle, and the fresh one repeats the last run as an audit."""
_HELD_BYTES = 64 << 20
_HELD_SNAPSHOTS = 400
_PAGE = 4096

TRANSIENT = frozenset({Cause.DEADLINE, Cause.ENGINE_LOST, Cause.PROTOCOL})


class Unclean(SandboxError):
    """The container itself says that it must not be used again. Nothing was run."""

    def __init__(self, why: str) -> None:
        super().__init__(Cause.PROTOCOL, f"the sandbox could not be cleaned: {why}")


class Live:
    """A started container and what both ends know that it holds."""

    def __init__(self, engine: Engine, spec: ContainerSpec, *, probe: bool = False) -> None:
        self.spec = spec
        self._engine = engine
        self.running: Running = engine.start(spec, opening())
        self.runs = 0
        self._sent: set[str] = set()
        self._contents: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._posts: Held[Snapshot] = Held(_HELD_SNAPSHOTS, _HELD_BYTES, _weight)
        try:
            hello = {"type": "hello", "workdirs": spec.workdirs, "scratch": spec.scratch, "probe": probe}
            self.hello = self._ask(hello, [], HELLO_S)[0]
        except SandboxError as error:
            self.stop()
            if error.cause is Cause.ENGINE_LOST:
                what = f"the sandbox did not start: {error.what}"
                raise SandboxError(Cause.IMAGE_BROKEN, what, "Run `assay engine image`") from None
            raise

    def stop(self) -> None:
        self.running.channel.close()
        with contextlib.suppress(SandboxError):  # it removes itself; the next start sweeps what stays
            self._engine.remove(self.running.id)

    def run(self, request: RunRequest) -> ReplayRecord:
        """Runs one request. Raises SandboxError; then this container must be stopped."""
        name, text, contents = _known_tree(request.base)
        if name not in self._sent:
            self._put(text, contents)
            self._sent.add(name)
        header, parts = codec.request_header(request, name)
        timeout = request.limits.wall_s + request.surroundings.delay_s + GRACE_S
        answer, blobs = self._ask(header, parts, timeout)
        if answer["type"] == "need":
            self._put(text if answer["manifest"] else None, contents, answer["refs"])
            answer, blobs = self._ask(header, parts, timeout)
        if answer["type"] == "unclean":
            raise Unclean(answer["why"])
        if answer["type"] == "no-room":
            raise SandboxError(Cause.DISK, f"the workspace does not fit into the sandbox: {answer['why']}")
        if answer["type"] != "result":
            raise SandboxError(Cause.PROTOCOL, f"the sandbox answered {answer['type']!r} to a run")
        self.runs += 1
        return self._record(request, answer, blobs, contents)

    # ------------------------------------------------------------ contents

    def _put(self, text: bytes | None, contents: dict[str, bytes], refs: list[str] | None = None) -> None:
        wanted = [r for r in contents if r not in self._sent] if refs is None else refs
        parts = [contents[r] for r in wanted] + ([] if text is None else [text])
        self._ask({"type": "put", "refs": wanted, "manifest": text is not None}, parts, HELLO_S)
        self._sent.update(wanted)

    def _record(self, request: RunRequest, answer: dict[str, Any], blobs: list[bytes], base: dict[str, bytes]) -> ReplayRecord:
        count = sum(2 + s["frames"] for s in answer["steps"])
        fresh = dict(zip(answer["fresh"], blobs[count:], strict=False))
        self._hold(base)
        self._hold(fresh)
        name = answer["post"]
        post = self._read(blobs[-1]) if answer["post_sent"] else self._posts.get(name)
        if post is None:
            post = request.base if name == _known_tree(request.base)[0] else self._fetch_post(name)
        self._posts.put(name, post)
        return codec.record(request, answer, blobs[:count], post, request.limits.wall_s)

    def _read(self, text: bytes) -> Snapshot:
        missing = [r for r in codec.refs_of(text) if r not in self._contents]
        if missing:
            self._hold(dict(zip(missing, self._ask({"type": "get", "refs": missing}, [], HELLO_S)[1], strict=True)))
        post = codec.snapshot_of(text, self._contents)
        _remember(post, text, {r: self._contents[r] for r in codec.refs_of(text)})
        self._sent.add(digest(text))
        self._trim()
        return post

    def _fetch_post(self, name: str) -> Snapshot:
        return self._read(self._ask({"type": "tree", "name": name}, [], HELLO_S)[1][0])

    def _hold(self, contents: dict[str, bytes]) -> None:
        for ref, content in contents.items():
            if ref not in self._contents:
                self._contents[ref] = content
                self._bytes += len(content)

    def _trim(self) -> None:
        while self._bytes > _HELD_BYTES and len(self._contents) > 1:
            self._bytes -= len(self._contents.popitem(last=False)[1])

    def _ask(self, header: dict[str, Any], parts: list[bytes], timeout_s: float) -> tuple[dict[str, Any], list[bytes]]:
        return self.running.channel.ask(header, parts, timeout_s)


_trees: Held[tuple[str, bytes, dict[str, bytes]]] = Held(256, _HELD_BYTES, lambda tree: sum(map(len, tree[2].values())))
_trees_lock = threading.Lock()


def _known_tree(snapshot: Snapshot) -> tuple[str, bytes, dict[str, bytes]]:
    """Digest of the manifest, manifest and contents of a snapshot; remembered, as bases come again and again."""
    with _trees_lock:
        known = _trees.get(snapshot.digest)
    return known or _remember(snapshot, *codec.tree_of(snapshot))


def _remember(snapshot: Snapshot, text: bytes, contents: dict[str, bytes]) -> tuple[str, bytes, dict[str, bytes]]:
    found = (digest(text), text, contents)
    with _trees_lock:
        _trees.put(snapshot.digest, found)
    return found


def _weight(snapshot: Snapshot) -> int:
    """About the bytes that a snapshot keeps."""
    return sum(len(e.content) + len(path) + 200 for path, e in snapshot.items())


class Worker:
    """Serves requests one at a time; starts, replaces and retries as needed. Used by one thread at a time."""

    def __init__(self, engine: Engine, spec: ContainerSpec) -> None:
        self._engine, self._spec = engine, spec
        self._live: Live | None = None
        self.replaced: list[str] = []
        """Why containers were replaced, in order."""
        self.audited = 0
        self.disagreements: list[str] = []
        """Runs that gave something else when they were repeated in a fresh container (jobs with chance in them do)."""
        self._last: tuple[RunRequest, ReplayRecord] | None = None

    def start(self) -> Live:
        if self._live is None:
            self._live = Live(self._engine, self._spec)
        return self._live

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def run(self, request: RunRequest) -> ReplayRecord:
        """Runs one request; transient causes are retried once in a fresh container. Raises SandboxError."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_is_transient),
            stop=tenacity.stop_after_attempt(2),
            wait=tenacity.wait_random(0, 0.2),
            reraise=True,
        )
        record: ReplayRecord = retrying(self._attempt, request)
        return record

    def _attempt(self, request: RunRequest) -> ReplayRecord:
        if isinstance(request.fault, SmallDisk):
            return self._apart(request, request.fault)
        try:
            return self._once(request)
        except Unclean:  # it has run nothing, so this is no retry
            return self._once(request)

    def _once(self, request: RunRequest) -> ReplayRecord:
        live = self._fitting(request)
        try:
            record = live.run(request)
        except BaseException as error:
            self._replace(str(error) or type(error).__name__)
            raise
        self._last = (request, record)
        return record

    def _fitting(self, request: RunRequest) -> Live:
        """A container that has the mounts and limits which the request needs."""
        path = codec.workdir(request.surroundings)
        spec = replace(self._spec, processes=max(self._spec.processes, request.limits.processes))
        if path not in spec.workdirs:
            _check_mountable(path)
            spec = replace(spec, mounts=(*spec.mounts, path))
        if spec != self._spec:
            self._spec = spec
            self._replace("another mount or limit is needed")
        if self._live is not None and self._live.runs >= RUNS_PER_CONTAINER:
            self._replace(f"{RUNS_PER_CONTAINER} runs are enough for one container")
            self._audit(self.start())
        return self.start()

    def _audit(self, live: Live) -> None:
        """Repeats the last run in a fresh container and notes whether it comes out the same."""
        if self._last is None:
            return
        request, before = self._last
        after = live.run(request)
        self.audited += 1
        if _facts(before) != _facts(after):
            self.disagreements.append(f"{type(request.job).__name__} on {request.base!r}")

    def _apart(self, request: RunRequest, fault: SmallDisk) -> ReplayRecord:
        """Runs in a container of its own whose workspace has just the room that is asked for."""
        pages = sum(-(-len(e.content) // _PAGE) for e in request.base.values())
        room = replace(
            self._spec,
            ws_bytes=max(pages * _PAGE + fault.bytes, _PAGE),
            ws_inodes=len(request.base) + 2 + fault.inodes,
        )
        live = Live(self._engine, room)
        try:
            return replace(live.run(request), fault_reached=True)
        finally:
            live.stop()

    def _replace(self, why: str) -> None:
        self.replaced.append(why)
        self.close()


def _facts(record: ReplayRecord) -> tuple[object, ...]:
    steps = tuple((s.exit_code, s.signal, s.stdout, s.stderr) for s in record.steps)
    return record.outcome, steps, record.post, record.ended, len(record.leftovers)


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, SandboxError) and error.cause in TRANSIENT


def _check_mountable(path: str) -> None:
    if not MOUNTABLE.fullmatch(path):
        raise SandboxError(Cause.OPTION_IGNORED, f"the workspace cannot be mounted at {path!r}", "Rewrite the paths instead")
