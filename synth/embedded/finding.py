"""``find`` expressions as Python lists of paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from synth.embedded.names import Match, glob_items, match, whole_pattern
from synth.embedded.regexes import pattern_code
from synth.embedded.scope import Items, Scope, Shown, picked, show
from verifiers.shell.tree import Hole, Lit, ShellError, Var, Word, literal_word


@dataclass(frozen=True, slots=True)
class Action:
    """``-exec`` (its words), ``-delete`` or ``-print``."""

    kind: str
    words: tuple[Word, ...] = ()
    batch: bool = False


Of = Callable[[str], str]
"""Python for the variable that holds a path."""


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on a path."""

    of: Of
    otherwise: Of | None = None
    """Its negation, where that is not ``not …``."""
    joins: Literal["", "and", "or"] = ""
    """It is one of several conditions."""

    def negated(self) -> Test:
        mark = "not ({})" if self.joins else "not {}"
        return Test(self.otherwise or (lambda p: mark.format(self.of(p))), self.of)


def compared(left: Of, right: str) -> Test:
    """Whether something about a path equals something."""
    return Test(lambda p: f"{left(p)} == {right}", lambda p: f"{left(p)} != {right}")


def all_of(tests: Sequence[Test]) -> Test:
    """Every one of them holds."""
    if len(tests) == 1:
        return tests[0]
    return Test(lambda p: " and ".join(t.of(p) for t in tests) or "True", joins="and" if tests else "")


def any_of(tests: Sequence[Test], apart: bool = False) -> Test:
    """One of them holds; each in parentheses of its own if ``apart``."""
    inner = [apart or (len(tests) > 1 and t.joins == "and") for t in tests]

    def of(p: str) -> str:
        return f"({' or '.join(f'({t.of(p)})' if own else t.of(p) for t, own in zip(tests, inner, strict=True))})"

    return Test(of, joins="or")


def common(branches: Sequence[Branch]) -> frozenset[str]:
    """The types that one of these may find, where each tells its own."""
    return frozenset().union(*(b.types for b in branches)) if all(b.types for b in branches) else frozenset()


@dataclass
class Branch:
    """Tests that must hold, then actions."""

    tests: list[Test] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    named: bool = False
    """Some test fixes the end of the name."""
    types: frozenset[str] = frozenset()
    """Types of what is found, as ``-type`` writes them, as far as they are told."""


@dataclass
class Found:
    """A parsed find command."""

    source: str
    """Python iterable of all paths, parents first."""
    branches: list[Branch]
    shown: Shown
    depth_first: bool
    changing: bool
    """Its tests look at things that its actions change (``-empty``)."""
    steps: int = 0
    """Comprehensions and sortings in ``source``."""


_TYPES = {
    "f": Test(lambda p: f"{p}.is_file() and not {p}.is_symlink()", joins="and"),
    "d": Test(lambda p: f"{p}.is_dir() and not {p}.is_symlink()", joins="and"),
    "l": Test(lambda p: f"{p}.is_symlink()"),
    "p": Test(lambda p: f"{p}.is_fifo()"),
}


class FindReader:
    """Reads the words of a find command."""

    def __init__(self, scope: Scope, words: Sequence[Word]) -> None:
        self.scope = scope
        self.words = list(words)
        self.i = 0
        self.depth_first = False
        self.changing = False
        self.shown: Shown = "path"
        self.root = ""
        self.steps = 0

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
            tests = any_of([all_of(b.tests) for b in branches], apart=True)
            branches = [Branch([tests], branches[-1].actions, all(b.named for b in branches), common(branches))]
        return Found(source, branches, self.shown, self.depth_first, self.changing, self.steps)

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
            self.steps = items.steps
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
            self.shown = "dotted"
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
                branch.tests.append(all_of(inner.tests).negated())
        elif name == "(":
            self.group(branch)
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

    def group(self, branch: Branch) -> None:
        """What stands in parentheses, as one more test of the branch."""
        alternatives = [self.branch()]
        while self.take().literal != ")":
            alternatives.append(self.branch())
        if any(a.actions for a in alternatives):
            raise ShellError("actions inside parentheses are not understood")
        branch.tests.append(any_of([all_of(a.tests) for a in alternatives]))
        branch.types |= common(alternatives)

    def test(self, name: str, branch: Branch) -> None:
        tests: dict[str, Callable[[], Test | None]] = {
            "-type": lambda: self.type_test(branch),
            "-empty": lambda: self.empty_test(branch),
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
            test = _fits(match(self.scope, word, name == "-iname"), "name")
        elif name in ("-path", "-wholename", "-ipath"):
            word = self.take()
            if word.literal == ".":
                return
            test = _fits(match(self.scope, word, name == "-ipath"), self.shown)
        elif name == "-regex":
            self.scope.code.need("re")
            pattern = pattern_code(self.scope.pieces(self.take()), "basic")
            test = Test(lambda p: f"re.fullmatch({pattern}, {show(self.shown, p)})")
        elif name in tests:
            test = tests[name]()
        else:
            raise ShellError(f"find {name} is not understood")
        if test is not None:
            branch.tests.append(test)

    def type_test(self, branch: Branch) -> Test:
        kinds = (self.take().literal or "").split(",")
        branch.types |= set(kinds)
        try:
            tests = [_TYPES[k] for k in kinds]
        except KeyError:
            raise ShellError(f"find -type {kinds} is not understood") from None
        return tests[0] if len(tests) == 1 else any_of(tests, apart=True)

    def empty_test(self, branch: Branch) -> Test:
        self.changing = True
        if branch.types == {"d"}:
            return Test(lambda p: f"not any({p}.iterdir())", lambda p: f"any({p}.iterdir())")
        if branch.types == {"f"}:
            return compared(lambda p: f"{p}.stat().st_size", "0")
        branch.types |= {"d", "f"}
        empty = "(not any({0}.iterdir()) if {0}.is_dir() else {0}.stat().st_size == 0)"
        return Test(lambda p: f"not {p}.is_symlink() and {empty.format(p)}", joins="and")

    def size_test(self) -> Test:
        word = self.take().literal or ""
        sign = word[:1] if word[:1] in "+-" else ""
        body = word.lstrip("+-")
        unit = {"c": 1, "w": 2, "b": 512, "k": 1024, "M": 1 << 20, "G": 1 << 30}.get(body[-1:], 512)
        number = body.rstrip("cwbkMG")
        if not number.isdecimal():
            raise ShellError(f"find -size {word} is not understood")
        less, more = ("", "") if unit == 1 else ("-(-", f" // {unit})")
        if not sign:
            return compared(lambda p: f"{less}{p}.lstat().st_size{more}", number)
        order = {"+": ">", "-": "<"}[sign]
        return Test(lambda p: f"{less}{p}.lstat().st_size{more} {order} {number}")

    def perm_test(self) -> Test:
        text = self.take().literal or ""
        body = text.lstrip("-/")
        if not body.isdecimal():
            raise ShellError(f"find -perm {text} is not understood")
        if text.startswith("/"):
            return compared(lambda p: f"{p}.lstat().st_mode & 0o{body}", "0").negated()
        mask = body if text.startswith("-") else "7777"
        return compared(lambda p: f"{p}.lstat().st_mode & 0o{mask}", f"0o{body}")

    def depth_test(self, sign: str) -> Test | None:
        word = self.take()
        number = self.scope.text(word) if word.literal is None else word.literal
        if self.literal_roots_are_globs() and number == "0":
            return None
        below = f".relative_to({self.root})" if self.root else ""
        return Test(lambda p: f"len({p}{below}.parts) {sign} {number}")

    def literal_roots_are_globs(self) -> bool:
        return bool(self.words) and self.words[0].has_glob

    def access(self, kind: str) -> Test:
        self.scope.code.need("os")
        return Test(lambda p: f"os.access({p}, os.{kind})")


def _fits(found: Match | None, shown: Shown) -> Test | None:
    if found is None:
        return None
    return Test(lambda p: found.of(show(shown, p)), lambda p: found.of(show(shown, p), negated=True))


def found_items(scope: Scope, found: Found, branch: Branch, writes: bool) -> Items:
    """The list of paths of one branch. ``writes``: files are written later, so unfinished ones are left out."""
    tests = [t.of("p") for t in branch.tests]
    if writes and not branch.named and scope.guarded:
        scope.code.helper("_unfinished")
        tests.append("not _unfinished(p.name)")
    for written in scope.writing:
        if not branch.named and found.shown == "dotted":
            tests.append(f"p != {scope.path(written)}")
    source = f"reversed(list({found.source}))" if found.depth_first else found.source
    condition = f" if {' and '.join(tests)}" if tests else ""
    return picked(f"{source}{condition}", found.shown, found.steps)
