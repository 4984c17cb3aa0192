"""What a returned value claims: an answer (docs/semantics.md, "The answer"), and success or failure
(docs/semantics.md, "Success and failure")."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from sandbox.interface import JsonValue, NoReturn, Outcome, Raised, Returned

ANSWER_KEYS = ("output", "answer", "value", "result", "stdout")


def answer_path(value: JsonValue) -> str | None:
    """Where a returned value holds its answer: a key, ``$`` for the whole value, None where it claims none."""
    if isinstance(value, dict):
        return next((k for k in ANSWER_KEYS if k in value and answer_text(value[k]) is not None), None)
    return "$" if answer_text(value) is not None else None


def answer_at(value: JsonValue, path: str) -> str | None:
    """The text of the answer at ``path`` (as ``answer_path`` gives it); None where there is none."""
    if path == "$":
        return answer_text(value)
    return answer_text(value.get(path)) if isinstance(value, dict) else None


def answer_text(value: JsonValue) -> str | None:
    """A string as it is, a number as its decimal text, a list of strings as lines. Nothing else is an answer."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return "\n".join(str(v) for v in value)
    return None


def same_answer(expected: str, observed: str, *, ordered: bool = True) -> bool:
    """Equal after stripping; without order, equal as multisets of lines."""
    a, b = expected.strip(), observed.strip()
    return a == b or (not ordered and sorted(a.splitlines()) == sorted(b.splitlines()))


ALIKE = 0.6
MOST_COMPARED = 2000
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def resembles(expected: str, observed: str) -> bool:
    """Whether a text may be meant as this answer: it has a line of it, is a number as it is one, or is mostly the same."""
    a, b = (text.strip()[:MOST_COMPARED] for text in (expected, observed))
    lines = {line.strip() for line in a.splitlines()} & {line.strip() for line in b.splitlines()} - {""}
    numbers = bool(_NUMBER.fullmatch(a) and _NUMBER.fullmatch(b))
    return a == b or bool(lines) or numbers or SequenceMatcher(None, a, b, autojunk=False).ratio() >= ALIKE


BLUNDERS = frozenset({"TypeError", "AttributeError", "NameError", "UnboundLocalError", "ZeroDivisionError", "RecursionError"})
"""What only a mistake raises where no ``raise`` of the skill's own does: it says nothing about what the skill was given."""
RAISES = re.compile(r"line \d+: raise\b")
PATTERN_ERRORS = frozenset({"error", "PatternError"})


def refuses(outcome: Outcome | None) -> bool:
    """Whether an outcome says no: it reports failure, and not by stumbling."""
    if isinstance(outcome, Raised):
        pattern = outcome.type in PATTERN_ERRORS and " at position " in outcome.message
        return bool(RAISES.match(outcome.traceback.rpartition("\n")[2])) or not (pattern or outcome.type in BLUNDERS)
    return failure(outcome) is not None


def failure(outcome: Outcome | None) -> str | None:
    """Why an outcome reports failure, in a few words; None when it claims success."""
    if isinstance(outcome, Raised):
        return f"raised {outcome.type}: {outcome.message}"
    if isinstance(outcome, NoReturn):
        return outcome.why
    if isinstance(outcome, Returned) and isinstance(outcome.value, dict):
        v = outcome.value
        if v.get("ok") is False or v.get("success") is False or v.get("status") == "error":
            return "reported failure in its value"
        if v.get("error"):
            return f"reported an error: {v['error']}"
    return None
