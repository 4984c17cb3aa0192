"""What a model is told: recordings and findings as bounded, redacted JSON data that cannot be taken for instructions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.interface import ROOT, Effect, Entry, effects
from synth.interface import Candidate
from synth.tracing.redact import redact_value
from verifiers.interface import Args, Edit, Evidence, Finding, Report, Verdict

MAX_TEXT = 1_500
"""Characters of one output or one file."""
MAX_PATHS = 120
"""Paths of one workspace."""
MAX_RECORDINGS = 8
"""Recordings shown in full; the others with request and commands only."""
MAX_FINDINGS = 12


def recordings(evidence: Sequence[Evidence]) -> str:
    """The recordings as one block of data. Equal evidence gives equal text, so that the service can cache it."""
    rows = [_recording(e, whole=i < MAX_RECORDINGS) for i, e in enumerate(evidence)]
    return block("recordings", rows)


def block(tag: str, value: object) -> str:
    """``value`` as JSON between tags that the JSON itself cannot contain, with secrets taken out."""
    # Before it is quoted: a quoted newline is no end of a line, and a value would run on into the next.
    text = json.dumps(redact_value(value), ensure_ascii=False, indent=1)
    # A lone "<" of the data becomes an escape: no recording can close the block that it is in.
    safe = text.replace("<", "\\u003c").encode("utf-8", "backslashreplace").decode()
    return f"<{tag}>\n{safe}\n</{tag}>"


def findings(candidate: Candidate, report: Report) -> str:
    """A candidate that did not pass, with what the checks found."""
    rows = [
        {"check": c.id, "verdict": str(c.verdict), **_finding(f)}
        for c in report.checks
        if c.verdict is not None and c.verdict is not Verdict.PASS
        for f in c.findings
        if f.severity == "error"
    ]
    bindings = [{"task_id": task_id, "args": dict(args)} for task_id, args in sorted(candidate.bindings.items())]
    document = {"code": candidate.source, "bindings": bindings, "verdict": str(report.verdict), "findings": rows[:MAX_FINDINGS]}
    return block("proposal", document)


def signature(report: Report) -> tuple[object, ...]:
    """What a report says, in short: two proposals with one signature are no progress."""
    failed = tuple(
        (c.id, tuple(f.message for f in c.findings if f.severity == "error"))
        for c in report.checks
        if c.verdict is not None and c.verdict is not Verdict.PASS
    )
    return (int(report.verdict), failed)


def _finding(finding: Finding) -> dict[str, Any]:
    out: dict[str, Any] = {"message": _clip(finding.message), "line": finding.line}
    if finding.notes:
        out["notes"] = [_clip(n) for n in finding.notes[:6]]
    case = finding.counterexample
    if case is not None:
        out["counterexample"] = {
            "case": case.case, "args": _args(case.args), "expected": _clip(case.expected), "observed": _clip(case.observed),
        }  # fmt: skip
    return out


def _args(args: Args) -> Mapping[str, Any]:
    return {name: _clip(value) if isinstance(value, str) else value for name, value in args.items()}


def _recording(evidence: Evidence, whole: bool) -> dict[str, Any]:
    codes = evidence.exit_codes or (None,) * len(evidence.commands)
    steps = [
        {"command": c, "output": _clip(o), **({"exit_code": code} if code is not None else {})}
        for c, o, code in zip(evidence.commands, evidence.outputs, codes, strict=True)
    ]
    row: dict[str, Any] = {"task_id": evidence.task_id, "request": evidence.description}
    if not whole:
        return {**row, "commands": list(evidence.commands)}
    row["steps"] = steps
    if evidence.edits:
        row["edits"] = [_edit(e) for e in evidence.edits]
    if evidence.base is not None:
        row["workspace_before"] = _tree(evidence.base)
        if evidence.post is not None:
            row["changes"] = [_change(c) for c in effects(evidence.base, evidence.post)[:MAX_PATHS]]
    return row


def _edit(edit: Edit) -> dict[str, Any]:
    sides = {name: _entry(e) if e is not None else None for name, e in (("before", edit.before), ("after", edit.after))}
    return {"after_commands": edit.after_commands, "path": _name(edit.path), **sides}


def _tree(snapshot: Mapping[str, Entry]) -> dict[str, Any]:
    paths = [p for p in snapshot if p != ROOT]
    shown = {_name(p): _entry(snapshot[p]) for p in paths[:MAX_PATHS]}
    return {**shown, "…": f"{len(paths) - MAX_PATHS} more paths"} if len(paths) > MAX_PATHS else shown


def _change(change: Effect) -> dict[str, Any]:
    after = _entry(change.after) if change.after is not None else None
    return {"path": _name(change.path), "what": change.kind, "after": after}


def _entry(entry: Entry) -> dict[str, Any]:
    if entry.type == "symlink":
        return {"type": "symlink", "target": _name(entry.target)}
    if entry.type != "file":
        return {"type": entry.type, "mode": f"{entry.mode:04o}"}
    try:
        content: str = _clip(entry.content.decode())
    except UnicodeDecodeError:
        content = f"({len(entry.content)} bytes that are not text)"
    return {"type": "file", "mode": f"{entry.mode:04o}", "content": content}


def _name(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _clip(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text) - MAX_TEXT} more characters)"
