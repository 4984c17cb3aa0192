"""What is not held against a skill although it parts from the commands."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Raised, ReplayRecord, Returned, Snapshot
from verifiers.context import Case, Judge
from verifiers.expectation.oracle import Expectation
from verifiers.worlds.grammar import grammar
from verifiers.worlds.indulgence import (
    indulged,
    makes_no_empty_directory,
    requoted,
    rewritten,
    right_but_for_quotes,
    yaml_said,
)
from verifiers.worlds.plans import Plan
from verifiers.worlds.template import templates
from verifiers.worlds.trials import Trial
from verifiers.worlds.world import World


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (b'{"a": {\n }}', b'{"a": {}}\n', True),
        (b'{"a": 1, "b": 2}', b'{"b": 2, "a": 1}', False),
        (b'{"a": 1}', b'{"a": true}', False),
        (b'{"a": 1}', b'{"a": 1.0}', False),
        (b'{"a": 1}', b'{"a": 1}', False),
        (b"a\n", b"a \n", False),
        (b"[" * 100_000, b"[]", False),
    ],
)
def test_json_in_other_bytes(before: bytes, after: bytes, same: bool) -> None:
    """One value in one order, and other bytes; anything else is a change."""
    assert rewritten(Entry("file", content=before), Entry("file", content=after)) is same
    assert not rewritten(Entry("file", content=before), Entry("file", 0o600, after))
    assert not rewritten(None, Entry("file", content=after))


TABLE = b"k,name\n1,ab\n2,cd\n"


@pytest.mark.parametrize(
    ("base", "wanted", "made", "same"),
    [
        (TABLE, b'k,name\n1,a"b\n', b'k,name\n1,"a""b"\n', True),
        (TABLE, b'k;name\n1;"a,b"\n', b"k;name\n1;a,b\n", True),
        (TABLE, b'k,name\n1,a"b\n', b'k,name\r\n1,"a""b"\r\n', False),
        (TABLE, b'k,name\n1,a"b\n', b'k,name\n1,"a""b"', False),
        (TABLE, b'k,v\r\ny,"1"\nz,2\n', b"k,v\ny,1\r\nz,2\n", False),
        (TABLE, b'k,name\n1,a"b\n', b"k,name\n1,ab\n", False),
        (TABLE, b'k,name\n\n1,a"b\n', b'k,name\n1,"a""b"\n', False),
        (TABLE + b'3,"e"\n', b'k,name\n1,a"b\n', b'k,name\n1,"a""b"\n', False),
        (TABLE, b'say "ab"\nno\n', b"say ab\nno\n", False),
    ],
)
def test_a_table_with_other_cells_in_quotes(base: bytes, wanted: bytes, made: bytes, same: bool) -> None:
    """The same rows and line ends, where no recorded cell is in quotes: neither has one that must be."""
    for name, counts in (("t.csv", same), ("t.txt", False)):
        start, x, post = (Snapshot({name: Entry("file", content=c)}) for c in (base, wanted, made))
        recorded = Expectation(start, start, frozenset(), "", True, (0,), (True,))
        (template,) = templates([(("true",), {})])
        g = grammar("t", {}, template, recorded)
        assert requoted(g, replace(recorded, tree=x), post) is counts
        assert not requoted(g, replace(recorded, tree=x), x)


@pytest.mark.parametrize(
    ("wanted", "made", "same"),
    [
        (b"a: x1\nb: 'q'\n", b'a: "x1"\nb: q\n', True),
        (b"a: 12\n", b"a: '12'\n", True),
        (b"a: 'yes'\n", b"a: yes\n", False),
        (b"a: '1.10'\n", b"a: 1.10\n", False),
        (b"a: x # 'why'\n", b"a: 'x' # why\n", True),
        (b"a: x\n", b"'a': x  \n", False),
        (b"a: it's\n", b'a: "it\'s"\n', True),
        (b"a: it's\n", b"a: 'its'\n", False),
        (b"a: *\n", b"a: '*'\n", True),
        (b"a: '*'\n", b"a: *\n", False),
        (b"a: '*\n", b"a: *'\n", False),
        (b"- &k x\n- *k\n", b"- &k 'x'\n- *k\n", True),
        (b"x\n", b"x\n", False),
    ],
)
def test_yaml_with_other_quotes(wanted: bytes, made: bytes, same: bool) -> None:
    """One value of one type, or its text, or YAML where there is none; and in a file of no format quotes are text."""
    for name, counts in (("t.yml", same), ("t.conf", False)):
        start, x, post = (Snapshot({name: Entry("file", content=c)}) for c in (b"a: 'b'\n", wanted, made))
        recorded = Expectation(start, start, frozenset(), "", True, (0,), (True,))
        (template,) = templates([(("true",), {})])
        assert requoted(grammar("t", {}, template, recorded), replace(recorded, tree=x), post) is counts


@pytest.mark.parametrize(("recorded", "counts"), [("8080", False), ("web", True)])
def test_a_number_stays_one_where_the_recorded_one_is(recorded: str, counts: bool) -> None:
    """A skill that writes some ports in quotes breaks them; a name that looks like a number is a name."""
    start, x, post = (Snapshot({"t.yml": Entry("file", content=f"a: {v}\n".encode())}) for v in (recorded, "12", "'12'"))
    known = Expectation(start, start, frozenset(), "", True, (0,), (True,))
    (template,) = templates([(("true",), {"v": recorded})])
    assert requoted(grammar("t", {"v": recorded}, template, known), replace(known, tree=x), post) is counts


@given(st.binary(max_size=60) | st.text("a:'\"-&* \n[]{}#!|1", max_size=60).map(str.encode))
def test_any_bytes_are_yaml_or_none(content: bytes) -> None:
    """Never a crash."""
    assert yaml_said(content) is None or yaml_said(content) == yaml_said(content)


@pytest.mark.parametrize(
    ("value", "answer", "why"), [("-x", "./-x/a\n./-x/b", True), ("-x", "./-x/a\n./-x/c", False), ("x", "./-x/a\n./-x/b", False)]
)
def test_a_name_that_begins_with_a_dash(value: str, answer: str, why: bool) -> None:
    """Programs are told that it is a name by what is put before it."""
    tree = Snapshot({f"{value}/a": Entry("file")})
    x = Expectation(tree, tree, frozenset(), "-x/a\n-x/b\n", True, (0,), (True,))
    (template,) = templates([(("ls d",), {"d": "d"})])
    g = grammar("t", {"d": "d"}, template, x)
    world = World("t", tree, {"d": value}, ("ls",), frozenset())
    record = ReplayRecord(Returned({"ok": True, "output": answer}), (), tree, "exited")
    context = SimpleNamespace(judge=Judge(True, "output"))
    said = indulged(context, Trial(g, Plan(), world), Case("c", {"d": value}, x, "t"), record)  # type: ignore[arg-type]  # a judge
    assert bool(said) is why


def test_what_a_run_says_is_judged_where_its_files_are_excused() -> None:
    """A wrong answer or a failure beside other quotes is not let off."""
    start = Snapshot({"t.csv": Entry("file", content=TABLE)})
    (template,) = templates([(("true",), {})])
    x = Expectation(
        start, Snapshot({"t.csv": Entry("file", content=b'k,name\n1,a"b\n')}), frozenset(), "7\n", True, (0,), (True,)
    )
    g = grammar("t", {}, template, replace(x, tree=start))
    post = Snapshot({"t.csv": Entry("file", content=b'k,name\n1,"a""b"\n')})
    context = SimpleNamespace(judge=Judge(False, "output"))
    ends = (Returned({"ok": True, "output": "7"}), Returned({"ok": True, "output": "0"}), Raised("ValueError", "no"))
    right = [right_but_for_quotes(context, g, x, ReplayRecord(end, (), post, "exited")) for end in ends]  # type: ignore[arg-type]
    assert right == [True, False, False]


@pytest.mark.parametrize(
    ("recorded", "made", "excused"),
    [
        ({"out/a": b"x"}, {}, True),
        ({"out/": b""}, {}, False),
        ({"out/a": b"x"}, {"out/": b"", "other": b""}, False),
        ({"out/a": b"x"}, {"out/a": b"x"}, False),
    ],
)
def test_an_empty_directory_need_not_be_made(recorded: dict[str, bytes], made: dict[str, bytes], excused: bool) -> None:
    """The commands make it before they know that nothing goes into it; a recording of which that is the effect wants it."""
    start, (template,) = Snapshot({"in": Entry("file")}), templates([(("true",), {})])
    wanted, end, before = (filled(start, files) for files in ({"out/": b""}, made, recorded))
    x = Expectation(start, wanted, frozenset(), "", False, (0,), (True,))
    g = grammar("t", {}, template, replace(x, tree=before))
    record = ReplayRecord(Returned({"ok": True}), (), end, "exited")
    trial = Trial(g, Plan(), World("t", start, {}, ("true",), frozenset()))
    assert makes_no_empty_directory(trial, Case("c", {}, x, "t"), record) is excused


def filled(start: Snapshot, files: dict[str, bytes]) -> Snapshot:
    """A start with files, and the directories above them, or with an empty directory (``out/``)."""
    tree = dict(start.items())
    for path, content in files.items():
        above, _, name = path.rpartition("/")
        if above:
            tree[above] = Entry("dir", 0o755)
        if name:
            tree[path] = Entry("file", content=content)
    return Snapshot(tree)
