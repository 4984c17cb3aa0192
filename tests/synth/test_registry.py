"""The registry: one way in, whole versions, and a life cycle that nothing can skip."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import factories
import pytest
from factories import SANDBOX, draft, measured, register, report, ticking_registry
from hypothesis import given
from hypothesis import strategies as st

from synth.interface import Draft
from synth.registry import (
    NotAccepted,
    Registry,
    RegistryUnusable,
    UnknownSkill,
)
from synth.registry.annotations import measured as annotations
from synth.registry.receipt import document_sha256, report_document
from verifiers.gating.discover import find
from verifiers.interface import CheckResult, Report, Score, Verdict
from verifiers.subject import load_subject


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with ticking_registry(tmp_path / "registry") as opened:
        yield opened


# ------------------------------------------------------------ the one way in


def test_a_pass_is_registered_with_its_bytes_and_its_score(registry: Registry) -> None:
    """What comes back, what is listed and what lies on disk agree."""
    entry = register(registry)
    assert (entry.name, entry.status, entry.score) == ("batch_rename", "active", measured().value)
    assert registry.list() == [entry]
    assert registry.draft("batch_rename") == draft()
    assert sorted(p.name for p in Path(entry.path).iterdir()) == ["SKILL.md", "bindings.json", "evidence.jsonl", "skill.py"]
    assert (registry.root / "skills" / "batch_rename").resolve() == Path(entry.path)
    assert registry.report("batch_rename") == report_document(report(draft()))
    assert entry.report_sha256 == document_sha256(registry.report("batch_rename"))


def test_absent_hints_are_filled_in_as_measured(registry: Registry) -> None:
    """What the decorator declares is kept, the rest comes from the report; the file is not touched."""
    plain = draft()
    said = replace(plain, name="told", source=plain.source.replace("autowire=True", "autowire=True, destructive=True"))
    silent, told = register(registry).metadata["hints"], register(registry, said).metadata["hints"]
    assert set(silent) == set(told) == {"read_only", "destructive", "idempotent", "open_world"}
    assert silent["destructive"] is annotations(report_document(report(plain))).destructive
    assert told == {**silent, "destructive": True}
    assert registry.draft("told").source == said.source


REFUSED: dict[str, Callable[[Report], Report]] = {
    "says FAIL": lambda r: replace(r, verdict=Verdict.FAIL, checks=(CheckResult("contained", Verdict.FAIL),)),
    "says INCONCLUSIVE": lambda r: replace(r, verdict=Verdict.INCONCLUSIVE),
    "is partial": lambda r: replace(r, partial=True),
    "has no score": lambda r: replace(r, score=None),
    "its checks do not": lambda r: replace(r, checks=(*r.checks, CheckResult("contained", Verdict.FAIL))),
    "checks do not": lambda r: replace(r, checks=()),
    "two results": lambda r: replace(r, checks=(*r.checks, r.checks[0])),
    "not between 0 and 1": lambda r: replace(r, score=Score(float("nan"), 0.5, {})),
    "cannot be recomputed": lambda r: replace(r, score=Score(0.9, 0.9, {"formula": "mine"})),
    "its inputs give": lambda r: replace(r, score=Score(0.99, 0.99, measured().inputs)),
    "other code": lambda r: replace(r, sha256="0" * 64),
    "other evidence": lambda r: replace(r, evidence=replace(r.evidence, sha256="0" * 64)),
    "other bindings": lambda r: replace(r, bindings={**r.bindings, "rename-00": {"old_ext": "z"}}),
    "nothing was replayed": lambda r: replace(r, sandbox=None),
    "another sandbox": lambda r: replace(r, sandbox=None if r.sandbox is None else replace(r.sandbox, inventory="0" * 64)),
    "other versions of ruff": lambda r: replace(r, tools={**r.tools, "ruff": "99"}),
}


@pytest.mark.parametrize("why", REFUSED)
def test_everything_but_a_full_pass_about_these_bytes_is_refused(registry: Registry, why: str) -> None:
    """Each condition alone keeps a draft out, says so, and leaves nothing behind."""
    chosen = draft()
    with pytest.raises(NotAccepted, match=why) as caught:
        registry.register(chosen, REFUSED[why](report(chosen)), SANDBOX, tools=report(chosen).tools)
    assert caught.value.advice
    assert registry.list(None) == []
    assert list((registry.root / "versions").iterdir()) == []


CHANGED: dict[str, Callable[[Draft], Draft]] = {
    "other code": lambda d: replace(d, source=d.source + "# edited\n"),
    "other evidence": lambda d: replace(d, evidence=(*d.evidence, factories.trace(7))),
    "other bindings": lambda d: replace(d, bindings={t.task_id: {} for t in d.evidence}),
    "no such trace": lambda d: replace(d, bindings={**d.bindings, "other": {}}),
    "cannot be a skill's name": lambda d: replace(d, name="../evil"),
}


@pytest.mark.parametrize("why", CHANGED)
def test_a_draft_edited_after_its_verification_is_refused(registry: Registry, why: str) -> None:
    """The report is bound to code, evidence and bindings, each by itself."""
    with pytest.raises(NotAccepted, match=why):
        registry.register(CHANGED[why](draft()), report(draft()))
    assert registry.list(None) == []


def test_bindings_of_unusable_traces_need_no_judgment(registry: Registry) -> None:
    """A trace that could not be replayed may keep its binding in the draft."""
    chosen = draft()
    judged = {t: a for t, a in chosen.bindings.items() if t != "rename-02"}
    told = report(chosen, bindings=judged)
    with pytest.raises(NotAccepted, match="other bindings"):
        registry.register(chosen, told)
    registry.register(chosen, replace(told, evidence=replace(told.evidence, unusable={"rename-02": "needs the network"})))


def test_advisory_checks_are_those_that_verification_does_not_require() -> None:
    """Both sides agree which checks may be inconclusive in a pass."""
    from synth.registry.admission import ADVISORY
    from verifiers.verify import NOT_REQUIRED

    assert frozenset(NOT_REQUIRED) == ADVISORY


def test_an_inconclusive_mutants_check_does_not_spoil_a_pass(registry: Registry) -> None:
    """It weighs the evidence; it does not judge the skill."""
    chosen = draft()
    told = report(chosen)
    registry.register(
        chosen, replace(told, checks=(*told.checks, CheckResult.inconclusive("mutants-killed", "no mutant differs")))
    )


@given(st.text(max_size=70))
def test_only_plain_names_get_in(name: str) -> None:
    """Whatever the name, it is a short lower-case identifier or refused: never a path, never an option."""
    from synth.registry.admission import admit

    chosen = replace(draft(), name=name)
    try:
        admit(chosen, report(chosen))
    except NotAccepted:
        assert not (name.isascii() and name.isidentifier() and name.islower() and name[0].isalpha() and len(name) <= 60)
    else:
        assert name.isidentifier()
        assert "/" not in name


# ------------------------------------------------------------ names and versions


def test_the_same_bytes_again_change_nothing(registry: Registry) -> None:
    """Registering is idempotent, and told from a second skill."""
    first = register(registry)
    again = register(registry)
    assert again.version == first.version
    assert len(registry.list(None)) == 1
    assert [e.kind for e in registry.history("batch_rename")] == ["registered", "registered"]


def test_another_skill_of_the_same_name_gets_a_name_of_its_own(registry: Registry) -> None:
    """A name is no identity: the second skill does not replace the first."""
    first = register(registry)
    other = register(registry, draft(summary="Rename, but differently."))
    third = register(registry, draft(summary="Rename in a third way."))
    assert (other.name, third.name) == ("batch_rename_2", "batch_rename_3")
    assert registry.show("batch_rename").version == first.version


def test_the_same_code_with_more_evidence_is_the_same_skill(registry: Registry) -> None:
    """Equal code under an equal name needs nobody to say that it is a new version."""
    register(registry)
    grown = register(registry, draft(traces=4))
    assert grown.name == "batch_rename"
    assert [e.status for e in registry.versions_of("batch_rename")] == ["archived", "active"]


def test_a_new_version_takes_over_and_the_old_one_is_kept(registry: Registry) -> None:
    """``supersedes`` makes a version of the same skill; a rollback brings the old bytes back."""
    old = register(registry)
    new = register(registry, draft(summary="Rename better."), supersedes="batch_rename", generated=200)
    assert new.name == old.name
    assert registry.list() == [new]
    assert registry.show("batch_rename", old.version[:8]).status == "archived"
    assert registry.rollback("batch_rename").version == old.version
    assert (registry.root / "skills" / "batch_rename").resolve().name == old.version
    kinds = [(e.kind, e.version) for e in registry.history("batch_rename")]
    assert kinds == [("registered", old.version), ("registered", new.version), ("superseded", old.version),
                     ("rolled-back", old.version), ("superseded", new.version)]  # fmt: skip


def test_superseding_nothing_is_an_error(registry: Registry) -> None:
    """A name that is not registered cannot be superseded."""
    with pytest.raises(UnknownSkill):
        register(registry, supersedes="nobody")


def test_a_regressed_skill_clears_the_better_score_of_its_past(registry: Registry) -> None:
    """The best ever does not win: an older, better score is gone until it is earned again."""
    old = register(registry, generated=240)
    new = register(registry, draft(summary="Rename worse."), supersedes="batch_rename", generated=20)
    assert new.score < old.score
    cleared = registry.show("batch_rename", old.version)
    assert (cleared.score, cleared.metadata["measured"]) == (0.0, False)


def test_the_latest_verification_of_the_same_bytes_counts(registry: Registry) -> None:
    """Registering again with a worse report lowers the score."""
    best = register(registry, generated=240)
    worse = register(registry, generated=0)
    assert worse.version == best.version
    assert registry.show("batch_rename").score == measured(0).value < best.score


# ------------------------------------------------------------ damage


def test_changed_files_are_noticed_before_use(registry: Registry) -> None:
    """A version's bytes are checked against its digest whenever they are used."""
    entry = register(registry)
    (Path(entry.path) / "skill.py").write_text("import os\n")
    with pytest.raises(RegistryUnusable, match="not those that were verified"):
        registry.draft("batch_rename")


def test_registering_again_heals_a_damaged_version(registry: Registry) -> None:
    """The sound copy takes the place of the damaged one."""
    entry = register(registry)
    (Path(entry.path) / "skill.py").unlink()
    register(registry)
    assert registry.draft("batch_rename") == draft()


def test_a_directory_that_is_not_a_registry_is_refused(tmp_path: Path) -> None:
    """Not a database, another program's database, a newer registry, a file: one clear error each."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(RegistryUnusable):
        Registry(tmp_path / "file")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "registry.db").write_text("this is no database, however long it may be " * 100)
    with pytest.raises(RegistryUnusable, match="damaged"):
        Registry(tmp_path / "text")
    import sqlite3

    Registry(tmp_path / "new").close()
    db = sqlite3.connect(tmp_path / "new" / "registry.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(RegistryUnusable, match="newer version"):
        Registry(tmp_path / "new")
    (tmp_path / "foreign").mkdir()
    db = sqlite3.connect(tmp_path / "foreign" / "registry.db")
    db.executescript("CREATE TABLE t (x); PRAGMA user_version = 1;")
    db.close()
    with pytest.raises(RegistryUnusable, match="another program"):
        Registry(tmp_path / "foreign")


def test_unknown_names_and_versions(registry: Registry) -> None:
    """Every lookup says what is missing."""
    register(registry)
    for call in (lambda: registry.show("nobody"), lambda: registry.history("nobody"), lambda: registry.versions_of("nobody"),
                 lambda: registry.show("batch_rename", "0" * 12), lambda: registry.show("batch_rename", "ab")):  # fmt: skip
        with pytest.raises(UnknownSkill):
            call()


def test_stored_reports_are_the_documented_json(registry: Registry) -> None:
    """No times in them, and every key of ``assay-report/1`` that is not a time."""
    register(registry)
    document = registry.report("batch_rename")
    assert document["schema"] == "assay-report/1"
    assert {
        "subject",
        "verdict",
        "score",
        "checks",
        "not_checked",
        "not_applicable",
        "evidence",
        "bindings",
        "sandbox",
        "tools",
        "seed",
    } <= set(document)
    assert "seconds" not in json.dumps(document)


def test_a_gate_over_a_registry_sees_what_is_active(registry: Registry) -> None:
    """By name, with its evidence and bindings; not the versions that are only kept."""
    register(registry)
    register(registry, draft(summary="Better."), supersedes="batch_rename")
    register(registry, draft("other"))
    registry.archive("other")
    found = find([registry.root])
    assert [t.name for t in found] == ["batch_rename"]
    assert found[0].evidence is not None
    assert found[0].bindings is not None
    assert load_subject(found[0].skill).description == "Better."


# ------------------------------------------------------------ strange things in its directory


@pytest.mark.parametrize("name", ["...intent", "..intent", "x.intent", "note.txt"])
def test_a_stray_file_in_staging_removes_nothing(registry: Registry, name: str) -> None:
    """Only what we name as we do is an intent; any other file goes, and nothing else."""
    entry = register(registry)
    (registry.root / "staging" / name).write_text("")
    with Registry(registry.root) as again:
        assert [e.version for e in again.list()] == [entry.version]
        assert again.draft(entry.name) == draft()
    assert not (registry.root / "staging" / name).exists()


def test_a_lost_database_is_not_taken_for_a_new_one(registry: Registry) -> None:
    """Versions without a database: somebody must restore it; nothing is listed as empty, nothing is advised to be removed."""
    register(registry)
    registry.close()
    for file in registry.root.glob("registry.db*"):
        file.unlink()
    (registry.root / "registry.db").touch()
    with pytest.raises(RegistryUnusable, match="empty or gone"):
        Registry(registry.root)


@pytest.mark.parametrize(
    "change",
    ["document = replace(document, 'PASS', 'FAIL')", "document = '{'", "document = '[' || document"],
)
def test_a_changed_report_is_not_shown(registry: Registry, change: str) -> None:
    """The stored report is bound to its digest."""
    entry = register(registry)
    with registry.database.write() as db:
        db.execute(f"UPDATE report SET {change}")
    with pytest.raises(RegistryUnusable, match="stored report"):
        registry.report(entry.name)


@pytest.mark.parametrize("change", ["metadata = ''", "metadata = '[]'", "registered_at = 'x'"])
def test_a_damaged_row_is_said_to_be_one(registry: Registry, change: str) -> None:
    """One sentence, and no row is invented."""
    register(registry)
    with registry.database.write() as db:
        db.execute(f"UPDATE version SET {change}")
    with pytest.raises(RegistryUnusable, match="damaged"):
        [dict(e.metadata) for e in registry.list()]
