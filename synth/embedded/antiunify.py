"""Anti-unification: several programs of one shape -> one template with holes, and the holes' values per program."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from synth.embedded.factoring import factored
from synth.embedded.literals import escapes, is_known, literals
from synth.embedded.places import inner_name
from synth.embedded.pythoncode import NAMES, with_arguments
from synth.embedded.requested import said_runs, unescaped
from synth.embedded.template import Place, Program, Template, Value
from verifiers.shell.commands import Role, roles
from verifiers.shell.effects import every
from verifiers.shell.tree import Glob, Hole, Lit, Many, Part, Redirect, ShellError, Simple, Word, literal_word, tidy


class Mismatch(Exception):
    """The programs do not have one shape."""


def unify(programs: Sequence[Program], requests: Sequence[str] = ()) -> Template:
    """The least general template of the programs, constants where they agree.

    Args:
        requests: what was asked for, one a program: a word that all of them say is not cut into pieces.

    Raises:
        Mismatch: another number of steps, other commands, other options, programs that differ in more than values.
    """
    unifier = _Unifier(requests)
    raw = unifier.node(tuple(programs), "operand")
    found = factored(raw, unifier.values, unifier.places, requests)
    if any(_has_code(node, found.values) for node in every(found.program) if isinstance(node, Simple)):
        raise Mismatch
    return found


_CODE = re.compile(r"[\"'`/|;{}()\[\]]")
"""What ends a literal, or stands between expressions."""


def _has_code(node: Simple, values: Sequence[tuple[Value, ...]]) -> bool:
    """Whether a hole of a program, outside of its literals, stands for more than a name or a number."""
    for k, role in enumerate(roles(node.name, node.words[1:]), 1):
        language, holes = inner_name(node, k), [p for p in node.words[k].parts if isinstance(p, Hole)]
        if role != "script" or not is_known(language) or not holes:
            continue
        with suppress(ShellError):  # a literal, if one of another build
            ways = escapes(language, node.words[k], extended=False)
            among = [v for hole, way in zip(holes, ways, strict=True) if way is None for v in values[hole.index]]
            if any(_CODE.search(str(v)) for v in among):
                return True
    return False


_CUT_AT_MARKS = frozenset({"sed", "rename", "prename", "file-rename"})
"""Programs whose text is mostly one substitution: cut at the marks around what it replaces."""
_PATTERNS = frozenset({"grep", "egrep", "fgrep"})
"""Their first word is one pattern or one line, nothing with parts."""


class _Unifier:
    def __init__(self, requests: Sequence[str] = ()) -> None:
        self.requests = requests
        self.values: list[tuple[Value, ...]] = []
        self.places: list[Place] = []
        self.at = Place("", "operand", "")

    def hole(self, values: tuple[Value, ...]) -> int:
        if values not in self.values:
            self.values.append(values)
            self.places.append(self.at)
        return self.values.index(values)

    def node(self, xs: tuple[object, ...], role: Role) -> object:
        first = xs[0]
        if all(x == first for x in xs[1:]):
            return first
        if any(type(x) is not type(first) for x in xs):
            raise Mismatch
        if isinstance(first, Word):
            return self.word([x for x in xs if isinstance(x, Word)], role)
        if isinstance(first, Simple):
            return self.simple([x for x in xs if isinstance(x, Simple)])
        if isinstance(first, tuple):
            rows = [x for x in xs if isinstance(x, tuple)]
            if len({len(x) for x in rows}) != 1:
                raise Mismatch
            return tuple(self.node(column, role) for column in zip(*rows, strict=True))
        if dataclasses.is_dataclass(first) and not isinstance(first, type):
            if isinstance(first, Redirect) and first.op == "<<":  # a here-document or here-string: a text, not a name
                role, self.at = "text", dataclasses.replace(self.at, role="text")
            fields = {f.name: self.node(tuple(getattr(x, f.name) for x in xs), role) for f in dataclasses.fields(first)}
            return dataclasses.replace(first, **fields)
        raise Mismatch

    def simple(self, xs: list[Simple]) -> Simple:
        name = xs[0].name
        if any(x.name != name for x in xs):
            raise Mismatch
        xs = with_arguments(xs) if name in NAMES else xs
        outer, self.at = self.at, Place(name, "operand", "")
        changes: dict[str, Any] = {
            "words": self.words(name, [x.words for x in xs]),
            "redirects": self.node(tuple(x.redirects for x in xs), "operand"),
            "assigns": self.node(tuple(x.assigns for x in xs), "text"),
        }
        self.at = outer
        return dataclasses.replace(xs[0], **changes)

    def words(self, name: str, rows: list[tuple[Word, ...]]) -> tuple[Word, ...]:
        if name == "find":
            rows = _same_tests(rows)
        if len({len(r) for r in rows}) != 1:
            return self.many(name, rows)
        kinds = [roles(name, r[1:]) for r in rows]
        if any(k != kinds[0] for k in kinds):
            raise Mismatch
        out = [rows[0][0]] if rows[0] else []
        for k, column in enumerate(zip(*(r[1:] for r in rows), strict=True)):
            options = {(w.literal or "").partition("=")[0] for w in column}
            if len(options) > 1 and all(o.startswith("--") for o in options):
                raise Mismatch
            option = (rows[0][k].literal or "") if k else ""
            self.at = Place(name, kinds[0][k], option if option.startswith("-") else "")
            out.append(self.word(list(column), kinds[0][k]))
        return tuple(out)

    def many(self, name: str, rows: list[tuple[Word, ...]]) -> tuple[Word, ...]:
        """Another number of operands: the tail of each row becomes one list parameter."""
        head = 0
        while all(len(r) > head for r in rows) and len({r[head] for r in rows}) == 1:
            head += 1
        tails = [[w.literal for w in r[head:]] for r in rows]
        kinds = {k for r in rows for k in roles(name, r[1:])[max(0, head - 1) :]}
        if head == 0 or kinds != {"operand"} or not all(tails) or any(t is None for tail in tails for t in tail):
            raise Mismatch
        self.at = Place(name, "operand", "")
        return (*rows[0][:head], Word((Many(self.hole(tuple(tuple(t for t in tail if t is not None) for tail in tails))),)))

    def word(self, xs: list[Word], role: Role) -> Word:
        if all(x == xs[0] for x in xs[1:]):
            return xs[0]
        if role == "syntax":
            raise Mismatch
        shapes = {tuple(type(p) for p in x.parts) for x in xs}
        if len(shapes) != 1:
            raise Mismatch
        parts: list[Part] = []
        count = len(xs[0].parts)
        for column in zip(*(x.parts for x in xs), strict=True):
            if all(isinstance(p, Lit) for p in column):
                texts = [p.text for p in column if isinstance(p, Lit)]
                parts += self.text(texts, "glued" if count > 1 and role == "operand" else role)
            else:
                if isinstance(column[0], Glob) and len(set(column)) > 1:
                    raise Mismatch
                part = self.node(tuple(column), role)
                parts.append(part)  # type: ignore[arg-type]  # node() returns the type that it was given
        return Word(tuple(tidy(parts)))

    def text(self, texts: list[str], role: Role | str) -> list[Part]:
        if len(set(texts)) == 1:
            return [Lit(texts[0])]
        if parts := self.as_said(texts, role):
            return parts
        if role == "script" and is_known(self.at.command) and self.at.command not in _CUT_AT_MARKS:
            return self.program(texts)
        return self.cut(texts, role)

    def cut(self, texts: list[str], role: Role | str) -> list[Part]:
        """Holes between what all texts have at both ends, and between the marks and words that all of them have."""
        left, right = _affixes(texts, role)
        if role == "operand" and re.search(r"(^|/)\.$", texts[0][:left]):
            left -= 1  # the dot of a hidden file is a part of its name
        head, tail = texts[0][:left], texts[0][len(texts[0]) - right :] if right else ""
        middles = [t[left : len(t) - right] for t in texts]
        plain = [unescaped(m) for m in middles] if role in ("script", "literal") else middles
        inner = self.split(middles, role) or [Hole(self.hole(tuple(plain)))]
        return tidy([Lit(head), *inner, Lit(tail)])

    def as_said(self, texts: list[str], role: Role | str) -> list[Part]:
        """Holes for what the requests say, in texts, patterns and literals; none where they say nothing of it."""
        if not self.requests or role not in ("text", "pattern", "literal", "script"):
            return []
        if role == "script" and not (self.at.command in _PATTERNS or (self.at.command in _CUT_AT_MARKS and self.columns(texts))):
            return []
        plain = unescaped if role in ("script", "literal") else str
        runs = said_runs(texts, self.requests)
        return tidy([Lit(r[0]) if len(set(r)) == 1 else Hole(self.hole(tuple(map(plain, r)))) for r in runs])

    def program(self, texts: list[str]) -> list[Part]:
        """Programs literal by literal, and piece by piece of the code between them."""
        rows = [literals(self.at.command, t) for t in texts]
        if len({tuple(kind for kind, _ in row) for row in rows}) != 1:
            raise Mismatch
        columns = [(column[0][0], [text for _, text in column]) for column in zip(*rows, strict=True)]
        found = [self.cut(c, "script") if not kind and len(set(c)) > 1 else self.literal(c, kind) for kind, c in columns]
        return tidy([p for parts in found for p in parts])

    def columns(self, texts: list[str]) -> list[tuple[str, list[str]]]:
        """Per literal and piece of code its kind and its text in each program; none where the code differs."""
        rows = [literals(self.at.command, t) for t in texts]
        if len({tuple(kind for kind, _ in row) for row in rows}) != 1:
            return []
        columns = [(column[0][0], [text for _, text in column]) for column in zip(*rows, strict=True)]
        return [] if any(not kind and len(set(column)) > 1 for kind, column in columns) else columns

    def literal(self, texts: list[str], kind: str) -> list[Part]:
        """One literal of each program; a substitution has two, with a mark between them."""
        for mark in ("}{", "|", "/", "#", ",") if kind == "perl" and len(set(texts)) > 1 else ():
            if out := self.at_mark(texts, "literal", mark):
                return out
        return self.text(texts, "literal")

    def split(self, middles: list[str], role: Role | str) -> list[Part]:
        """Splits the middles of scripts at a delimiter that all of them hold equally often, those of texts at their lines, also
        where these end as printf writes it."""
        if role == "key":
            return self.at_mark(middles, role, ",")
        if role == "text":
            return self.at_mark(middles, role, "\n") or self.at_mark(middles, role, "\\n")
        if role == "format":
            return self.at_mark(middles, role, "%0") or self.at_mark(middles, role, "%")
        if role != "script":
            return []
        if self.at.command in _PATTERNS:
            return []
        if out := self.at_words(middles):
            return out
        for mark in ("\\n", *"/|,#@:=", *("." if self.at.command == "jq" else "")):
            if out := self.at_mark(middles, role, mark):
                return out
        return []

    def at_words(self, middles: list[str]) -> list[Part]:
        """Holes between words that all of them have: programs that differ in single words, whatever stands around these."""
        rows = [_TOKEN.findall(m) for m in middles]
        if len({len(row) for row in rows}) != 1:
            return []
        columns = list(zip(*rows, strict=True))
        common = [len(set(c)) == 1 and bool(re.search(r"\w", c[0])) for c in columns]
        if not any(common):
            return []
        out: list[Part] = []
        for is_common, run in itertools.groupby(range(len(columns)), key=lambda k: common[k]):
            at = list(run)
            texts = ["".join(row[k] for k in at) for row in rows]
            out += [Lit(texts[0])] if is_common else self.between(texts)
        return out

    def between(self, texts: list[str]) -> list[Part]:
        """What stands between two common words: marks that all have at its edges, and a hole."""
        if len(set(texts)) == 1:
            return [Lit(texts[0])]
        left, right = _affixes(texts, "glued")
        end = len(texts[0]) - right
        return [Lit(texts[0][:left]), Hole(self.hole(tuple(t[left : len(t) - right] for t in texts))), Lit(texts[0][end:])]

    def at_mark(self, middles: list[str], role: Role | str, mark: str) -> list[Part]:
        counts = {m.count(mark) for m in middles}
        if len(counts) != 1 or counts == {0}:
            return []
        out: list[Part] = []
        # A delimiter with a backslash in front is none.
        rows = [re.split(rf"(?<!\\){re.escape(mark)}", m) for m in middles]
        if len({len(row) for row in rows}) != 1:
            return []
        for k, column in enumerate(zip(*rows, strict=True)):
            out += [Lit(mark)] if k else []
            out += [Lit(column[0])] if len(set(column)) == 1 else self.text(list(column), role)
        return out


def _same_tests(rows: list[tuple[Word, ...]]) -> list[tuple[Word, ...]]:
    """``-name '*'`` is put where other programs have a ``-name`` and one has none: it changes nothing."""
    with_name = [r for r in rows if any(w.literal == "-name" for w in r)]
    if not with_name or len(with_name) == len(rows):
        return rows
    at = next(k for k, w in enumerate(with_name[0]) if w.literal == "-name")
    added = (literal_word("-name"), literal_word("*"))
    return [r if any(w.literal == "-name" for w in r) else (*r[:at], *added, *r[at:]) for r in rows]


_TOKEN = re.compile(r"%0?|\\[QE]|[\w\-]+|\s+|.", re.S)
_ADDRESS = re.compile(r"\d+(,(\d+|\$))?[dpq]|\d+q;d")
"""sed scripts about line numbers."""
_FORMAT = re.compile(r"%0?|\d+|[^\W\d]+|.", re.S)


def _affixes(texts: list[str], role: Role | str) -> tuple[int, int]:
    """Lengths of the common head and tail that stay constants, in whole tokens, as the role allows."""
    numbered = role == "script" and all(_ADDRESS.fullmatch(t) for t in texts)
    pattern = _FORMAT if role in ("format", "key", "number") or numbered else _TOKEN
    tokens = [pattern.findall(t) for t in texts]
    left = _common(tokens, role)
    right = _common([t[left:][::-1] for t in tokens], role)
    right = max(right, _last_names([t[left:] for t in tokens])) if role == "glued" else right
    cut = (sum(map(len, tokens[0][:left])), sum(map(len, tokens[0][len(tokens[0]) - right :])) if right else 0)
    middles = [t[cut[0] : len(t) - cut[1]] for t in texts]
    if not all(middles) or (role == "pattern" and any(c in m for m in middles for c in "*?[")):
        return (0, 0)
    return cut


def _common(tokens: list[list[str]], role: Role | str) -> int:
    n = 0
    while all(len(t) > n for t in tokens) and len({t[n] for t in tokens}) == 1 and _constant(tokens[0][n], role):
        n += 1
    return n


def _last_names(tokens: list[list[str]]) -> int:
    """How many last tokens all have in common, from a slash on: what begins a name behind a folder is no part of the folder."""
    shared = tokens[0][len(tokens[0]) - _common([t[::-1] for t in tokens], "text") :]
    return len(shared) - shared.index("/") if "/" in shared else 0


def _constant(token: str, role: Role | str) -> bool:
    """Plain operands keep only what belongs to a path's syntax; next to a glob any punctuation."""
    if role == "operand":
        return token in ("./", ".", "/")
    if role == "number":
        return token in ("+", "-")  # it says from which end, or more than, or less than
    if role == "glued":
        return not any(c.isalnum() for c in token)
    return True
