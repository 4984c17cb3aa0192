"""mini-SWE-agent trajectories (``.traj.json``): a chat whose commands become steps; all edits are commands.

Source of the format: trajectories of versions 1 and 2 (``trajectory_format``). Version 1 has the command in a fenced block and
the result as the user's next message; version 2 has ``extra.actions`` or tool calls, and the raw result in ``extra``. Each
command runs in a shell of its own, started in the configured directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from synth.importers.chat import calls, messages_of, turn_of
from synth.importers.common import Dropped, ImportReport, content_text, known_version, parse_time
from synth.importers.turns import Ran, Start, Step, Tasks, Turn
from verifiers.evidence import iter_records

Record = Mapping[str, Any]
VERSIONS = (0, 1, 2)
_BLOCK = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_RESULT = re.compile(r"<returncode>(-?\d+)</returncode>\s*<output>\n?(.*)</output>\s*\Z", re.DOTALL)
_ELIDED = re.compile(r"<returncode>-?\d+</returncode>\s*<warning>")
_SUBMITS = re.compile(r"\s*echo ['\"]?(?:COMPLETE_TASK_AND_SUBMIT|MINI_SWE_AGENT)_FINAL_OUTPUT\b")
_NEVER_RAN = re.compile(r"[Cc]ommand (?:was )?not executed|rejected your command|EXACTLY ONE action|Tool call error")
"""What mini-SWE-agent answers to a command that it did not run."""
_NEW_TASK = re.compile(r"The user added a new task:\s*(.+)", re.DOTALL)


def looks_like(record: Record) -> bool:
    return str(record.get("trajectory_format", "")).startswith("mini-swe-agent") or (
        isinstance(record.get("messages"), list) and isinstance(record.get("info"), Mapping) and "exit_status" in record["info"]
    )


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The traces of a file.

    Raises:
        EvidenceError: the file is not JSON.
        UnknownFormat: another major version.
    """
    report = ImportReport("mini-swe-agent", sessions=1)
    for where, record in iter_records(path):
        info = _mapping(record.get("info"))
        known_version(info.get("mini_version"), VERSIONS, "mini-SWE-agent", where)
        root = _root(info)
        turns = list(_turns(where, messages_of(record), root))
        if turns:
            turns[-1].done = info.get("exit_status") == "Submitted"
        else:
            report += ImportReport("mini-swe-agent", dropped=(Dropped(where, "trace", "it holds no request"),))
        tasks = Tasks("mini-swe-agent", root, start)
        report += ImportReport("mini-swe-agent", tuple(tasks.traces(turns)), (), tuple(tasks.dropped))
    note = "a trajectory counts as done when the agent submitted: whether the patch was right is not in the file"
    return report + ImportReport("mini-swe-agent", notes=(note,))


def _mapping(value: object) -> Record:
    return value if isinstance(value, Mapping) else {}


def _root(info: Record) -> str | None:
    """The directory in which every command starts, where the configuration says it."""
    cwd = _mapping(_mapping(info.get("config")).get("environment")).get("cwd")
    return cwd if isinstance(cwd, str) and cwd.startswith("/") else None


def _turns(where: str, messages: Sequence[Record], root: str | None) -> Iterator[Turn]:
    turn: Turn | None = None
    open_calls: list[tuple[str, str]] = []
    for message in messages:
        role, text = message.get("role"), content_text(message.get("content"))
        added = _NEW_TASK.search(text) if role == "user" and turn is not None else None
        if role == "user" and text.strip() and (turn is None or added):
            if turn is not None:
                yield _closed(turn, open_calls)
            turn, open_calls = turn_of(added[1] if added else text, where), []
        elif turn is not None and role == "assistant":
            _closed(turn, open_calls)
            open_calls = list(_commands(message, text))
        elif turn is not None and open_calls and role in ("user", "tool"):
            _take(turn, _answered(message, open_calls), message, text, root)
    if turn is not None:
        yield _closed(turn, open_calls)


def _commands(message: Record, text: str) -> Iterator[tuple[str, str]]:
    """Id and text of each command of a message."""
    actions = _mapping(message.get("extra")).get("actions")
    if isinstance(actions, list) and actions:
        found = [(str(a.get("tool_call_id")), a.get("command")) for a in actions if isinstance(a, Mapping)]
    elif message.get("tool_calls"):
        found = [(call, given.get("command")) for call, name, given in calls([message]) if name == "bash"]
    else:
        found = [("", block) for block in _BLOCK.findall(text)]
    yield from ((call, command) for call, command in found if isinstance(command, str) and command.strip())


def _answered(message: Record, open_calls: list[tuple[str, str]]) -> str:
    """Takes the command that a message answers from those that wait: by its id, else the first."""
    wanted = str(message.get("tool_call_id"))
    at = next((n for n, (call, _) in enumerate(open_calls) if call == wanted), 0)
    return open_calls.pop(at)[1]


def _closed(turn: Turn, unanswered: Sequence[tuple[str, str]]) -> Turn:
    """The turn when the agent goes on: a command without a result spoils it, unless it is the agent's way to submit."""
    if any(not _SUBMITS.match(command) for _, command in unanswered):
        turn.spoilt = turn.spoilt or "a command has no result: the session ended before it did"
    return turn


def _take(turn: Turn, command: str, message: Record, text: str, root: str | None) -> None:
    extra = _mapping(message.get("extra"))
    turn.time = turn.time or parse_time(extra.get("timestamp"))
    turn.ended = parse_time(extra.get("timestamp")) or turn.ended
    found = _step(command, extra, text, root)
    if isinstance(found, str):
        turn.spoilt = turn.spoilt or found
    elif found is not None:
        turn.steps.append(found)


def _step(command: str, extra: Record, text: str, root: str | None) -> Step | str | None:
    if _SUBMITS.match(command):
        return None
    if root is None and re.search(r"\b(?:cd|pushd|popd)\b", command):
        return "a command went elsewhere, and where it started is not recorded"
    output, code, shown = extra.get("raw_output"), extra.get("returncode"), _RESULT.match(text)
    if extra.get("exception_info"):
        return "a command ran out of time, or could not be run"
    if isinstance(output, str) and isinstance(code, int) and not isinstance(code, bool):
        return Ran(command, output, code, cwd=root)
    if shown:
        return Ran(command, shown[2], int(shown[1]), cwd=root)
    if _ELIDED.match(text):
        return "a command printed more than the session keeps"
    return None if _NEVER_RAN.search(text) else "a command ran out of time, or its result is in no form that is known"
