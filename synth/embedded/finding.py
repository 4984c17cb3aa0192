"""``find`` expressions as Python lists of paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from synth.embedded.names import DOT, UNFINISHED, Items, glob_items, match, whole_pattern
from synth.embedded.regexes import pattern_code
from synth.embedded.scope import Scope
from verifiers.shell.tree import Hole, Lit, ShellError, Var, Word, literal_word


@dataclass(frozen=True, slots=True)
class Action:
    """``-exec`` (its words), ``-delete`` or ``-print``."""

    kind: str
    words: tuple[Word, ...] = ()
    batch: bool = False


@dataclass
class Branch:
    """Tests that must hold, then actions."""

    tests: list[str] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    named: bool = False
    """Some test fixes the end of the name."""


@dataclass
class Found:
    """A parsed find command."""

    source: str
    """Python iterable of all paths, parents first."""
    branches: list[Branch]
    shown: str
    depth_first: bool
    changing: bool
    """Its tests look at things that its actions change (``-empty``)."""


_TYPES = {
    "f": "p.is_file() and not p.is_symlink()",
    "d": "p.is_dir() and not p.is_symlink()",
    "l": "p.is_symlink()",
    "p": "p.is_fifo()",
}


class FindReader:
    """Reads the words of a find command."""

    def __init__(self, scope: Scope, words: Sequence[Word]) -> None:
        self.scope = scope
        self.words = list(words)
        self.i = 0
        self.depth_first = False
        self.changing = False
        self.types: set[str] = set()
        self.shown = "str({p})"
        self.root = ""

    def read(self) -> Found:
        roots: list[Word] = []
        while self.i < len(self.words) and not self.is_test(self.words[self.i]):
            roots.append(self.words[self.i])
            self.i += 1
        source = self.source(roots or [literal_word(".")])
        branches = [self.branch()]
        while self.peek() in ("-o", "-or"):
            self.i += 1
            branches.append(self.branch())
        if self.i != len(self.words):
            raise ShellError("this find expression is not understood")
        if len(branches) > 1 and not all(b.actions for b in branches):
            if any(b.actions for b in branches[:-1]):
                raise ShellError("this find expression is not understood")
            tests = " or ".join(f"({' and '.join(b.tests) or 'True'})" for b in branches)
            branches = [Branch([f"({tests})"], branches[-1].actions, all(b.named for b in branches))]
        return Found(source, branches, self.shown, self.depth_first, self.changing)

    def is_test(self, word: Word) -> bool:
        text = word.literal
        return text is not None and (text.startswith("-") or text in ("(", ")", "!"))

    def peek(self) -> str | None:
        return self.words[self.i].literal if self.i < len(self.words) else None

    def take(self) -> Word:
        if self.i >= len(self.words):
            raise ShellError("find: an argument is missing")
        self.i += 1
        return self.words[self.i - 1]

    def source(self, roots: list[Word]) -> str:
        if len(roots) == 1 and roots[0].has_glob:
            items = glob_items(self.scope, roots[0])
            if (self.literal_after("-maxdepth") or "") == "0":
                self.shown = items.shown
                return items.code
            self.scope.code.need("Iterator")
            return f"[p for root in {items.code} for p in {self.scope.code.helper('_walk')}(root)]"
        if len(roots) != 1:
            raise ShellError("find with several roots is not understood")
        root = roots[0]
        self.scope.code.helper("_walk:gone" if self.scope.facts.vanishes(root, self.scope.cwd) else "_walk")
        if root.literal in (".", "./"):
            self.shown = DOT
            where = self.scope.path_in_root(self.scope.cwd) if self.scope.cwd is not None else 'Path(".")'
            self.scope.code.need("Path")
            self.root = where if self.scope.cwd is not None else ""
            return f"_walk({where})"
        self.root = self.scope.path(root)
        return f"_walk({self.root})"

    def literal_after(self, name: str) -> str | None:
        for a, b in zip(self.words, self.words[1:], strict=False):
            if a.literal == name:
                return b.literal
        return None

    def branch(self) -> Branch:
        branch = Branch()
        self.types = set()
        while self.i < len(self.words) and self.peek() not in ("-o", "-or", ")"):
            if self.peek() in ("-a", "-and"):
                self.i += 1
                continue
            self.term(branch)
        return branch

    def term(self, branch: Branch) -> None:
        name = self.take().literal or ""
        if name in ("!", "-not"):
            inner = Branch()
            self.term(inner)
            if inner.actions:
                raise ShellError("a negated action is not understood")
            if inner.tests:
                branch.tests.append(f"not ({' and '.join(inner.tests)})" if len(inner.tests) > 1 else _negated(inner.tests[0]))
        elif name == "(":
            inner_tests = self.group()
            branch.tests.append(inner_tests)
        elif name in ("-exec", "-execdir", "-ok"):
            words: list[Word] = []
            while self.peek() not in (";", "+"):
                words.append(self.take())
            branch.actions.append(Action("exec", tuple(words), self.take().literal == "+"))
        elif name == "-delete":
            self.depth_first = True
            branch.actions.append(Action("delete"))
        elif name in ("-print", "-print0", "-ls"):
            branch.actions.append(Action("print"))
        elif name in ("-depth", "-d"):
            self.depth_first = True
        elif name in ("-mount", "-xdev", "-noleaf", "-true", "-readable"):
            pass
        else:
            self.test(name, branch)

    def group(self) -> str:
        alternatives: list[str] = []
        while True:
            inner = self.branch()
            if inner.actions:
                raise ShellError("actions inside parentheses are not understood")
            alternatives.append(" and ".join(inner.tests) or "True")
            closing = self.take().literal
            if closing == ")":
                break
        return f"({' or '.join(f'({a})' if ' and ' in a and len(alternatives) > 1 else a for a in alternatives)})"

    def test(self, name: str, branch: Branch) -> None:
        tests: dict[str, Callable[[], str]] = {
            "-type": self.type_test,
            "-empty": self.empty_test,
            "-size": self.size_test,
            "-perm": self.perm_test,
            "-maxdepth": lambda: self.depth_test("<="),
            "-mindepth": lambda: self.depth_test(">="),
            "-executable": lambda: self.access("X_OK"),
        }
        if name in ("-name", "-iname"):
            word = self.take()
            last = word.parts[-1] if word.parts else None
            branch.named = branch.named or (isinstance(last, Lit) and last.text[-1:] not in "*?]") or isinstance(last, Hole | Var)
            if whole_pattern(self.scope, word):
                branch.named = False
            test = match(self.scope, "p.name", word, name == "-iname")
        elif name in ("-path", "-wholename", "-ipath"):
            word = self.take()
            if word.literal == ".":
                return
            test = match(self.scope, self.show("p"), word, name == "-ipath")
        elif name == "-regex":
            self.scope.code.need("re")
            test = f"re.fullmatch({pattern_code(self.scope.pieces(self.take()), 'basic')}, {self.show('p')})"
        elif name in tests:
            test = tests[name]()
        else:
            raise ShellError(f"find {name} is not understood")
        if test:
            branch.tests.append(test)

    def show(self, var: str) -> str:
        return self.shown.replace("{p}", var)

    def type_test(self) -> str:
        kinds = (self.take().literal or "").split(",")
        self.types.update(kinds)
        try:
            tests = [_TYPES[k] for k in kinds]
        except KeyError:
            raise ShellError(f"find -type {kinds} is not understood") from None
        return tests[0] if len(tests) == 1 else "(" + " or ".join(f"({t})" for t in tests) + ")"

    def empty_test(self) -> str:
        self.changing = True
        if self.types == {"d"}:
            return "not any(p.iterdir())"
        if self.types == {"f"}:
            return "p.stat().st_size == 0"
        return "(not any(p.iterdir()) if p.is_dir() else p.stat().st_size == 0)"

    def size_test(self) -> str:
        word = self.take().literal or ""
        sign = word[:1] if word[:1] in "+-" else ""
        body = word.lstrip("+-")
        unit = {"c": 1, "w": 2, "b": 512, "k": 1024, "M": 1 << 20, "G": 1 << 30}.get(body[-1:], 512)
        number = body.rstrip("cwbkMG")
        if not number.isdecimal():
            raise ShellError(f"find -size {word} is not understood")
        size = "p.lstat().st_size" if unit == 1 else f"-(-p.lstat().st_size // {unit})"
        return f"{size} { {'+': '>', '-': '<', '': '=='}[sign] } {number}"

    def perm_test(self) -> str:
        text = self.take().literal or ""
        body = text.lstrip("-/")
        if not body.isdecimal():
            raise ShellError(f"find -perm {text} is not understood")
        mode = "p.lstat().st_mode & 0o7777"
        if text.startswith("-"):
            return f"p.lstat().st_mode & 0o{body} == 0o{body}"
        return f"p.lstat().st_mode & 0o{body} != 0" if text.startswith("/") else f"{mode} == 0o{body}"

    def depth_test(self, sign: str) -> str:
        word = self.take()
        number = self.scope.text(word) if word.literal is None else word.literal
        if self.literal_roots_are_globs() and number == "0":
            return ""
        depth = f"len(p.relative_to({self.root}).parts)" if self.root else "len(p.parts)"
        return f"{depth} {sign} {number}"

    def literal_roots_are_globs(self) -> bool:
        return bool(self.words) and self.words[0].has_glob

    def access(self, kind: str) -> str:
        self.scope.code.need("os")
        return f"os.access(p, os.{kind})"


def _negated(test: str) -> str:
    if " and " in test or " or " in test or test.startswith("not "):
        return f"not ({test})"
    return test.replace(" == ", " != ", 1) if " == " in test else f"not {test}"


def found_items(scope: Scope, found: Found, branch: Branch, writes: bool) -> Items:
    """The list of paths of one branch. ``writes``: files are written later, so unfinished ones are left out."""
    tests = list(branch.tests)
    if writes and not branch.named:
        tests.append(UNFINISHED)
    for written in scope.writing:
        if not branch.named and found.shown == DOT:
            tests.append(f"p != {scope.path(written)}")
    source = found.source
    if found.depth_first:
        source = f"reversed(list({source}))"
    condition = f" if {' and '.join(tests)}" if tests else ""
    return Items(f"[p for p in {source}{condition}]", found.shown)
