"""Values as the requests say them: whole words of a text, not the pieces in which the recorded ones happen to differ."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

_WORD = r"[\w\-]+(?:\\?\.[\w\-]+)*"
"""Versions, dates and names of hosts are one word; a pattern has a backslash before the dot."""
_PIECE = re.compile(rf"\\.|{_WORD}|.", re.DOTALL)


def unescaped(text: str) -> str:
    """A value as it is meant, where a script holds it with its special characters quoted."""
    return re.sub(r"\\([.\[\]*^$/&])", r"\1", text)


def is_said(value: str, request: str) -> bool:
    """Whether a request has the value as words of their own: the 1.4 of 1.4.0 is none."""
    return re.search(rf"(?<!\w)(?<!\d[.\-]){re.escape(value)}(?!\w)(?![.\-]\d)", request) is not None


def said_runs(texts: Sequence[str], requests: Sequence[str]) -> list[tuple[str, ...]]:
    """The texts cut into what they have in common and the values in which they differ, each as long as all requests say it.

    Empty where the texts differ in more than words, and where the requests do not tell how to cut them: a word that not all of
    them say is a value only beside those that they say.
    """
    rows = [[m[0] for m in _PIECE.finditer(text)] for text in texts]
    if len({len(row) for row in rows}) != 1 or len(rows) != len(requests):
        return []
    columns = list(zip(*rows, strict=True))
    differ = [len(set(column)) > 1 for column in columns]
    if any(d and not all(re.fullmatch(_WORD, p) for p in column) for d, column in zip(differ, columns, strict=True)):
        return []
    runs: list[tuple[str, ...]] = []
    told: list[bool] = []
    k = 0
    while k < len(columns):
        end = _end(rows, differ, k, requests) if differ[k] else k + 1
        told += [end > k] if differ[k] else []
        end = max(end, k + 1)
        runs.append(tuple("".join(row[k:end]) for row in rows))
        k = end
    clear = any(told) and all(a or b for a, b in itertools.pairwise(told))
    return runs if clear else []


def _end(rows: Sequence[Sequence[str]], differ: Sequence[bool], start: int, requests: Sequence[str]) -> int:
    """Where the longest value of one line ends that begins here and that every request says; ``start`` where there is none."""
    found = start
    for end in range(start + 1, len(differ) + 1):
        values = [unescaped("".join(row[start:end])) for row in rows]
        if "\n" in values[0] or not all(v in request for v, request in zip(values, requests, strict=True)):
            break  # nor is anything longer
        if differ[end - 1] and all(is_said(v, request) for v, request in zip(values, requests, strict=True)):
            found = end
    return found
