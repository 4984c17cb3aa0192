"""Lift with the real clients, each run against a scripted model that uses a skill where it is shown one.

Wants their programs in the directory that ``ASSAY_AGENTS`` names: one while all tests run, all for ``python3 -m nox -s hosts``.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from factories import draft, report
from real_agents import PROGRAMS, THERE
from scripted_model import Call, ScriptedModel
from test_lift import task

from synth.export import skill_of
from synth.lift import CLIENTS, Lift
from synth.lift.trial import Settings
from synth.registry import Registry

pytestmark = pytest.mark.skipif(not PROGRAMS, reason="ASSAY_AGENTS names no directory with the agents' programs")
TOOLS = {"claude-code": ("Bash", "command"), "codex": ("exec_command", "cmd"), "gemini-cli": ("run_shell_command", "command")}


class Learner(ScriptedModel):
    """Renames by the skill's program where the skill is listed; else looks twice and makes a copy."""

    def __init__(self, name: str) -> None:
        super().__init__([])
        self.agent = name

    def answers(self) -> list[Call]:
        shell, given = TOOLS[self.agent]
        more = {} if self.agent == "codex" else {"description": "d"}
        program = f"$HOME/{CLIENTS[self.agent].skills}/batch-rename/scripts/run.py"
        if "batch-rename" in json.dumps(self.asked[-1]):
            return [(shell, {given: f"""{program} --directory . '{{"old_ext": "txt"}}'""", **more})]
        return [(shell, {given: command, **more}) for command in ("ls", "cat a.txt", "cp a.txt a.md")]

    def __getattribute__(self, name: str) -> object:
        return self.answers() if name == "script" and self.asked else super().__getattribute__(name)


@pytest.mark.parametrize("name", THERE)
def test_a_real_client_with_a_skill_and_without(tmp_path: Path, name: str) -> None:
    """It finds the skill only where it should, reaches the end with it, and says what both runs took."""
    with Registry(tmp_path) as registry:
        registry.register(draft(), report(draft()))
        skills = [skill_of(registry, "batch_rename", with_evidence=False)]
    with Learner(name) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        address = {"claude-code": "ANTHROPIC_BASE_URL", "codex": "OPENAI_BASE_URL", "gemini-cli": "GOOGLE_GEMINI_BASE_URL"}[name]
        url = f"{model.url}/v1" if name == "codex" else model.url
        environment = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", address: url, CLIENTS[name].keys[0]: "none"}
        chosen = "gemini-2.5-flash" if name == "gemini-cli" else "gpt-5-codex" if name == "codex" else None
        lift = Lift(Settings(CLIENTS[name], f"{PROGRAMS}/{CLIENTS[name].program}", environment, chosen, 120.0), skills)
        lift.run([task(0)])
        model.shutdown()
    (pair,) = lift.pairs
    assert (pair.without.reached, pair.skilled.reached, pair.skilled.why) == (False, True, "")
    assert pair.without.why.startswith("a.txt: ")
    assert pair.without.spent is not None
    assert pair.skilled.spent is not None
    assert pair.skilled.spent.turns < pair.without.spent.turns
    assert 0 < pair.skilled.spent.tokens < pair.without.spent.tokens
    assert (pair.skilled.spent.said, pair.skilled.spent.failed) == ("done", "")
    assert (pair.skilled.spent.usd is not None) is (name == "claude-code")
