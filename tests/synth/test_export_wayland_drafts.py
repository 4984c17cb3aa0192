"""Wayland export beside Wayland's own drafter: its drafts improved, a person's left alone, every signature, no digest changed."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from factories import draft, report, trace
from test_export_wayland import NOW, make_database, router_seeds, rows, where

from synth.export import Skill, skill_of
from synth.export.wayland import export_wayland, retracting_hook, wayland_signatures
from synth.export.wayland_files import directory_digest, draft_body, manifest_bytes
from synth.interface import Draft
from synth.owned import Conflict
from synth.registry import Registry
from synth.registry.hooks import HookFailed


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path / "registry", clock=lambda: NOW) as opened:
        opened.register(draft(), report(draft()), metadata={"signature": "extension-file-rename"})
        yield opened


@pytest.fixture
def skill(registry: Registry) -> Skill:
    return skill_of(registry, "batch_rename")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "wayland"


def their_draft(home: Path, signature: str, *requests: str) -> Path:
    """What Wayland's drafter leaves: its two files, and an unmeasured row of generation 0."""
    name, path = f"auto-{signature}", home / "memory" / "memory.db"
    (home / "skills" / name).mkdir(parents=True, exist_ok=True)
    body = draft_body(signature, [(text, "2 turn(s)") for text in requests])
    (home / "skills" / name / "manifest.json").write_bytes(manifest_bytes(name, signature, len(requests), NOW))
    (home / "skills" / name / "SKILL.md").write_text(body)
    if not path.is_file():
        make_database(path, 7)
    db = sqlite3.connect(path)
    columns = "id, skill_name, prompt_body, score, score_measured, scorer, generation, created_at"
    row = (f"{name}{len(rows(path))}", name, body, 0.0, 0, "auto_drafter", 0, 1)
    db.execute(f"INSERT INTO evolved_prompts ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()
    return home / "skills" / name


def test_waylands_own_draft_is_improved(registry: Registry, skill: Skill, home: Path) -> None:
    """The main case: it drafted the signature before us. And when it drafts again over ours, the next export puts ours back.

    Until then the score is of a skill in quarantine, which the router does not see.
    """
    theirs = their_draft(home, "extension-file-rename", "rename the file extension", "again", "and again")
    done = export_wayland(skill, registry, places=where(home))
    assert done.placed[0].directory == theirs
    assert "Derive from the successful" not in (theirs / "SKILL.md").read_text()
    assert router_seeds(home / "memory" / "memory.db", theirs.name) == 3
    their_draft(home, "extension-file-rename", "other", "requests", "this time")
    assert "Derive from the successful" in (theirs / "SKILL.md").read_text()
    assert json.loads((theirs / "manifest.json").read_bytes())["auto_drafted"] is True
    assert router_seeds(home / "memory" / "memory.db", theirs.name) == 3
    again = export_wayland(skill, registry, places=where(home))
    assert again.placed[0].content_digest == done.placed[0].content_digest == directory_digest(theirs)


@pytest.mark.parametrize("file", ["SKILL.md", "manifest.json", "scripts/skill.py", "notes.txt"])
def test_a_draft_that_a_person_edited_is_left_alone(registry: Registry, skill: Skill, home: Path, file: str) -> None:
    """Theirs as ours: nothing is overwritten, and the row, which is about other text, seeds the router no more."""
    theirs = their_draft(home, "extension-file-rename", "rename", "the", "files")
    if file == "scripts/skill.py":
        export_wayland(skill, registry, places=where(home))
        their_draft(home, "extension-file-rename", "rename", "the", "files")
    path = theirs / file
    path.write_text((path.read_text() if path.is_file() else "") + "\nmine")
    with pytest.raises(Conflict):
        export_wayland(skill, registry, places=where(home))
    assert path.read_text().endswith("mine")
    assert router_seeds(home / "memory" / "memory.db", theirs.name) == 0


def test_what_its_database_did_not_draft_is_a_persons(registry: Registry, skill: Skill, home: Path) -> None:
    """A word changed in the middle of a draft: its shape is still Wayland's."""
    theirs = their_draft(home, "extension-file-rename", "rename", "the", "files") / "SKILL.md"
    mine = theirs.read_text().replace("`the` -> ", "`only mine` -> ")
    theirs.write_text(mine)
    with pytest.raises(Conflict):
        export_wayland(skill, registry, places=where(home))
    assert theirs.read_text() == mine


def test_without_a_database_the_shape_tells_a_draft(registry: Registry, skill: Skill, home: Path) -> None:
    """An unedited one is replaced; text of somebody else's is not."""
    theirs = their_draft(home, "extension-file-rename", "a", "b", "c")
    (home / "memory" / "memory.db").unlink()
    assert export_wayland(skill, registry, places=where(home)).placed[0].directory == theirs
    other = their_draft(home, "all-files-rename", "a", "b", "c") / "SKILL.md"
    (home / "memory" / "memory.db").unlink()
    other.write_text(other.read_text().replace("Derive from", "First think, then derive from"))
    with pytest.raises(Conflict):
        export_wayland(skill, registry, places=where(home))


def test_a_conflict_half_way_leaves_no_score_behind(tmp_path: Path, home: Path) -> None:
    """What was written before the edited directory was met is taken back when the skill is withdrawn."""
    made = said(("Rename all large files", {}), ("Compress the archive", {}), ("Rename all large files now", {}))
    with Registry(tmp_path / "r", clock=lambda: NOW, hooks=(retracting_hook(where(tmp_path / "another")),)) as registry:
        registry.register(made, report(made), metadata={"signature": "files-large-rename"})
        their_draft(home, "archive-compress", "a", "b", "c")
        (home / "skills" / "auto-archive-compress" / "SKILL.md").write_text("mine")
        with pytest.raises(Conflict):
            export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
        assert router_seeds(home / "memory" / "memory.db", "auto-files-large-rename") == 3
        registry.archive("batch_rename")
    assert router_seeds(home / "memory" / "memory.db", "auto-files-large-rename") == 0


def test_a_removed_directory_leaves_no_score_behind(tmp_path: Path, home: Path) -> None:
    """Wayland may draft that signature again, and would be seeded by a row about our text."""
    with Registry(tmp_path / "r", clock=lambda: NOW, hooks=(retracting_hook(where(tmp_path / "none")),)) as registry:
        registry.register(draft(), report(draft()), metadata={"signature": "extension-file-rename"})
        make_database(home / "memory" / "memory.db", 7)
        done = export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
        for placed in done.placed:
            shutil.rmtree(placed.directory)
        registry.archive("batch_rename")
    assert [router_seeds(home / "memory" / "memory.db", p.directory.name) for p in done.placed] == [0] * len(done.placed)


def test_one_database_that_cannot_be_written_does_not_spare_the_others(tmp_path: Path, home: Path) -> None:
    """Each loses the score that can; where it is left is said."""
    homes = [home, tmp_path / "second", tmp_path / "third"]
    with Registry(tmp_path / "r", clock=lambda: NOW, hooks=(retracting_hook(where(tmp_path / "none")),)) as registry:
        registry.register(draft(), report(draft()), metadata={"signature": "extension-file-rename"})
        for one in homes:
            make_database(one / "memory" / "memory.db", 7)
            export_wayland(skill_of(registry, "batch_rename"), registry, places=where(one))
        for one in homes[:2]:
            (one / "memory" / "memory.db").write_bytes(b"no database" * 100)
        with pytest.warns(HookFailed, match="still has its score there: .*second.*; .*wayland"):
            registry.archive("batch_rename")
    assert router_seeds(homes[2] / "memory" / "memory.db", "auto-extension-file-rename") == 0


def said(*requests: tuple[str, dict[str, str]]) -> Draft:
    """A draft whose traces were asked for with these words, with these arguments."""
    evidence = tuple(trace(n, text) for n, (text, _) in enumerate(requests))
    bindings = {t.task_id: dict(args) for t, (_, args) in zip(evidence, requests, strict=True)}
    return replace(draft(), evidence=evidence, bindings=bindings)


def test_every_signature_of_the_task_is_exported(tmp_path: Path, home: Path) -> None:
    """Wayland finds the skill by whichever words are used; the values of one call are in none of the names."""
    made = said(
        ("Rename the symbolic links in releases", {"old_ext": "releases"}),
        ("Rename symbolic links in archives", {"old_ext": "archives"}),
        ("Change links of attachments here", {"old_ext": "attachments"}),
    )
    with Registry(tmp_path / "r", clock=lambda: NOW) as registry:
        registry.register(made, report(made), metadata={"signature": "releases-rename-symbolic"})
        make_database(home / "memory" / "memory.db", 7)
        done = export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
    names = [p.directory.name for p in done.placed]
    assert names == ["auto-links-rename-symbolic", "auto-change-here-links"]
    assert [router_seeds(home / "memory" / "memory.db", name) for name in names] == [3, 3]
    for placed in done.placed:
        body = (placed.directory / "SKILL.md").read_text()
        assert f"Signature: `{placed.directory.name.removeprefix('auto-')}`" in body


@pytest.mark.parametrize(
    ("request_", "args", "signature"),
    [
        ("Make the new directories week01 to week05 there", {"old_ext": "course/week"}, "directories-make-there"),
        ("Make the new directories x1 to x9 there", {"old_ext": "x"}, "directories-make-there"),
        ("Extend the text of every x file", {"old_ext": "x"}, "every-extend-text"),
        ("Copy other notes into the backup", {"old_ext": "the notes"}, "backup-copy-other"),
        ("Put the 备份文件 into some folder", {"old_ext": "文件"}, "folder-into-some"),
    ],
)
def test_a_value_is_in_no_signature_glued_or_not(tmp_path: Path, request_: str, args: dict[str, str], signature: str) -> None:
    """As a word, within one, beside digits; a letter or a stop word within a word is no value."""
    made = said((request_, args))
    with Registry(tmp_path / "r") as registry:
        registry.register(made, report(made))
        assert wayland_signatures(skill_of(registry, "batch_rename")) == [signature]


def test_a_request_without_bindings_gives_no_signature(tmp_path: Path) -> None:
    """Which of its words are values, nobody knows; a skill without parameters takes none."""
    made = said(("Rename the suffix of files", {"old_ext": "x"}), ("Give Schmidt another suffix", {}), ("Rename files", {}))
    unbound = replace(made, bindings={k: v for k, v in made.bindings.items() if k != made.evidence[1].task_id})
    with Registry(tmp_path / "r") as registry:
        registry.register(unbound, report(unbound), metadata={"signature": "another-schmidt-suffix"})
        skill = skill_of(registry, "batch_rename")
        assert wayland_signatures(skill) == ["files-rename-suffix", "files-rename"]
        alone = replace(skill, subject=replace(skill.subject, parameters=()))
        assert wayland_signatures(alone) == ["another-schmidt-suffix", "files-rename-suffix", "files-rename"]


def test_words_that_are_left_over_are_no_signature(tmp_path: Path, home: Path) -> None:
    """With a value in the place of the other words, Wayland names no request so: the skill goes there under its own name."""
    made = said(("Add milk to shopping.txt", {"old_ext": "milk", "new_ext": "shopping.txt"}), ("Append a=1", {"old_ext": "a=1"}))
    made = replace(made, name="add_line", source=made.source.replace("batch_rename", "add_line"))
    with Registry(tmp_path / "r", clock=lambda: NOW) as registry:
        registry.register(made, report(made), metadata={"signature": "milk-shopping-txt"})
        done = export_wayland(skill_of(registry, "add_line"), registry, places=where(home))
        assert [p.directory.name for p in done.placed] == ["auto-append"]
        only = replace(skill_of(registry, "add_line"), draft=replace(made, evidence=made.evidence[:1]))
        assert wayland_signatures(only) == ["add-line"]


def test_two_skills_of_one_signature_do_not_replace_each_other(registry: Registry, skill: Skill, home: Path) -> None:
    """The second is refused, and told which skill is there; the first keeps its directory and its score."""
    make_database(home / "memory" / "memory.db", 7)
    done = export_wayland(skill, registry, places=where(home))
    other = replace(draft("other"), source=draft().source.replace("batch_rename", "other"))
    registry.register(other, report(other), metadata={"signature": "extension-file-rename"})
    with pytest.raises(Conflict, match="holds the skill batch_rename"):
        export_wayland(skill_of(registry, "other"), registry, places=where(home))
    assert directory_digest(done.placed[0].directory) == done.placed[0].content_digest
    assert router_seeds(home / "memory" / "memory.db", "auto-extension-file-rename") == 3


def test_a_skill_that_shares_one_of_its_signatures_is_exported_under_the_others(
    registry: Registry, skill: Skill, home: Path
) -> None:
    """And the note says by name which skill has the shared one."""
    export_wayland(skill, registry, places=where(home))
    made = said(("Rename all large files", {}), ("Rename all small files", {}), ("Compress the archive", {}))
    made = replace(made, name="other", source=made.source.replace("batch_rename", "other"))
    registry.register(made, report(made), metadata={"signature": "extension-file-rename"})
    done = export_wayland(skill_of(registry, "other"), registry, places=where(home))
    names = [p.directory.name for p in done.placed]
    assert names == ["auto-files-large-rename", "auto-files-rename-small", "auto-archive-compress"]
    assert done.notes[0] == "auto-extension-file-rename holds the skill batch_rename"


def test_running_it_changes_no_digest(registry: Registry, skill: Skill, home: Path, tmp_path: Path) -> None:
    """A promotion is bound to the bytes: one ordinary run must not put the skill back into quarantine."""
    done = export_wayland(skill, registry, places=where(home))
    program = done.placed[0].directory / "scripts" / "run.py"
    ran = subprocess.run([program, "-d", tmp_path, '{"old_ext": "zz"}'], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout)["ok"] is True
    assert directory_digest(done.placed[0].directory) == done.placed[0].content_digest


def test_compiled_code_of_a_host_is_no_edit(registry: Registry, skill: Skill, home: Path) -> None:
    """A loader that imports our code may leave it; the next export says nothing of an edit."""
    done = export_wayland(skill, registry, places=where(home))
    cache = done.placed[0].directory / "scripts" / "__pycache__"
    cache.mkdir()
    (cache / "skill.cpython-313.pyc").write_bytes(b"x")
    assert export_wayland(skill, registry, places=where(home)).placed[0].directory == done.placed[0].directory
    assert not cache.exists()


@pytest.mark.parametrize(("user", "project"), [(True, True), (True, False), (False, True), (False, False), (None, False)])
@pytest.mark.parametrize("file", [".wayland-core.toml", ".wayland-core/config.toml"])
def test_user_and_project_must_both_leave_the_life_cycle_on(
    registry: Registry, skill: Skill, home: Path, user: bool | None, project: bool, file: str
) -> None:
    """As upstream ANDs the two files; in either form of the project's."""
    (home / "project" / file).parent.mkdir(parents=True)
    if user is not None:
        (home / "config.toml").write_text(f"[observability]\nskills_lifecycle = {str(user).lower()}\n")
    (home / "project" / file).write_text(f"[observability]\nskills_lifecycle = {str(project).lower()}\n")
    done = export_wayland(skill, registry, places=where(home))
    assert bool(done.placed) == (user is not False and project)
