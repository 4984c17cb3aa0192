"""The tree as shell text again, parameters as positional ones (``"$1"``): never a value, always a constant program."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifiers.shell.tree import (
    CURSOR,
    Arith,
    Command,
    Feed,
    For,
    Glob,
    Hole,
    If,
    Lit,
    Many,
    Other,
    Part,
    Pipe,
    Positional,
    Redirect,
    Seq,
    ShellError,
    Simple,
    Sub,
    Test,
    Var,
    Verbatim,
    While,
    Word,
)

_SAFE = re.compile(r"[\w@%+=:,./\-]+", re.ASCII)


def script(program: Sequence[Command]) -> str:
    """One line a step."""
    return "\n".join(command(step) for step in program)


def command(node: Command) -> str:
    """Shell text for a command.

    Raises:
        ShellError: a parameter at a place where another language would read it.
    """
    if isinstance(node, Seq):
        return _sequence(node)
    if isinstance(node, Simple):
        assigns = [f"{name}={word(value)}" for name, value in node.assigns]
        return " ".join([*assigns, *_words(node), *map(_redirect, node.redirects)])
    if isinstance(node, Pipe):
        return " | ".join(command(s) for s in node.stages)
    if isinstance(node, For):
        return f"for {node.var} in {' '.join(word(w, split=True) for w in node.words)}; do {command(node.body)}; done"
    if isinstance(node, While):
        text = f"while {command(node.cond)}; do {command(node.body)}; done"
        return " ".join([text, *map(_redirect, node.redirects)])
    if isinstance(node, If):
        other = f" else {command(node.orelse)};" if node.orelse is not None else ""
        return f"if {command(node.cond)}; then {command(node.body)};{other} fi"
    if isinstance(node, Test):
        inner = " ".join(word(w) for w in node.words)
        return f"[[ {inner} ]]" if node.double else f"[ {inner} ]"
    if isinstance(node, Other):
        return "".join(map(_piece, node.pieces))
    body = f"( {command(node.body)} )" if node.subshell else f"{{ {command(node.body)}; }}"
    return " ".join([body, *map(_redirect, node.redirects)])


def _piece(piece: str | Word | Seq) -> str:
    if isinstance(piece, Word):
        return word(piece, split=True)
    return piece if isinstance(piece, str) else command(piece)


def _sequence(node: Seq) -> str:
    out = []
    for k, item in enumerate(node.items):
        join = node.joins[k] if k < len(node.joins) else ""
        out.append(command(item) + ({"": "", ";": ";", "&": " &"}.get(join, f" {join}") if join else ""))
    return " ".join(out)


def _words(node: Simple) -> list[str]:
    """A command's words; where a parameter could be read as an option it gets ``--`` or ``./``-safe quoting elsewhere."""
    return [word(w, split=True) for w in node.words]


def _redirect(r: Redirect) -> str:
    if r.op == "<<":
        return f"<<< {word(Word(_without_newline(r.target.parts)))}"
    fd = "" if (r.fd == 1 and r.op != "<") or (r.fd == 0 and r.op in ("<", "<&")) or r.op == "&>" else str(r.fd)
    return f"{fd}{r.op}{word(r.target)}"


def _without_newline(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """A here-string adds the newline that a here-document's text ends in."""
    last = parts[-1] if parts else None
    if isinstance(last, Lit) and last.text.endswith("\n"):
        return (*parts[:-1], Lit(last.text[:-1]))
    return parts


def word(w: Word, split: bool = False) -> str:
    """One word; ``split``: a command substitution may become several words, as it was written."""
    return "".join(_part(p, split) for p in w.parts) or "''"


def _part(part: Part, split: bool) -> str:
    if isinstance(part, Lit):
        return part.text if _SAFE.fullmatch(part.text) else ("'" + part.text.replace("'", "'\\''") + "'" if part.text else "")
    if isinstance(part, Glob):
        return part.text
    if isinstance(part, Hole):
        return f'"${{{part.index + 1}}}"'
    if isinstance(part, Positional):
        return f'"${{{part.number}}}"'
    if isinstance(part, Var):
        text = _expansion(part)
        return CURSOR if part.name == CURSOR else text if split and not part.quoted else f'"{text}"'
    if isinstance(part, Sub):
        text = f"$({command(part.body)})"
        return text if split and not part.quoted else f'"{text}"'
    if isinstance(part, Verbatim):
        return part.text if split and not part.quoted else f'"{part.text}"'
    if isinstance(part, Feed):
        return f"<({command(part.body)})"
    if isinstance(part, Arith):
        return f"$(({part.text}))"
    assert isinstance(part, Many)
    raise ShellError("a list parameter in a shell program is not understood")


def _expansion(var: Var) -> str:
    if not var.op:
        return f"${{{var.name}}}"
    args = "/".join("".join(_inner(p) for p in a.parts) for a in var.args)
    return f"${{{var.name}{var.op}{args}}}"


def _inner(part: Part) -> str:
    """Inside ``"${…}"``: parameters quoted so that they are not read as patterns."""
    if isinstance(part, Lit):
        return re.sub(r'([\\"$`}*?\[])', r"\\\1", part.text)
    if isinstance(part, Glob):
        return part.text
    if isinstance(part, Hole):
        return f'"${{{part.index + 1}}}"'
    raise ShellError("this expansion is not understood")
