"""Programs load and run nothing but what they are told to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.families import LOADED_BY_PROGRAMS, OFF, PLANTED, RUN_BY_PROGRAMS
from verifiers.conventions.model import SkillModule, literal_text
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile

_RUN = "import os\nimport subprocess\n\n"
_SETTERS = frozenset({"setdefault", "putenv", "setenv"})


class Loaders(Rule):
    id = "conventions-loaders"
    title = "Do the programs that it starts load nothing else?"
    why = (
        "Some variables make a program load or run something else than its command line says: `LD_PRELOAD`, `BASH_ENV`, "
        "`PYTHONSTARTUP`, `PERL5OPT`, `GIT_SSH_COMMAND`; so do settings of git such as `core.hooksPath` and `filter.x.clean`, "
        "and files that git runs unasked. What runs then stands in no text that is judged, and may run long after the skill. "
        "Taking such a variable away, or switching it off with an empty value or `/dev/null`, is fine."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    good = (
        skill("no variables", TOUCH),
        skill(
            "taken away",
            'env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}\nenv.pop("BASH_ENV", None)\n'
            'env["PATH"] = "/usr/local/bin:" + os.defpath\n'
            'subprocess.run(["git", "-c", "core.hooksPath=/dev/null", "add", "--", file], env=env, check=True)\n'
            'return {"ok": True}',
            imports=_RUN,
        ),
    )
    bad = (
        skill(
            "a preloaded library",
            'subprocess.run(["touch", "--", file], env={"LD_PRELOAD": "./a.so"}, check=True)\nreturn {"ok": True}',
            imports=_RUN,
        ),
        skill("set for all children", 'os.environ["BASH_ENV"] = file\nreturn {"ok": True}', imports=_RUN),
        skill("as a keyword", 'env = dict(os.environ, PERL5OPT="-Mx")\nreturn {"ok": bool(env), "file": file}', imports=_RUN),
        skill(
            "in front of a command",
            'subprocess.run(["env", "PYTHONPATH=lib", "touch", file], check=True)\nreturn {"ok": True}',
            imports=_RUN,
        ),
        skill(
            "a setting of git",
            'subprocess.run(["git", "config", "core.fsmonitor", file], check=True)\nreturn {"ok": True}',
            imports=_RUN,
        ),
        skill(
            "programs of the workspace",
            'subprocess.run(["touch", "--", file], env={"PATH": ".:/usr/bin:/bin"}, check=True)\nreturn {"ok": True}',
            imports=_RUN,
        ),
        skill("a hook", 'Path(".git/hooks/post-checkout").write_text(file)\nreturn {"ok": True}'),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node in module.nodes:
            for name, value in self._set(module, node):
                if LOADED_BY_PROGRAMS.fullmatch(name) and literal_text(value) not in OFF:
                    yield Violation(node, f"{name} makes a program load or run what its command line does not say")
                if name == "PATH" and (place := _relative_place(value)) is not None:
                    yield Violation(node, f"PATH has {place!r} in it: a program is looked for among the files of the workspace")
            if isinstance(node, cst.SimpleString) and (text := literal_text(node)) is not None and not _is_remark(module, node):
                yield from self._text(module, node, text)

    @staticmethod
    def _set(module: SkillModule, node: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode | None]]:
        """(name, value) of every variable that a node gives a value."""
        if isinstance(node, cst.DictElement):
            yield literal_text(node.key) or "", node.value
        elif isinstance(node, cst.Arg) and node.keyword is not None:
            yield node.keyword.value, node.value
        elif isinstance(node, cst.Call) and len(node.args) == 2 and module.code(node.func).rpartition(".")[2] in _SETTERS:
            yield literal_text(node.args[0].value) or "", node.args[1].value
        elif isinstance(node, cst.Assign | cst.AugAssign):
            targets = [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]
            for target in targets:
                if isinstance(target, cst.Subscript) and isinstance(index := target.slice[0].slice, cst.Index):
                    yield literal_text(index.value) or "", node.value

    @staticmethod
    def _text(module: SkillModule, node: cst.SimpleString, text: str) -> Iterator[Violation]:
        """A word of a command line that sets something, and paths of files that others run."""
        for word in text.split():
            name, equals, value = word.strip("'\"").partition("=")
            if equals and LOADED_BY_PROGRAMS.fullmatch(name) and value not in OFF:
                yield Violation(node, f"{name} makes a program load or run what its command line does not say")
            found = RUN_BY_PROGRAMS.fullmatch(word.strip("'\""))
            if found is not None and (found["value"] if equals else _next(module, node)) not in OFF:
                yield Violation(node, f"the setting {name} makes git run other programs")
        if PLANTED.search(text):
            yield Violation(node, f"{text[:60]} names files that git runs unasked, long after the skill")


def _relative_place(value: cst.CSTNode | None) -> str | None:
    """A directory of a search path that begins where the skill happens to run."""
    if isinstance(value, cst.BinaryOperation):
        return _relative_place(value.left) or _relative_place(value.right)
    parts = value.parts if isinstance(value, cst.FormattedString) else [value]
    said = [p.value if isinstance(p, cst.FormattedStringText) else literal_text(p) or "" for p in parts]
    return next((place for text in said for place in text.split(":") if place and place[0] not in "/~"), None)


def _is_remark(module: SkillModule, node: cst.CSTNode) -> bool:
    """Whether a text stands alone, as a docstring does, or describes a parameter."""
    above = module.parents.get(node)
    keyword = above.keyword.value if isinstance(above, cst.Arg) and above.keyword is not None else ""
    return isinstance(above, cst.Expr) or keyword == "description"


def _next(module: SkillModule, node: cst.CSTNode) -> str | None:
    """The constant after this one in a list of words."""
    element = module.parents.get(node)
    words = module.parents.get(element) if element is not None else None
    if not isinstance(words, cst.List | cst.Tuple):
        return ""  # no command line: a text that only looks like a setting
    at = next(i for i, e in enumerate(words.elements) if e is element)
    return literal_text(words.elements[at + 1].value) if at + 1 < len(words.elements) else ""


RULE = Loaders()
