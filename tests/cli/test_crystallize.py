"""``assay crystallize`` on the demo's recordings with one of another doing among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from synth.cli.program import run
from synth.registry import Registry

pytestmark = pytest.mark.engine
RENAMES = Path(__file__).parents[2] / "fixtures" / "demo" / "rename.jsonl"


@pytest.fixture
def mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Successful renames, and one recording that was asked for alike and wrote a file instead."""
    monkeypatch.chdir(tmp_path)
    renames = [row for line in RENAMES.read_text().splitlines() if (row := json.loads(line))["success"]]
    written = {"type": "file", "mode": "0644", "content_b64": "eA=="}
    stranger = renames[0] | {
        "task_id": "copier", "commands": ["printf x > copied"], "outputs": [""], "exit_codes": [0], "metadata": {},
        "post_workspace": renames[0]["workspace"] | {"copied": written},
        "task_description": renames[0]["task_description"].replace("txt", "rst"),
    }  # fmt: skip
    file = tmp_path / "mixed.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in (*renames, stranger)))
    return file


def test_a_recording_of_something_else_is_named_and_stands_in_nobodys_way(
    mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others become a skill; which one it does not use is said; a second run makes no second version."""
    ids = ",".join(json.loads(line)["task_id"] for line in mixed.read_text().splitlines())
    command = ["crystallize", str(mixed), "--together", ids, "--registry", "skills", "--format", "json"]
    assert run(command) == 0
    (outcome,) = json.loads(capsys.readouterr().out)["patterns"]
    assert outcome["outcome"] == "registered"
    assert list(outcome["unused"]) == ["copier"]
    assert run(command) == 0
    (outcome,) = json.loads(capsys.readouterr().out)["patterns"]
    assert outcome["why"].startswith("it is registered for this task")
    with Registry(Path("skills")) as registry:
        (entry,) = registry.list(None)
        assert "copier" not in registry.draft(entry.name).bindings


def test_recordings_that_look_different_can_be_said_to_be_one_task(
    mixed: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Enough of them succeeded, and none is like another: how to go on is said, with their names."""
    rows = [json.loads(line) for line in mixed.read_text().splitlines()][:3]
    ways = ["rename -v s/a/b/ *", "ls | wc -l > count", "printf x > y"]
    file = tmp_path / "different.jsonl"
    told = [row | {"task_id": f"t{n}", "task_description": f"Task {n}", "commands": [ways[n]]} for n, row in enumerate(rows)]
    file.write_text("".join(json.dumps(row | {"outputs": [""], "exit_codes": [0], "metadata": {}}) + "\n" for row in told))
    assert run(["crystallize", str(file), "--registry", "skills"]) != 0
    said = capsys.readouterr().err
    assert "look different from each other" in said
    assert "--together t0,t1,t2" in said
