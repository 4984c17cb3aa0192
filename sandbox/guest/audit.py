"""Sees what no text shows: code that a skill makes while it runs, frames that it looks into, hooks that it sets. Guest side.

The interpreter tells an audit hook before it does such a thing, and nothing in the language takes a hook away again. What is
seen leaves the process at once. The hook also says the job's answer, so that neither the key of the private pipe nor its
descriptor is in any frame, module or object that a skill could look up.
"""

from __future__ import annotations

import os
import pathlib
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

ANSWER = "assay.answer"
"""The event by which the job's own end asks the hook to say the answer."""

MAX_REPORTS = 50
MAX_PROGRAMS = 200
MAX_WORD = 8_000
"""Characters of one word of a program's command line."""
_OURS = ("<sandbox.guest.", "<skill_api>")
_LIBRARY = os.path.dirname(os.__file__) + "/"
_EVALUATORS = frozenset(_LIBRARY + name for name in ("collections/__init__.py", "dataclasses.py", "typing.py"))
"""Of the standard library: what makes code of its own templates. Whatever else executes text there was given it."""

_HANDING_FRAMES_ON = frozenset({"walk_stack", "currentframe", "stack"})
"""Functions of the standard library that look into frames on behalf of their caller."""

_PATHS = (pathlib.PosixPath, pathlib.PurePosixPath)
_FRAMES = frozenset({"tb_frame", "gi_frame", "cr_frame", "ag_frame", "gi_code", "cr_code", "ag_code", "__code__"})
_WATCHED = frozenset({
    ANSWER,
    "exec", "code.__new__", "function.__new__", "marshal.loads", "marshal.load", "pickle.find_class", "import",
    "sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile",
    "sys.addaudithook", "gc.get_objects", "gc.get_referrers", "gc.get_referents", "object.__getattr__",
    "object.__setattr__", "object.__delattr__", "os.fork", "os.forkpty", "sqlite3.load_extension",
    "sqlite3.enable_load_extension", "ctypes.dlopen", "ctypes.dlsym", "ctypes.cdata", "ctypes.call_function",
    "ctypes.string_at", "ctypes.wstring_at", "ctypes.addressof", "ctypes.create_string_buffer", "cpython.run_command",
    "cpython.run_file", "cpython.run_interactivehook", "builtins.breakpoint", "open",
    "subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.spawn",
})  # fmt: skip
_STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.exec"})

Hook = Callable[[str, tuple[Any, ...]], None]


def install(say: Callable[[dict[str, Any]], None], answering: types.CodeType) -> None:
    """Watches this process from now on. Only code that is ``answering`` itself can have its answer said."""
    sys.addaudithook(_hook(say, answering))


def _hook(say: Callable[[dict[str, Any]], None], answering: types.CodeType) -> Hook:
    """Everything that the hook needs is its own: a skill that replaces a module's functions changes nothing here."""
    watched, frames, describe = _WATCHED, _FRAMES, _describe
    look, ident, pid, own = sys._getframe, threading.get_ident, os.getpid, os.getpid()
    lock, busy = threading.Lock(), set[int]()
    left, started = MAX_REPORTS, set[tuple[str, ...]]()

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in watched or (event == "object.__getattr__" and args[1] not in frames):
            return
        if event == "open" and not _is_memory(args[0]):
            return
        me = ident()
        if me in busy or pid() != own:  # a forked child has no numbers of its own; that it was forked has been told
            return
        busy.add(me)
        try:
            code = look(1).f_code
            if event == ANSWER and code is answering:
                with lock:
                    say(args[0])
            elif words := _words(event, args):
                if words not in started and len(started) < MAX_PROGRAMS:
                    started.add(words)
                    with lock:
                        say({"started": words})
            elif left and (text := describe(event, args, code)):
                left -= 1
                with lock:
                    say({"audit": text})
        finally:
            busy.discard(me)

    return hook


def _words(event: str, args: tuple[Any, ...]) -> tuple[str, ...]:
    """The command line of a program that is about to start; () for another event. No method of the skill's own runs here."""
    if event == "os.system":
        return ("/bin/sh", "-c", _word(args[0]))
    if event == "os.spawn":
        return (_word(args[1]), *map(_word, args[2][1:]))
    if event not in _STARTS or type(args[1]) not in (list, tuple):
        return ()
    return (_word(args[0]), *map(_word, args[1][1:]))


def _word(given: object) -> str:
    text = given.decode("utf-8", "backslashreplace") if type(given) is bytes else given
    if type(text) is not str and type(given) in _PATHS:
        text = str(given)
    return text[:MAX_WORD] if type(text) is str else "?"


def _is_memory(path: object) -> bool:
    """Whether a path is the memory of a process, by any spelling of the directory."""
    return type(path) in (str, bytes) and str(path).rstrip("'").endswith("/mem")


def _describe(event: str, args: tuple[Any, ...], caller: types.CodeType) -> str:
    """What is told of an event; "" where it is the library's own business."""
    where = caller.co_filename
    if where.startswith(_OURS):
        return ""
    frozen = where.startswith("<frozen ")
    if event == "exec":
        return _executed(args[0], where, frozen)
    if event == "import":
        return "" if frozen or where.startswith(_LIBRARY) else f"import {args[0]}"
    trusted = (frozen or where.startswith(_LIBRARY)) and not event.startswith("ctypes.")
    if trusted and not (event == "sys._getframe" and caller.co_name in _HANDING_FRAMES_ON):
        return ""
    name = args[1] if event.startswith("object.") else args[0] if event in ("open", "ctypes.dlopen") else ""
    return f"{event} {name}".strip()[:300] + f" from {_place(where)}"


def _executed(code: types.CodeType, where: str, frozen: bool) -> str:
    if frozen:
        loaded = code.co_filename
        own = loaded.startswith((_LIBRARY, "<frozen ", *_OURS))
        return "" if own else f"exec of the module {loaded[:200]}"
    if where in _EVALUATORS and not (where.endswith("/typing.py") and _calls(code)):
        return ""
    return f"exec of text that uses {', '.join(code.co_names[:5])[:100] or 'no names'} from {_place(where)}"


def _calls(code: types.CodeType) -> bool:
    """Whether the code calls anything. An annotation names types; it has nothing to do."""
    from opcode import opmap

    return opmap["CALL"] in code.co_code[::2]


def _place(where: str) -> str:
    return where.removeprefix(_LIBRARY)[-100:]
