"""What a run or a recording changed, small enough for a conversation: what it said and a diff, never the workspace."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.interface import Effect, Entry, Snapshot, effects
from synth.interface import ExecutionTrace
from synth.serving.fitting import cut, ends

SCHEMA, RECORDED = "assay-changes/1", "assay-recorded/1"
MOST_TEXT = 8_000
"""Characters of all diffs together."""
MOST_PATHS = 200
_MOST_VALUE = 20_000
_MOST_OUTSIDE = 20
_MOST_OUTPUT = 2_000
_MOST_OUTPUTS = 20_000
"""Of one command, and of all of them."""


def changes_of(document: Mapping[str, Any], changes: Sequence[Effect], applied: bool) -> dict[str, Any]:
    """The ``assay-changes/1`` document of a run.

    Args:
        document: The run's ``assay-run/1``.
        changes: Its effects.
        applied: Whether they were made in the directory itself.
    """
    whole = json.dumps(document["value"], ensure_ascii=False)
    failure, outside = document["failure"], document["outside"]
    return {
        "schema": SCHEMA,
        "value": document["value"] if len(whole) <= _MOST_VALUE else cut(whole, _MOST_VALUE),
        "claims_success": document["claims_success"],
        "failure": None if failure is None else cut(failure),
        "applied": applied,
        **_told(changes),
        "outside": [cut(text) for text in outside[:_MOST_OUTSIDE]],
        "outside_left_out": max(0, len(outside) - _MOST_OUTSIDE),
        "seconds": document["seconds"],
    }


def recorded_of(trace: ExecutionTrace) -> dict[str, Any]:
    """The ``assay-recorded/1`` document of a recording: of a long output its beginning and end. The recording keeps more."""
    left, outputs = _MOST_OUTPUTS, []
    for output in trace.outputs:
        outputs.append(ends(output, min(_MOST_OUTPUT, left)))
        left = max(0, left - len(outputs[-1]))
    before, after = (Snapshot.from_json(tree or {}) for tree in (trace.workspace, trace.post_workspace))
    return {
        "schema": RECORDED,
        "task_id": trace.task_id,
        "success": trace.success,
        "exit_codes": list(trace.exit_codes or ()),
        "left_out": list(trace.metadata.get("left_out", ())),
        "outputs": outputs,
        **_told(effects(before, after)),
    }


def shown(document: Mapping[str, Any]) -> str:
    """A run's document for a reader of text."""
    failed = document["failure"]
    lines = [f"failed: {failed}" if failed is not None else f"value: {json.dumps(document['value'], ensure_ascii=False)}"]
    lines += _shown_changes(document)
    lines += [f"outside: {text}" for text in document["outside"]]
    if document["outside_left_out"]:
        lines.append(f"outside: … and {document['outside_left_out']} more")
    lines.append("applied" if document["applied"] else "not applied: the directory is as it was")
    return "\n".join(lines)


def shown_recording(document: Mapping[str, Any]) -> str:
    """A recording's document for a reader of text."""
    lines = [f"recorded as {document['task_id']}, as one that {'succeeded' if document['success'] else 'failed'}"]
    for number, (code, output) in enumerate(zip(document["exit_codes"], document["outputs"], strict=True), 1):
        lines += [f"command {number}: exit code {code}", *output.splitlines()]
    return "\n".join([*lines, *_shown_changes(document)])


def _told(changes: Sequence[Effect]) -> dict[str, Any]:
    """The changes, and a diff of each while there is room."""
    left = MOST_TEXT
    told: list[dict[str, Any]] = []
    for change in changes[:MOST_PATHS]:
        one: dict[str, Any] = {"path": change.path, "kind": change.kind}
        if change.after is not None and change.after.type == "file":
            one["size"] = len(change.after.content)
        text = _diff(change)
        if text and len(text) <= left:
            one["diff"] = text
            left -= len(text)
        elif text:
            one["diff_left_out"] = f"{text.count(chr(10))} lines"
        told.append(one)
    return {"effects": told, "effects_left_out": max(0, len(changes) - MOST_PATHS)}


def _shown_changes(document: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for effect in document["effects"]:
        left_out = f" ({effect['diff_left_out']})" if "diff_left_out" in effect else ""
        lines.append(f"{effect['kind']} {effect['path']}{left_out}")
        lines += effect.get("diff", "").splitlines()
    if document["effects_left_out"]:
        lines.append(f"… and {document['effects_left_out']} more")
    return lines


def _diff(change: Effect) -> str:
    """Lines removed and added, of text files; "" for anything else, and for what went."""
    if change.kind not in ("content", "created") or change.after is None:
        return ""
    before, after = _lines(change.before), _lines(change.after)
    if before is None or after is None:
        return ""
    return "\n".join(list(difflib.unified_diff(before, after, lineterm="", n=1))[2:])


def _lines(entry: Entry | None) -> list[str] | None:
    """The lines of a text file; none for nothing, None for what is no text."""
    if entry is None:
        return []
    if entry.type != "file" or b"\0" in entry.content:
        return None
    try:
        return entry.content.decode().splitlines()
    except UnicodeDecodeError:
        return None
