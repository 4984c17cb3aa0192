"""agentskills.io: a directory with a ``SKILL.md`` that ``skills-ref validate`` accepts, and scripts that run without us."""

from __future__ import annotations

import re
from pathlib import Path

from synth.export.document import bare, ended, skill_md
from synth.export.runnable import scripts, usage
from synth.export.source import Skill
from synth.exported import MARK
from synth.owned import write_owned
from verifiers.formats.text import bound

MAX_NAME, MAX_DESCRIPTION = 64, 1024
COMPATIBILITY = "Needs Python 3.11 or newer. Works on files of the directory that it is given; needs no network."


def kebab(name: str) -> str:
    """A skill's name as agentskills.io spells names: lower-case words with single hyphens, at most 64 characters."""
    return re.sub(r"-+", "-", re.sub(r"[^a-z0-9]+", "-", name.lower())).strip("-")[:MAX_NAME].rstrip("-") or "skill"


def export_agentskills(skill: Skill, directory: Path) -> Path:
    """Writes ``<directory>/<kebab-name>/`` and returns it.

    Raises:
        ExportError: its text cannot be made safe.
        Conflict: the directory was edited by a person, or holds another skill.
        OSError: it cannot be written; what was there is still there.
    """
    name = kebab(skill.entry.name)
    return write_owned(directory, name, files_of(skill), MARK, on_conflict="error", owner=skill.entry.name)


def files_of(skill: Skill) -> dict[str, bytes]:
    """The exported files."""
    name = kebab(skill.entry.name)
    fields = {
        "name": name,
        "description": description_of(skill),
        "compatibility": COMPATIBILITY,
        "metadata": {
            "assay-verdict": "PASS",
            "assay-score": bound(skill.entry.score),
            "assay-traces": str(skill.usable),
            "assay-version": skill.entry.version,
            "assay-report-sha256": skill.entry.report_sha256,
            "assay-skill-sha256": skill.subject.sha256,
        },
    }
    return {
        "SKILL.md": skill_md(skill, fields, usage(skill)).encode(),
        **scripts(skill),
        **skill.carried,
    }


def description_of(skill: Skill) -> str:
    """What it does and when to use it, at most 1024 characters, without angle brackets (which some readers refuse)."""
    parts = [bare(text).strip().rstrip(".") for text in (skill.summary, *skill.requests(3))]
    text = ended(parts[0])
    asked = [f'"{p}"' for p in parts[1:] if p]
    if asked:
        text += f" Use when asked to do things like {', '.join(asked)}."
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1].rstrip() + "…"
