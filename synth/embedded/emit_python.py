"""A template as the text of a skill file: plain Python from the table of meanings."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from synth.embedded.code import Code, escaped, quote
from synth.embedded.compiler import acts_only, block, printed, sequence, statement
from synth.embedded.filters import as_bytes
from synth.embedded.helpers import HELPERS, closure
from synth.embedded.kinds import sorted_in_place, temporaries
from synth.embedded.scope import Facts, Items, Param, Scope
from synth.embedded.streams import stream, substituted
from synth.embedded.template import Program
from verifiers.shell.tree import Seq, ShellError, Simple

_MODULES = (
    "bz2", "fnmatch", "glob", "gzip", "hashlib", "io", "itertools", "json", "lzma", "os", "re", "shutil", "stat", "subprocess",
    "tarfile", "tempfile", "zipfile",
)  # fmt: skip
_IMPORTS = {
    "Decimal": "from decimal import Decimal",
    "Path": "from pathlib import Path",
    "Callable": "from collections.abc import Callable",
    "Iterator": "from collections.abc import Iterator",
}


def compile_program(program: Program, params: Sequence[Param], facts: Facts, writes: bool) -> Code:
    """The body of the skill.

    Raises:
        ShellError: some command has no meaning in the table.
    """
    code = _compiled(program, params, facts, writes, guarded=True)
    # A killed run leaves unfinished files only where it writes contents.
    written = {"_put", "_set", "_give"} & {h.partition(":")[0] for h in closure(code.used())}
    return code if written else _compiled(program, params, facts, writes, guarded=False)


def _compiled(program: Program, params: Sequence[Param], facts: Facts, writes: bool, guarded: bool) -> Code:
    code = Code(taken={p.name for p in params} | {"p", "n", "changed", "output"})
    scope = Scope(code, params, facts, temps=temporaries(program), sorted=sorted_in_place(program), guarded=guarded)
    scope.fed = lambda inner, body: as_bytes(inner, stream(inner, body))
    scope.substitute, scope.printed, scope.acts, scope.listed = _substitution, printed, acts_only, substituted
    if writes:
        for step in program:
            sequence(scope, step, told=True)
        block(scope, [])
        scope.temps = frozenset()
        scope.flush()
        if scope.changes:
            code.lines.insert(0, "    changed = 0")
            code.line('return {"ok": True, "changed": changed}')
        else:
            code.line('return {"ok": True}')
        return code
    for step in program[:-1]:
        statement(scope, step)
    got = stream(scope, program[-1])
    if scope.changes:
        raise ShellError("a task without effect whose commands change files is not understood")
    if isinstance(got, Items):
        code.line(f'return {{"output": {got.lines()}}}')
    else:
        output = code.assign("answer", as_bytes(scope, got))
        code.line(f'return {{"output": {output}.decode(errors="replace")}}')
    return code


def _substitution(scope: Scope, body: Seq) -> str:
    """``$(…)`` inside a word, as a str expression."""
    only = body.items[0] if len(body.items) == 1 else None
    if isinstance(only, Simple) and only.name in ("basename", "dirname") and 2 <= len(only.words) <= 3:
        path = scope.path(only.words[1])
        if only.name == "dirname":
            return f"str({path}.parent)"
        tail = f".removesuffix({scope.text(only.words[2])})" if len(only.words) == 3 else ""
        return f"{path}.name{tail}"
    got = stream(scope, body)
    scope.code.need("os")
    return f'os.fsdecode({as_bytes(scope, got)}).rstrip("\\n")'


def skill_source(name: str, summary: str, params: Sequence[Param], code: Code, returns: str) -> str:
    """The whole file."""
    body = "\n".join(code.lines)
    helpers = closure(code.used())
    text = "".join("\n\n" + HELPERS[h].text.strip() + "\n" for h in helpers)
    used = {m for m in _MODULES if re.search(rf"(?<![\w.\"]){m}\.\w", body + text)}
    plain = sorted(f"import {m}" for m in used)
    froms = sorted(line for m, line in _IMPORTS.items() if re.search(rf"\b{m}\b[\[(\]:, )]", body + text))
    head = [f'"""{_doc(summary)}"""', "", "from __future__ import annotations", "", *plain, *froms]
    head += ["", "from skill_api import Query, skill_command" if params else "from skill_api import skill_command", ""]
    head += ["", *code.constants, ""] if code.constants else []
    return formatted("\n".join(head) + text + "\n\n" + _function(name, summary, params, body, returns))


def formatted(source: str) -> str:
    """The source as ``ruff format`` lays it out; as it is where ruff does not run."""
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff)] if ruff.is_file() else [sys.executable, "-m", "ruff"]
    argv = [*command, "format", "--isolated", "--line-length", "110", "-"]
    done = subprocess.run(argv, input=source.encode(), capture_output=True, check=False)
    return done.stdout.decode() if done.returncode == 0 else source


def _function(name: str, summary: str, params: Sequence[Param], body: str, returns: str) -> str:
    lines = ["@skill_command(autowire=True)"]
    if params:
        lines.append(f"async def {name}(")
        for p in params:
            default = "..." if p.default is None else quote(p.default)
            lines.append(f"    {p.name}: {p.kind} = Query({default}, description={quote(p.description)}),")
        lines.append(") -> dict[str, object]:")
    else:
        lines.append(f"async def {name}() -> dict[str, object]:")
    lines += [f'    """{_doc(summary)}', ""]
    if params:
        lines += ["    Args:", *(f"        {p.name}: {escaped(p.description)}." for p in params), ""]
    lines += ["    Returns:", f"        {returns}", '    """']
    checked = [p.name for p in params if p.kind != "int"]
    if checked:
        test = f"not {checked[0]}" if len(checked) == 1 else f"not all([{', '.join(checked)}])"
        what = f"{checked[0]} must not be empty" if len(checked) == 1 else f"{' and '.join(checked)} must not be empty"
        lines += [f"    if {test}:", f"        raise ValueError({quote(what)})"]
    return "\n".join(lines) + "\n" + body + "\n"


def _doc(text: str) -> str:
    """Text that is safe in a docstring, ending as a sentence does."""
    clean = " ".join(text.split()).replace("\\", "/").replace('"""', "'''").strip().rstrip(".")
    end = "" if clean.endswith(("?", "!", "…")) else " ." if clean.endswith('"') else "."
    return f"{clean[:1].upper()}{clean[1:]}{end}"


__all__ = ["ShellError", "compile_program", "skill_source"]
