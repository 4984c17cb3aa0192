"""Learns new files: from a template, or from the newest file of their kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from synth.embedded.states import texts
from synth.embedded.states.blocks import templates
from synth.embedded.states.edits import CopySibling, Create, Edit, Rewrite, Where
from synth.embedded.states.examples import Example
from synth.embedded.states.hunks import GRAINS, groupings, hunks_of
from synth.embedded.states.patterns import Hole, common, literal
from synth.embedded.states.rewriting import Group, rewrites
from synth.embedded.states.values import Expr, Values, const, join

_NEW = "new"
"""What a new file is called while its content is learned."""
_FORMS = (r"\d+(?:\.\d+)*", r"[\w.+-]+", r"[\w.@ +-]+")
"""What names of one kind may look like, the narrowest first."""


def creations(examples: Sequence[Example], known: Values) -> Iterator[tuple[Edit, Values]]:
    """Ways to make the one new file of each example."""
    if any(len(x.created) != 1 for x in examples):
        return
    paths = [x.created[0] for x in examples]
    contents = [x.end[p] for x, p in zip(examples, paths, strict=True)]
    pieces = next((p for g in GRAINS if (p := common(paths, g)) is not None), None)
    if pieces is None:
        return
    values = known.copy()
    names = [p for p in pieces if isinstance(p, Hole)]
    exprs = [const(p) if isinstance(p, str) else values.value(tuple((v,) for v in p.values)) for p in pieces]
    path = join(exprs)
    for text, found in templates(contents, values):
        yield Create(path, text), found
    if len(names) != 1:
        return
    value = exprs[pieces.index(names[0])]
    form = next((f for f in _FORMS if all(re.fullmatch(f, v) for v in names[0].values)), "")
    kind = "".join(literal(p) if isinstance(p, str) else f"({form})" for p in pieces)
    yield from _copies(examples, values, path, value, kind)


def _copies(examples: Sequence[Example], values: Values, path: Expr, value: Expr, kind: str) -> Iterator[tuple[Edit, Values]]:
    drafts = []
    for e, x in enumerate(examples):
        name = value.at(values.env(e), 0, None)
        try:
            old = texts._sibling(dict(x.start), kind, name)
        except ValueError:
            return
        copy = texts._renamed(x.start[texts._named(dict(x.start), kind, old)], old, name)
        drafts.append(Example(x.task_id, x.request, {_NEW: copy}, {_NEW: x.end[x.created[0]]}))
    hunks = [h for n, d in enumerate(drafts) for h in hunks_of(n, d)]
    for groups in groupings(hunks, drafts) if hunks else [[]]:
        made = _changes([Group(g, drafts) for g in groups], values, path)
        if made is not None:
            yield CopySibling(path, kind, value, made[0]), made[1]


def _changes(groups: Sequence[Group], values: Values, path: Expr) -> tuple[tuple[Rewrite, ...], Values] | None:
    changes: list[Rewrite] = []
    for group in groups:
        best = min(rewrites(group, values), key=lambda x: x.cost, default=None) if all(h.old for h in group.hunks) else None
        if best is None:
            return None
        values = best.values
        changes.append(replace(best.edit, where=Where("", made=path)))
    return tuple(changes), values
