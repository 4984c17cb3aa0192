"""Open questions and decisions, in the words that all formats share."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.interface import Entry
from sandbox.snapshot import ROOT
from verifiers.formats.text import clip, one_line, plural
from verifiers.interface import Behaviour, Question, Report

ANSWERS = (
    ("--commands", "what the commands did is right"),
    ("--skill", "what the skill did is right"),
    ("--neither TEXT", "neither is; TEXT says what would be"),
    ("--invalid", "no such start is to be expected"),
)
"""What can be said to a question, and what it means."""
RULE = "question"
"""Where a format wants the name of a rule."""
_MAX_PATHS = 8
_MAX_CONTENT = 80


def case_line(question: Question) -> str:
    """``like trace rename-03 with {"old": "txt"}``."""
    case = question.case
    return f"like trace {case.task_id}" + (f" with {one_line(dict(case.args))}" if case.args else "")


def start(question: Question) -> list[str]:
    """The workspace that the case begins with, a path a line."""
    base = question.case.base
    lines = [_path(path, entry) for path, entry in base.items() if path != ROOT]
    if len(lines) > _MAX_PATHS:
        lines = [*lines[:_MAX_PATHS], f"and {plural(len(lines) - _MAX_PATHS, 'more path')}"]
    return lines or ["an empty directory"]


def did(behaviour: Behaviour) -> list[str]:
    """What one side did, a fact a line."""
    lines = list(behaviour.diff) or ["nothing changed"]
    if behaviour.failure:
        lines.insert(0, f"reports failure: {behaviour.failure}")
    if behaviour.answer is not None:
        lines.append(f"answers {one_line(behaviour.answer)}")
    return lines


def details(question: Question) -> list[str]:
    """Everything besides the message, a fact a line."""
    lines = [f"breaks: {question.invariant}", f"case: {case_line(question)}"]
    for name, part in (("start", start(question)), ("commands", did(question.commands)), ("skill", did(question.skill))):
        lines += [f"{name}: {line}" for line in part]
    return [*lines, *(f"answer: {command}  ({meaning})" for command, meaning in commands(question))]


def commands(question: Question) -> Iterator[tuple[str, str]]:
    """The commands that answer, with what each means."""
    yield from ((f"{question.answer or 'assay answer'} {option}", meaning) for option, meaning in ANSWERS)


def count_line(report: Report) -> str:
    """``2 open questions, 1 decision``; "" where there are neither."""
    counts = ((len(report.questions), "open question"), (len(report.decisions), "decision"))
    return ", ".join(plural(n, noun) for n, noun in counts if n)


def _path(path: str, entry: Entry) -> str:
    if entry.type == "symlink":
        return f"{path} -> {entry.target}"
    if entry.type != "file":
        return f"{path} ({entry.type})"
    text = entry.content[: 4 * _MAX_CONTENT].decode("utf-8", "backslashreplace")
    return f"{path}: {clip(one_line(text), _MAX_CONTENT)}" if text else f"{path} (empty)"
