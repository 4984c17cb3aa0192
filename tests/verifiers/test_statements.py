"""Statements that must have run: which lines count, and that the lines agree with what the interpreter reports."""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.source.statements import spread, statements


def lines_run(source: str, call: str = "f", *args: object) -> frozenset[int]:
    """The lines of ``source`` that give line events while its function ``call`` runs."""
    scope: dict[str, Any] = {}
    exec(compile(source, "<skill>", "exec", dont_inherit=True), scope)
    seen: set[int] = set()

    def trace(frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != "<skill>":
            return None
        if event == "line":
            seen.add(frame.f_lineno)
        return trace

    old = sys.gettrace()
    sys.settrace(trace)
    try:
        scope[call](*args)
    except ValueError:
        pass
    finally:
        sys.settrace(old)
    return frozenset(seen)


def missed(source: str, *args: object) -> list[str]:
    """Texts of the statements that a call leaves out."""
    ran = lines_run(source, "f", *args)
    return [s.text for s in statements(source) if not s.ran(ran)]


EVERYTHING = textwrap.dedent('''
    """Module docstring."""
    import contextlib
    LIMIT = 3

    def decorate(g):
        """Returns it."""
        return g

    class Box:
        size = 1
        def grow(self):
            self.size += 1
            return self

    def f(n=2):
        """Docstring."""
        global LIMIT
        note: str
        total = (
            n
            + 1
        )
        pass
        ...
        @decorate
        def inner(
            x,
            y=1,
        ):
            return x
        for i in [
            1,
            2,
        ]:
            if i == 1:
                continue
            elif (
                i == 2
            ):
                total += 1
            else:
                raise ValueError("no")
        else:
            total += 2
        while True:
            total += inner(1)
            break
        while total < 0:
            raise ValueError("never")
        try:
            int("x")
        except ValueError:
            total += 1
        else:
            raise RuntimeError
        finally:
            total += 1
        with (
            contextlib.suppress(ValueError),
            contextlib.nullcontext() as c,
        ):
            total += 1
        match total:
            case 0:
                raise ValueError
            case _:
                total = sum(
                    j
                    for j in range(3)
                    if j
                )
        total += Box().grow().size
        del c
        assert total
        return {
            "ok": True,
            "total": total,
        }
''')


def test_a_call_that_runs_everything_misses_only_raises() -> None:
    """With every kind of statement run, only bodies that raise are missed, and they are marked."""
    ran = lines_run(EVERYTHING)
    left = [s for s in statements(EVERYTHING) if not s.ran(ran)]
    assert [s.line for s in left] == [n for n, t in enumerate(EVERYTHING.splitlines(), 1) if t.strip().startswith("raise")]
    assert all(s.kind == "raises" for s in left)


def test_spread_copy_agrees() -> None:
    """The same holds for the spread copy, and its statements point at the lines of the original."""
    copy = spread(EVERYTHING)
    ran = lines_run(copy.source)
    assert all(s.kind == "raises" for s in copy.statements if not s.ran(ran))
    original = EVERYTHING.splitlines()
    ends = next(s for s in copy.statements if s.text.startswith("return {"))
    assert original[ends.line - 1].strip() == "return {"


def test_a_branch_on_one_line_shows_in_the_spread_copy() -> None:
    """A body on its header's line is invisible to line events; the copy tells it apart."""
    source = 'def f(a):\n    if a == "x": a = 1; a = 2\n    return a\n'
    assert missed(source, "y") == []
    copy = spread(source)
    ran = lines_run(copy.source, "f", "y")
    assert [(s.text, s.line) for s in copy.statements if not s.ran(ran)] == [("a = 1", 2), ("a = 2", 2)]


@pytest.mark.parametrize(
    ("body", "only_raises"),
    [
        ("raise ValueError(a)", True),
        ("raise", True),
        ("msg = f'{a}: {len(a)}'\n        raise ValueError(msg) from None", True),
        ("raise ValueError(', '.join(sorted(str(x) for x in a)))", True),
        ("return {'ok': False, 'error': str(a)}", True),
        ("return {'status': 'error', 'message': a}", True),
        ("raise ValueError(open(a).write('x'))", False),
        ("raise shutil.rmtree(a)", False),
        ("open(a, 'w')\n        raise ValueError", False),
        ("msg = wipe(a)\n        raise ValueError(msg)", False),
        ("return {'ok': True}", False),
        ("return {'ok': False, 'error': wipe(a)}", False),
        ("return", False),
    ],
)
def test_only_harmless_reports_count_as_raising(body: str, only_raises: bool) -> None:
    """A body that does something besides reporting must have run."""
    source = f"def f(a):\n    if a:\n        {body}\n    return a\n"
    inner = [s for s in statements(source) if s.first_line >= 3 and s.text != "return a"]
    assert inner
    assert all(s.kind == "raises" for s in inner) is only_raises


def test_unreached_helper_counts() -> None:
    """A helper nobody calls is a statement nobody ran."""
    assert missed("def g():\n    return 1\ndef f(a):\n    return a\n", 1) == ["return 1"]


def test_module_level_is_left_out() -> None:
    """Imports, constants and definitions of the module are not statements to run."""
    assert statements("import os\nX = 1\nclass A:\n    y = 2\n") == ()


@pytest.mark.parametrize("source", ["def f(:", "", "'\ud800'"])
def test_broken_text_has_no_statements(source: str) -> None:
    """A text that does not parse has none, and its spread copy is itself."""
    assert statements(source) == ()
    assert spread(source).source == source or not source


@pytest.mark.parametrize(
    "line", ["a = f'{a!r:>{10}}'", "a = f\"{a['x']}\"", "a = 'é\\ud83d'", "a = 1e400", "a = b'\\xff' * 0o7", "a = (yield)"]
)
def test_spread_copies_have_the_same_tree(line: str) -> None:
    """A copy that would not be the same program is not made."""
    source = f"def f(a):\n    {line}; a = 2\n"
    copy = spread(source)
    assert ast.dump(ast.parse(copy.source)) == ast.dump(ast.parse(source))
    assert len(copy.statements) == 2


names = st.sampled_from(["a", "b", "c"])
simple = st.one_of(
    st.builds("{0} = {0} + 1".format, names),
    st.builds("{0} = (\n    {1}\n    + 1\n)".format, names, names),
    st.builds("{0} = [x for x in [1]\n     if x][0]".format, names),
    st.just("pass"),
    st.builds("{0}: int".format, st.just("zz")),
    st.just("'text'"),
)


def suites(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Compound statements whose every suite runs."""
    block = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    indented = block.map(lambda b: textwrap.indent(b, "    "))
    return st.one_of(
        st.builds("for i in [1,\n   2]:\n{0}\nelse:\n{1}".format, indented, indented),
        st.builds("if (a\n   or True):\n{0}".format, indented),
        st.builds("if not True:\n    raise ValueError\nelif True:\n{0}".format, indented),
        st.builds("try:\n{0}\n    int('x')\nexcept ValueError:\n{1}\nfinally:\n{2}".format, indented, indented, indented),
        st.builds("while True:\n{0}\n    break".format, indented),
        st.builds("def g(a=1, b=2, c=3):\n{0}\ng()".format, indented),
        st.builds("match a:\n    case _:\n{0}".format, indented.map(lambda b: textwrap.indent(b, "    "))),
    )


programs = st.lists(st.recursive(simple, suites, max_leaves=8), min_size=1, max_size=4).map(
    lambda parts: "def f(a=1, b=1, c=1):\n" + textwrap.indent("\n".join(parts), "    ") + "\n"
)


@given(programs)
def test_no_statement_is_missed_by_a_run_of_everything(source: str) -> None:
    """Whatever the shape: if all of it runs, every counted statement has a line event, in the original and the copy."""
    assert [t for t in missed(source) if "raise" not in t] == []
    copy = spread(source)
    ran = lines_run(copy.source)
    assert all(s.ran(ran) for s in copy.statements if s.kind != "raises")


@pytest.mark.parametrize("space", ["\f", "\u2028", "\x1c"])
def test_only_newlines_end_lines(space: str) -> None:
    """Other separators inside a text do not shift what follows."""
    source = f"def f():\n    a = 'x{space}y'\n    return a\n"
    assert [(s.first_line, s.text) for s in statements(source)][1] == (3, "return a")


def test_a_skill_keeps_all_its_statements() -> None:
    """A skill's own statements are found on their lines."""
    source = 'import os\n\n\nasync def f(n: str) -> None:\n    """Doc."""\n    os.mkdir(n)\n    return None\n'
    assert [(s.first_line, s.text) for s in statements(source)] == [(6, "os.mkdir(n)"), (7, "return None")]
