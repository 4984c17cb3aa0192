"""aider's chat histories (``.aider.chat.history.md``): requests, and the commits that each led to. Start and end come from these.

Source of the format: histories of 2024 and 2025: many chats in one file, a request in lines with ``####`` before them, and notes
of the tool in lines with ``>``. Edits are shown, not always as they were applied; a commit is what came of them. Without one,
they count where all of the text that they replace stands in the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from synth.importers.common import Dropped, ImportReport, parse_time, task_id_for
from synth.importers.keeping import file_entry, worth_keeping
from synth.importers.repository import Repository
from synth.importers.turns import Changed, Start, Tasks, Turn, goes_on, replacing
from synth.interface import ExecutionTrace
from synth.tracing.traces import trace_from_record
from verifiers.interface import EvidenceError

_CHAT = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_ANSWER = re.compile(r"\(Y\)es/\(N\)o")
"""What aider asks: an answer to it is written down as if it were a request."""
_COMMIT = re.compile(r"> Commit ([0-9a-f]{7,40}) ")
_APPLIED = re.compile(r"> Applied edit to (.+?)\s*")
_MARK = re.compile(r"(<{5,9} SEARCH|={5,9}|>{5,9} REPLACE)\s*")


def looks_like(text: str) -> bool:
    return _CHAT.search(text[:2000]) is not None


@dataclass(slots=True)
class _Request:
    """A request, and what the history says of what came of it."""

    where: str
    text: str
    time: str
    base: str
    """The last commit before it, where the history names one."""
    commits: list[str] = field(default_factory=list)
    applied: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    undone: bool = False


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The traces of a history: of requests that led to commits which the repository has, or to edits that fit on it.

    Raises:
        EvidenceError: the file cannot be read.
    """
    dropped: list[Dropped] = []
    traces: list[ExecutionTrace] = []
    tasks = Tasks("aider", None, start, dropped=dropped)
    for request in _requests(path):
        if not request.commits and request.applied and not request.undone:
            traces += tasks.traces([_edited(request)])
            continue
        if request.commits or request.undone:
            tasks.known.clear()  # what was shown before may be in the commit, or gone
        found = _trace(request, start)
        if isinstance(found, str):
            dropped.append(Dropped(request.where, "trace", found))
        else:
            traces.append(found)
    return ImportReport("aider", tuple(traces), (), tuple(dropped), sessions=1)


def _requests(path: Path) -> list[_Request]:
    """The requests; one that only says to go on belongs to the one before."""
    try:
        lines = path.read_text("utf-8", errors="replace").split("\n")
    except OSError as e:
        raise EvidenceError(f"cannot be read: {e.strerror}", "", path) from e
    out: list[_Request] = []
    time, base, open_request = "", "", False
    for number, line in enumerate(lines, 1):
        chat, said = _CHAT.match(line), line[4:].strip() if line.startswith("####") else ""
        if chat:
            time = chat[1]
        elif said and open_request:
            out[-1].text += f"\n{said}"  # one request in several lines, pasted with blank ones
        elif said == "/undo" and out:
            out[-1].undone = True
        elif said and not said.startswith(("/", "!")) and not _ANSWER.search(said) and not (out and goes_on(said)):
            out.append(_Request(f"{path}:{number}", said, time, base))
            open_request = True
        elif out:
            base = _note(out[-1], line) or base
        open_request = open_request and (line.startswith("####") or not line.strip())
    return out


def _note(request: _Request, line: str) -> str:
    """Keeps what a line says of what came of a request; the commit that it names, or ""."""
    commit, applied = _COMMIT.match(line), _APPLIED.fullmatch(line)
    request.lines.append(line)
    if commit:
        request.commits.append(commit[1])
    if applied:
        request.applied.add(applied[1])
    return commit[1] if commit else ""


def _edited(request: _Request) -> Turn:
    """A request whose edits were applied and not committed: the blocks of text that they replace."""
    turn = Turn(request.text, request.where, request.where, parse_time(request.time), metadata={"commit": request.base})
    blocks = list(_blocks(request.lines))
    turn.steps += [Changed(path, replacing([(old, new, False)])) for path, old, new in blocks if path in request.applied]
    if request.applied - {path for path, _, _ in blocks}:
        turn.spoilt = "the request led to no commit, and an edit of it is not shown as text to replace"
    return turn


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Path, old and new text of every block that replaces one by the other; the path stands above it, or above the one before."""
    path, texts = "", list[str]()
    for number, line in enumerate(lines):
        mark = _MARK.fullmatch(line)
        if mark and mark[1].startswith("<"):
            above = [w.strip("`*:# ") for w in lines[max(0, number - 2) : number] if not w.startswith(("```", ">"))]
            path, texts = next((w for w in reversed(above) if w and " " not in w), path), [""]
        elif mark and mark[1].startswith("=") and len(texts) == 1:
            texts.append("")
        elif mark and mark[1].startswith(">") and len(texts) == 2:
            yield path, texts[0], texts[1]
            texts = []
        elif texts:
            texts[-1] += f"{line}\n"


def _trace(request: _Request, start: Start | None) -> ExecutionTrace | str:
    where, text, time, commits = request.where, request.text, request.time, request.commits
    if request.undone:
        return "the person took back what the request led to"
    if not commits:
        return "the request led to no commit"
    if not isinstance(start, Repository):
        return "there is no start state: its commits are in the project's repository"
    span = start.span(commits[0], commits[-1])
    if span is None:
        return f"commit {commits[0]} or its parent is not in the repository"
    before, after, base = span
    changed = before.differing(after)
    kept = worth_keeping(list(before), [text], changed)
    start_files = {p: e for p in kept if (e := before.get(p)) is not None}
    end_files = {p: e for p in sorted({*kept, *changed}) if (e := after.get(p)) is not None}
    unkept = {**before.absent, **after.absent}
    if lost := next((p for p in sorted(changed) if p in unkept), None):
        return f"the commit changes {lost}, whose contents are not kept: {unkept[lost]}"
    said = " ".join(text.split())
    return trace_from_record(
        {
            "task_id": task_id_for("aider", where, commits[0]), "task_description": said, "commands": [], "outputs": [],
            "success": True, "duration_ms": 0, "timestamp": _time(time),
            "metadata": {"source": "aider", "start": {"commit": base, "by": "parent"}, "commits": commits},
            "workspace": {p: file_entry(*e) for p, e in start_files.items()},
            "post_workspace": {p: file_entry(*e) for p, e in end_files.items()},
        },
        where,
    )  # fmt: skip


def _time(text: str) -> str:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).isoformat()
    except ValueError:
        return datetime.fromtimestamp(0, UTC).isoformat()
