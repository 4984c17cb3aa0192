"""Omni's three kinds of trace file: evolution traces (the eight fields), Hippocampus traces, and the tracer's step maps."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from synth.importers.common import Builder, Dropped, ImportReport, as_text, parse_time, task_id_for
from synth.tracing.traces import trace_from_record
from verifiers.evidence import iter_records
from verifiers.interface import EvidenceError

_SHELLS = re.compile(
    r"(?:tool_)?(?:omni_?cell|omniCell|terminal|shell|bash|execute|run_command|nu_shell|sys_exec)", re.IGNORECASE
)


def looks_like(record: Mapping[str, Any]) -> bool:
    return is_evolution(record) or is_hippocampus(record) or is_tracer(record)


def is_evolution(record: Mapping[str, Any]) -> bool:
    return {"task_id", "commands", "outputs"} <= record.keys()


def is_hippocampus(record: Mapping[str, Any]) -> bool:
    return "task_description" in record and isinstance(record.get("steps"), list)


def is_tracer(record: Mapping[str, Any]) -> bool:
    return "trace_id" in record and isinstance(record.get("steps"), Mapping | list) and "task_description" not in record


def read(path: Path) -> ImportReport:
    """The traces of one file.

    Raises:
        EvidenceError: the file is not JSON, or an eight-field trace is damaged.
    """
    report = ImportReport("omni")
    for where, record in iter_records(path):
        if is_evolution(record):
            report += _evolution(where, record)
        elif is_hippocampus(record):
            report += _hippocampus(where, record)
        elif is_tracer(record):
            report += _tracer(where, record, path)
        else:
            report += ImportReport("omni", dropped=(Dropped(where, "file", "it is none of Omni's trace formats"),))
    return report


def _evolution(where: str, record: Mapping[str, Any]) -> ImportReport:
    """The eight fields; outputs that are no strings become their JSON text."""
    dropped: list[Dropped] = []
    fixed = dict(record)
    commands, outputs = record.get("commands"), record.get("outputs")
    if isinstance(commands, list) and isinstance(outputs, list):
        metadata = record.get("metadata")
        if isinstance(metadata, Mapping) and metadata.get("detailed_trace_available") is True:
            return _detailed(where, record, metadata)
        known = metadata if isinstance(metadata, Mapping) else {}
        if record.get("success") is False and _ends_with_reason(commands, outputs, known):
            fixed["metadata"] = {**known, "failure": as_text(outputs[-1])}
            outputs = fixed["outputs"] = outputs[:-1]
            dropped.append(Dropped(where, "output", "the last one is the reason of the failure: it was put into the metadata"))
            if len(outputs) == len(commands) - 1:
                # That it failed counts, and nothing more is made of a failed trace.
                outputs = fixed["outputs"] = [*outputs, ""]
                dropped.append(Dropped(where, "output", "that of the command that failed is not recorded"))
        if len(outputs) != len(commands):
            why = f"{len(outputs)} outputs for {len(commands)} commands: which belongs to which is not recorded"
            return ImportReport("omni", dropped=(Dropped(where, "trace", why),))
        odd = [i for i, o in enumerate(outputs) if not isinstance(o, str)]
        if odd:
            dropped.append(Dropped(where, "field", f"outputs[{odd[0]}] was no string: its JSON text was kept instead"))
            fixed["outputs"] = [as_text(o) for o in outputs]
    if not isinstance(record.get("timestamp"), str) and (found := parse_time(record.get("timestamp"))) is not None:
        fixed["timestamp"] = found.isoformat()
    return ImportReport("omni", (trace_from_record(fixed, where),), (), tuple(dropped))


def _ends_with_reason(commands: list[Any], outputs: list[Any], metadata: Mapping[str, Any]) -> bool:
    """Whether the last output is why the task failed, as ``record_failure`` adds it: by its metadata, or it is one too many."""
    written = metadata.get("error_type") == "execution_failure" and outputs[-1:] == [f"Error: {metadata.get('error_message')}"]
    return written or len(outputs) == len(commands) + 1


_CALL = re.compile(r"(?P<tool>[^:{]+): (?P<given>\{.*\})\Z", re.DOTALL)


def _detailed(where: str, record: Mapping[str, Any], metadata: Mapping[str, Any]) -> ImportReport:
    """record_detailed: calls written as ``tool: {input}``, outputs as ``tool: {output}``, where each left some."""
    builder = Builder(str(record["task_id"]), as_text(record.get("task_description")), where, parse_time(record.get("timestamp")))
    builder.metadata |= {"source": "omni-detailed", **metadata}
    commands, outputs = record["commands"], record["outputs"]
    for number, call in enumerate(commands):
        found = _CALL.match(call) if isinstance(call, str) else None
        given = _literal(found["given"]) if found is not None else None
        command = _command_of({"name": found["tool"], "input_data": given}) if found is not None else None
        if found is None or command is None:
            why = f"{as_text(call)[:80]!r} is no shell command: what it did cannot be repeated"
            return ImportReport("omni", dropped=(Dropped(where, "trace", why),))
        if len(outputs) != len(commands):
            why = f"{len(outputs)} outputs for {len(commands)} commands: which belongs to which is not recorded"
            return ImportReport("omni", dropped=(Dropped(where, "trace", why),))
        said = as_text(outputs[number]).removeprefix(f"{found['tool']}: ")
        output = _literal(said) if said.startswith("{") else said
        builder.step(command, as_text(_output_of(output if output is not None else said)))
    if not builder.commands:
        return ImportReport("omni", dropped=(Dropped(where, "trace", "no step ran a command"),))
    return _built(builder, record.get("success") is True, _milliseconds(record.get("duration_ms", 0)), where)


def _literal(text: str) -> object:
    """The Python value that was printed; None for anything else."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _hippocampus(where: str, record: Mapping[str, Any]) -> ImportReport:
    """HippocampusTrace: steps of command, output, success and duration."""
    steps = [s for s in record["steps"] if isinstance(s, Mapping) and isinstance(s.get("command"), str)]
    if not steps or len(steps) != len(record["steps"]):
        return ImportReport("omni", dropped=(Dropped(where, "trace", "a step has no command"),))
    description = str(record["task_description"])
    identity = str(record.get("trace_id") or task_id_for("hippocampus", description, str(record.get("timestamp"))))
    builder = Builder(identity, description, where, parse_time(record.get("timestamp")))
    builder.metadata |= {"source": "omni-hippocampus"}
    builder.metadata |= {k: record[k] for k in ("env_fingerprint", "domain", "nu_pattern", "tags") if k in record}
    for step in steps:
        builder.step(step["command"], as_text(step.get("output", "")))
    duration = record.get("total_duration_ms", 0)
    success = record.get("success") is True and all(s.get("success") is not False for s in steps)
    return _built(builder, success, _milliseconds(duration), where)


def _milliseconds(value: object) -> float:
    """A duration; 0 for what cannot be one."""
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e300 else 0.0


def _tracer(where: str, record: Mapping[str, Any], path: Path) -> ImportReport:
    """omni.tracer: a map of steps; only those that ran a shell are commands."""
    raw = record["steps"]
    steps = [s for s in (raw.values() if isinstance(raw, Mapping) else raw) if isinstance(s, Mapping)]
    steps.sort(key=lambda s: str(s.get("timestamp", "")))
    found = record.get("user_query") or record.get("name") or record.get("input") or path.stem
    builder = Builder(str(record["trace_id"]), as_text(found), where, _first_time(steps))
    builder.metadata |= {"source": "omni-tracer"}
    dropped: list[Dropped] = []
    ok = bool(steps)
    for step in steps:
        command = _command_of(step)
        if command is None:
            if str(step.get("step_type", "")).startswith("tool"):
                why = f"the tool {step.get('name')!r} is no shell: what it did cannot be repeated"
                return ImportReport("omni", dropped=(*dropped, Dropped(where, "trace", why)))
            dropped.append(Dropped(f"{where} step {step.get('step_id')}", "step", f"{step.get('step_type')} ran no command"))
            continue
        builder.step(command, as_text(_output_of(step.get("output_data"))))
        ok = ok and step.get("status") not in ("error", "failed", "failure")
    if not builder.commands:
        return ImportReport("omni", dropped=(*dropped, Dropped(where, "trace", "no step ran a command")))
    duration = sum(_milliseconds(s.get("duration_ms")) for s in steps)
    done = _built(builder, ok, duration, where)
    return ImportReport("omni", done.traces, (), (*dropped, *done.dropped))


def _built(builder: Builder, success: bool, duration_ms: float, where: str) -> ImportReport:
    try:
        return ImportReport("omni", (builder.build(success, duration_ms),))
    except EvidenceError as e:
        return ImportReport("omni", dropped=(Dropped(where, "trace", e.what),))


def _first_time(steps: Iterable[Mapping[str, Any]]) -> Any:
    return next((t for s in steps if (t := parse_time(s.get("timestamp"))) is not None), None)


def _command_of(step: Mapping[str, Any]) -> str | None:
    given = step.get("input_data")
    if isinstance(given, Mapping) and _SHELLS.search(str(step.get("name", ""))):
        command = given.get("command") or given.get("cmd") or given.get("script")
        return command if isinstance(command, str) else None
    return None


def _output_of(value: object) -> object:
    """The text in a step's output: its ``output``, ``stdout``, ``text`` or ``result`` where it is an object."""
    if isinstance(value, Mapping):
        for key in ("output", "stdout", "text", "result", "content"):
            if key in value:
                return value[key]
    return "" if value is None else value if isinstance(value, str) else json.loads(json.dumps(value, default=str))
