"""Execution traces on disk: ``ExecutionTrace`` to JSON and back without loss, unknown keys included."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from synth.interface import ExecutionTrace
from verifiers import evidence as ev
from verifiers.interface import Evidence, EvidenceError

_KNOWN = frozenset(f.name for f in fields(ExecutionTrace)) - {"extra"}
_OPTIONAL = ("task_family", "exit_codes", "workspace", "post_workspace", "labels", "steps")


STORE = Path("evolution", "traces")
"""Where recordings are kept in a data directory, unless the configuration says otherwise."""


def load_traces(path: Path | str, on_error: Callable[[EvidenceError], None] | None = None) -> list[ExecutionTrace]:
    """Traces of a JSONL file, a JSON file or a directory of such files (the Omni layout), in file and line order. Of a directory
    that was recorded in, or of its ``.assay``, those of its store.

    Args:
        path: The file or directory.
        on_error: Called with the error of each record that cannot be read, which is then left out.
            Without it the first one is raised.

    Raises:
        EvidenceError: names file, line and field.
    """
    return list(iter_traces(path, on_error))


def iter_traces(path: Path | str, on_error: Callable[[EvidenceError], None] | None = None) -> Iterator[ExecutionTrace]:
    """Like ``load_traces``, one at a time: a large store need not fit in memory."""
    for source in _files(Path(path)):
        try:
            for where, record in ev.iter_records(source):
                try:
                    yield trace_from_record(record, where)
                except EvidenceError as e:
                    if on_error is None:
                        raise
                    on_error(e)
        except EvidenceError as e:
            if on_error is None:
                raise
            on_error(e)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    stores = (path / ".assay" / STORE, path / STORE)
    path = next((store for store in stores if store.is_dir()), path)
    return sorted(p for p in path.iterdir() if p.suffix in (".json", ".jsonl") and not p.name.startswith("."))


def trace_from_record(record: ev.Record, where: str) -> ExecutionTrace:
    """The trace in one parsed JSON object.

    Raises:
        EvidenceError: a field is missing or of the wrong type, or lists differ in length.
    """
    checked = ev.parse_record(record, where)
    family, labels = record.get("task_family"), record.get("labels")
    if family is not None and not isinstance(family, str):
        raise ev.wrong("task_family", "a string", family, where)
    if labels is not None and not isinstance(labels, dict):
        raise ev.wrong("labels", "an object", labels, where)
    return ExecutionTrace(
        task_id=checked.task_id,
        task_description=checked.description,
        commands=checked.commands,
        outputs=checked.outputs,
        success=checked.success,
        duration_ms=ev.duration_of(record, where),
        timestamp=ev.timestamp_of(record, where),
        metadata=checked.metadata,
        task_family=family,
        exit_codes=checked.exit_codes,
        workspace=record.get("workspace"),
        post_workspace=record.get("post_workspace"),
        labels=labels,
        steps=record.get("steps"),
        extra={key: value for key, value in record.items() if key not in _KNOWN},
    )


def trace_to_record(trace: ExecutionTrace) -> dict[str, Any]:
    """The JSON object of a trace: the seed's eight fields, then ours where they are known, then the unknown keys."""
    record: dict[str, Any] = {
        "task_id": trace.task_id,
        "task_description": trace.task_description,
        "commands": list(trace.commands),
        "outputs": list(trace.outputs),
        "success": trace.success,
        "duration_ms": trace.duration_ms,
        "timestamp": trace.timestamp.isoformat(),
        "metadata": dict(trace.metadata),
    }
    for name in _OPTIONAL:
        value = getattr(trace, name)
        if value is not None:
            record[name] = list(value) if name == "exit_codes" else value
    record.update({key: value for key, value in trace.extra.items() if key not in _KNOWN})
    return record


def dump_trace(trace: ExecutionTrace) -> str:
    """One line of JSON, without the newline. Text stays readable; only what UTF-8 cannot hold is escaped."""
    record = trace_to_record(trace)
    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(record, ensure_ascii=True, allow_nan=False)
    return line


def dump_traces(traces: Iterable[ExecutionTrace]) -> str:
    """JSONL text of traces, one a line."""
    return "".join(dump_trace(t) + "\n" for t in traces)


def to_evidence(trace: ExecutionTrace) -> Evidence:
    """The replayable part of a trace.

    Raises:
        EvidenceError: the trace's parts do not fit together (a trace made in code rather than read from a file).
    """
    return ev.evidence_from_record(trace_to_record(trace), f"trace {trace.task_id}")


def trace_digest(trace: ExecutionTrace) -> str:
    """SHA-256 (hex) of what was done and seen, not of when, how long or under which task_id: copies agree."""
    facts = (trace.task_description, trace.commands, trace.outputs, trace.exit_codes, trace.success)
    doc = (facts, trace.workspace, trace.post_workspace, *([trace.steps] if trace.steps is not None else []))
    return hashlib.sha256(json.dumps(doc, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def consolidate(sources: Iterable[Path | str], on_error: Callable[[EvidenceError], None] | None = None) -> list[ExecutionTrace]:
    """Traces of many stores as one set: copies dropped by digest, oldest first.

    A task_id used twice for different traces gets ``~2``.

    Raises:
        EvidenceError: as ``load_traces``, unless ``on_error`` takes it.
    """
    by_digest: dict[str, ExecutionTrace] = {}
    for source in sources:
        for trace in iter_traces(source, on_error):
            digest = trace_digest(trace)
            known = by_digest.get(digest)
            if known is None or _age(trace) < _age(known):
                by_digest[digest] = trace
    return unique_ids(sorted(by_digest.values(), key=_age))


def _age(trace: ExecutionTrace) -> tuple[float, str]:
    return trace.timestamp.timestamp(), trace.task_id


def unique_ids(traces: Iterable[ExecutionTrace]) -> list[ExecutionTrace]:
    """The traces with distinct task_ids: bindings and reports refer to traces by them."""
    used: set[str] = set()
    out: list[ExecutionTrace] = []
    for trace in traces:
        name, n = trace.task_id, 1
        while name in used:
            n += 1
            name = f"{trace.task_id}~{n}"
        used.add(name)
        out.append(trace if name == trace.task_id else replace(trace, task_id=name))
    return out
