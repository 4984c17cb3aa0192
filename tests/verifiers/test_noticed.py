"""Starts that have what the task makes, arguments with marks behind them, and whether the commands took notice of that."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Args
from verifiers.worlds.grammar import Grammar, grammar
from verifiers.worlds.noticed import alike, unnoticed
from verifiers.worlds.plans import Plan, systematic
from verifiers.worlds.template import templates
from verifiers.worlds.variation import Rule, Step
from verifiers.worlds.variations.value_marked import MARKS
from verifiers.worlds.world import World, realise

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


def names(plan: Plan) -> set[str]:
    return {s.variation for s in plan.steps}


def test_what_the_trace_makes_may_be_there_before() -> None:
    """A directory with one more file in it, or an older file, each with the mode that the trace gives; nothing else."""
    g = making()
    tried = [w for p in systematic(g) if names(p) == {"before"} and (w := realise(g, p)) is not None]
    bases = [{p: e for p, e in w.base.items() if p not in ("", ".", "x")} for w in tried]
    assert {p for p in bases[0] if "." not in p} == {"out"}
    assert bases[0]["out"].mode == 0o750
    assert [e.content for p, e in bases[0].items() if p != "out"] == [b"a bystander\n"]
    assert bases[1] == {"out": MADE["out"], "out/empty": Entry("file", 0o600, b"an older one\n")}
    assert set(bases[2]) == {"out", "out/a", "out/a/title"}
    assert len(bases) == 3


def test_what_is_there_before_is_judged_by_the_harm_alone() -> None:
    """It is strange, and what recordings are like is without it."""
    before, drop = Step("before", ("out",)), Step("drop", ("x",))
    assert Plan((before, drop)).has(Rule.BYSTANDER)
    assert Plan((before, drop)).without(Rule.BYSTANDER) == Plan((drop,))
    assert Plan((before,)).usual([making()]) == Plan()


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
    renamed = Step("rename", ("Birds",))

    def marked(*forms: str) -> World:
        world = realise(g, Plan((renamed, *(Step("value-marked", ("Birds", form)) for form in forms))))
        assert world is not None
        return world

    assert marked(*MARKS).renames["Birds"].endswith("{folder}%s%41\\a&+(a)")
    world = marked(MARKS[0])
    assert str(world.args["title"]).endswith("{folder}%s%41")
    assert f"'{world.args['title']}'" in world.commands[0]
    assert len([p for p in systematic(g) if "value-marked" in names(p)]) == 2 * len(MARKS)
    quoted = replace(g, expectation=replace(g.expectation, base=Snapshot({"x": Entry("file", 0o644, b'{"birds": 1}\n')})))
    steps = {s for p in systematic(quoted) for s in p.steps if s.variation == "value-marked" and s.choice[0] == "Birds"}
    assert {s.choice[1] for s in steps} == {mark for mark in MARKS if "\\" not in mark}


@given(st.text("ab{}%s\\a&x", max_size=9), st.sampled_from(["{a}%s%41", "\\a&"]))
def test_commands_that_take_a_mark_for_text_only_add_it(text: str, mark: str) -> None:
    """The same with marks taken away; one character more anywhere is a difference."""
    word = f"w{text}".replace(mark, "")
    plain = outcome({}, {word: Entry("file", 0o644, b"=" + word.encode())}, word)
    full = outcome({}, {word + mark: Entry("file", 0o644, b"=" + (word + mark).encode())}, word + mark)
    assert alike(plain, full, {word + mark: word})
    read = replace(full, tree=Snapshot({word + mark: Entry("file", 0o644, b"=" + word.encode() + b"!")}))
    assert not alike(plain, read, {word + mark: word})
    assert not alike(plain, replace(full, answer=word + mark + "!"), {word + mark: word})


def test_what_is_sorted_by_name_stands_elsewhere_under_another_name() -> None:
    """Without order only the words count."""
    plain = outcome({}, {"list": Entry("file", 0o644, b"1 a\n2 kw\n")}, "a\nkw")
    odd = outcome({}, {"list": Entry("file", 0o644, b"2 0kw\n1 a\n")}, "0kw\na")
    assert not alike(plain, odd, {"0kw": "kw"})
    assert alike(plain, odd, {"0kw": "kw"}, ordered=False)
    assert not alike(plain, replace(odd, answer="0kw\na\na"), {"0kw": "kw"}, ordered=False)


def test_named_files_are_edited_first() -> None:
    """By turns with those that no argument names, so that a file which is only there does not take their place."""
    base = {p: Entry("file", 0o644, b"1\n2\n") for p in ("a.o", "b.o", "list", "more")}
    args: Args = {"one": "list", "two": "more"}
    x = outcome(base, base | {"list": Entry("file", 0o644, b"1\n2\n3\n")})
    g = grammar("t", args, templates([(("cat more >> list",), args)])[0], x)
    assert g.contents == ("list", "a.o", "more", "b.o")


@given(st.text("abcdef", min_size=1, max_size=6), st.text("abcdef", min_size=1, max_size=3))
def test_a_word_is_put_back_only_where_it_stands_alone(word: str, rest: str) -> None:
    """What begins with it stays as it is: the start had it."""
    odd = outcome({}, {"0": Entry("file", 0o644, f"{word}{rest}=1\n{word}=2\n".encode())}, word)
    plain = outcome({}, {"0": Entry("file", 0o644, f"{word}{rest}=1\nzz=2\n".encode())}, "zz")
    assert alike(plain, odd, {word: "zz"}, whole=True)
    assert not alike(plain, odd, {word: "zz"})


def test_a_word_may_stand_in_another_place_in_both() -> None:
    """What an argument says stands where it did, and where a plain word stood too."""
    odd = outcome({}, {"0": Entry("file", 0o644, b"tag k1\ntitle k1\n")}, "k1")
    plain = outcome({}, {"0": Entry("file", 0o644, b"tag k1\ntitle zz\n")}, "k1")
    assert not alike(plain, odd, {"k1": "zz"})
    assert alike(plain, odd, {"k1": "zz"}, both=True)
