"""Shell text -> a small typed tree: the parser finds the structure, ``quoting`` the pieces of words.

What has no node of its own (``case``, ``((…))``, ``until``) is kept as it was written, with the words and commands in it.
What is left out on purpose (functions, whose ``$1`` is another one, and arrays) raises ``ShellError``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from verifiers.shell.others import refuse_others
from verifiers.shell.quoting import cut_at, expand_braces, pieces
from verifiers.shell.syntax import Node, Syntax, below
from verifiers.shell.tree import (
    Arith,
    Command,
    Feed,
    For,
    Glob,
    Group,
    If,
    Lit,
    Other,
    Part,
    Pipe,
    Redirect,
    Seq,
    ShellError,
    Simple,
    Sub,
    Test,
    TooDeep,
    Var,
    Verbatim,
    While,
    Word,
    literal_word,
    tidy,
)

MAX_DEPTH = 150
"""Levels of a command's syntax tree: all that works on it is recursive, and Python's stack is not deep."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Seq:
    """The tree of a command line.

    Raises:
        ShellError: a syntax error, another shell's language, or a construct that this module does not hold.
    """
    refuse_others(text)
    syntax = Syntax(text)
    if syntax.root.has_error:
        raise ShellError(f"cannot parse {text[:60]!r}")
    if syntax.deeper_than(MAX_DEPTH):
        raise TooDeep(f"{text[:60]!r} is nested too deeply")
    return _Reader(syntax).sequence(syntax.root.children)


# ---------------------------------------------------------------- words


def read_words(text: str) -> list[Word]:
    """The words of one argument (braces may make several).

    Raises:
        ShellError: an expansion that is not understood.
    """
    return [_word(t) for t in expand_braces(text)]


def _word(text: str) -> Word:
    if text.startswith("~"):
        raise ShellError("~ is not understood")
    parts: list[Part] = []
    for piece in pieces(text):
        if piece.kind == "glob":
            parts.append(Glob("[!" + piece.text[2:] if piece.text.startswith("[^") else piece.text))
        else:
            parts.append(Lit(piece.text) if piece.kind == "text" else _expansion(piece.text, piece.quoted))
    return Word(tuple(tidy(parts) or parts[:1]))


_ARITHMETIC = re.compile(r"\$\(\(((?:[\w\s+*%/<>=!-]|\$\w)*)\)\)")
_OPS = ("%%", "%", "##", "#", "//", "/", ",,", "^^", ":-")


def _expansion(text: str, quoted: bool) -> Part:
    """What ``$`` or a backtick begins."""
    if text[0] == "`":
        return Sub(parse(re.sub(r"\\([`$\\])", r"\1", text[1:-1])), quoted)
    if sum_ := _ARITHMETIC.fullmatch(text):
        return Arith(sum_[1].strip())
    if text.startswith("$((") and text.endswith("))"):
        return Verbatim(text, quoted)
    if text.startswith("$("):
        return Sub(parse(text[2:-1]), quoted)
    if not text.startswith("${"):
        return Var(text[1:], quoted=quoted)
    found = re.match(r"([A-Za-z_]\w*|[0-9@*])", text[2:-1])
    rest = text[2 + len(found[0]) : -1] if found else ""
    op = next((o for o in _OPS if rest.startswith(o)), None) if rest else ""
    if not found or op is None:
        return Verbatim(text, quoted)
    return Var(found[1], op, _arguments(op, rest[len(op) :]), quoted)


def _arguments(op: str, text: str) -> tuple[Word, ...]:
    """Pattern (and replacement) words of an expansion."""
    if op not in ("/", "//"):
        return (_word(text),) if text else ()
    cut = cut_at(text, "/")
    return (_word(text[:cut]), _word(text[cut + 1 :]))


def _split(text: str) -> list[Word]:
    """The words of a line without operators (the inside of a test)."""
    node = parse(": " + text).items[0] if text.strip() else Simple(())
    if not isinstance(node, Simple) or node.redirects:
        raise ShellError("operators inside a test are not understood")
    return list(node.words[1:])


# ---------------------------------------------------------------- commands

_WORDS = frozenset(
    {"word", "string", "raw_string", "ansi_c_string", "concatenation", "simple_expansion", "expansion", "command_substitution"}
)
_COMMANDS = frozenset(
    {"command", "redirected_statement", "pipeline", "list", "subshell", "compound_statement", "test_command", "case_statement"}
    | {"for_statement", "while_statement", "if_statement", "c_style_for_statement", "function_definition"}
)


class _Reader:
    """Walks one syntax tree."""

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax
        self.text = syntax.text

    def sequence(self, nodes: list[Node]) -> Seq:
        items: list[Command] = []
        joins: list[str] = []
        for node in nodes:
            if node.type in (";", "&", "\n"):
                if items and len(joins) < len(items):
                    joins.append("&" if node.type == "&" else ";")
                continue
            if node.type == "comment" or not node.is_named:
                continue
            if items and len(joins) < len(items):
                joins.append(";")
            part = self.command(node)
            if isinstance(part, Seq):
                joins.extend(part.joins)
                items.extend(part.items)
            else:
                items.append(part)
        return Seq(tuple(items), tuple(joins[: max(0, len(items) - 1)]))

    def command(self, node: Node) -> Command:
        kind = node.type
        if kind == "command":
            return inlined(self.simple(node))
        if kind == "redirected_statement":
            return self.redirected(node)
        if kind == "pipeline":
            parts = [self.command(n) for n in node.children if n.is_named]
            return Pipe(tuple(s for p in parts for s in (p.stages if isinstance(p, Pipe) else (p,))))
        if kind == "list":
            left, op, right = node.children[0], self.text(node.children[1]), node.children[2]
            first, second = self.sequence([left]), self.sequence([right])
            return Seq(first.items + second.items, (*first.joins, op, *second.joins))
        if kind in ("subshell", "compound_statement") and not self.text(node).startswith("(("):
            return Group(self.sequence(node.children[1:-1]), kind == "subshell")
        if kind == "variable_assignment" and re.match(r"\w+=(?!\()", self.text(node)):
            return Simple((), (), (self.assignment(node),))
        if kind in ("test_command", "for_statement", "while_statement", "if_statement"):
            try:
                return self.test(node) if kind == "test_command" else self.compound(node)
            except ShellError:
                return self.other(node)
        if kind == "function_definition":
            raise ShellError("a function is not understood")
        return self.other(node)

    def other(self, node: Node) -> Other:
        """The construct as it was written, with the words and commands in it."""
        pieces: list[str | Word | Seq] = []
        for piece in self.pieces(node):
            last = pieces[-1] if pieces else None
            if isinstance(piece, str) and isinstance(last, str):
                pieces[-1] = last + piece
            else:
                pieces.append(piece)
        return Other(tuple(pieces))

    def pieces(self, node: Node) -> Iterator[str | Word | Seq]:
        at = node.start_byte
        for child in node.children:
            yield self._syntax.between(at, child.start_byte)
            at = child.end_byte
            words = read_words(self.text(child)) if child.type in _WORDS else []
            if child.type in _COMMANDS:
                yield Seq((self.command(child),))
            elif len(words) == 1:
                yield words[0]
            elif child.children:
                yield from self.pieces(child)
            else:
                yield self.text(child)
        yield self._syntax.between(at, node.end_byte)

    def compound(self, node: Node) -> Command:
        if node.type == "for_statement":
            if node.children[0].type != "for" or not any(c.type == "in" for c in node.children):
                raise ShellError("a loop without a list is not understood")
            start = next(i for i, c in enumerate(node.children) if c.type == "in")
            values = [c for c in node.children[start + 1 :] if c.is_named and c.type != "do_group"]
            words = tuple(w for c in values for w in read_words(self.text(c)))
            return For(self.text(node.children[1]), words, self.do_group(node))
        if node.type == "while_statement":
            if node.children[0].type != "while":
                raise ShellError("until is not understood")
            conds = [c for c in node.children[1:] if c.type != "do_group"]
            return While(self.sequence(conds), self.do_group(node))
        return self.conditional(node.children[1:])

    def conditional(self, nodes: list[Node]) -> If:
        """``if``, from its condition on: what ``elif`` says is an ``if`` in the place of ``else``."""
        then = next(i for i, c in enumerate(nodes) if c.type == "then")
        cuts = [i for i, c in enumerate(nodes) if i > then and c.type in ("elif_clause", "else_clause", "fi")]
        body = self.sequence(nodes[then + 1 : cuts[0]] if cuts else nodes[then + 1 :])
        orelse: Seq | None = None
        if cuts and nodes[cuts[0]].type == "elif_clause":
            orelse = Seq((self.conditional([*nodes[cuts[0]].children[1:], *nodes[cuts[0] + 1 :]]),))
        elif cuts and nodes[cuts[0]].type == "else_clause":
            orelse = self.sequence(nodes[cuts[0]].children[1:])
        heads = [c for c in nodes[:then] if c.is_named and c.type != "comment"]
        if len(heads) == 1 and heads[0].type == "negated_command":
            inner = [c for c in heads[0].children if c.is_named]
            return If(self.sequence(inner), orelse or Seq((Simple((literal_word(":"),)),)), body)
        return If(self.sequence(nodes[:then]), body, orelse)

    def do_group(self, node: Node) -> Seq:
        group = next(below(node, "do_group"))
        return self.sequence(group.children[1:-1])

    def test(self, node: Node) -> Test:
        text = self.text(node)
        double = text.startswith("[[")
        inner = text[2:-2] if double else text[1:-1]
        if "((" in text[:2] or not text.startswith("["):
            raise ShellError("arithmetic is not understood")
        return Test(tuple(_split(inner)), double)

    def simple(self, node: Node) -> Simple:
        words: list[Word] = []
        assigns: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assigns.append(self.assignment(child))
            elif child.type.endswith("_redirect"):
                redirects.extend(self.redirect(child))
            elif child.type == "process_substitution":
                words.append(self.feed(child))
            else:
                words.extend(read_words(self.text(child)))
        return Simple(tuple(words), tuple(redirects), tuple(assigns))

    def feed(self, node: Node) -> Word:
        if not self.text(node).startswith("<("):
            raise ShellError("output to a command is not understood")
        return Word((Feed(self.sequence(node.children[1:-1])),))

    def assignment(self, node: Node) -> tuple[str, Word]:
        name, _, value = self.text(node).partition("=")
        if not name.isidentifier():
            raise ShellError("array assignment is not understood")
        words = read_words(value) if value else [literal_word("")]
        # An assigned value is never split into words.
        parts = tuple(Sub(p.body, True) if isinstance(p, Sub) else p for p in words[0].parts)
        return name, Word(parts)

    def redirected(self, node: Node) -> Command:
        body: Command | None = None
        redirects: list[Redirect] = []
        for child in node.children:
            if child.type.endswith("_redirect"):
                redirects.extend(self.redirect(child))
            elif child.is_named:
                body = self.command(child)
        found = tuple(redirects)
        if body is None:
            return Simple((), found)
        return self.behind(node, attach(body, found))

    def behind(self, node: Node, body: Command) -> Command:
        """What stands on the line where a here-document starts, behind its start: ``cat <<X | sort``, ``cat <<X && ls``."""
        for start in below(node, "heredoc_redirect"):
            for k, child in enumerate(start.children):
                if start.field_name_for_child(k) == "right":
                    after = self.sequence([child])
                    op = self.text(start.children[k - 1])
                    body = Seq((body, *after.items), (op, *after.joins))
                elif child.type == "pipeline":
                    rest = self.command(child)
                    body = Pipe((body, *(rest.stages if isinstance(rest, Pipe) else (rest,))))
                elif start.field_name_for_child(k) == "argument":
                    if not isinstance(body, Simple):
                        raise ShellError("a word after a here-document's start is not understood")
                    body = Simple((*body.words, *read_words(self.text(child))), body.redirects, body.assigns)
        return body

    def redirect(self, node: Node) -> Iterator[Redirect]:
        if node.type == "heredoc_redirect":
            yield self.heredoc(node)
            for child in node.children:
                if child.type.endswith("_redirect"):
                    yield from self.redirect(child)
            return
        fd_node = next(below(node, "file_descriptor"), None)
        named = [c for c in node.children if c.is_named and c.type != "file_descriptor"]
        op = next(self.text(c) for c in node.children if not c.is_named)
        if node.type == "herestring_redirect":
            word = read_words(self.text(named[0]))[0]
            yield Redirect(0, "<<", Word((*word.parts, *literal_word("\n").parts)))
            return
        if op not in (">", ">>", "<", ">&", ">|", "&>", "<&") or len(named) != 1:
            raise ShellError(f"redirection {op} is not understood")
        fd = int(self.text(fd_node)) if fd_node else (0 if op.startswith("<") else 1)
        targets = read_words(self.text(named[0]))
        if len(targets) != 1:
            raise ShellError("ambiguous redirection")
        yield Redirect(fd, {">|": ">"}.get(op, op), targets[0])

    def heredoc(self, node: Node) -> Redirect:
        start = next(self.text(c) for c in below(node, "heredoc_start"))
        body = next((self._syntax.lines(c) for c in below(node, "heredoc_body")), "")
        if self.text(node).startswith("<<-"):
            body = "".join(line.lstrip("\t") for line in body.splitlines(keepends=True))
        if start[:1] in "'\"\\":
            return Redirect(0, "<<", literal_word(body))
        return Redirect(0, "<<", read_words('"' + body.replace('"', '\\"') + '"')[0])


_SHELLS = frozenset({"bash", "sh", "dash"})


def inlined(node: Simple) -> Command:
    """``bash -c 'TEXT'`` as the commands of its text, where they leave the shell around them as it is."""
    texts = [w.literal for w in node.words[1:]]
    if node.name not in _SHELLS or len(texts) != 2 or texts[0] not in ("-c", "-lc", "-ec", "-euc") or texts[1] is None:
        return node
    body = parse(texts[1])
    heads = [i.name if isinstance(i, Simple) and i.words else "" for i in body.items]
    own = any(h in ("cd", "set", "shopt", "exit", "export", "exec") for h in heads) or any(
        isinstance(i, Simple) and i.assigns for i in body.items
    )
    if own or node.redirects or node.assigns or len(body.items) != 1:
        return Group(body, True, node.redirects) if not node.assigns else node
    return body.items[0]


def attach(body: Command, redirects: tuple[Redirect, ...]) -> Command:
    """``body`` with redirections added (to the last stage of a pipeline, the first for input)."""
    if isinstance(body, Simple):
        return Simple(body.words, body.redirects + redirects, body.assigns)
    if isinstance(body, Group):
        return Group(body.body, body.subshell, body.redirects + redirects)
    if isinstance(body, While):
        return While(body.cond, body.body, body.redirects + redirects)
    if isinstance(body, Pipe):
        reads = tuple(r for r in redirects if r.op in ("<", "<<"))
        writes = tuple(r for r in redirects if r.op not in ("<", "<<"))
        stages = list(body.stages)
        stages[0] = attach(stages[0], reads) if reads else stages[0]
        stages[-1] = attach(stages[-1], writes) if writes else stages[-1]
        return Pipe(tuple(stages))
    if isinstance(body, Seq) and body.items:
        return Seq((*body.items[:-1], attach(body.items[-1], redirects)), body.joins)
    return Group(Seq((body,)), False, redirects)
