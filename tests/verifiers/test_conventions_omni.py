"""The omni profile on files of the shape that real upstream skills have: hard rules accept it, soft ones only warn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from synth.cli.program import run
from verifiers.conventions import findings
from verifiers.conventions.rule import TOUCH, skill
from verifiers.gating.discover import find
from verifiers.interface import ImportRules
from verifiers.source.fix import fix_source
from verifiers.source.static import run_static
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


HOST = '''"""Uses what the host's runtime knows."""

from omni.core.store import ChunkedSessionStore, WorkflowStateStore, current_root
from omni.foundation.api.decorators import CommandResult, prompt, skill_command, skill_resource
from omni.foundation.config.paths import ConfigPaths
from omni.foundation.config.settings import Settings
from omni.langgraph import graph_node

STORE = WorkflowStateStore("notes")
SESSIONS = ChunkedSessionStore(root="x", limit=3)


@skill_resource(name="notes", description="All notes.", resource_uri="omni://notes")
def notes() -> dict[str, str]:
    return {}


@prompt(name="p", description="P.")
def begin() -> str:
    return ""


@graph_node("step")
async def step(state: dict[str, str]) -> dict[str, str]:
    assert state
    return state


@skill_command(name="list_notes", category="read", description="List the notes.\\n\\nArgs:\\n    - tag: str - Only these.")
def list_notes(
    tag: str, paths: ConfigPaths | None = None, settings: Settings | None = None, project_root: str | None = None
) -> CommandResult[str]:
    seen = {}
    return CommandResult(success=True, data=f"{tag}{seen}{current_root()}")


@skill_command(name="find_note", category="search", description="Find a note.")
def find_note(text: str) -> CommandResult[list[dict[str, str]]]:
    return CommandResult(success=True, data=[{"text": text}])
'''


def test_what_the_hosts_runtime_knows_is_no_finding() -> None:
    """Its decorators, its classes, its result type, what it injects: nothing hard, and no hint about an injected parameter."""
    for function in ("list_notes", "find_note"):
        subject = parse_subject(HOST, "notes.py", "omni", function=function)
        found = findings(subject)
        assert [f.message for f in found if f.severity == "error"] == []
        assert not any(name in f.message for f in found for name in ("paths", "settings", "project_root"))
        (results,) = run_static([subject])
        assert [f.message for r in results for f in r.findings if f.severity == "error"] == []
        assert {r.verdict.name for r in results if r.verdict is not None} == {"PASS"}


def test_a_long_description_is_all_that_is_told_there() -> None:
    """It warns in the profile whose skills have no other text for an agent, and is refused in the other."""
    long = "Find a note. " + "More of what it does. " * 100
    subject = parse_subject(HOST.replace("Find a note.", long), "notes.py", "omni", function="find_note")
    (found,) = (f for f in findings(subject) if f.rule == "conventions-agent-text")
    assert (found.severity, f"{len(long)} characters" in found.message) == ("warning", True)
    seed = skill("long", TOUCH, params=f'file: str = Query(..., description="{long}")').source
    assert "conventions-agent-text" in {f.rule for f in findings(parse_subject(seed, "x.py")) if f.severity == "error"}


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('WorkflowStateStore("notes")', 'print("notes")', "conventions-import-effects"),
        ("-> CommandResult[str]", "-> CommandResult[set[str]]", "conventions-return-type"),
        ('@graph_node("step")', '@register_it("step")', "conventions-import-effects"),
        ("import graph_node", "import graph_node, unused", "F401"),
    ],
)
def test_what_is_wrong_stays_wrong(old: str, new: str, rule: str) -> None:
    """The same places, with something that nobody knows."""
    (results,) = run_static([parse_subject(HOST.replace(old, new), "notes.py", "omni", function="list_notes")])
    assert rule in {f.rule for r in results for f in r.findings if f.severity == "error"}


def test_what_is_injected_by_name_is_a_hint() -> None:
    """Omni leaves ``**kwargs`` out of a command's schema; here no caller could fill it."""
    source = HOST.replace("def find_note(text: str)", "def find_note(text: str, **kwargs: object)")
    for profile, severity in (("omni", "warning"), ("seed", "error")):
        found = findings(parse_subject(source, "notes.py", profile, function="find_note"))
        assert [f.severity for f in found if "**kwargs" in f.message] == [severity]


def test_what_is_configured_is_hard_there_too() -> None:
    """The list of modules only warns of the host's own skills; what a configuration refuses is refused."""
    source = HOST.replace("\nfrom omni", "\nimport subprocess\n\nimport requests\nfrom omni", 1)
    found = findings(
        parse_subject(source, "notes.py", "omni", function="find_note"), ImportRules(refuse=frozenset({"subprocess"}))
    )
    assert {f.message.split(":")[0]: f.severity for f in found if f.message.startswith("import of ")} == {
        "import of requests": "warning", "import of subprocess": "error",
    }  # fmt: skip


def test_work_of_the_hosts_at_import_is_a_hint() -> None:
    """A function of its own that is called when the file is imported."""
    source = HOST.replace('WorkflowStateStore("notes")', "current_root()")
    found = [f for f in findings(parse_subject(source, "notes.py", "omni")) if "current_root" in f.message]
    assert [f.severity for f in found] == ["warning"]


def test_a_houses_own_taste_is_not_ours() -> None:
    """Security lints and strict types only warn in skills of the host."""
    (results,) = run_static([parse_subject(HOST, "notes.py", "omni")])
    warned = {r.id: [f.rule for f in r.findings if f.severity == "warning"] for r in results}
    assert "S101" in [f.rule for r in results for f in r.findings]
    assert warned["mypy-strict"] == ["var-annotated"]  # of what the host's packages give nothing is known, nothing is said


def test_every_function_of_a_file_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them by default, or the one that is named; one that is not there is told with those that are."""
    file = tmp_path / "notes.py"
    file.write_text(HOST)
    assert run(["verify", str(file), "--static", "--no-cache"]) == 0
    told = capsys.readouterr().out
    assert "notes.py::list_notes" in told
    assert "2 skills: 2 pass" in told
    assert run(["verify", f"{file}::find_note", "--static", "--no-cache", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["subject"]["name"] == "find_note"
    assert run(["verify", f"{file}::nobody", "--static", "--no-cache"]) == 2
    assert "no @skill_command function nobody. It has: list_notes, find_note" in capsys.readouterr().err
    file.write_text(HOST.replace("CommandResult[str]", "set[str]"))
    assert run(["gate", str(tmp_path), "--static", "--no-cache"]) == 1
    assert "2 skills: 1 pass, 1 fail" in capsys.readouterr().out


def test_each_function_has_evidence_of_its_own(tmp_path: Path) -> None:
    """``FUNCTION.evidence.jsonl`` beside the file; a plain one could be any of them's."""
    (tmp_path / "notes.py").write_text(HOST)
    for name in ("evidence.jsonl", "find_note.evidence.jsonl", "find_note.bindings.json"):
        (tmp_path / name).write_text("{}")
    first, second = find([tmp_path / "notes.py"])
    assert (first.name, first.evidence, first.bindings) == (
        "find_note",
        tmp_path / "find_note.evidence.jsonl",
        tmp_path / "find_note.bindings.json",
    )
    assert (second.name, second.evidence) == ("list_notes", None)


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
