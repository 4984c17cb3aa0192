"""The literals of a trace, each with its place, so that one place can be followed through several traces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from verifiers.interface import Evidence
from verifiers.shell.script import Token, parse_script

Key = tuple[str, str, int, str]
"""Program, slot, how many times that slot was seen before, part of the word."""

LIST_SEPARATOR = "\0"
"""Between the items of a list; no shell word can hold it."""
_TOKEN = re.compile(r"[^/'\"*?$(){}\[\];|&<>=,:^%\\\n]+")
_SMALL_TOKEN = re.compile(r"[^\s/'\"*?$(){}\[\];|&<>=,:^%\\]+")
_EXTENSION = re.compile(r"\.([^\W_][\w+~-]{0,15})(?![\w.])")
_SUBSTITUTION = re.compile(r"(?:^|;\s*|\d)s([/|#,@!])((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1[a-zA-Z0-9]*\s*(?:$|;)")
_DESCRIBED = re.compile(r"\"[^\"\n]{1,60}\"|'[^'\n]{1,60}'|[^\s\"']{1,60}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_FORMAT_WIDTH = re.compile(r"%0?(\d+)[dgsxu]")
_QUOTED = re.compile(r"\"([^\"\n]+)\"|'([^'\n]+)'|`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Literal:
    """One piece of text of one trace."""

    value: str
    key: Key
    position: float
    """Order in the trace; what stands in the commands comes before what only the description has."""
    before: str = ""
    """The character before it in its word."""
    after: str = ""
    hint: str = ""
    """What is known from the grammar: ``ext``, ``number``, ``old``, ``new``, ``whole``, ``path``, ``token``, ``width``,
    ``middle`` (what varies of a word), ``padded`` (a word that has a middle), ``description``, ``described``, ``base``,
    ``list``."""
    near: str = ""
    """Earlier words of the same command, for ``-type d`` and the like."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One place followed through the traces: its value in each, by task_id."""

    values: Mapping[str, str]
    literals: tuple[Literal, ...]
    """One per trace that has the place, in task order; alternatives of the same values are merged."""

    @property
    def varies(self) -> bool:
        return len(set(self.values.values())) > 1


def slots(evidence: Sequence[Evidence]) -> list[Slot]:
    """Returns the places of the traces, in order of position; places with equal values everywhere are one."""
    by_key: dict[Key, dict[str, Literal]] = {}
    for trace in evidence:
        for literal in literals(trace):
            by_key.setdefault(literal.key, {}).setdefault(trace.task_id, literal)
    for key, found in list(by_key.items()):
        if key[3] == "whole" and len(found) > 1 and (middles := _middles(found)):
            by_key[(*key[:3], "middle")] = middles
            by_key[key] = {task: replace(literal, hint="padded") for task, literal in found.items()}
    merged: dict[tuple[bool, tuple[tuple[str, str], ...]], list[Literal]] = {}
    for key, found in by_key.items():
        same = (key[3] == "list", tuple((t, found[t].value) for t in sorted(found)))
        merged.setdefault(same, []).extend(found[t] for t in sorted(found))
    out = [Slot(dict(values), tuple(sorted(group, key=lambda g: g.position))) for (_, values), group in merged.items()]
    return sorted(out, key=lambda s: s.literals[0].position)


def literals(evidence: Evidence) -> Iterator[Literal]:
    """Every literal of one trace: words and their parts, quoted text and numbers of the description, the base's only entry."""
    seen: Counter[tuple[str, str]] = Counter()
    near: dict[int, list[str]] = {}
    words = parse_script(evidence.commands).words
    yield from _lists(words)
    for order, word in enumerate(words):
        if word.slot in ("name", "option"):
            near.setdefault(word.step, []).append(word.text)
            continue
        place = (word.program, word.slot)
        context = " ".join(near.get(word.step, [])[-6:])
        for literal in _parts(word, (*place, seen[place]), float(order)):
            yield replace(literal, near=context)
        seen[place] += 1
        near.setdefault(word.step, []).append(word.text)
    yield from _described(evidence.description)
    tops = [p for p in evidence.base or () if "/" not in p and p != "."]
    if len(tops) == 1:
        yield Literal(tops[0], ("", "base", 0, "only"), 2e6, hint="base")


def _described(text: str) -> Iterator[Literal]:
    """Quoted text, numbers and words of a description, by their number: descriptions of one task often share a form."""
    for n, match in _counted(_QUOTED, text):
        quoted = next(g for g in match.groups() if g)
        yield Literal(quoted, ("", "description", 0, f"quoted{n}"), 1e6 + match.start(), hint="description")
    for n, match in _counted(_NUMBER, text):
        yield Literal(match.group(), ("", "description", 0, f"number{n}"), 1e6 + match.start(), hint="number")
    for n, match in _counted(_DESCRIBED, text):
        word = match.group().strip("\"'`").rstrip(".,;:!?").rstrip("/")
        if word:
            yield Literal(word, ("", "description", 0, f"word{n}"), 1e6 + match.start(), hint="described")


def _lists(words: Sequence[Token]) -> Iterator[Literal]:
    """The arguments of each call as one list."""
    calls: dict[tuple[int, int], list[tuple[int, Token]]] = {}
    for order, word in enumerate(words):
        if word.call >= 0 and word.slot not in ("name", "option"):
            calls.setdefault((word.step, word.call), []).append((order, word))
    seen: Counter[str] = Counter()
    for group in calls.values():
        program = group[0][1].program
        value = LIST_SEPARATOR.join(word.text for _, word in group)
        yield Literal(value, (program, "all", seen[program], "list"), float(group[0][0]), hint="list")
        seen[program] += 1


def _parts(word: Token, place: tuple[str, str, int], order: float) -> Iterator[Literal]:
    text = word.text

    def part(kind: str, value: str, start: int, hint: str) -> Literal:
        before = text[start - 1 : start] if start else ""
        end = start + len(value)
        return Literal(value, (*place, kind), order + start / (len(text) + 1), before, text[end : end + 1], hint)

    clean = text if "*" in text else re.sub(r"^(\./)+", "", text).rstrip("/") or text
    yield part("whole", clean, text.find(clean), "whole")
    for match in _SUBSTITUTION.finditer(text):
        for n, hint in ((2, "old"), (3, "new")):
            raw = match.group(n)
            yield part(f"sed-{hint}", raw, match.start(n), hint)
            anchored = raw.removeprefix("^").removesuffix("$")
            if anchored != raw:
                yield part(f"sed-{hint}-free", anchored, match.start(n) + raw.find(anchored), hint)
    for count, match in _counted(_EXTENSION, text):
        yield part(f"ext{count}", match.group(1), match.start(1), "ext")
    if "/" in clean and " " not in clean.replace("\\ ", ""):
        head, _, tail = clean.rpartition("/")
        yield part("head", head, text.find(head), "path")
        yield part("tail", tail, text.rfind(tail), "path")
    for name, pattern in (("token", _TOKEN), ("small", _SMALL_TOKEN)):
        for count, match in _counted(pattern, text):
            value = match.group().strip()
            if value and value != clean:
                yield part(f"{name}{count}", value, match.start() + match.group().find(value), "token")
    for count, match in _counted(_NUMBER, text):
        yield part(f"number{count}", match.group(), match.start(), "number")
    for count, match in _counted(_FORMAT_WIDTH, text):
        yield part(f"width{count}", match.group(1), match.start(1), "width")


def _counted(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Matches, each once as the n-th and once as the n-th from the end: words of different length align at one of the two."""
    found = list(pattern.finditer(text))
    for n, match in enumerate(found):
        yield f" {n + 1}", match
        yield f" {n - len(found)}", match


def _middles(found: Mapping[str, Literal]) -> dict[str, Literal]:
    """What is left of aligned words without what they share at both ends; cut at word boundaries. Empty if nothing is shared."""
    texts = [f.value for f in found.values()]
    prefix = re.sub(r"\w+$", "", _shared(texts))
    rest = [t[len(prefix) :] for t in texts]
    suffix = re.sub(r"\w+$", "", _shared([r[::-1] for r in rest]))[::-1]
    if not (prefix or suffix) or any(len(r) <= len(suffix) for r in rest):
        return {}
    before, after = prefix[-1:], suffix[:1]
    return {
        task: replace(f, value=r[: len(r) - len(suffix)], key=(*f.key[:3], "middle"), before=before, after=after, hint="middle")
        for (task, f), r in zip(found.items(), rest, strict=True)
    }


def _shared(texts: Sequence[str]) -> str:
    """What all texts begin with, character by character."""
    first, last = min(texts), max(texts)
    return first[: next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))]
