"""Other contents and other names: what a file may hold instead, and texts that are nearly what an argument says. Pure."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from random import Random

DRAWN = 9
"""Ways to edit a file that chance draws from, see ``edited``; NEAR is ``near_lines``."""
GROWN, EMPTY, NEAR, UNENDED, NUMBERS, CASES = 3, 4, 5, 6, 7, 8
NEAR_AFTER, SUFFIXED, PREFIXED, ABOVE = 9, 10, 11, 12
"""More ways: near lines behind all others (``near_lines``), and lines that hold one that is to be written (``holding``)."""
REPEATED, BLANK, BARE, SAID, PADDED = 13, 14, 15, 16, 17
"""A word of the arguments twice where it stood once (``repeated``); a blank line, a line of one word (``with_line``), lines of
what arguments say and the text does not (``saying``)."""
EDITS = 18
STRANGE = frozenset({NEAR, NEAR_AFTER, SUFFIXED, PREFIXED, ABOVE, SAID})
"""Ways that add what no recording has."""
MOST_NEAR = 8
MAX_LIKE = 1000
"""Characters of a line that others are made like: in longer ones a search for words takes too long."""
_COLUMNS = (b",", b";", b"\t", b"|", b":")
_WHOLE_NUMBER = re.compile(r"(?<![\w.:/+-])\d{1,4}(?![\w.:/+-])", re.ASCII)
"""No part of a date, a time, a version, an address or an identifier."""
_WORD = re.compile(r"(?<![\w.])[A-Za-z]{2,}(?![\w.(=])", re.ASCII)
MAX_LINES, MAX_BYTES = 4000, 1 << 21
"""To what a file grows at most."""


def edited(
    content: bytes, how: int, rng: Random, numbers: Sequence[int] = (), *, named: bool = False, kept: frozenset[str] = frozenset()
) -> bytes:
    """Text with its own lines dropped (0), doubled (1) or reordered (2), with many lines like them (3), empty (4), without the
    end of its last line (6), with other whole numbers (7), or with words in another case (8). A list in JSON has its items for
    lines. ``kept``: words and numbers that mean something.

    Of a file that an argument names the first line stays: it may be a header. Nor is one of its lines doubled, because what two
    equal entries mean no recording says. What is no text of several lines stays as it is; of a file that no argument names one
    line is enough for more.
    """
    if how == EMPTY:
        return b""
    if how == UNENDED:
        return content.removesuffix(b"\n")
    if how in (NUMBERS, CASES):
        return _respelled(content, how, rng, kept, named=named)
    if (records := _records(content)) is not None:
        return _with_records(content, _changed(records, how, rng, numbers, named=named))
    if b"\0" in content or content.count(b"\n") < (1 if how in (1, GROWN) and not named else 2):
        return content
    lines = content.splitlines(keepends=True) if b"\r" not in content else content.split(b"\n")
    lines = lines if b"\r" not in content else [*(x + b"\n" for x in lines[:-1]), *([lines[-1]] if lines[-1] else [])]
    last = lines.pop() if not lines[-1].endswith(b"\n") else b""
    head = [lines.pop(0)] if named and len(lines) > 2 else []
    return b"".join([*head, *_changed(lines, how, rng, numbers, named=named)]) + last


def _changed(lines: list[bytes], how: int, rng: Random, numbers: Sequence[int], *, named: bool) -> list[bytes]:
    lines = list(lines)
    if how == 0:
        lines.pop(rng.randrange(len(lines)))
    elif how == 1 and not named:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    elif how == 2:
        rng.shuffle(lines)
    elif how == GROWN:
        lines = _grown(lines, rng, numbers)
    return lines


def _respelled(content: bytes, how: int, rng: Random, kept: frozenset[str], *, named: bool) -> bytes:
    """Half of the whole numbers become others, of other lengths or equal ones; or half of the words change their case."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    head, newline, text = text.partition("\n") if named and text.count("\n") > 1 else ("", "", text)
    pattern = _WHOLE_NUMBER if how == NUMBERS else _WORD
    found = sorted(set(pattern.findall(text)) - kept)
    others = [*found, "2", "9", "10", "100"]

    def other(m: re.Match[str]) -> str:
        word = m.group()
        if word in kept or word.lower() in kept or rng.random() < 0.5:
            return word
        return rng.choice(others) if how == NUMBERS else rng.choice((word.swapcase(), word.upper(), word.capitalize()))

    return (head + newline + pattern.sub(other, text)).encode()


def _records(content: bytes) -> list[bytes] | None:
    """The items of the longest list of a JSON text, each on a line of its own; None where there are not two."""
    if content[:1] not in (b"[", b"{") or len(content) > MAX_BYTES:
        return None
    try:
        items = _longest(json.loads(content))
    except (ValueError, RecursionError):
        return None
    return [json.dumps(i, ensure_ascii=False).encode("utf-8", "surrogatepass") for i in items] if len(items) > 1 else None


def _longest(value: object) -> list[object]:
    parts = value.values() if isinstance(value, dict) else (value,)
    return max((p for p in parts if isinstance(p, list)), key=len, default=[])


def _with_records(content: bytes, records: Sequence[bytes]) -> bytes:
    """The JSON text with other items in its longest list, laid out as before: on one line or on many."""
    value = json.loads(content)
    items = []
    for record in records:
        with contextlib.suppress(ValueError):
            items.append(json.loads(record))
    _longest(value)[:] = items
    text = json.dumps(value, ensure_ascii=False, indent=2 if b"\n" in content.strip() else None)
    return text.encode("utf-8", "surrogatepass") + (b"\n" if content.endswith(b"\n") else b"")


def _grown(lines: Sequence[bytes], rng: Random, numbers: Sequence[int]) -> list[bytes]:
    """More lines, and more bytes, than any number that the skill mentions: the given ones again, each with words of its own."""
    size = max([0, *(n for n in numbers if n > MAX_LINES and n + 4096 <= MAX_BYTES)])
    count = beyond(numbers, len(lines) + 40, MAX_LINES)
    count = max(count, min(MAX_BYTES // 64, size * len(lines) // max(1, sum(map(len, lines))) + len(lines)) if size else 0)
    out = list(lines)
    while len(out) < count:
        line = rng.choice(lines)
        letters = b"".join(bytes([97 + int(d)]) for d in str(len(out)))
        own = rb'(?<=": ")[^"\\]*[A-Za-z]{2}' if line.startswith(b"{") and b'": "' in line else rb"[A-Za-z]{2,}"
        out.append(re.sub(own, rb"\g<0>" + letters, line, count=1))
    return out


def near(text: str, said: Sequence[str], *, cased: bool = False) -> list[str]:
    """Texts that are nearly what arguments say: a word of theirs with a letter more, or without the mark before it; if ``cased``,
    only in the other case, which some commands take for the same."""
    out: list[str] = []
    for word in said:
        if m := re.search(rf"(?<![^\W\d_]){re.escape(word)}(?![^\W\d_])", text):
            head, tail = text[: m.start()], text[m.end() :]
            if cased:
                out.append(f"{head}{word.swapcase()}{tail}")
                continue
            out += [f"{head}{word}x{tail}", f"{head}x{word}{tail}"]
            out += [f"{head[:-1]}{word}{tail}"] if head[:-1] and not head[-1].isalnum() and head[-1] not in "/ " else []
    return list(dict.fromkeys(t for t in out if t != text))[:MOST_NEAR]


def near_lines(content: bytes, said: Sequence[str], *, named: bool, after: bool = False, cased: bool = False) -> bytes:
    """Text with more lines, which say nearly what arguments say: each behind the line that it is like. Or, ``after`` all lines,
    what lies between the first and the last of those once more for each way to be nearly like them. Of a file that an argument
    names the first line stays."""
    if (records := _records(content)) is not None:
        texts = [r.decode("utf-8", "surrogatepass") for r in records]
        return _with_records(content, [t.encode("utf-8", "surrogatepass") for t in _with_near(texts, said, after, cased)])
    if b"\0" in content or content.count(b"\n") < 2 or not content.endswith(b"\n"):
        return content
    lines = content.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    head, lines = (lines[:1], lines[1:]) if named else ([], lines)
    out = _with_near(lines, said, after, cased)
    return "".join((*head, *out)).encode("utf-8", "surrogateescape") if len(out) <= MAX_LINES else content


def _with_near(lines: Sequence[str], said: Sequence[str], after: bool, cased: bool) -> list[str]:
    near_ones = [near(line, said, cased=cased) for line in lines]
    if not after:
        return [text for line, like in zip(lines, near_ones, strict=True) for text in (line, *like)]
    found = [i for i, like in enumerate(near_ones) if like]
    span = range(found[0], found[-1] + 1) if found else range(0)
    ways = range(min(len(near_ones[i]) for i in found)) if found else range(0)
    return [*lines, *(near_ones[i][way] if near_ones[i] else lines[i] for way in ways for i in span)]


def holding(content: bytes, lines: Sequence[str], how: int) -> bytes:
    """Text with more lines, made of the given ones: with a letter behind, at the end (SUFFIXED) or at the start (ABOVE), or in
    the other case and with a letter before (PREFIXED)."""
    if b"\0" in content or not (content.endswith(b"\n") or not content):
        return content
    made = [f"{x.swapcase()}\nx{x}\n" for x in lines] if how == PREFIXED else [f"{x}x\n" for x in lines]
    more = "".join(made).encode("utf-8", "surrogateescape")
    return more + content if how == ABOVE else content + more


def repeated(content: bytes, said: Sequence[str]) -> bytes:
    """Text in which every line that has a word of the arguments has it twice."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    for word in said:
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", f"{word} {word}", text)
    return text.encode("utf-8")


def with_line(content: bytes, line: bytes) -> bytes:
    """Text with one more line in the middle; the first and the last line stay what they are. A table gets no row without columns:
    what is right for it no recording says, and commands do it by chance (``cut`` prints it whole). A blank line is no row."""
    if b"\0" in content or content.count(b"\n") < 2 or content[:1] in (b"[", b"{"):
        return content
    lines = content.split(b"\n")
    counts = ({row.count(mark) for row in lines if row} for mark in _COLUMNS)
    if line.strip() and any(len(count) == 1 and count != {0} for count in counts):
        return content
    return b"\n".join([*lines[: len(lines) // 2], line, *lines[len(lines) // 2 :]])


def saying(content: bytes, said: Sequence[str]) -> bytes:
    """Text with lines behind its first one that have a word of the arguments which it does not have: each is the next line with
    that word in the place of those that arguments say too, or of its last one. What the task writes may stand there already."""
    if b"\0" in content or b"\n" not in content or content[:1] in (b"[", b"{"):
        return content
    head, _, tail = content.decode("utf-8", "surrogateescape").partition("\n")
    like = tail.partition("\n")[0] or head
    if len(like) > MAX_LIKE:
        return content
    heard = re.compile("|".join(rf"\w*{re.escape(w)}\w*" for w in said) or r"(?!)")
    pattern = heard if heard.search(like) else re.compile(r"[^\W\d_]{2,}(?=[\W\d_]*$)")
    lines = [pattern.sub(word, like) for word in said if word not in head + tail][:MOST_NEAR]
    text = "".join(f"{x}\n" for x in (head, *(x for x in lines if x != like))) + tail
    return text.encode("utf-8", "surrogateescape")


def beyond(numbers: Sequence[int], least: int, most: int) -> int:
    """A count above every number up to ``most`` that the skill mentions, and not below ``least``."""
    return max([least, *(n + n // 8 + 3 for n in numbers if n + n // 8 + 3 <= most)])
