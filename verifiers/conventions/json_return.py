"""What is visibly returned can be sent as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import Rule, Violation, skill
from verifiers.interface import Profile

_PATH_CALLS = frozenset({"pathlib.Path", "pathlib.PurePath", "pathlib.Path.cwd", "pathlib.Path.home", "pathlib.PosixPath"})
_PATH_METHODS = frozenset(
    {"with_suffix", "with_name", "resolve", "absolute", "joinpath", "relative_to", "expanduser", "rename", "replace", "with_stem"}
)
_PATH_LISTS = frozenset({"glob", "rglob", "iterdir"})
_OTHER_CALLS = {
    "set": "a set", "frozenset": "a set", "bytes": "bytes", "bytearray": "bytes", "datetime.datetime.now": "a date",
    "datetime.datetime.fromtimestamp": "a date", "datetime.date.today": "a date", "map": "an iterator", "filter": "an iterator",
    "zip": "an iterator", "reversed": "an iterator", "enumerate": "an iterator", "iter": "an iterator", "range": "a range",
    "decimal.Decimal": "a Decimal", "fractions.Fraction": "a Fraction", "complex": "a complex number",
}  # fmt: skip


class JsonReturn(Rule):
    id = "conventions-json-return"
    title = "Can the returned value be sent as JSON?"
    why = (
        "A `Path`, a set, bytes, a date or an iterator in the returned value raises when it is encoded, which is after "
        "the work was done: the caller sees a failure and the files are changed. Only what is visible in the text is "
        "judged here; the sandbox sees the rest."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    good = (
        skill(
            "text and numbers", 'Path(file).touch()\nreturn {"ok": True, "files": [str(p) for p in Path(".").glob("*")], "n": 1}'
        ),
        skill(
            "sorted names",
            'names = sorted(p.name for p in Path(".").iterdir())\nreturn {"ok": True, "names": names, "first": file}',
        ),
    )
    bad = (
        skill("a path", 'Path(file).touch()\nreturn {"ok": True, "path": Path(file)}'),
        skill("a list of paths", 'return {"ok": True, "files": [p for p in Path(file).glob("*")]}'),
        skill("paths in a variable", 'files = sorted(Path(file).rglob("*"))\nreturn {"ok": True, "files": files}'),
        skill("a set", 'return {"ok": True, "files": {file}}'),
        skill("a set in a variable", 'seen = set(file)\nreturn {"ok": True, "seen": seen}'),
        skill("bytes", 'return {"ok": True, "content": b"a", "file": file}'),
        skill("a generator", 'return {"ok": True, "files": (p.name for p in Path(file).iterdir())}'),
        skill("a key that is no text", 'return {"ok": True, (1, 2): file}'),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        if module.function is None:
            return
        for node in module.own_nodes(module.function):
            if isinstance(node, cst.Return) and node.value is not None:
                yield from self._value(module, node.value, 0)

    def _value(self, module: SkillModule, node: cst.BaseExpression, depth: int) -> Iterator[Violation]:
        if isinstance(node, cst.Dict):
            for element in node.elements:
                if isinstance(element, cst.DictElement) and isinstance(element.key, cst.Tuple):
                    yield Violation(element.key, "a tuple is no key that JSON has")
                yield from self._value(module, element.value, depth)
        elif isinstance(node, cst.List | cst.Tuple):
            for item in node.elements:
                yield from self._value(module, item.value, depth)
        elif odd := _kind(module, node, depth):
            yield Violation(node, f"the returned value holds {odd}, which JSON cannot say")


def _kind(module: SkillModule, node: cst.BaseExpression, depth: int = 0) -> str:
    """What an expression visibly is, where JSON has no value for it; "" otherwise."""
    if depth > 6:
        return ""
    if isinstance(node, cst.Set | cst.SetComp):
        return "a set"
    if isinstance(node, cst.GeneratorExp):
        return "a generator"
    if isinstance(node, cst.SimpleString) and "b" in node.prefix.lower():
        return "bytes"
    if isinstance(node, cst.ListComp) and isinstance(node.elt, cst.Name):
        return _loop_kind(module, node, depth)
    if isinstance(node, cst.Name):
        values = module.bindings.get(node.value, [])
        return _kind(module, values[0], depth + 1) if len(values) == 1 and values[0] is not None else ""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide):
        return "a path" if _kind(module, node.left, depth + 1) == "a path" else ""
    return _call_kind(module, node, depth) if isinstance(node, cst.Call) else ""


def _loop_kind(module: SkillModule, node: cst.ListComp, depth: int) -> str:
    """``[p for p in <paths>]``."""
    loop = node.for_in
    simple = isinstance(loop.target, cst.Name) and isinstance(node.elt, cst.Name) and loop.target.value == node.elt.value
    return _kind(module, loop.iter, depth + 1) if simple and _kind(module, loop.iter, depth + 1) == "paths" else ""


def _call_kind(module: SkillModule, call: cst.Call, depth: int) -> str:
    name = module.dotted(call.func)
    if name in _PATH_CALLS:
        return "a path"
    if name in _OTHER_CALLS and name not in module.bindings:
        return _OTHER_CALLS[name]
    if name in ("sorted", "list", "tuple") and call.args:
        inner = call.args[0].value
        if isinstance(inner, cst.GeneratorExp) and isinstance(inner.elt, cst.Name):
            return _kind(module, cst.ListComp(inner.elt, inner.for_in), depth + 1)
        return "paths" if _kind(module, inner, depth + 1) == "paths" else ""
    if isinstance(call.func, cst.Attribute):
        owner = call.func.value
        if call.func.attr.value in _PATH_LISTS and (_kind(module, owner, depth + 1) == "a path"):
            return "paths"
        if call.func.attr.value in _PATH_METHODS and _kind(module, owner, depth + 1) == "a path":
            return "a path"
        if call.func.attr.value in ("read_bytes", "encode"):
            return "bytes"
    return ""


RULE = JsonReturn()
