"""Invented starts in which what stands between two brackets is written otherwise: not at all, ended by a mark, over several lines
or on one, with less in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifiers.search.mutate import by_turns, filled
from verifiers.search.states import Start

MOST_PAIRS, MOST_FILES = 4, 3
_SIGN = re.compile(rb"""\\.|["'\[\](){}\n]""", re.DOTALL)
_CLOSES = {b"[": b"]", b"(": b")", b"{": b"}"}
_PARTS = re.compile(rb",\s*")
_LINES = re.compile(rb"\s*\n\s*")


def in_brackets(start: Start) -> Iterator[Start]:
    """One pair after the other in files that the task changes or that say an argument, those nearest to such a place first."""
    files = [(p, _first_place(start, p)) for p, e in start.base.items() if e.type == "file" and b"\0" not in e.content]
    return by_turns([_written_otherwise(start, path, at) for path, at in files if at is not None][:MOST_FILES])


def pairs(text: bytes) -> list[tuple[int, int]]:
    """What stands between two brackets that belong together, from where to where. Those within quotes are none; a line ends a
    quote."""
    found, opened, quote = [], list[tuple[bytes, int]](), b""
    for m in _SIGN.finditer(text):
        sign = m[0]
        if sign in (quote, b"\n"):
            quote = b""
        elif quote or sign in (b'"', b"'"):
            quote = quote or sign
        elif sign in _CLOSES:
            opened.append((sign, m.end()))
        elif opened and sign == _CLOSES[opened[-1][0]]:
            found.append((opened.pop()[1], m.start()))
    return sorted(found)


def _first_place(start: Start, path: str) -> int | None:
    """How far into a file its recorded end parts from it, else what an argument says stands there first."""
    old, end = start.base[path].content, start.case.expectation.tree.get(path)
    if end is not None and end.content != old:
        same = zip(old, end.content, strict=False)
        return next((n for n, (a, b) in enumerate(same) if a != b), min(len(old), len(end.content)))
    said = [v.encode("utf-8", "surrogateescape") for v in start.args.values() if isinstance(v, str) and len(v) > 1]
    return min((old.index(value) for value in said if value in old), default=None)


def _written_otherwise(start: Start, path: str, at: int) -> Iterator[Start]:
    content = start.base[path].content
    near = sorted(pairs(content), key=lambda pair: min(abs(pair[0] - at), abs(pair[1] - at)))
    for begin, end in near[:MOST_PAIRS]:
        inner = content[begin:end]
        for how, other in _others(inner):
            if other != inner:
                yield from filled(start, path, content[:begin] + other + content[end:], f"has a bracket {how}")


def _others(inner: bytes) -> Iterator[tuple[str, bytes]]:
    body = inner.strip()
    before, behind = inner[: inner.find(body)], inner[inner.find(body) + len(body) :]
    first, *more = _PARTS.split(body)
    yield "with nothing in it", b""
    yield "with a comma at its end", before + body.rstrip(b",") + b"," + behind
    yield "without one at its end", before + body.rstrip(b",") + behind
    yield "on one line", _LINES.sub(b" ", body)
    yield "over several lines", b"\n    " + b",\n    ".join((first, *more)) + b"\n"
    yield "with one part in it", before + first + behind
