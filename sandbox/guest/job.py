"""One call of a skill, in its own process: compile, find the function, call it, say what it returned. Guest side."""

from __future__ import annotations

import asyncio
import atexit
import builtins
import gc
import inspect
import json
import linecache
import logging
import os
import pathlib
import resource
import shutil
import signal
import sys
import threading
import types
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from sandbox.guest import audit
from sandbox.guest.remembered import Picture

FILE = "skill.py"
"""The file name that the skill's code, its tracebacks and its line numbers carry."""
MODULE = "skill"
ELSEWHERE = "/srv/skills"
"""Where the file of a module of another name is: a host's own loader gives an absolute path."""


class Host(NamedTuple):
    """How a skill is loaded and called."""

    module: str = MODULE
    cancel: int | None = None
    """At which of its waits a coroutine is cancelled."""

    @property
    def file(self) -> str:
        return FILE if self.module == MODULE else f"{ELSEWHERE}/{self.module}.py"


USUAL = Host()


OURS: list[str] = []
"""Names of our own modules, which no job shall find. Listed before the fork: looking at every name would copy a hundred pages."""

MARK = "__skill_command__"
MAX_VALUE_BYTES = 8 << 20
USUAL_MASK = 0o022
USUAL_DEPTH = 1000


class NoSuchSkill(LookupError):
    """The file has no callable that the request means, or more than one."""


def find(module: types.ModuleType, function: str | None) -> Any:
    """The one decorated function that the module itself defines, or the named one."""
    if function is not None:
        found = getattr(module, function, None)
        if not callable(found):
            raise NoSuchSkill(f"the file has no function {function!r}")
        return found
    marked = {n: v for n, v in vars(module).items() if hasattr(v, MARK) and getattr(v, "__module__", None) == module.__name__}
    if len({id(v) for v in marked.values()}) != 1:
        names = ", ".join(sorted(marked)) or "none"
        raise NoSuchSkill(f"the file must have one @skill_command function, it has {len(marked)} ({names})")
    return next(iter(marked.values()))


def call(source: str, args: dict[str, Any], function: str | None, lines: Lines | None = None, host: Host = USUAL) -> Any:
    """What the skill returns; whatever it raises goes up."""
    if host.module != MODULE:
        threading.Thread(target=threading.Event().wait, daemon=True).start()  # hosts have threads of their own
    module = types.ModuleType(host.module)
    module.__file__ = host.file
    sys.modules[host.module] = module
    linecache.cache[host.file] = (len(source), None, source.splitlines(keepends=True), host.file)
    code = compile(source, host.file, "exec", dont_inherit=True, optimize=int(bool(os.environ.get("PYTHONOPTIMIZE"))))
    if lines is not None:
        lines.admit(code)
    exec(code, module.__dict__)
    target = find(module, function)
    before = Picture(module)
    try:
        value = target(**args)
        if inspect.iscoroutine(value):
            with asyncio.Runner() as runner:
                return _awaited(runner, Waiting(value, host.cancel))
        return value
    finally:
        _REMEMBERED.extend(before.changed(Picture(module)))


class Waiting(Coroutine[Any, Any, Any]):
    """A coroutine of which it is known how often it waited, and which is cancelled where it waits for the n-th time."""

    waited = 0
    """Of the process's last one."""

    def __init__(self, inner: Coroutine[Any, Any, Any], cancel: int | None) -> None:
        Waiting.waited = 0
        self._inner, self._cancel = inner, cancel

    def send(self, value: Any) -> Any:
        return self._waits(self._inner.send(value))

    def throw(self, error: Any, value: Any = None, traceback: Any = None) -> Any:
        return self._waits(self._inner.throw(error))

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Iterator[Any]:  # type: ignore[override]  # only its task drives it
        raise TypeError("it has a task already")

    def _waits(self, what: Any) -> Any:
        """It comes here only where it has not ended."""
        task = asyncio.current_task()
        if Waiting.waited == self._cancel and task is not None:
            task.cancel()
        Waiting.waited += 1
        return what


def _awaited(runner: asyncio.Runner, value: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives. What it has left to its event loop is noted: a host's loop goes on, and has other tasks."""
    loop: Any = runner.get_loop()
    other = loop.create_task(asyncio.Event().wait())
    try:
        return runner.run(value)
    finally:
        if other.done() or other.cancelling():
            _LEFT.append("other tasks of its event loop")
        if any(not handle.cancelled() for handle in (*loop._scheduled, *loop._ready)):
            _LEFT.append("what its event loop does later")


_LEFT: list[str] = []
"""What the skill changed in the process that called it."""
_REMEMBERED: list[str] = []
"""Variables of its module that the next call finds changed."""


def _state() -> dict[str, Any]:
    """What all code of a process shares, and a skill may change."""
    mask = os.umask(USUAL_MASK)
    os.umask(mask)
    try:
        place = os.getcwd()
    except OSError:
        place = ""
    limits = [resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")]
    # Who sets the usual mask where it is another one wants files that others can read: that is known and harmless.
    mask &= USUAL_MASK
    state = {"umask": mask, "working directory": place, "environment": dict(os.environ), "limits": limits, "niceness": os.nice(0)}
    state |= {f"own {m.__name__}": _called(m) for m in (builtins, os, os.path, pathlib.Path, shutil)}
    root = logging.root
    silent = (root.manager.disable, root.disabled, len(root.filters), root.level > logging.CRITICAL, logging.raiseExceptions)
    handlers = [id(signal.getsignal(n)) for n in signal.valid_signals()]
    timers = [any(signal.getitimer(n)) for n in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)]
    # Who raises the limit wants to go deep: that is known and harmless.
    depth = min(sys.getrecursionlimit(), USUAL_DEPTH)
    return state | {
        "logging": silent, "garbage collection": gc.isenabled(), "recursion limit": depth, "signal handlers": handlers,
        "timers": timers, "open files": _open_files(), "processors": os.sched_getaffinity(0)
    }  # fmt: skip


def _open_files() -> list[str]:
    """Paths that descriptors lead to: what is open is locked, and cannot be taken away."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(path for path in found if path.startswith("/") and not path.startswith("/proc/"))


def _called(owner: types.ModuleType | type) -> dict[tuple[str, int], Any]:
    """What everybody calls by its names; a library may keep notes of its own beside them. It is held, so that nothing else gets
    its identity."""
    return {(name, id(thing)): thing for name, thing in vars(owner).items() if callable(thing)}


class Lines:
    """Notes which lines of the skill file run, on every thread."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self._own: dict[int, types.CodeType] = {}

    def admit(self, code: types.CodeType) -> None:
        """The file's own code, by identity: other code that is compiled under the same name does not count."""
        self._own[id(code)] = code
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.admit(constant)

    def start(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _enter(self, frame: types.FrameType, event: str, _: Any) -> Any:
        if id(frame.f_code) not in self._own:
            return None
        self.seen.add(frame.f_lineno)
        return self._line

    def _line(self, frame: types.FrameType, event: str, _: Any) -> Any:
        self.seen.add(frame.f_lineno)
        return self._line


def raised(error: BaseException, source: str, file: str = FILE) -> dict[str, Any]:
    """Type, message, and the frames that lie in the skill file."""
    text = source.splitlines()
    lines = []
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == file:
            lines.append(at.tb_lineno)
        at = at.tb_next
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno:
        lines.append(error.lineno)
    try:
        message = str(error)
    except BaseException as second:  # noqa: BLE001 - a hostile __str__ must not hide that the skill raised
        message = f"<{type(second).__name__} while printing the error>"
    frames = [f"line {n}: {text[n - 1].strip() if 0 < n <= len(text) else ''}" for n in lines[-20:]]
    return {
        "type": type(error).__name__[:200],
        "message": message[:20_000],
        "traceback": "\n".join(frames),
        "line": lines[-1] if lines else None,
    }


def encoded(value: Any) -> dict[str, Any]:
    """The value as JSON text, or why it is not JSON."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return {"not_json": f"the value is not JSON: {error}"[:500]}
    if len(text) > MAX_VALUE_BYTES:
        return {"not_json": f"the value is not JSON of at most {MAX_VALUE_BYTES} bytes: it has {len(text)}"}
    return {"returned": text}


def perform(source: str, args: dict[str, Any], function: str | None, trace: bool, host: Host = USUAL) -> dict[str, Any]:
    """Calls the skill and waits for its threads; what happened, ready to be sent.

    Raises:
        SystemExit: the skill asked to leave; then there is no value.
    """
    lines = Lines()
    before = _state()
    if trace:
        lines.start()
    try:
        outcome = encoded(call(source, args, function, lines, host))
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a skill raises is its outcome
        outcome = {"raised": raised(error, source, host.file)}
    if trace:
        lines.stop()
        outcome["lines"] = sorted(n for n in lines.seen if n > 0)
    after = _state()
    if "raised" in outcome:
        before["open files"] = after["open files"]  # what could not be closed, for one: that is no choice of the skill's
    elif after["open files"] != before["open files"]:
        gc.collect()  # what nobody refers to any more is closed then
        after = _state()
    _LEFT.extend(f"its {name}" for name in before if before[name] != after[name])
    threading._shutdown()  # type: ignore[attr-defined]  # joins threads that are not daemons, as the interpreter does on exit
    atexit._run_exitfuncs()
    return outcome


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # the skill closed or replaced it


def serve(spec: dict[str, Any], parts: list[bytes], seen: dict[str, str]) -> int:
    """Performs the job that the runner sent and says what came of it, by the audit hook; the exit status."""
    source, args = parts[0].decode("utf-8", "surrogateescape"), json.loads(parts[1])
    for name in OURS:
        sys.modules.pop(name, None)
    try:
        message = perform(source, args, spec["function"], spec["trace"], Host(spec["module"] or MODULE, spec["cancel"]))
    except SystemExit as leave:
        flush()
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    flush()
    told = {**seen, "changed": ", ".join(dict.fromkeys(_LEFT)), "remembered": ", ".join(_REMEMBERED)}
    told |= {"waited": str(Waiting.waited), "module": spec["module"] or MODULE}
    _audit(audit.ANSWER, {**message, "probe": told})
    return 0


_audit = sys.audit

_REHEARSAL = """
from pathlib import Path
from skill_api import Query, skill_command


@skill_command(autowire=True)
def rehearsal(a: str = Query(..., description="")) -> dict[str, object]:
    return {"ok": True, "a": a}
"""


def rehearse() -> None:
    """Performs a small skill in this process and forgets it."""
    encoded(call(_REHEARSAL, {"a": "b"}, None))
    del sys.modules[MODULE]
    linecache.cache.pop(FILE, None)
