"""Evidence from files: JSON records checked field by field, with one clear error that names file, line and field.

A record that replay cannot use is refused here, once; what lies beyond this module is typed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.expectation.rooting import rooted
from verifiers.interface import Edit, Evidence, EvidenceError

Record = Mapping[str, Any]


def load_evidence(path: Path | str) -> list[Evidence]:
    """Evidence of one JSONL file (or of a directory of trace files), in order; identical copies count once.

    An empty file gives an empty list: whether that is enough is for the caller to judge.

    Raises:
        EvidenceError: names file, line and field of the first thing that is wrong, or two different records of one task_id.
    """
    seen: dict[str, tuple[str, Evidence]] = {}
    for where, record in iter_records(Path(path)):
        evidence = evidence_from_record(record, where)
        first = seen.setdefault(evidence.task_id, (where, evidence))
        if first[1].digest != evidence.digest:
            raise EvidenceError(
                f"task_id {evidence.task_id!r} is already used, with other content, at {first[0]}",
                "Give each trace its own task_id",
                where,
            )
    return [evidence for _, evidence in seen.values()]


def evidence_from_record(record: Record, where: str) -> Evidence:
    """The evidence in one parsed trace record.

    Args:
        record: The JSON object. Unknown keys are ignored; ``duration_ms``, ``timestamp`` and ``metadata`` may be missing.
        where: ``FILE:LINE``, for the error.

    Raises:
        EvidenceError: names the field and what was expected.
    """
    return rooted(parse_record(record, where))


def parse_record(record: Record, where: str) -> Evidence:
    """Like ``evidence_from_record``, with absolute paths as recorded."""
    commands = strings(record, "commands", where)
    metadata = mapping(record, "metadata", where)
    check_times(record, where)
    return Evidence(
        task_id=identifier(record, where),
        description=text(record, "task_description", where),
        commands=commands,
        outputs=_aligned(strings(record, "outputs", where), commands, "outputs", where),
        stderrs=stderrs_of(metadata, len(commands), where),
        exit_codes=exit_codes_of(record, len(commands), where),
        base=snapshot_of(record, "workspace", where),
        post=snapshot_of(record, "post_workspace", where),
        success=flag(record, "success", where),
        reconstructed=metadata.get("reconstructed") is True,
        rewritten=metadata.get("rewritten") is True,
        workspace_root=workspace_root_of(metadata, where),
        metadata=metadata,
        edits=edits_of(record, len(commands), where),
    )


# ---------------------------------------------------------------- files


def iter_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """``(where, record)`` of every JSON object of a JSONL file, a JSON file (an object or a list) or a directory of such files.

    Raises:
        EvidenceError: the file is missing, is not UTF-8, or a line of it is not a JSON object.
    """
    if path.is_dir():
        for file in sorted(p for p in path.iterdir() if p.suffix in (".json", ".jsonl") and not p.name.startswith(".")):
            yield from iter_records(file)
        return
    try:
        data = path.read_bytes()
    except OSError as e:
        raise EvidenceError(
            f"cannot be read: {e.strerror}", "Record a trace with 'assay record', or name another file", path
        ) from e
    data = data.removeprefix(b"\xef\xbb\xbf")
    if path.suffix == ".json" or _starts_in_the_middle(data):
        yield from _whole(data, path)
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            where = f"{path}:{number}"
            yield where, _object(_parse(line, where), where)


def _starts_in_the_middle(data: bytes) -> bool:
    """Whether the first line alone is a mere beginning: an indented JSON document rather than one record a line."""
    return data.lstrip()[:16].partition(b"\n")[0].strip() in (b"{", b"[")


def _whole(data: bytes, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not data.strip():
        raise EvidenceError("is empty", "A trace file holds one JSON object", path)
    document = _parse(data, str(path))
    if isinstance(document, list):
        for index, item in enumerate(document):
            yield f"{path}[{index}]", _object(item, f"{path}[{index}]")
    else:
        yield str(path), _object(document, str(path))


def _parse(data: bytes, where: str) -> object:
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as e:
        raise EvidenceError(
            f"is not UTF-8 text (byte {e.start} is 0x{data[e.start]:02x})", "Trace files are JSON in UTF-8", where
        ) from e
    except json.JSONDecodeError as e:
        cut = e.pos >= len(e.doc.rstrip()) or e.msg.startswith("Unterminated string")
        what = "ends in the middle of a JSON object: the file looks cut off"
        raise EvidenceError(
            what if cut else f"is not JSON ({e.msg} at column {e.colno})", "Trace files hold one JSON object a line", where
        ) from e
    except (RecursionError, ValueError) as e:
        raise EvidenceError(f"is not JSON that can be read ({e})", "Trace files hold one JSON object a line", where) from e


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise EvidenceError(f"expected a JSON object, got {kind_of(value)}", "One object a trace, one trace a line", where)
    return value


# ---------------------------------------------------------------- fields


def wrong(field: str, expected: str, value: object, where: str) -> EvidenceError:
    """The error for a field of the wrong type."""
    return EvidenceError(f"field {field!r}: expected {expected}, got {kind_of(value)}", "", where)


def kind_of(value: object) -> str:
    """A value's JSON type in words."""
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


def required(record: Record, field: str, where: str) -> Any:
    if field not in record:
        raise EvidenceError(
            f"field {field!r} is missing", "A trace has task_id, task_description, commands, outputs and success", where
        )
    return record[field]


def text(record: Record, field: str, where: str) -> str:
    value = required(record, field, where)
    if not isinstance(value, str):
        raise wrong(field, "a string", value, where)
    return value


def identifier(record: Record, where: str) -> str:
    value = text(record, "task_id", where)
    if not value.strip() or len(value) > 500:
        raise EvidenceError("field 'task_id': expected a name of 1 to 500 characters", "", where)
    return value


def flag(record: Record, field: str, where: str) -> bool:
    value = required(record, field, where)
    if not isinstance(value, bool):
        raise wrong(field, "true or false", value, where)
    return value


def strings(record: Record, field: str, where: str) -> tuple[str, ...]:
    return string_list(required(record, field, where), field, where)


def string_list(value: object, field: str, where: str) -> tuple[str, ...]:
    """A list of strings as a tuple; the error names the first item that is not one."""
    if not isinstance(value, list | tuple):
        raise wrong(field, "a list of strings", value, where)
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise wrong(f"{field}[{index}]", "a string", item, where)
        if field == "commands" and ("\0" in item or not _is_bytes(item)):
            raise EvidenceError(f"field 'commands[{index}]': holds a character that no command can hold", "", where)
    return tuple(value)


def mapping(record: Record, field: str, where: str) -> Mapping[str, Any]:
    """An object; an absent or null one is empty."""
    value = record.get(field)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong(field, "an object", value, where)
    return value


def exit_codes_of(record: Record, count: int, where: str) -> tuple[int, ...] | None:
    value = record.get("exit_codes")
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise wrong("exit_codes", "a list of integers", value, where)
    for index, item in enumerate(value):
        if isinstance(item, bool) or not isinstance(item, int):
            raise wrong(f"exit_codes[{index}]", "an integer", item, where)
    if len(value) != count:
        raise _uneven("exit_codes", len(value), count, where)
    return tuple(value)


def stderrs_of(metadata: Mapping[str, Any], count: int, where: str) -> tuple[str, ...] | None:
    value = metadata.get("stderrs")
    if value is None:
        return None
    found = string_list(value, "metadata.stderrs", where)
    if len(found) != count:
        raise _uneven("metadata.stderrs", len(found), count, where)
    return found


def workspace_root_of(metadata: Mapping[str, Any], where: str) -> str | None:
    value = metadata.get("workspace_root")
    if value is None:
        return None
    if not isinstance(value, str) or not value.startswith("/"):
        raise EvidenceError("field 'metadata.workspace_root': expected an absolute path", "", where)
    return value


def snapshot_of(record: Record, field: str, where: str) -> Snapshot | None:
    value = record.get(field)
    if value is None:
        return None
    try:
        found = Snapshot.from_json(value, field)
    except ValueError as e:
        raise EvidenceError(f"field {e}", "", where) from e
    for path, entry in found.items():
        if not _is_bytes(path) or not _is_bytes(entry.target):
            raise EvidenceError(f"field {field}[{path!r}]: holds a character that no file name can hold", "", where)
    return found


def edits_of(record: Record, commands: int, where: str) -> tuple[Edit, ...]:
    """The edits among a trace's ``steps``, which name every command once and in order."""
    value = record.get("steps")
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise wrong("steps", "a list of commands and edits", value, where)
    edits: list[Edit] = []
    done = 0
    for n, step in enumerate(value):
        field = f"steps[{n}]"
        if not isinstance(step, Mapping) or len({"command", "edit"} & step.keys()) != 1:
            raise wrong(field, 'an object with "command" or "edit"', step, where)
        if "edit" in step:
            edits.append(_edit(step["edit"], done, f"{field}.edit", where))
        elif isinstance(step["command"], bool) or step["command"] != done:
            what = f"field '{field}.command': expected {done}, got {step['command']!r}"
            raise EvidenceError(what, "Steps name the commands by index, each once and in order", where)
        else:
            done += 1
    if done != commands:
        raise _uneven("steps", done, commands, where)
    return tuple(edits)


def _edit(value: object, done: int, field: str, where: str) -> Edit:
    if not isinstance(value, Mapping):
        raise wrong(field, "an object", value, where)
    path = value.get("path")
    if not isinstance(path, str):
        raise wrong(f"{field}.path", "a string", path, where)
    before, after = (_file(value.get(side), path, f"{field}.{side}", where) for side in ("before", "after"))
    if before is None and after is None:
        raise EvidenceError(f"field {field!r}: a file before, a file after or both are needed", "", where)
    return Edit(done, path, before, after)


def _file(value: object, path: str, field: str, where: str) -> Entry | None:
    """One side of an edit: a regular file, or none."""
    if value is None:
        return None
    tree = snapshot_of({field: {path: value}}, field, where)
    entry = tree[path] if tree is not None and path != ROOT else None
    if entry is None or entry.type != "file":
        raise EvidenceError(f"field {field!r}: expected a regular file or null", "An edit is of a file", where)
    return entry


def _is_bytes(value: str) -> bool:
    """Whether text stands for bytes: UTF-8, or bytes that are none as the surrogates that Python makes of them."""
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def check_times(record: Record, where: str) -> None:
    """Checks ``duration_ms`` and ``timestamp`` where they are present."""
    if record.get("duration_ms") is not None:
        duration_of(record, where)
    if record.get("timestamp") is not None:
        timestamp_of(record, where)


def duration_of(record: Record, where: str) -> float:
    value = required(record, "duration_ms", where)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e300:
        raise wrong("duration_ms", "a number of milliseconds, 0 or more", value, where)
    return value


def timestamp_of(record: Record, where: str) -> datetime:
    value = text(record, "timestamp", where)
    try:
        return datetime.fromisoformat(value)
    except ValueError as e:
        raise EvidenceError(f"field 'timestamp': {value[:60]!r} is not an ISO 8601 time", "", where) from e


def _aligned(values: tuple[str, ...], commands: tuple[str, ...], field: str, where: str) -> tuple[str, ...]:
    if len(values) != len(commands):
        raise _uneven(field, len(values), len(commands), where)
    return values


def _uneven(field: str, found: int, expected: int, where: str) -> EvidenceError:
    return EvidenceError(f"field {field!r} has {found} items for {expected} commands", "There is one for each command", where)
