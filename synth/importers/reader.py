"""Which importer a file needs, and directories of files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from synth.importers import claude_code, omni, shell, swe_agent, wayland
from synth.importers.common import Dropped, ImportReport, Kind, UnknownFormat
from synth.tracing.traces import load_traces
from verifiers.interface import EvidenceError

KINDS: tuple[Kind, ...] = get_args(Kind)
_SUFFIXES = (".json", ".jsonl", ".traj", ".txt", ".log", ".typescript", ".session", ".history")


def _jsonl(path: Path) -> ImportReport:
    problems: list[EvidenceError] = []
    traces = load_traces(path, problems.append)
    if problems and not traces:
        raise problems[0]
    return ImportReport("jsonl", tuple(traces), (), tuple(Dropped(p.where, "trace", p.what) for p in problems))


_READERS: Mapping[Kind, Callable[[Path], ImportReport]] = {
    "jsonl": _jsonl,
    "omni": omni.read,
    "claude-code": claude_code.read,
    "swe-agent": swe_agent.read,
    "wayland": wayland.read,
    "shell": shell.read,
}


def import_path(path: Path | str, kind: Kind | None = None) -> ImportReport:
    """Imports a file, or every file of a directory that an importer knows.

    Args:
        path: File or directory.
        kind: The format; without one, it is told from the content.

    Raises:
        UnknownFormat: no importer knows the file (or any of the directory's), or not this version.
        EvidenceError: the file cannot be read as what it is.
    """
    path = Path(path)
    if not path.is_dir():
        return _READERS[kind or detect_kind(path)](path)
    files = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix in _SUFFIXES and not p.name.startswith("."))
    report: ImportReport | None = None
    first: UnknownFormat | EvidenceError | None = None
    dropped: list[Dropped] = []
    for file in files:
        try:
            one = _READERS[kind or detect_kind(file)](file)
        except (UnknownFormat, EvidenceError) as e:
            first = first or e
            dropped.append(Dropped(str(e.where or file), "file", e.what))
            continue
        report = one if report is None else report + one
    if report is None:
        raise first or UnknownFormat("holds no file that an importer knows", f"Known: {', '.join(KINDS)}", path)
    return report + ImportReport(report.kind, dropped=tuple(dropped))


def detect_kind(path: Path) -> Kind:
    """The format of a file, told from its first record.

    Raises:
        UnknownFormat: none fits.
        EvidenceError: the file cannot be read.
    """
    record, text = _first_record(path)
    if record is None:
        if shell.looks_like(text):
            return "shell"
        raise UnknownFormat("is no recording that an importer knows", f"Known: {', '.join(KINDS)}", path)
    if swe_agent.looks_like(record):
        return "swe-agent"
    if wayland.looks_like(record):
        return "wayland"
    if claude_code.looks_like(record):
        return "claude-code"
    if omni.looks_like(record):
        plain = path.suffix == ".jsonl" and omni.is_evolution(record) and all(isinstance(o, str) for o in record["outputs"])
        return "jsonl" if plain else "omni"
    raise UnknownFormat("is no recording that an importer knows", f"Its first record has: {', '.join(list(record)[:8])}", path)


def _first_record(path: Path) -> tuple[Mapping[str, Any] | None, str]:
    """The first JSON object of a file (or None) and the file's text."""
    try:
        text = path.read_text("utf-8", errors="replace")
    except OSError as e:
        raise EvidenceError(f"cannot be read: {e.strerror}", "", path) from e
    for candidate in (text, *(line for line in text.splitlines()[:1])):
        try:
            document = json.loads(candidate.lstrip("\ufeff"))
        except (ValueError, RecursionError):
            continue
        if isinstance(document, list):
            document = document[0] if document else None
        if isinstance(document, dict):
            return document, text
    return None, text
