"""The file is TOML with tables: lines of keys and values alone may be that by accident."""

from __future__ import annotations

import tomllib
from functools import lru_cache

from verifiers.worlds.invariants.documents import Document


@lru_cache(maxsize=256)
def keys_of(text: str) -> frozenset[str] | None:
    """The keys at the top; None for what is no TOML, or has no table."""
    try:
        top = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    return frozenset(top) if any(isinstance(value, dict) for value in top.values()) else None


KIND = Document("toml", "TOML", keys_of)
