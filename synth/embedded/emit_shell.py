"""The fallback: the recorded commands as one constant program with positional parameters, on a staged copy of the workspace.

What the program changed is then put in place path by path, each in one step, new before gone, so that a killed run converges.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from sandbox.interface import ROOT, Effect
from synth.embedded import git_forms
from synth.embedded.code import Code, quote
from synth.embedded.literals import arguments, encoded, is_known
from synth.embedded.places import inner_name
from synth.embedded.plan_helpers import PLAN, form_of
from synth.embedded.scope import Param, texts
from synth.embedded.template import Program
from verifiers.shell.commands import WORDS_ONLY, roles
from verifiers.shell.effects import walk
from verifiers.shell.tree import (
    Command,
    For,
    Group,
    Hole,
    If,
    Lit,
    Other,
    Pipe,
    Seq,
    ShellError,
    Simple,
    Test,
    Var,
    While,
    Word,
    literal_word,
    rebuilt,
)
from verifiers.shell.unparse import script

_INTERPRETERS = frozenset({"python", "python3", "bash", "sh", "ruby", "node", "bc", "make", "eval"})
"""Programs whose plain words may be code."""
_PATTERNS = frozenset({"grep", "egrep", "fgrep", "tr"})
"""Their scripts cannot do anything."""


def read_program(program: Program, params: Sequence[Param], needed: Sequence[str] = ()) -> Code:
    """A read-only pipeline, run as it was.

    Raises:
        ShellError: a parameter would be read as code, or cannot be positional.
    """
    code = Code(taken={p.name for p in params})
    _demand(code, needed)
    program, given = handed_over(code, program, params)
    text = "set -o pipefail\n" + script(tuple(quiet(step) for step in apart(program)))
    code.helper("_shell:said" if "<(" in text else "_shell")
    code.constants.append(f"PROGRAM = {quote(text)}")
    code.line(f"answer = _shell([{given}])")
    code.line('return {"output": answer.decode(errors="replace")}')
    return code


def staged_program(
    program: Program,
    params: Sequence[Param],
    effects: Collection[Effect],
    needed: Sequence[str] = (),
    done: str = "",
    once: bool = False,
    placed: bool = False,
    copies: Sequence[str] = (),
) -> Code:
    """Commands that change the workspace, run on a copy, the differences put in place.

    Args:
        needed: parameters that name a path which every recording has, before and after.
        done: a condition under which all was done already; ``""`` where there is none.
        once: lines that the commands put next to the very same ones are not put there again.
        placed: programs write down where the workspace lies, or have: the copy is to know its own place meanwhile.
        copies: files that are made beside what is changed, as expressions: not anew where nothing else changes.

    Raises:
        ShellError: as ``read_program``.
    """
    kinds: set[tuple[str, str]] = {(e.kind, entry.type) for e in effects if e.path != ROOT and (entry := e.after or e.before)}
    code = Code(taken={p.name for p in params} | {"changed", "p"})
    code.need("tempfile", "shutil", "os")
    code.helper("_shell:in")
    code.helper("_unfinished")
    program, given = handed_over(code, program, params)
    text = script_of(program)
    code.constants.append(f"PROGRAM = {quote(text)}")
    _demand(code, needed)
    plan = _plan(code, kinds) if _at_once(program, kinds, once, done) else ""
    code.line(f"changed = _finished({plan})" if plan else "changed = 0")
    if done:
        code.need(*(["glob"] if "glob." in done else []))
        with code.block(f"if {done}:"):
            code.line('return {"ok": True, "changed": changed}')
    scratch, stage, name = code.fresh("scratch"), code.fresh("stage"), code.fresh("name")
    with code.block(f"with tempfile.TemporaryDirectory() as {scratch}:"):
        code.line(f'{stage} = Path({scratch}) / "stage"')
        code.line(f'shutil.copytree(".", {stage}, symlinks=True, ignore=lambda _, names: filter(_unfinished, names))')
        if placed:
            code.line(f"{code.helper('_placed')}({stage}, Path(), {stage})")
        code.line(f"_shell([{given}], {stage})")
        if placed:
            code.line(f"_placed({stage}, {stage}, Path())")
        _refusals(code, kinds, stage)
        if copies:
            _unless_copies_alone(code, copies, stage)
        if plan:
            code.line(f"_planned({stage}, {plan})")
        else:
            _apply(code, kinds, stage, name, texts(params) if once else "")
    if plan:
        code.line(f"changed += _finished({plan})")
    code.line('return {"ok": True, "changed": changed}')
    return code


def _plan(code: Code, kinds: set[tuple[str, str]]) -> str:
    """The variable that holds where the plan is, and the helpers that make it and do what it says."""
    plan = code.fresh("plan")
    form = form_of(("created", "dir") in kinds, {kind for change, kind in kinds if change == "removed"})
    code.helpers |= {f"_planned{form}", f"_finished{form}"}
    code.line(f'{plan} = Path("{PLAN}")')
    return plan


def _at_once(program: Program, kinds: set[tuple[str, str]], once: bool, done: str) -> bool:
    """Whether a killed run must be finished as it was planned: what it has put in place would be in its own way, or what it has
    taken away of what a pattern names would be missing."""
    plain = not once and not {("mode", "dir"), ("created", "fifo")} & kinds
    whole = "glob." in done or any(git_forms.wants_it_whole(node) for step in program for node in walk(step))
    return plain and whole


def script_of(program: Program) -> str:
    """The commands as they are run on the copy.

    Raises:
        ShellError: as ``read_program``.
    """
    return "set -e -o pipefail\n" + script(tuple(settled(step) for step in apart(program)))


def _made(stage: str) -> str:
    return f"_is_folder({stage} / p)"


def _gone(stage: str) -> str:
    return f"not os.path.lexists({stage} / p) and not _unfinished(Path(p).name)"


def _refusals(code: Code, kinds: set[tuple[str, str]], stage: str) -> None:
    """What no recording does is refused before anything is put in place."""
    code.need("Path")
    code.helper("_below")
    code.helper("_is_folder")
    if ("created", "dir") not in kinds:
        _refused(code, f"{_made(stage)} and not os.path.isdir(p) for p in _below({stage})", "make a directory")
    if not any(change == "removed" for change, _ in kinds):
        _refused(code, f"{_gone(stage)} for p in _below(Path())", "remove a path")


def _apply(code: Code, kinds: set[tuple[str, str]], stage: str, name: str, once: str) -> None:
    """Lines that make the workspace like the staged copy."""
    made, gone = _made(stage), _gone(stage)
    removed = [kind for change, kind in kinds if change == "removed"]
    if ("created", "dir") in kinds:
        with code.block(f"for {name} in [p for p in _below({stage}) if {made}]:"):
            code.helper("_mkdir:like")
            code.line(f"changed += _mkdir(Path({name}), ({stage} / {name}).stat().st_mode & 0o7777)")
    other = f"not {made} and not _same({stage} / p, Path(p))"
    if once:
        code.helper("_stands")
        there = "os.path.isfile(p) and " if ("created", "file") in kinds else ""
        other += f" and not ({there}_stands(({stage} / p).read_bytes(), Path(p).read_bytes(), {once}))"
    if kinds - {("created", "dir"), ("removed", "dir"), ("removed", "file"), ("removed", "symlink"), ("mode", "dir")}:
        code.helper("_same")
        # New ones first: killed in between, the next run still finds what they were made from.
        with code.block(f"for {name} in sorted([p for p in _below({stage}) if {other}], key=os.path.lexists):"):
            code.line(f"changed += {code.helper('_give')}({stage} / {name}, Path({name}))")
    if ("mode", "dir") in kinds:
        with code.block(f"for {name} in [p for p in _below({stage}) if {made}]:"):
            code.line(f"changed += {code.helper('_chmod')}(Path({name}), ({stage} / {name}).stat().st_mode & 0o7777)")
    if {"file", "symlink"} & set(removed):
        with code.block(f"for {name} in [p for p in _below(Path()) if {gone} and not _is_folder(Path(p))]:"):
            code.line(f"Path({name}).unlink()")
            code.line("changed += 1")
    if "dir" in removed:
        with code.block(f"for {name} in [p for p in reversed(_below(Path())) if {gone}]:"):
            code.line(f"Path({name}).rmdir()")
            code.line("changed += 1")


def _unless_copies_alone(code: Code, copies: Sequence[str], stage: str) -> None:
    code.helper("_same")
    made = code.assign("copies", f"[{', '.join(f'os.path.normpath({c})' for c in copies)}]")
    same = f"all(_is_folder({stage} / p) or _same({stage} / p, Path(p)) for p in _below({stage}) if p not in {made})"
    with code.block(f"if all(map(os.path.lexists, {made})) and {same}:"):
        code.line('return {"ok": True, "changed": changed}')


def _demand(code: Code, needed: Sequence[str]) -> None:
    """A path that is read must be there: a shell goes on without it in more ways than one."""
    for name in needed:
        code.need("os")
        with code.block(f"if not os.path.lexists({name}):"):
            code.line(f'raise FileNotFoundError(f"{{{name}}} does not exist")')


def _refused(code: Code, test: str, what: str) -> None:
    with code.block(f"if any({test}):"):
        code.line(f'raise RuntimeError("the commands would {what} here")')


def handed_over(code: Code, program: Program, params: Sequence[Param]) -> tuple[Program, str]:
    """The program with its parameters where they can only be data, and the expressions of their values.

    Raises:
        ShellError: one stands where another language would read it as code.
    """
    names = [p.name if p.kind == "str" else f"str({p.name})" for p in params]
    whole = frozenset(k for k, p in enumerate(params) if p.kind == "int")
    given = list(names)

    def change(node: Simple) -> Simple:
        words = list(node.words)
        harmless = arguments(node)
        extended = any(w.literal in ("-E", "-r", "-Ei", "-iE", "-ri", "-nE", "-nr") for w in node.words)
        for k, role in enumerate(roles(node.name, node.words[1:]), 1):
            language = inner_name(node, k)
            if not any(isinstance(p, Hole) for p in words[k].parts) or words[k] in harmless:
                continue
            if node.name in WORDS_ONLY and role == "operand" and isinstance(words[k].parts[0], Hole):
                words[k] = Word((Lit("./"), *words[k].parts))  # a name with a dash in front is no option
            if role == "script" and is_known(language):
                words[k], used = encoded(language, words[k], extended, given, names, whole)
                for way in used:
                    code.need(*way.modules)
                    code.helpers |= set(way.helpers)
            elif (role == "script" and language not in _PATTERNS) or language in _INTERPRETERS:
                raise ShellError(f"a parameter inside a {language} program would run as code")
        return replace(node, words=tuple(words))

    changed = _everywhere(program, change)
    assert isinstance(changed, tuple)
    return changed, ", ".join(given)


def _everywhere(node: object, change: Callable[[Simple], Simple]) -> object:
    """The node with every simple command in it changed, those inside of words too."""
    return rebuilt(change(node) if isinstance(node, Simple) else node, lambda x: _everywhere(x, change))


# ---------------------------------------------------------------- rewrites at the shell's level


def apart(program: Program) -> Program:
    """Steps that may ``exit`` in a shell of their own, as they were recorded: the others go on."""
    leaves = [any(isinstance(n, Simple) and n.name == "exit" for n in walk(step)) for step in program[:-1]]
    own = [Seq((Group(step, True),), ()) if leave else step for step, leave in zip(program, leaves, strict=False)]
    return (*own, *program[-1:])


def quiet(node: Command) -> Command:
    """grep in the middle of a pipeline may find nothing: that is no failure."""
    return _mapped(node, _tolerant_grep)


def settled(node: Command) -> Command:
    """Commands that fail on their own result, or glue text to a last line without its end, in the form that does not."""
    return _mapped(_mapped(_mapped(node, _repeatable), _no_option), _apart)


_PATHS_LAST = frozenset({"mkdir", "rmdir", "rm", "mv", "cp", "ln", "touch", "chmod", "cat", "gzip", "gunzip"})
"""Commands of which what is no option is a path or a mode, and which know ``--``."""
_REPEATABLE = {"mkdir": "-p", "rm": "-f", "unzip": "-o"}


def _repeatable(node: Command) -> Command:
    if isinstance(node, For) and any(w.has_glob for w in node.words):
        # A pattern that matches nothing is no name: all was done already.
        there = (Test((literal_word("-e"), Word((Var(node.var, quoted=True),)))), Simple((literal_word("continue"),)))
        return replace(node, body=Seq((*there, *node.body.items), ("||", ";", *node.body.joins)))
    if not isinstance(node, Simple):
        return node
    if node.name == "cd" and len(node.words) == 2:
        return replace(node, words=(node.words[0], literal_word("--"), node.words[1]))
    option = _REPEATABLE.get(node.name)
    texts = [w.literal for w in node.words]
    given = {c for t in texts[1:] if t and t.startswith("-") and not t.startswith("--") for c in t[1:]}
    if option is not None and option[1:] not in given:
        return replace(node, words=(node.words[0], literal_word(option), *node.words[1:]))
    if node.name == "ln" and "-s" in texts:
        return replace(node, words=(node.words[0], literal_word("-sfn"), *(w for w in node.words[1:] if w.literal != "-s")))
    if node.name == "cp" and "-r" in texts and len(node.words) == 4:
        return replace(node, words=(node.words[0], literal_word("-T"), *node.words[1:]))
    from_file = any(r.op == "<" for r in node.redirects) or "-i" in texts
    if node.name == "patch" and from_file and not {"-R", "--reverse"} & set(texts):
        applied = replace(node, words=(*node.words, *map(literal_word, ["--reverse", "--silent", "--force", "--dry-run"])))
        return Group(Seq((applied, node), ("||",)), False)
    return git_forms.repeatable(node) if node.name == "git" else _tolerant_grep(node)


def _no_option(node: Command) -> Command:
    """``--`` before what a variable gives: a name with a dash in front is no option."""
    if not isinstance(node, Simple) or node.name not in _PATHS_LAST or any(w.literal == "--" for w in node.words):
        return node
    first = next((k for k, w in enumerate(node.words) if w.literal is None and isinstance(w.parts[0], Var)), 0)
    options = [k for k, w in enumerate(node.words) if (w.literal or "").startswith("-")]
    at = next((k for k in range(1, len(node.words)) if k not in options), 0)
    if not first or any(k > at for k in options) or any((node.words[k].literal or "").startswith("-t") for k in options):
        return node
    return replace(node, words=(*node.words[:at], literal_word("--"), *node.words[at:]))


_ASKING = frozenset({"grep", "egrep", "fgrep", "diff"})
"""Their exit status 1 is an answer. Where a list goes on by it, it is left as it is."""


def _tolerant_grep(node: Command) -> Command:
    if not isinstance(node, Simple) or node.name not in _ASKING:
        return node
    test = Test((Word((Var("?"),)), literal_word("-eq"), literal_word("1")))
    return Group(Seq((replace(node, redirects=()), test), ("||",)), False, node.redirects)


def _apart(node: Command) -> Command:
    """Appended text begins a line of its own, also behind a last line without its end."""
    redirects = node.redirects if isinstance(node, Simple | Group | While) else ()
    files = [r.target for r in redirects if r.op == ">>" and r.fd == 1 and r.target.literal != "/dev/null"]
    if not files:
        return node
    empty = Test((literal_word("!"), literal_word("-s"), files[-1]))
    end = Simple((*map(literal_word, ["sed", "-i", "--follow-symlinks", "-e", "$a\\", "--"]), files[-1]))
    return Group(Seq((empty, end, node), ("||", ";")), False)


def _mapped(node: Command, change: Callable[[Command], Command]) -> Command:
    if isinstance(node, Seq):
        decides = [*(join in ("&&", "||") for join in node.joins), False]
        kept = [d and isinstance(i, Simple) and i.name in _ASKING for i, d in zip(node.items, decides, strict=True)]
        return replace(node, items=tuple(i if k else _mapped(i, change) for i, k in zip(node.items, kept, strict=True)))
    if isinstance(node, Pipe):
        return replace(node, stages=tuple(_mapped(i, change) for i in node.stages))
    if isinstance(node, For | Group | While | If):
        node = replace(node, body=_sequence(node.body, change))
    if isinstance(node, If) and node.orelse is not None:
        node = replace(node, orelse=_sequence(node.orelse, change))
    if isinstance(node, Other):
        return Other(tuple(_sequence(p, change) if isinstance(p, Seq) else p for p in node.pieces))
    return change(node)


def _sequence(node: Seq, change: Callable[[Command], Command]) -> Seq:
    mapped = _mapped(node, change)
    assert isinstance(mapped, Seq)
    return mapped
