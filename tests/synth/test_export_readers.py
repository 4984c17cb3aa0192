"""Every skill that the fixtures' tasks give, in every format, as its reader takes it: category, flags, digest, visibility."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import skills_ref
from factories import report
from test_export_omni import indexed, scan

from synth.detect import detect
from synth.embedded import EmbeddedGenerator
from synth.export import Skill, skill_of
from synth.export.agentskills import export_agentskills
from synth.export.omni import export_omni
from synth.export.omni_immune import refused
from synth.export.wayland import export_wayland
from synth.export.wayland_files import Places, directory_digest, places
from synth.interface import Draft
from synth.owned import Conflict
from synth.registry import Registry
from synth.tracing.traces import load_traces, to_evidence

FIXTURES = Path(__file__).parents[2] / "fixtures"


def drafts() -> Iterator[Draft]:
    """What the embedded generator proposes first for each repeated task of the recordings."""
    for name in ("traces", "heldout"):
        for pattern in detect(load_traces(FIXTURES / name / "traces.jsonl")):
            found = next(EmbeddedGenerator().generate(pattern, [to_evidence(t) for t in pattern.traces]), None)
            if found is not None:
                yield Draft(found.name, found.source, pattern.traces, found.bindings, f"# {found.name}\n")


@pytest.fixture(scope="module")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Registry, list[Skill]]]:
    with Registry(tmp_path_factory.mktemp("registry")) as registry:
        found = []
        for made in drafts():
            judged = report(made)
            found.append(skill_of(registry, registry.register(made, judged).name))
        yield registry, found


def test_every_skill_is_read_as_it_is_meant(skills: tuple[Registry, list[Skill]], tmp_path: Path) -> None:
    """At least forty of them; nothing is refused by a reader that has to take it, and what will be refused was said."""
    registry, found = skills
    assert len(found) >= 40
    where = places({"WAYLAND_HOME": str(tmp_path / "wayland")}, tmp_path, tmp_path)
    taken: set[str] = set()
    for skill in found:
        plain = export_agentskills(skill, tmp_path / "agentskills")
        assert skills_ref.validate(plain) == [], skill.entry.name
        done = export_omni(skill, tmp_path / "omni")
        text = (done.directory / "scripts" / "commands.py").read_text()
        ast.parse(text)
        keywords, hints = indexed(text), skill.annotations
        assert keywords["category"] == ('"read"' if hints.read_only else '"write"')
        assert (keywords["destructive"], keywords["read_only"]) == (str(hints.destructive), str(hints.read_only))
        assert len(scan(done.directory)) == 1
        assert bool(refused(text)) == any("will refuse it" in note for note in done.notes)
        _read_by_wayland(skill, registry, where, taken)


def _read_by_wayland(skill: Skill, registry: Registry, where: Places, taken: set[str]) -> None:
    """Quarantined by its manifest and by its body, under the digest that was promised. Two skills never share a directory."""
    try:
        done = export_wayland(skill, registry, places=where)
    except Conflict as e:
        taken.add(e.what.removeprefix("holds the skill "))
        return
    for placed in done.placed:
        assert placed.directory.name not in taken
        taken.add(placed.directory.name)
        manifest = json.loads((placed.directory / "manifest.json").read_bytes())
        body = (placed.directory / "SKILL.md").read_text()
        assert (manifest["auto_drafted"], manifest["name"]) == (True, placed.directory.name)
        assert body.startswith(f"# Auto-drafted skill: {placed.directory.name}\n\n> NOTE: ")
        assert "\n\nSignature: `" in body
        assert directory_digest(placed.directory) == placed.content_digest
        words = set(manifest["signature"].split("-"))
        assert any(not words & _values(skill, t.task_id) for t in skill.draft.evidence)


def _values(skill: Skill, task_id: str) -> set[str]:
    """The words of one request's arguments."""
    return {w for v in skill.draft.bindings.get(task_id, {}).values() for w in re.findall(r"[a-z0-9]+", str(v).lower())}
