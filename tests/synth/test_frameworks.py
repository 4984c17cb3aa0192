"""Frameworks that load agentskills folders or speak MCP, each in an environment of its own: they list a skill, and run it.

Wants their environments in the directory that ``ASSAY_FRAMEWORKS`` names, as ``.ci/frameworks/make`` makes them: four of them
while all tests run, every one for ``python3 -m nox -s hosts``. What is there must run the skill. What could not be downloaded is
skipped and said, as long as enough others are there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from environments import downloadable, missing
from factories import draft, files_below, report
from scripted_model import Call, scripted
from transcripts import keep

from synth.export import skill_of
from synth.export.agentskills import export_agentskills
from synth.registry import Registry

ENVIRONMENTS = os.environ.get("ASSAY_FRAMEWORKS", "")
pytestmark = pytest.mark.skipif(not ENVIRONMENTS, reason="ASSAY_FRAMEWORKS names no directory with environments")
ROOT = Path(__file__).parents[2]
ARGUMENTS = '{"old_ext": "txt"}'

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


DEEPAGENTS = """
import json, sys
from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
asked, skill = [], sys.argv[1] + "/batch-rename"
class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **more):
        return self
    def _generate(self, messages, *args, **more):
        asked.append(messages)
        return super()._generate(messages, *args, **more)
def run(where, more=""):
    command = f"cd {where} && {skill}/scripts/run.py {more} '" + '{"old_ext": "txt"}' + "'"
    return AIMessage("", tool_calls=[{"name": "execute", "args": {"command": command}, "id": where}])
model = Model(messages=iter([run(skill), run("/", "--directory " + sys.argv[2]), AIMessage("done")]))
backend = LocalShellBackend(root_dir="/", virtual_mode=False, inherit_env=True)
create_deep_agent(model=model, skills=[sys.argv[1]], backend=backend).invoke({"messages": [("user", "go")]})
bare, said = [m.content for m in asked[-1] if m.type == "tool"]
print(json.dumps({"listed": str(asked[0][0].content), "bare": bare, "said": said}))
"""
CLAUDE_SDK = """
import asyncio, json, sys
from claude_agent_sdk import ClaudeAgentOptions, query
async def main():
    options = ClaudeAgentOptions(cwd=sys.argv[1], setting_sources=["project"], allowed_tools=["Bash", "mcp__assay"])
    options.mcp_servers = json.loads(sys.argv[2])
    async for message in query(prompt="go", options=options):
        pass
asyncio.run(main())
"""
STRANDS_MCP = """
import json, sys
from mcp import StdioServerParameters, stdio_client
from strands.tools.mcp import MCPClient
server, folder = json.loads(sys.argv[1]), sys.argv[2]
with MCPClient(lambda: stdio_client(StdioServerParameters(**server))) as client:
    tools = {t.tool_name: t for t in client.list_tools_sync()}
    hints = tools["skill_batch_rename"].mcp_tool.annotations.model_dump()
    done = client.call_tool_sync("1", "skill_batch_rename", {"workspace": folder, "old_ext": "txt"})
    wrong = client.call_tool_sync("2", "skill_batch_rename", {"workspace": folder})
print(json.dumps({"hints": hints, "said": done["content"][0]["text"], "wrong": wrong["status"] == "error"}))
"""
FASTMCP = """
import asyncio, json, sys
from fastmcp import Client
server, folder = json.loads(sys.argv[1]), sys.argv[2]
async def main():
    told = []
    async def progress(done, total, text):
        told.append(text)
    async with Client({"mcpServers": {"assay": server}}) as client:
        hints = {t.name: t for t in await client.list_tools()}["skill_batch_rename"].annotations.model_dump()
        call = {"workspace": folder, "old_ext": "txt"}
        done = await client.call_tool("skill_batch_rename", call, progress_handler=progress)
        wrong = await client.call_tool("skill_batch_rename", {"workspace": folder}, raise_on_error=False)
        read = await client.read_resource("skill://batch-rename/SKILL.md")
        asked = await client.get_prompt("use_a_skill", {"task": "tidy"})
    assert "skill_batch_rename" in read[0].text and "tidy" in asked.messages[0].content.text and told
    print(json.dumps({"hints": hints, "said": done.content[0].text, "wrong": wrong.is_error}))
asyncio.run(main())
"""


def registered(tmp_path: Path) -> Path:
    """A registry with one skill, and a directory ``w`` with one file to work on."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.txt").write_text("x")
    with Registry(tmp_path / "registry") as registry:
        registry.register(draft(), report(draft()))
    return tmp_path / "registry"


def exported(tmp_path: Path, skills: Path) -> Path:
    with Registry(registered(tmp_path)) as registry:
        return export_agentskills(skill_of(registry, "batch_rename"), skills)


def server(registry: Path) -> dict[str, Any]:
    """``assay mcp`` as a host's configuration has it."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from synth.cli import main; main()"
    env = {"HOME": str(Path.home()), "PATH": os.environ["PATH"]}
    return {"command": sys.executable, "args": ["-c", start, "mcp", "--registry", str(registry)], "env": env}


def in_framework(name: str, text: str, *words: str, **env: str) -> str:
    """What a program says in a framework's environment."""
    if why := missing(Path(ENVIRONMENTS), name, 400, downloadable):
        pytest.skip(why)
    command = [f"{ENVIRONMENTS}/{name}/bin/python", "-c", text, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180, env={**os.environ, **env})
    assert done.returncode == 0, done.stderr[-2000:]
    keep(done.stdout)
    return done.stdout


FOLDERS = [("agno", AGNO), ("pydantic-ai-skills", PYDANTIC), ("strands-agents", STRANDS), ("deepagents", DEEPAGENTS)]


@pytest.mark.parametrize(("name", "text"), FOLDERS)
def test_a_framework_lists_and_runs_an_export(tmp_path: Path, name: str, text: str) -> None:
    """With a directory it works there; without one, started in the skill's own, it says what is missing and changes nothing."""
    skill = exported(tmp_path, tmp_path / "skills")
    before = files_below(skill)
    said = json.loads(in_framework(name, text, str(skill.parent), str(tmp_path / "w")).splitlines()[-1])
    assert "batch-rename" in said["listed"]
    assert "say with --directory" in said["bare"]
    assert '{"ok": true, "changed": 1}' in said["said"]
    assert [p.name for p in (tmp_path / "w").iterdir()] == ["a.md"]
    assert files_below(skill) == before


def in_claude_sdk(tmp_path: Path, script: list[Call], servers: dict[str, Any]) -> list[Any]:
    """What the model was asked by the agent SDK's own client, which works in ``w``."""
    quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
    with scripted(script) as model:
        env = {"HOME": str(tmp_path), "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", **dict.fromkeys(quiet, "1")}
        in_framework("claude-agent-sdk", CLAUDE_SDK, str(tmp_path / "w"), json.dumps(servers), **env)
        return model.asked


def test_the_agent_sdk_lists_and_runs_an_export(tmp_path: Path) -> None:
    """The same by Claude's agent SDK, against a scripted model."""
    skill = exported(tmp_path, tmp_path / "w" / ".claude" / "skills")
    before = files_below(skill)
    calls = [f"cd {skill} && scripts/run.py '{ARGUMENTS}'", f"{skill}/scripts/run.py --directory . '{ARGUMENTS}'"]
    home = f"cd {tmp_path / 'w'}"
    asked = in_claude_sdk(tmp_path, [("Bash", {"command": c, "description": "d"}) for c in (calls[0], home, calls[1])], {})
    assert "batch-rename" in json.dumps(asked[0])
    assert "say with --directory" in json.dumps(asked[-1])
    assert '\\"changed\\": 1' in json.dumps(asked[-1]).replace("\\\\", "\\")
    assert [p.name for p in (tmp_path / "w").iterdir() if p.suffix] == ["a.md"]
    assert files_below(skill) == before


@pytest.mark.engine
@pytest.mark.parametrize(("name", "text"), [("strands-agents", STRANDS_MCP), ("fastmcp", FASTMCP)])
def test_a_framework_calls_a_skill_over_mcp(tmp_path: Path, name: str, text: str) -> None:
    """It sees the measured hints, is told what changed, and an error where the call is wrong."""
    said = json.loads(in_framework(name, text, json.dumps(server(registered(tmp_path))), str(tmp_path / "w")).splitlines()[-1])
    assert (said["hints"]["read_only_hint"], said["hints"]["destructive_hint"]) == (False, True)
    assert said["said"] == 'value: {"ok": true, "changed": 1}\ncreated a.md\n@@ -0,0 +1 @@\n+x\nremoved a.txt\napplied'
    assert said["wrong"] is True
    assert [p.name for p in (tmp_path / "w").iterdir()] == ["a.md"]


@pytest.mark.engine
def test_the_agent_sdk_calls_a_skill_over_mcp(tmp_path: Path) -> None:
    """And shows the model what changed."""
    call = ("mcp__assay__skill_batch_rename", {"workspace": str(tmp_path / "w"), "old_ext": "txt"})
    servers = {"assay": {"type": "stdio", **server(registered(tmp_path))}}
    asked = in_claude_sdk(tmp_path, [("WaitForMcpServers", {}), call], servers)
    assert "assay-changes/1" in json.dumps(asked[-1])
    assert "content_b64" not in json.dumps(asked[-1])
    assert [p.name for p in (tmp_path / "w").iterdir() if p.suffix] == ["a.md"]
