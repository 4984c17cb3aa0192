"""Which importer a file needs, and directories of files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

from synth.importers import (
    aider,
    asciicast,
    claude_code,
    cline,
    codex,
    gemini_cli,
    history,
    mini_swe_agent,
    omni,
    openhands,
    shell,
    swe_agent,
    swe_agent_log,
    terminal_bench,
    typescript,
    wayland,
)
from synth.importers.common import Dropped, ImportReport, Kind, UnknownFormat
from synth.importers.lines import LONGEST
from synth.importers.turns import Start
from synth.interface import ExecutionTrace
from synth.tracing.traces import load_traces, trace_digest
from verifiers.interface import EvidenceError

KINDS: tuple[Kind, ...] = get_args(Kind)
_HEAD = 64 << 10
"""Bytes of a file that is no JSON by which its kind is told."""
_LARGEST = 256 << 20
"""Bytes of a file that must be read at once."""


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
    "mini-swe-agent": mini_swe_agent.read,
    "swe-agent-log": swe_agent_log.read,
    "cline": cline.read,
    "aider": aider.read,
    "wayland": wayland.read,
}
"""Sessions whose files a repository may tell."""
_READERS: Mapping[Kind, Callable[[Path], ImportReport]] = {
    "jsonl": _jsonl,
    "omni": omni.read,
    "swe-agent": swe_agent.read,
    "terminal-bench": terminal_bench.read,
    "asciicast": asciicast.read,
    "typescript": typescript.read,
    "history": history.read,
    "shell": shell.read,
}
_BY_RECORD: Sequence[tuple[Kind, Callable[[Mapping[str, Any]], bool]]] = (
    ("mini-swe-agent", mini_swe_agent.looks_like), ("swe-agent", swe_agent.looks_like), ("openhands", openhands.looks_like),
    ("terminal-bench", terminal_bench.looks_like), ("swe-agent-log", swe_agent_log.looks_like),
    ("asciicast", asciicast.looks_like), ("cline", cline.looks_like), ("codex", codex.looks_like),
    ("gemini-cli", gemini_cli.looks_like), ("claude-code", claude_code.looks_like), ("wayland", wayland.looks_like),
    ("omni", omni.looks_like),
)  # fmt: skip
"""What a file's first record is looked at for, the most particular first."""


def import_path(path: Path | str, kind: Kind | None = None, start: Start | None = None) -> ImportReport:
    """Imports a file, or every file of a directory that an importer knows.

    Args:
        path: File or directory. Files of a directory that cannot be read are named in the report, and the rest is read.
        kind: The format; without one, it is told from the content. Of a directory, only files of this kind are read.
        start: What knows the files that a session does not show.

    Raises:
        UnknownFormat: no importer knows the file (or any of the directory's), or not this version.
        EvidenceError: the file cannot be read as what it is.
    """
    path = Path(path)
    if not path.is_dir():
        return _read(path, kind, start)
    report: ImportReport | None = None
    first: UnknownFormat | EvidenceError | None = None
    dropped: list[Dropped] = []
    for file in _files(path):
        try:
            found = detect_kind(file)
            if kind not in (None, found):
                raise UnknownFormat(f"is a recording of kind {found}, not {kind}", "Leave --from out, or name the file", file)
            one = _read(file, found, start)
        except (UnknownFormat, EvidenceError) as e:
            first = first or e
            dropped.append(Dropped(str(e.where or file), "file", e.what))
            continue
        report = one if report is None else report + one
    if report is None and first is not None and len(dropped) == 1:
        raise first
    if report is None:
        told = f": {len(dropped)} files, of which {first.where or path} {first.what}" if first is not None else ""
        raise UnknownFormat(f"holds no file that an importer knows{told}", f"Known: {', '.join(KINDS)}", path)
    return without_copies(report + ImportReport(report.kind, dropped=tuple(dropped)))


def _files(folder: Path) -> Iterator[Path]:
    """Every file below a directory but those of a repository's own records, and what a harness wrote beside a trial."""
    is_trial = cache(terminal_bench.is_trial)
    for path in sorted(folder.rglob("*")):
        if ".git" not in path.relative_to(folder).parts and path.is_file():
            beside = any(is_trial(p) for p in (path.parent, path.parent.parent) if p.is_relative_to(folder))
            if path.name == terminal_bench.RESULTS or not beside:
                yield path


def _read(path: Path, kind: Kind | None, start: Start | None) -> ImportReport:
    found = kind or detect_kind(path)
    return _AGENTS[found](path, start) if found in _AGENTS else _READERS[found](path)


def without_copies(report: ImportReport) -> ImportReport:
    """The report with each request once: a session that goes on in another file repeats what was. The fullest copy is kept.

    Other recordings are copies where all that was done and seen is the same.
    """
    best: dict[str, ExecutionTrace] = {}
    for trace in report.traces:
        known = best.get(_identity(trace))
        if known is None or _steps(trace) > _steps(known):
            best[_identity(trace)] = trace
    kept: list[ExecutionTrace] = []
    dropped = list(report.dropped)
    for trace in report.traces:
        if best[_identity(trace)] is trace or trace.metadata.get("source") not in KINDS:
            kept.append(trace)
        else:
            agent = trace.metadata.get("source") in _AGENTS
            why = (
                "another file has the same request: the session went on there" if agent else "another file has the same recording"
            )
            dropped.append(Dropped(trace.task_id, "copy", why))
    return replace(report, traces=tuple(kept), dropped=tuple(dropped))


def _identity(trace: ExecutionTrace) -> str:
    return trace.task_id if trace.metadata.get("source") in _AGENTS else trace_digest(trace)


def _steps(trace: ExecutionTrace) -> int:
    return len(trace.steps) if trace.steps is not None else len(trace.commands)


def detect_kind(path: Path) -> Kind:
    """The format of a file, told from its first record.

    Raises:
        UnknownFormat: none fits.
        EvidenceError: the file cannot be read.
    """
    record, text = _first_record(path)
    if record is not None:
        kind = next((kind for kind, fits in _BY_RECORD if fits(record)), None)
        if kind == "omni":
            outputs = record["outputs"] if omni.is_evolution(record) and path.suffix == ".jsonl" else None
            return "jsonl" if isinstance(outputs, list) and all(isinstance(o, str) for o in outputs) else "omni"
    else:
        kind = next((kind for kind, fits in _by_text(path, text) if fits), None)
    if kind is None:
        raise UnknownFormat(f"is no recording that an importer knows: {_seems(record, text)}", f"Known: {', '.join(KINDS)}", path)
    return kind


def _by_text(path: Path, text: str) -> Iterator[tuple[Kind, bool]]:
    yield "typescript", typescript.looks_like(text)
    yield "aider", aider.looks_like(text)
    yield "history", history.looks_like(path, text)
    yield "shell", shell.looks_like(text)


def _seems(record: Mapping[str, Any] | None, text: str) -> str:
    """What a file that nobody knows holds, as far as its beginning shows."""
    if record is not None:
        return f"its first record has {', '.join(list(record)[:8]) or 'nothing'}"
    lines = text.splitlines()[:5]
    if not text.strip():
        return "it is empty"
    if "\0" in text or text.count("\ufffd") > len(text) // 20:
        return "it holds no text"
    if text.lstrip()[0] in "[{":
        return "it looks like JSON and is none, or no list of objects"
    return "it looks like a table" if len(lines) > 1 and all("\t" in line for line in lines) else "it holds text without a prompt"


def _first_record(path: Path) -> tuple[Mapping[str, Any] | None, str]:
    """The first JSON object of a file (or None) and how its text begins."""
    try:
        with path.open("rb") as file:
            line = file.readline(LONGEST)
            record = _object(line.decode("utf-8", "replace"))
            # One record a line: the rest may be large. So may be what is no JSON.
            whole = line.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{", b"")
            if record is None and whole and os.fstat(file.fileno()).st_size > _LARGEST:
                what = f"is larger than {_LARGEST >> 20} MB, and not one record a line: too large to be read at once"
                raise UnknownFormat(what, "Sessions with one record a line may be of any size", path)
            rest = b"" if record is not None else file.read() if whole else file.read(_HEAD)
    except OSError as e:
        raise EvidenceError(f"cannot be read: {e.strerror}", "", path) from e
    text = (line + rest).decode("utf-8", "replace")
    return record if record is not None else _object(text), text[:_HEAD]


def _object(text: str) -> Mapping[str, Any] | None:
    """The JSON object that a text is, or the first of a list of them."""
    try:
        document = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if isinstance(document, list):
        document = document[0] if document else None
    return document if isinstance(document, dict) else None
