"""The oracle for traces that commands did not do alone: the recorded start, arguments and end with other values in them.

An edit holds the whole of a file, and a commit has no steps at all: neither says what is right on another start. But where a
value of the arguments stands in the start or the end, another one may stand there throughout, and the skill must reach that end
(docs/semantics.md, "Recordings without commands"). All other starts are beyond the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from sandbox.interface import ROOT, Entry, JsonValue, ReplayRecord, Snapshot
from verifiers.context import Case, Context, Generated, Wrong
from verifiers.expectation.answers import failure
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Args
from verifiers.worlds.constants import constants, texts
from verifiers.worlds.grammar import Grammar, grammar, in_repository
from verifiers.worlds.harm import untouched
from verifiers.worlds.implicit import injected
from verifiers.worlds.judged import CHECK_ID, Judged
from verifiers.worlds.overmatch import overmatched
from verifiers.worlds.renaming import renaming
from verifiers.worlds.template import Template, as_text
from verifiers.worlds.tokens import all_text, fresh_words, like, new_digits, tokens

_SHORTEST = 3
"""Characters of a value that may be replaced wherever they stand: shorter ones stand everywhere by chance."""
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True)
class Substitution:
    """A recorded case with other values."""

    case: Case
    control: Case
    """The same, but the new values begin with the old ones: where only that comes out right, the task depends on their order."""
    varied: frozenset[str]
    refusable: bool
    """The skill knows a replaced value by name, or it has digits (a date, a mode): to refuse another one is no fault."""


def uncommanded(context: Context) -> list[Case]:
    """The recorded cases that commands did not do alone."""
    return [c for c in context.cases if c.evidence is not None and not c.evidence.by_commands]


def substituted(context: Context, _: Sequence[Grammar] = ()) -> Judged:
    """Other values throughout, hostile names and arguments, and inputs that are not there."""
    cases = uncommanded(context)
    if not cases:
        return Judged()
    out = _with_other_values(context, cases)
    gs = [_grammar(context, c) for c in cases]
    if not out.findings:
        renamed = renaming(context, gs)
        out = _joined(out, renamed)
    if not out.findings:
        injected(context, gs, out)
    if not out.findings:
        _without_inputs(context, cases, out)
    if not out.findings:
        overmatched(context, cases, out)
    return out


def _joined(a: Judged, b: Judged) -> Judged:
    return Judged(
        a.passed + b.passed, a.findings + b.findings, a.information + b.information, a.questions + b.questions,
        a.parted + b.parted, a.beyond + b.beyond, a.judged + b.judged, a.runs + b.runs,
    )  # fmt: skip


def _grammar(context: Context, case: Case) -> Grammar:
    """What may be renamed: no name that the task changes, that an argument has or that the skill knows."""
    known = [e.path for e in case.expectation.effects] + texts(context.subject.source)
    description = case.evidence.description if case.evidence is not None else ""
    template = Template(("\n".join([*known, description]),), case.args, ())
    return grammar(case.task_id, case.args, template, case.expectation, constants(context.subject.source))


# ---------------------------------------------------------------- other values


def _with_other_values(context: Context, cases: Sequence[Case]) -> Judged:
    out = Judged()
    share = -(-context.counts.differential // len(cases))
    trials = [t for case in cases for t in _substitutions(context, case, share)]
    records = context.run("other values", (context.request(t.case.base, t.case.args) for t in trials))
    out.runs = len(records)
    for trial, record in zip(trials, records, strict=True):
        wrong = context.judge.wrong(record, trial.case.expectation)
        if wrong is None:
            out.judged += 1
            out.passed.append(Generated(trial.case, record, "substitution", trial.varied))
        elif trial.refusable and context.judge.refuses(record) and untouched(trial.case.base, record):
            out.information.append(f"{trial.case.label}: not judged, such a value is refused ({wrong.message})")
        elif _right(context, trial.control):
            out.information.append(f"{trial.case.label}: not judged, the outcome depends on how values sort ({wrong.message})")
        else:
            out.judged += 1
            message = f"with another value of {', '.join(sorted(trial.varied))} throughout: {wrong.message}"
            out.findings.append(context.finding(CHECK_ID, message, trial.case, wrong, f"--seed {context.seed}"))
            break
    return out


def _right(context: Context, case: Case) -> bool:
    record = context.run("other values that sort alike", [context.request(case.base, case.args)])[0]
    return context.judge.wrong(record, case.expectation) is None


def _substitutions(context: Context, case: Case, count: int) -> Iterator[Substitution]:
    known = texts(context.subject.source)
    found = replaceable(case, known)
    values = list(dict.fromkeys(part for _, part in found))
    taken = all_text(case.base) + all_text(case.expectation.tree) + repr(case.args)
    for n in range(count if values else 0):
        rng = context.rng(f"substituted {case.task_id} {n}")
        chosen = values if n % 2 else [values[n // 2 % len(values)]]
        new = {v: _other(v, rng, taken) for v in chosen}
        varied = frozenset(p for p, v in found if v in chosen)
        label = f"other values {n} (trace {case.task_id}, seed {context.seed})"
        image = _image(case, new, label)
        control = _image(case, {v: _longer(v, rng, taken) for v in chosen}, label)
        if image is not None and control is not None:
            refusable = any(any(map(str.isdecimal, v)) or any(v in text for text in known) for v in chosen)
            yield Substitution(image, control, varied, refusable)


def replaceable(case: Case, known: Sequence[str]) -> list[tuple[str, str]]:
    """Parameters, each with a part of its value that may be another one throughout. Nothing of what the end was computed from.

    Args:
        case: The recorded case.
        known: Texts of the skill: words that it adds are not computed from anything.
    """
    x = case.expectation
    start, end, said = all_text(x.base), all_text(x.tree) + x.answer, "\n".join(as_text(v) for v in case.args.values())
    sources = "\n".join([start, said, *known])
    counted = set(_NUMBERS.findall(end)) - set(_NUMBERS.findall(sources))
    made = {t for t in tokens(end) if not t.isdecimal()} - set(tokens(sources))
    out = []
    given = [(p, v) for p, value in case.args.items() for v in (value if isinstance(value, list) else [value])]
    for name, value in given:
        part = _part(value, x) if isinstance(value, str) else ""
        computed = counted if any(c.isdecimal() for c in part) else made
        if len(part) < _SHORTEST or computed or part not in start + end:
            continue
        others = [as_text(v) for _, v in given if v != value]
        if not any(part in o or (o and o in part) for o in others) and not _in_another_case(part, start + end):
            out.append((name, part))
    return out


def _part(value: str, x: Expectation) -> str:
    """Of a path the name without its suffix: directories hold other things too, and a suffix says how to read a file."""
    if value in x.base or value in x.tree:
        return value.rpartition("/")[2].partition(".")[0]
    return value if tokens(value) and "\n" not in value else ""


def _in_another_case(part: str, trees: str) -> bool:
    """Whether the value stands there in another case too: the one may have been made from the other."""
    return len(re.findall(re.escape(part), trees, re.IGNORECASE)) != trees.count(part)


def _other(value: str, rng: Random, taken: str) -> str:
    """A value of the same shape."""
    words = iter(fresh_words(rng, taken, len(tokens(value)) + 1))
    return re.sub(r"[^\W\d_]+|\d+", lambda m: new_digits(m[0], rng) if m[0].isdecimal() else like(m[0], next(words)), value)


def _longer(value: str, rng: Random, taken: str) -> str:
    """The value with more behind it."""
    if value[-1:].isdecimal():
        return value + str(rng.randint(1, 9))
    return value + fresh_words(rng, taken, 1)[0]


def _image(case: Case, new: dict[str, str], label: str) -> Case | None:
    """The case with other values in names, contents, arguments and answer; None where two paths fall together."""
    x = case.expectation
    base, tree = _tree(x.base, new), _tree(x.tree, new)
    if base is None or tree is None:
        return None
    volatile = frozenset((_text(p, new), kind) for p, kind in x.volatile)
    expected = replace(x, base=base, tree=tree, volatile=volatile, answer=_text(x.answer, new))
    return Case(label, _args(case.args, new), expected, case.task_id)


def _tree(tree: Snapshot, new: dict[str, str]) -> Snapshot | None:
    pairs = [(p, e) if p == ROOT or in_repository(p, tree) else (_text(p, new), _entry(e, new)) for p, e in tree.items()]
    return Snapshot(pairs) if len({p for p, _ in pairs}) == len(pairs) else None


def _entry(entry: Entry, new: dict[str, str]) -> Entry:
    return replace(entry, content=_bytes(entry, new), target=_text(entry.target, new))


def _bytes(entry: Entry, new: dict[str, str]) -> bytes:
    if b"\0" in entry.content:
        return entry.content
    return _text(entry.content.decode("utf-8", "surrogateescape"), new).encode("utf-8", "surrogateescape")


def _text(text: str, new: dict[str, str]) -> str:
    if not new:
        return text
    return re.sub("|".join(map(re.escape, sorted(new, key=len, reverse=True))), lambda m: new[m[0]], text)


def _args(args: Args, new: dict[str, str]) -> Args:
    def one(value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [one(item) for item in value]
        return _text(value, new) if isinstance(value, str) else value

    return {name: one(value) for name, value in args.items()}


# ---------------------------------------------------------------- inputs that are not there


def _without_inputs(context: Context, cases: Sequence[Case], out: Judged) -> None:
    """An argument that names a file of every start must name one: else nothing can be done, and success is a lie."""
    names = {p for c in cases for p in c.args}
    inputs = sorted(p for p in names if all(_is_input(c, p) for c in cases))
    trials = [(c, p, {**c.args, p: f"{c.args[p]}-qz-missing"}) for c in cases[:2] for p in inputs]
    records = context.run("missing input", (context.request(c.base, args) for c, _, args in trials))
    out.runs += len(records)
    for (case, name, args), record in zip(trials, records, strict=True):
        out.judged += 1
        if not _raises(record):
            message = f"claims success although {name} names nothing"
            wrong = Wrong("effect", message, "a failure that is reported", "success")
            out.findings.append(context.finding(CHECK_ID, message, replace(case, args=args), wrong, f"--seed {context.seed}"))
            return


def _is_input(case: Case, name: str) -> bool:
    value = case.args.get(name)
    entry = case.base.get(value) if isinstance(value, str) else None
    return entry is not None and entry.type == "file" and case.expectation.tree.get(str(value)) is not None


def _raises(record: ReplayRecord) -> bool:
    return failure(record.outcome) is not None
