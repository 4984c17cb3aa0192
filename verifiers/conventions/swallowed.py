"""No error is swallowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, literal_text
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile

# "Not now", "too late" and "cancelled": whoever goes on has not done what was asked.
BROAD = frozenset(
    {
        "Exception",
        "BaseException",
        "OSError",
        "IOError",
        "EnvironmentError",
        "BlockingIOError",
        "InterruptedError",
        "TimeoutError",
        "subprocess.CalledProcessError",
        "subprocess.TimeoutExpired",
        "subprocess.SubprocessError",
    }
)
CANCELLED = frozenset({"asyncio.CancelledError", "asyncio.exceptions.CancelledError", "concurrent.futures.CancelledError"})
"""Whoever calls gives up, and must be told that it has worked. Who has cancelled something itself knows what it catches."""
RUNNERS = frozenset({"subprocess.run", "subprocess.call"})
FAILURE_KEYS = frozenset({"error", "errors", "failed", "failures", "ok", "success", "status"})


class SwallowedErrors(Rule):
    id = "conventions-swallowed-errors"
    title = "Does every failure reach the caller?"
    why = (
        'A skill reports failure by raising, or by returning `ok: false`, `success: false`, `status: "error"` or a '
        "non-empty `error`. Letting an exception through is error handling; catching everything and going on is not. "
        "Flagged: a bare or broad `except` (Exception, OSError, CalledProcessError, BlockingIOError and their like, and "
        "CancelledError where the function cancels nothing itself, also as `contextlib.suppress`) that neither "
        "raises nor reports, `return`, `break` or `continue` in `finally`, "
        "`shutil.rmtree(ignore_errors=True)`, and `subprocess.run` whose exit status nobody looks at. Catching what is "
        "expected by its own name (`except FileNotFoundError`) is fine."
    )
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    good = (
        skill("errors pass through", TOUCH),
        skill(
            "the expected one by name",
            'try:\n    Path(file).unlink()\nexcept FileNotFoundError:\n    return {"ok": True, "changed": 0}\n'
            'return {"ok": True, "changed": 1}',
        ),
        skill(
            "reported",
            'try:\n    Path(file).touch()\nexcept OSError as error:\n    return {"ok": False, "error": str(error)}\n'
            'return {"ok": True}',
        ),
        skill(
            "collected and reported",
            "failed = []\nfor path in Path(file).iterdir():\n    try:\n        path.touch()\n    except OSError as error:\n"
            '        failed.append(str(error))\nreturn {"ok": not failed, "failed": failed}',
        ),
        skill(
            "checked", 'subprocess.run(["touch", "--", file], check=True)\nreturn {"ok": True}', imports="import subprocess\n\n"
        ),
        skill(
            "status looked at",
            'done = subprocess.run(["touch", "--", file])\nif done.returncode:\n    raise OSError(file)\nreturn {"ok": True}',
            imports="import subprocess\n\n",
        ),
        skill(
            "one error by its number",
            "try:\n    Path(file).mkdir()\nexcept OSError as error:\n    if error.errno != 17:\n        raise\n"
            'return {"ok": True}',
        ),
        skill(
            "what was done is looked at",
            'subprocess.run(["touch", "--", file], check=False)\nif not Path(file).exists():\n    raise OSError(file)\n'
            'return {"ok": True}',
            imports="import subprocess\nfrom pathlib import Path\n\n",
        ),
        skill(
            "suppressed while cleaning up, and passed on",
            "try:\n    Path(file).touch()\nexcept OSError:\n    with suppress(OSError):\n        Path(file).unlink()\n    raise\n"
            'return {"ok": True}',
            imports="from contextlib import suppress\nfrom pathlib import Path\n\n",
        ),
        skill(
            "a cancellation of its own",
            "waiting = asyncio.create_task(asyncio.sleep(9))\nPath(file).touch()\nwaiting.cancel()\n"
            'with suppress(asyncio.CancelledError):\n    await waiting\nreturn {"ok": True}',
            imports="import asyncio\nfrom contextlib import suppress\nfrom pathlib import Path\n\n",
        ),
        skill(
            "cleaned up and passed on",
            "try:\n    Path(file).touch()\nexcept BaseException:\n    Path(file).unlink(missing_ok=True)\n    raise\n"
            'return {"ok": True}',
        ),
    )
    bad = (
        skill(
            "a cancellation",
            'with suppress(asyncio.CancelledError):\n    await asyncio.sleep(0)\n    Path(file).touch()\nreturn {"ok": True}',
            imports="import asyncio\nfrom contextlib import suppress\nfrom pathlib import Path\n\n",
        ),
        skill(
            "a program that takes too long",
            'try:\n    subprocess.run(["touch", "--", file], check=True, timeout=2)\nexcept subprocess.TimeoutExpired:\n'
            '    pass\nreturn {"ok": True}',
            imports="import subprocess\n\n",
        ),
        skill("pass", 'try:\n    Path(file).touch()\nexcept Exception:\n    pass\nreturn {"ok": True}'),
        skill("bare", 'try:\n    Path(file).touch()\nexcept:\n    print("no")\nreturn {"ok": True}'),
        skill(
            "success claimed",
            'try:\n    Path(file).touch()\nexcept OSError as error:\n    return {"ok": True, "note": str(error)}\n'
            'return {"ok": True}',
        ),
        skill(
            "suppressed",
            'with suppress(Exception):\n    Path(file).touch()\nreturn {"ok": True}',
            imports="from contextlib import suppress\nfrom pathlib import Path\n\n",
        ),
        skill("ignored", 'shutil.rmtree(file, ignore_errors=True)\nreturn {"ok": True}', imports="import shutil\n\n"),
        skill("status ignored", 'subprocess.run(["touch", "--", file])\nreturn {"ok": True}', imports="import subprocess\n\n"),
        skill(
            "status ignored, and something else is raised before",
            'if not file:\n    raise ValueError("no file")\nsubprocess.run(["touch", "--", file])\nreturn {"ok": True}',
            imports="import subprocess\n\n",
        ),
        skill("return in finally", 'try:\n    Path(file).touch()\nfinally:\n    return {"ok": True}'),
        skill(
            "one path forgets",
            "try:\n    Path(file).touch()\nexcept OSError as error:\n    if error.errno == 2:\n        raise\n"
            'return {"ok": True}',
        ),
        skill(
            "in a tuple",
            'try:\n    Path(file).touch()\nexcept (ValueError, OSError):\n    return {"ok": True}\nreturn {"ok": True}',
        ),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node in module.nodes:
            if isinstance(node, cst.ExceptHandler | cst.ExceptStarHandler):
                yield from self._handler(module, node)
            elif isinstance(node, cst.Finally):
                yield from self._finally(module, node)
            elif isinstance(node, cst.Call):
                yield from self._call(module, node)

    def _handler(self, module: SkillModule, node: cst.ExceptHandler | cst.ExceptStarHandler) -> Iterator[Violation]:
        broad = _broad(module, node.type)
        if broad and not Reports(module, node).suite(node.body):
            caught = "everything" if node.type is None else broad
            yield Violation(node, f"catches {caught} and neither raises nor reports it on every path")

    @staticmethod
    def _finally(module: SkillModule, node: cst.Finally) -> Iterator[Violation]:
        todo: list[cst.CSTNode] = [node.body]
        while todo:
            child = todo.pop()
            if isinstance(child, cst.Return):
                yield Violation(child, "return in finally swallows whatever was raised")
            elif isinstance(child, cst.Break | cst.Continue) and not any(
                isinstance(a, cst.For | cst.While) for a in _until(module, child, node)
            ):
                yield Violation(child, "leaving the loop in finally swallows whatever was raised")
            elif not isinstance(child, cst.FunctionDef | cst.Lambda):
                todo.extend(reversed(child.children))

    def _call(self, module: SkillModule, call: cst.Call) -> Iterator[Violation]:
        name = module.dotted(call.func)
        if name == "contextlib.suppress" and not self._passes_on(module, call):
            for arg in call.args:
                if broad := _broad(module, arg.value):
                    yield Violation(call, f"suppresses {broad}: whatever fails in there, success is claimed")
                    return
        elif name == "shutil.rmtree":
            flag = module.keyword(call, "ignore_errors") or (
                call.args[1].value if len(call.args) > 1 and call.args[1].keyword is None else None
            )
            if flag is not None and module.code(flag) != "False":
                yield Violation(call, "rmtree(ignore_errors=True) claims success whatever stays behind")
        elif name in RUNNERS and not self._status_used(module, call) and not _looked_at_after(module, call):
            yield Violation(call, f"nobody looks at the exit status of {name}: pass check=True or test returncode")

    @staticmethod
    def _passes_on(module: SkillModule, call: cst.Call) -> bool:
        """Whether it stands in a handler that raises or reports on every path: a failed clean-up is then no success."""
        handlers = [a for a in module.ancestors(call) if isinstance(a, cst.ExceptHandler | cst.ExceptStarHandler)]
        return any(Reports(module, h).suite(h.body) for h in handlers)

    @staticmethod
    def _status_used(module: SkillModule, call: cst.Call) -> bool:
        check = module.keyword(call, "check")
        if check is not None and module.code(check) != "False":
            return True
        if any(a.star == "**" for a in call.args):
            return True
        parent = module.parents.get(call)
        if isinstance(parent, cst.Expr):
            return False
        name = module.dotted(call.func)
        if name == "subprocess.call":
            return True  # the value itself is the status, and it is used
        if isinstance(parent, cst.Attribute):
            return parent.attr.value in ("returncode", "check_returncode")
        names = (
            [t.target.value for t in parent.targets if isinstance(t.target, cst.Name)] if isinstance(parent, cst.Assign) else []
        )
        if not names:
            return not isinstance(parent, cst.Assign)  # returned or passed on: somebody else may look
        return any(
            isinstance(n, cst.Attribute) and isinstance(n.value, cst.Name) and n.value.value in names
            and n.attr.value in ("returncode", "check_returncode")
            for n in module.nodes
        ) or any(
            isinstance(n, cst.Arg) and isinstance(n.value, cst.Name) and n.value.value in names for n in module.nodes
        )  # fmt: skip


def _looked_at_after(module: SkillModule, call: cst.Call) -> bool:
    """Whether the function raises under a condition behind the call: it looks at what the program did, not at what it said."""
    inner: cst.CSTNode = call
    for outer in module.ancestors(call):
        if isinstance(outer, cst.IndentedBlock):
            behind = outer.body[next((k for k, s in enumerate(outer.body) if s is inner), len(outer.body)) + 1 :]
            if any(_raises_if(s) for s in behind):
                return True
        if isinstance(outer, cst.FunctionDef):
            return False
        inner = outer
    return False


def _raises_if(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.If) and any(isinstance(n, cst.Raise) for s in node.body.body for n in (s, *s.children)):
        return True
    return isinstance(node, cst.For | cst.While | cst.With) and any(_raises_if(s) for s in node.body.body)


class Reports:
    """Whether a handler's body raises or reports failure on every path."""

    def __init__(self, module: SkillModule, handler: cst.CSTNode) -> None:
        self.module = module
        self.collected = _reported_names(module, handler)

    def suite(self, suite: cst.BaseSuite) -> bool:
        return any(self._statement(s) for s in suite.body)

    def _statement(self, node: cst.CSTNode) -> bool:
        """Whether passing this statement means that the failure has been raised or noted."""
        if isinstance(node, cst.SimpleStatementLine):
            return any(self._statement(s) for s in node.body)
        if isinstance(node, cst.Raise):
            return True
        if isinstance(node, cst.Return):
            return _is_failure(node.value) or self._passes_on(node.value)
        if isinstance(node, cst.If):
            other = node.orelse
            if other is None:
                return _all_but_expected(node) and self.suite(node.body)
            inner = self._statement(other) if isinstance(other, cst.If) else self.suite(other.body)
            return self.suite(node.body) and inner
        if isinstance(node, cst.With):
            return self.suite(node.body)
        if isinstance(node, cst.Try):
            return (self.suite(node.body) or (node.finalbody is not None and self.suite(node.finalbody.body))) and all(
                self.suite(h.body) for h in node.handlers
            )
        return self._notes(node)

    def _notes(self, node: cst.CSTNode) -> bool:
        """``failed.append(...)``, ``errors[name] = ...``, ``ok = False`` where that name is returned as a failure."""
        if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call) and isinstance(node.value.func, cst.Attribute):
            owner, attr = node.value.func.value, node.value.func.attr.value
            return isinstance(owner, cst.Name) and owner.value in self.collected and attr in ("append", "add", "extend", "update")
        if isinstance(node, cst.Assign | cst.AugAssign):
            targets = [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]
            for target in targets:
                base = target.value if isinstance(target, cst.Subscript) else target
                if isinstance(base, cst.Name) and base.value in self.collected:
                    return True
        return False

    def _passes_on(self, value: cst.BaseExpression | None) -> bool:
        """``return failure(error)``: a local helper or a response builder that is given the error."""
        if isinstance(value, cst.Await):
            value = value.expression
        if not isinstance(value, cst.Call):
            return False
        name = self.module.dotted(value.func).lower()
        return "error" in name or "fail" in name or _json_of_failure(value)


def _all_but_expected(node: cst.If) -> bool:
    """``if error.errno != errno.EEXIST: raise``: what goes on is one error by its number."""
    test = node.test
    if not isinstance(test, cst.Comparison) or not isinstance(test.left, cst.Attribute):
        return False
    unequal = all(isinstance(c.operator, cst.NotEqual | cst.NotIn) for c in test.comparisons)
    return unequal and test.left.attr.value in ("errno", "returncode")


def _json_of_failure(call: cst.Call) -> bool:
    """``json.dumps({"status": "error", ...})``: how real upstream skills report."""
    return any(_is_failure(a.value) for a in call.args) or any(
        a.keyword is not None
        and a.keyword.value in ("success", "ok")
        and isinstance(a.value, cst.Name)
        and a.value.value == "False"
        for a in call.args
    )


def _reported_names(module: SkillModule, handler: cst.CSTNode) -> set[str]:
    """Names that the enclosing function returns under a key that says failure."""
    function = module.function_of(handler)
    if function is None:
        return set()
    names: set[str] = set()
    for node in module.own_nodes(function):
        if isinstance(node, cst.DictElement) and literal_text(node.key) in FAILURE_KEYS:
            names |= _names_in(node.value)
        elif isinstance(node, cst.If | cst.IfExp) and _raises_or_fails(module, node):
            names |= _names_in(node.test)
    return names


def _raises_or_fails(module: SkillModule, node: cst.If | cst.IfExp) -> bool:
    """``if failed: raise ...`` and ``return {...} if not failed else {"ok": False}``."""
    todo: list[cst.CSTNode] = [node.body, *([node.orelse] if node.orelse is not None else [])]
    while todo:
        child = todo.pop()
        if isinstance(child, cst.Raise) or (isinstance(child, cst.Dict) and _is_failure(child)):
            return True
        todo.extend(child.children)
    return False


def _names_in(node: cst.CSTNode) -> set[str]:
    names, todo = set(), [node]
    while todo:
        child = todo.pop()
        if isinstance(child, cst.Name):
            names.add(child.value)
        todo.extend(child.children)
    return names


def _is_failure(value: cst.BaseExpression | None) -> bool:
    if not isinstance(value, cst.Dict):
        return False
    said = {literal_text(e.key): e.value for e in value.elements if isinstance(e, cst.DictElement)}
    for key in ("ok", "success"):
        flag = said.get(key)
        if isinstance(flag, cst.Name):
            return flag.value == "False"
    status = literal_text(said.get("status"))
    if status is not None:
        return status in ("error", "failed", "failure")
    error = said.get("error")
    return error is not None and literal_text(error) != "" and not (isinstance(error, cst.Name) and error.value == "None")


def _broad(module: SkillModule, kind: cst.BaseExpression | None) -> str:
    """The broad class among those caught; "" where all are narrow."""
    if kind is None:
        return "everything"
    if isinstance(kind, cst.Tuple):
        return next((b for e in kind.elements if (b := _broad(module, e.value))), "")
    name = module.dotted(kind)
    if name in CANCELLED:
        return "" if _cancels(module, kind) else name
    return name if name.removeprefix("builtins.") in BROAD else ""


def _cancels(module: SkillModule, node: cst.CSTNode) -> bool:
    """Whether the function around it cancels something."""
    function = module.function_of(node)
    own = module.own_nodes(function) if function is not None else ()
    return any(isinstance(n, cst.Attribute) and n.attr.value == "cancel" for n in own)


def _until(module: SkillModule, node: cst.CSTNode, end: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for above in module.ancestors(node):
        if above is end:
            return
        yield above


RULE = SwallowedErrors()
