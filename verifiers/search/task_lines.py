"""Invented starts in which a line that matters to the task comes once more, with something in it that no recording has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from verifiers.search.mutate import by_turns, filled, folded
from verifiers.search.states import Start
from verifiers.source.parsing import parsed
from verifiers.source.statements import Statement
from verifiers.worlds.variations.own_patterns import samples

MOST_LINES, MOST_TOLD, MOST_SIGNS, MOST_FIELDS, MOST_QUOTED = 2, 6, 8, 6, 1
_MARK = re.compile(rb"[!-/:-@\[-`{-~]")
_WORD = re.compile(rb"\w+")
_FIELD = re.compile(rb"\S+")
_QUOTED = re.compile(rb'"([^"\n]+)"')
_NAME = re.compile(r"[^\W\d]\w*")

Way = tuple[int, bytes, str]
"""How many lines up it comes, the line, and what is told of it."""


def in_lines_of_the_task(start: Start, source: str, wanted: Sequence[Statement] = ()) -> tuple[Iterator[Start], Iterator[Start]]:
    """The start with a line that the task changes once more, and with one that says what an argument says: with a text of the
    skill's, or one that its patterns match, in it; or without one of its marks or words.

    Args:
        wanted: statements that nothing reached: texts of their conditions are tried first.
    """
    signs = _signs(source, wanted)
    changed: list[Iterator[Start]] = []
    saying: list[Iterator[Start]] = []
    said = [v.encode("utf-8", "surrogateescape") for v in start.args.values() if isinstance(v, str) and len(v) > 1]
    for path, entry in start.base.items():
        rows = entry.content.splitlines(keepends=True) if entry.type == "file" and b"\0" not in entry.content else []
        end = start.case.expectation.tree.get(path)
        kept = set(end.content.splitlines(keepends=True)) if end is not None else set(rows)
        first = [n for n, row in enumerate(rows) if row not in kept][:MOST_LINES]
        telling = [n for n, row in enumerate(rows) if row in kept and any(v in row for v in said)]
        other = sorted(telling, key=lambda n: -sum(v in rows[n] for v in said))[:MOST_LINES]
        changed += [_again(start, path, rows, n, signs, said) for n in first]
        saying += [_again(start, path, rows, n, signs, said) for n in other]
    return by_turns(changed), by_turns(saying)


Signs = tuple[Sequence[str], Sequence[str]]
"""Those of conditions that nothing met, and others."""


def in_conditions(source: str, wanted: Sequence[Statement]) -> list[str]:
    """Texts of the conditions that nothing met, then of what their names were given, short ones first."""
    texts = sorted(folded(source)[1], key=len)
    conditions = [text for s in wanted for text in (*(c.text for c in s.conditions), s.text)]
    told = [t for said in (conditions, _values(source, wanted, conditions)) for t in texts if _says("\n".join(said), t)]
    return list(dict.fromkeys(told))


def _signs(source: str, wanted: Sequence[Statement]) -> Signs:
    texts = sorted(folded(source)[1], key=len)
    told = in_conditions(source, wanted)
    first = list(dict.fromkeys((*told[:MOST_TOLD], *_matching(told))))[:MOST_TOLD]
    return first, [t for t in (*texts[:MOST_SIGNS], *_matching(texts)[:MOST_SIGNS]) if t not in first]


def _says(text: str, value: str) -> bool:
    return repr(value) in text or repr(value.encode("utf-8", "surrogateescape")) in text


def _matching(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for t in texts for text in samples(t)))


def _values(source: str, wanted: Sequence[Statement], conditions: Sequence[str]) -> list[str]:
    """What is given to the names of conditions, and of the lines that statements stand in."""
    rows = source.split("\n")
    names = set(_NAME.findall("\n".join((*conditions, *(rows[s.line - 1] for s in wanted if 0 < s.line <= len(rows))))))
    given = (node for node in ast.walk(parsed(source)) if isinstance(node, ast.Assign))
    return [ast.unparse(node.value) for node in given if names & {t.id for t in node.targets if isinstance(t, ast.Name)}]


def _again(start: Start, path: str, rows: Sequence[bytes], n: int, signs: Signs, said: Sequence[bytes]) -> Iterator[Start]:
    row, (told, others) = rows[n], signs
    pairs = [(row, sign, said) for sign in told], [(row, sign, said) for sign in others]
    first, later = (_flat(zip_longest(*(_with(*pair) for pair in some))) for some in pairs)
    less = _flat(zip_longest(_cut(row, said), _without(row, _WORD), _without(row, _MARK)))
    for way in chain(_flat(zip_longest(first, less)), later):
        up, other, how = way
        at = n + 1 - up
        yield from filled(start, path, b"".join([*rows[:at], other, *rows[at:]]), f"has its line {n + 1} again, {how}")


def _flat(turns: Iterable[tuple[Way | None, ...]]) -> Iterator[Way]:
    yield from (way for turn in turns for way in turn if way is not None)


def _with(row: bytes, sign: str, said: Sequence[bytes]) -> Iterator[Way]:
    """The line with a text within its quotes, about what an argument says, at its end, in the middle of its longest word, before
    it."""
    text = sign.encode("utf-8", "surrogateescape")
    longest = max(_WORD.findall(row), key=len, default=b"")
    half, body = len(longest) // 2, row.rstrip(b"\r\n")
    values = [v for v in said if v in row]
    yield from _quoted(row, text, sign)
    yield from _about(row, text, sign, values[:1])
    yield 0, body + text.rstrip(b"\r\n") + row[len(body) :], f"with {sign!r} at its end"
    yield 0, row.replace(longest, longest[:half] + text + longest[half:], 1), f"with {sign!r} in it"
    yield 1, text + row, f"behind {sign!r}, before it"
    yield from _instead(row, text, sign)
    yield from _about(row, text, sign, values[1:])


def _quoted(row: bytes, text: bytes, sign: str) -> Iterator[Way]:
    """The line with a text in the middle of one of its first quoted ones."""
    for m in list(_QUOTED.finditer(row))[:MOST_QUOTED]:
        half = (m.start(1) + m.end(1)) // 2
        yield 0, row[:half] + text + row[half:], f"with {sign!r} within its {m[0].decode('utf-8', 'replace')}"


def _instead(row: bytes, text: bytes, sign: str) -> Iterator[Way]:
    """The line with a text in the place of one of its first fields."""
    for field in list(_FIELD.finditer(row))[:MOST_FIELDS]:
        there = field[0].decode("utf-8", "replace")
        yield 0, row[: field.start()] + text + row[field.end() :], f"with {sign!r} in the place of its {there!r}"


def _about(row: bytes, text: bytes, sign: str, values: Sequence[bytes]) -> Iterator[Way]:
    for value in values:
        for other in (text + value + text, b"7" + text + b"7 " + value):
            yield 0, row.replace(value, other, 1), f"with {sign!r} about what an argument says"
        quoted = (text + field + text if value in field else field for field in re.split(rb"(\s+)", row))
        yield 0, b"".join(quoted), f"with {sign!r} about the fields that say it"


def _without(row: bytes, what: re.Pattern[bytes]) -> Iterator[Way]:
    for m in list(what.finditer(row))[:MOST_SIGNS]:
        yield 0, row[: m.start()] + row[m.end() :], f"without its {m[0].decode('utf-8', 'replace')!r}"


def _cut(row: bytes, said: Sequence[bytes]) -> Iterator[Way]:
    """The line up to what an argument says."""
    for value in (v for v in said if v in row):
        yield 0, row[: row.index(value) + len(value)] + b"\n", "up to what an argument says"
