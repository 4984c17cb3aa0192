"""Secrets out of names, files and prompts.

What is taken out: tokens of known formats (cloud, forge, model and chat keys, JWTs, private key blocks), values behind words
such as ``password=`` or ``--token``, credentials in URLs, and long words that look random (upper case, lower case and digits
mixed, high entropy). What stays: ordinary words, paths, numbers, UUIDs, plain hexadecimal digests, which commands need
(``md5sum``, git), and running text in base64. A replacement is as long as what it replaces and the same everywhere in a trace,
so that a redacted trace still replays.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from synth.interface import ExecutionTrace
from synth.tracing.traces import trace_from_record, trace_to_record

_FORMATS = (
    r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{30,}\b",
    r"\bgithub_pat_[A-Za-z0-9_]{40,}\b",
    r"\bglpat-[A-Za-z0-9_\-]{20,}",
    r"\bsk-(?:ant-|proj-|or-|live-|test-)?[A-Za-z0-9_\-]{20,}",
    r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}\b",
    r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}",
    r"\bAIza[0-9A-Za-z_\-]{35}",
    r"\bya29\.[0-9A-Za-z_\-]{20,}",
    r"\bnpm_[A-Za-z0-9]{36}\b",
    r"\bpypi-[A-Za-z0-9_\-]{40,}",
    r"\bhf_[A-Za-z0-9]{30,}\b",
    r"\bSG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
    r"\bdop_v1_[a-f0-9]{64}\b",
    r"\beyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
)
_KNOWN = re.compile("|".join(f"(?:{f})" for f in _FORMATS), re.DOTALL)
_WORD = r"(?:pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|credential)s?"
_VALUE = r"[\"']?(?P<value>[^\s\"',;&|<>(){}$`]{6,})"
_NAMED = re.compile(rf"(?i){_WORD}[\"']?\s*[=:]\s*{_VALUE}")
_OPTION = re.compile(rf"(?i)(?:--[\w-]*{_WORD}|\bbearer)\s+{_VALUE}")
_URL = re.compile(r"\b[a-z][a-z0-9+.\-]*://[^\s/:@]*:(?P<value>[^\s/@]+)@")
_LONG = re.compile(r"[A-Za-z0-9+_\-=]{20,}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F\-]+")
_ENTROPY_BITS = 3.6
"""Per character: random base62 of 20 characters is above 3.8."""


def secrets_in(text: str) -> list[str]:
    """The secrets of a text, longest first, each once."""
    found = {m[0] for m in _KNOWN.finditer(text)}
    for pattern in (_NAMED, _OPTION, _URL):
        found.update(m["value"] for m in pattern.finditer(text) if not _harmless(m["value"]))
    random = (m[0] for m in _LONG.finditer(_BASE64.sub(lambda m: " " if is_encoded_text(m[0]) else m[0], text)))
    found.update(word for word in random if looks_random(word))
    return sorted((f for f in found if f), key=lambda f: (-len(f), f))


def _harmless(value: str) -> bool:
    """A path, a placeholder or a name rather than a secret: ``token: tokens.txt``, ``password=***``."""
    path = "/" in value and (value[0] in "/.~" or value == value.lower())
    return path or bool(re.fullmatch(r"[*x.…]+|[\w-]+\.\w{1,5}|<.*>|\[.*\]|[Rr]EDACTED\w*", value))


def looks_random(word: str) -> bool:
    """Whether a long word mixes cases and digits as keys do and dictionary words, paths and digests do not."""
    if len(word) < 20 or _HEX.fullmatch(word):
        return False
    if not (re.search(r"[a-z]", word) and re.search(r"[A-Z]", word) and re.search(r"\d", word)):
        return False
    switches = sum(a.isdecimal() != b.isdecimal() for a, b in pairwise(word))
    return entropy(word) >= _ENTROPY_BITS and switches >= 3


def is_encoded_text(run: str) -> bool:
    """Whether base64 holds text of several words without a secret: a key's random bytes do not, nor do ``user:password``."""
    try:
        text = base64.b64decode(run, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    plain = all(c.isprintable() or c.isspace() for c in text)
    return plain and len(text.split()) > 1 and not secrets_in(text)


def entropy(word: str) -> float:
    """Shannon entropy in bits a character."""
    counts = Counter(word)
    return -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values())


def mask(secret: str, number: int = 1) -> str:
    """A replacement of the same length in characters, made of letters and digits."""
    label = f"REDACTED{number}"
    return (label + "x" * len(secret))[: len(secret)]


def redact(text: str) -> str:
    """The text without its secrets, for prompts, names and reports."""
    for number, secret in enumerate(secrets_in(text), 1):
        text = text.replace(secret, mask(secret, number))
    return text


def redact_trace(trace: ExecutionTrace) -> ExecutionTrace:
    """The trace with every secret replaced alike in description, commands, outputs, metadata, paths and file contents."""
    record = trace_to_record(trace)
    texts: list[str] = []

    def collect(text: str) -> str:
        texts.append(text)
        return text

    _visit(record, collect)
    secrets = secrets_in("\n".join(texts))
    if not secrets:
        return trace
    masks = {s: mask(s, n) for n, s in enumerate(secrets, 1)}
    clean = trace_from_record(_visit(record, lambda s: _masked(s, masks)), f"trace {trace.task_id}")
    return replace(clean, timestamp=trace.timestamp)


def _masked(text: str, masks: Mapping[str, str]) -> str:
    for secret, other in masks.items():
        text = text.replace(secret, other)
    return text


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
    except binascii.Error:
        return encoded
    return base64.b64encode(change(raw.decode("latin-1")).encode("latin-1")).decode("ascii")
