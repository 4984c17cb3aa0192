"""Other contents and other names: what a file may hold instead, and texts that are nearly what an argument says. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

EDITS = 7
"""Ways to edit a file, see ``edited``; NEAR is ``near_lines``."""
GROWN, EMPTY, NEAR, UNENDED = 3, 4, 5, 6
MOST_NEAR = 8
MAX_LINES, MAX_BYTES = 4000, 1 << 21
"""To what a file grows at most."""


def edited(content: bytes, how: int, rng: Random, numbers: Sequence[int] = (), *, named: bool = False) -> bytes:
    """Text with its own lines dropped (0), doubled (1) or reordered (2), with many lines like them (3), empty (4), or without the
    end of its last line (6).

    Of a file that an argument names the first line stays: it may be a header. Nor is one of its lines doubled, because what two
    equal entries mean no recording says. What is no text of several lines stays as it is.
    """
    if how == EMPTY:
        return b""
    if how == UNENDED:
        return content.removesuffix(b"\n")
    if b"\0" in content or content.count(b"\n") < 2:
        return content
    lines = content.splitlines(keepends=True) if b"\r" not in content else content.split(b"\n")
    lines = lines if b"\r" not in content else [*(x + b"\n" for x in lines[:-1]), *([lines[-1]] if lines[-1] else [])]
    last = lines.pop() if not lines[-1].endswith(b"\n") else b""
    head = [lines.pop(0)] if named and len(lines) > 2 else []
    if how == 0:
        lines.pop(rng.randrange(len(lines)))
    elif how == 1 and not named:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    elif how == 2:
        rng.shuffle(lines)
    elif how == GROWN:
        lines = _grown(lines, rng, numbers)
    return b"".join([*head, *lines]) + last


def _grown(lines: Sequence[bytes], rng: Random, numbers: Sequence[int]) -> list[bytes]:
    """More lines, and more bytes, than any number that the skill mentions: the given ones again, each with words of its own."""
    size = max([0, *(n for n in numbers if n > MAX_LINES and n + 4096 <= MAX_BYTES)])
    count = beyond(numbers, len(lines) + 40, MAX_LINES)
    count = max(count, min(MAX_BYTES // 64, size * len(lines) // max(1, sum(map(len, lines))) + len(lines)) if size else 0)
    out = list(lines)
    while len(out) < count:
        line = rng.choice(lines)
        letters = b"".join(bytes([97 + int(d)]) for d in str(len(out)))
        out.append(re.sub(rb"[A-Za-z]{2,}", rb"\g<0>" + letters, line, count=1))
    return out


def near(text: str, said: Sequence[str]) -> list[str]:
    """Texts that are nearly what arguments say: a word of theirs in the other case, with a letter more, or without the mark
    before it."""
    out: list[str] = []
    for word in said:
        if m := re.search(rf"(?<![^\W\d_]){re.escape(word)}(?![^\W\d_])", text):
            head, tail = text[: m.start()], text[m.end() :]
            out += [f"{head}{word.swapcase()}{tail}", f"{head}{word}x{tail}", f"{head}x{word}{tail}"]
            out += [f"{head[:-1]}{word}{tail}"] if head[:-1] and not head[-1].isalnum() and head[-1] not in "/ " else []
    return list(dict.fromkeys(t for t in out if t != text))[:MOST_NEAR]


def near_lines(content: bytes, said: Sequence[str], *, named: bool) -> bytes:
    """Text with more lines, which say nearly what arguments say. Of a file that an argument names the first line stays."""
    if b"\0" in content or content.count(b"\n") < 2 or not content.endswith(b"\n"):
        return content
    lines = content.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    head, lines = (lines[:1], lines[1:]) if named else ([], lines)
    out = [text for line in lines for text in (line, *near(line, said))]
    return "".join((*head, *out)).encode("utf-8", "surrogateescape") if len(out) <= MAX_LINES else content


def beyond(numbers: Sequence[int], least: int, most: int) -> int:
    """A count above every number up to ``most`` that the skill mentions, and not below ``least``."""
    return max([least, *(n + n // 8 + 3 for n in numbers if n + n // 8 + 3 <= most)])
