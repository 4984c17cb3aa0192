"""The registry: one way in, whole versions, and a life cycle that nothing can skip."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import factories
import pytest
from factories import SANDBOX, draft, measured, report
from hypothesis import given
from hypothesis import strategies as st

from synth.interface import Draft, RegistryEntry
from synth.registry import (
    ApprovalRequired,
    NotAccepted,
    Registry,
    RegistryUnusable,
    Revoked,
    UnknownSkill,
    WrongState,
)
from synth.registry.annotations import measured as annotations
from synth.registry.receipt import document_sha256, report_document
from verifiers.gating.discover import find
from verifiers.interface import CheckResult, Report, Score, Verdict
from verifiers.subject import load_subject


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    clock = iter(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=n) for n in range(10_000))
    with Registry(tmp_path / "registry", clock=lambda: next(clock)) as opened:
        yield opened


def register(registry: Registry, of: Draft | None = None, *, generated: int = 160, **options: Any) -> RegistryEntry:
    chosen = of or draft()
    return registry.register(chosen, report(chosen, generated=generated), **options)


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


# ------------------------------------------------------------ life cycle


def test_what_waits_for_approval_is_not_active(registry: Registry) -> None:
    """Staged until a person approved exactly this version; then it is active, and the history knows who."""
    entry = register(registry, require_approval=True)
    assert entry.status == "staged"
    assert registry.list() == []
    with pytest.raises(ApprovalRequired):
        registry.promote("batch_rename")
    with pytest.raises(WrongState, match="needs a name"):
        registry.approve("batch_rename", entry.version, approver=" ")
    assert registry.approve("batch_rename", entry.version, approver="ada").status == "active"
    event = next(e for e in registry.history("batch_rename") if e.kind == "approved")
    assert (event.actor, event.version, event.detail["report"]) == ("ada", entry.version, entry.report_sha256)


def test_an_approval_holds_for_the_approved_bytes_only(registry: Registry) -> None:
    """The next version waits again, and the approved one stays active meanwhile."""
    old = register(registry, require_approval=True)
    registry.approve("batch_rename", old.version, approver="ada")
    new = register(registry, draft(summary="Changed."), supersedes="batch_rename", require_approval=True)
    assert new.status == "staged"
    assert registry.show("batch_rename").version == old.version


def test_archive_and_restore(registry: Registry) -> None:
    """An archived skill is out of use and its files stay; restoring makes it active again."""
    entry = register(registry)
    assert registry.archive("batch_rename", reason="not needed").status == "archived"
    assert registry.list() == []
    assert not (registry.root / "skills" / "batch_rename").is_symlink()
    assert registry.restore("batch_rename") == entry
    with pytest.raises(WrongState, match="another version is active"):
        registry.restore("batch_rename")


def test_revoked_code_never_comes_back(registry: Registry) -> None:
    """Not under its name, not under another, not with other evidence, not by restore."""
    entry = register(registry)
    (gone,) = registry.revoke("batch_rename", reason="leaks")
    assert gone.status == "revoked"
    with pytest.raises(Revoked):
        register(registry)
    with pytest.raises(Revoked):
        register(registry, replace(draft(traces=4), name="other"))
    for verb in (registry.restore, registry.rollback, registry.promote, registry.archive):
        with pytest.raises(WrongState):
            verb("batch_rename", entry.version)
    assert Path(entry.path).is_dir()


def test_drift_demotes_until_it_passes_again(registry: Registry) -> None:
    """A FAIL takes the skill out of use and its score away; no verb brings it back but a new PASS."""
    entry = register(registry)
    failed = report(
        draft(), verdict=Verdict.FAIL, score=None, checks=(CheckResult("contained", Verdict.FAIL, why="left a file"),)
    )
    after = registry.reverified("batch_rename", entry.version, failed)
    assert (after.status, after.score, after.metadata["drifted"]) == ("staged", 0.0, True)
    with pytest.raises(WrongState, match="drifted"):
        registry.promote("batch_rename")
    registry.reverified("batch_rename", entry.version, report(draft()))
    assert registry.promote("batch_rename").score == entry.score


def test_an_inconclusive_reverification_changes_no_status(registry: Registry) -> None:
    """A missing engine proves nothing about a skill."""
    entry = register(registry)
    after = registry.reverified("batch_rename", entry.version, report(draft(), verdict=Verdict.INCONCLUSIVE, score=None))
    assert (after.status, after.score) == ("active", entry.score)
    assert registry.history("batch_rename")[-1].detail["verdict"] == "INCONCLUSIVE"
    with pytest.raises(WrongState, match="other code"):
        registry.reverified("batch_rename", entry.version, report(draft(), sha256="0" * 64))


def test_easier_evidence_renews_no_score(registry: Registry) -> None:
    """A new verification counts only if it is about what was registered."""
    entry = register(registry, generated=0)
    for easier in (draft(traces=1), draft(traces=4)):
        with pytest.raises(NotAccepted, match="other evidence"):
            registry.reverified("batch_rename", entry.version, report(easier))
    assert registry.show("batch_rename").score == entry.score


def test_what_was_unseen_stays_unseen(registry: Registry) -> None:
    """The stored score says which traces the code was made without; verifying it again must count them alike."""
    register(registry)
    assert registry.unseen("batch_rename") == {"rename-00", "rename-01", "rename-02"}


def test_every_change_is_told_to_the_hooks(tmp_path: Path) -> None:
    """After the commit, with what happened and the entry as it is then."""
    told: list[tuple[str, str, str]] = []
    with Registry(tmp_path, hooks=(lambda kind, e: told.append((kind, e.name, e.status)),)) as registry:
        register(registry)
        registry.archive("batch_rename")
        registry.restore("batch_rename")
    assert told == [
        ("registered", "batch_rename", "active"),
        ("archived", "batch_rename", "archived"),
        ("restored", "batch_rename", "active"),
    ]


@given(
    st.lists(
        st.sampled_from(["register", "worse", "other", "archive", "restore", "rollback", "promote", "revoke", "drift"]),
        max_size=12,
    )
)
def test_any_order_of_verbs_keeps_the_rules(tmp_path_factory: pytest.TempPathFactory, verbs: list[str]) -> None:
    """At most one active version; links, rows and route index agree; nothing revoked or drifted is active."""
    with Registry(tmp_path_factory.mktemp("r")) as registry:
        for number, verb in enumerate(verbs):
            try:
                _apply(registry, verb, number)
            except (NotAccepted, WrongState, UnknownSkill):
                continue
        active = registry.list()
        names = [e.name for e in active]
        assert len(set(names)) == len(names)
        assert all(not e.metadata["drifted"] for e in active)
        assert {p.name for p in (registry.root / "skills").iterdir()} == set(names)
        assert {r["name"] for r in registry.database.read("SELECT name FROM indexed")} == set(names)
        assert all(registry.versions.intact(e.version) for e in registry.list(None))
        assert list((registry.root / "staging").iterdir()) == []


def _apply(registry: Registry, verb: str, number: int) -> None:
    match verb:
        case "register" | "worse":
            register(registry, generated=160 if verb == "register" else 0)
        case "other":
            register(registry, draft(summary=f"Version {number}."), supersedes="batch_rename")
        case "drift":
            entry = registry.show("batch_rename")
            registry.demote("batch_rename", entry.version, "no longer passes")
        case _:
            getattr(registry, verb)("batch_rename")


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
