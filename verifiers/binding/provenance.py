"""Where a value comes from: the commands, the description or the base of a trace, and nothing else
(docs/semantics.md, "Bindings")."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from sandbox.interface import JsonValue, Snapshot
from verifiers.interface import Evidence
from verifiers.shell.quoting import c_decode
from verifiers.shell.script import Script, Token, parse_script, squeeze

_MAX_TEXT_BYTES = 1 << 20
"""Of one base file that is searched for values."""
_PLAIN = re.compile(r"[^\s$*?;|&<>(){}\[\]`\\/-][^\s$*?;|&<>(){}\[\]`\\/]*")
"""A word of running text: no path, option, glob, expansion or operator."""
_NUMBER = re.compile(r"(?<![\d.])-?\d+(?:\.\d+)?")


def foreign(value: JsonValue, evidence: Evidence) -> str:
    """Why a scalar value does not come from the trace ("" if it does)."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and not value.strip("*?./")):
        return ""  # flags, and names of "everything here" (".", "*", "**/*"), carry nothing of the result
    if isinstance(value, list | dict):
        raise TypeError("foreign() judges scalars")
    text = value if isinstance(value, str) else format_number(value)
    if isinstance(value, str) and is_whole_command(value, evidence):
        return f"{short(value)} is a whole command of the trace, not a value"
    if occurs(value, evidence) or (not evidence.by_commands and _part_of_writing(text, evidence)):
        return ""
    if told_later(text, evidence):
        return f"{short(value)} occurs only in what the trace printed or left behind, not in its commands, description or base"
    return f"{short(value)} does not occur in the trace's commands, description or base"


def told_later(text: str, evidence: Evidence) -> bool:
    """Whether a text stands in what the trace printed or left behind."""
    return any(text in t for t in (*evidence.outputs, *(_texts(evidence.post) if evidence.post is not None else ())))


def occurs(value: JsonValue, evidence: Evidence) -> bool:
    """Whether a scalar occurs as a word or part of a word of the commands, in the description, or in the base."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return any(math.isclose(number, value) for number in _numbers(evidence))
    if not isinstance(value, str):
        return False
    clean = _clean_path(value)
    if any(value in t or (clean and clean in t) for t in _sources(evidence)):
        return True
    if re.fullmatch(r"\d{1,15}", value):
        return any(number == int(value) for number in _numbers(evidence))
    return value.casefold() in evidence.description.casefold()


def _part_of_writing(text: str, evidence: Evidence) -> bool:
    """Whether a recording without commands has it in what it wrote, as no more than half of each file: a digest, or prose that no
    request tells (a person gave it), never the result itself."""
    if evidence.post is None:
        return False
    holders = [t for t in _texts(evidence.post) if text in t]
    return bool(holders) and all(2 * len(text) <= len(t) for t in holders)


def is_whole_command(value: str, evidence: Evidence) -> bool:
    """Whether a value of several words is a command of the trace, or holds one of three words or more."""
    text = squeeze(value)
    if " " not in text:
        return False
    if text in parse_script(evidence.commands).statements:
        return True
    return any(len(c.split()) > 2 and squeeze(c) in text for c in evidence.commands)


def format_number(value: float) -> str:
    """Decimal text: ``3``, ``0.5``; whole floats without their ``.0``."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def short(value: JsonValue) -> str:
    """A value as findings show it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _clean_path(value: str) -> str:
    return re.sub(r"^(\./)+", "", value).rstrip("/")


def _texts(snapshot: Snapshot) -> Iterator[str]:
    for path, entry in snapshot.items():
        yield path
        if entry.target:
            yield entry.target
        if entry.content and len(entry.content) <= _MAX_TEXT_BYTES:
            yield entry.content.decode("utf-8", "replace")


@lru_cache(maxsize=256)
def _cached_sources(commands: tuple[str, ...], description: str, base: Snapshot | None) -> tuple[str, ...]:
    script: Script = parse_script(commands)
    texts = dict.fromkeys(_word_variants(script))
    texts[description] = None
    if base is not None:
        texts.update(dict.fromkeys(_texts(base)))
    return tuple(texts)


def _sources(evidence: Evidence) -> tuple[str, ...]:
    return _cached_sources(evidence.commands, evidence.description, evidence.base)


def _word_variants(script: Script) -> Iterator[str]:
    for word in script.words:
        written = dict.fromkeys((word.text, *word.expanded()))
        for text in (t for w in written for t in dict.fromkeys((w, c_decode(w), w.replace("\\", ""), _filled_in(w, script)))):
            yield text
            for directory in script.directories:
                yield f"{directory}/{_clean_path(text)}"
    yield from _runs(script)


def _filled_in(text: str, script: Script) -> str:
    """A word with the variables that the commands set to a literal."""
    return re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda m: script.variables.get(m[1] or m[2], m[0]), text) if "$" in text else text


def _runs(script: Script) -> Iterator[str]:
    """Neighbouring plain words of one call as one text: ``echo hello world`` prints one. Options and operators end a run."""
    for _, words in itertools.groupby(script.words, key=lambda w: (w.step, w.call)):
        for plain, run in itertools.groupby(words, key=_is_plain):
            texts = [w.text for w in run]
            if plain and len(texts) > 1:
                yield " ".join(texts)


def _is_plain(word: Token) -> bool:
    return word.slot not in ("name", "option") and _PLAIN.fullmatch(word.text) is not None


def _numbers(evidence: Evidence) -> Iterable[float]:
    for text in _sources(evidence):
        for match in _NUMBER.finditer(text):
            yield float(match.group())
            if match.group().startswith("-"):
                # "-5" in "1-5" or "-l5" is a dash and a number.
                yield float(match.group()[1:])
