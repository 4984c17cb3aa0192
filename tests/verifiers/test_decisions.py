"""``decisions.jsonl``: what is written is read back; what is damaged is one clear error, and nothing is lost."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.snapshot import Entry, Snapshot
from verifiers.decisions import (
    DecisionError,
    add,
    answer,
    check_cases,
    decided,
    digest_of,
    dump_decision,
    found,
    home,
    load_decisions,
    parse_decision,
)
from verifiers.formats.json_report import report_from_json
from verifiers.interface import Behaviour, Decision, GeneratedCase, Question, Report

ROOT = Path(__file__).parent.parent.parent
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=8).filter(
    lambda n: n not in (".", "..")
) | st.just("na\udce9me")
entries = (
    st.builds(Entry, st.just("file"), st.integers(0, 0o7777), st.binary(max_size=12))
    | st.builds(Entry, st.just("dir"), st.integers(0, 0o7777))
    | st.builds(lambda target: Entry("symlink", 0o777, target=target), st.text("ab/.", min_size=1, max_size=5))
)
trees = st.dictionaries(names | st.just("."), entries, max_size=3).map(
    lambda tree: Snapshot({p: e for p, e in tree.items() if p != "." or e.type == "dir"})
)
texts = st.text(max_size=20)
values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts | st.lists(texts)
behaviours = st.builds(Behaviour, trees, st.none() | texts, texts, st.lists(texts, max_size=2).map(tuple))
cases = st.builds(GeneratedCase, texts, trees, st.dictionaries(texts, values, max_size=2))
questions = st.builds(Question, texts, texts, cases, behaviours, behaviours, st.integers(0, 9))
decisions = st.builds(
    Decision, questions, st.sampled_from(["commands", "skill", "invalid"]), st.just(""), texts, texts
) | st.builds(Decision, questions, st.just("neither"), texts.filter(str.strip), texts, texts)


def question(name: str = "a b.txt", task_id: str = "rename-01") -> Question:
    start = Snapshot({name: Entry("file", content=b"x")})
    return Question(
        "no-blanks-in-names",
        "A file name has a blank, and no recorded one has.",
        GeneratedCase(task_id, start, {"old_ext": "txt"}),
        Behaviour(start, None, "", ("nothing changed",)),
        Behaviour(Snapshot({"a b.md": Entry("file", content=b"x")}), None, "", ("renamed a b.txt to a b.md",)),
        2,
    )


def decision(name: str = "a b.txt", says: str = "skill") -> Decision:
    return Decision(question(name), says, who="kim", when="2026-01-02T03:04:05+00:00")  # type: ignore[arg-type]  # a literal


def report(*asked: Question) -> Report:
    saved = json.loads((ROOT / "tests/golden/reports/passing.json").read_text())
    return replace(report_from_json(saved), questions=asked)


@given(decisions)
def test_round_trip(made: Decision) -> None:
    """A line holds the whole decision, and is one line of ASCII."""
    line = dump_decision(made)
    assert parse_decision(line) == made
    assert line.isascii()
    assert "\n" not in line
    assert parse_decision(line).question.case.digest == made.question.case.digest


@given(decisions, st.data())
def test_any_edit_is_noticed(made: Decision, data: st.DataObject) -> None:
    """Another byte anywhere but in its time, or a part of the line: refused, never read as something else."""
    line = dump_decision(made)
    at = data.draw(st.integers(0, len(line) - 1))
    put = data.draw(st.text(st.characters(codec="ascii"), max_size=2))
    edited = line[:at] + put + line[at + 1 :]
    try:
        again = parse_decision(edited)
    except ValueError:
        return
    assert replace(again, when=made.when) == made  # white space, or the same number written otherwise


@given(st.recursive(values, lambda inner: st.dictionaries(st.sampled_from(["schema", "case", "says", "digest"]), inner)))
def test_foreign_json_is_refused(value: object) -> None:
    """No JSON crashes the reader."""
    with pytest.raises(ValueError, match=r"."):
        parse_decision(json.dumps(value))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60))
def test_any_file_is_refused_or_read(tmp_path: Path, data: bytes) -> None:
    """Whatever bytes follow a decision, the file is read with it or refused, and stays as it is."""
    file = tmp_path / "decisions.jsonl"
    file.write_bytes(dump_decision(decision()).encode() + b"\n" + data)
    before = file.read_bytes()
    if data.strip():
        for use in (lambda: load_decisions(file), lambda: add(file, [decision("other")])):
            with pytest.raises(DecisionError) as caught:
                use()
            assert caught.value.where == f"{file}:{2 + data[: len(data) - len(data.lstrip())].count(10)}"
    else:
        assert load_decisions(file) == (decision(),)
    assert file.read_bytes() == before


def test_what_is_added_is_loaded_in_order(tmp_path: Path) -> None:
    """Lines stay as they are, copies count once, and an edit of the order is no edit of a decision."""
    file = tmp_path / "new" / "decisions.jsonl"
    made = [decision("b"), decision("a", "commands")]
    assert add(file, made[:1]) == (made[0],)
    assert add(file, made) == (made[1],)
    assert add(file, made) == ()
    assert load_decisions(file) == tuple(made)
    assert [p.name for p in file.parent.iterdir()] == ["decisions.jsonl"]


def test_a_new_file_starts_with_those_that_held(tmp_path: Path) -> None:
    """What was decided elsewhere goes on to hold where the next answer is written."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    add(old, [decision("a")])
    add(new, [decision("b")], old)
    assert load_decisions(new) == (decision("a"), decision("b"))
    assert load_decisions(old) == (decision("a"),)


def damage(text: str, how: str) -> str:
    return {
        "edited": text.replace('"says":"skill"', '"says":"commands"'),
        "cut": text[: len(text) // 2],
        "empty": "",
        "unknown says": text.replace('"says":"skill"', '"says":"maybe"'),
        "no JSON": "{" + text,
        "another schema": text.replace("assay-decision/1", "assay-decision/2"),
    }[how]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("edited", "it was edited"),
        ("cut", "looks cut off"),
        ("empty", "is empty"),
        ("unknown says", "it was edited"),
        ("no JSON", "is not JSON"),
        ("another schema", "expected schema assay-decision/1"),
    ],
)
def test_damage_is_one_clear_error(tmp_path: Path, how: str, says: str) -> None:
    """Each names the file, says what is wrong and what to do; nothing is added to a damaged file."""
    file = tmp_path / "decisions.jsonl"
    add(file, [decision()])
    file.write_text(damage(file.read_text(), how))
    left = file.read_bytes()
    for use in (lambda: load_decisions(file), lambda: add(file, [decision("other")])):
        with pytest.raises(DecisionError) as caught:
            use()
        assert says in caught.value.diagnostics()
        assert caught.value.diagnostics().startswith(str(file))
        assert caught.value.advice
    assert file.read_bytes() == left


def test_an_answer_that_nobody_can_give_is_named() -> None:
    """A line whose digest fits but which says something unknown: the allowed answers are named."""
    odd = replace(decision(), says="maybe")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ValueError, match="expected one of commands, skill, neither, invalid, found 'maybe'"):
        parse_decision(dump_decision(odd))


def test_contradictions_name_both_lines(tmp_path: Path) -> None:
    """Two answers to one case cannot both hold, and the second is not written."""
    file = tmp_path / "decisions.jsonl"
    add(file, [decision("a"), decision("b")])
    with pytest.raises(DecisionError, match=r"lines 2 and 3 contradict: of one case the first says skill, the second commands"):
        add(file, [decision("b", "commands")])
    file.write_text(file.read_text() + dump_decision(decision("a", "invalid")) + "\n")
    with pytest.raises(DecisionError, match="lines 1 and 3 contradict"):
        load_decisions(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Somebody named it: it is no empty file."""
    with pytest.raises(DecisionError, match="cannot be read"):
        load_decisions(tmp_path / "decisions.jsonl")


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """The error says what to do, and nothing is left behind."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DecisionError, match="cannot be written"):
        add(tmp_path / "file" / "decisions.jsonl", [decision()])


def test_a_case_whose_trace_is_gone() -> None:
    """A decision is never silently ignored."""
    check_cases([decision()], {"rename-01"}, Path("d"))
    with pytest.raises(DecisionError, match="trace 'rename-01', and the evidence has no such trace"):
        check_cases([decision()], {"rename-02"}, Path("d"))


def _writer(file: Path, first: int) -> None:
    for n in range(first, first + 10):
        add(file, [decision(f"file {n}")])


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    """Processes that answer at once wait for each other."""
    file = tmp_path / "decisions.jsonl"
    writers = [multiprocessing.get_context("fork").Process(target=_writer, args=(file, n)) for n in (0, 10, 20)]
    for w in writers:
        w.start()
    for w in writers:
        w.join()
    assert len(load_decisions(file)) == 30


# ---------------------------------------------------------------- answers


def test_an_answer_is_a_decision(tmp_path: Path) -> None:
    """It holds the question as it was asked, without the command that was shown with it."""
    file = tmp_path / "decisions.jsonl"
    asked = report(replace(question(), answer="assay answer x 1"))
    made = answer(asked, 1, "neither", file, text=" keep both ", who="kim", when="2026-01-02", tasks={"rename-01"})
    assert made == Decision(question(), "neither", "keep both", "kim", "2026-01-02")
    assert load_decisions(file) == (made,)
    assert decided(made).digest == digest_of(made) == json.loads(file.read_text())["digest"]


@pytest.mark.parametrize(
    ("n", "says", "text", "tasks", "error"),
    [
        (2, "skill", "", None, "no question 2: it asks only one"),
        (0, "skill", "", None, "no question 0"),
        (1, "neither", " ", None, "needs a text"),
        (1, "skill", "yes", None, "takes no text"),
        (1, "skill", "", {"other"}, "the evidence has no such trace"),
    ],
)
def test_answers_that_cannot_be(tmp_path: Path, n: int, says: str, text: str, tasks: set[str] | None, error: str) -> None:
    """Nothing is written for them."""
    file = tmp_path / "decisions.jsonl"
    with pytest.raises(DecisionError, match=error):
        answer(report(question()), n, says, file, text=text, tasks=tasks)  # type: ignore[arg-type]  # a literal
    assert not file.exists()


# ---------------------------------------------------------------- places


@pytest.mark.parametrize(
    ("skill", "evidence", "expected"),
    [
        ("d/skill.py", "d/evidence.jsonl", "d/decisions.jsonl"),
        ("d/rename.py", "d/rename.evidence.jsonl", "d/rename.decisions.jsonl"),
        ("d/rename.py", "e/traces.jsonl", "e/traces.decisions.jsonl"),
        ("d/rename.py", "traces", "traces.decisions.jsonl"),
        ("r/versions/abc/skill.py", "r/versions/abc/evidence.jsonl", "r/versions/abc.decisions.jsonl"),
        ("d/rename.py", "r/versions/abc/evidence.jsonl", "d/rename.decisions.jsonl"),
        ("d/skill.py", "r/versions/abc/evidence.jsonl", "d/decisions.jsonl"),
    ],
)
def test_where_an_answer_goes(tmp_path: Path, skill: str, evidence: str, expected: str) -> None:
    """Beside the evidence; what was registered is never changed; and what is written is what is found."""
    (tmp_path / "r/versions/abc").mkdir(parents=True)
    (tmp_path / "r/registry.db").write_text("")
    place = home(tmp_path / skill, tmp_path / evidence)
    assert place == tmp_path / expected
    assert found(tmp_path / skill, tmp_path / evidence) is None
    add(place, [decision()])
    assert found(tmp_path / skill, tmp_path / evidence) == place


def test_those_that_a_version_was_registered_with(tmp_path: Path) -> None:
    """They hold until there are newer ones beside it, or beside the file that borrows its evidence."""
    version = tmp_path / "r/versions/abc"
    version.mkdir(parents=True)
    (tmp_path / "r/registry.db").write_text("")
    skill, evidence = tmp_path / "rename.py", version / "evidence.jsonl"
    for place in (version / "decisions.jsonl", tmp_path / "r/versions/abc.decisions.jsonl", tmp_path / "rename.decisions.jsonl"):
        add(place, [decision()])
        assert found(skill, evidence) == place


@given(decisions, texts)
def test_when_it_was_said_changes_nothing(made: Decision, when: str) -> None:
    """Equal answers have one digest; a line of before, whose digest had the time in it, is still read."""
    later = replace(made, when=when)
    assert digest_of(later) == digest_of(made)
    row = json.loads(dump_decision(later))
    del row["digest"]
    canonical = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    row["digest"] = hashlib.sha256(canonical.encode()).hexdigest()
    assert parse_decision(json.dumps(row)) == later
