"""Values in text: what changes from one commit of a kind to the next, and what stays when they are left out."""

from __future__ import annotations

import re
from functools import lru_cache

_VALUE = re.compile(
    r"""
    (?P<hash>(?<![0-9A-Za-z])(?:sha\d{3}-[A-Za-z0-9+/]{16,}={0,2}|[0-9a-f]{32,}|(?=[a-f]*\d)[0-9a-f]{7,31}(?![0-9A-Za-z.])(?<=[a-f0-9])(?<!\d{7})))
    |(?P<date>(?<!\d)\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d))
    |(?P<version>(?<![0-9A-Za-z.])[vV]?\d+(?:\.(?:\d+|[x*]))+(?:[-+._]?(?:\d+|[A-Za-z]+\.?\d+|dev|alpha|beta|rc|preview|snapshot|SNAPSHOT)\b)*)
    |(?P<number>(?<![A-Za-z0-9])[vV]?\d+(?![A-Za-z]))
    """,
    re.VERBOSE,
)
_SIGNS = {"hash": "<hash>", "date": "<date>", "version": "<version>", "number": "<number>"}


@lru_cache(maxsize=65536)
def abstract(text: str) -> str:
    """The text with its values as signs: hashes, dates, versions and numbers."""
    return _VALUE.sub(lambda m: _SIGNS[str(m.lastgroup)], text)


def values(text: str) -> list[str]:
    """The values of a text, in order."""
    return [m[0] for m in _VALUE.finditer(text)]
