"""Bindings: reading them, and the rule of SEMANTICS §5 that every value comes from the trace, never from its result.

A value occurs as a word or part of a word in that trace's commands, or in its description or base. Otherwise a binding
could carry the answer, or a whole script, into a skill that does nothing by itself.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from sandbox.interface import JsonValue, Snapshot
from verifiers.argtypes import fits
from verifiers.inference import Guess, infer_bindings
from verifiers.interface import Args, Binding, BindingError, Evidence, Finding, Parameter, Subject
from verifiers.words import Script, c_decode, expand_braces, parse_script, squeeze

__all__ = [
    "Guess", "bindings_from_json", "bindings_to_json", "foreign", "infer_bindings", "is_whole_command", "load_bindings", "occurs",
    "renamed", "validate_binding",
]  # fmt: skip

_MAX_TEXT_BYTES = 1 << 20
"""Of one base file that is searched for values."""
_NUMBER = re.compile(r"(?<![\d.])-?\d+(?:\.\d+)?")


# ---------------------------------------------------------------- reading


def load_bindings(path: str | Path) -> dict[str, Binding]:
    """Returns the bindings of a ``bindings.json`` (``{"<task_id>": {"args": {...}}}``) by task_id.

    Raises:
        BindingError: the file cannot be read, is not JSON, or is not of that form; says where.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as e:
        advice = "Give the file with --bindings, or leave it out to infer them."
        raise BindingError(f"cannot be read ({e.strerror or e})", advice, file) from e
    except UnicodeDecodeError as e:
        raise BindingError(f"is not UTF-8 text (byte {e.start})", where=file) from e
    try:
        data = json.loads(text)
    except json.JSONDecodeError as e:
        raise BindingError(f"is not JSON: {e.msg}", where=f"{file}:{e.lineno}:{e.colno}") from e
    except RecursionError as e:
        raise BindingError("is nested too deeply", where=file) from e
    return bindings_from_json(data, str(file))


def bindings_from_json(data: object, where: str = "bindings") -> dict[str, Binding]:
    """Returns the bindings of a parsed file. Raises BindingError naming the task and what is wrong with it."""
    if not isinstance(data, dict):
        raise BindingError(f"expected an object of task_ids, got {_kind(data)}", 'Write {"<task_id>": {"args": {...}}}.', where)
    out: dict[str, Binding] = {}
    for task_id, row in data.items():
        at = f"{where}: {task_id!r}"
        if not isinstance(row, dict):
            raise BindingError(f"expected an object with args, got {_kind(row)}", 'Write {"args": {...}}.', at)
        if unknown := sorted(row.keys() - {"args", "inferred"}):
            raise BindingError(f"unknown key {unknown[0]!r}", 'A binding has one key, "args".', at)
        args = row.get("args")
        if not isinstance(args, dict):
            raise BindingError(f"args is {_kind(args)}, not an object", "Map each parameter's name to its value.", at)
        if bad := [name for name, value in args.items() if not _finite(value)]:
            raise BindingError(f"the value of {bad[0]!r} is not a finite number", where=at)
        out[str(task_id)] = Binding(str(task_id), args, inferred=row.get("inferred") is True)
    return out


def bindings_to_json(bindings: Mapping[str, Binding]) -> dict[str, dict[str, JsonValue]]:
    """The form that ``load_bindings`` reads, in task_id order."""
    return {task: {"args": dict(bindings[task].args)} for task in sorted(bindings)}


def _finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_finite(v) for v in value.values())
    return all(_finite(v) for v in value) if isinstance(value, list) else True


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean"}
    return names.get(type(value), type(value).__name__)


# ---------------------------------------------------------------- judging


def validate_binding(subject: Subject, evidence: Evidence, binding: Binding) -> list[Finding]:
    """Every way in which a binding breaks the rules; empty if it keeps them."""
    known = {p.name: p for p in subject.parameters}
    found = list(_name_findings(subject, evidence.task_id, binding.args))
    for name, value in binding.args.items():
        parameter = known.get(name)
        if parameter is None:
            continue
        if not fits(parameter.annotation, value) and not (value is None and not parameter.required and parameter.default is None):
            message = f"argument {name} is {_kind(value)} ({_short(value)}), the parameter wants {parameter.annotation}"
            found.append(_finding(subject, evidence.task_id, message, parameter))
        elif not (not parameter.required and value == parameter.default and isinstance(value, type(parameter.default))):
            why = [w for leaf in _leaves(value) if (w := foreign(leaf, evidence))]
            found.extend(_finding(subject, evidence.task_id, f"argument {name}: {w}", parameter) for w in why[:1])
    return found


def foreign(value: JsonValue, evidence: Evidence) -> str:
    """Why a scalar value does not come from the trace ("" if it does)."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and not value.strip("*?./")):
        return ""  # flags, and names of "everything here" (".", "*", "**/*"), carry nothing of the result
    if isinstance(value, list | dict):
        raise TypeError("foreign() judges scalars")
    text = value if isinstance(value, str) else format_number(value)
    if isinstance(value, str) and is_whole_command(value, evidence):
        return f"{_short(value)} is a whole command of the trace, not a value"
    if occurs(value, evidence):
        return ""
    later = [*evidence.outputs, *(_texts(evidence.post) if evidence.post is not None else ())]
    if any(text in t for t in later):
        return f"{_short(value)} occurs only in what the trace printed or left behind, not in its commands, description or base"
    return f"{_short(value)} does not occur in the trace's commands, description or base"


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


def _name_findings(subject: Subject, task_id: str, args: Args) -> Iterator[Finding]:
    known = {p.name: p for p in subject.parameters}
    unknown = [name for name in args if name not in known]
    missing = [p for p in subject.parameters if p.required and p.name not in args]
    for old, parameter in renamed(unknown, missing):
        message = f"the binding names {old}, the skill calls it {parameter.name}: rename it in bindings.json or in the skill"
        yield _finding(subject, task_id, message, parameter)
        unknown.remove(old)
        missing.remove(parameter)
    for name in unknown:
        has = ", ".join(known) or "none"
        yield _finding(subject, task_id, f"the skill has no parameter {name} (it has: {has})", None)
    for parameter in missing:
        yield _finding(subject, task_id, f"required parameter {parameter.name} has no value", parameter)


def renamed(unknown: Sequence[str], missing: Sequence[Parameter]) -> list[tuple[str, Parameter]]:
    """Pairs (name in the binding, parameter of the skill) that look like one parameter under two names, best pairs first."""
    if len(unknown) == 1 and len(missing) == 1:
        return [(unknown[0], missing[0])]
    pairs = sorted(((_likeness(u, m.name), u, m) for u in unknown for m in missing), key=lambda t: (-t[0], t[1], t[2].name))
    out: list[tuple[str, Parameter]] = []
    for likeness, old, parameter in pairs:
        if likeness > 0.5 and all(old != o and parameter.name != p.name for o, p in out):
            out.append((old, parameter))
    return out


def _likeness(a: str, b: str) -> float:
    shared = set(a.lower().split("_")) & set(b.lower().split("_"))
    return difflib.SequenceMatcher(None, a, b).ratio() + (0.3 if shared else 0.0)


def _finding(subject: Subject, task_id: str, message: str, parameter: Parameter | None) -> Finding:
    return Finding(f"trace {task_id}: {message}", subject.path, parameter.line if parameter else 1, rule="bindings")


def _short(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _leaves(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _leaves(item)
    else:
        yield value


# ---------------------------------------------------------------- where values may come from


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
        for text in dict.fromkeys((word.text, c_decode(word.text), word.text.replace("\\", ""))):
            yield text
            if "{" in text:
                yield from expand_braces(text)
            for directory in script.directories:
                yield f"{directory}/{_clean_path(text)}"


def _numbers(evidence: Evidence) -> Iterable[float]:
    for text in _sources(evidence):
        for match in _NUMBER.finditer(text):
            yield float(match.group())
            if match.group().startswith("-"):
                # "-5" in "1-5" or "-l5" is a dash and a number.
                yield float(match.group()[1:])
