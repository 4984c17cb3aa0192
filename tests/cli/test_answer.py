"""``assay answer``: from a question in a report to a decision beside the evidence, and to the next verification."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from factories import report as registered

from sandbox.snapshot import Entry, Snapshot
from synth import verification
from synth.cli import answer as answer_command
from synth.cli.program import run
from synth.draft import read_draft
from synth.registry import Registry
from verifiers.decisions import add, load_decisions
from verifiers.decisions import decided as shown
from verifiers.formats import render
from verifiers.formats.json_report import report_from_json
from verifiers.interface import Behaviour, CheckResult, Decision, GeneratedCase, Question, Report, Subject, Verdict
from verifiers.verify import Options
from verifiers.verify import verify as really_verify

ROOT = Path(__file__).parent.parent.parent
RENAME = ROOT / "fixtures" / "skills" / "rename_ext"
Run = Callable[..., int]


def questions(task_id: str) -> tuple[Question, ...]:
    """Three, in the order of their harm."""
    made = []
    for harm, name in ((3, "a b.txt"), (2, "c d.txt"), (1, "e f.txt")):
        start = Snapshot({name: Entry("file", content=b"x")})
        case = GeneratedCase(task_id, start, {"old_ext": "txt"})
        skill = Behaviour(start, None, "", (f"renamed {name}",))
        made.append(Question("no-blanks-in-names", f"{name} has a blank.", case, Behaviour(start), skill, harm))
    return tuple(made)


@dataclass
class Asking:
    """Stands for the judge: asks what has not been decided."""

    task_id: str
    runs: list[Options] = field(default_factory=list)

    def __call__(self, subject: Subject, evidence: object, bindings: object = None, **rest: object) -> Report:
        options = rest["options"]
        assert isinstance(options, Options)
        self.runs.append(options)
        decided = {d.question.case.digest for d in options.decisions}
        saved = json.loads((ROOT / "tests/golden/reports/passing.json").read_text())
        left = tuple(q for q in questions(self.task_id) if q.case.digest not in decided)
        told = tuple(replace(q, answer=f"assay answer {subject.path} {n}") for n, q in enumerate(left, 1))
        summary = tuple(shown(d) for d in options.decisions)
        whole = report_from_json(saved)
        return replace(whole, path=subject.path, sha256=subject.sha256, questions=told, decisions=summary)


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "")
    shutil.copytree(RENAME, tmp_path / "draft")
    return Path("draft")


@pytest.fixture
def judge(draft: Path, monkeypatch: pytest.MonkeyPatch) -> Asking:
    from synth.cli import verifying
    from verifiers.evidence import load_evidence

    asking = Asking(load_evidence(draft / "evidence.jsonl")[0].task_id)
    monkeypatch.setattr(verification, "verify", asking)
    monkeypatch.setattr(verifying, "engine_facts", lambda *facts: ("image inventory", "engine"))
    return asking


def test_an_answer_is_written_and_taken_up(draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """The question comes from the cached report; the next verification has the decision, and asks the others."""
    assert run(["verify", str(draft)]) == 0
    assert "QUESTION[3]" in capsys.readouterr().out
    assert run(["answer", str(draft), "1", "--skill", "--who", "kim"]) == 0
    said = capsys.readouterr()
    assert "a b.txt has a blank." in said.out
    assert "draft/decisions.jsonl" in said.err
    assert "assay verify draft" in said.err
    assert len(judge.runs) == 1
    (made,) = load_decisions(draft / "decisions.jsonl")
    assert (made.says, made.who, made.question.answer) == ("skill", "kim", "")
    assert made.when
    assert run(["verify", str(draft)]) == 0
    assert judge.runs[1].decisions == (made,)
    out = capsys.readouterr().out
    assert "2 open questions, 1 decision" in out
    assert "QUESTION[1]: c d.txt" in out


def test_a_registered_skill_is_verified_where_it_is_registered(
    draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer may refuse a skill in use: the registry has to hear of it."""
    made = replace(read_draft(draft), name="rename_ext")
    with Registry("skills") as registry:
        registry.register(made, registered(made))
    assert run(["answer", made.name, "1", "--skill", "--registry", "skills"]) == 0
    assert f"Now run: assay registry verify {made.name} --registry skills" in capsys.readouterr().err


def test_how_things_stand_counts_questions_that_nobody_has_answered(
    draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was answered is open no more; until it is judged again, that is the next step."""
    made = replace(read_draft(draft), name="rename_ext")
    asked = questions(judge.task_id)[0], replace(questions(judge.task_id)[1], invariant="unique-keys")
    with Registry("assets/skills/learned_skills") as registry:
        registry.register(made, replace(registered(made), questions=asked))
    shutil.rmtree(draft)
    assert run([]) == 0
    assert "open        2 questions about rename_ext" in capsys.readouterr().out
    assert run(["answer", made.name, "1", "--skill"]) == 0
    capsys.readouterr()
    assert run([]) == 0
    out = capsys.readouterr().out
    assert "open        1 question about rename_ext" in out
    assert "answered    rename_ext, not judged again since" in out
    assert "next        assay registry verify rename_ext" in out or "next        assay engine" in out


def test_a_skill_that_no_longer_passes_waits_for_no_approval(draft: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To activate it would be refused: why it fails is the next thing to look at."""
    made = replace(read_draft(draft), name="rename_ext")
    with Registry("assets/skills/learned_skills") as registry:
        entry = registry.register(made, registered(made))
        registry.demote(entry.name, entry.version, "against what was decided")
    shutil.rmtree(draft)
    assert run([]) == 0
    out = capsys.readouterr().out
    assert "waiting" not in out
    assert "refused     rename_ext: it passed once and no longer does: against what was decided" in out
    assert "next        assay verify rename_ext" in out or "next        assay engine" in out


def test_a_cached_verdict_shows_the_same(draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """Questions and decisions are in the cache; another decision is another key."""
    texts = []
    for _ in range(2):
        run(["verify", str(draft), "--format", "json"])
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert len(json.loads(texts[0])["questions"]) == 3
    assert len(judge.runs) == 1
    run(["answer", str(draft), "2", "--neither", "keep both"])
    run(["verify", str(draft), "--format", "json"])
    capsys.readouterr()
    assert len(judge.runs) == 2


def test_commands_copied_from_one_report_all_mean_what_they_say(
    draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers change with each answer; the case that the command names does not."""
    run(["verify", str(draft)])
    asked = questions(judge.task_id)
    for n, (question, says) in enumerate(zip(asked, ("commands", "skill", "invalid"), strict=True), 1):
        assert run(["answer", str(draft), str(n), "--case", question.case.digest[:12], f"--{says}"]) == 0
    made = load_decisions(draft / "decisions.jsonl")
    assert [(d.question.case.digest, d.says) for d in made] == [
        (q.case.digest, s) for q, s in zip(asked, ("commands", "skill", "invalid"), strict=True)
    ]
    capsys.readouterr()


def test_what_is_answered_already_is_said_at_once(draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """Not after minutes of verification; one question that is left is asked about as before."""
    run(["verify", str(draft)])
    for question, says in zip(questions(judge.task_id)[:2], ("invalid", "skill"), strict=True):
        assert run(["answer", str(draft), "1", "--case", question.case.digest[:12], f"--{says}"]) == 0
    assert run(["answer", str(draft), "1", "--commands"]) == 0
    capsys.readouterr()
    runs = len(judge.runs)
    assert run(["answer", str(draft), "1", "--skill"]) == 2
    assert "every question is answered already (1: " in capsys.readouterr().err
    assert len(judge.runs) == runs
    run(["verify", str(draft)])
    capsys.readouterr()
    assert run(["answer", str(draft), "1", "--skill"]) == 2
    assert "no question 1: all that it asked is answered (invalid, skill, commands)" in capsys.readouterr().err


def test_a_saved_report_can_be_answered(draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """The gate's own report of another machine, say; one on other code is refused."""
    run(["verify", str(draft), "-o", "report.json"])
    runs = len(judge.runs)
    assert run(["answer", str(draft), "3", "--skill", "--report", "report.json", "--no-cache"]) == 0
    assert len(judge.runs) == runs
    (draft / "skill.py").write_text((draft / "skill.py").read_text() + "\n# edited\n")
    assert run(["answer", str(draft), "3", "--skill", "--report", "report.json"]) == 2
    assert "no report on draft/skill.py as it is now" in capsys.readouterr().err


def test_decisions_can_be_named(draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """``--decisions`` is written and read; beside the evidence there is then nothing."""
    assert run(["answer", str(draft), "1", "--skill", "--decisions", "d/mine.jsonl"]) == 0
    assert "assay verify draft --decisions d/mine.jsonl" in capsys.readouterr().err
    assert not (draft / "decisions.jsonl").exists()
    assert run(["verify", str(draft), "--decisions", "d/mine.jsonl"]) == 0
    assert len(judge.runs[-1].decisions) == 1
    assert run(["verify", str(draft), "--decisions", "d/other.jsonl"]) == 2
    assert "does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["4", "--skill"], "the report has no question 4: it asks 3"),
        (["1"], "say one of --commands, --skill, --neither TEXT, --invalid"),
        (["1", "--skill", "--invalid"], "say one of"),
        (["1", "--neither", " "], "needs a text"),
        (["1", "--skill", "--case", "ffff"], "no question is about case ffff"),
    ],
)
def test_what_cannot_be_answered(
    draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str], words: list[str], error: str
) -> None:
    """One line each, and nothing is written."""
    assert run(["answer", str(draft), *words]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert error in lines[-1]
    assert not (draft / "decisions.jsonl").exists()


def test_a_skill_without_evidence(draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing that a decision could add to."""
    (draft / "evidence.jsonl").unlink()
    assert run(["answer", str(draft), "1", "--skill"]) == 3
    assert "no evidence for draft" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "code"), [("verify", 2), ("answer", 2), ("gate", 1)])
@pytest.mark.parametrize("damage", ["edited", "cut", "gone", "contradicts"])
def test_damaged_decisions_are_never_ignored(
    draft: Path, judge: Asking, capsys: pytest.CaptureFixture[str], command: str, code: int, damage: str
) -> None:
    """Every command says so in one line, and the file stays as it is."""
    asked = questions(judge.task_id if damage != "gone" else "another-trace")[0]
    file = draft / "decisions.jsonl"
    add(file, [Decision(asked, "skill")])
    if damage == "edited":
        file.write_text(file.read_text().replace("a b.txt", "a c.txt"))
    elif damage == "cut":
        file.write_text(file.read_text()[:-40])
    elif damage == "contradicts":
        other = draft.parent / "other.jsonl"
        add(other, [Decision(asked, "commands")])
        file.write_text(file.read_text() + other.read_text())
    left = file.read_bytes()
    assert run([command, str(draft), *(["1", "--skill"] if command == "answer" else [])]) == code
    said = capsys.readouterr()
    words = {"edited": "it was edited", "cut": "looks cut off", "gone": "no such trace", "contradicts": "contradict"}
    (line,) = [text for text in (said.out + said.err).splitlines() if words[damage] in text]
    assert "decisions.jsonl" in line
    assert file.read_bytes() == left


def test_questions_of_checks_reach_the_report(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The three most harmful ones, each with a command that names its case and the files that were named."""
    from verifiers import verify as module
    from verifiers.subject import load_subject

    asked = (
        *questions("t"),
        Question("unique-keys", "m", replace(questions("t")[0].case, task_id="u"), *[Behaviour(Snapshot())] * 2),
    )
    result = CheckResult("parses", Verdict.PASS, questions=asked[::-1])
    monkeypatch.setattr(module, "run_static", lambda *a, **k: [[result]])
    options = Options(static_only=True, decisions=(Decision(asked[0], "skill"),), reproduce_with=("--evidence e.jsonl",))
    report = really_verify(load_subject(draft / "skill.py"), (), options=options)
    assert [q.harm for q in report.questions] == [3, 2, 1]
    digest = asked[0].case.digest[:12]
    assert report.questions[0].answer == f"assay answer draft/skill.py 1 --case {digest} --evidence e.jsonl"
    assert [d.says for d in report.decisions] == ["skill"]
    assert report.seed != really_verify(load_subject(draft / "skill.py"), (), options=replace(options, decisions=())).seed
    assert "QUESTION[3]" in render([report], "plain", titles={})
    assert answer_command.command.name == "answer"
