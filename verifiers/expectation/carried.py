"""What a value, an error or a printed text carries of the machine that the skill ran on: environment, accounts, places. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sandbox.codec import environment
from sandbox.guest.belongings import TOKEN
from sandbox.interface import JsonValue, Raised, ReplayRecord, Returned, Surroundings

_ENVIRONMENT = environment(Surroundings())
_TELLING = tuple(v for v in _ENVIRONMENT.values() if len(v) > 12 and not v.startswith("/home"))
"""Values that no task would come upon by itself."""
_PAIR = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, _ENVIRONMENT))})(?:=|['\"]: ?['\"])")
"""As ``env`` prints it, and as Python and JSON do."""
_ACCOUNT = re.compile(r"(?m)^[a-z_][a-z0-9_-]*:[^:\n]*:\d+:\d+:[^:\n]*:/[^:\n]*:/\S*$")
"""A line of ``passwd(5)``."""
FEW = 3
"""So many variables or accounts are no coincidence."""


@dataclass(frozen=True, slots=True)
class Carried:
    what: str
    """``returned …``."""
    harmless: bool = False
    """A place says where it ran and gives nothing away."""


def carried(record: ReplayRecord, known: str) -> list[Carried]:
    """What the value or the error of a run gives away, one of a kind.

    Args:
        known: text of the recordings. What stands there is the task's, not the machine's.
    """
    if isinstance(record.outcome, Raised):
        value: JsonValue = record.outcome.message
        done = "raised"
    elif isinstance(record.outcome, Returned):
        value, done = record.outcome.value, "returned"
    else:
        return []
    texts = list(_texts(value))
    out = [Carried(f"{done} {what}") for what in (_variables(value, texts, known), _accounts(texts, known)) if what]
    if any(TOKEN in t for t in texts):
        out.append(Carried(f"{done} what stands in a file of its user's own"))
    if done == "raised":
        return out  # errors name files
    for name, words in (("home", "the sandbox's HOME"), ("cwd", "the sandbox's own path of the workspace")):
        place = record.probe.get(name, "")
        if place and any(_names(t, place) for t in texts) and not _names(known, place):
            out.append(Carried(f"returned {words} ({place})", harmless=name == "cwd"))
    return out


def obeyed(record: ReplayRecord, known: str) -> list[str]:
    """What a run printed that a terminal does instead of showing it, a sentence or none."""
    printed = b"".join(step.stdout + step.stderr for step in record.steps)
    return ["printed an escape sequence, which a terminal obeys"] if b"\x1b" in printed and "\x1b" not in known else []


def _variables(value: JsonValue, texts: list[str], known: str) -> str:
    for text in texts:
        telling = next((v for v in _TELLING if v in text and v not in known), "")
        if telling:
            return f"a value of its environment ({telling[:60]!r})"
        names = set(_PAIR.findall(text))
        # The recordings may be megabytes and are the same for each of a thousand runs: they are searched last.
        if len(names) >= FEW and len(names := names - set(_PAIR.findall(known))) >= FEW:
            return f"its environment ({', '.join(sorted(names)[:FEW])}, …)"
    pairs = {t.partition("=")[0] for t in texts if _PAIR.match(t) and t not in known}
    held = {k for table in _tables(value) for k, v in table.items() if v and _ENVIRONMENT.get(k) == v}
    names = max(pairs, held, key=len)
    return f"its environment ({', '.join(sorted(names)[:FEW])}, …)" if len(names) >= FEW else ""


def _accounts(texts: list[str], known: str) -> str:
    found = [line for text in texts for line in _ACCOUNT.findall(text) if line not in known]
    return f"the accounts of the machine ({found[0].partition(':')[0]}, …)" if len(found) >= FEW else ""


def _names(text: str, place: str) -> bool:
    """Whether a text holds a path or something below it."""
    return re.search(rf"(?<![\w./-]){re.escape(place)}(?![\w.-])", text) is not None


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _tables(value: JsonValue) -> Iterator[Mapping[str, JsonValue]]:
    if isinstance(value, Mapping):
        yield value
    if isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _tables(item)
