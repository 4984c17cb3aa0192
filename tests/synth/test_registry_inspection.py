"""Audit, differences and re-verification of a registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from factories import SANDBOX, draft, report

from sandbox.interface import Entry, Snapshot
from synth.interface import Draft, RegistryEntry
from synth.registry import Registry, WrongState
from verifiers.decisions import add, home
from verifiers.interface import Behaviour, CheckResult, Decision, GeneratedCase, Question, Report, Verdict


class Clock:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry(tmp_path: Path, clock: Clock) -> Iterator[Registry]:
    with Registry(tmp_path, clock=clock) as opened:
        opened.register(draft(), report(draft(), generated=40))
        yield opened


def kinds(registry: Registry, **today: object) -> list[tuple[str, str]]:
    return [(a.name, a.kind) for a in registry.audit(**today)]


def test_a_sound_registry_has_no_findings(registry: Registry) -> None:
    """Fresh, intact, unique, on today's image with today's tools."""
    assert registry.audit(inventory=SANDBOX.inventory, tools=report(draft()).tools) == []


def test_what_was_verified_long_ago_or_elsewhere_is_stale(registry: Registry, clock: Clock) -> None:
    """By age, by image, by tool version; each names the command that helps."""
    clock.now += timedelta(days=181)
    found = registry.audit(inventory="0" * 64, tools={"assay": "0.1.0", "ruff": "1.0"})
    assert [a.kind for a in found] == ["stale"] * 3
    assert {a.message for a in found} == {
        "last verified on 2026-01-01",
        "verified on another sandbox image",
        "verified with other versions of ruff",
    }
    assert all("assay registry verify batch_rename" in a.advice for a in found)


def test_duplicates_are_found_by_code_and_by_description(registry: Registry) -> None:
    """Equal code under two names; equal words for different code."""
    same = replace(draft(traces=4), name="other")
    registry.register(same, report(same))
    alike = replace(draft(), name="third", source=draft().source + "# more\n")
    registry.register(alike, report(alike))
    assert kinds(registry) == [("other", "duplicate"), ("third", "duplicate")]


def test_open_questions_and_answers_that_it_was_not_judged_by_are_found(registry: Registry) -> None:
    """Of what is in use; who was asked and who has answered each know the next command; damaged answers are broken."""
    start = Snapshot({"a b.txt": Entry("file", content=b"x")})
    case = GeneratedCase("rename-01", start, {})
    asked = [Question(name, "m", case, Behaviour(start), Behaviour(start)) for name in ("no-blanks", "unique-keys")]
    of = replace(draft(summary="Asks."), name="asking")
    registry.register(of, replace(report(of), questions=tuple(asked)))
    (one,) = registry.audit()
    assert (one.name, one.kind, one.message) == ("asking", "asks", "2 questions about it are open")
    assert "assay answer asking 1" in one.advice
    skill = Path(registry.show("asking").path) / "skill.py"
    file = home(skill, skill.with_name("evidence.jsonl"))
    add(file, [Decision(asked[0], "skill")])
    assert kinds(registry) == [("asking", "answered"), ("asking", "asks")]
    file.write_text("cut", "utf-8")
    assert kinds(registry) == [("asking", "broken")]
    registry.archive("asking")
    assert kinds(registry) == []


def test_damage_is_broken(registry: Registry) -> None:
    """Changed files, missing files, and links of SKILL.md that lead nowhere."""
    linked = replace(
        draft(summary="Links."), name="linked", skill_md="[a](references/gone.md) [b](skill.py) [c](https://example.org)\n"
    )
    registry.register(linked, report(linked))
    assert [(a.name, a.message) for a in registry.audit()] == [
        ("linked", "SKILL.md refers to 'references/gone.md', which is not there")
    ]
    (Path(registry.show("batch_rename").path) / "bindings.json").unlink()
    assert ("batch_rename", "broken") in kinds(registry)


def test_a_directory_that_no_row_names_is_an_orphan(registry: Registry) -> None:
    """Nobody sees it; the audit says that it is there."""
    (registry.root / "versions" / ("e" * 64)).mkdir()
    assert kinds(registry) == [("", "orphan")]


def test_a_cleared_score_is_unmeasured(registry: Registry) -> None:
    """After a rollback to a version whose better score was cleared."""
    worse = draft(summary="Worse.")
    registry.register(worse, report(worse, generated=0), supersedes="batch_rename")
    registry.rollback("batch_rename")
    assert kinds(registry) == [("batch_rename", "unmeasured")]


def test_reverification_demotes_what_drifted(registry: Registry) -> None:
    """PASS renews, FAIL demotes, INCONCLUSIVE changes nothing; what is damaged is not even run."""
    for name in ("fails", "unsure", "damaged"):
        made = draft(name, summary=f"It {name}.")
        registry.register(made, report(made))
    (Path(registry.show("damaged").path) / "skill.py").write_text("")
    asked: list[str] = []

    def verify(entry: RegistryEntry, of: Draft) -> Report:
        asked.append(entry.name)
        assert of.name == entry.name
        failed = {
            "verdict": Verdict.FAIL,
            "score": None,
            "checks": (CheckResult("contained", Verdict.FAIL, why="left a process"),),
        }
        unsure = {"verdict": Verdict.INCONCLUSIVE, "score": None}
        return report(of, generated=200, **{"fails": failed, "unsure": unsure}.get(entry.name, {}))

    found = {r.name: r for r in registry.verify(verify)}
    assert asked == ["batch_rename", "fails", "unsure"]
    assert {n: (r.verdict, r.drifted) for n, r in found.items()} == {
        "batch_rename": (Verdict.PASS, False),
        "fails": (Verdict.FAIL, True),
        "unsure": (Verdict.INCONCLUSIVE, False),
        "damaged": (Verdict.INCONCLUSIVE, False),
    }
    assert found["batch_rename"].after == registry.show("batch_rename").score
    assert found["batch_rename"].after != found["batch_rename"].before
    assert {e.name for e in registry.list()} == {"batch_rename", "unsure", "damaged"}
    assert ("fails", "drifted") in kinds(registry)
    assert [r.name for r in registry.verify(verify, ["fails"])] == ["fails"]


def test_differences_name_files_traces_and_score(registry: Registry) -> None:
    """Text as unified diffs, evidence as which traces came and went."""
    with pytest.raises(WrongState, match="only one version"):
        registry.diff("batch_rename")
    made = draft(traces=4, summary="Renames.")
    made = replace(made, evidence=made.evidence[1:], bindings={t.task_id: made.bindings[t.task_id] for t in made.evidence[1:]})
    made = replace(made, evidence=(replace(made.evidence[0], task_description="Changed"), *made.evidence[1:]))
    registry.register(made, report(made, generated=120), supersedes="batch_rename")
    found = registry.diff("batch_rename")
    assert found.score > 0
    assert found.files["evidence.jsonl"] == "-rename-00\n~rename-01\n+rename-03\n"
    assert "-Rename every file with one extension to another." in found.files["SKILL.md"]
    assert set(found.files) == {"SKILL.md", "skill.py", "evidence.jsonl", "bindings.json"}
    back = registry.diff("batch_rename", old=found.new.version, new=found.old.version)
    assert back.score == -found.score


@pytest.mark.parametrize("change", ["version SET score = 0.99", "report SET document = replace(document, 'ruff', 'r')"])
def test_a_score_that_nothing_measured_is_broken(registry: Registry, change: str) -> None:
    """What was written into the database beside the report, or into the report, is found."""
    with registry.database.write() as db:
        db.execute(f"UPDATE {change}")
    assert kinds(registry) == [("batch_rename", "broken")]
