"""A docstring with summary, Args and Returns."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, literal_text, parameters
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Example, Profile, Severity
from verifiers.source.docstring import Docstring, parse_docstring

_GOOD = skill("all three parts", TOUCH)
_ARGS = "\n    Args:\n        file: Path of the file.\n"
_RETURNS = "\n    Returns:\n        Whether it went well and what changed.\n"


def _without(title: str, *parts: str) -> Example:
    text = _GOOD.source
    for part in parts:
        text = text.replace(part, "")
    return Example(title, text)


class DocstringSections(Rule):
    id = "conventions-docstring"
    title = "Does the docstring have a summary, Args and Returns?"
    why = (
        "The summary is what a router matches a request against; Args and Returns are what a caller goes by. Every "
        "parameter is listed under Args, and nothing that is no parameter. The fix writes missing sections from the "
        "parameters' descriptions and from the keys that the returned dicts visibly have, and what it can write only "
        "warns; a summary is nobody's to invent. In the `omni` profile the decorator's description may stand for the "
        "docstring, and what is missing only warns."
    )
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    fix_title = "write the docstring's Args and Returns from what is known"
    good = (
        _GOOD,
        Example(
            "no parameters, no Args",
            _GOOD.source.replace('\n    file: str = Query(..., description="Path of the file"),\n', "")
            .replace(_ARGS, "")
            .replace("Query, ", "")
            .replace("Path(file)", 'Path("a")'),
        ),
    )
    bad = (
        _without("no Args", _ARGS),
        _without("no Returns", _RETURNS),
        _without("neither", _ARGS, _RETURNS),
        _without("a parameter is missing", "        file: Path of the file.\n"),
        Example("no docstring", _GOOD.source[: _GOOD.source.index('    """')] + _GOOD.source[_GOOD.source.rindex('"""') + 4 :]),
        Example("a stale parameter", _GOOD.source.replace("        file: Path", "        path: Gone.\n        file: Path")),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        function = module.function
        if function is None:
            return
        doc = self._documentation(module, function)
        fixable = self._can_fix(module, function)
        missing: Severity = "warning" if fixable else "error"  # where all is said elsewhere, nobody is misled
        names = [p.name.value for p in parameters(function) if not module.injected(p)]
        if not doc.summary:
            yield Violation(function, "the docstring has no summary line")
        undescribed = [n for n in names if n not in doc.notes]
        if names and "Args" not in doc.sections:
            yield Violation(function, "the docstring has no Args section", missing, fixable=fixable)
        elif undescribed:
            yield Violation(function, f"Args does not list {', '.join(undescribed)}", missing, fixable=fixable)
        if stale := sorted(doc.listed - set(names)):
            yield Violation(function, f"Args lists {', '.join(stale)}, which is no parameter", "warning")
        if "Returns" not in doc.sections:
            yield Violation(function, "the docstring has no Returns section", missing, fixable=fixable)

    def _documentation(self, module: SkillModule, function: cst.FunctionDef) -> Docstring:
        own = parse_docstring(function.get_docstring() or "")
        if module.profile == "seed" or module.decorator_call is None:
            return own
        text = literal_text(module.keyword(module.decorator_call, "description"))
        return own.merged(parse_docstring(text or ""))

    def _can_fix(self, module: SkillModule, function: cst.FunctionDef) -> bool:
        """There is a plain docstring with a summary, and every parameter has a description somewhere."""
        node = docstring_node(function)
        if module.profile == "omni" or node is None or not parse_docstring(function.get_docstring() or "").summary:
            return False
        return all(p.description for p in module.subject.parameters)

    def fix(self, module: SkillModule) -> cst.Module | None:
        function = module.function
        if function is None or not self._can_fix(module, function) or not any(v.fixable for v in self.violations(module)):
            return None
        node = docstring_node(function)
        assert node is not None
        text = inspect.cleandoc(function.get_docstring() or "")
        new = with_sections(text, {p.name: p.description for p in module.subject.parameters}, returned(module, function))
        indent = _indent(module, function)
        body = "\n".join(f"{indent}{line}" if line else "" for line in new.splitlines()).lstrip()
        literal = cst.SimpleString(f'"""{_escaped(body)}\n{indent}"""')
        return cst.ensure_type(module.tree.deep_replace(node, literal), cst.Module)


def with_sections(text: str, described: dict[str, str], returns: str) -> str:
    """A docstring's text (dedented) with the Args entries and the Returns section that it lacks."""
    doc = parse_docstring(text)
    lines = text.rstrip().splitlines()
    missing = [f"    {name}: {_sentence(note)}" for name, note in described.items() if name not in doc.notes]
    if missing and "Args" in doc.sections:
        at = next(i for i, line in enumerate(lines) if line.strip().startswith(("Args", "Arguments", "Parameters", ":param")))
        lines[at + 1 : at + 1] = missing
    elif missing:
        at = next(
            (i for i, line in enumerate(lines) if line.strip().startswith(("Returns", "Return:", "Raises", ":return"))),
            len(lines),
        )
        block = ["", "Args:", *missing] if at == len(lines) else ["Args:", *missing, ""]
        lines[at:at] = block
    if "Returns" not in doc.sections:
        lines += ["", "Returns:", f"    {returns}"]
    return "\n".join(lines)


def returned(module: SkillModule, function: cst.FunctionDef) -> str:
    """A sentence about the returned value, from the keys of the dicts that are visibly returned."""
    keys: list[str] = []
    for node in module.own_nodes(function):
        if isinstance(node, cst.Return) and isinstance(node.value, cst.Dict):
            for element in node.value.elements:
                key = literal_text(element.key) if isinstance(element, cst.DictElement) else None
                if key is not None and key not in keys:
                    keys.append(key)
    if keys:
        return f"A dict with {', '.join(f'``{k}``' for k in keys)}."
    kind = module.code(function.returns.annotation) if function.returns is not None else ""
    return f"A value of type ``{kind}``." if kind else "The result."


def docstring_node(function: cst.FunctionDef) -> cst.SimpleString | None:
    """The literal that is the docstring; None where there is none or it is put together from several."""
    body = function.body.body
    first = body[0] if body else None
    if isinstance(first, cst.SimpleStatementLine):
        first = first.body[0]
    if isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString) and "b" not in first.value.prefix.lower():
        return first.value
    return None


def _indent(module: SkillModule, function: cst.FunctionDef) -> str:
    block = function.body
    own = block.indent if isinstance(block, cst.IndentedBlock) else None
    return own if own is not None else module.tree.default_indent


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return text[:-1] + '\\"' if text.endswith('"') else text


RULE = DocstringSections()
