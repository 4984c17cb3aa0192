"""Starts that have what the task makes, arguments with marks behind them, and whether the commands took notice of that."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Args
from verifiers.worlds.grammar import Grammar, grammar
from verifiers.worlds.noticed import marked_alike, unnoticed
from verifiers.worlds.plans import MARKS, Plan, marks, strange, systematic, usual, without_strange
from verifiers.worlds.template import templates
from verifiers.worlds.world import realise

ARGS: Args = {"folder": "out", "title": "Birds"}
COMMANDS = ("mkdir -p out/a && echo Birds > out/a/title && touch out/empty",)
MADE = {
    "out": Entry("dir", 0o750),
    "out/a": Entry("dir", 0o755),
    "out/a/title": Entry("file", 0o644, b"Birds\n"),
    "out/empty": Entry("file", 0o600, b""),
}


def outcome(base: dict[str, Entry], tree: dict[str, Entry], answer: str = "") -> Expectation:
    return Expectation(Snapshot(base), Snapshot(tree), frozenset(), answer, True, (0,), (True,))


def making() -> Grammar:
    return grammar("t", ARGS, templates([(COMMANDS, ARGS)])[0], outcome({"x": Entry("file", 0o644, b"x\n")}, MADE))


def test_what_the_trace_makes_may_be_there_before() -> None:
    """A directory with one more file in it, or an older file, each with the mode that the trace gives; nothing else."""
    g = making()
    tried = [w for p in systematic(g) if p.before and (w := realise(g, p)) is not None]
    bases = [{p: e for p, e in w.base.items() if p not in ("", ".", "x")} for w in tried]
    assert {p for p in bases[0] if "." not in p} == {"out"}
    assert bases[0]["out"].mode == 0o750
    assert [e.content for p, e in bases[0].items() if p != "out"] == [b"a bystander\n"]
    assert bases[1] == {"out": MADE["out"], "out/empty": Entry("file", 0o600, b"an older one\n")}
    assert set(bases[2]) == {"out", "out/a", "out/a/title"}
    assert len(bases) == 3


def test_what_is_there_before_is_judged_by_the_harm_alone() -> None:
    """It is strange, and what recordings are like is without it."""
    plan = Plan(before=(0,), drops=(0,))
    assert strange(plan)
    assert without_strange(plan) == Plan(drops=(0,))
    g = making()
    assert usual([g], g, Plan(before=(0,))) == Plan()


def test_an_older_result_that_is_left_alone_is_unnoticed() -> None:
    """Only with leave: a decoy that keeps commands from making something is noticed."""
    plain = outcome({}, MADE)
    older = {"out": MADE["out"], "out/empty": Entry("file", 0o600, b"older")}
    left = outcome(older, MADE | older)
    assert unnoticed(plain, left, made=True)
    assert not unnoticed(plain, left)
    assert not unnoticed(plain, replace(left, tree=Snapshot(MADE)), made=True)
    less = Snapshot({p: e for p, e in (MADE | older).items() if p != "out/a/title"})
    assert not unnoticed(plain, replace(left, tree=less), made=True)


def test_marks_stand_behind_a_word_of_an_argument() -> None:
    """In the value and where the commands say it; placeholders have the names of the other parameters."""
    g = making()
    i = next(i for i, (token, _) in enumerate(g.bound) if token == "Birds")
    assert marks(g, Plan(marked=((i, 0), (i, 1)))) == {i: "\\a&"}
    assert marks(g, Plan(marked=((i, 0),))) == {i: "{folder}%s"}
    world = realise(g, Plan(rename_bound=(i,), marked=((i, 0),)))
    assert world is not None
    assert str(world.args["title"]).endswith("{folder}%s")
    assert f"'{world.args['title']}'" in world.commands[0]
    assert len([p for p in systematic(g) if p.marked]) == 2 * len(MARKS)
    quoted = replace(g, expectation=replace(g.expectation, base=Snapshot({"x": Entry("file", 0o644, b'{"birds": 1}\n')})))
    assert {how for p in systematic(quoted) for j, how in p.marked if j == i} == {0}


@given(st.text("ab{}%s\\a&x", max_size=9), st.sampled_from(["{a}%s", "\\a&"]))
def test_commands_that_take_a_mark_for_text_only_add_it(text: str, mark: str) -> None:
    """The same with marks taken away; one character more anywhere is a difference."""
    word = f"w{text}".replace(mark, "")
    plain = outcome({}, {word: Entry("file", 0o644, b"=" + word.encode())}, word)
    full = outcome({}, {word + mark: Entry("file", 0o644, b"=" + (word + mark).encode())}, word + mark)
    assert marked_alike(plain, full, [mark]) == (mark not in word)
    read = replace(full, tree=Snapshot({word + mark: Entry("file", 0o644, b"=" + word.encode() + b"!")}))
    assert not marked_alike(plain, read, [mark])
    assert not marked_alike(plain, replace(full, answer=word + mark + "!"), [mark])


def test_named_files_are_edited_first() -> None:
    """By turns with those that no argument names, so that a file which is only there does not take their place."""
    base = {p: Entry("file", 0o644, b"1\n2\n") for p in ("a.o", "b.o", "list", "more")}
    args: Args = {"one": "list", "two": "more"}
    x = outcome(base, base | {"list": Entry("file", 0o644, b"1\n2\n3\n")})
    g = grammar("t", args, templates([(("cat more >> list",), args)])[0], x)
    assert g.contents == ("list", "a.o", "more", "b.o")
