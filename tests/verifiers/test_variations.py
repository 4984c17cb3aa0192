"""Every variation on its own examples, and what holds for all of them and for all plans."""

from __future__ import annotations

import io
import re
import sqlite3
import zipfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Args
from verifiers.worlds.catalog import CATALOG
from verifiers.worlds.constants import Constants
from verifiers.worlds.draft import Draft
from verifiers.worlds.draw import smaller
from verifiers.worlds.grammar import Grammar, grammar
from verifiers.worlds.hostile import patterns
from verifiers.worlds.matchers import _telling
from verifiers.worlds.names import numbered
from verifiers.worlds.past import Failing, Past
from verifiers.worlds.plans import Plan, dealt, plans, systematic
from verifiers.worlds.records import decoded, encoded, put
from verifiers.worlds.template import templates
from verifiers.worlds.tokens import DATE, all_text, is_real
from verifiers.worlds.trials import Evidenced
from verifiers.worlds.variation import Example, Rule, Said, Stage, Step
from verifiers.worlds.variations import drop, json_values, more_parts, rename, said_elsewhere, unordered
from verifiers.worlds.variations.figures import misread
from verifiers.worlds.variations.lines import twice
from verifiers.worlds.variations.near import compared, joint, literals, spoken
from verifiers.worlds.variations.odd_line import LINES
from verifiers.worlds.variations.second_item import lists
from verifiers.worlds.variations.years import earlier
from verifiers.worlds.world import realise


def tree(files: Mapping[str, str]) -> Snapshot:
    return Snapshot({p.rstrip("/"): entry(p, content) for p, content in files.items()})


def entry(path: str, content: str) -> Entry:
    if path.endswith("/"):
        return Entry("dir", 0o755)
    if content.startswith("-> "):
        return Entry("symlink", 0o777, target=content[3:])
    return Entry("file", 0o644, encoded(content))


def of_example(e: Example) -> Grammar:
    x = Expectation(tree(e.before), tree({**e.before, **e.made}), frozenset(), "", True, (0,), (True,))
    g = grammar("t", e.args, templates([((e.commands,), e.args)])[0], x, Constants(words=e.words, texts=e.texts))
    return replace(g, formal=tuple(w for w in g.free if w in e.words))


def shown(base: Snapshot) -> list[tuple[str, str]]:
    """As examples show it."""
    found = {
        p + "/" * (e.type == "dir"): f"-> {e.target}" if e.target else decoded(e.content) for p, e in base.items() if p != ROOT
    }
    return sorted(found.items())


def like(expected: tuple[str, str], found: tuple[str, str]) -> bool:
    pattern = re.escape("\0".join(expected)).replace("…", "[A-Za-z0-9]+")
    return re.fullmatch(pattern, "\0".join(found)) is not None


@pytest.mark.parametrize(
    ("name", "example"), [pytest.param(v.name, e, id=f"{v.name}: {e.choice}") for v in CATALOG.values() for e in v.examples]
)
def test_an_example_becomes_what_it_says(name: str, example: Example) -> None:
    """Each path of the new start is one that the example has, and the other way round."""
    g = of_example(example)
    assert example.choice in CATALOG[name].choices(g)
    world = realise(g, Plan((Step(name, example.choice),)))
    assert world is not None
    found = shown(world.base)
    assert len(found) == len(example.after), found
    assert all(any(like(e, f) for f in found) for e in example.after.items()), found
    assert all(any(like(e, f) for e in example.after.items()) for f in found), found


@pytest.mark.parametrize("name", CATALOG)
def test_a_variation_says_what_it_is(name: str) -> None:
    """One sentence, and an example; contents are edited in their own stage."""
    v = CATALOG[name]
    assert re.fullmatch(r"[A-Z][^.]*\.", v.why)
    assert 1 <= len(v.examples) <= 3
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)


TEXT = st.sampled_from(
    ["", "one\n", "one Two 3\nfoo,4\n", "[1, 2,\n 3]\n", "foo x\nbar\nfoo", '{"a": [1, "foo"]}', "\udcff\0", "foo " + "x" * 300]
)
NAME = st.sampled_from(["a.txt", "foo.txt", "d/a.b.txt", "d/foo", "p1", "p2", "x y-z.tar.gz", "é", ".h.txt", "out/deep/r"])


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    """Of any small trace."""
    files = draw(st.dictionaries(NAME, TEXT, max_size=5))
    made = draw(st.dictionaries(NAME, TEXT, max_size=2))

    def snapshot(found: Mapping[str, str]) -> Snapshot:
        above = {p.rpartition("/")[0] for p in found} | {p.split("/")[0] for p in found if "/" in p}
        entries = {p: Entry("file", 0o644, c.encode("utf-8", "surrogateescape")) for p, c in found.items()}
        return Snapshot({p: Entry("dir", 0o755) for p in above if p} | entries)

    base = snapshot(files)
    args: Args = draw(st.sampled_from([{}, {"w": "foo"}, {"w": "foo", "n": 12}, {"e": "txt", "w": "d"}]))
    commands = (" ".join(["ls", *map(str, args.values())]),)
    words = draw(st.sampled_from([Constants(), Constants((40,), ("own", "foo"))]))
    x = Expectation(base, base.replace(dict(snapshot({**files, **made}))), frozenset(), "", True, (0,), (True,))
    return grammar("t", args, templates([(commands, args)])[0], x, words)


@st.composite
def grammars_and_plans(draw: st.DrawFn) -> tuple[Grammar, Plan]:
    g = draw(grammars())
    every = systematic(g)
    return g, draw(st.one_of(plans(g), st.sampled_from(every)) if every else plans(g))


@given(grammars_and_plans())
def test_a_plan_fits_its_trace_and_is_realised_the_same_way_twice(found: tuple[Grammar, Plan]) -> None:
    """Drawn and systematic ones; nothing is raised."""
    g, plan = found
    assert plan.fits(g)
    assert realise(g, plan) == realise(g, plan)


def test_no_start_has_a_name_that_no_file_system_takes() -> None:
    """A word of a content may be as long as it likes; as part of a name it may not."""
    g = of_example(Example((), {"wing.txt": "x" * 300}, {}, {}, "ls"))
    worlds = [realise(g, Plan((Step("alike", choice),))) for choice in CATALOG["alike"].choices(g)]
    assert None in worlds
    assert all(len(name) <= 255 for w in worlds if w is not None for path in w.base for name in path.split("/"))


@given(grammars())
def test_choices_are_stable_and_each_can_be_applied(g: Grammar) -> None:
    """Alone, all choices of all variations."""
    for v in CATALOG.values():
        choices = list(v.choices(g))
        assert choices == list(v.choices(g))
        assert len(set(choices)) == len(choices)
        for choice in choices[:40]:
            realise(g, Plan((Step(v.name, choice),)))
            assert v.said(choice, [g]) in Said


@given(grammars())
def test_the_empty_plan_is_the_recorded_trace(g: Grammar) -> None:
    """Base, arguments and commands as they are, whatever the salt."""
    world = realise(g, Plan(salt=3))
    assert world is not None
    assert world.base == Snapshot({p: e for p, e in g.base.items() if p != ROOT})
    assert (world.args, world.commands, world.varied) == (g.args, g.template.commands, frozenset())


@given(grammars_and_plans())
def test_shrinking_only_removes(found: tuple[Grammar, Plan]) -> None:
    """And what is left fits."""
    g, plan = found
    for less in smaller(plan):
        assert len(less.steps) < len(plan.steps)
        assert set(less.steps) < set(plan.steps)
        assert less.salt == plan.salt
        assert less.fits(g)


@given(grammars_and_plans())
def test_what_is_left_out_changes_nothing_else(found: tuple[Grammar, Plan]) -> None:
    """The start without what is added has nothing that the start with it lacks."""
    g, plan = found
    added = (Rule.BYSTANDER, Rule.ITEM)
    less, more = realise(g, plan.without(*added)), realise(g, plan)
    if less is not None and more is not None and len(plan.without(*added).steps) == len(plan.steps) - 1:
        assert less.base.keys() <= more.base.keys()
        for p, e in less.base.items():
            assert len(more.base[p].content) >= len(e.content)


@given(grammars_and_plans())
def test_rules_take_steps_away(found: tuple[Grammar, Plan]) -> None:
    """What is without a rule has none of it; the other readings of a plan are parts of it."""
    g, plan = found
    for rule in Rule:
        assert not plan.without(rule).has(rule)
        assert (plan.without(rule) == plan) is not plan.has(rule)
    for part in (plan.held([g]), plan.usual([g])):
        assert set(part.steps) <= set(plan.steps)
    assert plan.held([g]).usual([g]) == plan.usual([g])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=grammars_and_plans())
def test_a_plan_comes_back_from_its_file(tmp_path: Path, found: tuple[Grammar, Plan]) -> None:
    """Names with any characters too."""
    past = Past(tmp_path, "skill")
    assert past.add(Failing("t", found[1]))
    assert past.failing()[0].plan == found[1]


def test_what_a_trace_does_not_allow_does_not_fit() -> None:
    """Unknown variations, choices of another trace, and the same step twice."""
    g = of_example(CATALOG["drop"].examples[0])
    step = Step("drop", ("a",))
    assert Plan((step,)).fits(g)
    assert not any(Plan(steps).fits(g) for steps in ((step, step), (Step("drop", ("c",)),), (Step("gone", ()),)))


def test_stages_go_in_order() -> None:
    """A renamed file is edited and copied under its new name, whatever the order of the steps."""
    example = CATALOG["rename"].examples[0]
    g = of_example(example)
    steps = (Step("copy", ("foo.txt", "")), Step("emptied", ("foo.txt",)), *rename.renamed(g))
    assert [CATALOG[s.variation].stage for s in steps] == [Stage.CHANGE, Stage.EDIT, Stage.RENAME]
    one, other = realise(g, Plan(steps)), realise(g, Plan(steps[::-1]))
    assert one is not None
    assert one == other
    assert not any("foo" in p for p in one.base)


def test_a_pattern_in_a_value_is_never_the_recorded_value() -> None:
    """``old_`` matches itself in SQL: that names something."""
    g = of_example(Example((), {"a": "old_ x\n"}, {}, {"w": "old_"}, "grep old_ a"))
    assert all(g.args not in (plain.args, odd.args) for plain, odd in patterns(g))
    assert {odd.payload for _, odd in patterns(g)} >= {"old", "old%"}


def test_a_pattern_stays_in_the_folder_of_the_value() -> None:
    """Else what is made for the folder tells the two apart."""
    g = of_example(Example((), {"a": "1\n"}, {}, {"to": "lists/jazz.tsv"}, "sort a > lists/jazz.tsv"))
    assert {odd.payload.rpartition("/")[0] for _, odd in patterns(g)} == {"lists"}


def test_what_begins_with_a_word_of_all_recordings_has_no_twin() -> None:
    """A heading is one; a record is not."""
    g = replace(of_example(Example((), {"a": "Parts list\nbolt 4\n"}, {})), common=frozenset({"Parts"}))
    world = realise(g, Plan((Step("twins", ("a",)),)))
    assert world is not None
    assert world.base["a"].content == b"Parts list\nbolt 4\nboltx 4\n"


def test_letters_of_a_digest_are_no_words() -> None:
    """Nor those of a key; a long word is one."""
    text = "f3a25aa93aa2fbba28d79260 harbour\nQJeXgsHabLmUpr7Z9k internationalisation\n"
    g = of_example(Example((), {"a": text}, {}))
    assert set(g.free_words) == {"harbour", "internationalisation"}


def test_a_word_of_the_form_stays_when_an_argument_that_says_it_is_renamed() -> None:
    """``git`` of ``diff --git`` stands in every patch, whatever they are called."""
    names = ("git", "sed", "awk")
    held = ({f"{x}.patch": f"diff --git a/{x}0 b\n"} for x in names)
    gs = [of_example(Example((), f, {}, {"patch": f"{x}.patch"}, f"cat {x}.patch")) for x, f in zip(names, held, strict=True)]
    evidenced = Evidenced.of([replace(g, task_id=str(n)) for n, g in enumerate(gs)])
    assert [{t for t, _ in g.bound} for g in evidenced.gs] == [{"patch"}, {"patch", "sed"}, {"patch", "awk"}]


def test_an_ending_stays_when_a_folder_is_called_so() -> None:
    """``sgf/*.sgf``: the other recordings say of the pattern that it is about files of one kind."""
    names = ("sgf", "archive", "games")
    gs = [of_example(Example((), {f"{x}/a.sgf": f"{n}\n"}, {}, {"folder": x}, f"cat {x}/*.sgf")) for n, x in enumerate(names)]
    evidenced = Evidenced.of([replace(g, task_id=str(n)) for n, g in enumerate(gs)])
    assert [{t for t, _ in g.bound} for g in evidenced.gs] == [set(), {"archive"}, {"games"}]


def test_a_start_breaks_one_thing_at_a_time() -> None:
    """An odd value in a file that is XML no more says nothing: the file as it should be, with that value, is tried."""
    texts = [f"<?xml version='1.0'?>\n<a xmlns='u'><b>{n} &amp; co</b></a>\n" for n in ("anna", "bert", "carl")]
    names = ("anna", "bert", "carl")
    gs = [
        of_example(Example((), {"f.xml": text}, {}, {"name": n, "file": "f.xml"}, f"grep {n} f.xml"))
        for n, text in zip(names, texts, strict=True)
    ]
    evidenced = Evidenced.of([replace(g, task_id=str(n)) for n, g in enumerate(gs)])
    g = evidenced.gs[0]
    plan = Plan((Step("rename", ("xml",)), Step("rename", ("amp",)), Step("value-marked", ("anna", "{}%s%41"))), 0)
    found = evidenced.trials(g, plan)
    assert len(found) == 1
    (content,) = [e.content for p, e in found[0].world.base.items() if p.startswith("f.")]
    assert content.startswith(b"<?xml version='1.0'?>\n<a xmlns='u'><b>anna")
    assert b" &amp; co<" in content


def test_what_is_no_text_varies_by_what_other_recordings_hold() -> None:
    """In pictures, say, nothing else can: a memoriser of the recordings would pass."""
    gs = [of_example(Example((), {"a.png": f"\0{n}", "b.txt": f"{n}\n"}, {})) for n in range(3)]
    evidenced = Evidenced.of([replace(g, task_id=str(n)) for n, g in enumerate(gs)])
    found = [p for p in systematic(evidenced.gs[0]) if p.steps[0].variation == "recorded-content"]
    worlds = [w for p in found if (w := realise(evidenced.gs[0], p)) is not None]
    assert sorted(w.base["a.png"].content for w in worlds) == [b"\x001", b"\x002"]


def test_git_keeps_its_own_files() -> None:
    """A pack is what its name says: another recording's in its place is no repository."""
    git = {".git/HEAD": "ref: x", ".git/refs/": "", ".git/objects/": ""}
    held = ({**git, f".git/objects/pack/{n}.pack": f"\0{n}", "a": f"{n}\n"} for n in range(3))
    evidenced = Evidenced.of([replace(of_example(Example((), files, {})), task_id=str(n)) for n, files in enumerate(held)])
    assert "recorded-content" not in {p.steps[0].variation for p in systematic(evidenced.gs[0])}


@pytest.mark.parametrize(("ending", "varies"), [("zip", True), ("db", False)])
def test_an_archive_is_exchanged_whole_and_a_database_is_not(ending: str, varies: bool) -> None:
    """Who goes by an archive's name would pass else; of a database the rows vary, and another's has none that is asked for."""
    gs = [of_example(Example((), {f"a.{ending}": packed(ending, n), "b.txt": f"{n}\n"}, {})) for n in range(3)]
    evidenced = Evidenced.of([replace(g, task_id=str(n)) for n, g in enumerate(gs)])
    tried = {p.steps[0].variation for p in systematic(evidenced.gs[0])}
    assert ("recorded-content" in tried) is varies
    assert "in-databases" in tried or varies


def test_a_share_goes_to_a_trace_where_it_works() -> None:
    """A file of one line gets no odd line in its middle; the other recordings try all of them."""
    contents = ("1\n", "1\n2\n3\n", "4\n5\n6\n")
    gs = [replace(of_example(Example((), {"a": text}, {})), task_id=f"t{n}") for n, text in enumerate(contents)]
    found = dealt(gs, lambda g, plan: (w := realise(g, plan)) is not None and w.base != g.base)
    odd = [(g.task_id, p.steps[0].choice[1]) for g, p in found if p.steps[0].variation == "odd-line"]
    assert sorted(choice for _, choice in odd) == sorted(LINES)
    assert {task for task, _ in odd} == {"t1", "t2"}


@pytest.mark.parametrize(
    ("files", "args", "commands", "found"),
    [
        ({"2024/05/p_20240517_101503.jpg": "2024\n"}, {}, "ls", {"2024": "1996", "20240517": "19960517"}),
        ({"a": "2024-05-17 and 7:15\n"}, {"month": "2024-05"}, "grep 2024-05 a", {"2024": "1996"}),
        ({"a": "of 17.05.2024\n"}, {}, "grep 2024 a", {}),  # the commands say the year themselves
        ({"a": "of 17.05.2024\n"}, {}, "ls p_20*", {}),
        ({"a": "port 2024\n", "20249999": "1\n"}, {}, "ls", {}),
        ({"a": "<x xmlns='http://e.org/2024-05-17/x'>\n"}, {}, "ls", {}),  # an address
    ],
)
def test_dates_go_back_together(files: dict[str, str], args: Args, commands: str, found: dict[str, str]) -> None:
    """Names, contents and arguments; what is no date or what the commands say stays."""
    assert earlier(of_example(Example((), files, {}, args, commands))) == found


def test_a_value_of_signs_is_tried_as_a_pattern_where_it_stands() -> None:
    """Who wrote those commands had to think of the dots."""
    plain, dotted = (of_example(Example((), {"a": f"{w} 1\n"}, {}, {"w": w}, f"grep -F {w} a")) for w in ("alpha", "be.ta"))
    assert _telling([plain, dotted]) == {"w": dotted}
    assert _telling([dotted, plain]) == {"w": dotted}
    assert _telling([plain]) == {"w": plain}


def test_files_of_the_task_vary_first() -> None:
    """What it edits, then what stands where an argument says; what is written anew last, for nothing in it matters."""
    before = {"anew": "1\n", "by": "2\n", "d/near": "3\n", "edited": "4\n5\n"}
    made = {"anew": "6\n", "edited": "4\n7\n"}
    assert of_example(Example((), before, {}, {"d": "d"}, "cat d/*", made=made)).contents == ("edited", "d/near", "by", "anew")


@pytest.mark.parametrize("seed", range(6))
def test_a_date_stays_a_date(seed: int) -> None:
    """Whatever number of it is another one, in arguments and contents."""
    files = {"a": "of 2024-04-30 and 2024-01-31, port 77\n"}
    g = of_example(Example((), files, {}, {"day": "2024-04-15", "port": "77"}, "grep 2024-04-15 a; grep 77 a"))
    plan = Plan(tuple(Step("rename-number", (t,)) for t in ("04", "15", "77")), seed)
    world = realise(g, plan)
    assert world is None or all(is_real(date) for date in DATE.findall(all_text(world.base) + str(world.args["day"])))


@pytest.mark.parametrize(
    ("date", "real"),
    [("2024-02-29", True), ("2023-02-29", False), ("31/12/2023", True), ("12:60", False), ("2024-13", False), ("23:59:59", True)],
)
def test_dates_of_the_calendar(date: str, real: bool) -> None:
    assert is_real(date) is real


@pytest.mark.parametrize(
    ("name", "n", "made"),
    [
        ("shop-2026-08-31.sql.gz", 0, "shop-2026-09-01.sql.gz"),
        ("IMG_20240228.jpg", 1, "IMG_20240301.jpg"),
        ("2024_12_30 notes.txt", 4, "2025_01_04 notes.txt"),
        ("serial-99999999.bin", 0, "serial-100000000.bin"),
        ("part09.zip", 0, "part10.zip"),
        ("notes.txt", 0, ""),
    ],
)
def test_a_numbered_name_goes_on_and_days_by_the_calendar(name: str, n: int, made: str) -> None:
    g = of_example(Example((), {name: ""}, {}, {"dir": "x"}, "ls x"))
    assert numbered(name, n, g) == made


def test_a_longer_word_is_joined_as_words_are_there() -> None:
    assert joint("door_state\n") == "_"
    assert joint("door_state, to-do\n") == joint("doors\n") == "-"


def test_a_whole_value_that_stands_there_is_one_word() -> None:
    """Its parts are none: a near miss of the whole is no miss of ``GO`` alone."""
    g = of_example(Example((), {"a": "id GO:50\n"}, {}, {"w": "GO:50"}, "grep GO:50 a"))
    assert spoken(Draft(g, 0), "id GO:50\n") == ["GO:50"]
    assert spoken(Draft(g, 0), "id GO 50\n") == ["GO", "GO:50"]


def packed(ending: str, number: int) -> str:
    """An archive of one member, or a database of two rows, as an example holds it."""
    if ending == "zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("n", f"{number}\n")
        return decoded(out.getvalue())
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(f"CREATE TABLE t(a); INSERT INTO t VALUES ({number}), ({number})")
        return decoded(db.serialize())


def test_a_document_that_uses_itself_again_has_no_lists() -> None:
    """Twelve lines would be a tree of hundreds of millions of leaves."""
    lines = ["a: &a [x, y]", *(f"{x}: &{x} [{', '.join([f'*{before}'] * 6)}]" for before, x in pairwise("abcdefghijkl"))]
    assert lists("\n".join(lines).encode()) == ()
    assert [one.keys for one in lists(b"a:\n- x\nb: [1, [2]]\n")] == [".a", ".b", ".b.*"]


@pytest.mark.parametrize(
    "text", ['{"a": "\\ud83d", "b": 1}\n', '{"a": "\\ud83d ü", "b": 1}\n', '{"k":1,"a":' * 400 + "1" + "}" * 400]
)
def test_odd_documents_in_json_are_no_crash(text: str) -> None:
    """Half of a pair of surrogates, and more levels than a program has."""
    g = of_example(Example((), {"a.json": text}, {}))
    for v in unordered.VARIATIONS + json_values.VARIATIONS:
        for choice in v.choices(g):
            assert realise(g, Plan((Step(v.name, choice),))) is not None


def test_a_value_means_nothing_where_nothing_is_said_of_it() -> None:
    """It goes to words of lines that the task leaves alone, first to those that are all of a cell; never to a first line, which
    may be a heading, nor beside the value."""
    rows = "name,tag\nBob,k1\nAlice Miller,other\n"
    example = Example((), {"a.csv": rows}, {}, {"t": "k1"}, "grep k1 a.csv")
    assert list(said_elsewhere.places(of_example(example))) == [("other", "k1"), ("Alice", "k1"), ("Miller", "k1")]
    alone = Example((), {"a.csv": "name,tag\nBob,k1\n"}, {}, {"t": "k1"}, "grep k1 a.csv")
    assert list(said_elsewhere.places(of_example(alone))) == []


@pytest.mark.parametrize(
    ("before", "made"),
    [
        ({"d/": "", "a": "1"}, {}),
        ({"a": "1"}, {"d/": "", "d/a": "1"}),
        ({"d/": "", "d/b": "2", "a": "1"}, {"d/a": "1", "d/b": "3"}),
    ],
    ids=["nothing is put there", "it is made", "what is there changes"],
)
def test_a_directory_is_missed_only_where_it_is_filled(before: dict[str, str], made: dict[str, str]) -> None:
    """One that is there, gets something, and keeps what it has."""
    assert drop.filled(of_example(Example((), before, {}, {"t": "d"}, "cp a d", made=made))) == []


@given(
    st.lists(st.tuples(st.integers(0, 6000), st.sampled_from([2, 3])), min_size=1, max_size=5),
    st.sampled_from(".,"),
    st.integers(0, 3),
)
def test_a_float_misses_each_new_decimal(numbers: list[tuple[int, int]], mark: str, tail: int) -> None:
    """With as many places as before; what an argument says stays."""
    texts = [f"{n // 10**places}{mark}{n % 10**places:0{places}}{'4' * tail}" for n, places in numbers]
    said = texts[:1]
    new = misread(" ".join(texts), said).split(" ")
    for (_, places), old, now in zip(numbers, texts, new, strict=True):
        whole, _, part = now.partition(mark)
        assert len(part) == places + tail
        scale = 10 ** min(3, places + tail)
        missed = int(float(f"{whole}.{part}") * scale) != int(f"{whole}{part[:3]}")
        assert now == old if old in said else missed


@given(st.text(alphabet="ab,;^|\t \n", max_size=60), st.sampled_from(",;|\t^~"))
def test_one_more_part_takes_nothing_away(text: str, mark: str) -> None:
    """Whatever is added is a mark and a word, at most once a line."""
    g = of_example(Example((), {"a": text}, {}, {"f": "a"}, "cat a"))
    if ("a", mark) in more_parts.marked(g):
        rows = decoded(more_parts.with_part(encoded(text), Draft(g, 0), "a", mark)).split("\n")
        old = text.split("\n")
        assert len(rows) == len(old)
        assert all(row == was or row.replace(f"{mark}more", "", 1) == was for row, was in zip(rows, old, strict=True))
        assert sum(row != was for row, was in zip(rows, old, strict=True)) >= more_parts.LEAST_ROWS


def test_what_frames_records_is_no_literal_to_vary() -> None:
    """A line that every recorded file has, and most of them more than once."""
    text = "BEGIN X\nk one\nEND X\nBEGIN X\nk two\nEND X\n"
    g = of_example(Example((), {"a.mgf": text}, {}, {"w": "one"}, "awk '/^END/ && /^k/' a.mgf"))
    assert {"END", "k"} <= {literals(g)[int(n)] for _, n in compared(g)}
    framed = replace(g, recorded={".mgf": (encoded(text), encoded(text.replace("one", "three")))})
    assert framed.framing("a.mgf") == {"BEGIN X", "END X"}
    left = {literals(framed)[int(n)] for _, n in compared(framed)}
    assert "k" in left
    assert "END" not in left
    assert framed.framing("a.txt") == frozenset()


@pytest.mark.parametrize(("after", "doubled"), [({}, "1\n2\n1\n2\n"), ({"made": "x"}, None)], ids=["an answer", "an effect"])
def test_every_record_stands_twice_for_an_answer(after: dict[str, str], doubled: str | None) -> None:
    """For who only reads, each kind of record is met a second time."""
    g = of_example(Example((), {"a": "1\n2\n"}, {}, {"f": "a"}, "cat a", made=after))
    found = decoded(twice(b"1\n2\n", Draft(g, 0), "a"))
    assert found == doubled if doubled is not None else len(found.splitlines()) == 3


@pytest.mark.parametrize(
    ("row", "new", "made"),
    [("a   12 b", "1", "a    1 b"), ("a   12 b", "345", "a  345 b"), ("a 12 b", "1", "a 1 b"), ("a  12 b", "3456", "a  3456 b")],
)
def test_what_stands_behind_a_number_stays_where_it_is(row: str, new: str, made: str) -> None:
    at = row.index("12")
    assert put(row, (at, at + 2), new) == made
