"""The facts of one skill's evidence: which invariant holds where, and whether a start keeps them. Pure."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import cast

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.expectation.repositories import repository_roots
from verifiers.interface import Args
from verifiers.worlds import invariants
from verifiers.worlds.invariants.kind import Kind, Learned, Scope, has_lines
from verifiers.worlds.template import as_text

MAX_BYTES = 1 << 18
"""Longer files are not read for invariants: they are grown from lines that keep them."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One invariant at one place."""

    kind: Kind
    scope: Scope
    where: str
    """The role of a file, ``every name``, or a parameter."""
    value: Learned
    count: int

    @property
    def sentence(self) -> str:
        """``the file that `csv` names has 3 columns by ',' in each line (seen 12 times)``."""
        return f"{self.where} {self.kind.says(self.value)} (seen {self.count} times)"


@dataclass(frozen=True, slots=True)
class Start:
    """A start with the arguments of the call."""

    base: Snapshot
    args: Args


KINDS: tuple[Kind, ...] = tuple(
    cast("Kind", found)
    for module in sorted(m.name for m in pkgutil.iter_modules(invariants.__path__))
    if (found := getattr(importlib.import_module(f"{invariants.__name__}.{module}"), "KIND", None)) is not None
)
"""One a file of this folder."""


@dataclass(frozen=True, slots=True)
class Facts:
    """All that holds over the recorded starts."""

    common: frozenset[str]
    """Places of files that every recording has."""
    found: tuple[Fact, ...]

    def broken(self, start: Start, recorded: Start) -> tuple[Fact, ...]:
        """The facts that a start does not keep. What it has in common with the recorded one is not read again."""
        by_place: dict[tuple[Scope, str], list[Fact]] = {}
        for fact in self.found:
            by_place.setdefault((fact.scope, fact.where), []).append(fact)
        old = {(scope, text) for scope, _, text in _observations(recorded, self.common)}
        out: dict[int, Fact] = {}
        for scope, where, text in _observations(start, self.common):
            if (scope, text) not in old:
                out |= {id(f): f for f in by_place.get((scope, where), ()) if not f.kind.holds(f.value, text)}
        return tuple(out.values())

    def kept(self, start: Start, recorded: Start, rng: Random) -> Snapshot:
        """The start with its new contents made to keep what holds, as far as they can."""
        changes: dict[str, Entry | None] = {}
        for path, where, text in _contents(start, self.common):
            if recorded.base.get(path) == start.base[path] or not has_lines(text):
                continue
            new = text
            for fact in self._of(where):
                if not fact.kind.holds(fact.value, new):
                    new = fact.kind.keep(fact.value, new, rng)
            if new != text:
                changes[path] = Entry("file", start.base[path].mode, new.encode("utf-8", "surrogateescape"))
        return start.base.replace(changes) if changes else start.base

    def record_lines(self, start: Start, path: str) -> int:
        """How many lines make one record of a file: 1 where nothing says otherwise."""
        for fact in self._of(role(path, start.args, self.common)):
            if fact.kind.name == "whole-records" and isinstance(fact.value, tuple):
                return int(str(fact.value[0]))
        return 1

    def _of(self, where: str) -> list[Fact]:
        return [f for f in self.found if f.scope == "content" and f.where == where]


def learn(starts: Sequence[Start]) -> Facts:
    """What holds over all recorded starts."""
    places = [frozenset(_place(p, s.args) for p in s.base) for s in starts]
    common = frozenset.intersection(*places) if places else frozenset()
    seen: dict[tuple[Scope, str], list[str]] = {}
    for start in starts:
        for scope, where, text in _observations(start, common):
            seen.setdefault((scope, where), []).append(text)
    found = tuple(
        Fact(kind, scope, where, lesson.value, lesson.count)
        for (scope, where), texts in sorted(seen.items())
        for kind in KINDS
        if scope in kind.scopes and (lesson := kind.learn(texts)) is not None
    )
    return Facts(common, found)


def is_common(path: str, args: Args, common: frozenset[str]) -> bool:
    """Whether every recording has a file at this place."""
    return _place(path, args) in common


def role(path: str, args: Args, common: frozenset[str]) -> str:
    """What a file is to the task: named by a parameter, there in every recording, or one of a kind."""
    place = _place(path, args)
    if place in common:
        return f"the file {place}"
    name = path.rpartition("/")[2]
    ending = name[name.rfind(".") :] if "." in name[1:] else ""
    for p, v in sorted(args.items()):
        if ending and as_text(v).lstrip(".") == ending[1:]:
            return f"each file whose ending `{p}` names"
    return f"each {ending} file" if ending else "each file without an ending"


def _place(path: str, args: Args) -> str:
    """A path said by the argument that names it or the deepest directory above it."""
    named = [(v.strip("/"), p) for p, v in args.items() if isinstance(v, str) and v.strip("/")]
    for value, p in sorted(named, key=lambda pair: (-len(pair[0]), pair[1])):
        if path == value:
            return f"that `{p}` names"
        if path.startswith(f"{value}/"):
            return f"`{path[len(value) + 1 :]}` in the directory that `{p}` names"
    return f"`{path}`"


def _observations(start: Start, common: frozenset[str]) -> Iterator[tuple[Scope, str, str]]:
    for path in _outside_repositories(start.base):
        if path != ROOT:
            folder, _, name = path.rpartition("/")
            place = _place(folder, start.args) if folder else "`.`"
            yield "name", "every name", name
            if place in common or not folder:
                yield "name", f"every name in the directory {place}", name
    for _, where, text in _contents(start, common):
        yield "file", where, text
        if has_lines(text):
            yield "content", where, text
    for p, v in sorted(start.args.items()):
        if isinstance(v, str | int) and not isinstance(v, bool):
            yield "value", f"argument `{p}`", as_text(v)


def _contents(start: Start, common: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    """Path, role and text of every file that is not too long."""
    for path in _outside_repositories(start.base):
        e = start.base[path]
        if e.type == "file" and len(e.content) <= MAX_BYTES:
            yield path, role(path, start.args, common), e.content.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=256)
def _outside_repositories(base: Snapshot) -> tuple[str, ...]:
    """The paths that are not git's own: what it keeps in its directories has forms that no recording has to show."""
    roots = repository_roots(base)
    return tuple(p for p in base if not any(p == r or p.startswith(f"{r}/") for r in roots))
