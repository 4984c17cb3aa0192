"""The trace store: layout, pruning, killed writers and many processes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.interface import ExecutionTrace
from synth.tracing.collector import TraceCollector, TraceStoreError, file_part, new_task_id
from synth.tracing.traces import load_traces
from verifiers.interface import EvidenceError

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def trace(n: int, description: str = "list files") -> ExecutionTrace:
    return ExecutionTrace(f"t{n}", description, ("ls",), ("a\n",), True, 1.0, START + timedelta(seconds=n), {})


def test_one_file_a_trace_in_the_omni_layout(tmp_path: Path) -> None:
    """``{YYYYmmdd_HHMMSS}_{task_id}_{n}.json`` with the seed's eight fields; n counts within the name."""
    store = TraceCollector(tmp_path / "deep" / "traces")
    paths = [store.store(trace(0)), store.store(trace(0))]
    assert [p.name for p in paths] == ["20260102_030405_t0_0.json", "20260102_030405_t0_1.json"]
    assert set(json.loads(paths[0].read_text("utf-8"))) == {
        "task_id", "task_description", "commands", "outputs", "success", "duration_ms", "timestamp", "metadata",
    }  # fmt: skip


def test_recording_is_async_and_found_by_task(tmp_path: Path) -> None:
    """The seed's two calls; descriptions are compared without case and blanks."""

    async def use() -> list[ExecutionTrace]:
        store = TraceCollector(tmp_path)
        await store.record("Rename  files", ["ls"], ["a\n"], True, 3.0, exit_codes=[0], colour="blue")
        await store.record("other", ["ls"], ["a\n"], True, 3.0)
        return await store.get_traces_by_task("rename files ")

    (found,) = asyncio.run(use())
    assert found.exit_codes == (0,)
    assert found.extra == {"colour": "blue"}


def test_what_is_no_trace_is_refused_before_it_is_stored(tmp_path: Path) -> None:
    """Two outputs for one command: an error, and no file."""
    store = TraceCollector(tmp_path)
    with pytest.raises(EvidenceError, match="2 items for 1 commands"):
        asyncio.run(store.record("x", ["ls"], ["a", "b"], True, 1.0))
    assert store.files() == []


def test_the_oldest_are_pruned(tmp_path: Path) -> None:
    """Never more than ``max_traces_stored``, and the newest stay."""
    store = TraceCollector(tmp_path, max_traces_stored=3)
    for n in range(5):
        store.store(trace(n))
    assert [t.task_id for t in store.traces()] == ["t2", "t3", "t4"]


def test_a_limit_below_one_is_refused(tmp_path: Path) -> None:
    """Storing nothing would look like working."""
    with pytest.raises(ValueError, match="at least 1"):
        TraceCollector(tmp_path, 0)


def test_half_files_are_invisible_and_removed_later(tmp_path: Path) -> None:
    """What a dead writer left is not read, and an old one is cleaned up by the next write."""
    fresh, stale = tmp_path / ".1-1-1.tmp", tmp_path / ".2-2-2.tmp"
    for path in (fresh, stale):
        path.write_text("{", "utf-8")
    os.utime(stale, (0, 0))
    store = TraceCollector(tmp_path)
    store.store(trace(0))
    assert [t.task_id for t in store.traces()] == ["t0"]
    assert fresh.exists()
    assert not stale.exists()


def test_a_damaged_file_is_named_and_hides_no_other(tmp_path: Path) -> None:
    """One error a file; the rest still loads."""
    store = TraceCollector(tmp_path)
    store.store(trace(0))
    (tmp_path / "20260101_000000_bad_0.json").write_text('{"task_id"', "utf-8")
    with pytest.raises(EvidenceError, match="cut off"):
        store.traces()
    errors: list[EvidenceError] = []
    assert [t.task_id for t in store.traces(errors)] == ["t0"]
    assert "20260101_000000_bad_0.json" in errors[0].where


def test_an_unwritable_place_is_one_clear_error(tmp_path: Path) -> None:
    """A file where the directory should be."""
    (tmp_path / "x").write_text("", "utf-8")
    with pytest.raises(TraceStoreError, match="cannot store"):
        TraceCollector(tmp_path / "x").store(trace(0))


WRITER = """
import sys
from datetime import UTC, datetime
from synth.tracing.collector import TraceCollector
from synth.interface import ExecutionTrace
store = TraceCollector(sys.argv[1], int(sys.argv[3]))
n = 0
while n < int(sys.argv[2]):
    store.store(ExecutionTrace("t", "d", ("ls",), ("x" * 200_000,), True, 1.0, datetime.now(UTC), {}))
    n += 1
    print(n, flush=True)
"""


def writer(path: Path, count: int, limit: int = 1000) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", WRITER, str(path), str(count), str(limit)]
    return subprocess.Popen(
        argv, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    )


def test_a_writer_killed_at_any_moment_leaves_no_half_trace(tmp_path: Path) -> None:
    """SIGKILL in the middle of writing: everything visible is whole, and what was reported stored is there."""
    for pause in (0.0, 0.002, 0.005, 0.011):
        process = writer(tmp_path, 10**6)
        assert process.stdout is not None
        reported = int(process.stdout.readline())
        time.sleep(pause)
        before = len(TraceCollector(tmp_path).files())
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert before >= reported
        assert all(len(t.outputs[0]) == 200_000 for t in TraceCollector(tmp_path).traces())


def test_processes_share_a_directory(tmp_path: Path) -> None:
    """Two writers with one task_id in the same second overwrite nothing; pruning in both breaks neither."""
    processes = [writer(tmp_path, 30, 50) for _ in range(2)]
    for process in processes:
        assert process.communicate()[0].split()[-1] == "30"
        assert process.returncode == 0
    assert len(TraceCollector(tmp_path).traces()) == 50


@given(st.text())
def test_any_task_id_makes_a_file_name(task_id: str) -> None:
    """Slashes, dots and foreign letters cannot leave the directory."""
    assert re.fullmatch(r"[\w.\-]{1,100}", file_part(task_id), re.ASCII)
    assert not file_part(task_id).startswith(".")


def test_new_ids_differ() -> None:
    """Even within one tick of the clock."""
    assert len({new_task_id() for _ in range(200)}) == 200


def test_git_leaves_a_new_data_directory_alone(tmp_path: Path) -> None:
    """It ignores itself; one that was there already, and a store elsewhere, stay as they are."""
    TraceCollector(tmp_path / "new" / ".assay" / "evolution" / "traces").store(trace(0))
    assert (tmp_path / "new" / ".assay" / ".gitignore").read_text() == "*\n"
    (tmp_path / "old" / ".assay").mkdir(parents=True)
    TraceCollector(tmp_path / "old" / ".assay" / "evolution" / "traces").store(trace(0))
    TraceCollector(tmp_path / "else" / "traces").store(trace(0))
    assert not list(tmp_path.rglob("old/**/.gitignore")) + list(tmp_path.rglob("else/**/.gitignore"))


def test_a_directory_that_was_recorded_in_is_its_store(tmp_path: Path) -> None:
    """Named by itself or by its data directory; what else lies there is no trace."""
    (tmp_path / "package.json").write_text('{"name": "x"}')
    TraceCollector(tmp_path / ".assay" / "evolution" / "traces").store(trace(0))
    assert (
        [t.task_id for t in load_traces(tmp_path)] == [t.task_id for t in load_traces(tmp_path / ".assay")] == [trace(0).task_id]
    )
