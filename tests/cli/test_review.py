"""``crystallize --review``: what is shown of a new skill, and what each answer does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from factories import draft, report

from sandbox.interface import Entry, Snapshot, effects
from synth.cli import crystallize
from synth.cli.outcomes import after_review
from synth.cli.outputs import plan
from synth.cli.review import Review, shown
from synth.cli.trees import diff_lines
from synth.crystallization.outcome import PatternOutcome
from synth.interface import Draft, RegistryEntry, TracePattern
from synth.registry import Registry
from verifiers.decisions import add, decided, home
from verifiers.interface import Behaviour, Decision, GeneratedCase, Question, Report, Verdict


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path / "skills") as opened:
        for made in (
            draft("batch_rename"),
            draft("other_rename", source=draft().source.replace("changed = 0", "changed = 0 + 0")),
        ):
            opened.register(
                made, report(made), require_approval=True, metadata={"source": "crystallized", "generator": "embedded/1"}
            )
        yield opened


def passing(made: Draft, entry: RegistryEntry) -> Report:
    del entry
    return report(made)


def review(registry: Registry, *answers: str, verify: object = passing) -> int:
    waiting = [(e.name, e.version) for e in registry.list("staged")]
    given = iter(answers)
    ends = Review(registry, verify, lambda text: next(given)).run(waiting)  # type: ignore[arg-type]  # a test's stand-in
    return sum(entry.status == "active" for entry in ends.values())


def test_accepting_and_leaving(registry: Registry, capsys: pytest.CaptureFixture[str]) -> None:
    """`y` makes it active in the person's name, `n` leaves it waiting, anything else says what there is."""
    assert review(registry, "what", "y", "n") == 1
    assert [e.name for e in registry.list("active")] == ["batch_rename"]
    assert [e.name for e in registry.list("staged")] == ["other_rename"]
    told = capsys.readouterr().out
    assert "[1/2] batch_rename" in told
    assert "[2/2] other_rename" in told
    assert "'what' is none of these:\n" in told
    assert "r NAME rename it" in told


def test_a_run_says_what_became_of_its_skills(registry: Registry) -> None:
    """Its outcome has the new name and no longer waits; what was left waits, under the command that accepts it."""
    given = iter(("r change_suffix", "y", "n"))
    ends = Review(registry, passing, lambda text: next(given)).run([(e.name, e.version) for e in registry.list("staged")])
    told = [
        after_review(PatternOutcome("tidy", ("t0",), "registered", "it waits", "old_name", version), entry)
        for version, entry in ends.items()
    ]
    waiting = registry.list("staged")[0]
    first = told[0]
    assert (first.skill, first.version, first.why) == ("change_suffix", registry.show("change_suffix").version, "")
    assert told[1].why == (f"it waits for approval: assay registry activate other_rename {waiting.version[:12]} --approver WHO")


def test_the_rest_can_be_left(registry: Registry) -> None:
    """`q` asks nothing more and accepts nothing."""
    assert review(registry, "q") == 0
    assert len(registry.list("staged")) == 2


def test_renaming_is_verified_and_kept(registry: Registry) -> None:
    """Skill and parameter get other names, code and bindings along; the first form is archived; how it came about is kept."""
    assert review(registry, "p old_ext suffix", "r change_suffix", "y", "q") == 1
    (active,) = registry.list("active")
    assert active.name == "change_suffix"
    assert active.metadata["parameters"][0]["name"] == "suffix"
    assert "suffix" in registry.source(active)
    assert all("suffix" in args for args in registry.draft(active.name).bindings.values())
    assert active.metadata["source"] == "crystallized"
    assert {e.status for e in registry.versions_of("batch_rename")} == {"archived"}


def test_an_answer_goes_along_under_the_new_names(registry: Registry) -> None:
    """What was decided since a version was registered holds for its renamed form: it is judged by it, and has it."""
    entry = registry.show("batch_rename")
    start = Snapshot({"a b.txt": Entry("file")})
    case = GeneratedCase(registry.draft("batch_rename").evidence[0].task_id, start, {"old_ext": "txt", "new_ext": "md"})
    skill = Path(entry.path) / "skill.py"
    question = Question("no-blanks-in-names", "A blank.", case, Behaviour(start), Behaviour(start))
    add(home(skill, skill.with_name("evidence.jsonl")), [Decision(question, "invalid", who="kim")])

    def judged(made: Draft, entry: RegistryEntry) -> Report:
        return report(made, decisions=tuple(decided(d) for d in made.decisions))

    assert review(registry, "p old_ext suffix", "y", "q", verify=judged) == 1
    (kept,) = registry.decisions(registry.show("batch_rename"))
    assert dict(kept.question.case.args) == {"suffix": "txt", "new_ext": "md"}
    assert (kept.says, kept.who) == ("invalid", "kim")


def test_a_renaming_that_does_not_pass_changes_nothing(registry: Registry, capsys: pytest.CaptureFixture[str]) -> None:
    """The reason is said, and the same version is asked about again; a bad name too."""

    def failing(made: Draft, entry: RegistryEntry) -> Report:
        return report(made, verdict=Verdict.FAIL, score=None)

    before = {(e.name, e.version, e.status) for e in registry.list(None)}
    assert review(registry, "r change_suffix", "r class", "p nope x", "n", "q", verify=failing) == 0
    assert {(e.name, e.version, e.status) for e in registry.list(None)} == before
    told = capsys.readouterr().err
    assert "nothing that fails is registered" in told
    assert "'class' cannot be a name here" in told
    assert "there is no parameter 'nope'" in told


def test_all_answers_are_named_and_new_words_are_shown(registry: Registry, capsys: pytest.CaptureFixture[str]) -> None:
    """In the prompt; what was typed wrong is said, what was asked for help is not; a new description is read back."""
    waiting = [(e.name, e.version) for e in registry.list("staged")]
    given = iter(("?", "p old_ext=suffix", "yes", "d Give files another ending.", "d old_ext: The old ending", "q"))
    prompts: list[str] = []
    Review(registry, passing, lambda text: prompts.append(text) or next(given)).run(waiting)
    assert set(prompts) == {"accept? [y/n/r/p/d/c/q/?]"}
    lines = capsys.readouterr().out.splitlines()
    assert "'p old_ext=suffix' has not the words that p takes:" in lines
    assert [line for line in lines if "is none of these" in line] == ["'yes' is none of these:"]
    assert "Give files another ending." in lines
    assert "    old_ext: The old ending" in lines


def test_waiting_for_a_person_is_no_time_of_the_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The sum beneath the table says how long judging took, however long somebody looked at what came of it."""
    clock = [0.0]

    def reviewed(request: object, patterns: object, found: list[PatternOutcome], judged: Callable[[], None]) -> None:
        found.append(PatternOutcome("tidy", ("t0",), "registered", "", "tidy", score=0.5))
        clock[0] += 7
        judged()
        clock[0] += 1000

    monkeypatch.setattr(crystallize, "_take_up", reviewed)
    monkeypatch.setattr(crystallize, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(crystallize, "count_outcomes", lambda *of: None)
    request: Any = SimpleNamespace(outputs=plan((), (), ("plain", "json")), generator=object)
    pattern = TracePattern("repeated", (), 1, 1.0, "tidy", "", ())
    crystallize._settle(request, [pattern], "")
    assert "7.0 s)" in capsys.readouterr().out


def test_what_is_shown(registry: Registry) -> None:
    """Words, signature, score, a recording with its arguments and its effect."""
    text = "\n".join(shown(registry, registry.list("staged")[0]))
    assert "batch_rename(old_ext: str, new_ext: str), score at least 0." in text
    assert "on the recording " in text


def test_effects_are_shown_as_diffs() -> None:
    """Text line by line, a missing last newline said; bytes, modes and links in one line each."""
    before = Snapshot(
        {"a": Entry("file", 0o644, b"one\ntwo\n"), "b": Entry("file", 0o644, b"\0"), "m": Entry("file", 0o644, b"x\n")}
    )
    after = Snapshot({
        "a": Entry("file", 0o644, b"one\n2"), "b": Entry("file", 0o644, b"\0\1"), "m": Entry("file", 0o600, b"x\n"),
        "new": Entry("file", 0o644, b"hi\n"), "l": Entry("symlink", 0o777, b"", "a"),
    })  # fmt: skip
    lines = list(diff_lines(effects(before, after)))
    assert lines[:6] == ["--- a/a", "+++ b/a", "@@ -1,2 +1,2 @@", " one", "-two", "+2 (no newline at the end)"]
    assert "content b: 1 bytes, mode 644 -> 2 bytes, mode 644" in lines
    assert "created l: nothing -> link to a" in lines
    assert "mode m: 2 bytes, mode 644 -> 2 bytes, mode 600" in lines
    assert lines[-4:] == ["--- /dev/null", "+++ b/new", "@@ -0,0 +1 @@", "+hi"]
