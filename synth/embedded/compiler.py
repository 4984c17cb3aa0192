"""Statements: sequences, loops, conditions and changing commands of the template as lines of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from synth.embedded.actions import change, one_more
from synth.embedded.buffers import append, output_of, transient, write
from synth.embedded.code import joined, quote
from synth.embedded.conditions import SEARCHES, condition, quietly
from synth.embedded.filters import Data, as_bytes, data, expand, read
from synth.embedded.finding import Branch, FindReader, Found, all_of, found_items
from synth.embedded.kinds import changes, temporaries, with_cursor
from synth.embedded.names import split_path
from synth.embedded.scope import Content, Items, Scope, Shown
from synth.embedded.sources import split_items
from synth.embedded.streams import simple, stream
from verifiers.shell.commands import TABLE, parse_args, xargs_command
from verifiers.shell.effects import edits_in_place, only_prints, walk
from verifiers.shell.tree import (
    CURSOR,
    Command,
    For,
    Glob,
    Group,
    If,
    Lit,
    Other,
    Pipe,
    Redirect,
    Seq,
    ShellError,
    Simple,
    Test,
    Var,
    While,
    Word,
)


def block(scope: Scope, items: Sequence[Command]) -> None:
    """Statements of one block, files put in place at its end.

    Raises:
        ShellError: something without a meaning.
    """
    for item in items:
        statement(scope, item)
    scope.flush()


def sequence(scope: Scope, node: Seq, *, told: bool = False) -> None:
    """``told``: whoever runs it is told whether it failed, so that a check which does not hold ends it with an error."""
    joins = (*node.joins, ";")
    skip = False
    for k, item in enumerate(node.items):
        if skip:
            skip = False
            continue
        join = joins[k]
        follower = node.items[k + 1] if k + 1 < len(node.items) else None
        if told and scope.facts.repeatable and (failed := _failed_check(scope, node, k)) is not None:
            scope.flush()
            with scope.code.block(f"if {failed}:"):
                scope.code.line(f"raise ValueError({complaint_of(scope, item)})")
            continue
        if join == "||" and isinstance(follower, Simple) and follower.name in ("true", ":"):
            skip = True
        elif join in ("&&", "||") and follower is not None and (test := condition(scope, item, join == "||")) is not None:
            with scope.code.block(f"if {test}:"):
                statement(scope, follower)
                scope.flush()
            skip = True
            continue
        elif join == "||":
            raise ShellError("|| after a command that changes something is not understood")
        statement(scope, item)


def _failed_check(scope: Scope, node: Seq, k: int) -> str | None:
    """A condition that holds where an item which only looks fails, and the sequence with it; None for any other item."""
    item, last = node.items[k], k == len(node.items) - 1
    linked = not last or (k > 0 and node.joins[k - 1] == "&&")
    if not linked or set(node.joins[k:]) - {"&&"}:
        return None
    if isinstance(item, Simple) and (item.name not in SEARCHES or not only_prints(item) or output_of(item.redirects) is not None):
        return None
    return condition(scope, quietly(item), True) if isinstance(item, Simple | Test) else None


def complaint_of(scope: Scope, item: Command) -> str:
    """What is said where a check does not hold."""
    operands = parse_args(TABLE["grep"], item.words[1:]).operands if isinstance(item, Simple) else ()
    if len(operands) != 2:
        return quote("a check of the task does not hold")
    pattern, file = (scope.pieces(w) for w in operands)
    return joined([(True, "nothing matches "), *pattern, (True, " in "), *file])


def statement(scope: Scope, node: Command) -> None:
    if isinstance(node, Seq):
        sequence(scope, node)
    elif isinstance(node, Group):
        group(scope, node)
    elif isinstance(node, For):
        loop(scope, node)
    elif isinstance(node, If):
        branch(scope, node)
    elif isinstance(node, Pipe):
        pipe(scope, node)
    elif isinstance(node, Simple):
        command(scope, node)
    elif isinstance(node, Test):
        return
    elif isinstance(node, Other):
        raise ShellError("this construct is only run as it was written")
    elif (target := output_of(node.redirects)) is not None:
        plain = replace(node, redirects=tuple(r for r in node.redirects if r is not target))
        write(scope, target, data(printed(scope, plain)))
    else:
        while_read(scope, node, None)


def group(scope: Scope, node: Group) -> None:
    target = output_of(node.redirects)
    if target is not None:
        write(scope, target, stream(scope, node.body))
        return
    cwd = scope.cwd
    sequence(scope, node.body)
    if node.subshell:
        scope.cwd = cwd


def branch(scope: Scope, node: If) -> None:
    scope.flush()
    nothing = node.orelse is not None and all(isinstance(i, Simple) and i.name == ":" for i in node.body.items)
    test = condition(scope, node.cond, negated=nothing)
    if test is None:
        raise ShellError("this condition is not understood")
    if nothing and node.orelse is not None:
        with scope.code.block(f"if {test}:"):
            block(scope, [node.orelse])
        return
    with scope.code.block(f"if {test}:"):
        block(scope, [node.body])
    if node.orelse is not None:
        with scope.code.block("else:"):
            block(scope, [node.orelse])


def loop(scope: Scope, node: For) -> None:
    outer = gather(scope, node.body, {node.var})
    scope.flush()
    operands = expand(scope, node.words)
    if all(isinstance(o, Word) for o in operands):
        texts = ", ".join(scope.text(o) for o in operands if isinstance(o, Word))
        run_loop(scope, node.var, f"[{texts}]", "str", node.body, (True, True))
    else:
        for word, operand in zip(node.words, operands, strict=True):
            if isinstance(operand, Word):
                raise ShellError("a loop over patterns and words mixed is not understood")
            run_loop(scope, node.var, operand.code, operand.kind, node.body, _fixed(word), operand.shown)
    finish_gather(scope, outer)


def run_loop(scope: Scope, var: str, code: str, kind: str, body: Seq, fixed: tuple[bool, bool], shown: Shown = "path") -> None:
    name = scope.code.fresh("path" if kind == "Path" else var if len(var) > 1 else "name")
    before = dict(scope.vars)
    scope.vars[var] = (name, kind)
    if shown == "dotted":
        scope.dotted.add(name)
    scope.fixed[name] = fixed
    with scope.code.block(f"for {name} in {code}:"):
        block(scope, [body])
    scope.vars, scope.complaint = before, ""


def printed(scope: Scope, node: Command, given: object = None) -> str:
    """What a loop prints: a variable that its body adds to."""
    outer = scope.printing
    scope.printing = scope.code.assign("printed", 'b""')
    if isinstance(node, For):
        loop(scope, node)
    else:
        while_read(scope, node, given if isinstance(given, Items | Data) else None)
    name, scope.printing = scope.printing, outer
    return name


def acts_only(scope: Scope, node: Command) -> bool:
    """Compiles a command that changes files and prints nothing."""
    last = node.stages[-1] if isinstance(node, Pipe) else node
    if not isinstance(last, Simple):
        return False
    changing = last is node and node.name in TABLE and (node.name == "cd" or not only_prints(node))
    if not changing and output_of(last.redirects) is None:
        return False
    statement(scope, node)
    return True


def _fixed(word: Word) -> tuple[bool, bool]:
    """Whether the name part of a pattern says how names begin and end."""
    if not word.has_glob:
        return (True, True)
    _, name = split_path(word)
    return (not isinstance(name.parts[0], Glob), not isinstance(name.parts[-1], Glob))


def while_read(scope: Scope, node: Command, given: Items | Data | None) -> None:
    if not isinstance(node, While) or len(node.cond.items) != 1:
        raise ShellError("this loop is not understood")
    head = node.cond.items[0]
    if not isinstance(head, Simple) or head.name != "read":
        raise ShellError("a loop other than while read is not understood")
    names = list(parse_args(TABLE["read"], head.words[1:]).operands)
    if len(names) != 1 or names[0].literal is None:
        raise ShellError("read with several names is not understood")
    outer = gather(scope, node.body, {names[0].literal})
    source = next((r for r in node.redirects if r.op in ("<", "<<")), None)
    if source is not None:
        given = Data(tuple(read(scope, source.target)))
    scope.flush()
    if isinstance(given, Items):
        run_loop(scope, names[0].literal, given.code, "Path", node.body, (False, False), given.shown)
    elif given is not None:
        scope.code.need("os")
        run_loop(scope, names[0].literal, f'os.fsdecode({given.code}).split("\\n")[:-1]', "str", node.body, (True, True))
    else:
        raise ShellError("read from standard input is not understood")
    finish_gather(scope, outer)


def gather(scope: Scope, body: Seq, inner: set[str]) -> list[Word]:
    """Starts a variable for every file that a loop's body appends to and that is the same in each round."""
    found: list[Word] = []
    for node in walk(body):
        redirects = node.redirects if isinstance(node, Simple | Group) else ()
        for r in redirects:
            names = {p.name for p in r.target.parts if isinstance(p, Var)}
            if r.op == ">>" and r.fd == 1 and not names & inner and r.target not in scope.blocks:
                scope.blocks[r.target] = scope.code.assign("block", 'b""')
                found.append(r.target)
    return found


def finish_gather(scope: Scope, words: list[Word]) -> None:
    for word in words:
        name = scope.blocks.pop(word)
        append(scope, word, [Content(name)])


def command(scope: Scope, node: Simple) -> None:
    for name, value in node.assigns:
        if not node.words:
            got = scope.pieces(value)
            text = scope.text(value)
            known = scope.vars.get(name, ("", ""))
            if known[1] == "str" and known[0].isidentifier() and not any(p.name == known[0] for p in scope.params):
                scope.code.line(f"{known[0]} = {text}")  # a loop's next round goes on with it
                continue
            scope.vars[name] = (scope.code.assign(name.lower(), text) if len(got) != 1 or got[0][0] else got[0][1], "str")
    target = output_of(node.redirects)
    bare_node = replace(node, redirects=tuple(r for r in node.redirects if r is not target and r.fd != 2 and r.op != "&>"))
    if target is not None:
        if any(w.has_glob for w in node.words) or node.name in ("find", "ls", "du"):
            scope.flush()
        scope.writing.append(target.target)
        write(scope, target, simple(scope, bare_node, None) if node.words else data())
        scope.writing.pop()
    elif node.words and not transient(scope, node):
        effect(scope, bare_node)


def effect(scope: Scope, node: Simple) -> None:
    name = node.name
    complaint, scope.complaint = scope.complaint, ""
    if name == "cd":
        cd(scope, node)
    elif name == "exit":
        leave(scope, node, complaint)
    elif name == "echo" and any(r.op == ">&" and r.target.literal == "2" for r in node.redirects):
        words = [p for w in node.words[1:] for p in (*w.parts, Lit(" "))]
        scope.complaint = scope.text(Word(tuple(words[:-1]))) if words else ""
    elif name == "find":
        scope.flush()
        find(scope, FindReader(scope, node.words[1:]).read())
    elif only_prints(node):
        if scope.printing and (name not in TABLE or TABLE[name].kind != "shell"):
            scope.code.line(f"{scope.printing} += {as_bytes(scope, simple(scope, node, None))}")
    elif name == "tee":
        raise ShellError("tee without input is not understood")
    else:
        scope.flush()
        change(scope, name, node.words[1:])


def leave(scope: Scope, node: Simple, complaint: str) -> None:
    """A program that says no: the skill raises what it complained of."""
    status = (node.words[1].literal or "") if len(node.words) > 1 else ""
    if not status.isdecimal() or not int(status):
        raise ShellError("an exit before the end is only run as it was written")
    scope.flush()
    scope.code.line(f"raise RuntimeError({complaint or quote(f'exit status {status}')})")


def cd(scope: Scope, node: Simple) -> None:
    if len(node.words) != 2 or (node.words[1].literal or "").startswith(("/", "-", "..")):
        raise ShellError("cd other than into a folder of the workspace is not understood")
    scope.flush()
    word = node.words[1]
    if scope.cwd is None:
        scope.cwd = word
    else:
        scope.cwd = Word((*scope.cwd.parts, Lit("/"), *word.parts))


def find(scope: Scope, found: Found) -> None:
    acting = [b for b in found.branches if any(a.kind != "print" for a in b.actions)]
    if not acting:
        return
    if len(found.branches) == 1 and not found.changing:
        branch_ = found.branches[0]
        items = found_items(scope, found, branch_, writes=True)
        loop_over(scope, items, lambda: acts(scope, branch_), branch_.named)
        return
    source = f"reversed(list({found.source}))" if found.depth_first else f"list({found.source})"
    name = scope.code.fresh("path")
    with scope.code.block(f"for {name} in {source}:"):
        head = "if"
        for b in found.branches:
            with scope.code.block(f"{head} {all_of(b.tests).of(name)}:"), cursor(scope, name):
                acts(scope, b)
                scope.flush()
            head = "elif"


@contextmanager
def cursor(scope: Scope, name: str) -> Iterator[None]:
    """Binds ``{}`` to a loop's variable."""
    before = dict(scope.vars)
    scope.vars[CURSOR] = (name, "Path")
    yield
    scope.vars = before


def loop_over(scope: Scope, items: Items, body: Callable[[], None], fixed_end: bool) -> None:
    name = scope.code.fresh("path")
    scope.fixed[name] = (False, fixed_end)
    with scope.code.block(f"for {name} in {items.code}:"), cursor(scope, name):
        body()
        scope.flush()


def acts(scope: Scope, found_branch: Branch) -> None:
    commands: list[Command] = []
    path = scope.vars[CURSOR][0]
    for action in found_branch.actions:
        if action.kind == "delete":
            delete(scope, path, found_branch.types)
        elif action.kind == "exec":
            commands.append(Simple(tuple(with_cursor(w, CURSOR) for w in action.words)))
    outer_temps = scope.temps
    scope.temps = outer_temps | temporaries(commands)
    for node in commands:
        statement(scope, node)
    scope.flush()
    scope.temps = outer_temps


def delete(scope: Scope, path: str, types: frozenset[str]) -> None:
    """Removes what was found: a folder is removed as one, where it may be one."""
    if "d" in types and types != {"d"}:
        with scope.code.block(f"if {path}.is_dir() and not {path}.is_symlink():"):
            scope.code.line(f"{path}.rmdir()")
        with scope.code.block("else:"):
            scope.code.line(f"{path}.unlink()")
        scope.changes = True
        scope.code.line("changed += 1")
    else:
        one_more(scope, f"{path}.{'rmdir' if types == {'d'} else 'unlink'}()")


def pipe(scope: Scope, node: Pipe) -> None:
    """A pipeline for its effect: the last stage writes, or runs a changing command on paths."""
    last = node.stages[-1]
    head = Pipe(node.stages[:-1])
    if isinstance(last, While):
        given = stream(scope, head)
        target = output_of(last.redirects)
        if target is not None:
            plain = replace(last, redirects=tuple(r for r in last.redirects if r is not target))
            write(scope, target, data(printed(scope, plain, given)))
        else:
            while_read(scope, last, given)
        return
    if not isinstance(last, Simple):
        raise ShellError("this pipeline is not understood")
    target = output_of(last.redirects)
    if last.name == "xargs":
        inner = last.words[1 + xargs_command(last.words[1:]) :]
        if changes(Simple(tuple(inner))) or edits_in_place(inner):
            xargs(scope, last, stream(scope, head))
            return
    if last.name == "tee":
        tee(scope, last, stream(scope, head))
        return
    if target is None and scope.printing:
        scope.code.line(f"{scope.printing} += {as_bytes(scope, stream(scope, node))}")
        return
    if target is None:
        if any(isinstance(n, Simple) and changes(n) for n in walk(head)):
            for stage in node.stages[:1]:
                statement(scope, stage)
        return
    bare_last = replace(last, redirects=tuple(r for r in last.redirects if r is not target))
    if any(isinstance(s, Simple) and (s.name in ("find", "ls", "du") or any(w.has_glob for w in s.words)) for s in node.stages):
        scope.flush()
    scope.writing.append(target.target)
    write(scope, target, stream(scope, Pipe((*node.stages[:-1], bare_last))))
    scope.writing.pop()


def xargs(scope: Scope, node: Simple, given: Items | Data) -> None:
    words = node.words[1:]
    start = xargs_command(words)
    mark = next((words[k + 1].literal or "{}" for k in range(start - 1) if words[k].literal == "-I"), None)
    mark = mark or next(((w.literal or "")[2:] for w in words[:start] if (w.literal or "").startswith("-I{")), None)
    inner = list(words[start:])
    if mark is None:
        inner.append(Word((Var(CURSOR, quoted=True),)))
    else:
        inner = [with_cursor(w, mark) for w in inner]
    given = given if isinstance(given, Items) else split_items(scope, given)
    loop_over(scope, given, lambda: statement(scope, Simple(tuple(inner))), False)


def tee(scope: Scope, node: Simple, got: Items | Data) -> None:
    parsed = parse_args(TABLE["tee"], node.words[1:])
    if len(parsed.operands) != 1:
        raise ShellError("tee with several files is not understood")
    write(scope, Redirect(1, ">>" if parsed.has("-a", "--append") else ">", parsed.operands[0]), got)
