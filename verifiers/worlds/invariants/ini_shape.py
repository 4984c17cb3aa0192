"""The file is INI: sections, no name twice among them and no key twice in one, and no line before the first."""

from __future__ import annotations

import configparser
from functools import lru_cache

from verifiers.worlds.invariants.documents import Document
from verifiers.worlds.invariants.json_shape import read as read_json


@lru_cache(maxsize=256)
def sections(text: str) -> frozenset[str] | None:
    """The names of the sections; None for what is no INI, or has none: a JSON list in brackets is none."""
    if read_json(text) is not ...:
        return None
    parser = configparser.RawConfigParser(allow_no_value=True, default_section="")
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError, AttributeError):  # the last: a name without a value that goes on in the next line
        return None
    return frozenset(parser.sections()) or None


KIND = Document("ini", "INI", sections)
