"""The real agents, each run against a scripted model, with our hooks in their settings.

Wants the three programs in the directory that ``ASSAY_AGENTS`` names (``npm install @anthropic-ai/claude-code @openai/codex
@google/gemini-cli``, then ``node_modules/.bin``): the suite does not install them.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from scripted_model import Call, scripted

from synth.hooks.agents import AGENTS
from synth.hooks.install import install
from synth.hooks.traces import traces_of
from synth.store.tasks import Store
from synth.tracing.traces import to_evidence

PROGRAMS = os.environ.get("ASSAY_AGENTS", "")
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="ASSAY_AGENTS names no directory with the agents' programs")
TASK = "Change x to 2 and move n"


def run_agent(name: str, home: Path, project: Path, script: list[Call]) -> None:
    """One headless run, in an environment of its own."""
    env = {"PATH": f"{PROGRAMS}:/usr/bin:/bin", "HOME": str(home)}
    with scripted(script) as model:
        if name == "claude-code":
            quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
            env |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", **dict.fromkeys(quiet, "1")}
            words = ["claude", "-p", TASK, "--allowedTools", "Bash", "Read", "Edit", "Write"]
        elif name == "codex":
            config = (
                'model = "gpt-5-codex"\nmodel_provider = "x"\n[model_providers.x]\nname = "x"\nwire_api = "responses"\n'
                f'base_url = "{model.url}/v1"\nenv_key = "KEY"\n[analytics]\nenabled = false\n'
            )
            (home / ".codex" / "config.toml").write_text(config)
            env["KEY"] = "none"
            bypass = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
            words = ["codex", "exec", "--skip-git-repo-check", *bypass, TASK]
        else:
            settings = home / ".gemini" / "settings.json"
            more = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
            settings.write_text(json.dumps({**json.loads(settings.read_text()), **more, "general": {"disableAutoUpdate": True}}))
            env |= {"GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_API_KEY": "none"}
            words = ["gemini", "-m", "gemini-2.5-flash", "--yolo", "--skip-trust", "-p", TASK]
        done = subprocess.run(words, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]


def script_of(name: str, project: Path) -> list[Call]:
    """Look, edit, write, move with an error at the end, look again: in each agent's own tools."""
    shell, given = {
        "claude-code": ("Bash", "command"), "codex": ("exec_command", "cmd"), "gemini-cli": ("run_shell_command", "command"),
    }[name]  # fmt: skip
    path = str(project / "a.txt")
    replaced = {"file_path": path, "old_string": "1", "new_string": "2"}
    wrote = {"file_path": str(project / "sub" / "b.txt"), "content": "b\n"}
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-x = 1\n+x = 2\n*** Add File: sub/b.txt\n+b\n*** End Patch"
    edits: list[Call] = {
        "claude-code": [("Read", {"file_path": path}), ("Edit", replaced), ("Write", wrote)],
        "codex": [(shell, {given: f"apply_patch <<'EOF'\n{patch}\nEOF\n"})],
        "gemini-cli": [("read_file", {"file_path": path}), ("replace", {**replaced, "instruction": "x"}), ("write_file", wrote)],
    }[name]
    more = {} if name == "codex" else {"description": "d"}
    look = (shell, {given: "cat a.txt", **more})
    return [look, *edits, (shell, {given: "mv n.txt m.txt && ls nosuch", **more}), look]


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_a_real_agent_is_captured_exactly(tmp_path: Path, name: str) -> None:
    """Start, steps with outputs and exit codes, and end."""
    home, project, store = tmp_path / "home", tmp_path / "project", Store(tmp_path / "store")
    for place in (home, project):
        place.mkdir()
    (project / "a.txt").write_text("x = 1\n")
    (project / "n.txt").write_text("n\n")
    install(AGENTS[name], home, store.root)
    run_agent(name, home, project, script_of(name, project))
    traces, lost = traces_of(store)
    assert (lost, store.errors()) == ([], [])
    (trace,) = traces
    assert trace.task_description == TASK
    assert trace.commands == ("cat a.txt", "mv n.txt m.txt && ls nosuch", "cat a.txt")
    assert trace.outputs == ("x = 1\n", "ls: cannot access 'nosuch': No such file or directory\n", "x = 2\n")
    assert trace.exit_codes == (0, 2, 0)
    evidence = to_evidence(trace)
    assert [(e.after_commands, e.path) for e in evidence.edits] == [(1, "a.txt"), (1, "sub/b.txt")]
    assert sorted(evidence.base or ()) == ["a.txt", "n.txt"]
    assert {p: e.content for p, e in (evidence.post or {}).items() if e.type == "file"} == {
        "a.txt": b"x = 2\n", "m.txt": b"n\n", "sub/b.txt": b"b\n",
    }  # fmt: skip
