"""The files that other tools read: pre-commit's hooks and the reusable workflow."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOW = ROOT / ".github" / "workflows" / "assay-gate.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
HOOK_KEYS = {
    "id", "name", "entry", "language", "files", "exclude", "types", "types_or", "exclude_types", "args", "always_run",
    "fail_fast", "pass_filenames", "description", "language_version", "log_file", "require_serial", "stages", "verbose",
    "alias", "minimum_pre_commit_version",
}  # fmt: skip


def workflow(path: Path = WORKFLOW) -> dict[Any, Any]:
    # YAML 1.1 reads the key `on` as true; GitHub does not.
    data: dict[Any, Any] = yaml.safe_load(path.read_text())
    return {("on" if key is True else key): value for key, value in data.items()}


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


every_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


@every_workflow
def test_workflow_keeps_the_schema(path: Path) -> None:
    """The published schema of workflow files accepts it."""
    schema = json.loads((ROOT / "fixtures" / "schemas" / "github-workflow.json").read_text())
    jsonschema.Draft7Validator(schema).validate(workflow(path))


@every_workflow
def test_workflow_scripts_are_shell(path: Path) -> None:
    """Every script parses as bash."""
    for step in steps(path):
        if "run" in step:
            subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


@every_workflow
def test_workflow_scripts_hold_no_expressions(path: Path) -> None:
    """Inputs reach scripts through the environment: text of a caller is never part of a script."""
    assert not [s["run"] for s in steps(path) if "${{" in s.get("run", "")]


@every_workflow
def test_workflow_actions_are_pinned(path: Path) -> None:
    """Other people's actions by commit, never by a tag that can move."""
    used = [s["uses"] for s in steps(path) if "uses" in s]
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", u) for u in used)


def test_workflow_inputs_exist() -> None:
    """Every input that is used is declared, and every declared one is used."""
    text = WORKFLOW.read_text()
    called = workflow()["on"]["workflow_call"]
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(called["inputs"])
    assert set(re.findall(r"secrets\.([\w-]+)", text)) == set(called["secrets"])


def test_hooks_have_known_keys_only() -> None:
    """pre-commit ignores unknown keys with a warning; required ones are there."""
    hooks = yaml.safe_load(HOOKS.read_text())
    assert [h["id"] for h in hooks] == ["assay-static", "assay-gate"]
    for hook in hooks:
        assert set(hook) <= HOOK_KEYS
        assert {"id", "name", "entry", "language"} <= set(hook)


def test_hooks_start_on_what_belongs_to_a_skill() -> None:
    """Skills, evidence and bindings start them; other files do not. Commits never wait for a sandbox."""
    static, gate = yaml.safe_load(HOOKS.read_text())
    for hook in (static, gate):
        names = ("a/skill.py", "a/evidence.jsonl", "x.bindings.json", "README.md", "my.json")
        wanted = [name for name in names if re.search(hook["files"], name)]
        assert wanted == ["a/skill.py", "a/evidence.jsonl", "x.bindings.json"]
        assert hook["pass_filenames"]  # what git has changed says nothing of --all-files and of a first push
        assert "--touched" in hook["entry"]
    assert "--static" in static["entry"]
    assert "pre-commit" in static["stages"]
    assert "pre-commit" not in gate["stages"]


def test_two_calls_of_the_workflow_keep_out_of_each_others_way() -> None:
    """No group that cancels, names that the inputs tell apart, no package by a name that others may claim."""
    found = workflow()
    assert "concurrency" not in found
    assert found["on"]["workflow_call"]["inputs"]["package"]["required"]
    steps = {step["name"]: step for step in found["jobs"]["gate"]["steps"] if "name" in step}
    key = "${{ steps.gate.outputs.key }}"
    assert key in steps["Keep the reports"]["with"]["name"]
    assert key in steps["Code scanning"]["with"]["category"]
    assert steps["Code scanning"]["continue-on-error"]
    env = {name: f"{name}'s value" for name in steps["Gate"]["env"]}
    assert {"${{ inputs.package }}", "${{ inputs.name }}"} <= set(steps["Gate"]["env"].values())
    (line,) = [line for line in steps["Gate"]["run"].splitlines() if line.startswith("key=")]

    def made(env: dict[str, str]) -> str:
        return subprocess.check_output(["bash", "-c", f'{line}; echo "$key"'], env={**os.environ, **env}, text=True)

    keys = {made(env), *(made({**env, name: "another"}) for name in env)}
    assert len(keys) == len(env) + 1
