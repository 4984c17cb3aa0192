"""Agents' own programs, run headless against a scripted model. ``ASSAY_AGENTS`` names the directory that has them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripted_model import Call, scripted

PROGRAMS = os.environ.get("ASSAY_AGENTS", "")
TASK = "Change x to 2 and move n"
TOKEN = "0123456789abcdef"
SHELL = {"claude-code": ("Bash", "command"), "codex": ("exec_command", "cmd"), "gemini-cli": ("run_shell_command", "command")}
"""Tool that runs a command -> what it calls the command."""
PROGRAM = {"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini"}
THERE = sorted(name for name, program in PROGRAM.items() if shutil.which(program, path=PROGRAMS))
"""The agents that can be tried: one of them in CI, all of them for ``python3 -m nox -s hosts``."""


def runs(name: str, command: str) -> Call:
    """An agent's own call that runs a command."""
    shell, given = SHELL[name]
    return shell, {given: command, **({} if name == "codex" else {"description": "d"})}


def run_agent(
    name: str, home: Path, project: Path, script: Sequence[Call], mcp: Mapping[str, Any] | None = None, task: str = TASK
) -> list[Any]:
    """One headless run, in an environment of its own; what the model was asked.

    Args:
        mcp: Command, arguments and environment of an MCP server called ``assay``, or its address and headers.
    """
    env = {"PATH": f"{PROGRAMS}:/usr/bin:/bin", "HOME": str(home)}
    with scripted(script) as model:
        if name == "claude-code":
            quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
            env |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", **dict.fromkeys(quiet, "1")}
            words = ["claude", "-p", task, "--allowedTools", "Bash", "Read", "Edit", "Write", "mcp__assay"]
            if mcp is not None:
                kind = "http" if "url" in mcp else "stdio"
                (home / "mcp.json").write_text(json.dumps({"mcpServers": {"assay": {"type": kind, **mcp}}}))
                words += ["--mcp-config", str(home / "mcp.json")]
        elif name == "codex":
            config = (
                'model = "gpt-5-codex"\nmodel_provider = "x"\n[model_providers.x]\nname = "x"\nwire_api = "responses"\n'
                f'base_url = "{model.url}/v1"\nenv_key = "KEY"\n[analytics]\nenabled = false\n'
            )
            if mcp is not None and "url" in mcp:
                config += f'[mcp_servers.assay]\nurl = "{mcp["url"]}"\nbearer_token_env_var = "TOKEN"\n'
                env["TOKEN"] = TOKEN
            elif mcp is not None:
                config += f"[mcp_servers.assay]\ncommand = {json.dumps(mcp['command'])}\nargs = {json.dumps(mcp['args'])}\n"
                config += "[mcp_servers.assay.env]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in mcp["env"].items())
            (home / ".codex").mkdir(exist_ok=True)
            (home / ".codex" / "config.toml").write_text(config)
            env["KEY"] = "none"
            bypass = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
            words = ["codex", "exec", "--skip-git-repo-check", *bypass, task]
        else:
            settings = home / ".gemini" / "settings.json"
            settings.parent.mkdir(exist_ok=True)
            known = json.loads(settings.read_text()) if settings.is_file() else {}
            named = {"httpUrl" if key == "url" else key: value for key, value in (mcp or {}).items()}
            known |= {"mcpServers": {"assay": {**named, "trust": True}}} if named else {}
            more = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
            settings.write_text(json.dumps({**known, **more, "general": {"disableAutoUpdate": True}}))
            env |= {"GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_API_KEY": "none"}
            words = ["gemini", "-m", "gemini-2.5-flash", "--yolo", "--skip-trust", "-p", task]
        done = subprocess.run(words, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        return model.asked
