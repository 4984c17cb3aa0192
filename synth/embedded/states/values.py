"""Values: what new text is made of, and the search for the simplest expression that gives a value in every example."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from synth.embedded.code import quote
from synth.embedded.states import texts

Vector = tuple[str, ...]
"""A value in each example."""
Env = Mapping[str, str | Vector]
"""The arguments of one run."""
Column = tuple[Vector, ...]
"""For each example its values, one a place."""


_ATOMS = re.compile(r"\d+(?:\.\d+)+|\d{4}([-/])\d\d\1\d\d|[0-9a-f]{40,}")
"""Words that are one value: versions, dates, digests."""


@dataclass(frozen=True, slots=True)
class Expr:
    """A value as an expression: how it is computed, and the same as Python."""

    code: str
    """Of type str; ``m`` is the match of the pattern, ``k`` the number of the place."""
    at: Callable[[Env, int, re.Match[str] | None], str]
    """From arguments, place and match."""
    cost: int = 0
    const: str | None = None
    """The text, of a constant."""
    uses: frozenset[str] = frozenset()
    """Names of parameters."""
    own: bool = False
    """Computed from what the pattern matched."""


def const(text: str) -> Expr:
    return Expr(quote(text), lambda e, k, m: text, 0, text)


def join(parts: Sequence[Expr]) -> Expr:
    """The texts of the parts, one behind the other."""
    from synth.embedded.code import joined

    flat = [p for p in parts if p.const != ""]
    if len(flat) == 1:
        return flat[0]
    whole = "".join(p.const for p in flat if p.const is not None) if all(p.const is not None for p in flat) else None
    pieces = [(True, p.const) if p.const is not None else (False, p.code) for p in flat]
    return Expr(
        joined(pieces, is_text=True),
        lambda e, k, m: "".join(p.at(e, k, m) for p in flat),
        sum(p.cost for p in flat),
        whole,
        frozenset().union(*(p.uses for p in flat)),
        any(p.own for p in flat),
    )


def group(number: int) -> Expr:
    def at(e: Env, k: int, m: re.Match[str] | None) -> str:
        assert m is not None  # groups stand only where a pattern was matched
        return m[number] or ""

    return Expr(f"m[{number}]", at, 1, own=True)


@dataclass(frozen=True, slots=True)
class Function:
    """A known function of one value."""

    code: str
    """With ``{x}`` for the value."""
    call: Callable[[str], str]
    helper: str = ""
    counts: bool = False
    """It counts on: from what is in the tree, never from what a request tells."""


FUNCTIONS = (
    Function("_plain({x})", texts._plain, "_plain"),
    Function("{x}.lower()", str.lower),
    Function("{x}.upper()", str.upper),
    Function("{x}.title()", str.title),
    Function('{x}.replace("-", "_")', lambda x: x.replace("-", "_")),
    Function("_slug({x})", texts._slug, "_slug"),
    Function('".".join({x}.split(".")[:2])', lambda x: ".".join(x.split(".")[:2])),
    Function('{x}.split(".")[0]', lambda x: x.split(".")[0]),
    Function('{x}.split("-")[0]', lambda x: x.split("-")[0]),
    *(Function(f"_bumped({{x}}, {n})", lambda x, n=n: texts._bumped(x, n), "_bumped", True) for n in (2, 1, 0)),  # type: ignore[misc]  # mypy infers no type for a default
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of the skill: a text, or a list of texts with one for each place."""

    name: str
    values: tuple[str | Vector, ...]
    """One for each example."""
    in_request: bool

    @property
    def cost(self) -> int:
        """What it takes to say it: one that the request has is little, a foreign one more, by its lines."""
        lines = max(1 + v.count("\n") for v in self.values if isinstance(v, str)) if isinstance(self.values[0], str) else 1
        return 4 if self.in_request else 5 + 3 * lines


@dataclass
class Values:
    """The parameters found so far, and the search over expressions of them."""

    requests: Vector
    parameters: list[Parameter] = field(default_factory=list)

    def copy(self) -> Values:
        return Values(self.requests, list(self.parameters))

    def env(self, example: int) -> Env:
        """The arguments of an example."""
        return {p.name: p.values[example] for p in self.parameters}

    @property
    def foreign(self) -> int:
        """Parameters whose values no request tells."""
        return sum(not p.in_request for p in self.parameters)

    @property
    def cost(self) -> int:
        return sum(p.cost for p in self.parameters)

    def known(self, column: Column, own: Mapping[Column, Expr] = {}, functions: bool = True) -> Expr | None:
        """The simplest expression without a new parameter; ``own`` are the values that a pattern has matched."""
        first = {v for values in column for v in values}
        if len(first) == 1:
            return const(first.pop())
        if column in own:
            return own[column]
        vector = _scalar(column)
        for p in self.parameters:
            if (found := _affixed(column, _column(p, column), _ref(p))) is not None:
                return found
        for p in [p for p in self.parameters if vector is not None and isinstance(p.values[0], str)]:
            for f in FUNCTIONS:
                if not f.counts and (found := _called(f, column, _column(p, column), _ref(p))) is not None:
                    return found
        for known, expr in own.items() if functions else ():
            for f in FUNCTIONS:
                if (found := _called(f, column, known, expr)) is not None:
                    return found
        return None

    def value(self, column: Column, own: Mapping[Column, Expr] = {}, functions: bool = True) -> Expr:
        """The simplest expression; where nothing known gives the value, a new parameter: told by the requests, else foreign."""
        return (
            self.known(column, own, False)
            or self.requested(column)
            or (self.known(column, own, True) if functions else None)
            or self._new(column, False)
        )

    def requested(self, column: Column) -> Expr | None:
        """The value as one that all requests tell, known already or new."""
        known = next((x for p in self.parameters if p.in_request and (x := _affixed(column, _column(p, column), _ref(p)))), None)
        if known is not None:
            return known
        for head, tail in affixes([v for values in column for v in values]):
            core = tuple(tuple(v[len(head) : len(v) - len(tail)] for v in values) for values in column)
            if all(v and told(v, r) for values, r in zip(core, self.requests, strict=True) for v in values):
                return join([const(head), self._new(core, True), const(tail)])
        return None

    def _new(self, column: Column, in_request: bool) -> Expr:
        vector = _scalar(column)
        values = vector if vector is not None else column
        parameter = Parameter(name_of(values, self.requests, {p.name for p in self.parameters}), values, in_request)
        self.parameters.append(parameter)
        return _ref(parameter)


def told(value: str, request: str) -> bool:
    """Whether the request has the value as a word."""
    return re.search(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])|(?<=\bv){re.escape(value)}(?![^\W_])", request) is not None


def affixes(values: Sequence[str]) -> list[tuple[str, str]]:
    """Constant beginnings and ends that all values share, cut between words, the shortest first."""
    heads = [values[0][:n] for n in range(len(values[0]) + 1) if _cut(values, n, False)]
    tails = [values[0][len(values[0]) - n :] for n in range(len(values[0]) + 1) if _cut(values, n, True)]
    pairs = [(h, t) for h, t in product(heads, tails) if all(len(h) + len(t) < len(v) for v in values)]
    return sorted(pairs, key=lambda p: (len(p[0]) + len(p[1]), p))


def _cut(values: Sequence[str], n: int, end: bool) -> bool:
    """Whether all values begin (or end) with the same n characters, and those end (or begin) between two words of each."""
    if n == 0:
        return True
    places = [(v, len(v) - n if end else n) for v in values]
    edges = {v[at:] if end else v[:at] for v, at in places if 0 < at < len(v)}
    return len(edges) == 1 and all(0 < at < len(v) and _between(v, at) for v, at in places)


def _between(value: str, at: int) -> bool:
    if any(m.start() < at < m.end() for m in _ATOMS.finditer(value)):
        return False
    a, b = value[at - 1], value[at]
    return not (a.isalnum() and b.isalnum()) or a.isdigit() != b.isdigit()


def _scalar(column: Column) -> Vector | None:
    """The value of each example, where it has one only."""
    return tuple(values[0] for values in column) if all(len(set(values)) == 1 for values in column) else None


def _column(parameter: Parameter, like: Column) -> Column:
    return tuple((v,) * len(c) if isinstance(v, str) else v for v, c in zip(parameter.values, like, strict=True))


def _ref(parameter: Parameter) -> Expr:
    if isinstance(parameter.values[0], str):
        return Expr(parameter.name, lambda e, k, m: str(e[parameter.name]), 2, uses=frozenset({parameter.name}))
    return Expr(f"{parameter.name}[k]", lambda e, k, m: e[parameter.name][k], 3, uses=frozenset({parameter.name}))


def _affixed(column: Column, known: Column, expr: Expr) -> Expr | None:
    """The known value between constant texts."""
    if tuple(map(len, column)) != tuple(map(len, known)) or not column[0] or not known[0][0] or known[0][0] not in column[0][0]:
        return None
    head, _, tail = column[0][0].partition(known[0][0])
    if any(v != head + w + tail for vs, ws in zip(column, known, strict=True) for v, w in zip(vs, ws, strict=True)):
        return None
    return join([const(head), expr, const(tail)])


def _called(function: Function, column: Column, known: Column, expr: Expr) -> Expr | None:
    try:
        made = tuple(tuple(function.call(v) for v in values) for values in known)
    except ValueError:
        return None
    if made == known:
        return None
    call = Expr(
        function.code.format(x=expr.code), lambda e, k, m: function.call(expr.at(e, k, m)), expr.cost + 1,
        uses=expr.uses, own=expr.own,
    )  # fmt: skip
    return _affixed(column, made, call)


_FORMS = (
    ("text", r"(?s).*\n.*|.*\S+ \S+ \S+.*"),
    ("date", r"\d{4}[-/]\d\d[-/]\d\d"),
    ("year", r"(?:19|20)\d\d"),
    ("digest", r"(?=.*\d)[0-9a-f]{64}"),
    ("commit", r"(?=.*\d)[0-9a-f]{40}"),
    ("number", r"\d{1,5}"),
    ("version", r"v?\d[\w.+-]*"),
    ("path", r".*/.*\.\w+"),
    ("name", r"[\w./@-]+"),
)


def form_of(values: Sequence[str]) -> str:
    """What kind of value all of these are, by their form."""
    return next((name for name, form in _FORMS if all(re.fullmatch(form, v) for v in values)), "value")


def is_words(values: Sequence[str]) -> bool:
    """Whether they are free words: no dates, versions or digests."""
    return form_of(values) in ("text", "path", "name", "value")


def name_of(values: Sequence[str | Vector], requests: Vector, taken: set[str]) -> str:
    """A parameter's name from what its values look like."""
    many = not isinstance(values[0], str)
    name = form_of([v for value in values for v in ([value] if isinstance(value, str) else value)])
    if not many and name == "version":
        before = {_before(str(v), r) for v, r in zip(values, requests, strict=True)}
        name = {"from": "old_version", "to": "new_version"}.get(before.pop(), name) if len(before) == 1 else name
    name += "s" * many
    return next(n for n in (name, *(f"{name}_{k}" for k in range(2, 99))) if n not in taken)


def _before(value: str, request: str) -> str:
    found = re.search(rf"(\w+)\W+v?{re.escape(value)}(?![\w.]*\w)", request)
    return found[1] if found else ""
