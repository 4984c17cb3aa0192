"""What is judged: evidence, bindings, the skill itself. Others import it from ``verifiers.interface``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sandbox.interface import Entry, JsonValue, Snapshot

Profile = Literal["seed", "omni"]

ANSWER_STEP = "answer_step"
"""Key of a trace's metadata: index of the command that answers, where it is not the last one."""
REDACTED = "redacted"
"""Key of a trace's metadata: how many secrets were taken out of it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One file as an agent's edit tool found it and left it."""

    after_commands: int
    """How many of the trace's commands ran before it."""
    path: str
    before: Entry | None
    """A regular file; None where there was none."""
    after: Entry | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A self-contained, replayable distillate of one trace."""

    task_id: str
    description: str
    commands: tuple[str, ...]
    outputs: tuple[str, ...]
    """stdout followed by stderr of each command, as recorded."""
    stderrs: tuple[str, ...] | None
    """stderr alone, where the recording has it."""
    exit_codes: tuple[int, ...] | None
    base: Snapshot | None
    """None when the recording has none: it must be reconstructed."""
    post: Snapshot | None
    success: bool
    reconstructed: bool = False
    rewritten: bool = False
    """Absolute paths were rewritten as whole words."""
    workspace_root: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    """In order."""

    @property
    def by_commands(self) -> bool:
        """Whether commands did all of it: only then can they say what is right on another start."""
        return bool(self.commands) and not self.edits

    @property
    def answer_step(self) -> int:
        """Index of the command that answers: as ``metadata.answer_step`` says, else the last one
        (docs/semantics.md, "The answer")."""
        last, given = len(self.commands) - 1, self.metadata.get(ANSWER_STEP)
        return given if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= last else last

    @property
    def redacted(self) -> str:
        """That secrets were taken out of it, as the end of a sentence; "" where none were."""
        count = self.metadata.get(REDACTED)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            return ""
        return f"{count} secret{'s were' if count > 1 else ' was'} taken out of the recording"

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of everything that replay and judgment use."""
        doc: list[object] = [
            self.task_id,
            self.description,
            self.commands,
            self.outputs,
            self.stderrs,
            self.exit_codes,
            self.base.digest if self.base is not None else None,
            self.post.digest if self.post is not None else None,
            self.success,
            self.reconstructed,
            self.rewritten,
            self.workspace_root,
        ]
        if self.answer_step != len(self.commands) - 1:
            doc.append([ANSWER_STEP, self.answer_step])
        if self.edits:
            doc.append([(e.after_commands, e.path, _digest_of(e.before), _digest_of(e.after)) for e in self.edits])
        return hashlib.sha256(json.dumps(doc, ensure_ascii=True).encode()).hexdigest()

    def stdout(self, step: int) -> str:
        """stdout of one step: the recorded output without the recorded stderr where that is known."""
        text = self.outputs[step]
        if self.stderrs is not None and self.stderrs[step] and text.endswith(self.stderrs[step]):
            return text[: -len(self.stderrs[step])]
        return text


def _digest_of(entry: Entry | None) -> str | None:
    return Snapshot({"f": entry}).digest if entry is not None else None


Args = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Binding:
    """The argument values that make a skill do what one trace did."""

    task_id: str
    args: Args
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    annotation: str
    description: str
    required: bool
    default: JsonValue = None
    line: int = 1


@dataclass(frozen=True, slots=True)
class Subject:
    """The skill under judgment: its text and what a parse of it says."""

    name: str
    """The public function's name where there is one, else the file's stem."""
    path: str
    """As findings show it: relative."""
    source: str
    parameters: tuple[Parameter, ...] = ()
    hints: Mapping[str, bool] = field(default_factory=dict)
    """Declared ``read_only``, ``destructive``, ``idempotent``, ``open_world``."""
    profile: Profile = "seed"
    description: str = ""
    """The function's docstring summary."""
    line: int = 1
    """Where the function is defined."""
    function: str = ""
    """Which function is judged, where its file has several; "" = its only one."""

    @property
    def place(self) -> str:
        """The path as commands take it, with the function where the file has several."""
        return f"{self.path}::{self.function}" if self.function else self.path

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.source.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class ImportRules:
    """What a configuration says of imports besides the list: top-level modules."""

    allow: frozenset[str] = frozenset()
    refuse: frozenset[str] = frozenset()
    """Refused though the list allows them: where a skill is to go, they are not let in."""

    def __bool__(self) -> bool:
        return bool(self.allow or self.refuse)

    def __str__(self) -> str:
        """Equal for equal rules, for keys of what is kept."""
        return ",".join([*sorted(self.allow), *sorted(f"-{name}" for name in self.refuse)])


AS_LISTED = ImportRules()
"""Nothing is configured: the built-in list holds."""
