"""What is not held against a skill although it parts from the commands: their accidents, and what may well be meant."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import yaml

from sandbox.interface import ROOT, Entry, ReplayRecord, Returned, Snapshot
from verifiers.context import Case, Context
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import Expectation
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.harm import lost
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text
from verifiers.worlds.trials import Beyond, Trial
from verifiers.worlds.variations.other_names import BEHIND

Alike = Callable[[bytes, bytes], bool]
ENDING = Beyond("recorded-endings", "the names have endings that some recording has")


def indulged(context: Context, trial: Trial, case: Case, record: ReplayRecord) -> str:
    """Why a difference is not held against the skill; "" where it is. All else has to be right."""
    if accident(trial, case, record):
        return "the shell takes a pattern for a name there"
    if _dashed(context, trial, case, record):
        return "a name that begins with a dash only has ./ before it"
    if not right_but_for_files(context, case.expectation, record):
        return ""
    if makes_no_empty_directory(trial, case, record):
        return "the commands make a directory there, and put nothing into it"
    return "the commands only write JSON otherwise there" if leaves_as_written(trial, case, record) else ""


def right_but_for_files(context: Context, x: Expectation, record: ReplayRecord) -> bool:
    """Whether what a run says of itself would be right if its files were."""
    return context.judge.wrong(replace(record, post=x.tree), x) is None


def right_but_for_quotes(context: Context, g: Grammar, x: Expectation, record: ReplayRecord) -> bool:
    """Whether a run parts from the commands in nothing but quotes that say nothing."""
    return requoted(g, x, record.post) and right_but_for_files(context, x, record)


def _dashed(context: Context, trial: Trial, case: Case, record: ReplayRecord) -> bool:
    """Whether the answer is right but for ``./`` before a value like ``-x``: so programs are told that it is a name."""
    if not isinstance(record.outcome, Returned) or not any(as_text(v).startswith("-") for v in trial.world.args.values()):
        return False
    plain = json.loads(json.dumps(record.outcome.value).replace("./-", "-"))
    return context.judge.wrong(replace(record, outcome=replace(record.outcome, value=plain)), case.expectation) is None


def accident(trial: Trial, case: Case, record: ReplayRecord) -> bool:
    """Whether a pattern matched nothing, the shell took it for a name, and the run did no harm: no skill is held to that."""
    return _pattern_for_a_name(trial, case.expectation) and lost(case, record) is None


def _pattern_for_a_name(trial: Trial, x: Expectation) -> bool:
    """Whether the commands made or printed a pattern that no name on the start explains."""
    g, world = trial.g, trial.world
    known = "\n".join((*world.base, *g.expectation.tree, *map(as_text, world.args.values())))
    made = "\n".join(p for p in x.tree if p not in world.base)
    printed = x.answer if "*" not in all_text(world.base) + g.expectation.answer else ""
    return any(mark in made and mark not in known for mark in "*?[") or ("*" in printed and "*" not in known)


def takes_an_ending(trial: Trial, case: Case) -> bool:
    """Whether the commands name an ending and take a file that has another one behind it (``part*`` takes ``part02.bak``): that
    the skill leaves it alone may well be meant."""
    steps = trial.plan.steps
    if len(steps) != 1 or steps[0].variation != "other-name" or steps[0].choice[-1] != BEHIND:
        return False
    named = re.search(r"\.([^\W\d_]+)[^./]*$", str(steps[0].choice[0]))
    if named is None or named[1] not in trial.g.template.literal_text():
        return False
    before, after = trial.g.expectation, case.expectation
    without = {p: e for p, e in after.tree.items() if p not in case.base or p in trial.g.base}
    return before.answer != after.answer or bool(differences(before.tree, without, root=False))


def leaves_as_written(trial: Trial, case: Case, record: ReplayRecord) -> bool:
    """Whether a run parts from the commands in nothing but files that it leaves alone, and of which they change only how JSON is
    written. Not where a recording shows that this is wanted."""
    x, recorded = case.expectation, trial.g.expectation
    found = {d.path for d in differences(x.tree, record.post, root=False)}
    alone = all(case.base.get(p) == record.post.get(p) and rewritten(case.base.get(p), x.tree.get(p)) for p in found)
    return bool(found) and alone and not any(rewritten(e.before, e.after) for e in recorded.effects)


def makes_no_empty_directory(trial: Trial, case: Case, record: ReplayRecord) -> bool:
    """Whether a run parts from the commands in nothing but directories that these make and put no file into. Not where
    a recording shows that this is wanted."""
    x, recorded = case.expectation, trial.g.expectation
    found = {d.path for d in differences(x.tree, record.post, root=False)}
    empty = _made_empty(x)
    return bool(found) and found <= empty and not found & record.post.keys() and not _made_empty(recorded)


def _made_empty(x: Expectation) -> set[str]:
    """Directories that were not there and have no file below them."""
    files = [p for p, e in x.tree.items() if e.type != "dir"]
    made = (p for p, e in x.tree.items() if e.type == "dir" and p != ROOT and p not in x.base)
    return {p for p in made if not any(file.startswith(f"{p}/") for file in files)}


def rewritten(before: Entry | None, after: Entry | None) -> bool:
    """Whether two files hold one JSON value, in one order, in other bytes, and are alike in all else."""
    if before is None or after is None or not _in_other_bytes(before, after):
        return False
    value = _json(before.content)
    return value is not None and value == _json(after.content)


def requoted(g: Grammar, x: Expectation, post: Snapshot) -> bool:
    """Whether a run parts from the commands only in quotes that are no part of what a file says in the format of its name: of
    YAML's scalars, or of a table's cells where no recorded cell has any (else somebody may have said which must)."""
    found = {d.path for d in differences(x.tree, post, root=False)}
    pairs = [(_format(g, p), x.tree[p], post[p]) for p in found if p in x.tree and p in post]
    tables = [e.content for t in (g.base, g.expectation.tree) for e in t.values() if b'"' in e.content]
    if any(alike is one_table for alike, _, _ in pairs) and any(map(table, tables)):
        return False
    if any(alike is one_yaml and yaml_said(a.content) != yaml_said(b.content) for alike, a, b in pairs) and _numbers_recorded(g):
        return False
    return 0 < len(pairs) == len(found) and all(_but_for_quotes(a, b) and alike(a.content, b.content) for alike, a, b in pairs)


def _numbers_recorded(g: Grammar) -> bool:
    """Whether a recorded YAML file has an argument as a number or a date: then others are no texts either."""
    said = {as_text(v) for v in g.args.values()}
    files = [e.content for p, e in g.expectation.tree.items() if PurePath(p).suffix.lower() in (".yaml", ".yml")]
    return any(e.text in said and e.kind != _TEXT for content in files for e in yaml_said(content) or () if e.text)


def _format(g: Grammar, path: str) -> Alike:
    """The format of a name; for an ending that no recording has, of what the recorded task changes."""
    recorded = {PurePath(p).suffix for p in (*g.base, *g.expectation.tree)}
    changed = {PurePath(e.path).suffix for e in g.expectation.effects}
    endings = {PurePath(path).suffix} if PurePath(path).suffix in recorded else changed
    formats = {_FORMATS.get(ending.lower(), _never) for ending in endings}
    return formats.pop() if len(formats) == 1 else _never


def _but_for_quotes(one: Entry, other: Entry) -> bool:
    return _in_other_bytes(one, other) and one.content.translate(None, _QUOTES) == other.content.translate(None, _QUOTES)


def _in_other_bytes(one: Entry, other: Entry) -> bool:
    return one != other and replace(one, content=other.content) == other


def _json(content: bytes) -> str | None:
    """The value of a JSON file, its keys in order; None where it is none."""
    try:
        return repr(json.loads(content, object_pairs_hook=list))
    except (ValueError, RecursionError):
        return None


def table(content: bytes) -> list[list[str]] | None:
    """The rows of a table with two columns or more; None where it is none."""
    text = content.decode("utf-8", "surrogateescape")
    for mark in ",;\t":
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True))
        except csv.Error:
            continue
        if len({len(row) for row in rows if row}) == 1 and any(len(row) > 1 for row in rows):
            return rows
    return None


def one_table(one: bytes, other: bytes) -> bool:
    """Whether two tables have the same rows."""
    rows = table(one)
    return rows is not None and rows == table(other)


def one_yaml(one: bytes, other: bytes) -> bool:
    """Whether the second YAML file says what the first one does, or has a text where that has a number or a date of it; or
    is YAML at all."""
    first, second = yaml_said(one), yaml_said(other)
    if first is None or second is None:
        return second is not None
    if len(first) != len(second):
        return False
    return all(a == b or (b.kind == _TEXT and replace(a, kind=_TEXT) == b) for a, b in zip(first, second, strict=True))


@dataclass(frozen=True, slots=True)
class Event:
    """A part of a YAML file: a scalar, or where a mapping or a sequence begins and ends."""

    name: str
    anchor: str | None
    kind: str | None
    """What a scalar is by its tag or its looks."""
    text: str | None


def yaml_said(content: bytes) -> list[Event] | None:
    """The events of a YAML file; None where it is none. No alias is followed: they may grow without end."""
    try:
        return [_event(e) for e in yaml.parse(content, yaml.SafeLoader)]
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _event(e: yaml.Event) -> Event:
    kind, text = getattr(e, "tag", None), getattr(e, "value", None)
    if isinstance(e, yaml.ScalarEvent):
        kind = kind or _RESOLVER.resolve(yaml.ScalarNode, text, e.implicit)
    return Event(type(e).__name__, getattr(e, "anchor", None), kind, text)


_RESOLVER: Any = yaml.resolver.Resolver()
"""Untyped in its stubs."""
_TEXT = "tag:yaml.org,2002:str"
_FORMATS: dict[str, Alike] = {".csv": one_table, ".tsv": one_table, ".yaml": one_yaml, ".yml": one_yaml}
_QUOTES = b"\"'"


def _never(_one: bytes, _other: bytes) -> bool:
    return False
