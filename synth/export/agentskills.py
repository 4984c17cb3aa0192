"""agentskills.io: a directory with a ``SKILL.md`` that ``skills-ref validate`` accepts, and scripts that run without us."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from synth.draft import SKILL
from synth.export.document import skill_md
from synth.export.source import MARK, Skill
from synth.owned import write_owned
from verifiers.interface import Parameter

MAX_NAME, MAX_DESCRIPTION = 64, 1024
COMPATIBILITY = "Needs Python 3.11 or newer. Works on files of the current directory; needs no network."

_RUN = '''\
"""Runs the skill: python scripts/run.py '{"parameter": "value"}'. Prints its result as JSON; exit code 0 = it claims success."""

import asyncio
import inspect
import json
import sys

import skill


def main() -> int:
    arguments = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    value = skill.FUNCTION(**arguments)
    if inspect.isawaitable(value):
        value = asyncio.run(_awaited(value))
    print(json.dumps(value, ensure_ascii=False))
    failed = isinstance(value, dict) and (
        value.get("ok") is False or value.get("success") is False or value.get("status") == "error" or bool(value.get("error"))
    )
    return 1 if failed else 0


async def _awaited(value):
    return await value


if __name__ == "__main__":
    sys.exit(main())
'''


def kebab(name: str) -> str:
    """A skill's name as agentskills.io spells names: lower-case words with single hyphens, at most 64 characters."""
    return re.sub(r"-+", "-", re.sub(r"[^a-z0-9]+", "-", name.lower())).strip("-")[:MAX_NAME].rstrip("-") or "skill"


def export_agentskills(skill: Skill, directory: Path) -> Path:
    """Writes ``<directory>/<kebab-name>/`` and returns it.

    Raises:
        ExportError: its text cannot be made safe.
        Conflict: the directory was edited by a person.
        OSError: it cannot be written; what was there is still there.
    """
    return write_owned(directory, kebab(skill.entry.name), files_of(skill), MARK, on_conflict="error")


def files_of(skill: Skill) -> dict[str, bytes]:
    """The exported files."""
    name = kebab(skill.entry.name)
    fields = {
        "name": name,
        "description": description_of(skill),
        "compatibility": COMPATIBILITY,
        "metadata": {
            "assay-verdict": "PASS",
            "assay-score": f"{skill.entry.score:.3f}",
            "assay-traces": str(skill.usable),
            "assay-version": skill.entry.version,
            "assay-report-sha256": skill.entry.report_sha256,
            "assay-skill-sha256": skill.subject.sha256,
        },
    }
    return {
        "SKILL.md": skill_md(skill, fields, _usage(skill)).encode(),
        f"scripts/{SKILL}": skill.draft.source.encode("utf-8", "surrogateescape"),
        "scripts/skill_api.py": (resources.files("sandbox") / "guest" / "skill_api.py").read_bytes(),
        "scripts/run.py": _RUN.replace("FUNCTION", skill.subject.name).encode(),
    }


def description_of(skill: Skill) -> str:
    """What it does and when to use it, at most 1024 characters, without angle brackets (which some readers refuse)."""
    parts = [re.sub(r"[<>]", "", text).strip().rstrip(".") for text in (skill.summary, *skill.requests(3))]
    text = f"{parts[0]}."
    asked = [f'"{p}"' for p in parts[1:] if p]
    if asked:
        text += f" Use when asked to do things like {', '.join(asked)}."
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1].rstrip() + "…"


def _usage(skill: Skill) -> str:
    example = ", ".join(f'"{p.name}": {_sample(p)}' for p in skill.subject.parameters if p.required)
    return (
        "Run it in the directory that it should work on. It prints its result as JSON; exit code 0: it claims success.\n\n"
        f"```\npython PATH/OF/THIS/SKILL/scripts/run.py '{{{example}}}'\n```"
    )


def _sample(parameter: Parameter) -> str:
    kind = parameter.annotation
    return "1" if "int" in kind or "float" in kind else "true" if "bool" in kind else '["..."]' if "list" in kind else '"..."'
