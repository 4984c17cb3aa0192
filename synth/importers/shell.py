"""Shell sessions as text: prompts, commands and what they printed.

A prompt is ``$ `` or ``# `` (root) at the start of a line, or behind ``user@host:dir``; ``> `` continues a command. A line
``## what was asked`` or ``# task: what was asked`` begins a new trace. A mere history without outputs is refused. Recordings of
terminals come here too, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from synth.importers.common import Builder, Dropped, ImportReport, Kind, UnknownFormat, task_id_for
from synth.interface import ExecutionTrace
from verifiers.interface import EvidenceError

_TASK = re.compile(r"(?:##+\s+|#\s*[Tt]ask:\s*)(?P<text>\S.*)")
_PROMPT = re.compile(
    r"(?:\([\w.-]+\)\s)?(?:[\w.-]+@[\w.-]+[: ]\S*\s?)?[$%❯]\s(?P<command>.*)|[\w.-]+@[\w.-]+[: ]\S*\s?#\s(?P<root>.*)"
)
_MORE = re.compile(r"(?:[a-z ]*[a-z])?> ?(?P<command>.*)")
_NOISE = re.compile(r"Script (?:started|done)\b.*")
NOTE = "a session counts as done: its text does not say whether the task succeeded"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\r(?=\n)|\x07")


@dataclass(slots=True)
class Session:
    """One task: what was asked, the line it begins in, and commands with the lines that they printed."""

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
    sessions, dropped = cut(((line, typed(line)) for line in text.splitlines()), path, named(path))
    if not any(s.steps for s in sessions):
        raise UnknownFormat("no prompt was found", "Lines of commands begin with '$ '", path)
    if not any(output for session in sessions for _, output in session.steps):
        raise UnknownFormat("the history has no outputs", "Record with 'assay record', or save the terminal's text", path)
    traces = built(sessions, "shell", path, dropped)
    return ImportReport("shell", tuple(traces), (), tuple(dropped), (NOTE,), sessions=1)


def named(path: Path) -> str:
    """What a recording that names no task is about: the name of its file."""
    return path.stem.replace("_", " ").replace("-", " ")


def typed(line: str) -> str | None:
    """The command in a line that begins with a prompt."""
    prompt = _PROMPT.fullmatch(line)
    return prompt[1] if prompt and prompt[1] is not None else prompt[2] if prompt else None


def cut(
    rows: Iterable[tuple[str, str | None]], path: Path, task: str, *, headings: bool = True
) -> tuple[list[Session], list[Dropped]]:
    """Tasks with their commands and outputs, of lines and the commands typed in them.

    Args:
        task: What the first one is about.
        headings: Whether a line that nobody typed may begin a task, as a comment that somebody did always does.
    """
    current = Session(task, 1)
    out, dropped, idle = [current], [], False
    for number, (line, command) in enumerate(rows, 1):
        more = _MORE.fullmatch(line)
        heading = _TASK.fullmatch(line if command is None else command) if headings or command is not None else None
        waits = bool(current.steps) and not current.steps[-1][1]
        if more and waits and _open(current.steps[-1][0]):
            current.steps[-1] = (current.steps[-1][0] + "\n" + more["command"], [])
        elif heading and (command is not None or not (waits and line.startswith("###"))):
            current = Session(heading["text"], number)
            out.append(current)
        elif command is not None:
            idle = command.strip() in ("", "exit", "logout")
            if not idle:
                current.steps.append((command, []))
            else:
                dropped.append(Dropped(f"{path}:{number}", "line", "an empty command or the end of the session"))
        elif _NOISE.fullmatch(line) or not current.steps or idle:
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


def built(
    sessions: Sequence[Session], source: Kind, path: Path, dropped: list[Dropped], when: datetime | None = None,
    seconds: float = 0.0, done: bool = True,
) -> list[ExecutionTrace]:  # fmt: skip
    """The traces of tasks; what can be none goes to ``dropped``."""
    found: list[ExecutionTrace] = []
    time = when or datetime.fromtimestamp(path.stat().st_mtime, UTC)
    for session in sessions:
        identity = task_id_for(path.stem, session.task, *(c for c, _ in session.steps))
        builder = Builder(identity, session.task, f"{path}:{session.line}", time, metadata={"source": source})
        for command, lines in session.steps:
            while lines and not lines[-1].strip():
                lines.pop()
            builder.step(command, "".join(line + "\n" for line in lines))
        try:
            found += [builder.build(done, seconds * 1000)] if session.steps else []
        except EvidenceError as e:
            dropped.append(Dropped(builder.where, "trace", e.what))
    return found
