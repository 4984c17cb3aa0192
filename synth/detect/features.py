"""What grouping needs to know of one trace, small enough to keep for a hundred thousand of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from synth.detect.deeds import NOTHING, Deed, deed, effect_kinds
from synth.detect.shape import Shape, shapes_of
from synth.detect.signature import STOPWORDS, signature
from synth.interface import ExecutionTrace
from synth.tracing.redact import redact

FEATURES_VERSION = 9
"""Raise it when a feature's meaning changes: cached ones are then made again."""

MOST_CONSTANTS = 60
_QUOTED = re.compile(r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|`[^`\n]*`|“[^”\n]*”")
_VALUE = re.compile(r".*[\d/*~$=@_\\{}<>|\[\]].*|\.\S+|\S+\.\w{1,5}", re.DOTALL)
_NAMED = re.compile(r"\.?[a-z-]+|[a-z-]+\.[a-z]{1,5}|\d+")
_CLASS = re.compile(r"\[:\w+:\]")
_WORD = re.compile(r"(?<![A-Za-z])(?:[A-Za-z][a-z]{2,19}|[A-Z]{3,20}(?=\.))(?![A-Za-z])")
"""In commands: no abbreviation in capitals, which is a variable, unless it names a file."""
_EDGE = ".,;:!?()'\"`“”‘’"


@dataclass(frozen=True, slots=True)
class Features:
    task_id: str
    success: bool
    time: float
    """Seconds since the epoch."""
    template: tuple[str, ...]
    """Content words of the description in order, values taken out."""
    core: tuple[str, ...]
    """Skeletons of the statements that work; of a read-only trace, of the step that answers."""
    names: tuple[str, ...]
    """Commands run by those steps."""
    effects: tuple[str, ...]
    """Kinds of change between the two snapshots, sorted; empty when nothing changed or nothing is known."""
    writes: bool
    steps: int
    signature: str
    words: tuple[str, ...]
    """The description's words as they are said, with those that the commands have as literals too: for names."""
    constants: tuple[str, ...] = ()
    """Plain words in the literals of the working steps, sorted: what all traces share is no value."""
    deed: Deed = NOTHING
    """What became of the files."""
    kind: str = ""
    """Repository and kind of a commit that is one of many: its history was grouped as a whole."""


def features_of(trace: ExecutionTrace) -> Features:
    """The features of a trace. Its labels play no part."""
    steps = _shapes(trace.commands)
    shapes = [s for step in steps for s in step]
    core = working(steps)
    edits = sum("edit" in step for step in trace.steps or ())
    said = redact(trace.task_description)
    return Features(
        task_id=trace.task_id,
        success=trace.success,
        time=trace.timestamp.timestamp(),
        template=template(said, literal_tokens(shapes)),
        core=(*(s.skeleton for s in core), *_edit_skeletons(trace)),
        names=tuple(n for s in core for n in s.names),
        effects=effect_kinds(trace.workspace, trace.post_workspace),
        writes=edits > 0 or any(not s.observes and not s.moves for s in shapes),
        steps=len(trace.commands) + edits,
        signature=signature(said),
        words=_words(said),
        constants=_constants(core),
        deed=deed(trace.workspace, trace.post_workspace),
        kind=_kind(trace.metadata),
    )


def _kind(metadata: Mapping[str, Any]) -> str:
    found = [metadata.get(key) for key in ("repository", "kind")] if metadata.get("source") == "git" else []
    return "/".join(map(str, found)) if all(found) else ""


def _edit_skeletons(trace: ExecutionTrace) -> list[str]:
    """What each edit does to a file of which kind, each once: an agent may make one change in several edits."""
    found = [step["edit"] for step in trace.steps or () if "edit" in step]
    return list(dict.fromkeys(f"{_edit_kind(e)} *{PurePosixPath(e['path']).suffix}" for e in found))


def _edit_kind(edit: Mapping[str, Any]) -> str:
    sides = edit.get("before") is not None, edit.get("after") is not None
    return {(True, True): "edit", (False, True): "create"}.get(sides, "delete")


def _shapes(commands: Sequence[str]) -> list[tuple[Shape, ...]]:
    out: list[tuple[Shape, ...]] = []
    for command in commands:
        out.append(shapes_of(command, any(s.moves for step in out for s in step)))
    return out


def working(steps: Sequence[Sequence[Shape]]) -> list[Shape]:
    """The statements that a task is told by: those that change something, else those of the last step, which answers."""
    changing = [s for step in steps for s in step if not s.observes and not s.moves]
    return changing or [s for step in steps[-1:] for s in step if not s.moves]


def literal_tokens(shapes: Sequence[Shape]) -> frozenset[str]:
    """Words that occur in the literals of the commands, lower-cased: in a description they are values, not the task."""
    out: set[str] = set()
    for shape in shapes:
        for literal in shape.literals:
            out.add(literal.lower())
            out.update(re.findall(r"\w+", literal.lower()))
    return frozenset(out)


def _constants(core: Sequence[Shape]) -> tuple[str, ...]:
    literals = (_CLASS.sub(" ", literal) for shape in core for literal in shape.literals)
    found = {w.lower() for literal in literals for w in _WORD.findall(literal)}
    return tuple(sorted(found)[:MOST_CONSTANTS])


def _words(description: str) -> tuple[str, ...]:
    """Words as they are said; of a file its name and ending."""
    said = (raw.strip(_EDGE).lower() for raw in _QUOTED.sub(" ", description).split())
    return tuple(part for word in said if _NAMED.fullmatch(word) for part in word.replace("-", " ").replace(".", " ").split())


def template(description: str, literals: frozenset[str]) -> tuple[str, ...]:
    """Content words of a description, plurals as singulars; quoted text, numbers, paths and the commands' literals left out."""
    out: list[str] = []
    for raw in _QUOTED.sub(" ", description).split():
        word = raw.strip(_EDGE).lower()
        if not word or word in STOPWORDS or word in literals or _VALUE.fullmatch(word) or raw.startswith("."):
            continue
        out.append(singular(word))
    return tuple(out)


def singular(word: str) -> str:
    """A crude singular: enough to make ``files`` and ``file`` one word."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
