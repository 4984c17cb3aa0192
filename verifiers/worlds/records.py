"""The records of a content: lines, groups of lines, or the items of a list in JSON. Pure."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from verifiers.worlds.invariants.name_shape import build

MAX_LINES, MAX_BYTES = 4000, 1 << 21
"""To what a file grows at most."""


@dataclass(frozen=True, slots=True)
class Records:
    """A content taken apart."""

    items: list[str]
    joined: Callable[[Sequence[str]], bytes]
    """The content with other records."""
    whole: bool = True
    """Whether nothing is left over behind the last one."""

    def framed(self, framing: Collection[str]) -> bool:
        """Whether one of them is a line that frames others: then they are none."""
        return any(item.removesuffix("\n") in framing for item in self.items)


def records(content: bytes, size: int = 1, *, head: bool = False) -> Records | None:
    """Records of ``size`` lines; of JSON the items of its longest list, if there are two; of a text the paragraphs or parts that
    begin alike, if it has such. ``head``: the first one stays, and so does what is no whole record at the end. None for what is
    no text of lines."""
    if (found := _json_records(content)) is not None:
        return found
    if b"\0" in content:
        return None
    if size == 1 and (found := _blocks(decoded(content), head)) is not None:
        return found
    *lines, rest = decoded(content).split("\n")
    lines = _hanging(_continued([f"{line}\n" for line in lines])) if size == 1 else [f"{line}\n" for line in lines]
    first = int(head)
    last = len(lines) - (len(lines) - first) % size
    items = ["".join(lines[n : n + size]) for n in range(first, last, size)]
    before, after = "".join(lines[:first]), "".join((*lines[last:], rest))
    return Records(items, lambda new: encoded(before + "".join(new) + after), not after)


def _continued(lines: Sequence[str]) -> list[str]:
    """A line that ends in a backslash goes on in the next one."""
    out: list[str] = []
    for line in lines:
        if out and out[-1].endswith("\\\n"):
            out[-1] += line
        else:
            out.append(line)
    return out


def _hanging(lines: Sequence[str]) -> list[str]:
    """What is set in below lines that begin with one word (``BO_ 291 …``, ``interface eth0``) belongs to them."""
    above = (a for a, b in pairwise(lines) if re.match(r"\w", a) and re.match(r"[ \t]+\S", b))
    heads = Counter(head.split(maxsplit=1)[0] for head in above)
    if max(heads.values(), default=0) < 2:
        return list(lines)
    out: list[str] = []
    for line in lines:
        if out and line.strip() and line[0].isspace():
            out[-1] += line
        else:
            out.append(line)
    return out


def _blocks(text: str, head: bool) -> Records | None:
    """Paragraphs that begin alike (``@book``, ``## 1.2``, a number), with a blank line between them, or parts that begin with the
    same line: no single line is a record."""
    body = text.strip("\n")
    parts, gap = _alike(body.split("\n\n")), "\n\n"
    if len(parts) > 1:
        body = gap.join(parts)
    elif len(ended := _ended(body)) > 1:
        parts, gap = ended, "\n"
    else:
        body = body[_first_mark(body) :]
        parts, gap = _beginning(body), "\n"
    before, _, after = text.partition(body) if body else ("", "", "")
    if len(parts) < 2 or all("\n" not in part for part in parts) or any(not part.strip("\n") for part in parts):
        return None
    if (
        len({"\n\n" in part for part in parts}) > 1
    ):  # they are not alike: a title between two lines of signs, and the text below it
        return None
    kept = [f"{parts[0]}\n"] if head and len(parts) > 2 else []
    items = [f"{part}\n" for part in parts[len(kept) :]]
    return Records(items, lambda new: encoded(before + gap.join(x.removesuffix("\n") for x in (*kept, *new)) + after))


def _alike(parts: Sequence[str]) -> list[str]:
    """The longest run of paragraphs that begin alike: what stands before or behind them is none of them."""
    runs = [list(run) for opening, run in groupby(parts, lambda part: _opening(part.lstrip("\n"))) if opening]
    first, *others = max(runs, key=len, default=[""])
    return [first.lstrip("\n"), *others]


def _ended(body: str) -> list[str]:
    """The parts that end with the same line of signs as the whole does (``==========``, ``//``, ``}``), and begin otherwise. A
    line of quotes or of a fence opens as well as closes."""
    lines = body.split("\n")
    ends = [n for n, line in enumerate(lines, 1) if line == lines[-1]]
    if re.search(r"[\w\s\"'`~]", lines[-1].removesuffix("\r")) or lines[0] == lines[-1]:
        return []
    return ["\n".join(lines[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


def _opening(part: str) -> str:
    """What a paragraph begins with: its key, its sign, or the build of its first line. Nothing for a comment, a section with a
    name, or a blank."""
    if re.match(r"[;\s]|\[(?!\d+\])|#(?!#)", part):
        return ""
    key = re.match(r"[\w-]+[:=]", part)
    return key[0] if key else part[0] if re.match(r"[^\w]", part) else build(part.partition("\n")[0])


def _mark(line: str) -> str:
    """What tells that a record begins with a line, if more than one line begins so: ``-----BEGIN``, ``#EXTINF``, ``- name:``,
    ``[Term]``."""
    found = re.match(r"#+[A-Za-z]+|[@%<>=+!]+[A-Za-z]*|--+[A-Za-z]*|- [A-Za-z]+:|\[\w+\]", line)
    return found[0] if found else ""


def _first_mark(body: str) -> int:
    """Where the first line stands whose mark comes again; 0 if there is none."""
    lines = body.split("\n")
    often = Counter(map(_mark, lines))
    marks = (n for n, line in enumerate(lines) if _mark(line) and often[_mark(line)] > 1)
    return sum(len(line) + 1 for line in lines[: next(marks, 0)])


def _beginning(body: str) -> list[str]:
    """The parts that begin with the same line, or with the same mark."""
    lines = body.split("\n")
    starts = [n for n, line in enumerate(lines) if line == lines[0] or (_mark(line) and _mark(line) == _mark(lines[0]))]
    return ["\n".join(lines[a:b]) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]


def in_parts(content: bytes) -> bool:
    """Whether the records of a text are parts of several lines: a line alone is none."""
    return b"\0" not in content and _blocks(decoded(content), head=False) is not None


def takes_lines(content: bytes) -> bool:
    """Whether one more line may stand in a file: a text that is not all one value in JSON."""
    if b"\0" in content:
        return False
    try:
        return content[:1] not in (b"[", b"{") or not isinstance(json.loads(content), dict | list)
    except (ValueError, RecursionError):
        return True


def decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _json_records(content: bytes) -> Records | None:
    if content[:1] not in (b"[", b"{") or len(content) > MAX_BYTES:
        return None
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    longest = _longest(value)
    if len(longest) < 2:
        return None
    items = [json.dumps(i, ensure_ascii=False) for i in longest]

    def joined(new: Sequence[str]) -> bytes:
        longest[:] = _read(new)
        text = json.dumps(value, ensure_ascii=False, indent=2 if b"\n" in content.strip() else None)
        return text.encode("utf-8", "surrogatepass") + (b"\n" if content.endswith(b"\n") else b"")

    return Records(items, joined)


def _longest(value: object) -> list[object]:
    parts = value.values() if isinstance(value, dict) else (value,)
    return max((p for p in parts if isinstance(p, list)), key=len, default=[])


def _read(items: Sequence[str]) -> list[object]:
    out = []
    for item in items:
        with contextlib.suppress(ValueError):
            out.append(json.loads(item))
    return out


def put(row: str, at: tuple[int, int], new: str) -> str:
    """The line with another text at a place. Where blanks stand before it, as in columns of one width, what follows stays where
    it is."""
    begin, end = at
    free = begin - len(row[:begin].rstrip(" "))
    more = len(new) - (end - begin)
    if free > 1 and more < free:
        begin, new = begin - max(more, 0), new.rjust(end - begin)
    return row[:begin] + new + row[end:]
