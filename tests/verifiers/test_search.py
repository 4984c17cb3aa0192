"""Invented starts: what is made of a recorded one, and what counts as harm there."""

from __future__ import annotations

import io
import tarfile
import zipfile
from dataclasses import replace
from itertools import islice
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, ReplayRecord, Snapshot
from verifiers.context import Case
from verifiers.expectation.oracle import Expectation
from verifiers.search.brackets import in_brackets, pairs
from verifiers.search.forced import opened
from verifiers.search.members import ESCAPED, archives
from verifiers.search.mutate import folded, from_arguments, from_constants
from verifiers.search.search import _in_lanes, _parted
from verifiers.search.states import Start, half_done, paths_of, recorded, states
from verifiers.search.task_lines import _signs, in_lines_of_the_task
from verifiers.source.branches import watched
from verifiers.source.places import Condition
from verifiers.source.statements import Statement


def case(base: dict[str, Entry], end: dict[str, Entry], **args: str) -> Case:
    x = Expectation(Snapshot(base), Snapshot(end), frozenset(), "", True, (0,), (True,))
    return Case("trace t", dict(args), x, "t")


FILE = Entry("file", content=b"one\ntwo\n")
START = recorded(case({"a.txt": FILE}, {"a.txt": FILE, "b.txt": FILE}, old="a", new="b"))


def test_a_path_is_made_each_kind_of_thing() -> None:
    """Missing, unreadable, empty, other, a directory, a link to a file, a link to nothing."""
    made = {s.how: s.base for s in states(START, ["a.txt"])}
    assert "a.txt" not in made["a.txt is missing"]
    assert made["a.txt cannot be read"]["a.txt"].mode == 0
    assert made["a.txt is an empty directory"]["a.txt"].type == "dir"
    assert made["a.txt is a link to a file"]["a.txt.real"] == FILE
    assert made["a.txt is a link to nothing"]["a.txt"].target == "nowhere"


def test_a_text_may_lack_any_of_its_parts() -> None:
    """A word, a line, an element; and names have twins of which the digits are no date."""
    base = {"2023-04-17.xml": Entry("file", content=b"<a>\n<n>1</n>\n</a>\n")}
    made = {s.how: s.base for s in states(recorded(case(base, base)), ["2023-04-17.xml"])}
    held = {tree["2023-04-17.xml"].content for tree in made.values() if "2023-04-17.xml" in tree}
    assert {b"<a>\n<n></n>\n</a>\n", b"<a>\n\n</a>\n", b"<a>\n</a>\n"} <= held
    assert {"9999-99-99.xml", "xxxx-xx-xx.xml"} <= {p for tree in made.values() for p in tree}


def test_a_text_may_end_with_a_line_that_the_task_changes() -> None:
    """However far down it stands, and without an end."""
    rows = [b"%d\n" % n for n in range(30)]
    base, end = ({"a": Entry("file", content=b"".join(r))} for r in (rows, [*rows[:20], b"x\n", *rows[21:]]))
    held = {s.base["a"].content for s in states(recorded(case(base, end)), ["a"]) if "a" in s.base}
    assert b"".join(rows[:21]).removesuffix(b"\n") in held


def test_half_done_states_mix_start_and_end() -> None:
    """One path of the end in the start, the whole end, and the end with one path as it was."""
    assert [("b.txt" in s.base, s.how) for s in half_done(START)] == [
        (True, "b.txt is already as in the end"),
        (True, "all is as in the end"),
        (False, "all is as in the end, but b.txt as in the start"),
        (True, "all is as in the end, but b.txt has another mode"),
    ]


def test_a_start_on_which_the_skill_parted_is_tried() -> None:
    """With what is other than recorded: that is nobody's to change but who is told to."""
    recorded_case = case({"a.txt": FILE, "c.txt": FILE}, {"b.txt": FILE}, old="a")
    x = replace(recorded_case.expectation, base=Snapshot({"a.txt": FILE, "d": FILE}))
    other = Case("generated case 3", {"old": "x"}, x, "t")
    (start,) = _parted(SimpleNamespace(cases=[recorded_case], parted=[other]))
    assert (start.case, start.args, start.how) == (recorded_case, {"old": "x"}, "generated case 3")
    assert start.placed == {"d"}


@pytest.mark.parametrize(
    ("text", "numbers"), [("x = 1024 * 1024", [1024, 1 << 20]), ("x = 1 << 10", [10, 1024]), ("x = 2 ** 10 ** 9", [2, 9, 10])]
)
def test_constants_are_folded(text: str, numbers: list[int]) -> None:
    """What a text works out from constants is a constant; what would take too long is not worked out."""
    assert set(numbers) <= set(folded(text)[0])


def test_words_are_put_as_names_and_contents() -> None:
    """A word of the skill's text becomes a file's name and part of a content; a number becomes a size and a count."""
    source = "def f():\n    'Docs.'\n    return 'sal' + 'ary' if n > 40 else 0\n"
    made = list(from_constants(START, source, Random(1)))
    assert any("salary.txt" in s.base for s in made)
    assert any(s.base["a.txt"].content.startswith(b"salary\n") for s in made)
    assert any(len(s.base["a.txt"].content) == 41 for s in made)
    assert any(len(s.base) > 300 for s in made)
    assert not any("Docs." in s.how for s in made)
    told = [s.how for s in from_constants(START, "def f():\n    return ['ab', ';']\n", Random(1), first=[";"])]
    assert next(how for how in told if "';'" in how or "'ab'" in how) == "a.txt ends in ';'"


def test_arguments_meet_each_other() -> None:
    """One text comes to lie within another: where a second run of a replacement differs from the first."""
    made = [s.args for s in from_arguments(START, [])]
    assert {"old": "a", "new": "ab"} in made
    # Each argument has its turn: a budget that ends early has tried all of them, and equal ones first.
    assert {"old": "b", "new": "b"} in made[:3]
    assert {"old": "a", "new": "a"} in made[:3]


def test_lines_of_the_task_come_again() -> None:
    """What it changes, and what says an argument: with a sign of the skill's in the longest word, behind one, without a mark."""
    base = {"a": Entry("file", content=b"top\nport: 80\nweb = yes\n")}
    end = {"a": Entry("file", content=b"top\nport: 81\nweb = yes\n")}
    ways = in_lines_of_the_task(recorded(case(base, end, service="web")), 'def f(x):\n    return "#" in x\n')
    changed, saying = ({s.base["a"].content for s in way} for way in ways)
    assert {b"top\nport: 80\npo#rt: 80\nweb = yes\n", b"top\n#port: 80\nport: 80\nweb = yes\n"} <= changed
    assert b"top\nport: 80\nport 80\nweb = yes\n" in changed
    assert b"top\nport: 80\nweb = yes\nweb  yes\n" in saying
    assert not changed & saying
    assert b"top\nport: 80\nweb = yes\nweb # yes\n" in saying  # in the place of a field


def test_brackets_are_written_otherwise() -> None:
    base = Snapshot({"a": Entry("file", content=b'x = {"[": 1}\nk = ["a", "b"]\nl = (it\'s)\n')})
    end = Snapshot({"a": Entry("file", content=b'x = {"[": 1}\nk = ["a", "b", "c"]\nl = (it\'s)\n')})
    made = [s.base["a"].content.split(b"\nk = ")[1].partition(b"\nl")[0] for s in in_brackets(recorded(case(base, end)))]
    assert [m for m in made if m != b'["a", "b"]'] == [b"[]", b'["a", "b",]', b'[\n    "a",\n    "b"\n]', b'["a"]']


def test_brackets_are_met_where_an_argument_is_said() -> None:
    base = Snapshot({"a": Entry("file", content=b"f(p)\ng(web)\n"), "b": Entry("file", content=b"(x)\n")})
    made = [s.base["a"].content for s in in_brackets(recorded(case(base, base, name="web")))]
    assert b"f(p)\ng()\n" in made


@given(st.binary(max_size=80))
def test_brackets_that_belong_together_hold_no_other_half(text: bytes) -> None:
    for begin, end in pairs(text):
        assert text[begin - 1 : begin] + text[end : end + 1] in (b"[]", b"()", b"{}")


def test_signs_come_within_quotes_of_the_line_that_says_most() -> None:
    tree = {"a": Entry("file", content=b'# web\nm{l="web",k="abcd"} 1\n')}
    _, saying = in_lines_of_the_task(recorded(case(tree, tree, name="web", metric="m{")), "def f(x):\n    return '%' in x\n")
    made = [s.base["a"].content for s in islice(saying, 30)]
    assert b'# web\nm{l="web",k="abcd"} 1\nm{l="w%eb",k="abcd"} 1\n' in made
    assert made[0].startswith(b'# web\nm{l="web",k="abcd"} 1\nm{l')


def test_signs_come_about_all_fields_that_say_an_argument() -> None:
    """As paths of a header are quoted, both."""
    tree = {"a": Entry("file", content=b"diff a/x b/x\n")}
    _, saying = in_lines_of_the_task(recorded(case(tree, tree, name="/x")), "def f(x):\n    return '\"' in x\n")
    assert b'diff a/x b/x\ndiff "a/x" "b/x"\n' in {s.base["a"].content for s in saying}


def test_texts_of_conditions_come_first() -> None:
    """Those in them, those that their names were given, and what patterns among these match; an encoding is no text."""
    source = (
        "import re\nTIME = re.compile(r'\\\\([0-7]{3})')\n\n\ndef f(row):\n    more = row.endswith('~')\n"
        "    row = row.encode('latin-1')\n    if more and '#' not in row:\n        return TIME.sub(g, row)\n    return 'zz'\n"
    )
    wanted = [Statement(9, 9, "return TIME.sub(g, row)", line=9, conditions=(Condition("if more and '#' not in row", 9, 9),))]
    first, others = _signs(source, wanted)
    assert first[:2] == ["#", "~"]
    assert "\\777" in first
    assert "zz" in others
    assert "latin-1" not in [*first, *others]


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("return", True),
        ("return -1", True),
        ("return b''", True),
        ("return None", True),
        ("return []", True),
        ("return len(lines)", True),
        ("return 1", False),
        ("return [0]", False),
        ("return len(f(x))", False),
        ("raise ValueError", False),
        ("x = -1", False),
        ("return f(x) if x else None", True),
        ("return f(x) if x else lines", False),
    ],
)
def test_what_gives_nothing(text: str, nothing: bool) -> None:
    """A helper's way to say that there is none, as a statement or in a branch of an expression."""
    copy = watched(f"def f(x, lines):\n    if x:\n        {text}\n    return 7\n")
    assert any(s.gives_nothing for s in copy.statements) is nothing


def test_an_archive_gets_unusual_members() -> None:
    """Directories, names that lead out, links, twice the same, none at all."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("a", b"x")
    made = list(archives(recorded(case({"x.zip": Entry("file", content=out.getvalue())}, {}))))
    names = [zipfile.ZipFile(io.BytesIO(s.base["x.zip"].content)).namelist() for s in made]
    assert f"../{ESCAPED}" in [n for found in names for n in found]
    assert [] in names
    assert ["a/"] in names
    assert all(s.forbidden == {ESCAPED} for s in made[:-3])


def test_members_are_called_as_the_skill_s_own_texts() -> None:
    """Below a folder of that name, and with it before their own: what is there comes too."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("in/page1.jpg", b"one")
    made = list(archives(recorded(case({"x.zip": Entry("file", content=out.getvalue())}, {})), ["__MACOSX", ".", "\udcff"]))
    names = [set(zipfile.ZipFile(io.BytesIO(s.base["x.zip"].content)).namelist()) for s in made]
    assert {"__MACOSX/page1.jpg", "__MACOSXpage1.jpg", "in/page1.jpg"} in names
    assert {"./page1.jpg", ".page1.jpg", "in/page1.jpg"} in names


def test_a_tar_gets_them_too() -> None:
    """Packed as it was."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        t.addfile(tarfile.TarInfo("a"))
    made = list(archives(recorded(case({"x.tgz": Entry("file", content=out.getvalue())}, {}))))
    with tarfile.open(fileobj=io.BytesIO(made[0].base["x.tgz"].content), mode="r:gz") as t:
        assert [m.name for m in t] == ["a", "extra-dir"]


@given(st.binary(max_size=400).map(lambda b: b"PK\x03\x04" + b) | st.binary(max_size=400).map(lambda b: b"\x1f\x8b" + b))
def test_what_only_looks_like_an_archive_is_left(data: bytes) -> None:
    """Whatever the bytes are, starts are made or not, and nothing is raised."""
    list(archives(recorded(case({"x": Entry("file", content=data)}, {}))))


def test_paths_that_matter_are_those_inside() -> None:
    """Git's own and what lies outside are left alone."""
    record = ReplayRecord(None, (), Snapshot({}), "exited")
    found = paths_of(case({"a": FILE}, {"a": FILE, "b": FILE}, where="sub/x", out="../y", absolute="/etc"), record)
    assert found == ["b", "sub/x"]


def test_a_start_below_a_file_is_not_made() -> None:
    """A path whose parent is a file cannot be anything."""
    start: Start = replace(START)
    assert start.changed({"a.txt/below": FILE}, "no") is None


FORCED = """def f(a, b, row):
    if a > b:
        if b:
            a = b
        else:
            b = a
    c = (a if b > a else b) or 7
    d = b if a > 9 else a + 1
    e = b if a == "word" else a + 2
    f = b if row["total"] else a + 4
    rest = b % 31
    g = b if rest else a + 3
    return [x for x in range(c + d + e + f + g) if x > 99]
"""


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("a = b", ["[a > b, True][1]", "[b, True][1]"]),
        ("b = a", ["[a > b, True][1]", "[b, False][1]"]),
        ("a (a branch", ["[b > a, True][1]"]),
        ("b (a branch", ["[b > a, False][1]"]),
        ("return [", []),
        ("a + 1 (a branch", []),
        ("a + 2 (a branch", []),
        ("a + 3 (a branch", []),
        ("a + 4 (a branch", ["[row['total'], False][1]"]),
    ],
)
def test_a_branch_is_taken_by_force(text: str, tests: list[str]) -> None:
    """Every test on the way comes out as it must; lines stay where they are; a statement that always runs needs no force,
    and a test that may single out a rare start is not opened."""
    copy = watched(FORCED)
    statement = next(s for s in copy.statements if s.text.startswith(text))
    source = opened(copy.source, statement)
    assert (source is None) is (not tests)
    if source is not None:
        assert all(t in source for t in tests)
        assert source.count("\n") == copy.source.count("\n")


def test_what_a_run_showed_is_changed_even_where_all_else_was_tried() -> None:
    """Lanes may be filled again once they were empty, and nothing of them is lost between two batches."""
    lanes = [iter("abcd"), iter("")]
    assert list(islice(_in_lanes(lanes), 2)) == ["a", "b"]
    assert list(_in_lanes(lanes)) == ["c", "d"]
    lanes[1] = iter("xyz")
    assert list(_in_lanes(lanes)) == ["x", "y", "z"]
    lanes[:] = [iter("abcdef"), iter("xy")]
    assert "".join(_in_lanes(lanes)) == "abcxdefy"
