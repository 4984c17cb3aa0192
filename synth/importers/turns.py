"""What all sessions of agents have in common: requests, and the commands and edits that each led to, as traces.

One request is one task. Edits say what they replace, seldom the whole file: what a session showed of files before, or a commit of
the repository, tells the rest. An edit whose file is not known whole cannot be repeated, and says so.
"""

from __future__ import annotations

import posixpath
import re
import stat
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PureWindowsPath
from typing import Any, Protocol

from synth.importers.common import Builder, Dropped, task_id_for
from synth.importers.keeping import DoesNotApply, file_entry, reduced
from synth.interface import ExecutionTrace
from verifiers.interface import EvidenceError


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that an agent ran."""

    command: str
    output: str
    exit_code: int | None = None
    stderr: str | None = None
    cwd: str | None = None
    """Where it started, for agents that say so with each command; None = where the one before ended."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that an edit tool changed."""

    path: str
    """As the session has it: absolute, or from the root."""
    change: Callable[[str | None], str | None]
    """The file's text before (None = there was none) to that after. Raises DoesNotApply."""
    before: str | None = None
    shows_before: bool = False
    """Whether the session says in ``before`` what was there, None being nothing."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that was read whole."""

    path: str
    text: str


Step = Ran | Changed | Seen


@dataclass(slots=True)
class Turn:
    """What one request led to."""

    text: str
    where: str
    key: str
    """What tells the request from others, also in a copy of the session."""
    time: datetime | None = None
    cwd: str | None = None
    steps: list[Step] = field(default_factory=list)
    ended: datetime | None = None
    spoilt: str = ""
    """Why it cannot be repeated."""
    done: bool | None = None
    """Whether it succeeded, where the session says so; None = as its last command did."""
    metadata: dict[str, Any] = field(default_factory=dict)


class Start(Protocol):
    """Where a turn's files were before it: a commit of the repository, say."""

    def starts(self, turn: Turn) -> Iterable[State]:
        """What may be there when the turn begins, the most likely first."""
        ...


@dataclass(frozen=True, slots=True)
class State:
    """Files of a start."""

    files: Mapping[str, tuple[int, bytes]]
    """Path -> mode and content; of a symbolic link its target."""
    origin: Mapping[str, str]
    """How it is known: ``commit``, and ``by`` id, parent or time."""


_GO_ON = frozenset({
    "y", "yes", "yep", "yeah", "ok", "okay", "k", "sure", "go", "continue", "proceed", "next", "resume", "retry",
    "again", "please", "do", "it", "ahead", "on", "keep", "going", "oui", "d'accord", "vas-y", "ja", "weiter", "si",
    "sí", "vale", "sigue", "continúa", "sim", "da", "да", "продолжай", "дальше", "同意", "继续", "好", "好的", "是",
    "是的", "可以", "はい", "続けて", "네", "계속",
})  # fmt: skip
"""Words of which a request that asks for nothing new is made, in the languages seen."""


def goes_on(text: str) -> bool:
    """Whether a request only tells the agent to go on: it belongs to the one before. So do a number and a letter from a menu."""
    words = re.findall(r"[^\W_]+(?:['-][^\W_]+)*", text.lower())
    if not words:
        return True
    if len(words) == 1 and (words[0].isdecimal() or (len(words[0]) <= 2 and words[0].isascii())):
        return True
    return len(words) <= 5 and all(word in _GO_ON or word.isdecimal() or word in ("to", "and") for word in words)


def joined(turns: Sequence[Turn]) -> list[Turn]:
    """The tasks: turns whose request only says to go on become part of the one before."""
    out: list[Turn] = []
    for turn in turns:
        if not out or not goes_on(turn.text):
            out.append(turn)
            continue
        last = out[-1]
        last.steps += turn.steps
        last.ended = turn.ended or last.ended
        last.done = turn.done if turn.done is not None else last.done
        last.spoilt = last.spoilt or turn.spoilt
        last.metadata["continued"] = int(last.metadata.get("continued", 0)) + 1
    return out


@dataclass(slots=True)
class Tasks:
    """Turns of one session on their way to traces."""

    source: str
    root: str | None
    """The project's directory, as the agent named it."""
    start: Start | None = None
    known: MutableMapping[str, str | None] = field(default_factory=dict)
    """Path -> what is there as far as the session showed it, None = nothing."""
    dropped: list[Dropped] = field(default_factory=list)

    def traces(self, turns: Sequence[Turn]) -> list[ExecutionTrace]:
        """The traces of a session's turns; what is lost goes to ``dropped``."""
        found = []
        for turn in joined(turns):
            why = turn.spoilt or ("" if _works(turn) else "the request ran no command and changed no file")
            trace = self._trace(turn) if not why else None
            if isinstance(trace, ExecutionTrace):
                found.append(trace)
            else:
                self._learn(turn)
                self.dropped.append(Dropped(turn.where, "trace", why or str(trace)))
        return found

    def _trace(self, turn: Turn) -> ExecutionTrace | str:
        refused = ""
        for state in self.start.starts(turn) if self.start is not None else ():
            found = self._attempt(turn, state)
            if isinstance(found, ExecutionTrace):
                return found
            if not refused:
                refused = found
                turn.metadata["refused_start"] = {**state.origin, "why": found}
        # No commit is what the agent found: what the session itself showed may still do.
        again = self._attempt(turn, None)
        why = f"the start from the repository does not agree ({refused}), and without it: {again}"
        return why if refused and isinstance(again, str) else again

    def _attempt(self, turn: Turn, state: State | None) -> ExecutionTrace | str:
        known = dict(self.known)
        work = _Work(self, turn, state)
        try:
            for step in turn.steps:
                work.take(step)
            return work.build()
        except DoesNotApply as e:
            self.known = known
            return str(e)

    def _learn(self, turn: Turn) -> None:
        """Of a turn that cannot be repeated, what it shows of files; what it changed is not known any more."""
        for step in turn.steps:
            if isinstance(step, Seen):
                path = relative(step.path, self.root)
                if path is not None:
                    self.known[path] = step.text
            elif isinstance(step, Changed):
                self.known.pop(relative(step.path, self.root) or "", None)
            else:
                self.forget(step.command)

    def forget(self, command: str) -> None:
        """What a command may have changed is not known any more: the files that it mentions, unless it only looks."""
        if not observes(command):
            for path in [p for p in self.known if posixpath.basename(p) in command]:
                del self.known[path]


def observes(command: str) -> bool:
    """Whether a command only looks around. What cannot be read may do more."""
    from verifiers.shell.effects import may_change
    from verifiers.shell.parse import parse
    from verifiers.shell.tree import ShellError

    try:
        return not may_change(parse(command))
    except ShellError:
        return False


def _works(turn: Turn) -> bool:
    return any(not isinstance(step, Seen) for step in turn.steps)


@dataclass(slots=True)
class _Work:
    """One trace in the making."""

    tasks: Tasks
    turn: Turn
    state: State | None
    builder: Builder = field(init=False)
    here: str | None = field(init=False)
    """Where the next command would start; None = not known."""
    shown: Mapping[str, str | None] = field(init=False)
    """What the session had shown of files before the turn: newer than any commit."""

    def __post_init__(self) -> None:
        text = " ".join(self.turn.text.split())
        task_id = task_id_for(self.tasks.source, self.turn.key, text)
        self.builder = Builder(task_id, text, self.turn.where, self.turn.time)
        self.builder.metadata |= {"source": self.tasks.source, **self.turn.metadata}
        root = self.tasks.root
        if root is not None and root.startswith("/"):
            self.builder.metadata["workspace_root"] = root
        self.here = root
        self.shown = dict(self.tasks.known)

    def take(self, step: Step) -> None:
        if isinstance(step, Ran):
            self._ran(step)
        elif isinstance(step, Seen):
            path = relative(step.path, self.tasks.root)
            if path is not None:
                self.tasks.known[path] = step.text
        else:
            self._changed(step)

    def _ran(self, step: Ran) -> None:
        first = self.turn.cwd if not self.builder.commands else None
        place = step.cwd if step.cwd is not None else first
        if place is not None and place != self.here:
            self._go(place)
        self.builder.step(step.command, step.output, step.exit_code, step.stderr)
        self.tasks.forget(step.command)
        if step.cwd is not None and re.search(r"\b(?:cd|pushd|popd)\b", step.command):
            self.here = None  # the agent's next command starts afresh, ours where this one ended

    def _go(self, place: str) -> None:
        if relative(place, self.tasks.root) is None and place != self.tasks.root:
            raise DoesNotApply("a command ran outside the project's directory")
        self.builder.step(f"cd {_quoted(place)}", "", 0, "")
        self.here = place

    def _changed(self, step: Changed) -> None:
        path = relative(step.path, self.tasks.root)
        if path is None:
            raise DoesNotApply("a file outside the project's directory was edited")
        before = self._before(step, path)
        after = step.change(before)
        if before == after:
            return
        self.builder.edit(path, _entry(before, self._mode(path)), _entry(after, self._mode(path)))
        self.tasks.known[path] = after

    def _before(self, step: Changed, path: str) -> str | None:
        if step.shows_before:
            return step.before
        if path in self.tasks.known:
            return self.tasks.known[path]
        if self.state is not None:
            held = self.state.files.get(path)
            if path in self.state.files and (held is None or stat.S_ISLNK(held[0])):
                raise DoesNotApply("an edit of a link, or of a file whose contents are not kept")
            return held[1].decode("utf-8", "surrogateescape") if held is not None else None
        raise DoesNotApply("an edit of a file that the session never shows whole")

    def _mode(self, path: str) -> int:
        held = self.state.files.get(path) if self.state is not None else None
        return held[0] if held is not None and not stat.S_ISLNK(held[0]) else 0o644

    def build(self) -> ExecutionTrace | str:
        turn, b = self.turn, self.builder
        if not b.commands and not b.edits:
            return "its edits change nothing"
        span = turn.ended - turn.time if turn.ended is not None and turn.time is not None else None
        if self.state is not None:
            b.metadata["start"] = {**self.state.origin, "note": "a dirty tree is not recorded: this is a lower bound"}
            b.workspace = reduced(self.state.files, self.shown, b)
        done = turn.done if turn.done is not None else b.exit_codes[-1] in (0, None) if b.commands else True
        try:
            return b.build(done, span.total_seconds() * 1000 if span is not None else 0.0)
        except EvidenceError as e:
            return e.what


def relative(path: str, root: str | None) -> str | None:
    """A path of a session from the project's directory; None where it lies outside, or the directory is not known."""
    windows = bool(re.match(r"[A-Za-z]:[\\/]", path))
    if windows:
        if root is None or not PureWindowsPath(path).is_relative_to(PureWindowsPath(root)):
            return None
        clean = PureWindowsPath(path).relative_to(PureWindowsPath(root)).as_posix()
    elif path.startswith("/"):
        if root is None:
            return None
        clean = posixpath.relpath(path, root)
    else:
        clean = posixpath.normpath(path.replace("\\", "/") if root is not None and ":" in root[:2] else path)
    return None if clean in (".", "..") or clean.startswith("../") else clean


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'" if re.search(r"[^\w./-]", path) else path


def _entry(text: str | None, mode: int) -> dict[str, str] | None:
    return file_entry(mode, text) if text is not None else None


# ---------------------------------------------------------------- edits


def written(content: str) -> Callable[[str | None], str | None]:
    """The whole file, whatever was there."""
    return lambda _: content


def replacing(pairs: Sequence[tuple[str, str, bool]]) -> Callable[[str | None], str | None]:
    """Each old text by its new one: in one place, or in all. An empty old text makes the file."""

    def change(text: str | None) -> str:
        for old, new, every in pairs:
            if not old and not text:
                text = new
                continue
            if text is None or not old or old not in text:
                raise DoesNotApply("an edit replaces what its file does not hold, as far as is known")
            if not every and text.count(old) > 1:
                raise DoesNotApply("an edit replaces what its file holds more than once")
            text = text.replace(old, new) if every else text.replace(old, new, 1)
        return text or ""

    return change


def removed(_: str | None) -> str | None:
    """No file any more."""
    return None
