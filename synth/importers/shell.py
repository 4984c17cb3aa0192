"""Shell sessions as text: prompts, commands and what they printed.

A prompt is ``$ `` or ``# `` (root) at the start of a line, or behind ``user@host:dir``; ``> `` continues a command. A line
``## what was asked`` or ``# task: what was asked`` begins a new trace. A mere history without outputs is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from synth.importers.common import Builder, Dropped, ImportReport, UnknownFormat, task_id_for
from synth.interface import ExecutionTrace
from verifiers.interface import EvidenceError

_TASK = re.compile(r"(?:##+\s+|#\s*[Tt]ask:\s*)(?P<text>\S.*)")
_PROMPT = re.compile(
    r"(?:\([\w.-]+\)\s)?(?:[\w.-]+@[\w.-]+[: ]\S*\s?)?[$%❯]\s(?P<command>.*)|[\w.-]+@[\w.-]+[: ]\S*\s?#\s(?P<root>.*)"
)
_MORE = re.compile(r"> ?(?P<command>.*)")
_NOISE = re.compile(r"Script (?:started|done)\b.*")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\r(?=\n)|\x07")


@dataclass(slots=True)
class _Session:
    task: str
    line: int
    steps: list[tuple[str, list[str]]] = field(default_factory=list)


def looks_like(text: str) -> bool:
    return any(_PROMPT.fullmatch(line) for line in _ESCAPES.sub("", text).splitlines()[:200])


def read(path: Path) -> ImportReport:
    """The traces of a session file.

    Raises:
        UnknownFormat: there is no prompt in it, or no output at all (a history file).
    """
    try:
        text = _ESCAPES.sub("", path.read_text("utf-8"))
    except UnicodeDecodeError as e:
        raise EvidenceError(f"is not UTF-8 text (byte {e.start})", "", path) from e
    sessions, dropped = _sessions(text, path)
    steps = [s for session in sessions for s in session.steps]
    if not steps:
        raise UnknownFormat("no prompt was found", "Lines of commands begin with '$ '", path)
    if not any(output for _, output in steps):
        raise UnknownFormat("the history has no outputs", "Record with 'assay record', or save the terminal's text", path)
    traces: list[ExecutionTrace] = []
    for session in sessions:
        try:
            traces += [_trace(session, path)] if session.steps else []
        except EvidenceError as e:
            dropped.append(Dropped(f"{path}:{session.line}", "trace", e.what))
    note = "a session counts as done: its text does not say whether the task succeeded"
    return ImportReport("shell", tuple(traces), (), tuple(dropped), (note,))


def _sessions(text: str, path: Path) -> tuple[list[_Session], list[Dropped]]:
    current = _Session(path.stem.replace("_", " ").replace("-", " "), 1)
    out, dropped = [current], []
    for number, line in enumerate(text.splitlines(), 1):
        task, prompt = _TASK.fullmatch(line), _PROMPT.fullmatch(line)
        more = _MORE.fullmatch(line)
        if prompt:
            command = prompt["command"] if prompt["command"] is not None else prompt["root"]
            if command.strip() and command.strip() not in ("exit", "logout"):
                current.steps.append((command, []))
            else:
                dropped.append(Dropped(f"{path}:{number}", "line", "an empty command or the end of the session"))
        elif task and not (current.steps and not current.steps[-1][1] and line.startswith("###")):
            current = _Session(task["text"], number)
            out.append(current)
        elif more and current.steps and not current.steps[-1][1] and _open(current.steps[-1][0]):
            current.steps[-1] = (current.steps[-1][0] + "\n" + more["command"], [])
        elif _NOISE.fullmatch(line) or not current.steps:
            if line.strip():
                dropped.append(Dropped(f"{path}:{number}", "line", "it belongs to no command"))
        else:
            current.steps[-1][1].append(line)
    return out, dropped


def _open(command: str) -> bool:
    """Whether a command goes on in the next line: a backslash, an open quote, an open loop or here-document."""
    if command.endswith("\\") or "<<" in command:
        return True
    if any(command.count(q) % 2 for q in "'\""):
        return True
    words = re.findall(r"\b(?:do|done|then|fi|case|esac)\b|[{}()]|\|$|&&$", command)
    pairs = (("do", "done"), ("then", "fi"), ("case", "esac"), ("{", "}"), ("(", ")"))
    return any(words.count(a) > words.count(b) for a, b in pairs) or command.rstrip().endswith(("|", "&&"))


def _trace(session: _Session, path: Path) -> ExecutionTrace:
    identity = task_id_for(path.stem, session.task, *(c for c, _ in session.steps))
    when = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    builder = Builder(identity, session.task, f"{path}:{session.line}", when, metadata={"source": "shell"})
    for command, lines in session.steps:
        while lines and not lines[-1].strip():
            lines.pop()
        builder.step(command, "".join(line + "\n" for line in lines))
    return builder.build(success=True)
