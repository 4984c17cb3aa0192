"""What the library's own things are called: another name is one of the file's own."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Collection
from functools import lru_cache

_USUAL = frozenset(
    """__future__ abc argparse array ast asyncio base64 binascii bisect bz2 calendar codecs collections configparser contextlib
    copy csv dataclasses datetime decimal difflib enum errno filecmp fnmatch fractions functools glob gzip hashlib heapq html io
    itertools json logging lzma math operator os pathlib posixpath pprint random re secrets shlex shutil sqlite3 stat statistics
    string struct subprocess sys tarfile tempfile textwrap threading time tomllib types typing unicodedata uuid warnings zipfile
    zlib zoneinfo""".split()  # noqa: SIM905  (a list of words reads better as text)
)
_ALWAYS = ("builtins", "collections", "datetime", "io", "os", "pathlib", "re", "types")
"""Whose things other modules give."""
_PARTS = {"collections.abc", "os.path", "xml.etree.ElementTree"}


def names(imported: Collection[str]) -> frozenset[str] | None:
    """Every name of these modules and of their classes, and of the built-in ones; None where a module is not a usual one.

    Args:
        imported: modules, or things in modules, dotted.
    """
    found = set(_ALWAYS)
    for dotted in imported:
        module = next((p for p in _PARTS if f"{dotted}.".startswith(f"{p}.")), dotted.partition(".")[0])
        if module in _USUAL | _PARTS:
            found.add(module)
        elif module != "skill_api":
            return None
    return frozenset().union(*map(_of, found))


@lru_cache(128)
def _of(module: str) -> frozenset[str]:
    there = vars(importlib.import_module(module))
    return frozenset(there).union(*(dir(thing) for thing in there.values() if inspect.isclass(thing)))
