"""A skill's name and summary from the pattern: snake_case, without values that vary and without anything secret-looking."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from synth.embedded.labels import label
from synth.embedded.params import renamed
from synth.embedded.scope import Param
from synth.embedded.steps import Work
from synth.embedded.template import Value
from synth.embedded.wording import (
    NO_NOUNS,
    STOP,
    asks,
    named_beside,
    shared,
    short_name,
    timeless,
    told_words,
    unanswered,
    unnamed,
)
from synth.interface import Candidate, Draft
from synth.renaming import RenameError
from synth.renaming import renamed as renamed_draft
from synth.tracing.redact import redact
from verifiers.interface import Args, Evidence

_BETWEEN = NO_NOUNS | frozenset({"was", "had", "but", "said", "not"})
"""Words that stand beside a value and are no name of it."""
_DANGLING = frozenset("1 number who whose into up as if when".split())  # noqa: SIM905  (a list of words reads better as text)
"""Words that no summary that had to be cut ends with."""
LONGEST = 120
"""Characters of a summary."""
_VALUE = re.compile(r"[\d/@_]|\w[.-]\w")
"""In what is no plain word: a number, a path, an address."""
_VERB = re.compile(r"[^\W\d_]+(?=\s)")
"""A request's first word, where it is a word and more follows."""
_FROM = frozenset({"from", "to", "into", "by", "with"})
"""Words between what is changed and what it was or is to be."""


def skill_name(category: str, summary: str) -> str:
    """The summary in short, where it begins with what is done; else the pattern's category where it says enough, else words of
    the summary behind it."""
    if short := short_name(summary, category):
        return short[:60].strip("_")
    name = re.sub(r"[^a-z0-9_]+", "_", category.lower()).strip("_")
    words = [w for w in name.split("_") if w]
    if len(words) < 2:
        words += [w for w in re.findall(r"[a-z]+", summary.lower()) if w not in STOP]
        words = list(dict.fromkeys(words))[:5] or ["learned", "skill"]
    out = "_".join(dict.fromkeys(words))[:60].strip("_")
    if "_" not in out:
        out = f"{out}_task"
    return out if out[0].isalpha() else f"do_{out}"


def called(works: Sequence[Work], values: Sequence[Value]) -> str:
    """What most requests call a value, by the word before or behind it: "branch" of ``on branch main``; "" for nothing."""
    found: Counter[str] = Counter()
    for w, value in zip(works, values, strict=True):
        words = re.findall(r"[^\s,;:!?()\"'`]+", w.evidence.description)
        at = next((i for i, word in enumerate(words) if word.rstrip(".") == value), None)
        found.update(_beside(words, at) if at is not None else ())
    word, times = next(iter(found.most_common(1)), ("", 0))
    return word if times > 1 and 2 * times >= len(works) else ""


def _beside(words: Sequence[str], at: int) -> Iterator[str]:
    """Words that may name the one at this place: "branch main", "main branch", "version from 1.2"; in
    "TODO comments" none does."""
    before = at - 2 if at and words[at - 1].lower() in _FROM else at - 1
    # The first word says what is done.
    for word in map(str.lower, (*words[max(before, 1) : max(before, 0) + 1], *words[at + 1 : at + 2])):
        if re.fullmatch(r"[a-z]{3,16}", word) and word not in _BETWEEN and not re.search(r"[^s]s$|(ed|ing|ly)$", word):
            yield word


def _common(text: str, texts: Sequence[str], fixed: Collection[str] = ()) -> str:
    """The text without words of one recording alone: a value that no parameter holds is not the task's. Those are numbers, paths
    and addresses that most requests lack and that the commands have not always, and words that requests of the same form have
    otherwise. A verb comes again, or stands first."""
    own = text.split()
    alike = [words for t in texts if len(words := t.split()) == len(own)]
    columns = [Counter(column) for column in zip(*alike, strict=True)] if len(alike) > 2 else [Counter[str]()] * len(own)
    rare = [
        _VALUE.search(word)
        and _bare(word) not in fixed
        and 2 * sum(_bare(word) in map(_bare, t.split()) for t in texts) <= len(texts)
        for word in own
    ]
    others = [len(c) == len(alike) > 2 and _bare(w).lower() not in STOP for c, w in zip(columns, own, strict=True)]
    few = 3 * sum(others) <= len(own)  # else they only happen to be as long
    drop = [k > 0 and "<" not in w and (r or (o and few)) for k, (w, r, o) in enumerate(zip(own, rare, others, strict=True))]
    return " ".join("…" if d else w for w, d in zip(own, drop, strict=True))


def _bare(word: str) -> str:
    """A word without the marks that a sentence has around it."""
    return re.sub(r"^[(\"'`]+|[)\"'`,;:!?.]+$", "", word)


def fixed_words(commands: Sequence[Sequence[str]]) -> frozenset[str]:
    """What stands in the commands of every recording: the same file, the same mark."""
    rows = [set(re.findall(r"[^\s\"'`;|&<>()]+", "\n".join(lines))) for lines in commands]
    return frozenset(set.intersection(*rows)) if rows else frozenset()


def summary_of(
    cases: Sequence[tuple[str, Mapping[str, str]]], category: str = "", fixed: Collection[str] = (), *, answers: bool = True
) -> str:
    """The description in which most values are found, with the parameters' names in their place; of several one that begins
    with what is done, one that is whole, the one that says most words of the name and of the fixed files, then the shortest.

    Args:
        cases: per trace its description and its values by parameter name.
        category: the pattern's name, in snake_case.
        fixed: words that the commands of all traces have.
        answers: whether the skill gives an answer.
    """
    said = [" ".join(redact(description).split()) for description, _ in cases]
    named = [_named(text, values) for text, (_, values) in zip(said, cases, strict=True)]
    texts: list[str] = []
    for k, (text, _) in enumerate(named):
        others = [*(t for i, (t, _) in enumerate(named) if i != k), *fixed]
        text = timeless(text, " ".join(others).lower()) if len(named) > 1 else text
        elsewhere = [*others, *(v for i, (_, values) in enumerate(cases) if i != k for v in values.values())]
        text = shared(text, cases[k][1].values(), elsewhere) if len(named) > 1 else text
        texts.append(text if answers else unanswered(text))
    wanted = set(category.split("_"))
    rows: list[tuple[tuple[int, bool, bool, int, int, int], str]] = []
    for text, (_, found) in zip(texts, named, strict=True):
        shown = _common(text, texts, fixed)
        hits = len(wanted & told_words(text)) + sum(bool(_VALUE.search(w)) and _bare(w) in fixed for w in text.split())
        whole = re.search(r"\?(\s|$)", text) is None
        rows += [((found, whole, asks(text), -shown.count("…"), hits, -len(text)), shown)] if text else []
    best = max(rows, key=lambda row: row[0])[1] if rows else "Repeat a recorded task"
    if len(best) <= LONGEST:
        return best
    words = best[:LONGEST].split(" ")[:-1]
    while words and (words[-1].lower() in STOP | _DANGLING or not re.search(r"\w", words[-1])):
        words.pop()
    return f"{' '.join(words)} …"


def described(works: Sequence[Work], params: Sequence[Param], category: str, *, answers: bool) -> tuple[tuple[Param, ...], str]:
    """The parameters as the summary calls them, and the summary."""
    said = [(w.evidence.description, {p.name: _told(p.values[k]) for p in params}) for k, w in enumerate(works)]
    summary = summary_of(said, category, fixed_words([w.evidence.commands for w in works]), answers=answers)
    words = named_beside(summary, [p.name for p in params])
    words |= _named_elsewhere(works, [p for p in params if p.name not in words], {*words.values(), *(p.name for p in params)})
    named = tuple(renamed(p, words[p.name]) if p.name in words else p for p in params)
    for old, new in zip(params, named, strict=True):
        summary = summary.replace(f"<{old.name}>", f"<{new.name}>")
    return named, summary


def _named_elsewhere(works: Sequence[Work], params: Sequence[Param], taken: Collection[str]) -> dict[str, str]:
    """Names for values of which the summary does not say what they are: as most requests call them, else as the files do."""
    found: dict[str, str] = {}
    for p in params:
        if p.kind != "list[str]" and unnamed(p.name):
            values = [str(v) for v in p.values]
            word = called(works, values) or label(values, [w.evidence.base for w in works])
            if word and word not in {*taken, *found.values()}:
                found[p.name] = word
    return found


def told_again(
    candidate: Candidate, evidence: Sequence[Evidence], bindings: Mapping[str, Args], category: str, *, answers: bool
) -> tuple[Candidate, Mapping[str, Args]]:
    """A candidate as the requests of all these recordings call it, and the arguments under the new names; as it is where some
    have no arguments, or no better words are found.

    Args:
        category: the pattern's name, in snake_case.
        answers: whether the skill gives an answer.
    """
    known = [e for e in evidence if e.task_id in bindings]
    said = [(e.description, {p: _told(v) for p, v in bindings[e.task_id].items()}) for e in known]
    summary = summary_of(said, category, fixed_words([e.commands for e in known]), answers=answers)
    if summary == candidate.description or len(known) <= len(candidate.bindings):
        return candidate, bindings
    words = named_beside(summary, list(said[0][1]))
    summary = re.sub(r"<(\w+)>", lambda m: f"<{words.get(m[1], m[1])}>", summary)
    draft = Draft(candidate.name, candidate.source, (), bindings, "")
    try:
        other = renamed_draft(draft, skill_name(category, summary), words, {"": summary})
    except RenameError:
        return candidate, bindings
    own = {task_id: args for task_id, args in other.bindings.items() if task_id in candidate.bindings}
    return replace(candidate, name=other.name, source=other.source, bindings=own, description=summary), other.bindings


def _told(value: object) -> str:
    """A value as a request says it: several stand side by side."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _named(text: str, values: Mapping[str, str]) -> tuple[str, int]:
    """A request with names in the place of values, and how many were found in it."""
    names: dict[str, list[str]] = {}
    for name, value in values.items():
        names.setdefault(value, []).append(name)
    found = 0
    for value in sorted(names, key=len, reverse=True):
        # The 2 of 1.2.0 is not the number 2.
        number = value.isdecimal()
        before, behind = (r"(?<!\d\.)", r"(?!\.\d)") if number else ("", "")
        found_at = re.finditer(rf"(?<![\w<]){before}{re.escape(value)}{behind}(?![\w>])", text) if value else ()
        # The first word says what is done, also where a value is called so.
        spots = [m for m in found_at if m.start() or not _VERB.match(text)]
        meant = _meant(text, [(m.start(), m.end()) for m in spots], names[value])
        for spot, name in reversed(list(zip(spots, meant, strict=True))):
            text = f"{text[: spot.start()]}{f'<{name}>' if name else '…'}{text[spot.end() :]}"
        found += len({*meant} - {""})
    return text, found


def _meant(text: str, spots: Sequence[tuple[int, int]], names: Sequence[str]) -> list[str]:
    """Which of several parameters with one value each place is about: the one whose name stands beside it, else the only one
    that is left; "" where nobody can say."""
    if len(names) == 1:
        return [names[0]] * len(spots)
    meant = []
    for start, end in spots:
        beside = {*text[:start].split()[-1:], *text[end:].split()[:1]}
        meant.append(next((name for name in names if name in beside), ""))
    left = [name for name in names if name not in meant]
    return [name or (left[0] if len(left) == 1 else "") for name in meant]
