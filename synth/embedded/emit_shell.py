"""The fallback: the recorded commands as one constant program with positional parameters, on a staged copy of the workspace.

What the program changed is then put in place path by path, each in one step, new before gone, so that a killed run converges.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from sandbox.interface import ROOT, Effect
from synth.embedded.antiunify import Program
from synth.embedded.code import Code, quote
from synth.embedded.kinds import walk
from synth.embedded.meanings import TABLE, roles
from synth.embedded.params import inner_name
from synth.embedded.pythoncode import arguments
from synth.embedded.scope import Param
from synth.embedded.tree import (
    Command,
    For,
    Group,
    Hole,
    If,
    Lit,
    Pipe,
    Seq,
    ShellError,
    Simple,
    Test,
    Var,
    While,
    Word,
    literal_word,
)
from synth.embedded.unparse import script

_INTERPRETERS = frozenset(
    {"python", "python3", "perl", "awk", "gawk", "sed", "bash", "sh", "jq", "sqlite3", "ruby", "node", "bc", "make", "eval"}
)


def read_program(program: Program, params: Sequence[Param]) -> Code:
    """A read-only pipeline, run as it was.

    Raises:
        ShellError: a parameter would be read as code, or cannot be positional.
    """
    _safe(program)
    code = Code(taken={p.name for p in params})
    code.helper("_shell")
    text = "set -o pipefail\n" + script(tuple(quiet(step) for step in program))
    code.constants.append(f"PROGRAM = {quote(text)}")
    code.line(f"answer = _shell([{_arguments(params)}])")
    code.line('return {"output": answer.decode(errors="replace")}')
    return code


def staged_program(program: Program, params: Sequence[Param], effects: Collection[Effect]) -> Code:
    """Commands that change the workspace, run on a copy, the differences put in place.

    Raises:
        ShellError: as ``read_program``; or kinds of change that are not put in place.
    """
    _safe(program)
    kinds: set[tuple[str, str]] = {(e.kind, entry.type) for e in effects if e.path != ROOT and (entry := e.after or e.before)}
    code = Code(taken={p.name for p in params} | {"changed", "p"})
    code.need("tempfile", "shutil", "os")
    code.helper("_shell:in")
    text = "set -e -o pipefail\n" + script(tuple(settled(step) for step in program))
    code.line("changed = 0")
    scratch, stage, name = code.fresh("scratch"), code.fresh("stage"), code.fresh("name")
    with code.block(f"with tempfile.TemporaryDirectory() as {scratch}:"):
        code.line(f'{stage} = Path({scratch}) / "stage"')
        code.line(f'shutil.copytree(".", {stage}, symlinks=True)')
        code.constants.append(f"PROGRAM = {quote(text)}")
        code.line(f"_shell([{_arguments(params)}], {stage})")
        _apply(code, kinds, stage, name)
    code.line('return {"ok": True, "changed": changed}')
    return code


def _apply(code: Code, kinds: set[tuple[str, str]], stage: str, name: str) -> None:
    """Lines that make the workspace like the staged copy, for the kinds of change that the recordings have."""
    code.need("Path")
    code.helper("_below")

    def each(test: str, listing: str = f"_below({stage})") -> str:
        return f"for {name} in [p for p in {listing} if {test}]:"

    if ("created", "dir") in kinds:
        with code.block(each(f"({stage} / p).is_dir() and not ({stage} / p).is_symlink()")):
            code.line(f"changed += {code.helper('_mkdir')}(Path({name}))")
    if kinds & {("created", "file"), ("content", "file"), ("mode", "file")}:
        with code.block(each(f"({stage} / p).is_file() and not ({stage} / p).is_symlink()")):
            mode = f"({stage} / {name}).stat().st_mode & 0o7777"
            code.line(f"changed += {code.helper('_put')}(Path({name}), ({stage} / {name}).read_bytes(), {mode})")
            if ("mode", "file") in kinds:
                code.line(f"changed += {code.helper('_chmod')}(Path({name}), {mode})")
    if ("created", "symlink") in kinds:
        with code.block(each(f"({stage} / p).is_symlink()")):
            code.line(f"changed += {code.helper('_link')}(os.readlink({stage} / {name}), Path({name}))")
    missing = f"not os.path.lexists({stage} / p)"
    if ("removed", "file") in kinds or ("removed", "symlink") in kinds:
        with code.block(each(f"{missing} and (os.path.islink(p) or not os.path.isdir(p))", "_below(Path())")):
            code.line(f"Path({name}).unlink()")
            code.line("changed += 1")
    if ("removed", "dir") in kinds:
        with code.block(each(missing, "reversed(_below(Path()))")):
            code.line(f"Path({name}).rmdir()")
            code.line("changed += 1")
    if any(k in ("type", "target") for k, _ in kinds):
        raise ShellError("a path that changes its type cannot be put in place")


def _arguments(params: Sequence[Param]) -> str:
    return ", ".join(p.name if p.kind == "str" else f"str({p.name})" for p in params)


def _safe(program: Program) -> None:
    """No parameter where another language than the shell would read it as code."""
    for node in (n for step in program for n in walk(step)):
        if not isinstance(node, Simple):
            continue
        harmless = arguments(node)
        for k, (w, role) in enumerate(zip(node.words[1:], roles(node.name, node.words[1:]), strict=True), 1):
            holes = any(isinstance(p, Hole) for p in w.parts) and w not in harmless
            as_code = role == "script" and inner_name(node, k) not in ("grep", "egrep", "fgrep")
            if holes and (as_code or (node.name in _INTERPRETERS and node.name not in TABLE)):
                raise ShellError(f"a parameter inside a {node.name} program would run as code")


# ---------------------------------------------------------------- rewrites at the shell's level


def quiet(node: Command) -> Command:
    """grep in the middle of a pipeline may find nothing: that is no failure."""
    return _mapped(node, _tolerant_grep)


def settled(node: Command) -> Command:
    """Commands that fail on their own result, in the form that does not."""
    return _mapped(node, _repeatable)


_REPEATABLE = {"mkdir": "-p", "rm": "-f", "unzip": "-o"}


def _repeatable(node: Simple) -> Command:
    option = _REPEATABLE.get(node.name)
    texts = [w.literal for w in node.words]
    if option is not None and option not in texts:
        return replace(node, words=(node.words[0], literal_word(option), *node.words[1:]))
    if node.name == "ln" and "-s" in texts:
        return replace(node, words=(node.words[0], literal_word("-sfn"), *(w for w in node.words[1:] if w.literal != "-s")))
    if node.name == "cp" and "-r" in texts and len(node.words) == 4:
        return replace(node, words=(node.words[0], literal_word("-T"), *node.words[1:]))
    return _repeatable_git(node) if node.name == "git" else _tolerant_grep(node)


def _repeatable_git(node: Simple) -> Command:
    """Commits, tags and branches that are made only where they are not there yet."""
    texts = [w.literal for w in node.words]
    start = 1
    while start + 1 < len(texts) and texts[start] in ("-C", "-c"):
        start += 2
    head, rest = node.words[:start], node.words[start:]
    if not rest:
        return node
    sub, options = rest[0].literal, [t for t in texts[start + 1 :] if t]
    if sub == "commit" and not set(options) & {"--amend", "--allow-empty"}:
        against = ["HEAD"] if any(o.startswith("-") and not o.startswith("--") and "a" in o for o in options) else ["--cached"]
        return _unless(node, Simple((*head, *map(literal_word, ["diff", "--quiet", *against]))))
    names = {"tag": "refs/tags/", "branch": "refs/heads/"}
    if sub in names and len(rest) == 2 and not (rest[1].literal or "").startswith("-"):
        there = Word((Lit(names[sub]), *rest[1].parts))
        return _unless(node, Simple((*head, *map(literal_word, ["show-ref", "--verify", "--quiet"]), there)))
    return node


def _unless(node: Simple, there: Simple) -> Command:
    return Group(Seq((there, replace(node, redirects=())), ("||",)), False, node.redirects)


def _tolerant_grep(node: Simple) -> Command:
    if node.name not in ("grep", "egrep", "fgrep", "diff"):
        return node
    test = Test((Word((Var("?"),)), literal_word("-eq"), literal_word("1")))
    return Group(Seq((replace(node, redirects=()), test), ("||",)), False, node.redirects)


def _mapped(node: Command, change: Callable[[Simple], Command]) -> Command:
    if isinstance(node, Simple):
        return change(node)
    if isinstance(node, Seq):
        return replace(node, items=tuple(_mapped(i, change) for i in node.items))
    if isinstance(node, Pipe):
        return replace(node, stages=tuple(_mapped(i, change) for i in node.stages))
    if isinstance(node, For | Group | While | If):
        body = _mapped(node.body, change)
        assert isinstance(body, Seq)
        return replace(node, body=body)
    return node
