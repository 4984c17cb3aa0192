"""The task signature of Wayland Core, exact: the three longest content words of a request, in alphabetical order.

Source: wayland-core ``crates/wcore-agent/src/auto_skill/bucketer.rs`` (the same from v0.10.0 to v0.13.4, restated, not copied).
A signature is a first key only: it merges "sum of column price" with "max of column price",
and splits "fix test" from "fix tests".
"""

from __future__ import annotations

import bisect
import json
from functools import cache
from importlib.resources import files

_STOP = """
the a an and or but of to in on with for is are was were be been this that it i you we they
do does did please can could should would my your from by at as if so not no yes
"""
STOPWORDS = frozenset(_STOP.split())
KEPT = 3
"""Words of a signature."""
_MIN_BYTES = 2


@cache
def _extra_ranges() -> tuple[list[int], list[int]]:
    """Starts and (inclusive) ends of the code points that Rust calls alphanumeric and Python may not."""
    data = json.loads(files(__package__).joinpath("alnum_ranges.json").read_text("utf-8"))
    ranges = sorted((int(a, 16), int(b, 16)) for key in ("extra_marks", "newer_than_python_unidata") for a, b in data[key])
    return [a for a, _ in ranges], [b for _, b in ranges]


@cache
def is_alphanumeric(char: str) -> bool:
    """Whether Rust's ``char::is_alphanumeric`` holds: Python's ``isalnum`` or one of the marks and symbols that it leaves out."""
    if char.isalnum():
        return True
    starts, ends = _extra_ranges()
    at = bisect.bisect_right(starts, ord(char)) - 1
    return at >= 0 and ord(char) <= ends[at]


def tokens(text: str) -> list[str]:
    """Maximal runs of alphanumeric characters of the lower-cased text, in order."""
    lowered = text.lower()
    if lowered.isascii():
        return "".join(c if c.isalnum() else " " for c in lowered).split(" ")
    return "".join(c if is_alphanumeric(c) else "\0" for c in lowered).split("\0")


def signature(text: str) -> str:
    """The signature of a request, "" when no content word is left.

    Lengths are bytes of UTF-8, as upstream: a single "é" counts as two and survives.
    """
    words = [w for w in tokens(text) if len(w.encode("utf-8", "surrogatepass")) >= _MIN_BYTES and w not in STOPWORDS]
    distinct = list(dict.fromkeys(words))
    longest = sorted(distinct, key=lambda w: -len(w.encode("utf-8", "surrogatepass")))[:KEPT]
    return "-".join(sorted(longest))
