"""The directory that an Omni command works on, said by who calls it: all commands run in Omni's one process and directory."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from verifiers.interface import Parameter, Subject
from verifiers.source.parsing import parsed

PARAMETER = Parameter("workspace", "str", "Directory to work on, the current one if empty", required=False, default="")
_TAKEN = frozenset({"workspace", "_workspace", "chdir"})
_HELPER = '''

def _workspace(given: str) -> Path:
    """The directory to work on, never the skill's own: the current one, unless that is the home directory or the root."""
    here, file = Path(given).resolve(), Path(__file__).resolve()
    own = file.parents[1] if file.parent.name == "scripts" else file
    if here.is_relative_to(own) or (not given and here in (Path.home().resolve(), Path(here.anchor))):
        raise ValueError(f"{here} is no directory to work on unasked: say which with workspace")
    return here
'''


def takes_workspace(source: str, subject: Subject) -> bool:
    """Whether a skill of the ``seed`` profile can be given one.

    One that waits cannot: what else runs meanwhile would find itself in its directory.
    """
    nodes = list(ast.walk(parsed(source)))
    waits = any(isinstance(n, ast.Await | ast.AsyncFor | ast.AsyncWith | ast.Yield | ast.YieldFrom) for n in nodes)
    named = {getattr(n, kind, None) for n in nodes for kind in ("id", "arg", "name", "asname", "attr")}
    return subject.profile != "omni" and not waits and not named & _TAKEN


def in_workspace(function: cst.FunctionDef) -> cst.FunctionDef:
    """A function with the parameter, whose statements run in that directory."""
    statements: Sequence[cst.BaseStatement | cst.BaseSmallStatement] = function.body.body
    lines = [s if isinstance(s, cst.BaseStatement) else cst.SimpleStatementLine([s]) for s in statements]
    said = 1 if function.get_docstring() is not None else 0
    opened = cst.WithItem(cst.parse_expression(f"chdir(_workspace({PARAMETER.name}))"))
    within = cst.With(items=[opened], body=cst.IndentedBlock(lines[said:] or [cst.SimpleStatementLine([cst.Pass()])]))
    extra = cst.Param(
        cst.Name(PARAMETER.name),
        cst.Annotation(cst.Name(PARAMETER.annotation)),
        equal=cst.AssignEqual(),
        default=cst.SimpleString('""'),
    )
    params = function.params.with_changes(params=[*function.params.params, extra])
    block = function.body if isinstance(function.body, cst.IndentedBlock) else cst.IndentedBlock([])
    return function.with_changes(params=params, body=block.with_changes(body=[*lines[:said], within]))


def with_helper(module: cst.Module, name: str) -> cst.Module:
    """The module with what ``in_workspace`` calls, before the function of that name."""
    body = list(module.body)
    at = next(i for i, s in enumerate(body) if isinstance(s, cst.FunctionDef) and s.name.value == name)
    body[at:at] = [cst.parse_statement(_HELPER)]
    aliases = [a for n in parsed(module.code).body if isinstance(n, ast.ImportFrom) and n.module == "pathlib" for a in n.names]
    known = any(a.name == "Path" and a.asname is None for a in aliases)
    late = m.SimpleStatementLine([m.ImportFrom(module=m.Name("__future__"))]) | m.SimpleStatementLine([m.Expr(m.SimpleString())])
    first = next(i for i, s in enumerate(body) if not m.matches(s, late))
    needed = ["from contextlib import chdir\n", *([] if known else ["from pathlib import Path\n"])]
    body[first:first] = [cst.parse_statement(line) for line in needed]
    return module.with_changes(body=body)
