"""Wayland export: bytes as Wayland writes them, the row that its router reads, and its own safety controls respected."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from factories import draft, report, trace

from synth.cli.program import run
from synth.config import Config
from synth.export import ExportError, Skill, skill_of
from synth.export.document import asked
from synth.export.wayland import export_wayland, retract_wayland, retracting_hook
from synth.export.wayland_files import (
    content_digest,
    directory_digest,
    draft_body,
    lifecycle_on,
    manifest_bytes,
    places,
    places_here,
    rfc3339,
    truncate,
)
from synth.owned import Conflict
from synth.registry import Registry
from synth.route import seed_successes
from verifiers.interface import Verdict

FIXTURES = Path(__file__).parents[2] / "fixtures" / "wayland"
GOLDEN = Path(__file__).parents[2] / "fixtures" / "wayland_export"
NOW = datetime(2026, 8, 21, 3, 16, 32, 123456, tzinfo=UTC)


def vectors(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FIXTURES / name).read_text("utf-8").splitlines()]


def make_database(path: Path, version: int) -> None:
    """A memory database of Wayland's at one schema version, from the recorded facts of schema 7."""
    text = (FIXTURES / "wayland_schema.sql").read_text()
    if version < 7:
        text = re.sub(r",\s+score_measured  INTEGER NOT NULL DEFAULT 1", "", text)
        text = re.sub(r"CREATE INDEX idx_evolved_prompts_skill_scorer_measured.*?;", "", text, flags=re.DOTALL)
    text = re.sub(r"INSERT INTO schema_version.*", "", text)
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    db.executescript(text)
    db.executemany("INSERT INTO schema_version VALUES (?)", [(v,) for v in range(1, version + 1)])
    db.commit()
    db.close()


def rows(path: Path) -> list[dict[str, Any]]:
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    found = [dict(r) for r in db.execute("SELECT * FROM evolved_prompts ORDER BY created_at, generation")]
    db.close()
    return found


def router_seeds(path: Path, name: str) -> int:
    """What Wayland's ``seed_pairs_for`` makes of a skill's rows (schema 7; 6 without the measured column)."""
    db = sqlite3.connect(path)
    measured = "score_measured" in {r[1] for r in db.execute("PRAGMA table_info(evolved_prompts)")}
    order = "score_measured DESC, " if measured else ""
    select = "score, score_measured" if measured else "score, 1"
    where_and_order = f"WHERE skill_name = ? AND scorer = 'auto_drafter' ORDER BY {order}score DESC, created_at DESC LIMIT 1"
    sql = f"SELECT {select} FROM evolved_prompts {where_and_order}"
    row = db.execute(sql, (name,)).fetchone()
    db.close()
    return seed_successes(row[0]) if row is not None and row[1] else 0


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


def where(home: Path) -> Any:
    return places({"WAYLAND_HOME": str(home)}, Path("/nowhere"), home / "project")


# ------------------------------------------------------------ bytes


@pytest.mark.parametrize("vector", vectors("wayland_skillmd_bodies.jsonl"))
def test_bodies_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    """The drafter's SKILL.md, byte for byte."""
    assert draft_body(vector["signature"], [(t["user_input"], t["summary"]) for t in vector["trajectories"]]) == vector["body"]


@pytest.mark.parametrize("vector", vectors("wayland_content_digest.jsonl"))
def test_digests_are_those_of_the_vectors(vector: dict[str, Any], tmp_path: Path) -> None:
    """Order by path components; of a mapping and of a directory."""
    files = {name: text.encode() for name, text in vector["files"].items()}
    assert content_digest(files) == vector["content_digest"]
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert directory_digest(tmp_path) == vector["content_digest"]


def test_the_manifest_is_written_as_wayland_writes_it() -> None:
    """Eight keys in alphabetical order, two spaces, no newline at the end, no measured score in it."""
    assert manifest_bytes("auto-code-refactor", "code-refactor", 3, NOW).decode() == (
        '{\n  "auto_drafted": true,\n  "drafted_at": "2026-08-21T03:16:32.123456+00:00",\n  "evidence_count": 3,\n'
        '  "name": "auto-code-refactor",\n  "needs_review": true,\n  "score": null,\n  "scorer": "auto_drafter",\n'
        '  "signature": "code-refactor"\n}'
    )
    assert "é日".encode() in manifest_bytes("auto-é日", "é日", 3, NOW)


@pytest.mark.parametrize(("microsecond", "text"), [(0, ""), (120_000, ".120"), (123_456, ".123456"), (100, ".000100")])
def test_times_have_as_many_digits_as_chrono_gives(microsecond: int, text: str) -> None:
    """None, three or six."""
    assert rfc3339(NOW.replace(microsecond=microsecond)) == f"2026-08-21T03:16:32{text}+00:00"


def test_truncation_counts_bytes_and_keeps_characters() -> None:
    """80 bytes, never a half character."""
    assert truncate("a" * 80) == "a" * 80
    assert truncate("é" * 41) == "é" * 40 + "..."
    assert truncate("a" + "é" * 40) == "a" + "é" * 39 + "..."


def test_places_follow_waylands_precedence() -> None:
    """Each variable, each fallback, and no extra segment under WAYLAND_HOME."""
    me = Path("/home/me")
    assert places({"WAYLAND_HOME": "/w"}, me).skills == Path("/w/skills")
    assert places({"XDG_DATA_HOME": "/d"}, me).skills == Path("/d/wayland-core/skills")
    assert places({}, me).skills == Path("/home/me/.config/wayland-core/skills")
    assert places({"XDG_CONFIG_HOME": "/c"}, me).config == Path("/c/wayland-core")
    assert places({"WAYLAND_HOME": "/w"}, me).database == Path("/w/memory/memory.db")
    assert places({"WAYLAND_HOME": "/w", "AIONRS_MEMORY_DIR": "/a"}, me).database == Path("/a/memory/memory.db")
    assert places({"WCORE_MEMORY_DIR": "/m", "AIONRS_MEMORY_DIR": "/a"}, me).database == Path("/m/memory/memory.db")
    assert places({"WAYLAND_SKILLS_GOVERNANCE_DIR": "/g"}, me).tombstones == Path("/g/tombstones")
    assert places({"WAYLAND_HOME": "/w"}, me).tombstones == Path("/w/skills-governance/tombstones")
    assert places({}, me).tombstones == Path("/home/me/.local/share/wayland-core/skills-governance/tombstones")


# ------------------------------------------------------------ the draft


def test_a_verified_skill_is_a_quarantined_draft(registry: Registry, skill: Skill, home: Path) -> None:
    """Manifest and body are those of a draft by both of Wayland's tests, and the body says how to call the skill."""
    done = export_wayland(skill, registry, places=where(home))
    assert done.placed[0].directory == home / "skills" / "auto-extension-file-rename"
    manifest = json.loads((done.placed[0].directory / "manifest.json").read_bytes())
    assert (manifest["auto_drafted"], manifest["needs_review"], manifest["score"]) == (True, True, None)
    body = (done.placed[0].directory / "SKILL.md").read_text()
    assert body.startswith("# Auto-drafted skill: auto-extension-file-rename\n\n> NOTE: This skill was auto-drafted from")
    assert "\n\nSignature: `extension-file-rename`\n" in body
    assert "Derive from the successful trajectories" not in body
    assert 'python3 "${WCORE_SKILL_DIR}"/scripts/run.py --directory DIR \'{"old_ext": "..."}\'' in body
    assert {p.name for p in (done.placed[0].directory / "scripts").iterdir()} == {"run.py", "skill.py", "skill_api.py"}
    assert directory_digest(done.placed[0].directory) == done.placed[0].content_digest
    assert not done.placed[0].row_written
    assert "no memory database yet" in done.notes[0]
    assert not (home / "memory").exists()


def test_the_exported_files_are_those_of_the_golden_export(registry: Registry, skill: Skill, home: Path) -> None:
    """A change of a byte is a change of a digest that somebody's promotion is bound to: it must be meant."""
    done = export_wayland(skill, registry, places=where(home))
    golden = GOLDEN / "auto-extension-file-rename"
    for name in ("manifest.json", "SKILL.md"):
        assert (done.placed[0].directory / name).read_text("utf-8") == (golden / name).read_text("utf-8")


def test_exporting_again_changes_no_byte(registry: Registry, skill: Skill, home: Path) -> None:
    """A promotion grant is bound to the bytes; it must survive."""
    first = export_wayland(skill, registry, places=where(home))
    again = export_wayland(skill, registry, places=where(home))
    assert again.placed[0].content_digest == first.placed[0].content_digest
    assert directory_digest(first.placed[0].directory) == first.placed[0].content_digest


def test_a_persons_edits_are_kept(registry: Registry, skill: Skill, home: Path) -> None:
    """Unlike Wayland's own drafter."""
    done = export_wayland(skill, registry, places=where(home))
    (done.placed[0].directory / "SKILL.md").write_text("mine")
    with pytest.raises(Conflict):
        export_wayland(skill, registry, places=where(home))
    assert (done.placed[0].directory / "SKILL.md").read_text() == "mine"


def test_hostile_requests_cannot_run_commands(tmp_path: Path, home: Path) -> None:
    """The texts that made Wayland's own drafts run commands are harmless in ours."""
    expansions = (re.compile(r"!`[^`]+`"), re.compile(r"```!"), re.compile(r"\$ARGUMENTS|\$\d|\$\{(?!WCORE_SKILL_DIR\})"))
    for number, vector in enumerate(vectors("wayland_skillmd_bodies.jsonl")):
        said = [t["user_input"] for t in vector["trajectories"]] or ["nothing"]
        evidence = tuple(trace(n, text) for n, text in enumerate(said))
        made = replace(
            draft(summary=f"Number {number}."),
            evidence=evidence,
            bindings={t.task_id: {"old_ext": t.task_description} for t in evidence},
        )
        with Registry(tmp_path / f"r{number}") as registry:
            registry.register(made, report(made), metadata={"signature": f"sig-{number}"})
            done = export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
            body = (done.placed[0].directory / "SKILL.md").read_text()
        assert not any(e.search(body) for e in expansions)
        assert body.count("${WCORE_SKILL_DIR}") == 1


def test_only_a_person_lifts_the_quarantine(registry: Registry, skill: Skill, home: Path) -> None:
    """Released: no mark of a draft is left, and the history says who, what bytes, where."""
    done = export_wayland(skill, registry, places=where(home), release=True, actor="ada")
    manifest = json.loads((done.placed[0].directory / "manifest.json").read_bytes())
    assert (manifest["auto_drafted"], manifest["needs_review"]) == (False, False)
    assert not (done.placed[0].directory / "SKILL.md").read_text().startswith("# Auto-drafted")
    event = next(e for e in registry.history("batch_rename") if e.kind == "released")
    assert (event.kind, event.actor, event.detail["content_digest"]) == ("released", "ada", done.placed[0].content_digest)


def test_a_skill_is_released_under_one_name(registry: Registry, skill: Skill, home: Path) -> None:
    """The model's list has it once: the other names are drafts, hidden. Which one it is, stays."""
    for _ in range(2):
        done = export_wayland(skill, registry, places=where(home), release=True)
        assert len(done.placed) > 1
        assert [p.released for p in done.placed] == [p is done.placed[0] for p in done.placed]
        drafted = [json.loads((p.directory / "manifest.json").read_bytes())["auto_drafted"] for p in done.placed]
        assert drafted == [not p.released for p in done.placed]
        assert done.notes[0] == f"{done.placed[0].directory.name} is listed, its other names are hidden drafts"
        front = yaml.safe_load((done.placed[0].directory / "SKILL.md").read_text().split("---\n")[1])
        # Wayland's model searches it by words: those of the requests.
        assert front["when-to-use"].startswith("Rename all .txt files to .md; Rename all .html files to .htm")
    events = [e.detail["directory"] for e in registry.history("batch_rename") if e.kind == "released"]
    assert set(events) == {str(done.placed[0].directory)}


def test_it_is_said_how_people_ask_for_it(skill: Skill) -> None:
    """With a parameter's name where a request says a value; requests that are one then are said once."""
    values = {
        t.task_id: dict(zip(("old_ext", "new_ext"), re.findall(r"\.(\w+)", t.task_description), strict=True))
        for t in skill.draft.evidence
    }
    assert asked(replace(skill, draft=replace(skill.draft, bindings=values))) == "Rename all .<old_ext> files to .<new_ext>"


def test_what_was_released_stays_released(registry: Registry, skill: Skill, home: Path) -> None:
    """In the version that a person released, and it is said; who removes the directory gets a draft again."""
    done = export_wayland(skill, registry, places=where(home), release=True, actor="ada")
    again = export_wayland(skill, registry, places=where(home))
    directory = done.placed[0].directory
    assert again.placed[0].content_digest == done.placed[0].content_digest == directory_digest(directory)
    assert again.placed[0].released
    assert any(note.startswith(f"{directory.name} stays released") for note in again.notes)
    shutil.rmtree(directory)
    assert not export_wayland(skill, registry, places=where(home)).placed[0].released


def test_a_project_has_a_folder_that_the_sandbox_binds(
    registry: Registry, skill: Skill, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its skills are there, what was revoked, the score and the switch are the user's; of one name Wayland reads the user's."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("WAYLAND_HOME", str(home))
    make_database(home / "memory" / "memory.db", 7)
    there = places_here(Path(".wayland-core"))
    assert (there.project, there.config) == (tmp_path / "project", home)
    done = export_wayland(skill, registry, places=there, release=True)
    name = done.placed[0].directory.name
    assert done.placed[0].directory == Path(".wayland-core/skills") / name
    assert router_seeds(home / "memory" / "memory.db", name) == 3
    assert [p.name for p in Path(".wayland-core").iterdir()] == ["skills"]
    assert done.notes == (f"{name} is listed, its other names are hidden drafts",)
    export_wayland(skill, registry, places=places_here())
    hidden = export_wayland(skill, registry, places=there)
    assert hidden.notes[-1] == f"Wayland reads {home / 'skills' / name} in its place, of the same name: remove that"
    graves = home / "skills-governance" / "tombstones"
    graves.mkdir(parents=True)
    (graves / "1.json").write_text(json.dumps({"skill_name": name}))
    with pytest.raises(ExportError, match="revoked"):
        export_wayland(skill, registry, places=there)


def test_who_releases_is_told_where_it_can_be_run(
    registry: Registry, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wayland's sandbox does not bind its home, where it looks for skills; a draft is not run."""
    monkeypatch.setenv("WAYLAND_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    command = ["export", "batch_rename", "--to", "wayland", "--registry", str(registry.root)]
    for options, told in (([], False), (["--release"], True), (["--release", "-o", ".wayland-core"], False)):
        assert run([*command, *options]) == 0
        assert ("-o .wayland-core puts it where it can be run" in capsys.readouterr().out) is told


def test_a_version_that_nobody_released_is_a_draft(registry: Registry, skill: Skill, home: Path) -> None:
    """Only a person lifts the quarantine, of what was there to be looked at; that the release is over is said."""
    export_wayland(skill, registry, places=where(home), release=True)
    newer = replace(draft(), source=f"{draft().source}\n# newer\n")
    registry.register(newer, report(newer), supersedes="batch_rename", metadata={"signature": "extension-file-rename"})
    done = export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
    assert not any(placed.released for placed in done.placed)
    assert f"{done.placed[0].directory.name} was released in another version: this one is a draft until --release" in done.notes


@pytest.mark.parametrize("tombstone", [{"skill_name": "auto-extension-file-rename"}, {"signature": "extension-file-rename"}])
def test_a_revoked_skill_is_not_written_again(registry: Registry, skill: Skill, home: Path, tombstone: dict[str, str]) -> None:
    """By name or by signature; and an unreadable tombstone may be the one."""
    graves = home / "skills-governance" / "tombstones"
    graves.mkdir(parents=True)
    (graves / "1.json").write_text(json.dumps(tombstone))
    with pytest.raises(ExportError, match="revoked"):
        export_wayland(skill, registry, places=where(home))
    (graves / "1.json").write_text("{")
    with pytest.raises(ExportError, match="cannot be read"):
        export_wayland(skill, registry, places=where(home))
    assert not (home / "skills").exists()


@pytest.mark.parametrize(
    "text", ["[memory]\nskills_lifecycle = false\n", "[memory]\nenabled = false\n", "skills_lifecycle = false\n"]
)
def test_with_the_life_cycle_off_nothing_is_touched(registry: Registry, skill: Skill, home: Path, text: str) -> None:
    """No directory, no row, one note."""
    home.mkdir()
    (home / "config.toml").write_text(text)
    make_database(home / "memory" / "memory.db", 7)
    done = export_wayland(skill, registry, places=where(home))
    assert done.placed == ()
    assert "life cycle is off" in done.notes[0]
    assert rows(home / "memory" / "memory.db") == []
    assert sorted(p.name for p in home.iterdir()) == ["config.toml", "memory"]
    assert lifecycle_on(home / "elsewhere", home)


# ------------------------------------------------------------ the row


@pytest.mark.parametrize("version", [2, 5, 6, 7])
def test_the_measured_row_seeds_the_router(registry: Registry, skill: Skill, home: Path, version: int) -> None:
    """Beside Wayland's own unmeasured row: its child, of our score, read by the router's query."""
    path = home / "memory" / "memory.db"
    make_database(path, version)
    db = sqlite3.connect(path)
    columns = "id, skill_name, prompt_body, score, scorer, generation, created_at"
    draft_row = "'d', 'auto-extension-file-rename', 'x', 0.0, 'auto_drafter', 0, 1"
    db.execute(f"INSERT INTO evolved_prompts ({columns}) VALUES ({draft_row})")
    if version == 7:
        db.execute("UPDATE evolved_prompts SET score_measured = 0")
    db.commit()
    db.close()
    done = export_wayland(skill, registry, places=where(home))
    assert done.placed[0].row_written
    own = next(r for r in rows(path) if r["skill_name"] == "auto-extension-file-rename" and r["generation"] == 1)
    assert (own["parent_id"], own["generation"], own["scorer"], own["score"]) == ("d", 1, "auto_drafter", skill.entry.score)
    assert own.get("score_measured", 1) == 1
    assert own["created_at"] == int(NOW.timestamp())
    assert own["prompt_body"] == (done.placed[0].directory / "SKILL.md").read_text()
    metadata = json.loads(own["metadata"])
    assert own["metadata"] == json.dumps(metadata, sort_keys=True, separators=(",", ":"))
    assert metadata["content_digest"] == done.placed[0].content_digest
    assert router_seeds(path, "auto-extension-file-rename") == 3
    again = export_wayland(skill, registry, places=where(home))
    assert not again.placed[0].row_written
    assert len(rows(path)) == 1 + len(done.placed)


@pytest.mark.parametrize("version", [6, 7])
def test_a_regression_takes_the_better_row_out(registry: Registry, home: Path, version: int) -> None:
    """The best ever wins in Wayland, so the older, better row must go; and all of them when the skill fails."""
    path, name = home / "memory" / "memory.db", "auto-extension-file-rename"
    make_database(path, version)
    export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
    registry.register(draft(), report(draft(), generated=0))
    export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
    assert router_seeds(path, name) == 2
    assert sorted(r["score"] for r in rows(path))[0] == 0.0
    assert retract_wayland(name, places=where(home)) == 1
    assert router_seeds(path, name) == 0


MIGRATION_7 = """
ALTER TABLE evolved_prompts ADD COLUMN score_measured INTEGER NOT NULL DEFAULT 1;
UPDATE evolved_prompts SET score = 0.0, score_measured = 0 WHERE scorer = 'auto_drafter';
INSERT INTO schema_version VALUES (7);
"""
"""What Wayland does to the scores of schema 6."""


def test_a_score_comes_back_after_their_migration(registry: Registry, skill: Skill, home: Path) -> None:
    """Which unmeasures every row of its drafter's, ours too; the next export writes it anew, and can be taken back."""
    path, name = home / "memory" / "memory.db", "auto-extension-file-rename"
    make_database(path, 6)
    first = export_wayland(skill, registry, places=where(home))
    assert router_seeds(path, name) == 3
    db = sqlite3.connect(path)
    db.executescript(MIGRATION_7)
    db.close()
    assert router_seeds(path, name) == 0
    again = export_wayland(skill, registry, places=where(home))
    assert [p.row_written for p in again.placed] == [True] * len(first.placed)
    assert [p.content_digest for p in again.placed] == [p.content_digest for p in first.placed]
    assert router_seeds(path, name) == 3
    assert not export_wayland(skill, registry, places=where(home)).placed[0].row_written
    assert retract_wayland(name, places=where(home)) == 1
    assert router_seeds(path, name) == 0


def test_a_copy_from_before_the_change_is_kept(registry: Registry, skill: Skill, home: Path) -> None:
    """Of the last export as a whole; what changes nothing makes none."""
    path = home / "memory" / "memory.db"
    make_database(path, 7)
    done = export_wayland(skill, registry, places=where(home))
    assert len(rows(path)) == len(done.placed)
    kept = path.with_name("memory.db.before-assay")
    assert len(done.placed) > 1
    assert rows(kept) == []
    stamp = kept.stat().st_mtime_ns
    export_wayland(skill, registry, places=where(home))
    assert kept.stat().st_mtime_ns == stamp
    assert sorted(p.name for p in path.parent.iterdir() if "part" in p.name) == []


def test_the_copy_is_from_before_the_last_change(registry: Registry, skill: Skill, home: Path) -> None:
    """Taking a score back is one too: the copy still has the score."""
    path = home / "memory" / "memory.db"
    make_database(path, 7)
    done = export_wayland(skill, registry, places=where(home))
    name = done.placed[0].directory.name
    assert retract_wayland(name, places=where(home)) == 1
    assert router_seeds(path, name) == 0
    assert router_seeds(path.with_name("memory.db.before-assay"), name) == 3


def test_a_database_that_is_not_known_is_left_alone(registry: Registry, skill: Skill, home: Path) -> None:
    """Newer, of no stated schema, foreign, damaged: the draft is written, the row is not, and a note says why."""
    path = home / "memory" / "memory.db"
    make_database(path, 7)
    db = sqlite3.connect(path)
    db.execute("INSERT INTO schema_version VALUES (8)")
    db.commit()
    db.close()
    assert "newer than 7" in export_wayland(skill, registry, places=where(home)).notes[0]
    db = sqlite3.connect(path)
    for no_version in ("DELETE FROM schema_version", "DROP TABLE schema_version"):
        db.execute(no_version)
        db.commit()
        assert "does not say which schema" in export_wayland(skill, registry, places=where(home)).notes[0]
    db.close()
    assert rows(path) == []
    path.write_bytes(b"not a database at all, but long enough to be looked at" * 50)
    assert "cannot be used" in export_wayland(skill, registry, places=where(home)).notes[0]
    path.unlink()
    sqlite3.connect(path).execute("CREATE TABLE evolved_prompts (id)").connection.close()
    assert "known shape" in export_wayland(skill, registry, places=where(home)).notes[0]


@pytest.mark.parametrize("version", [5, 6, 7])
def test_nothing_is_outside_of_quarantine(registry: Registry, skill: Skill, home: Path, version: int) -> None:
    """Wayland loads each SKILL.md below its skills; one without a manifest beside it is neither hidden nor revoked."""
    make_database(home / "memory" / "memory.db", version)
    export_wayland(skill, registry, places=where(home))
    found = [p.with_name("manifest.json") for p in (home / "skills").rglob("SKILL.md")]
    assert found
    assert all(p.is_file() and json.loads(p.read_bytes())["auto_drafted"] for p in found)


def test_a_signature_that_names_no_directory_is_refused(tmp_path: Path, home: Path) -> None:
    """Too long for a file name or for the readers of the name."""
    with Registry(tmp_path / "r") as registry:
        made = replace(draft(), evidence=(trace(0, "x" * 80), trace(1, "x" * 80), trace(2, "x" * 80)))
        registry.register(made, report(made))
        with pytest.raises(ExportError, match="too long"):
            export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))


@pytest.mark.parametrize("change", ["archive", "drift", "revoke", "replace"])
def test_a_score_is_retracted_by_default(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Nobody has to configure it; who does not want it switches it off."""
    path, name = home / "memory" / "memory.db", "auto-extension-file-rename"
    make_database(path, 7)
    monkeypatch.setenv("WAYLAND_HOME", str(home))
    for number, (hooks, seeds) in enumerate(((Config.default().reindex_hooks(), 0), ((), 3))):
        with Registry(tmp_path / f"r{number}", hooks=hooks) as registry:
            entry = registry.register(draft(), report(draft()), metadata={"signature": "extension-file-rename"})
            export_wayland(skill_of(registry, "batch_rename"), registry)
            assert router_seeds(path, name) == 3
            match change:
                case "archive":
                    registry.archive("batch_rename")
                case "drift":
                    registry.reverified("batch_rename", entry.version, report(draft(), verdict=Verdict.FAIL))
                case "revoke":
                    registry.revoke("batch_rename")
                case "replace":
                    newer = replace(draft(), source=f"{draft().source}\n# newer\n")
                    registry.register(newer, report(newer), supersedes="batch_rename")
            assert router_seeds(path, name) == seeds


def test_a_score_is_retracted_wherever_it_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a Wayland that only the export was told of; where it went is in the history once."""
    monkeypatch.setenv("WAYLAND_HOME", str(tmp_path / "another"))
    home = tmp_path / "named"
    path, name = home / "memory" / "memory.db", "auto-extension-file-rename"
    make_database(path, 7)
    with Registry(tmp_path / "r", hooks=Config.default().reindex_hooks()) as registry:
        registry.register(draft(), report(draft()), metadata={"signature": "extension-file-rename"})
        for _ in range(2):
            export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
        assert [e.kind for e in registry.history("batch_rename")].count("exported") == 1
        assert router_seeds(path, name) == 3
        registry.archive("batch_rename")
    assert router_seeds(path, name) == 0


def test_what_drifts_here_loses_its_score_there(tmp_path: Path, home: Path) -> None:
    """By a hook of the registry; without a database it has nothing to do."""
    path, name = home / "memory" / "memory.db", "auto-extension-file-rename"
    with Registry(tmp_path / "r", hooks=(retracting_hook(where(home)),)) as registry:
        entry = registry.register(draft(), report(draft()), metadata={"signature": "extension-file-rename"})
        registry.archive("batch_rename")
        registry.restore("batch_rename")
        make_database(path, 7)
        export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
        assert router_seeds(path, name) == 3
        registry.demote("batch_rename", entry.version, "left a process")
    assert router_seeds(path, name) == 0


def test_a_version_that_is_not_there_takes_no_score_away(tmp_path: Path, home: Path) -> None:
    """One that waited is given up, and an earlier one withdrawn for good: the score there is of the one that was exported."""
    path, name = home / "memory" / "memory.db", "auto-extension-file-rename"
    make_database(path, 7)
    with Registry(tmp_path / "r", hooks=(retracting_hook(where(home)),)) as registry:
        known: dict[str, object] = {"signature": "extension-file-rename"}
        first = registry.register(draft(), report(draft()), metadata=known)
        export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
        better = replace(draft(), source=f"{draft().source}\n# better\n")
        second = registry.register(better, report(better), supersedes="batch_rename", require_approval=True, metadata=known)
        registry.archive("batch_rename", second.version)
        assert router_seeds(path, name) == 3
        registry.approve("batch_rename", second.version, approver="me")
        registry.rollback("batch_rename", second.version)
        for _ in range(2):
            export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
        assert [e.version for e in registry.history("batch_rename") if e.kind == "exported"] == [first.version, second.version]
        registry.revoke("batch_rename", first.version)
        assert router_seeds(path, name) == 3
        registry.archive("batch_rename")
    assert router_seeds(path, name) == 0


def test_a_score_is_of_the_version_in_use(tmp_path: Path, home: Path) -> None:
    """One that was replaced has none, for nobody verifies it any more; nor has any when the skill is withdrawn after that."""
    path, name = home / "memory" / "memory.db", "auto-extension-file-rename"
    make_database(path, 7)
    known: dict[str, object] = {"signature": "extension-file-rename"}
    newer = replace(draft(), source=f"{draft().source}\n# newer\n")

    def exported(registry: Registry) -> int:
        export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
        return router_seeds(path, name)

    for number, generated in enumerate((160, 0)):
        with Registry(tmp_path / f"r{number}", hooks=(retracting_hook(where(home)),)) as registry:
            registry.register(draft(), report(draft()), metadata=known)
            assert exported(registry) == 3
            made = report(newer, generated=generated)
            second = registry.register(newer, made, supersedes="batch_rename", metadata=known)
            assert router_seeds(path, name) == 0
            assert exported(registry) == (3 if generated else 2)
            registry.rollback("batch_rename")
            assert router_seeds(path, name) == 0
            registry.archive("batch_rename")
            registry.restore("batch_rename", second.version)
            assert exported(registry) > 0
            registry.demote("batch_rename", second.version, "left a process")
            assert router_seeds(path, name) == 0
            shutil.rmtree(home / "skills")


def test_a_skill_that_waits_takes_no_others_score_away(registry: Registry, skill: Skill, home: Path, tmp_path: Path) -> None:
    """Of another registry, by the same name."""
    make_database(home / "memory" / "memory.db", 7)
    export_wayland(skill, registry, places=where(home))
    with Registry(tmp_path / "other", hooks=(retracting_hook(where(home)),)) as other:
        other.register(draft(), report(draft()), require_approval=True)
    assert router_seeds(home / "memory" / "memory.db", "auto-extension-file-rename") == 3


@pytest.mark.parametrize("withdraw", ["archive", "demote", "revoke"])
@pytest.mark.parametrize("exported_last", [True, False])
def test_a_score_goes_whatever_version_went_there(tmp_path: Path, home: Path, withdraw: str, exported_last: bool) -> None:
    """Also where the hook did not hear that the version there was replaced."""
    path, name = home / "memory" / "memory.db", "auto-extension-file-rename"
    make_database(path, 7)
    known: dict[str, object] = {"signature": "extension-file-rename"}
    newer = replace(draft(), source=f"{draft().source}\n# newer\n")
    with Registry(tmp_path / "r") as registry:
        registry.register(draft(), report(draft()), metadata=known)
        export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
        active = registry.register(newer, report(newer), supersedes="batch_rename", metadata=known)
        if exported_last:
            export_wayland(skill_of(registry, "batch_rename"), registry, places=where(home))
            active = registry.rollback("batch_rename")
        assert router_seeds(path, name) == 3
        registry.hooks = (retracting_hook(where(home)),)
        if withdraw == "demote":
            registry.demote("batch_rename", active.version, "left a process")
        else:
            getattr(registry, withdraw)("batch_rename", active.version)
    assert router_seeds(path, name) == 0


def test_a_score_that_could_not_be_taken_back_is_by_repeating_it(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command is in the message, whatever had happened to the skill; and it says so where there is nothing left to do."""
    monkeypatch.setenv("WAYLAND_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    path, name = home / "memory" / "memory.db", "auto-extension-file-rename"
    newer = replace(draft(), source=f"{draft().source}\n# newer\n")
    for number, undo in enumerate(([], ["--forever"], "drifts", "replaced")):
        make_database(path, 7)
        monkeypatch.setenv("ASSAY_REGISTRY", str(tmp_path / f"r{number}"))
        with Registry(tmp_path / f"r{number}") as registry:
            entry = registry.register(draft(), report(draft()), metadata={"signature": "extension-file-rename"})
            export_wayland(skill_of(registry, "batch_rename"), registry)
        whole = path.read_bytes()
        path.write_bytes(b"no database" * 100)
        if isinstance(undo, str):
            heard: list[str] = []
            hooks = (retracting_hook(),)
            with Registry(tmp_path / f"r{number}", hooks=hooks, on_hook_failure=heard.append) as registry:
                if undo == "drifts":
                    registry.demote("batch_rename", entry.version, "left a process")
                else:
                    registry.register(newer, report(newer), supersedes="batch_rename")
            (said,) = heard
        else:
            assert run(["registry", "retire", "batch_rename", *undo]) == 0
            said = capsys.readouterr().err
        again = re.search(r"Then repeat it: assay (registry retire batch_rename [0-9a-f]{12})$", said.strip())
        assert again is not None, said
        path.write_bytes(whole)
        assert router_seeds(path, name) == 3
        assert run(again[1].split()) == 0
        assert router_seeds(path, name) == 0
        assert run([*again[1].split(), *(undo if isinstance(undo, list) else [])]) == 0
        assert "told again" in capsys.readouterr().out
        if undo == "replaced":
            with Registry(tmp_path / f"r{number}") as registry:
                assert registry.show("batch_rename").status == "active"
        path.unlink()
        shutil.rmtree(home / "skills")
