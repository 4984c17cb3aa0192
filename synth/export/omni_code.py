"""A skill of the ``seed`` profile as Omni wants it: the real decorator, plain defaults, parameter bullets, pathlib for ``os``.

A mechanical rewrite of the syntax tree: the body does what it did when it was verified, and can be judged again where it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from synth.export.document import ended
from synth.export.omni_immune import refused, with_pathlib
from synth.export.omni_workspace import PARAMETER, in_workspace, takes_workspace, with_helper
from synth.export.source import ExportError
from synth.registry.annotations import Annotations
from verifiers.interface import Parameter, Subject

IMPORT = "from omni.foundation.api.decorators import skill_command\n"
_VERB_WORDS = """
create get search update delete execute run load save list show check build parse format validate generate apply process
clear index ingest consult bridge refine summarize commit amend revert retrieve analyze suggest write read extract query
filter detect navigate refactor
"""
_VERBS = frozenset(_VERB_WORDS.split())
"""With which Omni wants a description to begin."""


def omni_source(source: str, subject: Subject, hints: Annotations, name: str) -> str:
    """The text of ``scripts/commands.py``.

    Args:
        subject: What ``source`` was parsed to.
        hints: Measured annotations, written into the decorator.
        name: The command's name.

    Raises:
        ExportError: the skill cannot be rewritten mechanically (it uses Nushell, aliases the decorator, or is no such skill).
    """
    if subject.profile == "omni":
        return source
    try:
        module = cst.parse_module(source)
    except cst.ParserSyntaxError as e:
        raise ExportError("it does not parse", "Verify it again", name) from e
    told = takes_workspace(source, subject)
    known = replace(subject, parameters=(*subject.parameters, PARAMETER)) if told else subject
    rewrite = _Rewrite(subject, _decorator(known, hints, name), told)
    changed = module.visit(rewrite)
    if rewrite.problem or not rewrite.functions:
        what = rewrite.problem or "it has no @skill_command function"
        raise ExportError(what, "Only skills that import skill_command and Query from skill_api can be rewritten", name)
    text = (with_helper(changed, subject.name) if told else changed).code
    plain = with_pathlib(text)
    return text if refused(plain) else plain


def description(subject: Subject) -> str:
    """The text that Omni indexes: a verb first, ``Args:`` bullets in the one form that both its parsers read, ``Returns:``."""
    summary = subject.description or subject.name.replace("_", " ")
    if summary.split()[0].lower() not in _VERBS:
        summary = f"Run: {summary[0].lower()}{summary[1:]}"
    lines = [ended(summary), ""]
    if subject.parameters:
        lines += ["Args:", *(_bullet(p) for p in subject.parameters), ""]
    return "\n".join([*lines, "Returns:", "    The skill's result as a JSON object."])


def _bullet(parameter: Parameter) -> str:
    """``- name: type = default - text``; no default with a hyphen: the reader takes everything after the first one as text."""
    kind = parameter.annotation.replace("-", "")
    default = "" if parameter.required else f" = {json.dumps(parameter.default, ensure_ascii=False)}"
    text = " ".join(parameter.description.split()) or parameter.name.replace("_", " ")
    return f"    - {parameter.name}: {kind}{'' if '-' in default else default} - {text}"


def _decorator(subject: Subject, hints: Annotations, name: str) -> cst.Decorator:
    category = "read" if hints.read_only else "write"
    flags = [f"{key}={getattr(hints, key)}" for key in ("read_only", "destructive", "idempotent", "open_world")]
    text = _literal(description(subject))
    # The description last: Omni's scanner reads no keyword after a text of several lines.
    keywords = [f"name={json.dumps(name)}", f"category={json.dumps(category)}", *flags, f"description={text}"]
    call = "skill_command(\n" + "".join(f"    {keyword},\n" for keyword in keywords) + ")"
    return cst.Decorator(cst.parse_expression(call))


def _literal(text: str) -> str:
    """One plain string literal over several lines; what would end it or be an escape is escaped."""
    return '"""' + text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') + ('\n"""' if text.endswith('"') else '"""')


class _Rewrite(cst.CSTTransformer):
    def __init__(self, subject: Subject, decorator: cst.Decorator, told: bool) -> None:
        super().__init__()
        self._parameters = {p.name: p for p in subject.parameters}
        self._name = subject.name
        self._decorator = decorator
        self._told = told
        self._depth = 0
        self.functions = 0
        self.problem = ""

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom | cst.RemovalSentinel:
        if not isinstance(updated_node.module, cst.Name) or updated_node.module.value != "skill_api":
            return updated_node
        names = updated_node.names if isinstance(updated_node.names, Sequence) else ()
        for alias in names:
            if alias.asname is not None:
                self.problem = f"it imports {alias.evaluated_name} under another name"
            elif alias.evaluated_name not in ("skill_command", "Query"):
                self.problem = f"it imports {alias.evaluated_name} from skill_api, which Omni has not"
        if not names:
            self.problem = "it imports everything from skill_api"
        statement = cst.parse_statement(IMPORT)
        assert isinstance(statement, cst.SimpleStatementLine)
        replacement = statement.body[0]
        assert isinstance(replacement, cst.ImportFrom)
        return replacement

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:
        if any(alias.evaluated_name.split(".")[0] == "skill_api" for alias in updated_node.names):
            self.problem = "it imports skill_api as a module"
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._depth += 1

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self._depth -= 1
        if self._depth or updated_node.name.value != self._name:
            return updated_node
        self.functions += 1
        given = updated_node.params
        plain = [self._plain(p) for p in (*given.params, *given.kwonly_params)]
        ordered = [p for p in plain if p.default is None] + [p for p in plain if p.default is not None]
        params = [p.with_changes(comma=cst.MaybeSentinel.DEFAULT) for p in ordered]
        changed = given.with_changes(params=params, kwonly_params=[], star_arg=cst.MaybeSentinel.DEFAULT)
        here = cst.SimpleWhitespace("")
        made = updated_node.with_changes(decorators=[self._decorator], params=changed, whitespace_before_params=here)
        return in_workspace(made) if self._told else made

    def _plain(self, param: cst.Param) -> cst.Param:
        """Without ``Query``: required ones without a default, the others with a literal one. (Omni calls by keyword.)"""
        known = self._parameters.get(param.name.value)
        if known is None or known.required:
            return param.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT)
        if isinstance(known.default, list | dict) and known.default:
            self.problem = f"parameter {known.name} has a mutable default"
        default = "None" if known.default in ([], {}) else repr(known.default)
        return param.with_changes(default=cst.parse_expression(default), equal=cst.AssignEqual())
