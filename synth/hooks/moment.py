"""The moment in which a task was done as often as the configuration asks: it is found after the turn, and told at the next event.

Detection is that of ``assay crystallize``, over the recordings of all projects of this store. Only turns that were not looked at
yet are read, and of many the newest ``MOST_TASKS``; the others follow after later turns.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synth.config import Config, load_config
from synth.detect.cache import Due, PatternIndex
from synth.detect.match import match_existing
from synth.files import write_atomic
from synth.hooks.later import within
from synth.hooks.learning import learn_waiting
from synth.hooks.traces import trace_of
from synth.hooks.uses import keep_uses
from synth.interface import ExecutionTrace, TracePattern
from synth.store.moments import Moment
from synth.store.tasks import Store
from synth.tracing.collector import TraceCollector
from synth.tracing.redact import redact_trace
from synth.tracing.traces import dump_traces
from synth.trust import is_trusted
from verifiers.formats.text import plural
from verifiers.interface import AssayError

MOST_TASKS = 20
"""Turns that are looked at in one go."""
LONGEST_S = 60
"""After which looking ends, wherever it is."""


def main(store: str) -> None:
    """The process that hooks start when a turn has ended. What goes wrong is in the store's log."""
    kept = Store(Path(store))
    try:
        with within(LONGEST_S):
            look(kept)
        learn_waiting(kept)
    except (AssayError, OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError) as e:
        kept.complain(f"looking for repeated tasks: {type(e).__name__}: {e}")


def look(store: Store) -> None:
    """Looks at turns that nobody looked at, and keeps what is to be told."""
    with _alone(store):
        seen = _seen(store)
        fresh = [task for task in store.tasks() if task.name not in seen][-MOST_TASKS:]
        for task in fresh:
            _keep(store, seen | {task.name})
            seen.add(task.name)
            _look_at(store, task)


def _look_at(store: Store, task: Path) -> None:
    first = store.events(task)[0]
    root, agent = str(first["root"]), str(first["agent"])
    config = _config(Path(root))
    if config.evolution.learn == "off" or not config.evolution.enabled:
        return
    trace = trace_of(store, task)
    if keep_uses(store, task, trace, (config.registry_dir, *sorted((store.root / "learned").glob("*/registry")))):
        return  # a skill did it: that is no recording to learn another from
    if not isinstance(trace, ExecutionTrace):
        return  # why, `assay hook show` says
    collector = TraceCollector(store.root / "traces", config.evolution.max_traces_stored)
    index = PatternIndex(collector.trace_dir, store.root / "patterns.json", config.evolution)
    trace = redact_trace(trace)
    for due in index.add(collector.store(trace), trace):
        if due.frequency >= config.evolution.min_frequency:
            _repeated(store, index, due, config, root, agent)


def _repeated(store: Store, index: PatternIndex, due: Due, config: Config, root: str, agent: str) -> None:
    """Keeps what is to be told of a task that is due, unless it was told; its recordings are kept for whoever learns it then."""
    pattern = index.load(due)
    if pattern is None:
        return
    found = store.moments.known(set(due.files))
    key = found[0].key if found is not None else hashlib.sha256(f"{due.files[0]}\0{root}".encode()).hexdigest()[:12]
    recording = store.root / "due" / f"{due.found.category[:60]}-{key[:6]}.jsonl"
    recording = Path(found[0].recording) if found is not None else recording
    recording.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomic(recording, dump_traces([*pattern.traces, *pattern.failures]).encode(), 0o600)
    if found is not None:
        store.moments.grow(found[0], due.files)
        return
    text = (
        f"assay: {due.found.category} was done {plural(due.frequency, 'time')}. "
        f"To learn it as a verified skill: assay crystallize {shlex.quote(str(recording))}"
    )
    made = Moment(key, due.found.category, root, agent, due.files, str(recording), text, time.time())
    if not _is_registered(pattern, config):
        store.moments.put(made, "learning" if _in_background(config, store) else "due")


def _in_background(config: Config, store: Store) -> bool:
    """Whether to verify unasked. The file says with which engine, and may be a stranger's: it counts once somebody trusted it."""
    if config.evolution.learn != "background" or config.source is None:
        return False
    trusted = is_trusted(config.source, config.sha256)
    if not trusted:
        store.complain(f"evolution.learn: background counts as tell. Read the file, then: assay config trust {config.source}")
    return trusted


def _is_registered(pattern: TracePattern, config: Config) -> bool:
    """Whether the project's registry has a skill for this task."""
    from synth.registry import Registry

    if not (config.registry_dir / "registry.db").is_file():
        return False
    with Registry(config.registry_dir) as registry:
        return match_existing(pattern, registry.list("active")) is not None


def _config(root: Path) -> Config:
    """The project's configuration; the defaults where it is gone, or its file cannot be read."""
    try:
        return load_config(start=root)
    except AssayError:
        return Config.default(root)


# ---------------------------------------------------------------- which turns were looked at


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    """Waits until no other process looks: what that one sees, this one need not."""
    store.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (store.root / "moments.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _seen(store: Store) -> set[str]:
    try:
        return set(json.loads((store.root / "looked-at.json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return set()


def _keep(store: Store, names: set[str]) -> None:
    there = {task.name for task in store.tasks()}
    write_atomic(store.root / "looked-at.json", json.dumps(sorted(names & there)).encode(), 0o600)
