"""What the compiler knows at one point of the program: variables, working directory, files written but not yet put."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from synth.embedded.code import Code, Piece, joined, merge, quote
from verifiers.shell.tree import Arith, Command, Feed, Glob, Hole, Lit, Many, Positional, Seq, ShellError, Var, Verbatim, Word

Kind = str
"""``str``, ``int``, ``list[str]`` or ``Path``."""


Shown = Literal["path", "dotted", "name", "text"]
"""How a command prints one of many paths: as it is, with ``./`` in front as find does below ``.``, or its name alone."""


def show(shown: Shown, var: str) -> str:
    """A str expression for what is printed of the path that a variable holds; ``text`` is printed as it is."""
    return {"path": f"str({var})", "dotted": f'f"./{{{var}}}"', "name": f"{var}.name", "text": var}[shown]


@dataclass(frozen=True, slots=True)
class Items:
    """Many paths: a Python ``list[Path]`` expression."""

    code: str
    shown: Shown = "path"
    kind: str = "Path"
    """``str`` for words that need not be paths."""
    inner: str = ""
    """What ``for p in`` goes over, with its tests, where the list is a comprehension; "" else."""
    steps: int = 0
    """Comprehensions and sortings in the expression."""

    @property
    def each(self) -> str:
        """What another comprehension over p goes on from."""
        return self.inner or self.code

    def texts(self) -> str:
        """Arguments of a call: what is printed of each."""
        return f"*map(str, {self.code})" if self.shown == "path" else f"*({show(self.shown, 'p')} for p in {self.code})"

    def lines(self) -> str:
        """A str expression for all that is printed, one a line."""
        line = {"path": 'f"{p}\\n"', "dotted": 'f"./{p}\\n"', "name": 'p.name + "\\n"', "text": 'f"{p}\\n"'}[self.shown]
        return f'"".join({line} for p in {self.code})'


def picked(inner: str, shown: Shown, steps: int) -> Items:
    """The paths p of ``SOURCE if TESTS``."""
    return Items(f"[p for p in {inner}]", shown, inner=inner, steps=steps + 1)


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    kind: Kind
    values: tuple[object, ...]
    """One per trace that the template was made from."""
    description: str = ""
    default: str | None = None


@dataclass
class Buffer:
    """A file's content on its way: written by redirections, put in place at once later."""

    word: Word
    path: str
    """Path expression."""
    pieces: list[Content]
    append: bool = False
    swap: bool = False
    """Made by mv: replaces a link instead of writing through it."""


@dataclass(frozen=True, slots=True)
class Content:
    """A bytes expression; ``original`` names the file whose earlier content it is."""

    code: str
    original: Word | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What the evidence says: answers of the snapshots for a word of the template."""

    is_dir: Callable[[Word, Word | None], bool]
    """The word names a directory in every base that has it (second argument: working directory)."""
    exists: Callable[[Word, Word | None], bool]
    has_links: Callable[[Word, Word | None], bool]
    vanishes: Callable[[Word, Word | None], bool]
    """Some trace removes it."""
    has_folders: Callable[[Word, Word | None], bool]
    grows: Callable[[Word, Word | None], str | None] = lambda word, cwd: None
    """What every trace puts into the file, in one place, where the commands cannot be run again; "" for other things each time,
    None where they do more."""
    keeps: Callable[[Word, Word | None, str], bool] = lambda word, cwd, pattern: False
    """Every trace's file has a line, before and after, that the pattern matches (an expression over the parameters)."""
    creates: bool = True
    """Some recording makes a file that was not there."""
    repeatable: bool = False
    """The recorded commands were seen to succeed once more on their own result: a check of theirs holds there too."""


@dataclass
class Scope:
    code: Code
    params: Sequence[Param]
    facts: Facts
    vars: dict[str, tuple[str, Kind]] = field(default_factory=dict)
    """Shell variable -> (Python expression, its type)."""
    cwd: Word | None = None
    pending: dict[Word, Buffer] = field(default_factory=dict)
    temps: frozenset[Word] = frozenset()
    """Paths that the program makes and removes again."""
    fixed: dict[str, tuple[bool, bool]] = field(default_factory=dict)
    """Loop variable -> the listing's pattern fixes the start, the end of names."""
    dotted: set[str] = field(default_factory=set)
    """Loop variables whose text begins with ``./``."""
    blocks: dict[Word, str] = field(default_factory=dict)
    """Files that a loop appends to -> the variable that gathers what is appended."""
    sorted: frozenset[Word] = frozenset()
    """Files that the program sorts in place: what was appended to them is at their end no more."""
    writing: list[Word] = field(default_factory=list)
    """Files that the current command writes: not listed by its own patterns."""
    backup: str = ""
    """What ``sed -i.bak`` puts behind the name of the old content's copy; "" = no copy is kept."""
    made_dirs: set[Word] = field(default_factory=set)
    guarded: bool = True
    """What a killed run may have left is not listed: the skill writes content."""
    substitute: Callable[[Scope, Seq], str] | None = None
    """Compiles a command substitution to a str expression (set by the compiler)."""
    fed: Callable[[Scope, Seq], str] | None = None
    """Compiles what ``<(…)`` prints to a bytes expression (set by the compiler)."""
    listed: Callable[[Scope, Seq], Items] | None = None
    """The words of an unquoted command substitution (set by the compiler)."""
    printed: Callable[[Scope, Command, object], str] | None = None
    """Compiles a loop for what it prints (set by the compiler)."""
    acts: Callable[[Scope, Command], bool] | None = None
    """Compiles a command that changes files and prints nothing; False for others (set by the compiler)."""
    printing: str = ""
    """The variable that gathers what a loop's body prints; "" outside of such loops."""
    changes: bool = False
    """The skill counts its changes."""
    complaint: str = ""
    """Code of the text that the command before printed on its standard error."""

    # ------------------------------------------------------------ words

    def pieces(self, word: Word) -> list[Piece]:
        """Constants and expressions that make up a word's text.

        Raises:
            ShellError: globs, lists and expansions that have no single text.
        """
        out: list[Piece] = []
        for part in word.parts:
            if isinstance(part, Lit):
                out.append((True, part.text))
            elif isinstance(part, Hole):
                out.append((False, self.params[part.index].name))
            elif isinstance(part, Var):
                piece = self.variable(part)
                out += [(True, "./"), piece] if piece[1] in self.dotted else [piece]
            elif isinstance(part, Glob):
                out.append((True, part.text))
            elif isinstance(part, Arith):
                out.append((False, self.arithmetic(part)))
            elif isinstance(part, Feed):
                raise ShellError("<(…) is not understood here")
            elif isinstance(part, Verbatim):
                raise ShellError(f"{part.text} is not understood")
            elif isinstance(part, Many | Positional) or self.substitute is None:
                raise ShellError("a list where one word is needed")
            else:
                out.append((False, self.substitute(self, part.body)))
        return merge(out)

    def arithmetic(self, part: Arith) -> str:
        """``$((n + 1))`` as a str expression; only sums, differences, products and remainders."""

        def operand(m: re.Match[str]) -> str:
            expr, kind = self.vars.get(m[1], ("", ""))
            if not expr:
                raise ShellError(f"the variable {m[1]} is not set in the commands")
            return expr if kind == "int" else f"int({expr})"

        if not re.fullmatch(r"[\w\s$+*%-]+", part.text) or re.search(r"\b0\d|\d[A-Za-z_]", part.text):
            raise ShellError("this arithmetic is not understood")
        return "str(" + re.sub(r"[$]?([A-Za-z_]\w*)", operand, part.text) + ")"

    def variable(self, var: Var) -> Piece:
        if var.name in ("$", "RANDOM", "SECONDS", "EPOCHSECONDS"):
            return (True, "$$")
        if var.name not in self.vars:
            raise ShellError(f"the variable {var.name} is not set in the commands")
        expr, kind = self.vars[var.name]
        if not var.op:
            return (False, expr)
        text = f"str({expr})" if kind != "str" else expr
        return (False, self.expansion(var, expr, text, kind))

    def expansion(self, var: Var, expr: str, text: str, kind: Kind) -> str:
        path = expr if kind == "Path" else f"Path({expr})"
        if var.op in (",,", "^^"):
            return f"{text}.{'lower' if var.op == ',,' else 'upper'}()"
        if var.op in ("//", "/") and all(not w.has_glob for w in var.args):
            old, new = (self.text(w) for w in var.args)
            return f"{text}.replace({old}, {new}{', 1' if var.op == '/' else ''})"
        word = var.args[0] if var.args else Word(())
        if not word.has_glob and var.op in ("%", "%%"):
            return f"{text}.removesuffix({self.text(word)})"
        if not word.has_glob and var.op in ("#", "##"):
            return f"{text}.removeprefix({self.text(word)})"
        shape = "".join(p.text for p in word.parts if isinstance(p, Lit | Glob))
        if len(shape) == 2 and var.op == "##" and shape[0] == "*":
            return f"{path}.name" if shape == "*/" else f"{text}.rpartition({quote(shape[1])})[2]"
        if shape == "/*" and var.op == "%":
            return f"str({path}.parent)"
        if len(shape) == 2 and shape[1] == "*" and var.op in ("%", "%%"):
            return f"{text}.{'rpartition' if var.op == '%' else 'partition'}({quote(shape[0])})[0]"
        if len(shape) == 2 and shape[0] == "*" and var.op == "#":
            return f"{text}.partition({quote(shape[1])})[2]"
        raise ShellError("an expansion with this pattern is not understood")

    def text(self, word: Word) -> str:
        """A Python str expression for a word."""
        pieces = self.pieces(word)
        return joined(pieces, len(pieces) == 1 and self.is_text(pieces[0][1]))

    def is_text(self, expr: str) -> bool:
        kinds = [k for e, k in self.vars.values() if e == expr] + [p.kind for p in self.params if p.name == expr]
        if kinds:
            return kinds[0] == "str"
        return not expr.isidentifier()

    def path(self, word: Word) -> str:
        """A Python Path expression for a word, relative to the shell's working directory."""
        self.code.need("Path")
        if word.has_glob:
            raise ShellError("a pattern where one path is needed")
        var = word.parts[0] if len(word.parts) == 1 else None
        if isinstance(var, Var) and not var.op and self.vars.get(var.name, ("", ""))[1] == "Path":
            return self.vars[var.name][0]
        text = self.text(word)
        if self.cwd is not None:
            return f"{self.path_in_root(self.cwd)} / {text}"
        return f"Path({text})"

    def path_in_root(self, word: Word) -> str:
        self.code.need("Path")
        return f"Path({self.text(word)})"

    def holes(self, word: Word) -> list[Param]:
        return [self.params[p.index] for p in word.parts if isinstance(p, Hole)]

    # ------------------------------------------------------------ files on their way

    def flush(self) -> None:
        """Puts every pending file in place, those apart that the program removes again."""
        for word, buffer in list(self.pending.items()):
            if word not in self.temps:
                del self.pending[word]
                self.put(buffer)

    def put(self, buffer: Buffer) -> None:
        own = [k for k, c in enumerate(buffer.pieces) if c.original == buffer.word]
        pieces, path = buffer.pieces, buffer.path
        if buffer.append:
            helper = self.code.helper("_add" if buffer.word in self.sorted else "_append")
            self.count(f"{helper}({path}, {content(pieces)})")
        elif own == [0] and len(pieces) > 1:
            self.count(f"{self.code.helper('_append')}({path}, {content(pieces[1:])})")
        elif own == [len(pieces) - 1] and len(pieces) > 1:
            self.count(f"{self.code.helper('_prepend')}({path}, {content(pieces[:-1])})")
        elif buffer.swap and own:
            # A link replaced by what it points to.
            self.count(f"{self.code.helper('_set')}({path}, {content(pieces)}, {path}.stat().st_mode & 0o777)")
        else:
            self.give(path, content(pieces), buffer.word)

    def give(self, path: str, new: str, word: Word | None) -> None:
        """Gives a file its new content, but where commands only add text to it not once more what stands there already."""
        put = self.code.helper("_put")
        always = self.facts.grows(word, self.cwd) if word is not None else None
        if always is None:
            self.count(f"{put}({path}, {new})")
            return
        fresh = new if new.isidentifier() else self.code.assign("new", new)
        values = texts(self.params, [always] if always else [])
        with self.code.block(f"if not {self.code.helper('_stands')}({fresh}, {path}.read_bytes(), {values}):"):
            self.count(f"{put}({path}, {fresh})")

    def count(self, call: str) -> None:
        """A line that does something and adds the number of changes that it returns."""
        self.changes = True
        self.code.line(f"changed += {call}")


def texts(params: Sequence[Param], more: Sequence[str] = ()) -> str:
    """A list of the parameters' values as texts, and of further ones."""
    shown = {"str": "{0}", "list[str]": "*{0}"}
    return f"[{', '.join([*(shown.get(p.kind, 'str({0})').format(p.name) for p in params), *map(quote, more)])}]"


def content(pieces: Sequence[Content]) -> str:
    """One bytes expression."""
    return " + ".join(p.code for p in pieces) or 'b""'
