"""Learns which files go and which get another name: the list of paths is a text, and its lines are rewritten."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from synth.embedded.code import Code, quote
from synth.embedded.states import texts
from synth.embedded.states.edits import Edit, Files
from synth.embedded.states.examples import Example
from synth.embedded.states.hunks import Hunk, kind_of
from synth.embedded.states.patterns import Pattern
from synth.embedded.states.rewriting import Group, rewrites
from synth.embedded.states.values import Env, Expr, Values

_LIST = "paths"
"""What the text with the list of paths is called."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Files of one folder whose names a pattern takes go, or get other names."""

    folder: str
    pattern: Pattern
    new: Expr | None
    """None = they go."""

    @property
    def cost(self) -> int:
        return self.pattern.cost + (self.new.cost if self.new is not None else 0) + 3

    def reads(self, code: Code) -> list[str]:
        return []

    def apply(self, env: Env, files: Files) -> None:
        for name in sorted(files):
            found = re.fullmatch(self.pattern.at(env, 0), name)
            if found is not None:
                text = files.pop(name)
                if self.new is not None:
                    files[texts._straight(self.new.at(env, 0, found))] = text

    def emit(self, code: Code) -> None:
        with code.block(f"for name in {code.helper('_listed')}({quote(self.folder)}, {self.pattern.code}):"):
            if self.new is None:
                code.line(f"changed += {code.helper('_unlink')}(Path(name))")
            else:
                new = f"re.sub({self.pattern.code}, lambda m: {self.new.code}, name)"
                code.line(f"target = {code.helper('_straight')}({new})")
                code.line(f"changed += {code.helper('_rename')}(Path(name), Path(target))")


def moved(example: Example) -> dict[str, str]:
    """Old path -> new path of files that are there under another name."""
    out: dict[str, str] = {}
    for old in example.removed:
        same = [p for p in example.created if p not in out.values() and example.end[p] == example.start[old]]
        if same:
            out[old] = same[0]
    return out


def without_paths(example: Example) -> Example:
    """The example as it is once its files have their new names."""
    names = moved(example)
    start = {names.get(p, p): t for p, t in example.start.items() if p in names or p not in example.removed}
    return Example(example.task_id, example.request, start, example.end)


def path_groups(examples: Sequence[Example]) -> list[Group] | None:
    """The removals and renames of the examples by kind; None where some are not in every example."""
    lists, hunks = [], []
    for e, x in enumerate(examples):
        names = moved(x)
        lines = [f"{p}\n" for p in sorted(x.start)]
        lists.append(Example(x.task_id, x.request, {_LIST: "".join(lines)}, {}))
        for n, line in enumerate(lines):
            path = line.removesuffix("\n")
            if path in x.removed:
                new = (names[path] + "\n",) if path in names else ()
                hunks.append(Hunk(e, _LIST, n, (line,), new, tuple(lines[:n]), tuple(lines[n + 1 :])))
    groups: dict[object, list[Hunk]] = {}
    for h in hunks:
        groups.setdefault((bool(h.new), h.old[0].rpartition("/")[0], kind_of(h.old) if h.new else ()), []).append(h)
    if any({h.example for h in g} != set(range(len(examples))) for g in groups.values()):
        return None
    return [Group(g, lists, of_paths=True) for g in groups.values()]


def path_edits(group: Group, values: Values) -> Iterator[tuple[Edit, Values]]:
    """Removals or renames that take just the files of every example."""
    folder = group.hunks[0].old[0].rpartition("/")[0]
    for learned in rewrites(group, values, contexts=False):
        parts = [p if isinstance(p, Expr) else p.replace(r"\n", "") for p in learned.edit.pattern.parts]
        new = learned.edit.new if group.hunks[0].new else None
        yield Paths(folder or ".", Pattern(tuple(parts)), new), learned.values
