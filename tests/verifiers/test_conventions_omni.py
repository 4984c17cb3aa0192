"""The omni profile on files of the shape that real upstream skills have: hard rules accept it, soft ones only warn."""

from __future__ import annotations

import pytest

from verifiers.conventions import findings
from verifiers.source.fix import fix_source
from verifiers.subject import parse_subject

REAL = '''"""
notes/scripts/notes.py - Keeps notes
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Optional

import structlog
from omni.foundation.api.decorators import skill_command
from omni.foundation.config.logging import get_logger
from omni.foundation.config.paths import ConfigPaths
from pydantic import BaseModel

log = structlog.get_logger("omni.skill.notes")
logger = get_logger("skill.notes")
HIDDEN = {".git", ".cache"}
PROMPT = """Title: {title}"""


class Note(BaseModel):
    title: str
    text: str = ""


def _home() -> Path:
    return Path(__file__).parent.parent


def _run(cmd: list[str], cwd: Optional[Path] = None) -> tuple[str, int]:
    """Runs a command."""
    result = subprocess.run(cmd, capture_output=True, text=True, cwd=cwd)
    return result.stdout.strip(), result.returncode


@skill_command(
    name="save_note",
    category="write",
    description="""
    Save a note.

    Longer words about it.

    Args:
        - title: str - Title of the note (required)
        - text: str = "" - Its text
        - depth: int = 0 - How deep (0 = here)

    Returns:
        - saved: dict with success

    Example:
        @omni("notes.save_note", {"title": "a"})
    """,
    read_only=False,
    destructive=True,
    idempotent=True,
    open_world=False,
    autowire=True,
)
async def save_note(
    title: str,
    text: str = "",
    depth: int = 0,
    paths: ConfigPaths | None = None,
) -> dict[str, Any] | str:
    """Save a note."""
    if paths is None:
        paths = ConfigPaths()
    target = paths.project_root / title
    try:
        target.write_text(PROMPT.format(title=text))
        return {"success": True, "path": str(target)}
    except Exception as e:
        logger.exception("Unexpected error")
        return {"success": False, "error": str(e)}


@skill_command(name="log", category="read", description="Show the last commits")
def show_log(count: int = 3, project_root: Optional[Path] = None) -> str:
    out, rc = _run(["git", "log", f"-{count}"], cwd=project_root)
    if rc == 0:
        return json.dumps({"status": "ok", "log": out}, ensure_ascii=False)
    return json.dumps({"status": "error", "log": out})


# Legacy alias
saveNote = save_note

__all__ = ["save_note", "saveNote", "show_log"]
'''


def errors(source: str) -> list[str]:
    """Rules that find an error in the omni profile."""
    return [f.rule for f in findings(parse_subject(source, "notes.py", "omni")) if f.severity == "error"]


def test_the_real_shape_has_no_errors() -> None:
    """Loggers, injected parameters, several commands, foreign packages, caught exceptions: warnings at most."""
    assert errors(REAL) == []


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("omni.foundation.api.decorators", "omni.core.skills.script_loader", "conventions-import-source"),
        ("omni.foundation.api.decorators", "agent.skills.decorators", "conventions-import-source"),
        ("omni.foundation.api.decorators", "omni.foundation.utils.skills", "conventions-import-source"),
        ("    autowire=True,\n", "    autowire=True,\n    retries=2,\n", "conventions-decorator"),
        ('name="save_note"', 'name=f"save_note"', "conventions-decorator"),
        ("    title: str,\n    text", "    title,\n    text", "conventions-typed"),
        (" -> dict[str, Any] | str:", ":", "conventions-return-type"),
        (" -> dict[str, Any] | str:", " -> Path:", "conventions-return-type"),
        ('text: str = "",\n    depth', 'text: str = Query("", description="x"),\n    depth', "conventions-query-default"),
        ("depth: int = 0,", "*args: int,", "conventions-signature"),
        ("depth: int = 0,", "depth: list[int] = [],", "conventions-signature"),
        ("depth: int = 0,", "depth: int=0,", "conventions-spacing"),
        ("HIDDEN = {", "print('loaded')\nHIDDEN = {", "conventions-import-effects"),
        ('"path": str(target)}', '"path": Path(title)}', "conventions-json-return"),
        ('_run(["git", "log", f"-{count}"]', '_run(["bash", "-c", f"git log -{count}"]', "conventions-shell-text"),
    ],
)
def test_hard_rules(old: str, new: str, rule: str) -> None:
    """Each departure that breaks an upstream skill is an error."""
    assert old in REAL
    assert rule in errors(REAL.replace(old, new, 1))


@pytest.mark.parametrize(
    "path", ["agent.skills.decorators", "omni.core.skills.script_loader", "omni.core.skills.runtime.decorators"]
)
def test_dead_paths_are_fixed(path: str) -> None:
    """The fix names the living module and changes nothing else."""
    fixed = fix_source(REAL.replace("omni.foundation.api.decorators", path), "omni", linter=False)
    assert fixed.source == REAL


def test_soft_rules_only_warn() -> None:
    """Style is worth a warning: a third of the real skills would fail otherwise."""
    source = REAL.replace("    Save a note.\n\n    Longer", "    This saves a note.\n\n    Longer").replace(
        "        - title: str - Title of the note (required)\n", ""
    )
    found = findings(parse_subject(source, "notes.py", "omni"))
    assert {"conventions-description-style", "conventions-described"} <= {f.rule for f in found if f.severity == "warning"}
    assert errors(source) == []
