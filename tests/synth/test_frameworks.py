"""Frameworks that load agentskills folders, each in an environment of its own: they list an export, and run its program.

Wants their environments in the directory that ``ASSAY_FRAMEWORKS`` names, as ``python3 -m nox -s frameworks`` makes them.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from factories import draft, files_below, report

from synth.export import skill_of
from synth.export.agentskills import export_agentskills
from synth.registry import Registry

ENVIRONMENTS = os.environ.get("ASSAY_FRAMEWORKS", "")
pytestmark = pytest.mark.skipif(not ENVIRONMENTS, reason="ASSAY_FRAMEWORKS names no directory with environments")

AGNO = """
import json, sys
from agno.skills import LocalSkills, Skills
skills = Skills(loaders=[LocalSkills(sys.argv[1])])
run = {t.name: t for t in skills.get_tools()}["get_skill_script"].entrypoint
name, call = skills.get_skill_names()[0], '{"old_ext": "txt"}'
bare = json.loads(run(skill_name=name, script_path="run.py", execute=True, args=[call]))
said = json.loads(run(skill_name=name, script_path="run.py", execute=True, args=["--directory", sys.argv[2], call]))
print(json.dumps({"listed": skills.get_system_prompt_snippet(), "bare": bare["stderr"], "said": said["stdout"]}))
"""
PYDANTIC = """
import asyncio, json, sys
from pydantic_ai_skills import LocalSkillScriptExecutor, LocalSkillsRegistry, SkillScript
registry = LocalSkillsRegistry(sys.argv[1])
path = sys.argv[1] + "/batch-rename/scripts/run.py"
script = SkillScript(name="run", description="", uri=path, skill_name="batch-rename")
run = lambda **given: asyncio.run(LocalSkillScriptExecutor().run(script, {"arguments": '{"old_ext": "txt"}', **given}))
bare, said = run(), run(directory=sys.argv[2])
print(json.dumps({"listed": str(registry.skill_names()), "bare": bare, "said": said}))
"""
STRANDS = """
import json, subprocess, sys
from strands.vended_plugins.skills import Skill
listed = Skill.from_file(sys.argv[1] + "/batch-rename").name
program = [sys.argv[1] + "/batch-rename/scripts/run.py"]
call = '{"old_ext": "txt"}'
bare = subprocess.run([*program, call], cwd=sys.argv[1] + "/batch-rename", capture_output=True, text=True).stderr
said = subprocess.run([*program, call], cwd=sys.argv[2], capture_output=True, text=True).stdout
print(json.dumps({"listed": listed, "bare": bare, "said": said}))
"""


@pytest.mark.parametrize(("name", "text"), [("agno", AGNO), ("pydantic-ai-skills", PYDANTIC), ("strands-agents", STRANDS)])
def test_a_framework_lists_and_runs_an_export(tmp_path: Path, name: str, text: str) -> None:
    """With a directory it works there; without one, started in the skill's own, it says what is missing and changes nothing."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.txt").write_text("x")
    with Registry(tmp_path / "registry") as registry:
        registry.register(draft(), report(draft()))
        exported = export_agentskills(skill_of(registry, "batch_rename"), tmp_path / "skills")
    before = files_below(exported)
    words = [f"{ENVIRONMENTS}/{name}/bin/python", "-c", text, str(exported.parent), str(tmp_path / "w")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert "batch-rename" in said["listed"]
    assert "say with --directory" in said["bare"]
    assert '{"ok": true, "changed": 1}' in said["said"]
    assert [p.name for p in (tmp_path / "w").iterdir()] == ["a.md"]
    assert files_below(exported) == before
