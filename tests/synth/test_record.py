"""Recording: outputs, exit codes, directories, and the workspace before and after."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot, effects
from synth.tracing.record import RecordError, RecordLimits, record, snapshot_directory
from synth.tracing.traces import dump_trace, to_evidence, trace_from_record
from verifiers.interface import EvidenceError


def test_a_recording_holds_what_replay_needs(tmp_path: Path) -> None:
    """Both snapshots, streams apart, exit codes and start directories; it is evidence as it is."""
    (tmp_path / "a.txt").write_text("hi\n", "utf-8")
    commands = ["ls", "cat nothing", "mkdir -p d && cd d", "mv ../a.txt b.txt"]
    trace = record("tidy up", commands, tmp_path)
    assert trace.outputs == ("a.txt\n", "cat: nothing: No such file or directory\n", "", "")
    assert trace.metadata["stderrs"] == ["", "cat: nothing: No such file or directory\n", "", ""]
    assert trace.exit_codes == (0, 1, 0, 0)
    assert trace.metadata["cwds"] == [".", ".", ".", "d"]
    assert not trace.success
    evidence = to_evidence(trace)
    assert evidence.base is not None
    assert evidence.post is not None
    assert [(e.path, e.kind) for e in effects(evidence.base, evidence.post)] == [
        ("a.txt", "removed"), ("d", "created"), ("d/b.txt", "created"),
    ]  # fmt: skip


def test_success_is_that_every_command_exited_0_unless_said(tmp_path: Path) -> None:
    """A failing command is a failed task, whatever came after it; within one, the shell decides; the user may know better."""
    assert not record("x", ["true", "false"], tmp_path).success
    assert not record("x", ["false", "true"], tmp_path).success
    assert record("x", ["false || true", "false; true"], tmp_path).success
    assert record("x", ["false"], tmp_path, success=True).success


def test_a_directory_that_is_gone_or_outside_is_left(tmp_path: Path) -> None:
    """The next command starts at the root of the workspace, as in a replay."""
    work = tmp_path / "w"
    work.mkdir()
    trace = record("x", ["cd ..", "mkdir d; cd d; rmdir ../d", "pwd"], work)
    assert trace.metadata["cwds"] == [".", ".", "."]
    assert trace.outputs[2] == f"{work.resolve()}\n"


def test_the_exit_code_survives_exit_and_signals(tmp_path: Path) -> None:
    """As the shell counts them."""
    trace = record("x", ["exit 7", "kill -9 $$", "no-such-command"], tmp_path)
    assert trace.exit_codes == (7, 137, 127)


def test_output_is_bounded(tmp_path: Path) -> None:
    """A command that prints without measure fills no memory, and the trace says that it was cut."""
    trace = record("x", ["head -c 3000000 /dev/zero | tr '\\0' x", "echo ok"], tmp_path, limits=RecordLimits(output_bytes=1000))
    assert trace.outputs == ("x" * 1000, "ok\n")
    assert trace.metadata["truncated"] == [0]


def test_a_command_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    """With its children, after its time."""
    began = time.monotonic()
    trace = record("x", ["sleep 60 & sleep 60"], tmp_path, limits=RecordLimits(wall_s=0.3))
    assert time.monotonic() - began < 30
    assert trace.metadata["timed_out"] == [0]
    assert not trace.success


class Unwanted(BaseException):
    """Nobody waits for the recording any more."""


@pytest.mark.parametrize("heard", [1, 2])
def test_a_recording_that_nobody_wants_any_more_ends(tmp_path: Path, heard: int) -> None:
    """The command that runs is ended with its children, and no further one is started."""
    told: list[str] = []

    def step(text: str) -> None:
        told.append(text)
        if len(told) > heard:
            raise Unwanted

    began = time.monotonic()
    with pytest.raises(Unwanted):
        record("x", ["(sleep 2; touch late) & sleep 60", "touch second"], tmp_path, step=step)
    assert time.monotonic() - began < 30
    assert told == ["(sleep 2; touch late) & sleep 60", *[""] * heard]
    time.sleep(2.5)
    assert list(tmp_path.iterdir()) == []


def test_a_step_hears_each_command(tmp_path: Path) -> None:
    """And changes nothing of what is recorded."""
    told: list[str] = []
    limits = RecordLimits(wall_s=0.5)
    trace = record("x", ["echo a", "sleep 60", "exit 3"], tmp_path, limits=limits, step=told.append)
    assert [text for text in told if text] == ["echo a", "sleep 60", "exit 3"]
    assert (trace.outputs, trace.exit_codes) == (("a\n", "", ""), (0, 137, 3))
    assert trace.metadata["timed_out"] == [1]


def test_bytes_that_are_no_text_survive(tmp_path: Path) -> None:
    """In outputs, names and contents, through JSON and back."""
    name = os.fsdecode(b"caf\xe9.bin")
    (tmp_path / name).write_bytes(b"\xff\x00")
    trace = record("x", ["printf 'a\\377'; ls -N"], tmp_path)
    assert trace.outputs == (f"a\udcff{name}\n",)
    again = to_evidence(trace_from_record(json.loads(dump_trace(trace)), "x"))
    assert again.base is not None
    assert again.base[name].content == b"\xff\x00"


@pytest.mark.parametrize(("commands", "needle"), [([], "no command"), (["a\0b"], "no command can hold")])
def test_what_cannot_be_recorded_is_refused(tmp_path: Path, commands: list[str], needle: str) -> None:
    """Nothing to run, or something that no shell takes."""
    with pytest.raises((RecordError, EvidenceError, ValueError), match=needle):
        record("x", commands, tmp_path)


def test_a_missing_or_huge_workspace_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """A clear sentence, and no command was run."""
    with pytest.raises(RecordError, match="not a directory"):
        record("x", ["true"], tmp_path / "none")
    (tmp_path / "big").write_bytes(b"x" * 100)
    for limits, needle in (
        (RecordLimits(total_bytes=50), "fit into a recording: it has"),
        (RecordLimits(files=0), "more than 0"),
    ):
        with pytest.raises(RecordError, match=needle):
            record("x", ["touch ran"], tmp_path, limits=limits)
    assert not (tmp_path / "ran").exists()


def test_a_snapshot_is_of_names_modes_contents_and_links(tmp_path: Path) -> None:
    """Links are kept as links, pipes are named, caches are left out."""
    (tmp_path / "d").mkdir(mode=0o750)
    (tmp_path / "d" / "f").write_bytes(b"1")
    (tmp_path / "d" / "f").chmod(0o640)
    (tmp_path / "l").symlink_to("../outside//x")
    os.mkfifo(tmp_path / "p", 0o600)
    (tmp_path / "__pycache__").mkdir()
    assert snapshot_directory(tmp_path) == Snapshot(
        {
            "d": Entry("dir", 0o750), "d/f": Entry("file", 0o640, b"1"), "l": Entry("symlink", 0o777, target="../outside//x"),
            "p": Entry("fifo", 0o600),
        }
    )  # fmt: skip


names = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=20).filter(
    lambda n: n not in (".", "..")
)


@given(st.dictionaries(names, st.binary(max_size=50), max_size=4))
def test_any_files_come_back(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    """Whatever the names and contents."""
    root = tmp_path_factory.mktemp("any")
    for name, content in files.items():
        (root / name).write_bytes(content)
    found = snapshot_directory(root, skip=frozenset())
    assert {p: e.content for p, e in found.items()} == files


def test_a_repository_is_kept_where_a_command_changes_it(tmp_path: Path) -> None:
    """A commit could not be replayed without; who only looks at it does not need it, and too long a history is left out."""
    env = "GIT_CONFIG_GLOBAL=/dev/null git -c user.name=a -c user.email=a@b"
    (tmp_path / "a").write_text("1\n", encoding="utf-8")
    record("begin", ["git init -q -b main ."], tmp_path)
    made = record("commit", ["git add a", f"{env} commit -q -m one"], tmp_path)
    assert made.workspace is not None
    assert made.post_workspace is not None
    assert ".git/HEAD" in made.workspace
    assert ".git/refs/heads/main" in set(made.post_workspace) - set(made.workspace)
    looked = record("look", ["git status --short"], tmp_path)
    assert looked.workspace is not None
    assert [p for p in looked.workspace if p.startswith(".git")] == []
    long = record("tag", ["git tag v1"], tmp_path, limits=RecordLimits(files=5))
    assert long.workspace is not None
    assert set(long.workspace) == {"a"}
    assert long.metadata["left_out"] == [".git"]


def test_what_is_left_out_of_the_pictures_is_named(tmp_path: Path) -> None:
    """Before or after, at any depth, directories and what has no form; our own store is no part of a task."""
    for name in ("node_modules/a", "src/__pycache__", ".assay"):
        (tmp_path / name).mkdir(parents=True)
    made = record("clean", ["rm -r node_modules; mkdir .venv; true"], tmp_path)
    assert made.metadata["left_out"] == [".venv", "node_modules", "src/__pycache__"]
    assert set(made.workspace or ()) == {"src"}
    whole = record("clean", ["true"], tmp_path, skip=frozenset())
    assert "left_out" not in whole.metadata
