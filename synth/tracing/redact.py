"""Secrets out of names, files and prompts, value by value: no secret is looked for across two fields, and none after quoting.

What is one, ``secret_rules`` says. What stays: ordinary words, paths, numbers, UUIDs, plain hexadecimal digests, which commands
need (``md5sum``, git), and encoded data. A replacement is as long as what it replaces and the same everywhere in a trace, so
that a redacted trace still replays; where its replay needs the very bytes, ``metadata.redacted`` lets the report say so.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from synth.interface import ExecutionTrace
from synth.tracing.secret_rules import is_secret_name, secrets_in
from synth.tracing.traces import trace_from_record, trace_to_record
from verifiers.interface import REDACTED


def mask(secret: str, number: int = 1) -> str:
    """A replacement of the same length in characters, made of letters and digits."""
    label = f"REDACTED{number}" if len(secret) > len(f"REDACTED{number}") else f"R{number}"
    return (label + "x" * len(secret))[: len(secret)]


def redact(text: str) -> str:
    """The text without its secrets, for prompts, names and reports."""
    found = secrets_in(text)
    return _masker(found)(text) if found else text


def redact_value(value: Any) -> Any:
    """A JSON value with the secrets of every string in it taken out, those of keys too; one mask for one secret."""
    found = _secrets_of(value)
    return _visit(value, _masker(found)) if found else value


def redact_trace(trace: ExecutionTrace) -> ExecutionTrace:
    """The trace with every secret replaced alike in description, commands, outputs, metadata, paths and file contents.

    How many there were stands in its metadata: nothing is altered silently.
    """
    record = trace_to_record(trace)
    secrets = _secrets_of(record)
    if not secrets:
        return trace
    clean = _visit(record, _masker(secrets))
    clean["metadata"][REDACTED] = len(secrets) + _number(trace.metadata.get(REDACTED))
    return replace(trace_from_record(clean, f"trace {trace.task_id}"), timestamp=trace.timestamp)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _secrets_of(value: Any) -> list[str]:
    """The secrets of every string of a JSON value, each string looked at alone; longest first."""
    texts: dict[str, None] = {}

    def collect(text: str) -> str:
        texts[text] = None
        return text

    _visit(value, collect)
    texts |= dict.fromkeys(_named_by_keys(value))
    return sorted({s for text in texts for s in secrets_in(text)}, key=lambda s: (-len(s), s))


def _named_by_keys(value: Any) -> Iterator[str]:
    """Every text that stands under the name of a secret, with that name before it: a field's name is a part of it."""
    if isinstance(value, Mapping):
        yield from (f"{k}: {v}" for k, v in value.items() if isinstance(v, str) and is_secret_name(k) and "\n" not in v)
    if isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _named_by_keys(item)


def _masker(secrets: Sequence[str]) -> Callable[[str], str]:
    """What takes secrets out in one pass, the first in the list first: what a mask holds is never taken for a secret."""
    masks = {s: mask(s, n) for n, s in enumerate(secrets, 1)}
    any_of = re.compile("|".join(map(re.escape, masks)))
    return lambda text: any_of.sub(lambda m: masks[m[0]], text)


def _visit(value: Any, change: Callable[[str], str], key: str = "") -> Any:
    """A JSON value with every string, keys and decoded file contents included, passed through ``change``."""
    if isinstance(value, str):
        return _content(value, change) if key == "content_b64" else change(value)
    if isinstance(value, Mapping):
        return {change(k): _visit(v, change, k) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_visit(v, change) for v in value]
    return value


def _content(encoded: str, change: Callable[[str], str]) -> str:
    try:
        raw = base64.b64decode(encoded, validate=True)
    except ValueError:  # no base64, or no text that could be
        return encoded
    return base64.b64encode(change(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")).decode("ascii")
