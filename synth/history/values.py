"""Values and names in text: what changes from one commit of a kind to the next, and what stays when they are left out."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

HASH, VALUE, NAME = "<hash>", "<value>", "<name>"
_VALUE = re.compile(
    r"""
    (?P<hash>(?<![0-9A-Za-z])(?:sha\d{3}-[A-Za-z0-9+/]{16,}={0,2}|[0-9a-f]{32,128}(?![0-9A-Za-z])))
    |(?<![0-9A-Za-z.])[vV]?\d+(?:[.]\d+|[.][x*](?!\w))*(?:[-+._]?(?:a|b|c|rc|dev|alpha|beta|pre|preview|post|snapshot|p)[-.]?\d*(?![A-Za-z])|[-+_/.:]\d+)*(?![A-Za-z]{2})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\W\d_][\w.+-]*(?:/[\w.+-]+)*")
_SIGNS = re.compile(f"({HASH}|{VALUE}|{NAME})")


@lru_cache(maxsize=1 << 16)
def abstract(text: str) -> str:
    """The text with its values as signs: hashes, and numbers, versions, dates."""
    return _VALUE.sub(lambda m: HASH if m["hash"] else VALUE, text)


def values(text: str) -> list[str]:
    """The values of a text, in order."""
    return [m[0] for m in _VALUE.finditer(text)]


def tokens(text: str) -> list[str]:
    """Words and names with slashes of a text whose values are signs, in lower case."""
    return [m[0].rstrip(".").lower() for part in _SIGNS.split(text) if not _SIGNS.fullmatch(part) for m in _TOKEN.finditer(part)]


def leading(token: str) -> list[str]:
    """A name with slashes, and each name that it begins with."""
    return [token, *(token[: m.start()] for m in re.finditer("/", token))]


def without_names(text: str, names: Set[str]) -> str:
    """The text, its values as signs, with these tokens as signs too, in lower case."""

    def sign(match: re.Match[str]) -> str:
        found = next((n for n in leading(match[0].rstrip(".").lower()) if n in names), None)
        return NAME + match[0][len(found) :].lower() if found else match[0].lower()

    return "".join(p if _SIGNS.fullmatch(p) else _TOKEN.sub(sign, p) for p in _SIGNS.split(text))
