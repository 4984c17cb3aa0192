"""The steps of a captured task: from the events, and what they leave out (exit codes, ends of failed calls) from the session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from synth.hooks.agents import AGENTS
from synth.importers.gemini_cli import was_blocked
from synth.importers.reader import import_path
from synth.importers.turns import Changed, Ran, Start, Step, Tasks, Turn, goes_on, relative, removed, written
from synth.interface import ExecutionTrace
from synth.store.tasks import Event, Store
from verifiers.interface import AssayError


def steps_of(store: Store, task: Path, events: Sequence[Event], start: Start) -> ExecutionTrace | str:
    """The trace of a task without its trees, or why there is none."""
    begin = events[0]
    agent, root = str(begin["agent"]), str(begin["root"])
    times = [datetime.fromtimestamp(float(e.get("at", e["time"])), UTC) for e in events if e.get("event") != "named"]
    key = f"{begin['session']} {task.name}"
    said = _request(store, task, events)
    if said is None:
        return "it only goes on with the request before, of which something was done already"
    turn = Turn(said, str(task), key, times[0], _first_place(events), ended=times[-1])
    turn.metadata |= {"session": begin["session"], "captured": "assay hook"}
    secret = next((e["secret"] for e in events if "secret" in e), None)
    if secret is not None:
        return f"a file that may hold secrets was edited ({secret})"
    if any("skill" in e for e in events):
        return "a skill was called over MCP: what it does is no step"
    if any(e.get("event") == "unseen" for e in events):
        shells = "the shell keeps none that begins with a blank or only repeats the one before"
        return f"a command was not seen: {shells}, or the disk was full"
    told = _from_session(begin, turn.text, start)
    if told is not None and told.metadata.get("version"):
        turn.metadata["version"] = told.metadata["version"]
    slots, edits_lost = _slots(store, events, each_afresh=agent in AGENTS and agent != "claude-code")
    every, seen = _commands(slots), _commands(s for s in slots if not s.lost)
    wanted = _without_moves(told.commands) if told is not None else None
    if (every != seen or edits_lost) and wanted not in (_without_moves(every), _without_moves(seen)):
        return "the end of a command or an edit was not seen"
    # What a person refused never ran: the session has it neither. Of what failed, some agents tell no end.
    turn.steps = [s.step for s in slots if not s.lost or wanted == _without_moves(every)]
    others = _by_others(store, begin, events)
    tasks = Tasks(agent, root)
    made = tasks.traces([turn])
    if told is not None and (edits_lost or not made):
        facts = {k: v for k, v in told.metadata.items() if k != "start"} | turn.metadata
        made = [replace(told, metadata=facts)]
    if not made:
        return tasks.dropped[-1].why
    (trace,) = made
    facts = {**trace.metadata, **({"changed_by_others": others} if others else {})}
    return _as_told(replace(trace, workspace=None, metadata=facts), told)


def asked(events: Sequence[Event]) -> str:
    """What was asked; of what a person typed, the name that it was given afterwards."""
    said = [e["request"] for e in events if e.get("request")]
    return str(said[-1]) if said else ""


def _request(store: Store, task: Path, events: Sequence[Event]) -> str | None:
    """What was asked. One that only says to go on stands for the one before, if nothing but talk came of that; else None."""
    said, before = asked(events), store.before(task)
    while events[0]["agent"] in AGENTS and goes_on(said) and before is not None:
        earlier = store.events(before)
        if any(e.get("event") == "after" for e in earlier):
            return None
        said, before = asked(earlier), store.before(before)
    return said


def _first_place(events: Sequence[Event]) -> str:
    """Where the first command ran; of agents, where the turn began."""
    typed = [e for e in events if "at" in e and e.get("cwd")]
    return str((typed or events)[0]["cwd"])


def _without_moves(commands: Iterable[str]) -> list[str]:
    """The commands but for those that only go somewhere: a trace has more of them than the agent ran."""
    return [c for c in commands if not c.startswith("cd ")]


@dataclass(slots=True)
class _Slot:
    """A step in the order in which it began."""

    step: Step
    lost: bool = False
    """Its end was not seen."""


def _slots(store: Store, events: Sequence[Event], *, each_afresh: bool) -> tuple[list[_Slot], bool]:
    """The steps, and whether the end of an edit was not seen."""
    out: list[_Slot] = []
    waiting: dict[object, _Slot] = {}
    before: dict[str, object] = {}
    pending: set[str] = set()
    for event in events:
        if event.get("event") == "before" and isinstance(event.get("command"), str):
            slot = _Slot(_ran(event, each_afresh=each_afresh), lost=True)
            out.append(slot)
            waiting[event.get("call") or event["command"]] = slot
        elif event.get("event") == "before":
            before |= event.get("files") or {}
            pending |= (event.get("files") or {}).keys()
        elif event.get("event") == "after" and isinstance(event.get("command"), str):
            begun = waiting.pop(event.get("call") or event["command"], None)
            slot = begun if begun is not None else _Slot(_ran(event, each_afresh=each_afresh))
            slot.step, slot.lost = _ran(event, each_afresh=each_afresh), _was_refused(event)
            out += [] if begun is not None else [slot]
        elif event.get("event") == "after":
            out += [_Slot(_changed(store, path, held, before)) for path, held in (event.get("files") or {}).items()]
            pending -= (event.get("files") or {}).keys()
    return out, bool(pending)


def _was_refused(event: Event) -> bool:
    """Whether the agent itself did not let a command run: the session has no such step either."""
    response = event.get("output")
    return isinstance(response, Mapping) and was_blocked(response.get("returnDisplay"))


def _commands(slots: Iterable[_Slot]) -> list[str]:
    return [s.step.command for s in slots if isinstance(s.step, Ran)]


def _ran(event: Event, *, each_afresh: bool) -> Ran:
    out, err = _output(event.get("output"))
    place = str(event["cwd"]) if each_afresh and event.get("cwd") else None
    return Ran(event["command"], out + err, event.get("exit"), err, place)


def _changed(store: Store, path: str, held: object, before: Mapping[str, object]) -> Changed:
    """One edit. One whose start was not seen is of a file that nobody knows, and says so."""
    text = _text(store, held)
    was = _text(store, before[path]) if path in before else None
    return Changed(path, written(text) if text is not None else removed, was, path in before)


def _output(response: object) -> tuple[str, str]:
    """Standard output and error of what an agent tells of a command."""
    if isinstance(response, Mapping):
        if "stdout" in response:
            return _closed(str(response.get("stdout") or "")), _closed(str(response.get("stderr") or ""))
        return _closed(str(response.get("llmContent") or response.get("output") or "")), ""
    return _closed(response if isinstance(response, str) else ""), ""


def _closed(text: str) -> str:
    return text + "\n" if text and not text.endswith("\n") else text


def _text(store: Store, held: object) -> str | None:
    if held is None:
        return None
    data = store.objects.get(str(held[1])) if isinstance(held, list) else None
    if data is None:
        raise ValueError("what an edit wrote is not there")
    return data.decode("utf-8", "surrogateescape")


def _from_session(begin: Event, text: str, start: Start) -> ExecutionTrace | None:
    """The same task as the agent's own session file has it: exit codes are only there."""
    path = begin.get("transcript_path")
    if not isinstance(path, str) or not Path(path).is_file():
        return None
    try:
        found = import_path(path, begin["agent"], start).traces
    except (AssayError, OSError):
        return None
    wanted, when = " ".join(text.split()), datetime.fromtimestamp(float(begin["time"]), UTC)
    same = [t for t in reversed(found) if t.task_description == wanted]
    return min(same, key=lambda t: abs(t.timestamp - when), default=None)


def _as_told(trace: ExecutionTrace, told: ExecutionTrace | None) -> ExecutionTrace:
    """The trace with outputs and exit codes of the session file, where that has the same commands."""
    if told is None or not trace.commands or told.commands != trace.commands:
        return trace
    stderrs = told.metadata.get("stderrs")
    metadata = {k: v for k, v in trace.metadata.items() if k != "stderrs"} | ({"stderrs": stderrs} if stderrs else {})
    return replace(trace, outputs=told.outputs, exit_codes=told.exit_codes, success=told.success, metadata=metadata)


def _by_others(store: Store, begin: Event, events: Sequence[Event]) -> list[str]:
    """Files that were changed by somebody else meanwhile: not as the last edit left them, and no command ran since."""
    left: dict[str, object] = {}
    out: list[str] = []
    for event in events:
        if event.get("command"):
            left.clear()
        for path, held in (event.get("files") or {}).items():
            if event.get("event") == "before" and path in left and left[path] != held:
                out.append(relative(path, str(begin["root"])) or path)
            left[path] = held
    stop = store.picture(next((e.get("picture") for e in reversed(events) if e.get("event") == "end"), None))
    for path, held in left.items():
        name = relative(path, str(begin["root"]))
        now = stop.files.get(name) if stop is not None and name is not None else None
        if now is not None and isinstance(held, list) and now[2] != held[1]:
            out.append(name or path)
    return sorted(set(out))
