"""aider's chat histories (``.aider.chat.history.md``): requests, and the commits that each led to. Start and end come from these.

Source of the format: histories of 2024 and 2025: many chats in one file, a request in lines with ``####`` before them, and notes
of the tool in lines with ``>``. Edits are shown, not always as they were applied; a commit is what came of them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from synth.importers.common import Dropped, ImportReport, task_id_for
from synth.importers.keeping import file_entry, worth_keeping
from synth.importers.repository import Repository
from synth.importers.turns import Start, goes_on
from synth.interface import ExecutionTrace
from synth.tracing.traces import trace_from_record
from verifiers.interface import EvidenceError

_CHAT = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_ANSWER = re.compile(r"\(Y\)es/\(N\)o")
"""What aider asks: an answer to it is written down as if it were a request."""
_COMMIT = re.compile(r"> Commit ([0-9a-f]{7,40}) ")


def looks_like(text: str) -> bool:
    return _CHAT.search(text[:2000]) is not None


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The traces of a history: of requests that led to commits which the repository has.

    Raises:
        EvidenceError: the file cannot be read.
    """
    dropped: list[Dropped] = []
    traces: list[ExecutionTrace] = []
    for where, text, time, commits in _requests(path):
        found = _trace(where, text, time, commits, start)
        if isinstance(found, str):
            dropped.append(Dropped(where, "trace", found))
        else:
            traces.append(found)
    return ImportReport("aider", tuple(traces), (), tuple(dropped), sessions=1)


def _requests(path: Path) -> list[tuple[str, str, str, list[str]]]:
    """Where, text, time of the chat and commits of each request; one that only says to go on belongs to the one before."""
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except OSError as e:
        raise EvidenceError(f"cannot be read: {e.strerror}", "", path) from e
    out: list[tuple[str, str, str, list[str]]] = []
    time, open_request = "", False
    for number, line in enumerate(lines, 1):
        chat, commit = _CHAT.match(line), _COMMIT.match(line)
        said = line[4:].strip() if line.startswith("####") else ""
        if chat:
            time = chat[1]
        elif commit and out:
            out[-1][3].append(commit[1])
        elif said and open_request:
            where, text, when, commits = out[-1]
            out[-1] = (where, f"{text}\n{said}", when, commits)  # one request in several lines, pasted with blank ones
        elif said and not said.startswith(("/", "!")) and not _ANSWER.search(said) and not (out and goes_on(said)):
            out.append((f"{path}:{number}", said, time, []))
            open_request = True
        open_request = open_request and (line.startswith("####") or not line.strip())
    return out


def _trace(where: str, text: str, time: str, commits: list[str], start: Start | None) -> ExecutionTrace | str:
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
