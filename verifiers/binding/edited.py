"""Arguments of a recording without commands: words of its request, and of what it put in or took out, that stand where the
known arguments of other recordings stand in theirs (docs/semantics.md, "Bindings").

A place is what stands before and after a value on its line (of a value of many lines: in the whole block). Other arguments, and
words with a digit in them, may be others there. Whoever asks runs the skill with each proposal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from sandbox.interface import JsonValue
from verifiers.binding.provenance import format_number
from verifiers.expectation.blocks import changed_blocks
from verifiers.interface import Args, Edit, Evidence

MOST_PLACES, MOST_VALUES, MOST_PROPOSALS = 6, 4, 64
"""Places of a parameter that are looked at; values that are proposed for it; proposals altogether."""
_WORD = r"\w+(?:[.+-]\w+)*"
_MASKED = re.compile(r"\\\x00|([^\w\s])\1{2,}|(?=[\w.+-]*\d)" + _WORD + "|.", re.DOTALL)
"""Of a context: the mark of an argument, a line drawn of one character, a word with a digit, any other character."""

_NEAR = (
    (r".*\Z", r".*", ("^", "$")),
    (r"\S*\s*\Z", r"\s*\S*", (r"(?<!\S)", r"(?!\S)")),
    (r"\w*[^\w\s]*\Z", r"[^\w\s]*\w*", (r"\b", "")),
)
"""How much of a line tells a place, the most first: all of it, the words beside the value, what touches it; then its ends."""


@dataclass(frozen=True, slots=True)
class _Sources:
    """The texts of a recording that values are read from; of places that tell as much the first is asked first."""

    request: tuple[str, ...]
    put_in: tuple[str, ...]
    taken_out: tuple[str, ...]


def proposals(known: Mapping[str, Args], bound: Sequence[Evidence], trace: Evidence) -> Iterator[Args]:
    """Arguments that ``trace`` may have, in the names that ``known`` has, likeliest first.

    Args:
        known: Arguments of each trace in ``bound``, by task_id.
        bound: Traces whose arguments are known.
        trace: The one that is asked about.
    """
    models = [e for e in bound if e.task_id in known]
    texts = {e.task_id: _sources(e) for e in models}
    own = _sources(trace)
    names = list(dict.fromkeys(name for e in models for name in known[e.task_id]))
    columns = []
    for name in names:
        at = {e.task_id: known[e.task_id][name] for e in models if name in known[e.task_id]}
        columns.append(list(islice(_values(at, known, texts, own), MOST_VALUES)))
    rows = sorted(product(*map(enumerate, columns)), key=lambda row: sum(k for k, _ in row))
    for row in rows[:MOST_PROPOSALS]:
        yield dict(zip(names, (value for _, value in row), strict=True))


def _sources(evidence: Evidence) -> _Sources:
    blocks = [block for edit in evidence.edits for block in _blocks(edit)]
    paths = [edit.path for edit in evidence.edits if edit.before is None]
    gone = [edit.path for edit in evidence.edits if edit.after is None]
    put_in = (*paths, *(new for _, new in blocks if new))
    return _Sources((evidence.description,), put_in, (*gone, *(old for old, _ in blocks if old)))


def _blocks(edit: Edit) -> Sequence[tuple[str, str]]:
    return changed_blocks(*(e.content if e is not None else b"" for e in (edit.before, edit.after)))


def _values(
    at: Mapping[str, JsonValue], known: Mapping[str, Args], texts: Mapping[str, _Sources], own: _Sources
) -> Iterator[JsonValue]:
    """What one parameter may be: the value that it has everywhere, or words of the places that tell it best."""
    first = next(iter(at.values()))
    items = {t: _items(v) for t, v in at.items()}
    if any(item is None for item in items.values()):
        if all(value == first for value in at.values()):
            yield first
        return
    places: list[tuple[int, str, re.Pattern[str]]] = []
    for source in ("request", "put_in", "taken_out"):
        models = {t: getattr(texts[t], source) for t in at}
        if all(any(item in text for text in models[t]) for t, own_items in items.items() for item in own_items or ()):
            places += [(-fits, source, p) for p, fits in _places({t: i or [] for t, i in items.items()}, known, models)]
    places.sort(key=lambda place: place[0])
    seen: list[JsonValue] = []
    for _, source, place in places[:MOST_PLACES]:
        for value in _typed([m["value"] for text in getattr(own, source) for m in place.finditer(text)], first):
            if value not in seen:
                seen.append(value)
                yield value


def _items(value: JsonValue) -> list[str] | None:
    """The texts of a value; None where it is none that stands in a text."""
    if isinstance(value, list):
        parts = [_items(item) for item in value]
        return None if not parts or any(p is None for p in parts) else [text for p in parts for text in p or ()]
    if value is None or isinstance(value, bool | dict) or value == "":
        return None
    return [value if isinstance(value, str) else format_number(value)]


def _typed(found: Sequence[str], like: JsonValue) -> Iterator[JsonValue]:
    once = list(dict.fromkeys(found))
    if isinstance(like, list):
        for some in (found, once) if found else ():
            yield [*some]
        return
    for text in once:
        try:
            yield int(text) if isinstance(like, int) else float(text) if isinstance(like, float) else text
        except ValueError:
            continue


def _places(
    items: Mapping[str, Sequence[str]], known: Mapping[str, Args], models: Mapping[str, Sequence[str]]
) -> Iterator[tuple[re.Pattern[str], int]]:
    """Where the known values stand, and how well each place tells all recordings theirs and nothing else."""
    every = [item for own in items.values() for item in own]
    form = next((f for f in (r"\w+", _WORD) if all(re.fullmatch(f, item) for item in every)), ".+?")
    held: Counter[str] = Counter()
    for task_id, own in items.items():
        others = [text for value in known[task_id].values() for text in _items(value) or ()]
        contexts = (p for item in own for text in models[task_id] for p in _contexts(item, form, others, text))
        held.update(dict.fromkeys(contexts, 0))
    for pattern in held:
        compiled = re.compile(pattern, re.MULTILINE)
        for task_id, own in items.items():
            told = [m["value"] for text in models[task_id] for m in compiled.finditer(text)]
            once = list(dict.fromkeys(told))
            held[pattern] += 4 if told == list(own) else 2 if once == list(dict.fromkeys(own)) else {*own} <= {*once}
        if held[pattern]:
            yield compiled, held[pattern]


def _contexts(item: str, form: str, others: Sequence[str], text: str) -> Iterator[str]:
    """Patterns of the places of a value in a text, the narrowest first; ``form`` is the pattern of all values of one line."""
    for match in re.finditer(_bounded(item), text):
        if "\n" in item:
            yield rf"\A{_masked(text[: match.start()], others)}(?P<value>(?s:.+?)){_masked(text[match.end() :], others)}\Z"
            continue
        before = text[: match.start()].rpartition("\n")[2]
        after = text[match.end() :].partition("\n")[0]
        for left, right, ends in _NEAR:
            sides = re.search(left, before), re.match(right, after)
            here, there = (_masked(m[0] if m else "", others) for m in sides)
            yield f"{ends[0]}{here}(?P<value>{form}){there}{ends[1]}"


def _bounded(text: str) -> str:
    """A value as a pattern that ends where its words and numbers end: of ``v10.2``, ``10.2`` is one and ``10`` is none."""
    before = r"(?<!\d)(?<!\d\.)" if text[0].isdecimal() else r"(?<!\w)" if re.match(r"\w", text) else ""
    after = r"(?!\d)(?!\.\d)" if text[-1].isdecimal() else r"(?!\w)" if re.match(r"\w", text[-1]) else ""
    return before + re.escape(text) + after


def _masked(context: str, others: Sequence[str]) -> str:
    """A context as a pattern in which arguments, words with digits and lines drawn of one character may be others."""
    for other in sorted(set(others), key=len, reverse=True):
        if re.fullmatch(_WORD, other) and not re.search(r"\d", other):
            context = re.sub(_bounded(other), "\\\\\0", context)
    return _MASKED.sub(_mask, context)


def _mask(match: re.Match[str]) -> str:
    if match[0] == "\\\0" or re.search(r"\d", match[0]):
        return _WORD
    return re.escape(match[0][0]) + "+" if match[1] else re.escape(match[0])
