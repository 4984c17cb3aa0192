"""No way around the rules: dunder hatches, code from text, tracing, patched modules, leaving the process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, literal_text
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile

DUNDERS = frozenset({
    "__builtins__", "__globals__", "__subclasses__", "__bases__", "__base__", "__mro__", "__code__", "__closure__", "__dict__",
    "__loader__", "__spec__", "__getattribute__", "__setattr__", "__delattr__", "__reduce__", "__reduce_ex__", "__import__",
    "__wrapped__", "__self__", "__func__", "__defaults__", "__kwdefaults__", "f_back", "f_globals", "f_locals", "f_code",
    "f_builtins", "gi_frame", "cr_frame", "tb_frame", "ag_frame",
})  # fmt: skip
CODE_CALLS = frozenset({"eval", "exec", "compile", "globals", "locals", "vars", "breakpoint", "input"})
LEAVING = frozenset(
    {"sys.exit", "exit", "quit", "os._exit", "os.abort", "os.kill", "os.killpg", "signal.raise_signal", "signal.pthread_kill"}
)
BACKGROUND = frozenset({"os.fork", "os.forkpty", "os.setsid", "os.setpgid", "os.daemon"})
WATCHING = frozenset({
    "sys.settrace", "sys.setprofile", "threading.settrace", "threading.setprofile", "sys._getframe", "sys._current_frames",
    "sys.addaudithook", "sys.modules", "sys.meta_path", "sys.path_hooks", "sys.monitoring", "sys.call_tracing", "sys.gettrace",
    "sys.getprofile", "sys.excepthook", "sys.unraisablehook", "atexit.register", "signal.signal", "os.register_at_fork",
    "sys.setrecursionlimit", "weakref.finalize",
})  # fmt: skip


class Escapes(Rule):
    id = "conventions-escapes"
    title = "Does the skill stay within its own function?"
    why = (
        "What is judged is the text; code made from text (`eval`, `exec`), reached through dunder attributes, or found in "
        "other frames cannot be. Tracing and profiling hooks, `sys.modules`, `atexit` and signal handlers change how the "
        "host itself runs. `sys.exit` and `os._exit` end the process without the one frame that carries the value. A "
        "process that forks away from its parent outlives the run."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    good = (skill("plain code", TOUCH), skill("its own name", 'Path(file).write_text(__name__)\nreturn {"ok": True}'))
    bad = (
        skill("eval", 'eval(file)\nreturn {"ok": True}'),
        skill("a dunder hatch", 'Path.__subclasses__()\nreturn {"ok": True, "file": file}'),
        skill("builtins", '__builtins__["open"](file)\nreturn {"ok": True}'),
        skill("getattr with a dunder", 'getattr(Path, "__sub" + "classes__")()\nreturn {"ok": True, "file": file}'),
        skill("a trace hook", 'sys.settrace(None)\nreturn {"ok": True, "file": file}', imports="import sys\n\n"),
        skill("sys.modules", 'sys.modules.pop(file)\nreturn {"ok": True}', imports="import sys\n\n"),
        skill("a finalizer", 'class Last:\n    def __del__(self):\n        Path(file).touch()\n\n\nLast()\nreturn {"ok": True}'),
        skill("leaving", "Path(file).touch()\nsys.exit(0)", imports="import sys\nfrom pathlib import Path\n\n"),
        skill("leaving by an exception", "Path(file).touch()\nraise SystemExit(0)"),
        skill("forking away", 'if os.fork() == 0:\n    os.setsid()\nreturn {"ok": True, "file": file}', imports="import os\n\n"),
        skill("a child left alone", 'subprocess.Popen(["touch", file])\nreturn {"ok": True}', imports="import subprocess\n\n"),
        skill(
            "a detached child",
            'subprocess.Popen(["touch", file], start_new_session=True)\nreturn {"ok": True}',
            imports="import subprocess\n\n",
        ),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node in module.nodes:
            if isinstance(node, cst.Attribute):
                yield from self._attribute(module, node)
            elif isinstance(node, cst.Name) and node.value in ("__builtins__", "__loader__", "__spec__"):
                yield Violation(node, f"{node.value} is a way around the rules")
            elif isinstance(node, cst.Call):
                yield from self._call(module, node)
            elif isinstance(node, cst.FunctionDef) and node.name.value == "__del__":
                yield Violation(node, "__del__ runs after the value was returned, and nobody knows when")
            elif isinstance(node, cst.Raise) and node.exc is not None:
                exc = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
                if module.dotted(exc) in ("SystemExit", "KeyboardInterrupt", "GeneratorExit"):
                    yield Violation(node, f"raises {module.dotted(exc)}: the process ends without a value")

    @staticmethod
    def _attribute(module: SkillModule, node: cst.Attribute) -> Iterator[Violation]:
        if isinstance(module.parents.get(node), cst.Attribute):
            outer = module.parents[node]
            if isinstance(outer, cst.Attribute) and module.dotted(outer) in WATCHING:
                return
        if node.attr.value in DUNDERS:
            yield Violation(node, f".{node.attr.value} is a way around the rules")
        elif (name := module.dotted(node)) in WATCHING:
            yield Violation(node, f"{name} changes or watches the process that runs the skill")

    @staticmethod
    def _call(module: SkillModule, call: cst.Call) -> Iterator[Violation]:
        name = module.dotted(call.func).removeprefix("builtins.")
        if name in CODE_CALLS and name not in module.bindings:
            yield Violation(call, f"{name}() has no place in a skill")
        elif name in LEAVING:
            yield Violation(call, f"{name}() ends the process without a value: raise an exception, or return")
        elif name in BACKGROUND:
            yield Violation(call, f"{name}() starts what outlives the run")
        elif name in WATCHING and not isinstance(call.func, cst.Attribute):
            yield Violation(call, f"{name} changes or watches the process that runs the skill")
        elif name in ("getattr", "setattr", "delattr", "hasattr") and len(call.args) > 1:
            text = literal_text(call.args[1].value)
            if text is None or text in DUNDERS or text.startswith("__"):
                yield Violation(call, f"{name} with a name that is {'computed' if text is None else 'a dunder'}")
        elif name in ("operator.attrgetter", "operator.methodcaller", "types.FunctionType", "types.CodeType"):
            if name.startswith("types.") or any("__" in (literal_text(a.value) or "__") for a in call.args[:1]):
                yield Violation(call, f"{name} can reach what the rules keep away")
        elif name == "subprocess.Popen":
            if isinstance(module.parents.get(call), cst.Expr):
                yield Violation(call, "Popen starts a process that nobody waits for: use subprocess.run")
            for key in ("start_new_session", "preexec_fn", "process_group"):
                value = module.keyword(call, key)
                if value is not None and module.code(value) not in ("False", "None"):
                    yield Violation(call, f"Popen({key}=…) starts what may outlive the run")


RULE = Escapes()
