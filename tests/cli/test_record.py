"""``assay record``: what was done, as a trace that loads and says the truth."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from synth.cli.program import run
from synth.tracing.traces import load_traces, to_evidence


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def test_records_outputs_codes_and_both_trees(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands run one after another where the previous one ended; their output is passed on."""
    out = work.parent / "t.jsonl"
    steps = ["-c", "mkdir sub && cd sub", "-c", "pwd >&2; echo hi; false; true"]
    assert run(["record", "--task", "move it", *steps, "-o", str(out), "--", "mv ../a.txt b.md"]) == 0
    (trace,) = load_traces(out)
    assert trace.commands[-1] == "mv ../a.txt b.md"
    assert trace.exit_codes == (0, 0, 0)
    assert trace.metadata["cwds"] == [".", "sub", "sub"]
    assert trace.outputs[1].startswith("hi\n")
    assert trace.success
    evidence = to_evidence(trace)
    assert evidence.base is not None
    assert evidence.post is not None
    assert set(evidence.base) == {"a.txt"}
    assert set(evidence.post) == {"sub", "sub/b.md"}
    assert "hi" in capsys.readouterr().out


def test_a_failed_command_is_kept_as_failed(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, and the trace says that it did not succeed; so is the user told, also of a step before one that succeeds."""
    out = work.parent / "t.jsonl"
    assert run(["record", "--task", "fail", "-o", str(out), "--", "ls", "no such file"]) == 1
    (trace,) = load_traces(out)
    assert not trace.success
    assert trace.commands == ("ls 'no such file'",)
    assert "kept as failed, and no skill is made of it: ls 'no such file' ended with exit code 2" in capsys.readouterr().err
    assert run(["record", "--task", "fetch", "-o", str(out), "-c", "exit 7", "--", "true"]) == 1
    assert "kept as failed, and no skill is made of it: exit 7 ended with exit code 7" in capsys.readouterr().err
    assert run(["record", "--task", "fetch", "-o", str(out), "-c", "false || true", "--", "true"]) == 0
    assert "as failed" not in capsys.readouterr().err


def test_it_says_what_is_not_in_the_pictures(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A task that cleans these up could not be learned, and nobody would know why."""
    for n in range(6):
        (work / f"p{n}" / "__pycache__").mkdir(parents=True)
    assert run(["record", "--task", "look", "-o", str(work.parent / "t.jsonl"), "--", "ls"]) == 0
    said = capsys.readouterr().err
    assert "not in its pictures: p0/__pycache__, p1/__pycache__, " in said
    assert "p4/__pycache__ and 1 more. What a task does there is not learned" in said


def test_records_into_the_configured_store(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without -o the trace goes where `assay crystallize` looks."""
    monkeypatch.setenv("PRJ_DATA", str(work.parent / "data"))
    assert run(["record", "--task", "count", "--task-id", "count-1", "--", "wc -l a.txt"]) == 0
    (trace,) = load_traces(work.parent / "data" / "evolution" / "traces")
    assert trace.task_id == "count-1"


def test_what_cannot_be_kept_is_not_run(work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A store that cannot be written, or an id that cannot be one: said before the command runs, which cannot be undone."""
    assert run(["record", "--task", "t", "--task-id", " ", "-o", "o.jsonl", "--", "touch ran"]) == 2
    monkeypatch.setenv("PRJ_DATA", "/dev/null")
    assert run(["record", "--task", "t", "--", "touch ran"]) == 2
    assert not (work / "ran").exists()
    assert "Traceback" not in capsys.readouterr().err


def test_a_watcher_that_goes_away_changes_nothing_of_the_recording(work: Path) -> None:
    """``assay record … | head -1``: the command runs on, and its own exit code is kept."""
    words = [sys.executable, "-m", "synth.cli", "record", "--task", "t", "-o", "o.jsonl", "--", "seq 100000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        said = process.communicate()[1]
    (trace,) = load_traces(work / "o.jsonl")
    assert (trace.success, trace.exit_codes) == (True, (0,))
    assert trace.outputs[0].endswith("\n100000\n")
    assert b"Traceback" not in said


def test_without_a_command_it_is_a_usage_error(work: Path) -> None:
    """Nothing is run, nothing is kept."""
    assert run(["record", "--task", "nothing"]) == 2
    assert sorted(p.name for p in work.iterdir()) == ["a.txt"]


def test_each_recording_is_counted(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`assay registry metrics` knows them."""
    from synth.cli.metrics import path
    from synth.metrics import Metrics

    monkeypatch.chdir(work)
    for _ in range(2):
        assert run(["record", "--task", "say it", "--", "true"]) == 0
    assert Metrics(path()).values()["traces_recorded"] == 2
