"""What a recording did to its files, whatever commands did it: what two ways to do one task have in common. Pure."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, NamedTuple

MOST_WORDS = 60
LONGEST = 200_000
"""Characters of base64 from which a content is only another one."""
_WORD = re.compile(r"\w[\w.=/-]*")


class Deed(NamedTuple):
    """The changes between two snapshots."""

    kinds: tuple[str, ...] = ()
    """Sorted, each once: ``add lines``, ``change a line``, ``create``, ``mode 600``, ``move``, ``remove`` …"""
    files: tuple[str, ...] = ()
    """Names of the changed files, without their folders, sorted."""
    endings: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Words of the lines that were added, sorted."""


NOTHING = Deed()


def deed(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Deed:
    """What was done between two raw snapshot objects (docs/design.md, "The trace format"); nothing without both."""
    if before is None or after is None:
        return NOTHING
    changed = [p for p in before.keys() | after.keys() if before.get(p) != after.get(p) and ".git/" not in f"{p}/"]
    files = [p for p in changed if "dir" not in (_type(before.get(p)), _type(after.get(p)))]
    kinds = _moved({_kind(before.get(p), after.get(p)) for p in files or changed})
    words: Counter[str] = Counter()
    for p in files:
        words.update(chain.from_iterable(map(_WORD.findall, _lines(after.get(p)) - _lines(before.get(p)))))
    paths = [PurePosixPath(p) for p in files]
    return Deed(
        tuple(sorted(kinds)), tuple(sorted({p.name for p in paths})), tuple(sorted({p.suffix for p in paths} - {""})),
        tuple(sorted(w for w, _ in words.most_common(MOST_WORDS))),
    )  # fmt: skip


def _type(entry: Any) -> str:
    return str(entry.get("type")) if isinstance(entry, Mapping) else ""


def _moved(kinds: set[str]) -> set[str]:
    return (kinds - {"create", "remove"}) | {"move"} if {"create", "remove"} <= kinds else kinds


def _kind(old: Any, new: Any) -> str:
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return "create" if isinstance(new, Mapping) else "remove"
    if old.get("content_b64") == new.get("content_b64"):
        return f"mode {new.get('mode')}" if old.get("mode") != new.get("mode") else "target"
    before, after = _lines(old), _lines(new)
    if before == after:
        return "order lines"
    if not after - before or not before - after:
        return "add lines" if after - before else "remove lines"
    if before.total() != after.total():
        return "rewrite"
    return "change a line" if (after - before).total() == 1 else "change lines"


def _lines(entry: Any) -> Counter[str]:
    text = str(entry.get("content_b64") or "") if isinstance(entry, Mapping) else ""
    if len(text) > LONGEST:
        return Counter({text[:64]: 1})
    try:
        return Counter(base64.b64decode(text).decode("utf-8").split("\n"))
    except ValueError:
        return Counter({text[:64]: 1})


def effect_kinds(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Kinds of change between two raw snapshot objects (docs/design.md, "The trace format"); empty without both."""
    if before is None or after is None:
        return ()
    kinds: set[str] = set()
    for path in before.keys() | after.keys():
        a, b = before.get(path), after.get(path)
        if a == b:
            continue
        if a is None or b is None:
            kinds.add("created" if a is None else "removed")
        else:
            kinds.update(key for key in ("type", "mode", "content_b64", "target") if a.get(key) != b.get(key))
    return tuple(sorted(kinds))
