"""Bindings: reading them, and the rule (docs/semantics.md, "Bindings") that every value comes from the trace, never from its
result.

A value occurs as a word or part of a word in that trace's commands, or in its description or base. Otherwise a binding
could carry the answer, or a whole script, into a skill that does nothing by itself. A word that the skill's own statements hold
(``"theirs"``, one of two sides) only chooses, as a flag does, unless it stands in what the trace printed or left behind.

Of a recording without commands what nothing else tells (a digest, prose) may also be a part of what was written, at most half of
each file.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from sandbox.interface import JsonValue
from verifiers.binding.argtypes import fits
from verifiers.binding.inference import Guess, infer_bindings
from verifiers.binding.provenance import foreign, is_whole_command, occurs, short, told_later
from verifiers.interface import Args, Binding, BindingError, Evidence, Finding, Parameter, Subject
from verifiers.worlds.constants import texts

__all__ = [
    "Guess", "bindings_from_json", "bindings_to_json", "foreign", "infer_bindings", "is_whole_command", "load_bindings", "occurs",
    "renamed", "validate_binding",
]  # fmt: skip


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
            message = f"argument {name} is {_kind(value)} ({short(value)}), the parameter wants {parameter.annotation}"
            found.append(_finding(subject, evidence.task_id, message, parameter))
        elif not (not parameter.required and value == parameter.default and isinstance(value, type(parameter.default))):
            why = [w for leaf in _leaves(value) if not _chooses(leaf, subject, evidence) and (w := foreign(leaf, evidence))]
            found.extend(_finding(subject, evidence.task_id, f"argument {name}: {w}", parameter) for w in why[:1])
    return found


def _chooses(value: JsonValue, subject: Subject, evidence: Evidence) -> bool:
    """Whether a value is a word of the skill's own statements, and no part of what the trace made."""
    return value in _choices(subject.source) and not told_later(str(value), evidence)


@lru_cache(maxsize=16)
def _choices(source: str) -> frozenset[JsonValue]:
    return frozenset(t for t in texts(source) if re.fullmatch(r"[^\W\d][\w-]*", t))


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
