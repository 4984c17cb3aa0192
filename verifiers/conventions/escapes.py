"""No way around the rules: code from text, frames and globals, hooks, leaving the process, programs that load more than told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.allow_list import REFUSED
from verifiers.conventions.constants import is_constant
from verifiers.conventions.families import FAMILIES, HARMLESS_DUNDERS, HOLDERS, NAMED_BY_TEXT, PYTHONS_NOTES
from verifiers.conventions.model import SkillModule, literal_text
from verifiers.conventions.resolve import Mention, Resolver
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile

_FIELD = "{"
_SIBLINGS = "sys.path."
"""By which a host's files find each other, as its own loader does: there it only warns."""


class Escapes(Rule):
    id = "conventions-escapes"
    title = "Does the skill stay within its own function?"
    why = (
        "What is judged is the text; code made from text (`eval`, `timeit`, `logging.config`), reached through dunder "
        "attributes, or found in other frames cannot be. Tracing and profiling hooks, `sys.modules`, `atexit` and signal "
        "handlers change how the host itself runs. `sys.exit` and `os._exit` end the process without the one frame that "
        "carries the value. A process that forks away from its parent outlives the run. To mention such a name is enough, "
        "called, aliased, imported or handed on; `getattr` and its like are fine where they are called with a constant name."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    good = (
        skill("plain code", TOUCH),
        skill("its own name", 'Path(file).write_text(__name__)\nreturn {"ok": True}'),
        skill(
            "a spelled-out attribute",
            'size = max([Path(file)], key=operator.attrgetter("name"))\nreturn {"ok": True, "flag": getattr(os, "O_BINARY", 0)}',
            imports="import operator\nimport os\nfrom pathlib import Path\n\n",
        ),
        skill(
            "an error told in full",
            'try:\n    Path(file).touch()\nexcept OSError:\n    return {"ok": False, "error": traceback.format_exc()}\n'
            'return {"ok": True}',
            imports="import traceback\nfrom pathlib import Path\n\n",
        ),
    )
    bad = (
        skill("eval", 'eval(file)\nreturn {"ok": True}'),
        skill("for an interpreter without -O only", 'if __debug__:\n    Path(file).touch()\nreturn {"ok": True}'),
        skill("a dunder hatch", 'Path.__subclasses__()\nreturn {"ok": True, "file": file}'),
        skill("builtins", '__builtins__["open"](file)\nreturn {"ok": True}'),
        skill(
            "a note of Python's own",
            '__warningregistry__["n"] = 1\nreturn {"ok": True, "file": file}',
            imports="__warningregistry__: dict[str, int] = {}\n\n",
        ),
        skill(
            "a note of Python's own in a class of flags",
            'F._member_map_[file] = F.A\nreturn {"ok": True}',
            imports="import enum\n\n\nclass F(enum.Flag):\n    A = 1\n\n\n",
        ),
        skill("getattr with a dunder", 'getattr(Path, "__sub" + "classes__")()\nreturn {"ok": True, "file": file}'),
        skill("code from text by a stopwatch", 'timeit.timeit(file, number=1)\nreturn {"ok": True}', imports="import timeit\n\n"),
        skill(
            "a getter handed on",
            'functools.reduce(getattr, ["touch"], Path(file))\nreturn {"ok": True}',
            imports="import functools\nfrom pathlib import Path\n\n",
        ),
        skill(
            "an attribute by a pattern",
            'match Path.touch:\n    case object(__globals__=g):\n        print(g)\nreturn {"ok": True, "file": file}',
        ),
        skill("an attribute in a template", 'return {"ok": True, "text": "{0.__class__.__init__.__globals__}".format(file)}'),
        skill("a module through another", 'shutil.os.kill(int(file), 9)\nreturn {"ok": True}', imports="import shutil\n\n"),
        skill("a module as a value", '(sys,)[0].stdout.write(file)\nreturn {"ok": True}', imports="import sys\n\n"),
        skill(
            "locals of other frames",
            "for frame in traceback.StackSummary.extract(traceback.walk_stack(None), capture_locals=True):\n    print(frame)\n"
            'return {"ok": True, "file": file}',
            imports="import traceback\n\n",
        ),
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
        resolver = Resolver(module)
        told: set[cst.CSTNode] = set()
        for mention in resolver.mentions():
            if mention.node not in told and not self._inside(module, mention.node, told) and (why := _why(module, mention)):
                told.add(mention.node)
                siblings = module.profile == "omni" and any(f"{n}.".startswith(_SIBLINGS) for n in mention.meanings)
                yield Violation(mention.node, why, "warning" if siblings else "error")
        for node in module.nodes:
            if isinstance(node, cst.Call):
                yield from self._call(module, node)
            elif isinstance(node, cst.FunctionDef) and node.name.value == "__del__":
                yield Violation(node, "__del__ runs after the value was returned, and nobody knows when")
            elif isinstance(node, cst.Raise) and node.exc is not None:
                exc = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
                if module.dotted(exc) in ("SystemExit", "KeyboardInterrupt", "GeneratorExit"):
                    yield Violation(node, f"raises {module.dotted(exc)}: the process ends without a value")

    @staticmethod
    def _inside(module: SkillModule, node: cst.CSTNode, told: set[cst.CSTNode]) -> bool:
        """Whether it is the head of a chain that was told already."""
        above = module.parents.get(node)
        while isinstance(above, cst.Attribute):
            if above in told:
                return True
            above = module.parents.get(above)
        return False

    @staticmethod
    def _call(module: SkillModule, call: cst.Call) -> Iterator[Violation]:
        name = module.dotted(call.func)
        if module.keyword(call, "capture_locals") is not None:
            yield Violation(call, "capture_locals reaches the values of other frames")
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in ("format", "format_map"):
            yield from _template(module, call, call.func.value)
        if name == "subprocess.Popen":
            if isinstance(module.parents.get(call), cst.Expr):
                yield Violation(call, "Popen starts a process that nobody waits for: use subprocess.run")
            for key in ("start_new_session", "preexec_fn", "process_group"):
                value = module.keyword(call, key)
                if value is not None and module.code(value) not in ("False", "None"):
                    yield Violation(call, f"Popen({key}=…) starts what may outlive the run")


def _why(module: SkillModule, mention: Mention) -> str:
    """What is wrong with a mention; "" for nothing."""
    shown = module.code(mention.node).splitlines()[0][:60] if isinstance(mention.node, cst.Import | cst.ImportFrom) else ""
    last = mention.attribute or (mention.node.value if isinstance(mention.node, cst.Name) else "")
    hatch = last.startswith("__") and last.endswith("__") and last not in HARMLESS_DUNDERS
    if last in PYTHONS_NOTES or (hatch and not _defined_here(module, mention)):
        return f"{'.' if mention.attribute else ''}{last} is a way around the rules"
    for name in sorted(mention.meanings):
        for family in FAMILIES:
            if any(name == known or name.startswith(known + ".") for known in family.names):
                return f"{shown or name} {family.idea}"
        if name in NAMED_BY_TEXT and (why := _getter(module, mention.node, name)):
            return why
    for family in FAMILIES:
        if mention.attribute in family.attributes:
            return f".{mention.attribute} {family.idea}"
    return _refused_module(module, mention) or _handed_on(module, mention)


def _handed_on(module: SkillModule, mention: Mention) -> str:
    """A whole module as a value; its attributes, and lookups by a constant name, are judged as what they are."""
    held = sorted(mention.meanings & HOLDERS & set(module.imports.values()))
    above = module.parents.get(mention.node)
    if not held or not isinstance(mention.node, cst.Name) or isinstance(above, cst.Attribute | cst.Del):
        return ""
    call = module.parents.get(above) if isinstance(above, cst.Arg) else None
    looked_up = isinstance(call, cst.Call) and module.dotted(call.func) in NAMED_BY_TEXT and call.args[0] is above
    return "" if looked_up else f"the module {held[0]} is handed on as a value, past every name that a rule can see"


def _getter(module: SkillModule, node: cst.CSTNode, name: str) -> str:
    """What is wrong with a lookup by text: the name is not to be seen, or it is handed on."""
    above = module.parents.get(node)
    if isinstance(node, cst.ImportFrom) or (isinstance(above, cst.Attribute) and above.value is node):
        return ""
    if not isinstance(above, cst.Call) or above.func is not node:
        return f"{name} handed on looks up names that no rule can see"
    place = NAMED_BY_TEXT[name]
    if len(above.args) <= place or any(a.star for a in above.args[: place + 1]):
        return f"{name} with a name that is computed"
    asked = above.args[place:] if name == "operator.attrgetter" else above.args[place : place + 1]
    return f"{name} with a name that is computed" if any(literal_text(a.value) is None for a in asked) else ""


def _refused_module(module: SkillModule, mention: Mention) -> str:
    """A module that may not be imported, reached through one that may."""
    if isinstance(mention.node, cst.Import | cst.ImportFrom) or not mention.attribute:
        return ""
    written = module.dotted(mention.node)
    for name in sorted(mention.meanings - {written}):
        top = name.partition(".")[0]
        if top in REFUSED and name == top:
            return f"{written or mention.attribute} reaches the module {top}, which {REFUSED[top]}"
    return ""


def _defined_here(module: SkillModule, mention: Mention) -> bool:
    return not mention.attribute and isinstance(mention.node, cst.Name) and mention.node.value in module.bindings


def _template(module: SkillModule, call: cst.Call, template: cst.BaseExpression) -> Iterator[Violation]:
    """A template with fields that reach into what it is given, or one that is not written here."""
    text = literal_text(template)
    if text is not None and "__" in text and _FIELD in text and _reaches(text):
        yield Violation(call, "a template whose field reaches a dunder attribute is a way around the rules")
    elif text is None and not is_constant(module, template) and _is_text(module, template):
        yield Violation(call, "the template of .format() comes from outside: its braces become fields", "info")


def _reaches(text: str) -> bool:
    return any("__" in part.partition("}")[0].partition(":")[0] and "." in part for part in text.split(_FIELD)[1:])


def _is_text(module: SkillModule, template: cst.BaseExpression) -> bool:
    """Whether it is read from somewhere; of a plain name nobody can say what it is."""
    return isinstance(template, cst.Call) and module.code(template.func).endswith(("read_text", "read"))


RULE = Escapes()
