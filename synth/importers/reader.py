"""Which importer a file needs, and directories of files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from synth.importers import aider, claude_code, codex, gemini_cli, omni, openhands, shell, swe_agent, wayland
from synth.importers.common import Dropped, ImportReport, Kind, UnknownFormat
from synth.importers.lines import LONGEST
from synth.importers.turns import Start
from synth.interface import ExecutionTrace
from synth.tracing.traces import load_traces
from verifiers.interface import EvidenceError

KINDS: tuple[Kind, ...] = get_args(Kind)
_SUFFIXES = (".json", ".jsonl", ".traj", ".txt", ".log", ".typescript", ".session", ".history")

_AIDER = ".aider.chat.history.md"


def _jsonl(path: Path) -> ImportReport:
    problems: list[EvidenceError] = []
    traces = load_traces(path, problems.append)
    if problems and not traces:
        raise problems[0]
    return ImportReport("jsonl", tuple(traces), (), tuple(Dropped(p.where, "trace", p.what) for p in problems))


_AGENTS: Mapping[Kind, Callable[[Path, Start | None], ImportReport]] = {
    "claude-code": claude_code.read,
    "codex": codex.read,
    "gemini-cli": gemini_cli.read,
    "openhands": openhands.read,
    "aider": aider.read,
    "wayland": wayland.read,
}
"""Sessions whose files a repository may tell."""
_READERS: Mapping[Kind, Callable[[Path], ImportReport]] = {
    "jsonl": _jsonl,
    "omni": omni.read,
    "swe-agent": swe_agent.read,
    "shell": shell.read,
}


def import_path(path: Path | str, kind: Kind | None = None, start: Start | None = None) -> ImportReport:
    """Imports a file, or every file of a directory that an importer knows.

    Args:
        path: File or directory.
        kind: The format; without one, it is told from the content.
        start: What knows the files that a session does not show.

    Raises:
        UnknownFormat: no importer knows the file (or any of the directory's), or not this version.
        EvidenceError: the file cannot be read as what it is.
    """
    path = Path(path)
    if not path.is_dir():
        return _read(path, kind, start)
    files = sorted(p for p in path.rglob("*") if p.is_file() and _may_be_one(p))
    report: ImportReport | None = None
    first: UnknownFormat | EvidenceError | None = None
    dropped: list[Dropped] = []
    for file in files:
        try:
            one = _read(file, kind, start)
        except (UnknownFormat, EvidenceError) as e:
            first = first or e
            dropped.append(Dropped(str(e.where or file), "file", e.what))
            continue
        report = one if report is None else report + one
    if report is None:
        raise first or UnknownFormat("holds no file that an importer knows", f"Known: {', '.join(KINDS)}", path)
    return without_copies(report + ImportReport(report.kind, dropped=tuple(dropped)))


def _may_be_one(path: Path) -> bool:
    """Whether a file of a directory is looked at: aider's own file is a hidden one."""
    return path.name.endswith(_AIDER) or (path.suffix in _SUFFIXES and not path.name.startswith("."))


def _read(path: Path, kind: Kind | None, start: Start | None) -> ImportReport:
    found = kind or detect_kind(path)
    if found in _AGENTS:
        return _AGENTS[found](path, start)
    report = _READERS[found](path)
    return report if found in ("jsonl", "omni") else replace(report, sessions=1)


def without_copies(report: ImportReport) -> ImportReport:
    """The report with each request once: a session that goes on in another file repeats what was. The fullest copy is kept."""
    best: dict[str, ExecutionTrace] = {}
    for trace in report.traces:
        known = best.get(trace.task_id)
        if known is None or _steps(trace) > _steps(known):
            best[trace.task_id] = trace
    copies = [t for t in report.traces if best[t.task_id] is not t and t.metadata.get("source") in _AGENTS]
    dropped = [Dropped(t.task_id, "copy", "another file has the same request: the session went on there") for t in copies]
    kept = tuple(t for t in report.traces if t not in copies)
    return replace(report, traces=kept, dropped=(*report.dropped, *dropped))


def _steps(trace: ExecutionTrace) -> int:
    return len(trace.steps) if trace.steps is not None else len(trace.commands)


def detect_kind(path: Path) -> Kind:
    """The format of a file, told from its first record.

    Raises:
        UnknownFormat: none fits.
        EvidenceError: the file cannot be read.
    """
    record, text = _first_record(path)
    if record is None:
        if aider.looks_like(text):
            return "aider"
        if shell.looks_like(text):
            return "shell"
        raise UnknownFormat("is no recording that an importer knows", f"Known: {', '.join(KINDS)}", path)
    if swe_agent.looks_like(record):
        return "swe-agent"
    if openhands.looks_like(record):
        return "openhands"
    if codex.looks_like(record):
        return "codex"
    if gemini_cli.looks_like(record):
        return "gemini-cli"
    if claude_code.looks_like(record):
        return "claude-code"
    if wayland.looks_like(record):
        return "wayland"
    if omni.looks_like(record):
        plain = path.suffix == ".jsonl" and omni.is_evolution(record) and all(isinstance(o, str) for o in record["outputs"])
        return "jsonl" if plain else "omni"
    raise UnknownFormat("is no recording that an importer knows", f"Its first record has: {', '.join(list(record)[:8])}", path)


def _first_record(path: Path) -> tuple[Mapping[str, Any] | None, str]:
    """The first JSON object of a file (or None) and the file's text."""
    try:
        with path.open("rb") as file:
            line = file.readline(LONGEST).decode("utf-8", "replace")
            record = _object(line)
            # One record a line: the rest may be large.
            text = line if record is not None else line + file.read().decode("utf-8", "replace")
    except OSError as e:
        raise EvidenceError(f"cannot be read: {e.strerror}", "", path) from e
    return record if record is not None else _object(text), text


def _object(text: str) -> Mapping[str, Any] | None:
    """The JSON object that a text is, or the first of a list of them."""
    try:
        document = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if isinstance(document, list):
        document = document[0] if document else None
    return document if isinstance(document, dict) else None
