"""Guessing bindings from the evidence: by name, type and description. Behaviour may only confirm
(docs/semantics.md, "Bindings")."""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sandbox.interface import JsonValue
from verifiers.binding.argtypes import fits
from verifiers.binding.literals import LIST_SEPARATOR, Literal, Slot, slots
from verifiers.interface import Binding, Evidence, Parameter, Subject
from verifiers.shell.script import parse_script

_SLOTS_PER_PARAMETER = 8
_MAX_COMBINATIONS = 20_000
_MAX_GUESSES = 24
_NAMED_POINTS = 3.0
"""A pattern that a trace does not name with at least so many points is taken as ``*``: everything."""

_ROLES: Mapping[str, frozenset[str]] = {
    "ext": frozenset({"ext", "extension", "extensions", "suffix", "filetype"}),
    "file": frozenset({"file", "infile", "filename", "path", "outfile", "archive"}),
    "dir": frozenset({"dir", "directory", "folder", "root", "base", "tree", "dirname", "workdir"}),
    "pattern": frozenset({"glob", "pattern", "wildcard", "mask"}),
    "mode": frozenset({"mode", "octal", "permission", "permissions", "perms", "chmod"}),
    "delim": frozenset({"delim", "delimiter", "separator", "sep"}),
    "text": frozenset({"line", "text", "title", "message", "content", "header", "comment"}),
    "prefix": frozenset({"prefix"}),
}
_HINT_POINTS: Mapping[str, float] = {
    "whole": 0.8, "middle": 0.8, "padded": -0.4, "ext": 0.2, "old": 0.5, "new": 0.5, "description": -1.0, "described": -2.0,
    "base": -2.0,
}  # fmt: skip
_WHOLE = ("whole", "padded")
_FIRST = frozenset({"old", "src", "source", "from", "in", "infile", "input", "search", "find", "before", "original", "pattern"})
_SECOND = frozenset(
    {"new", "dest", "dst", "destination", "to", "out", "outfile", "output", "replace", "replacement", "after", "link"}
)


@dataclass(frozen=True, slots=True)
class Guess:
    """One set of bindings for all traces."""

    bindings: Mapping[str, Binding]
    """By task_id; every one has ``inferred=True``."""
    supported: bool
    """Names, types and descriptions speak for it. An unsupported one that fits by its effects is a finding, not a binding."""
    why: str
    """Where each value was taken from."""
    points: float


def infer_bindings(subject: Subject, evidence: Sequence[Evidence]) -> Iterator[Guess]:
    """Yields sets of bindings, best supported first; nothing if some required parameter finds no literal at all."""
    traces = [t for t in evidence if t.success] or list(evidence)
    if not traces:
        return
    wanted = [p for p in subject.parameters if p.required and p.annotation != "bool"]
    flags = {p.name: _flag(p, traces) for p in subject.parameters if p.required and p.annotation == "bool"}
    places = slots(traces)
    # All combinations are looked at, so many parameters get fewer places each.
    share = min(_SLOTS_PER_PARAMETER, max(2, int(_MAX_COMBINATIONS ** (1 / max(1, len(wanted))))))
    ranked = [_rank(p, places, traces)[:share] for p in wanted]
    if not all(ranked):
        return
    for points, supported, picked in _combinations(wanted, ranked):
        chosen = dict(zip([p.name for p in wanted], picked, strict=True))
        bindings = {t.task_id: Binding(t.task_id, {**_values(wanted, chosen, t), **flags}, inferred=True) for t in traces}
        if all(len(b.args) == len(wanted) + len(flags) for b in bindings.values()):
            yield Guess(bindings, supported, _why(chosen), round(points, 3))


# ---------------------------------------------------------------- one parameter


def _rank(parameter: Parameter, places: Sequence[Slot], traces: Sequence[Evidence]) -> list[tuple[float, Slot]]:
    bases = {t.task_id: t for t in traces}
    rated = [(_points(parameter, place, bases), -n, place) for n, place in enumerate(places)]
    best = heapq.nlargest(_SLOTS_PER_PARAMETER, (r for r in rated if r[0] > -50.0), key=lambda r: r[:2])
    return [(points, place) for points, _, place in best]


def _points(parameter: Parameter, place: Slot, traces: Mapping[str, Evidence]) -> float:
    if (place.literals[0].hint == "list") != _is_list(parameter):
        return -100.0
    values = [_convert(v, parameter) for v in place.values.values()]
    if any(v is None or not fits(parameter.annotation, v) for v in values):
        return -100.0
    missing = len(traces) - len(place.values)
    total = max(_literal_points(parameter, literal, place) for literal in place.literals)
    total += 1.5 if place.varies else -1.5 if len(traces) > 2 else 0.0
    total -= 6.0 * missing / len(traces)
    # Parameters are often called after the value that one of the traces had.
    named = any(v.strip("./").lower() == parameter.name.lower() for v in place.values.values())
    total += 2.0 if named and any(g.hint in (*_WHOLE, "path") for g in place.literals) else 0.0
    total += sum(_base_points(parameter, place.values[t], traces[t]) for t in place.values) / len(place.values)
    total += sum(_mention_points(parameter, place.values[t], traces[t]) for t in place.values) / len(place.values)
    return total


def _convert(text: str, parameter: Parameter) -> JsonValue:
    wants = set(re.findall(r"\w+", parameter.annotation))
    if _is_list(parameter):
        return list(text.split(LIST_SEPARATOR))
    if "str" in wants or not wants & {"int", "float"}:
        return text
    if "int" in wants:
        return int(text) if re.fullmatch(r"-?\d{1,15}", text) else None
    return float(text) if re.fullmatch(r"-?\d{1,15}(\.\d+)?", text) else None


def _is_list(parameter: Parameter) -> bool:
    return bool(set(re.findall(r"\w+", parameter.annotation)) & {"list", "List", "Sequence", "tuple"})


def _tokens(parameter: Parameter) -> set[str]:
    return set(re.findall(r"[a-z]+", parameter.name.lower()))


def _roles(parameter: Parameter) -> dict[str, float]:
    names, described = _tokens(parameter), set(re.findall(r"[a-z]+", parameter.description.lower()))
    by_name = {role: 1.0 for role, words in _ROLES.items() if names & words}
    return by_name or {role: 0.6 for role, words in _ROLES.items() if described & words}


def _literal_points(parameter: Parameter, literal: Literal, place: Slot) -> float:
    value = literal.value
    total = _HINT_POINTS.get(literal.hint, 0.0)
    total -= 2.0 if literal.key[1] == "-exec" else 0.0  # a program's name
    total -= 2.0 if "{" in value or "}" in value else 0.0
    total += 2.0 if literal.hint == "width" and "width" in _tokens(parameter) | set(parameter.description.split()) else 0.0
    total -= 4.0 if "$" in value or value.startswith("-") or (len(value) > 1 and not re.search(r"\w", value)) else 0.0
    total -= 3.0 if value in ("{}", ";", "+", ".", "") else 0.0
    names = _tokens(parameter)
    option = literal.key[1].lstrip("-").lower()
    if literal.key[1].startswith("-") and option:
        total += 2.0 if option in names else 1.0 if any(n.startswith(option) for n in names) else 0.0
    if literal.hint in ("old", "new"):
        total += 2.5 if names & (_FIRST if literal.hint == "old" else _SECOND) else 0.0
    for kind, name in (("d", "dir"), ("f", "file")):
        if any(n.startswith(name) for n in names) and "-type" in literal.near:
            total += 1.5 if literal.near.rpartition("-type ")[2].startswith(kind) else -1.0
    values = list(place.values.values())
    return total + sum(weight * _role_points(role, literal, values) for role, weight in _roles(parameter).items())


def _role_points(role: str, literal: Literal, values: Sequence[str]) -> float:
    def share(pattern: str) -> float:
        return sum(re.fullmatch(pattern, v, re.DOTALL) is not None for v in values) / len(values)

    match role:
        case "ext":
            return 3.0 * share(r"\.?[\w+~-]{1,12}") - 2.0 + (2.0 if literal.before == "." or literal.hint == "ext" else 0.0)
        case "file":
            return (1.0 if literal.hint in (*_WHOLE, "path") else -1.0) - 3.0 * share(r".*[*?|;].*") + share(r"\S*[^/]\.\w+")
        case "dir":
            return (1.0 if literal.hint in (*_WHOLE, "path", "middle") else -0.5) - 3.0 * share(r".*[*?|;].*")
        case "pattern":
            return 3.0 * share(r".*[*?\[].*") + (1.5 if literal.key[1] in ("-name", "-iname", "-path", "--include") else 0.0)
        case "mode":
            return 6.0 * share(r"[0-7]{3,4}|[ugoa]*[-+=][rwxXst]+") - 3.0
        case "delim":
            return 5.0 * share(r"\W{1,2}") - 2.0
        case "text":
            written = literal.key[0] in ("echo", "printf", "sed", "grep")
            return share(r".*\S\s.*") + (1.5 if written and literal.hint != "number" else 0.0)
        case "prefix":
            ends = literal.after in ("{", "%", "$") or literal.before == "^"
            return 1.5 * share(r".*[_.-]|\w+") + (1.5 if ends else 0.0) - 2.0 * share(r"\w+\.\w{1,5}")
    return 0.0


def _base_points(parameter: Parameter, value: str, trace: Evidence) -> float:
    names, roles = _tokens(parameter), _roles(parameter)
    if trace.base is None or not ({"file", "dir"} & roles.keys() or names & (_FIRST | _SECOND)):
        return 0.0
    entry = trace.base.get(value)
    if entry is None:
        return 1.0 if names & _SECOND else -1.0
    if names & _SECOND:
        return -1.0
    return 2.0 if not roles or entry.type in roles else 0.5


def _mention_points(parameter: Parameter, value: str, trace: Evidence) -> float:
    """How near the description has the parameter's name and the value: ``prefix "x_"``, ``directories 755``."""
    at = trace.description.find(value)
    if at < 0 or not value.strip():
        return 0.0
    before = re.findall(r"\w+", trace.description[:at].lower())[-4:]
    for distance, word in enumerate(reversed(before)):
        if any(len(n) > 2 and (word.startswith(n) or (len(word) > 3 and n.startswith(word))) for n in _tokens(parameter)):
            return 2.0 - 0.5 * distance
    after = re.findall(r"\w+", trace.description[at + len(value) :].lower())[:1]
    return 1.0 if after and any(len(n) > 2 and after[0].startswith(n) for n in _tokens(parameter)) else 0.2


def _flag(parameter: Parameter, traces: Sequence[Evidence]) -> bool:
    letter = parameter.name[:1]
    pattern = rf"-[A-Za-z]*[{letter}{letter.upper()}][A-Za-z]*|--{re.escape(parameter.name)}"
    options = (w.text for t in traces for w in parse_script(t.commands).words if w.slot == "option")
    return any(re.fullmatch(pattern, option) for option in options)


# ---------------------------------------------------------------- all parameters


def _combinations(
    wanted: Sequence[Parameter], ranked: Sequence[Sequence[tuple[float, Slot]]]
) -> Iterator[tuple[float, bool, tuple[Slot, ...]]]:
    """The best ways to give each parameter its own place, as (points, supported, places), supported ones first."""
    rows: list[tuple[bool, float, int, tuple[Slot, ...]]] = []
    for n, row in enumerate(itertools.islice(itertools.product(*ranked), _MAX_COMBINATIONS)):
        picked = tuple(slot for _, slot in row)
        if len({id(slot) for slot in picked}) < len(picked):
            continue
        order, ok = _order(wanted, picked)
        supported = ok and all(points > 0.0 for points, _ in row)
        rows.append((not supported, -(sum(p for p, _ in row) + order), n, picked))
    for unsupported, points, _, picked in heapq.nsmallest(_MAX_GUESSES, rows, key=lambda r: r[:3]):
        yield -points, not unsupported, picked


def _order(wanted: Sequence[Parameter], picked: Sequence[Slot]) -> tuple[float, bool]:
    """Points for the order of places, and whether no ``old``-like parameter comes after its ``new``-like one."""
    total, ok = 0.0, True
    pairs = itertools.combinations(zip(wanted, picked, strict=True), 2)
    for (a, place_a), (b, place_b) in pairs:
        first, second = place_a.literals[0].position, place_b.literals[0].position
        total += 0.3 if first <= second else -0.3
        forwards = bool(_tokens(a) & _FIRST and _tokens(b) & _SECOND)
        backwards = bool(_tokens(a) & _SECOND and _tokens(b) & _FIRST)
        total -= 3.0 if _overlap(place_a.literals[0], place_b.literals[0]) else 0.0
        if (forwards and second < first) or (backwards and first < second):
            total, ok = total - 4.0, False
    return total, ok


def _overlap(a: Literal, b: Literal) -> bool:
    return a.key[:3] == b.key[:3] and (a.value in b.value or b.value in a.value)


def _values(wanted: Sequence[Parameter], chosen: Mapping[str, Slot], trace: Evidence) -> dict[str, JsonValue]:
    """A trace's arguments; a place that this trace does not have is looked for in this trace alone."""
    out: dict[str, JsonValue] = {}
    taken = {s.values[trace.task_id] for s in chosen.values() if trace.task_id in s.values}
    for parameter in wanted:
        text = chosen[parameter.name].values.get(trace.task_id)
        if text is None:
            floor = _NAMED_POINTS if "pattern" in _roles(parameter) else -50.0
            alone = [s for points, s in _rank(parameter, slots([trace]), [trace]) if points > floor]
            text = next((s.values[trace.task_id] for s in alone if s.values[trace.task_id] not in taken), None)
            text = "*" if text is None and "pattern" in _roles(parameter) else text
        if text is not None:
            taken.add(text)
            out[parameter.name] = _convert(text, parameter)
    return out


def _why(chosen: Mapping[str, Slot]) -> str:
    return "; ".join(f"{name} from {_place(slot.literals[0])}" for name, slot in chosen.items())


def _place(literal: Literal) -> str:
    program, slot, _, kind = literal.key
    if slot == "description":
        return "the description"
    if slot == "base":
        return "the base"
    if slot == "all":
        return f"all arguments of {program or 'the shell'}"
    where = f"argument {slot.lstrip('#') or '0'}"
    if not slot.startswith("#"):
        where = f"option {slot}" if slot.startswith("-") else "a redirection"
    part = "" if kind == "whole" else f" ({kind.replace('-', ' ')})"
    return f"{program or 'the shell'} {where}{part}"
