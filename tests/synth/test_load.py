"""Loading a registered skill into the running process."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import ModuleType

import pytest
from factories import draft, report

from synth.registry import Registry, RegistryUnusable, UnknownSkill, WrongState
from synth.registry.load import load, provide_skill_api


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    opened = Registry(tmp_path / "registry")
    made = draft()
    opened.register(made, report(made))
    return opened


def test_a_registered_skill_is_callable(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By directory or open registry; it does its work in the current directory, defaults included."""
    (tmp_path / "a.txt").write_text("x")
    monkeypatch.chdir(tmp_path)
    skill = load(registry.root, "batch_rename")
    assert asyncio.run(skill(old_ext="txt")) == {"ok": True, "changed": 1}
    assert (tmp_path / "a.md").read_text() == "x"
    assert load(registry, "batch_rename").__name__ == "batch_rename"


def test_only_active_skills_load(registry: Registry) -> None:
    """Archived: refused. Unknown: refused."""
    registry.archive("batch_rename")
    with pytest.raises(WrongState, match="archived"):
        load(registry, "batch_rename")
    with pytest.raises(UnknownSkill):
        load(registry, "nobody")
    with pytest.raises(UnknownSkill, match="no registry"):
        load(registry.root / "skills", "batch_rename")
    assert not (registry.root / "skills" / "registry.db").exists()


def test_changed_bytes_do_not_load(registry: Registry) -> None:
    """Nothing of an edited file runs, whichever file of the version was edited."""
    path = Path(registry.show("batch_rename").path)
    (path / "skill.py").write_text("raise SystemExit('ran')\n")
    with pytest.raises(RegistryUnusable):
        load(registry, "batch_rename")


def test_a_foreign_skill_api_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A skill must not run against another module of that name."""
    monkeypatch.setitem(sys.modules, "skill_api", ModuleType("skill_api"))
    with pytest.raises(WrongState, match="skill_api"):
        provide_skill_api()
    monkeypatch.delitem(sys.modules, "skill_api")
    assert provide_skill_api() is sys.modules["skill_api"]
