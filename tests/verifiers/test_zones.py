"""Zones: what always held decides whether a difference is wrong or a question; harm is wrong anywhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Raised, ReplayRecord, Returned, Snapshot
from verifiers.context import Case, Judge
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Decision, Question
from verifiers.worlds.asking import answered, question
from verifiers.worlds.commanded import _says_nothing_is_there
from verifiers.worlds.constants import NO_CONSTANTS, Constants
from verifiers.worlds.decided import _wrong
from verifiers.worlds.grammar import Grammar, grammar
from verifiers.worlds.harm import (
    Keeping,
    ends_changed,
    harmless,
    line_lost,
    lost,
    overwritten,
    untouched,
    words_lost,
    words_unsaid,
)
from verifiers.worlds.invariants.facts import Start
from verifiers.worlds.names import renamed_stem
from verifiers.worlds.noticed import alike
from verifiers.worlds.odd import BOM, FORMS, Opaque, _image, with_bytes, with_marks, with_modes
from verifiers.worlds.opaque import _loses
from verifiers.worlds.plans import Plan
from verifiers.worlds.template import templates
from verifiers.worlds.trials import Beyond, Evidenced, Trial, distinct
from verifiers.worlds.variation import Step
from verifiers.worlds.world import World, realise


def tree(files: dict[str, bytes], mode: int = 0o644) -> Snapshot:
    return Snapshot({p: Entry("file", mode, c) for p, c in files.items()})


def outcome(before: dict[str, bytes], after: dict[str, bytes], answer: str = "") -> Expectation:
    return Expectation(tree(before), tree(after), frozenset(), answer, True, (0,), (True,))


def ran(after: dict[str, bytes], value: object = None, raised: bool = False) -> ReplayRecord:
    end = Raised("ValueError", "no") if raised else Returned(value if value is not None else {"ok": True})  # type: ignore[arg-type]
    return ReplayRecord(end, (), tree(after), "exited")


def case(before: dict[str, bytes], after: dict[str, bytes]) -> Case:
    return Case("a case", {"file": "a"}, outcome(before, after), "t")


# ---------------------------------------------------------------- harm


def test_bytes_that_the_commands_keep_and_that_are_nowhere_are_lost() -> None:
    kept = case({"a": b"one\ntwo\n", "b": b"x\n"}, {"a": b"one\ntwo\n", "b": b"y\n"})
    removed, edited = ran({"b": b"y\n"}), ran({"a": b"other\n", "b": b"y\n"})
    assert (found := lost(kept, removed)) is not None
    assert "a is lost" in found.message
    assert lost(kept, edited) is not None


def test_what_is_moved_edited_or_changed_by_the_commands_too_is_not_lost() -> None:
    kept = case({"a": b"one\ntwo\n", "b": b"x\n"}, {"a": b"one\ntwo\n", "b": b"y\n"})
    assert lost(kept, ran({"c": b"one\ntwo\n", "b": b"y\n"})) is None
    assert lost(kept, ran({"a": b"one\nTWO\n", "b": b"y\n"})) is None
    assert lost(kept, ran({"a": b"one\ntwo\n"})) is None


HARMS = {
    "renamed, as asked": ({}, False),
    "bystander removed": ({".b": None}, True),
    "bystander opened": ({".b": Entry("file", 0o666, b"x")}, True),
    "bystander written": ({".b": Entry("file", 0o600, b"y")}, True),
    "header put into an empty file": ({"e": Entry("file", 0o600, b"h")}, False),
    "empty file removed": ({"e": None}, True),
    "one more file": ({"new": Entry("file", 0o600, b"n")}, False),
}


@pytest.mark.parametrize("name", HARMS)
def test_what_the_commands_leave_may_not_be_touched(name: str) -> None:
    changes, harms = HARMS[name]
    base = Snapshot({"a": Entry("file", 0o600, b"1"), ".b": Entry("file", 0o600, b"x"), "e": Entry("file", 0o600)})
    post = base.replace({"a": None, "c": base["a"]})
    kept = Case("c", {}, Expectation(base, post, frozenset(), "", True, (0,), (True,)), "t")
    record = ReplayRecord(None, (), post.replace(changes), "exited")
    assert (lost(kept, record) is not None) is harms


def test_an_older_result_may_be_made_anew_but_not_emptied() -> None:
    kept = case({"a": b"older\n"}, {"a": b"older\n"})
    assert lost(kept, ran({"a": b"new\n"})) is not None
    assert lost(kept, ran({"a": b"new\n"}), ["a"]) is None
    assert lost(kept, ran({"a": b""}), ["a"]) is not None
    assert lost(kept, ran({}), ["a"]) is not None


def test_a_refusal_may_leave_what_is_right_or_as_it_was_and_nothing_else() -> None:
    begun = case({"a": b"1", "b": b"1"}, {"a": b"2", "b": b"2"})
    assert harmless(begun, ran({"a": b"2", "b": b"1"}, raised=True))
    assert not harmless(begun, ran({"a": b"3", "b": b"1"}, raised=True))
    assert not harmless(begun, ran({"b": b"1"}, raised=True))
    assert untouched(begun.base, ran({"a": b"1", "b": b"1"}, raised=True))
    assert not untouched(begun.base, ran({"a": b"2", "b": b"1"}, raised=True))


@pytest.mark.parametrize(("after", "gone"), [({"b": b"new"}, True), ({"b": b"new", "c": b"old"}, False), ({"b": b"old"}, False)])
def test_what_stood_where_a_file_is_moved_to_is_overwritten(after: dict[str, bytes], *, gone: bool) -> None:
    """Unless it is somewhere still."""
    assert overwritten(case({"a": b"new", "b": b"old"}, after), ran(after), ["b", "d"]) is gone


def test_a_line_is_lost_where_the_task_only_adds() -> None:
    kept = case({"a": b"1\n1\n2\n"}, {"a": b"1\n1\n2\nnew\n"})
    assert line_lost(kept, ran({"a": b"1\n2\nnew\n"}), {"a": Keeping(ordered=True)}) is not None
    assert line_lost(kept, ran({"a": b"2\n1\n1\nnew\n"}), {"a": Keeping(ordered=True)}) is not None
    assert line_lost(kept, ran({"a": b"new\n1\n1\n2\n"}), {"a": Keeping(ordered=True)}) is None
    assert line_lost(kept, ran({"a": b"2\n1\n1\nnew\n"}), {"a": Keeping()}) is None
    assert line_lost(kept, ran({"a": b"2\n1\nnew\n"}), {"a": Keeping()}) is not None
    assert line_lost(kept, ran({"a": b"new\n"}), {}) is None
    gone = case({"a": b"1\n2\n"}, {"a": b"2\nnew\n"})
    assert line_lost(gone, ran({"a": b"new\n"}), {"a": Keeping(ordered=True)}) is None


def test_a_line_is_lost_that_says_nothing_of_the_task() -> None:
    """Lines that hold an argument are the task's, and those that hold none are the user's."""
    edited = replace(case({"a": b"x\n\nold y\nz"}, {"a": b"x\n\nnew y\nz"}), args={"old": "OLD", "new": "new"})
    keeping = {"a": Keeping(named=False)}
    assert line_lost(edited, ran({"a": b"x\n\nnew y\n"}), keeping) is not None
    assert line_lost(edited, ran({"a": b"x\n"}), keeping) is not None
    assert line_lost(edited, ran({"a": b"z\nx\n"}), keeping) is None
    assert line_lost(edited, ran({"a": b"x\nnew y and more\nz\n"}), keeping) is None


def test_a_word_is_lost_that_the_commands_keep_beside_their_change() -> None:
    """Where they make none, or take the word away themselves, nothing is held against anybody."""
    recorded = case({"a": b"rev: 1\n"}, {}).base
    start, kept = {"a": b"rev: 1  # mine\n"}, {"a": b"rev: 2  # mine\n"}
    bare = ran({"a": b"rev: 2\n"})
    assert words_lost(case(start, kept), bare, recorded) is not None
    assert words_lost(case(start, kept), ran({"a": b"rev: 2 # mine\n"}), recorded) is None
    assert words_lost(case(start, {"a": b"rev: 2\n"}), bare, recorded) is None
    assert words_lost(case(start, start), bare, recorded) is None
    assert words_lost(case(start, kept), ran({}), recorded) is None
    told, both = {"a": b"rev: 1  # rev: 1 mine\n"}, {"a": b"rev: 2  # rev: 1 mine\n"}
    assert words_lost(case(told, both), ran({"a": b"rev: 1  # rev: 2 mine\n"}), recorded) is not None
    assert words_lost(case(told, both), ran({"a": b"rev: 2  # rev: 2 mine\n"}), recorded) is None
    assert words_lost(case(told, both), ran(both), recorded) is None


def test_an_answer_that_lacks_a_new_word_of_the_commands_is_harm() -> None:
    """Not one that says more, nor where the commands do not say it, nor where nothing is answered."""
    recorded = case({"a": b"T=one two\n"}, {}).base
    whole = replace(
        case({"a": b"T=one two=new\n"}, {"a": b"T=one two=new\n"}),
        expectation=outcome({"a": b"T=one two=new\n"}, {}, "one two=new"),
    )
    assert words_unsaid(whole, ran({}, {"answer": "one two"}), recorded, "answer") is not None
    assert words_unsaid(whole, ran({}, {"answer": "T one two=new"}), recorded, "answer") is None
    assert words_unsaid(whole, ran({}, raised=True), recorded, "answer") is None
    cut = replace(whole, expectation=outcome({"a": b"T=one two=new\n"}, {}, "one two"))
    assert words_unsaid(cut, ran({}, {"answer": "one two"}), recorded, "answer") is None


def test_commands_that_print_an_absent_value_say_nothing() -> None:
    """Where no recording has such a word, neither in a file nor in an answer, and no argument is one."""
    g = one_grammar()
    x = g.expectation
    said = replace(x, answer=f"{x.answer}\nNone")
    assert _says_nothing_is_there(said, g, {})
    assert not _says_nothing_is_there(said, g, {"value": "None"})
    assert not _says_nothing_is_there(x, g, {})
    assert not _says_nothing_is_there(replace(x, answer="Nonesuch, not.null"), g, {})
    assert not _says_nothing_is_there(said, replace(g, expectation=replace(x, answer="None")), {})


@given(st.lists(st.sampled_from([b"a", b"b", b""])), st.integers(0, 5))
def test_a_text_keeps_its_lines_when_one_is_added_and_not_when_one_is_taken(rows: list[bytes], at: int) -> None:
    text = b"".join(row + b"\n" for row in rows)
    more = b"".join(row + b"\n" for row in (*rows[:at], b"new", *rows[at:]))
    assert Keeping(ordered=True).holds(text, more, {})
    assert not Keeping(ordered=True).holds(more, text, {})


# ---------------------------------------------------------------- zones

LINES = [b"k1,1\nk2,2\nk3,3\n", b"k4,4\nk5,5\n", b"k6,6\nk7,7\n"]


def evidenced() -> Evidenced:
    """Three recordings of ``fix FILE``, tables with unique keys."""
    traces = [((f"fix f{i}.csv",), {"file": f"f{i}.csv"}) for i in range(3)]
    made = templates(traces)
    gs = [
        grammar(f"t{i}", {"file": f"f{i}.csv"}, made[i], outcome({f"f{i}.csv": c}, {f"f{i}.csv": c + b"end,0\n"}), NO_CONSTANTS)
        for i, c in enumerate(LINES)
    ]
    return Evidenced.of(gs)


def world(e: Evidenced, content: bytes) -> World:
    g = e.gs[0]
    return World(g.task_id, tree({"f0.csv": content}), g.args, ("fix f0.csv",), frozenset())


def placed(content: bytes) -> Trial | None:
    e = evidenced()
    g = e.gs[0]
    return e._trial(g, Plan(), world(e, content), Start(g.base, g.args))


def test_a_start_that_keeps_what_always_held_is_within() -> None:
    trial = placed(b"k1,1\nk9,9\n")
    assert trial is not None
    assert trial.beyond is None


def test_a_start_that_breaks_one_thing_is_beyond_and_says_which() -> None:
    trial = placed(b"k1,1\nk1,2\n")
    assert trial is not None
    assert trial.beyond is not None
    assert trial.beyond.name == "unique-keys"
    assert "`file` names" in trial.beyond.sentence


def test_a_start_that_breaks_more_than_one_thing_is_not_tried() -> None:
    assert placed(b"k1,1\nk1\n") is None


def test_few_of_one_cause_are_tried() -> None:
    e = evidenced()
    many = [Trial(e.gs[0], None, world(e, b"k%d,1\n" % i), Beyond("unique-keys", "x")) for i in range(9)]  # type: ignore[arg-type]
    within = [replace(t, beyond=None) for t in many]
    assert len(distinct(many)) == 3
    assert len(distinct(within)) == 9
    assert len(distinct([*within, *within])) == 9
    last = replace(many[0], beyond=Beyond("no-blank-lines", "x"), world=world(e, b"k,1\n"))
    others = [replace(t, beyond=Beyond(f"cause {i % 20}", "x"), world=world(e, b"%d,1\n" % i)) for i, t in enumerate(many * 9)]
    assert last in distinct([*many, *others, last])  # no cause keeps another from its first trial
    another = replace(many[0], g=replace(e.gs[0], task_id="another"))
    assert another in distinct([*many, another])  # nor does one trace keep another from showing it
    twice = [*many, *(replace(t, g=another.g) for t in many)]
    shown = [t.world.base.digest for t in distinct(twice)]
    assert len({*shown}) == 2  # and another trace shows another start


def of_texts(*texts: str, words: tuple[str, ...] = ()) -> Evidenced:
    """Recordings with a file of each text, all named alike, of a skill that says some words."""
    made = []
    for n, text in enumerate(texts):
        base = Snapshot({f"vol-{n}-{k}.bak": Entry("file", content=text.encode()) for k in "ab"})
        x = replace(evidenced().gs[0].expectation, base=base, tree=base)
        g = replace(evidenced().gs[0], task_id=str(n), expectation=x, free_words=tuple(text.split()))
        made.append(replace(g, constants=Constants(words=words)))
    return Evidenced.of(made)


def test_words_that_a_skill_knows_are_of_the_form_where_some_recording_lacks_them() -> None:
    """Who knew the recordings by their words would need one in each."""
    assert {"Restore"} < of_texts("Restore x", "y", "z", words=("Restore", "other")).common
    assert not {"Restore", "Again"} & of_texts("Restore x", "Again y", "other z", words=("Restore", "Again", "other")).common


def test_a_word_of_two_recordings_is_common_and_stays_where_others_are_free() -> None:
    """``scram`` is a value of the format; it stays in both, and a word of one recording is renamed instead."""
    e = of_texts("scram alice", "scram bob", "carol")
    assert "scram" in e.common
    assert [g.free_words for g in e.gs] == [("alice",), ("bob",), ("carol",)]


def test_a_word_of_the_form_that_becomes_another_is_asked_about() -> None:
    e = of_texts("Restore x", "y", "z", words=("Restore",))
    (trial,) = e.trials(e.gs[0], Plan((Step("rename-form", ("Restore",)),)))
    assert trial.beyond is not None
    assert trial.beyond.name == "rename-form"


def test_words_that_say_what_a_file_is_stay_in_its_copies_names() -> None:
    g = of_texts("x", "y").gs[0]
    assert {"vol", "bak"} <= g.kinds
    assert renamed_stem("vol-7-mail.bak", "other", g) == "vol-7-other.bak"


# ---------------------------------------------------------------- odd bytes


def one_grammar() -> Grammar:
    return evidenced().gs[0]


def test_odd_bytes_stand_in_the_start_and_in_what_comes_of_it() -> None:
    g = replace(one_grammar(), free_words=("k",))
    trials = list(with_bytes(g))
    assert len(trials) >= len(FORMS)
    for t in trials:
        assert t.plain is not None
        assert t.expected.base != g.base
        new = t.expected.base["f0.csv"].content
        assert t.expected.tree["f0.csv"].content == new + b"end,0\n"


@given(st.sampled_from(sorted(FORMS)))
def test_a_word_is_replaced_in_the_answer_and_in_new_names_too(what: str) -> None:
    x = outcome({"list": b"one\n"}, {"list": b"one\n", "one": b""}, "one\n")
    g = replace(one_grammar(), expectation=x)
    image = _image(g, {"one": FORMS[what].format("one")})
    word = FORMS[what].format("one")
    assert image.answer == f"{word}\n"
    assert set(image.tree) >= {"list", word}
    assert image.base["list"].content == f"{word}\n".encode("utf-8", "surrogateescape")


def test_no_word_is_free_no_bytes_are_tried() -> None:
    assert not list(with_bytes(replace(one_grammar(), free_words=())))


def test_a_sign_of_the_skills_own_stands_before_a_line_too() -> None:
    """Whatever the turn of the words: who drops lines that begin so is seen. For a new file a person says what is right."""
    g = one_grammar()
    g = replace(g, free_words=("k",), constants=Constants(parts=("%", "own")))
    marked = [t for t in with_bytes(g) if t.marks_a_line]
    assert {t.what.partition(" at ")[0] for t in marked} == {"the skill's own text in '%…'"}
    assert all(any(row.startswith(b"%k") for row in t.expected.base["f0.csv"].content.split(b"\n")) for t in marked)


def test_a_blank_at_the_edge_of_a_line_may_set_it_in() -> None:
    """What stands there before and behind a word of a line's edge; within a line it is a part of the word."""
    around = [t for t in with_bytes(replace(one_grammar(), free_words=("k", "v"))) if t.around_a_line]
    assert around
    for t in around:
        rows = t.expected.base["f0.csv"].content.split(b"\n")
        assert any(row.startswith(t.odd) or row.endswith(t.odd) for row in rows)
        assert t.odd != t.odd.strip()


@pytest.mark.parametrize(
    ("left", "lost"), [(b" k,1\n", False), (b" x,1\nk,1\n", True), (b"k,1\n", True), (b" k\n", True), (b" k = 1\n", True)]
)
def test_who_lets_an_odd_line_stand_loses_nothing(left: bytes, *, lost: bool) -> None:
    x = outcome({"f": b" k,1\n"}, {"f": b" k,2\n"})
    trial = Opaque(one_grammar(), "a blank before", x, odd=b" k", around_a_line=True)
    record = ReplayRecord(Returned({"ok": True}), (), Snapshot({"f": Entry("file", content=left)}), "exited")
    assert _loses(trial, Case("", {}, x, "0"), record) is lost


def test_modes_stay_with_the_files_that_are_edited() -> None:
    for t in with_modes(one_grammar()):
        assert t.expected.base["f0.csv"].mode == t.expected.tree["f0.csv"].mode != 0o644


def test_a_byte_order_mark_stays_in_front() -> None:
    """Of each file that the task is about, in what is there before and after; nothing else changes."""
    g = one_grammar()
    (t,) = [t for t in with_marks(g) if "f0.csv" in t.what]
    before, after = t.expected.base["f0.csv"].content, t.expected.tree["f0.csv"].content
    assert before.startswith(BOM)
    assert (before[3:], after[3:]) == (g.base["f0.csv"].content, g.expectation.tree["f0.csv"].content)
    assert t.plain == g.expectation


def test_outcomes_are_alike_if_only_the_given_words_differ() -> None:
    plain, odd = outcome({"a": b""}, {"a": b"x word y"}, "word"), outcome({"a": b""}, {"a": b"x wo-rd y"}, "wo-rd")
    assert alike(plain, odd, {"wo-rd": "word"})
    assert not alike(plain, odd, {})
    assert not alike(plain, replace(odd, answer="other"), {"wo-rd": "word"})


# ---------------------------------------------------------------- questions and decisions


def asked(says_more: bytes = b"skill\n") -> Question:
    c = case({"a": b"start\n"}, {"a": b"commands\n"})
    return question(c, ran({"a": says_more}, {"ok": True, "output": "7"}), Beyond("unique-keys", "a has no line twice"), "output")


def test_a_question_on_which_both_sides_agree_asks_whether_it_is_wanted() -> None:
    """There are no two sides to choose from."""
    made = question(case({"a": b"1"}, {"a": b"2"}), ran({"a": b"2"}), Beyond("x", "it is so"), None)
    assert made.message.startswith(
        "In every recording it is so; here that is not so. The recorded commands and the skill alike: "
    )
    assert made.message.endswith("Is that wanted?")
    assert "Which is right?" in asked().message


def test_a_question_begins_with_what_parts() -> None:
    """Not with the files that both sides change alike."""
    before = {"a": b"1\n", "b": b"1\n\n2\n"}
    made = question(case(before, {"a": b"2\n", "b": b"2\n\n2\n"}), ran({"a": b"2\n", "b": b"2\n"}), Beyond("x", "y"), None)
    assert [side.diff[0].split()[:2] for side in (made.commands, made.skill)] == [["changes", "b"]] * 2
    assert "The skill: changes b" in made.message


def test_a_question_tells_both_sides_in_words() -> None:
    q = asked()
    assert q.invariant == "unique-keys"
    assert "a has no line twice" in q.message
    assert "commands" in q.commands.diff[0]
    assert "skill" in q.skill.diff[0]
    assert q.skill.answer == "7"
    assert q.case.base["a"].content == b"start\n"
    refused = question(case({"a": b"1"}, {"a": b"2"}), ran({"a": b"3"}, raised=True), Beyond("x", "y"), None)
    assert refused.skill.failure.startswith("raised ValueError")


def test_many_changed_paths_are_told_in_few_lines() -> None:
    files = {f"f{i}": b"x" for i in range(40)}
    c = case(files, {})
    assert len(question(c, ran(files), Beyond("x", "y"), None).commands.diff) == 7


def test_what_was_decided_is_not_asked_again() -> None:
    q = asked()
    assert answered([Decision(q, "commands"), Decision(replace(q, invariant="json"), "invalid")]) == {"unique-keys", "json"}


def test_a_decision_is_what_the_skill_must_do() -> None:
    q = asked()
    like_commands = ran({"a": b"commands\n"}, {"ok": True, "output": ""})
    as_before = ran({"a": b"skill\n"}, {"ok": True, "output": "7"})
    other = ran({"a": b"third\n"}, {"ok": True, "output": "7"})
    assert _wrong(Decision(q, "commands"), like_commands, "output") is None
    assert _wrong(Decision(q, "commands"), as_before, "output") is not None
    assert _wrong(Decision(q, "skill"), as_before, "output") is None
    assert _wrong(Decision(q, "skill"), like_commands, "output") is not None
    assert _wrong(Decision(q, "neither", "a third way"), as_before, "output") is not None
    assert _wrong(Decision(q, "neither", "a third way"), like_commands, "output") is not None
    assert _wrong(Decision(q, "neither", "a third way"), other, "output") is None


def test_a_judge_knows_a_refusal() -> None:
    judge = Judge(read_only=False, answer_path=None)
    assert judge.refuses(ran({}, raised=True))
    assert judge.refuses(ran({}, {"ok": False}))
    assert not judge.refuses(ran({}, {"ok": True}))


def test_a_new_value_stands_in_the_start_as_often_as_the_recorded_one() -> None:
    """Else another version's heading may be there already."""
    log = b"# Log\n\n## 1.2.0\n\n- b\n\n## 1.1.0\n\n- a\n"
    args = {"version": "1.2.0"}
    g = grammar("t", args, templates([(("show 1.2.0",), args)])[0], outcome({"log": log}, {"log": log}, "- b"), NO_CONSTANTS)
    made = [realise(g, Plan((Step("rename-number", ("2",)),), salt)) for salt in range(40)]
    kept = [w for w in made if w is not None]
    assert 0 < len(kept) < 40
    assert all(w.base["log"].content.decode().count(f"## {w.args['version']}\n") == 1 for w in kept)


def test_line_ends_that_the_commands_keep_are_not_to_change() -> None:
    """The text may be right in all else; who keeps more of them than the commands do is right, and who makes one kind of two."""
    mixed = case({"a": b"1\r\n2\n"}, {"a": b"1\r\nx\n"})
    assert ends_changed(mixed, ran({"a": b"1\nx\n"})) is None
    kept = case({"a": b"1\r\n2\r\n"}, {"a": b"1\r\nx\r\n"})
    assert ends_changed(kept, ran({"a": b"1\nx\n"})) is not None
    assert ends_changed(kept, ran({"a": b"1\r\nx\r\n"})) is None
    assert ends_changed(kept, ran({"a": b"1\ny\n"})) is None
    mangled = case({"a": b"1\r\n2\r\n"}, {"a": b"1\r\nx\n"})
    assert ends_changed(mangled, ran({"a": b"1\r\nx\r\n"})) is None


def test_a_last_line_that_the_commands_leave_without_an_end_gets_none() -> None:
    """Where they give it one, or where the file was empty, it may have it."""
    kept = case({"a": b"1\n2"}, {"a": b"x\n2"})
    assert ends_changed(kept, ran({"a": b"x\n2\n"})) is not None
    assert ends_changed(kept, ran({"a": b"x\n2"})) is None
    assert ends_changed(case({"a": b"1\n2"}, {"a": b"x\n2\n"}), ran({"a": b"x\n2"})) is None
    assert ends_changed(case({"a": b"1\n2"}, {"a": b"2\n1"}), ran({"a": b"2\n1\n"})) is None  # its last line is another one
    assert ends_changed(case({"a": b""}, {"a": b""}), ran({"a": b"\n"})) is None


def test_one_step_that_breaks_several_things_is_one_cause() -> None:
    """Told by what was seen most often."""
    e = evidenced()
    g = e.gs[0]
    plan = Plan((Step("windows-lines", ("f0.csv",)),))
    trial = e._trial(g, plan, world(e, b"k1,1\r\nk1\r\n"), Start(g.base, g.args))
    assert trial is not None
    assert trial.beyond is not None
