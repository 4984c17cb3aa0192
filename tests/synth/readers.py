"""What the readers of our exports make of a skill, by their own rules: category, flags, digest, visibility."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import skills_ref
import yaml
from test_export_omni import indexed, scan

from synth.detect.signature import STOPWORDS
from synth.export import Skill
from synth.export.agentskills import export_agentskills
from synth.export.omni import export_omni
from synth.export.omni_immune import refused
from synth.export.wayland import Placed, export_wayland
from synth.export.wayland_files import directory_digest, places
from synth.owned import Conflict
from synth.registry import Registry

_OPEN = re.compile("fetch|http|request|api|url|web|network")


def misread(skill: Skill, registry: Registry, folder: Path) -> dict[str, list[str]]:
    """What each format's reader takes otherwise than it is meant without our having said so; by format, empty if nothing.

    Raises:
        AssertionError: an export that no reader could take.
    """
    return {
        "agentskills": [*_agentskills(skill, folder / "agentskills")],
        "omni": [*_omni(skill, folder / "omni")],
        "wayland": [*_wayland(skill, registry, folder / "wayland", release=False)],
        "wayland --release": [*_wayland(skill, registry, folder / "released", release=True)],
    }


def _agentskills(skill: Skill, folder: Path) -> Iterator[str]:
    done = export_agentskills(skill, folder)
    yield from skills_ref.validate(done)
    if skills_ref.read_properties(done).name != done.name:
        yield "visibility: it is listed under another name"
    told = yaml.safe_load((done / "SKILL.md").read_text().split("---\n")[1])["metadata"]["assay-skill-sha256"]
    if told != hashlib.sha256((done / "scripts" / "skill.py").read_bytes()).hexdigest():
        yield "digest: the code is not the one that was verified"


def _omni(skill: Skill, folder: Path) -> Iterator[str]:
    done = export_omni(skill, folder)
    raw = (done.directory / "scripts" / "commands.py").read_bytes()
    ast.parse(raw)
    keywords, hints, name = indexed(raw.decode()), skill.annotations, skill.subject.name
    if keywords["category"] != ('"read"' if hints.read_only else '"write"'):
        yield "category"
    if list(scan(done.directory)) != [f"{done.directory.name}.{name}"]:
        yield "visibility: the scanner does not find one command"
    front = yaml.safe_load((done.directory / "SKILL.md").read_text().split("---\n")[1])
    if front["metadata"]["verification"]["code_sha256"] != hashlib.sha256(raw).hexdigest():
        yield "digest: another file is scanned"
    read_only, destructive = (keywords[k] == "True" for k in ("read_only", "destructive"))
    seen = (read_only, destructive, read_only and not destructive, bool(_OPEN.search(name.lower())))
    meant = (hints.read_only, hints.destructive, hints.idempotent, hints.open_world)
    said = [False, False, *(any(f" {what}" in note for note in done.notes) for what in ("idempotent", "open-world"))]
    for flag, one, other, told in zip(("read_only", "destructive", "idempotent", "open_world"), seen, meant, said, strict=True):
        if (one != other) != told:
            yield f"flags: {flag} is read as {one}, which {'was said for nothing' if told else 'nobody said'}"
    if bool(refused(raw.decode())) != any("will refuse it" in note for note in done.notes):
        yield "visibility: what the immune layer does was not said"


def _wayland(skill: Skill, registry: Registry, home: Path, *, release: bool) -> Iterator[str]:
    try:
        there = places({"WAYLAND_HOME": str(home)}, home, home)
        done = export_wayland(skill, registry, places=there, release=release)
    except Conflict as e:
        if not e.what.startswith("holds the skill "):  # another skill has its one signature: refused by name
            yield str(e)
        return
    if sum(placed.released for placed in done.placed) != int(release):
        yield "visibility: one of its names is listed when a person releases it, and none before"
    for placed in done.placed:
        yield from _draft(skill, placed, placed.released)


def _draft(skill: Skill, placed: Placed, released: bool) -> Iterator[str]:
    """Quarantined by its manifest and by its body, or by neither once a person released it; under the digest that was promised,
    with no value of a request in its name.

    The skill's own name, where no request's is left, says no more than the skill does.
    """
    name = placed.directory.name
    manifest = json.loads((placed.directory / "manifest.json").read_bytes())
    body = (placed.directory / "SKILL.md").read_text()
    if (manifest["auto_drafted"], manifest["name"]) != (not released, name):
        yield f"visibility: {name} is {'still' if released else 'not'} in quarantine"
    drafted = body.startswith(f"# Auto-drafted skill: {name}\n\n> NOTE: ") and "\n\nSignature: `" in body
    if drafted is released or body.startswith("# Auto-drafted") is released:
        yield f"category: {name} is {'still' if released else 'not'} read as a draft"
    if directory_digest(placed.directory) != placed.content_digest:
        yield f"digest: {name} was promised otherwise"
    words = set(manifest["signature"].split("-"))
    gave = [t for t in skill.draft.evidence if words <= set(_words(t.task_description))]
    own = f"auto-{skill.entry.name.replace('_', '-')}"
    if name != own and gave and all(_may_hold(words, skill, t.task_id) for t in gave):
        yield f"flags: the signature of {name} holds a request's values"


def _may_hold(words: set[str], skill: Skill, task_id: str) -> bool:
    """Whether words of one request are its arguments, hold one, or may do so, as nobody knows its arguments."""
    if task_id not in skill.draft.bindings:
        return bool(skill.subject.parameters)
    values = {v for value in skill.draft.bindings[task_id].values() for v in _words(str(value))}
    return bool(words & values) or any(v in word for v in values - STOPWORDS if len(v) > 2 for word in words)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())
