"""Answers to questions go with a skill: into drafts, versions, their successors, attestations and documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from factories import draft, report, ticking_registry

from sandbox.snapshot import Entry, Snapshot
from synth.attest import sign, signed_reports, statement, write_attestation
from synth.draft import is_ours, read_draft, write_draft
from synth.export import skill_of
from synth.export.agentskills import files_of
from synth.interface import Draft
from synth.registry import NotAccepted, Registry
from synth.registry.receipt import report_document, report_sha256
from synth.registry.versions import version_of
from verifiers.decisions import DecisionError, add, decided, home, load_decisions
from verifiers.interface import Behaviour, Decision, GeneratedCase, Question, Report

START = Snapshot({"a b.txt": Entry("file", content=b"x")})
QUESTION = Question(
    "no-blanks-in-names", "A file name has a *blank*.", GeneratedCase("rename-01", START, {}), Behaviour(START), Behaviour(START)
)
YES = Decision(QUESTION, "skill", who="kim")
NEVER = Decision(replace(QUESTION, case=replace(QUESTION.case, args={"new_ext": ""})), "invalid")


def judged(of: Draft, **changes: Any) -> Report:
    return report(of, decisions=tuple(decided(d) for d in of.decisions), **changes)


def test_a_draft_keeps_its_decisions(tmp_path: Path) -> None:
    """They are written and read with it."""
    path = write_draft(tmp_path, draft(decisions=(YES, NEVER)))
    assert read_draft(path) == draft(decisions=(YES, NEVER))
    assert not (write_draft(tmp_path / "other", draft()) / "decisions.jsonl").exists()


def test_an_answer_is_no_edit_and_survives_another_draft(tmp_path: Path) -> None:
    """The skill is generated anew: what was answered stays, in the same directory, and new answers join it."""
    path = write_draft(tmp_path, draft())
    add(home(path / "skill.py", path / "evidence.jsonl"), [YES])
    assert is_ours(path)
    assert write_draft(tmp_path, draft()) == path
    assert write_draft(tmp_path, draft(summary="Better.")) == path
    assert read_draft(path) == draft(summary="Better.", decisions=(YES,))
    write_draft(tmp_path, draft(summary="Best.", decisions=(NEVER, YES)))
    assert read_draft(path).decisions == (YES, NEVER)
    assert [p.name for p in tmp_path.iterdir()] == ["batch_rename"]


def test_a_draft_that_says_otherwise_is_an_error(tmp_path: Path) -> None:
    """A person's answer is not overruled by what another draft brings along."""
    path = write_draft(tmp_path, draft(decisions=(YES,)))
    with pytest.raises(DecisionError, match="contradict"):
        write_draft(tmp_path, draft(decisions=(replace(YES, says="commands"),)))
    assert load_decisions(path / "decisions.jsonl") == (YES,)


def test_a_version_has_the_decisions_that_its_report_rests_on(tmp_path: Path) -> None:
    """Other ones are refused; another answer is another version."""
    of = draft(decisions=(YES,))
    with Registry(tmp_path) as registry:
        with pytest.raises(NotAccepted, match="other decisions"):
            registry.register(of, report(of))
        with pytest.raises(NotAccepted, match="other decisions"):
            registry.register(draft(), judged(of))
        first = registry.register(draft(), report(draft()))
        entry = registry.register(of, judged(of), supersedes="batch_rename")
        assert entry.version != first.version
        assert registry.draft("batch_rename").decisions == (YES,)
        assert registry.decisions(entry) == (YES,)
        assert "+" in registry.diff("batch_rename").files["decisions.jsonl"]
        assert registry.audit() == []
        later = draft(decisions=(replace(YES, when="2026-01-02"),))
        assert version_of(later) == entry.version  # the same answer, given at another time
        assert report_sha256(judged(later)) == report_sha256(judged(of))


def test_an_answer_about_a_registered_skill_leaves_its_version_alone(tmp_path: Path) -> None:
    """It lies beside the version, holds together with the older ones, and a new verification with it is accepted."""
    of = draft(decisions=(YES,))
    with Registry(tmp_path) as registry:
        entry = registry.register(of, judged(of))
        skill, evidence = Path(entry.path) / "skill.py", Path(entry.path) / "evidence.jsonl"
        add(home(skill, evidence), [NEVER], Path(entry.path) / "decisions.jsonl")
        registry.check_intact(entry)
        assert registry.decisions(entry) == (YES, NEVER)
        again = judged(replace(of, decisions=(YES, NEVER)))
        assert registry.reverified(entry.name, entry.version, again).report_sha256 == report_sha256(again)
        with pytest.raises(NotAccepted, match="other decisions"):
            registry.reverified(entry.name, entry.version, judged(of))


def test_bytes_that_an_answer_is_about_come_in_with_it_only(tmp_path: Path) -> None:
    """The very version once more, by a report that knows nothing of the answer, is refused; what was refused stays out of use."""
    with Registry(tmp_path) as registry:
        entry = registry.register(draft(), report(draft()))
        add(home(Path(entry.path) / "skill.py", Path(entry.path) / "evidence.jsonl"), [YES])
        registry.demote(entry.name, entry.version, "against what was decided")
        with pytest.raises(NotAccepted, match="other decisions"):
            registry.register(draft(), report(draft()))
        assert registry.list() == []
        again = registry.register(draft(), judged(draft(decisions=(YES,))))
        assert (again.version, again.status) == (entry.version, "active")


def test_answers_are_found_by_the_recording_that_they_are_about(tmp_path: Path) -> None:
    """Of whatever version; another recording under the same name is none of them, and of one case the latest answer counts."""
    with ticking_registry(tmp_path) as registry:
        of = draft(decisions=(YES, NEVER))
        registry.register(of, judged(of))
        assert registry.answers_about(of.evidence) == (YES, NEVER)
        assert registry.answers_about([replace(t, commands=("ls",)) for t in of.evidence]) == ()
        later = draft("other", decisions=(replace(YES, says="commands"),))
        registry.register(later, judged(later))
        assert registry.answers_about(of.evidence) == (*later.decisions, NEVER)


def test_reports_without_questions_keep_their_digest() -> None:
    """Questions and decisions are in the receipt only where there are any, and change it."""
    plain = report(draft())
    assert {"questions", "decisions"} & set(report_document(plain)) == set()
    asked = replace(plain, questions=(QUESTION,))
    held = replace(plain, decisions=(decided(YES),))
    assert len({report_sha256(r) for r in (plain, asked, held)}) == 3
    assert report_document(asked)["questions"][0]["case"]["task_id"] == "rename-01"


def test_an_attestation_binds_decisions(tmp_path: Path) -> None:
    """A report on other decisions is not the signed one."""
    from synth.keys import _public_pem

    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    (tmp_path / "key.pub").write_bytes(_public_pem(key.public_key()))
    of = draft(decisions=(YES,))
    directory = write_draft(tmp_path, of)
    told = judged(of)
    made = statement(told, directory)
    assert "decisions" in {c["name"] for c in made["predicate"]["configuration"]}
    write_attestation(directory, sign(made, key))
    for one, expected in ((told, True), (report(of), False), (replace(told, decisions=(decided(NEVER),)), False)):
        assert bool(signed_reports([one], {one.path: directory}, tmp_path / "key.pub")) is expected


def test_an_invalid_start_is_a_precondition(tmp_path: Path) -> None:
    """SKILL.md says so, harmlessly; other answers are no preconditions."""
    of = draft(decisions=(YES, NEVER))
    with Registry(tmp_path) as registry:
        registry.register(of, judged(of))
        text = files_of(skill_of(registry, "batch_rename"))["SKILL.md"].decode()
    assert text.count("A file name has a") == 1
    assert "## Preconditions" in text
    assert "- A file name has a \\*blank\\*. (breaks: no-blanks-in-names)" in text
    with Registry(tmp_path / "other") as registry:
        registry.register(draft(decisions=(YES,)), judged(draft(decisions=(YES,))))
        assert b"Preconditions" not in files_of(skill_of(registry, "batch_rename"))["SKILL.md"]
