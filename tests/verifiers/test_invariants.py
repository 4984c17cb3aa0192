"""Invariants: what all recorded starts have in common is found, kept, and told."""

from __future__ import annotations

import io
import tarfile
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot
from verifiers.worlds.invariants.facts import KINDS, Start, learn, role
from verifiers.worlds.invariants.kind import has_lines
from verifiers.worlds.invariants.unique import renamed
from verifiers.worlds.invariants.xml_shape import XmlShape
from verifiers.worlds.opaque import STRUCTURE

TEXTS = st.lists(
    st.lists(st.text(alphabet='ab1,;:= \t@+{}"[]', max_size=8), max_size=8).map(lambda rows: "".join(f"{r}\n" for r in rows)),
    min_size=2,
    max_size=4,
)


def packed(*names: str) -> str:
    """The text of a tar archive with these members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    return out.getvalue().decode("utf-8", "surrogateescape")


HOLDS = [
    ("ended-lines", ["a\n", "b\n"], "c\n", "c"),
    ("filled-files", ["a", "b"], "c", "\n"),
    ("no-blank-lines", ["a\nb\n", "c\nd\n"], "x\ny\n", "x\n\ny\n"),
    ("no-blanks-around-lines", ["a\nb\n", "c\nd e\n"], "x y\n", " x\n"),
    ("equal-columns", ["a,b\nc,d\n", "e,f\ng,h\n"], "x,y\n", "x,y,z\n"),
    ("equal-columns", ["a\nb\n", "c\nd\n"], "x\n", "x y\n"),
    ("whole-records", ["@a\nAC\n+\nII\n@b\nGT\n+\nII\n", "@c\nTT\n+\nII\n"], "@x\nA\n+\nI\n", "@x\nA\n+\n"),
    ("unique-keys", ["1,a\n2,b\n3,c\n", "1,x\n2,a\n"], "7,q\n8,q\n", "7,q\n7,r\n"),
    ("unique-keys", ["a,1\na,2\nb,1\n", "c,1\nc,2\n"], "x,1\nx,2\n", "x,1\nx,1\n"),
    ("unique-keys", ["a\nb\nc\n", "d\ne\n"], "x\ny\n", "x\nx\n"),
    ("section-keys", ["[a]\nk=1\nl=2\n[b]\nk=3\nl=4\n", "k: 1\nl: 2\n\nk: 3\n"], "[c]\nk=1\n\nk=2\n", "[c]\nk=1\nk=2\n"),
    ("members-once", [packed("a", "b"), packed("a"), "no archive"], packed("c", "d"), packed("c", "c")),
    ("sorted-lines", ["a\nb\nc\nd\n", "e\nf\ng\nh\n"], "x\ny\n", "y\nx\n"),
    ("same-first-line", ["id\n1\n", "id\n2\n3\n"], "id\n9\n", "9\nid\n"),
    ("same-first-line", ["---\na\n---\n", "---\nb\n---\nc\n"], "---\nx\n---\n", "a\n---\n---\n"),
    ("delimiters", ["---\na\n---\n", "---\nb\nc\n---\n", "---\nd\n---\n"], "---\nx\n---\n", "---\nx\n"),
    ("delimiters", ["---\na\n---\n", "b\nc\n", "---\nd\n---\ne\n"], "x\n", "---\nx\n"),
    ("equal-marks", ['a "b"\nc "d"\ne "f"\n', 'g "h"\ni "j"\n'], 'x "y"\n', "x y\n"),
    ("digits-of-times", ["at 00:01:02,500 to 00:01:04,000\n" * 3], "at 10:00:00,000\n", "at 00:01:02,5\n"),
    ("digits-of-times", ["2024-01-02 1.2.3\n2024-11-12 10.2.3\n" * 3], "2025-03-04 1.10.3\n", "2024-1-2 1.2.3\n"),
    (
        "heads-once",
        ["a {\n b\n}\nc {\n d\n}\n", "e {\n b\n}\nf {\n b\n}\n"],
        "x {\n y\n}\ny {\n y\n}\n",
        "x {\n y\n}\nx {\n y\n}\n",
    ),
    (
        "tagged-keys",
        ["#K 1 a\n#K 2 b\n#I 0 1\n#I 0 2\n", "#K 3 a\n#K 4 a\n#K 5 b\n"],
        "#K 8 x\n#K 9 x\n#I 0 8\n",
        "#K 8 x\n#K 8 y\n",
    ),
    ("xml", ["<?xml version='1.0'?>\n<a/>\n", "<a>x</a>"], "<a><b/></a>", "<a><b></a>"),
    ("xml", ["<a/>", "<a>x</a>"], "<a b='c'/>", "<b/>"),
    ("capitals", ["GET /a\nPOST /b\n", "GET /c\n- /d\nPUT /e\n"], "HEAD /x\n", "Head /x\n"),
    ("capitals", ["1,USD,x\n2,EUR,Y\n" * 2], "3,gbp,z\n".upper(), "3,gbp,z\n"),
    ("continued-lines", ["a \\\n  b\nc\n", "d\n"], "x \\\n y\n", "x \\\ny\n"),
    ("line-ends", ["a\nb\n", "c\n"], "x\n", "x\r\n"),
    ("json", ['{"a": 1}', '{"a": 2}'], '{"a": 3}', '{"a": "x"}'),
    ("json", ['{"a": 1}', '{"b": 2}'], '{"c": []}', "{"),
    ("json", ['{"a": 1}', '{"b": 2}'], '{"c": []}', '{"c": [], "c": 1}'),
    ("json", ['{"a": 1}\n{"a": 2}\n', '{"a": 3}\n'], '{"a": 4}\n\n[5]\n', '{"a": 4}\n{"a": "\v"}\n'),
    ("json", ['{"a": 1, "b": 2}', '{"a": []}'], '{"a": null}', '{"a a": 1}'),
    ("yaml", ["a:\n  b: 1\n", "a: [x]\nc: 1\n"], "a: {}\n", "a:\n  b: 1\n two words\n"),
    ("yaml", ["a:\n  b: 1\n", "a: [x]\n"], "a: {x: 1}\n", "b: {x: 1}\n"),
    ("yaml", ["a: &k\n  b: *k\n", "a:\n- 1\n"], "a: {x: 1}\n", "a: {x: 1, x: 2}\n"),
    ("toml", ["[a]\nb = 1\n", "[a.c]\nb = [\n 2,\n]\n"], "a = {x = 1}\n", "[b]\nc = 1\n"),
    ("toml", ["[a]\nb = 1\n", "[c]\n"], "[d]\ne = 'x'\n", "[d]\ne = x\n"),
    ("toml", ["[a]\nb = 1\n"], "[d]\n", "x = [1]\n"),
    ("ini", ["[a]\nb\n", "[a]\nc: 1\n d\n[e]\nf=%(x\n"], "[a]\n", "a=1\n[a]\n"),
    ("ini", ["[a]\nb = 1\n", "[c]\nd\n"], "[d]\nb = 2\n", "[d]\nb = 2\nb = 3\n"),
    ("ini", ["[a]\nb = 1\n"], "[d]\nb = 2\n", "[1, 2]\n"),
    ("ini", ["[a]\nb\n"], "[d]\nb\n", "[d]\nb\n goes on\n"),
    ("numeric-columns", ["n,v\na,1\nb,2\n", "n,v\nc,3\nd,4\n"], "n,v\nx,9\n", "n,v\nx,y\n"),
    ("text-in-utf-8", ["a", "é"], "ü", "\udcff"),
    ("plain-characters", ["alpha", "Beta", "a.b"], "gamma.x", "a b"),
    ("plain-characters", ["alpha", "beta"], "gamma", "-gamma"),
    ("names-of-one-build", ["v1.2", "v1.10", "v2.0", "v3.1"], "v4.4", "notes.txt"),
    ("same-kind-of-value", ["7", "12"], "300", "007"),
    ("same-kind-of-value", ["644", "0755"], "0600", "999"),
]


@pytest.mark.parametrize(("name", "seen", "right", "wrong"), HOLDS)
def test_what_holds_is_found_and_what_breaks_it_is_seen(name: str, seen: list[str], right: str, wrong: str) -> None:
    kind = next(k for k in KINDS if k.name == name)
    lesson = kind.learn(seen)
    assert lesson is not None
    assert lesson.count > 0
    assert kind.holds(lesson.value, right)
    assert not kind.holds(lesson.value, wrong)
    assert kind.says(lesson.value)


def test_every_kind_has_an_example() -> None:
    assert {k.name for k in KINDS} == {name for name, *_ in HOLDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
@given(seen=TEXTS, other=TEXTS)
def test_what_is_learned_holds_where_it_was_learned(kind, seen: list[str], other: list[str]) -> None:
    lesson = kind.learn(seen)
    if lesson is None:
        return
    assert all(kind.holds(lesson.value, text) for text in seen)
    for text in other:
        again = kind.keep(lesson.value, text, Random(1))
        assert again == kind.keep(lesson.value, text, Random(1))
        if kind.holds(lesson.value, text):
            assert kind.holds(lesson.value, again)


def test_too_little_says_nothing() -> None:
    assert all(kind.learn([]) is None for kind in KINDS)
    accident = next(k for k in KINDS if k.name == "sorted-lines")
    assert accident.learn(["a\nb\n", "c\nd\n"]) is None


def test_a_repeated_key_becomes_another_where_keys_are_unique() -> None:
    unique = next(k for k in KINDS if k.name == "unique-keys")
    assert unique.holds(((0,),), unique.keep(((0,),), "ab,1\nab,1\n", Random(0)))


def test_remarks_have_no_keys() -> None:
    """A table is one although remarks stand in it, and these may come again."""
    unique = next(k for k in KINDS if k.name == "unique-keys")
    lesson = unique.learn(["# see x\na,1\n# see x\nb,2\n", "c,1\nd,2\ne,3\n"])
    assert lesson is not None
    assert lesson.value == ((0,),)
    kept = unique.keep(((0,),), "# see x\nab,1\n# see x\nab,2\n", Random(0))
    assert kept.startswith("# see x\nab,1\n# see x\nab")
    assert unique.holds(((0,),), kept)


def test_a_digit_alone_is_changed_last() -> None:
    """It may be a code of one column."""
    assert renamed("=650  \\0$aBridges", Random(0)).startswith("=")
    assert renamed("\\0$aBridges", Random(0)).startswith("\\0$aBridges")
    assert renamed("0;1", Random(0)) != "0;1"


def start(files: dict[str, str], **args: str) -> Start:
    return Start(Snapshot({p: Entry("file", 0o644, text.encode()) for p, text in files.items()}), args)


def test_files_are_known_by_what_they_are_to_the_task() -> None:
    args = {"source": "in", "list": "todo.txt", "ext": "csv"}
    common = frozenset({"that `list` names", "`keys` in the directory that `source` names"})
    assert role("todo.txt", args, common) == "the file that `list` names"
    assert role("in/keys", args, common) == "the file `keys` in the directory that `source` names"
    assert role("a.csv", args, common) == "each file whose ending `ext` names"
    assert role("a.md", args, common) == "each .md file"


def test_a_start_like_the_recorded_ones_breaks_nothing() -> None:
    recorded = [start({"a.csv": "x,1\ny,2\n"}, file="a.csv"), start({"b.csv": "z,3\nw,4\nv,5\n"}, file="b.csv")]
    facts = learn(recorded)
    assert not facts.broken(start({"c.csv": "k,7\nl,8\n"}, file="c.csv"), recorded[0])
    found = facts.broken(start({"c.csv": "k,7\nl\n"}, file="c.csv"), recorded[0])
    assert {f.kind.name for f in found} == {"equal-columns", "numeric-columns"}
    assert all("`file` names" in f.sentence for f in found)


def test_a_start_is_made_to_keep_what_holds() -> None:
    recorded = [start({"a": "b\nc\nd\n"}, file="a"), start({"e": "f\ng\n"}, file="e")]
    facts = learn(recorded)
    kept = facts.kept(start({"a": "b\n\n x \nb"}, file="a"), recorded[0], Random(0))
    rows = kept["a"].content.decode().split("\n")
    assert rows[-1] == ""
    assert all(row == row.strip() != "" for row in rows[:-1])
    assert len(set(rows)) == len(rows)


def test_records_are_known_by_their_first_line() -> None:
    recorded = [start({"r": "@a\nAC\n+\nII\n" * 1 + "@b\nAC\n+\nII\n"}, file="r"), start({"s": "@c\nAA\n+\nII\n"}, file="s")]
    assert learn(recorded).record_lines(recorded[0], "r") == 4
    assert learn(recorded).record_lines(recorded[0], "other") == 1


def test_what_parts_a_file_is_among_the_kinds() -> None:
    """A name that no kind has would let nothing off."""
    assert {k.name for k in KINDS} > STRUCTURE


def test_text_of_an_older_encoding_has_lines_too() -> None:
    """Bytes of an image have none."""
    old = Entry("file", content="k: für\nl: größe\n".encode("cp437"))
    (fact,) = [
        f for f in learn([Start(Snapshot({"a": old}), {}), Start(Snapshot({"a": old}), {})]).found if f.kind.name == "ended-lines"
    ]
    assert fact.count == 2
    assert has_lines("abcdef\udc81gh")
    assert not has_lines("\udc89PNG\r\n\x1a\n")
    assert not has_lines("\udcff\udcfe\udc80abc")


@pytest.mark.parametrize("mark", ["sgf", "xml{customer}%s%41"])
def test_a_declaration_gets_its_name_back(mark: str) -> None:
    """Whatever was put in the place of the word that the file's ending is too."""
    kind = XmlShape()
    lesson = kind.learn(["<?xml version='1.0'?>\n<a/>\n", "<?xml version='1.0'?>\n<a>x</a>"])
    assert lesson is not None
    assert kind.keep(lesson.value, f"<?{mark} version='1.0'?>\n<a/>\n", Random(1)) == "<?xml version='1.0'?>\n<a/>\n"
    parts = f"<?xml ver{mark}='1.0' en{mark}='UTF-8' {mark}='yes'?>\n<a b='1.0'/>\n"
    kept = kind.keep(lesson.value, parts, Random(1))
    assert kept == "<?xml version='1.0' encoding='UTF-8' standalone='yes'?>\n<a b='1.0'/>\n"
