"""Arguments of a new trace, read where those of a bound trace stand.

A bound trace is a template: with each known value as a hole, ``'course/week%02g'`` under ``prefix="course/week", width=2``
becomes ``{prefix}%0{width}g``. The same word of the new trace then says what its values are. A template that does not give every
other bound trace its own values back says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sandbox.interface import JsonValue
from verifiers.binding.edited import proposals
from verifiers.binding.provenance import format_number
from verifiers.interface import Args, Evidence
from verifiers.shell.script import parse_script

Place = tuple[str, str, int]
"""Program, slot and how many times that slot was seen before."""
_MAX_WORD, _MAX_HOLES = 300, 4
"""Longer words are contents; and matching takes time that grows with the power of the holes."""


@dataclass(frozen=True, slots=True)
class _Template:
    """A word with holes."""

    pattern: re.Pattern[str]

    def read(self, word: str) -> dict[str, str] | None:
        match = self.pattern.fullmatch(word)
        return match.groupdict() if match else None


def align(known: Mapping[str, Args], bound: Sequence[Evidence], trace: Evidence) -> Args | None:
    """Arguments for ``trace`` in the names and types that ``known`` has, or None where its commands are of another form.

    Args:
        known: Arguments of each trace in ``bound``, by task_id: strings, numbers, booleans and None; in recordings without
            commands, lists of them too. Others align nothing.
        bound: Traces whose arguments are known.
        trace: The one to read.
    """
    if not any(e.commands for e in (*bound, trace)):
        return next(proposals(known, bound, trace), None)
    words = {e.task_id: _words(e) for e in bound if e.task_id in known}
    target = _words(trace)
    found = [read for model in sorted(words) if (read := _read(known[model], words[model], known, words, target)) is not None]
    return max(found, key=found.count) if found else None


def _words(evidence: Evidence) -> dict[Place, str]:
    """The words of the commands, by place; the description is one more. What goes to a device is no part of the task."""
    seen: Counter[tuple[str, str]] = Counter()
    out: dict[Place, str] = {}
    for word in parse_script(evidence.commands).words:
        if word.slot not in ("name", "option") and len(word.text) <= _MAX_WORD and not word.text.startswith("/dev/"):
            out[word.program, word.slot, seen[word.program, word.slot]] = word.text
            seen[word.program, word.slot] += 1
    if len(evidence.description) <= _MAX_WORD:
        out["", "description", 0] = evidence.description
    return out


def _read(
    args: Args,
    model: Mapping[Place, str],
    known: Mapping[str, Args],
    words: Mapping[str, Mapping[Place, str]],
    target: Mapping[Place, str],
) -> dict[str, JsonValue] | None:
    """What the target's words are under the templates of one model; None unless every argument is read."""
    values = {name: text for name, value in args.items() if (text := _text(value)) is not None}
    if len(values) < sum(value is not None and not isinstance(value, bool) for value in args.values()):
        return None
    votes: dict[str, Counter[str]] = {name: Counter() for name in values}
    for place, word in model.items():
        template = _template(word, values)
        if template is None or place not in target or not _holds(template, place, known, words):
            continue
        for name, text in (template.read(target[place]) or {}).items():
            votes[name][text] += 1
    out: dict[str, JsonValue] = {name: value for name, value in args.items() if name not in values}
    for name, counted in votes.items():
        if not counted:
            return None
        (text, most), *others = counted.most_common(2)
        if others and others[0][1] == most:
            return None
        out[name] = _typed(text, args[name])
    return None if any(out[name] is None for name in values) else out


def _template(word: str, values: Mapping[str, str]) -> _Template | None:
    """The word with a hole for each value in it, longer values first; None where it has none."""
    taken: list[tuple[int, int, str]] = []
    for name, text in sorted(values.items(), key=lambda v: (-len(v[1]), v[0])):
        for match in re.finditer(_bounded(text), word):
            if all(match.end() <= start or end <= match.start() for start, end, _ in taken):
                taken.append((match.start(), match.end(), name))
    if not 0 < len({name for _, _, name in taken}) <= _MAX_HOLES:
        return None
    taken.sort()
    return _Template(re.compile("".join(_pieces(word, taken, values)), re.DOTALL))


def _bounded(text: str) -> str:
    """A value as a pattern that ends where its last word or number ends: the 1 of ``a10`` is none."""
    kind = r"\d" if text.isdigit() else r"[^\W_]"
    before = rf"(?<!{kind})" if re.match(r"[^\W_]", text) else ""
    after = rf"(?!{kind})" if re.match(r"[^\W_]", text[-1]) else ""
    if text.isdigit():
        return rf"{before}0*?{re.escape(text)}{after}" if text != "0" else rf"{before}0{after}"
    return before + re.escape(text) + after


def _pieces(word: str, taken: Sequence[tuple[int, int, str]], values: Mapping[str, str]) -> Iterator[str]:
    at, named = 0, set[str]()
    for start, end, name in taken:
        yield re.escape(word[at:start])
        hole = r"\d+" if values[name].isdigit() else ".+?"
        yield f"(?P={name})" if name in named else f"(?P<{name}>{hole})"
        named.add(name)
        at = end
    yield re.escape(word[at:])


def _holds(template: _Template, place: Place, known: Mapping[str, Args], words: Mapping[str, Mapping[Place, str]]) -> bool:
    """Whether every bound trace that has this place gets its own values back."""
    for task_id, own in words.items():
        if place not in own:
            continue
        read = template.read(own[place])
        if read is None or any(_typed(text, known[task_id].get(name)) != known[task_id].get(name) for name, text in read.items()):
            return False
    return True


def _text(value: JsonValue) -> str | None:
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    text = value if isinstance(value, str) else format_number(value)
    return text or None


def _typed(text: str, like: JsonValue) -> JsonValue:
    """The text as a value of another's type; None where it is none."""
    try:
        if isinstance(like, int) and not isinstance(like, bool):
            return int(text)
        return float(text) if isinstance(like, float) else text
    except ValueError:
        return None


def aligned(known: Mapping[str, Args], traces: Sequence[Evidence]) -> Mapping[str, Args] | None:
    """Arguments of every trace, the unbound ones read by ``align``; None where one of them cannot be."""
    bound = [e for e in traces if e.task_id in known]
    out = {e.task_id: known[e.task_id] if e.task_id in known else align(known, bound, e) for e in traces}
    read = {task_id: args for task_id, args in out.items() if args is not None}
    return read if len(read) == len(out) else None
