"""Every parameter is described, where the profile's index looks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, literal_text, parameters, with_parameters
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Example, Profile
from verifiers.source.docstring import parse_docstring
from verifiers.subject import HINTS

_OMNI = '''from omni.foundation.api.decorators import skill_command


@skill_command(
    name="show",
    description="""
    Show a path.

    Args:
        - file: str - Path of the file

    Returns:
        The path.
    """,
)
def show(file: str{default}) -> str:
    return file
'''


class Described(Rule):
    id = "conventions-described"
    title = "Is every parameter described?"
    why = (
        "Whoever calls the skill, model or person, sees names, types and descriptions, nothing else. In the `seed` "
        'profile the description stands in `Query(..., description="…")`, as one plain string. One that stands only in the '
        "docstring warns: our index reads it there, other hosts may not, and the fix moves it; none can be invented. In the "
        "`omni` profile it is a bullet `- name: type = default - text` of the decorator's description, and its absence only "
        "warns: a third of the real skills lack some."
    )
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    fix_title = "describe parameters in Query with the docstring's words"
    good = (skill("described", TOUCH, params='file: str = Query(..., description="Path of the file.")'),)
    bad = (
        skill("described in the docstring only", TOUCH, params="file: str", notes="file: Path of the file."),
        skill("an empty description", TOUCH, params='file: str = Query(..., description="")'),
        skill("no description", TOUCH, params="file: str = Query(...)", notes="none"),
        skill("a computed description", TOUCH, params='file: str = Query(..., description="a" + str(1))', notes="none"),
    )
    omni_good = (Example("bullets", _OMNI.format(default="")), Example("bullets, with a default", _OMNI.format(default=' = "a"')))
    omni_bad = (Example("no bullet", _OMNI.replace("- file: str - Path of the file", "none").format(default="")),)

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        function = module.function
        if function is None:
            return
        described = {p.name: p.description for p in module.subject.parameters}
        notes = _docstring_notes(function)
        for param in parameters(function):
            name = param.name.value
            if module.profile == "omni":
                if not described.get(name) and not module.injected(param):
                    yield Violation(param, f"parameter {name} is not described by a bullet in the decorator's description")
            elif not _query_description(module, param):
                known = bool(notes.get(name))
                where = "only in the docstring, not in Query" if known else "nowhere"
                yield Violation(
                    param,
                    f"parameter {name} is described {where}",
                    severity="warning" if known else "error",
                    fixable=known,
                    suggestion="" if known else _scaffold(module, param),
                )

    def fix(self, module: SkillModule) -> cst.Module | None:
        function = module.function
        if function is None or module.profile == "omni" or "Query" not in {v.rpartition(".")[2] for v in module.imports.values()}:
            return None
        notes = _docstring_notes(function)
        changes = {
            param: described(module, param, note)
            for param in parameters(function)
            if (note := notes.get(param.name.value, "")) and not _query_description(module, param)
        }
        return with_parameters(module, function, changes) if changes else None


def described(module: SkillModule, param: cst.Param, text: str) -> cst.Param:
    """The parameter with ``Query(<its default or ...>, description=text)``."""
    default = param.default
    query = cst.ensure_type(cst.parse_expression(f"Query(..., description={_quoted(text)})"), cst.Call)
    if isinstance(default, cst.Call) and module.dotted(default.func).rpartition(".")[2] == "Query":
        kept = [
            a.with_changes(comma=cst.MaybeSentinel.DEFAULT)
            for a in default.args
            if a.keyword is None or a.keyword.value != "description"
        ]
        query = query.with_changes(args=[*(kept or query.args[:1]), query.args[1]])
    elif default is not None:
        query = query.with_changes(args=[cst.Arg(default), query.args[1]])
    space = cst.SimpleWhitespace(" " if param.annotation is not None else "")
    return param.with_changes(default=query, equal=cst.AssignEqual(space, space))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def _query_description(module: SkillModule, param: cst.Param) -> str:
    call = param.default
    if not isinstance(call, cst.Call) or module.dotted(call.func).rpartition(".")[2] != "Query":
        return ""
    return (literal_text(module.keyword(call, "description")) or "").strip()


def _docstring_notes(function: cst.FunctionDef) -> dict[str, str]:
    return parse_docstring(function.get_docstring() or "").notes


def _scaffold(module: SkillModule, param: cst.Param) -> str:
    """A description made of the name's words: only a person can say whether it is true."""
    words = param.name.value.replace("_", " ").strip().capitalize()
    if "Query" not in module.imports or words.lower() in HINTS:
        return ""
    function = module.function
    tree = with_parameters(module, function, {param: described(module, param, words)}) if function is not None else None
    return tree.code if tree is not None else ""


RULE = Described()
