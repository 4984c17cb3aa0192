"""The pattern cache: only new files are read, and the answer is that of a full detection."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synth.config import Evolution
from synth.detect import detect
from synth.detect.cache import PatternIndex, PatternIndexError
from synth.detect.watch import Watch
from synth.interface import ExecutionTrace, TracePattern
from synth.tracing.collector import TraceCollector
from synth.tracing.traces import load_traces

CORPUS = Path(__file__).parents[2] / "fixtures" / "traces" / "traces.jsonl"
START = datetime(2026, 1, 1, tzinfo=UTC)


def trace(n: int, description: str, command: str, success: bool = True) -> ExecutionTrace:
    return ExecutionTrace(f"t{n}", description, (command,), ("",), success, 1.0, START + timedelta(seconds=n), {})


def copies(n: int, start: int = 0) -> list[ExecutionTrace]:
    return [trace(start + i, f"copy data{i} to backup{i}", f"cp -r data{i} backup{i}") for i in range(n)]


def members(patterns: list[TracePattern]) -> set[frozenset[str]]:
    return {frozenset(t.task_id for t in (*p.traces, *p.failures)) for p in patterns}


def index(tmp_path: Path) -> tuple[TraceCollector, PatternIndex]:
    return TraceCollector(tmp_path / "traces"), PatternIndex(tmp_path / "traces", tmp_path / "patterns.json")


def test_the_index_finds_what_a_full_detection_finds(tmp_path: Path) -> None:
    """On the corpus: the same patterns, named the same."""
    store, patterns = index(tmp_path)
    traces = load_traces(CORPUS)
    for one in traces:
        store.store(one)
    cached, full = patterns.patterns(), detect(traces)
    assert members(cached) == members(full)
    assert sorted(p.task_category for p in cached) == sorted(p.task_category for p in full)


def test_only_new_and_changed_files_are_read(tmp_path: Path) -> None:
    """A second look reads nothing; a new, a changed and a removed file are noticed."""
    store, patterns = index(tmp_path)
    paths = [store.store(t) for t in copies(3)]
    assert len(patterns.refresh().read) == 3
    assert patterns.refresh().read == ()
    store.store(trace(9, "x", "ls"))
    paths[0].write_text(paths[1].read_text("utf-8"), "utf-8")
    os.utime(paths[0], ns=(1, 1))
    paths[2].unlink()
    again = patterns.refresh()
    assert (len(again.read), again.gone) == (2, 1)


def test_the_pattern_cache_file_says_what_was_found(tmp_path: Path) -> None:
    """``patterns.json``: schema, thresholds, and each pattern with its task_ids."""
    store, patterns = index(tmp_path)
    for t in [*copies(3), trace(7, "copy data7 to backup7", "cp -r data7 backup7", success=False)]:
        store.store(t)
    patterns.patterns()
    document = json.loads((tmp_path / "patterns.json").read_text("utf-8"))
    assert document["schema"] == "assay-patterns/1"
    (found,) = document["patterns"]
    assert found["task_ids"] == ["t0", "t1", "t2"]
    assert found["failed_task_ids"] == ["t7"]
    assert (found["frequency"], found["success_rate"]) == (3, 0.75)


def test_one_new_trace_completes_its_pattern(tmp_path: Path) -> None:
    """The third of a kind makes it due; a stranger changes nothing."""
    store, patterns = index(tmp_path)
    for n, t in enumerate(copies(3)):
        due = patterns.add(store.store(t), t)
        assert bool(due) == (n == 2)
    (pattern,) = [patterns.load(d) for d in due]
    assert pattern is not None
    assert [t.task_id for t in pattern.traces] == ["t0", "t1", "t2"]
    for path in (tmp_path / "traces").iterdir():
        path.unlink()
    assert patterns.load(due[0]) is None
    stranger = trace(20, "count the lines of a", "wc -l a")
    assert patterns.add(store.store(stranger), stranger) == []


def test_a_neighbours_neighbours_belong(tmp_path: Path) -> None:
    """Traces that are joined through a third: said like one, done like the other."""
    store, patterns = index(tmp_path)
    chain = [
        trace(0, "archive every log file of project alpha", "tar czf 'alpha.tgz' alpha"),
        trace(1, "archive every log file of project beta", "zip -r 'beta.zip' beta"),
        trace(2, "archive every log file of project gamma", "7z a 'gamma.7z' gamma"),
    ]
    due = [patterns.add(store.store(t), t) for t in chain][-1]
    assert members([p for d in due if (p := patterns.load(d)) is not None]) == members(detect(chain))


def test_a_file_that_is_no_trace_is_told_once_and_hides_none(tmp_path: Path) -> None:
    """Half files of other tools, several records, wrong types."""
    store, patterns = index(tmp_path)
    for t in copies(3):
        store.store(t)
    (tmp_path / "traces" / "bad.json").write_text("{", "utf-8")
    (tmp_path / "traces" / "two.json").write_text("[{}, {}]", "utf-8")
    first = patterns.refresh()
    assert len(first.problems) == 2
    assert patterns.refresh().problems == ()
    assert members(patterns.patterns()) == {frozenset({"t0", "t1", "t2"})}


def test_a_damaged_index_is_made_anew(tmp_path: Path) -> None:
    """It is only a cache."""
    store, patterns = index(tmp_path)
    for t in copies(3):
        store.store(t)
    patterns.patterns()
    for path in tmp_path.glob("patterns.index*"):
        path.write_bytes(b"no database" * 100)
    assert len(patterns.patterns()) == 1


def test_a_place_that_cannot_hold_an_index_is_one_clear_error(tmp_path: Path) -> None:
    """A directory where the index should be, and a file where its directory should be."""
    (tmp_path / "patterns.index.sqlite").mkdir()
    with pytest.raises(PatternIndexError, match="cannot be used"):
        index(tmp_path)[1].refresh()
    (tmp_path / "f").write_text("", "utf-8")
    with pytest.raises(PatternIndexError):
        PatternIndex(tmp_path, tmp_path / "f" / "patterns.json").refresh()


def test_two_processes_share_an_index(tmp_path: Path) -> None:
    """Each brings it up to date while the other does; nothing is lost and nothing is thrown away."""
    store, patterns = index(tmp_path)
    for t in copies(40):
        store.store(t)
    script = (
        "import sys; from synth.detect.cache import PatternIndex\n"
        "i = PatternIndex(sys.argv[1], sys.argv[2])\n"
        "for _ in range(5): assert len(i.due()) == 1"
    )
    argv = [sys.executable, "-c", script, str(tmp_path / "traces"), str(tmp_path / "patterns.json")]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    processes = [subprocess.Popen(argv, env=env) for _ in range(2)]
    assert [p.wait() for p in processes] == [0, 0]
    assert patterns.refresh().read == ()


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    """Its features may mean something else."""
    store, patterns = index(tmp_path)
    for t in copies(3):
        store.store(t)
    assert len(patterns.refresh().read) == 3
    with closing(sqlite3.connect(tmp_path / "patterns.index.sqlite")) as db:
        db.execute("PRAGMA user_version = 7")
    assert len(patterns.refresh().read) == 3


def test_thresholds_are_not_cached(tmp_path: Path) -> None:
    """Another configuration on the same index."""
    store, _ = index(tmp_path)
    for t in copies(3):
        store.store(t)
    strict = PatternIndex(tmp_path / "traces", tmp_path / "patterns.json", Evolution(min_frequency=4))
    assert strict.patterns() == []
    assert len(PatternIndex(tmp_path / "traces", tmp_path / "patterns.json").patterns()) == 1


def test_an_absent_directory_has_no_patterns(tmp_path: Path) -> None:
    """Nothing recorded yet."""
    assert index(tmp_path)[1].patterns() == []


def test_a_watch_shows_all_due_patterns_once_and_then_what_is_new(tmp_path: Path) -> None:
    """A round without new traces has nothing to do; a new trace brings its pattern, and no other."""
    store, patterns = index(tmp_path)
    for t in [*copies(3), *(trace(10 + i, f"count the lines of a{i}", f"wc -l a{i}") for i in range(3))]:
        store.store(t)
    watch = Watch(patterns)
    assert len(watch.patterns()) == 2
    assert watch.patterns() == []
    store.store(trace(30, "count the lines of b", "wc -l b"))
    (pattern,) = watch.patterns()
    assert [t.task_id for t in pattern.traces] == ["t10", "t11", "t12", "t30"]
    watch.again(pattern)
    assert members(watch.patterns()) == members([pattern])
    assert watch.patterns() == []


def test_a_watch_passes_over_what_is_gone(tmp_path: Path) -> None:
    """Files that were pruned while a pattern waited for another round."""
    store, patterns = index(tmp_path)
    for t in copies(3):
        store.store(t)
    watch = Watch(patterns)
    (pattern,) = watch.patterns()
    watch.again(pattern)
    for path in (tmp_path / "traces").iterdir():
        path.unlink()
    assert watch.patterns() == []
