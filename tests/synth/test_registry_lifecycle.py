"""What may become of a registered version: approval, archive, revocation, drift, and every order of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from factories import draft, register, report, ticking_registry
from hypothesis import given
from hypothesis import strategies as st

from synth.registry import ApprovalRequired, NotAccepted, Registry, Revoked, UnknownSkill, WrongState
from synth.registry.core import Origin
from verifiers.interface import CheckResult, Verdict


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with ticking_registry(tmp_path / "registry") as opened:
        yield opened


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
    assert registry.origin("batch_rename") == Origin(frozenset({"rename-00", "rename-01", "rename-02"}), 0)


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
