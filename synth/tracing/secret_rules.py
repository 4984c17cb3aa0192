"""What a secret looks like: the rules of ``detect-secrets``, and those that commands and environments need besides.

A rule says where in a text a secret stands. The library's rules know the formats of keys, and its list of words the names that
secrets are kept under; it reads source files, so that options, ``netrc`` and unquoted assignments are ours.
"""

from __future__ import annotations

import base64
import binascii
import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.filters import heuristic
from detect_secrets.plugins.base import BasePlugin, RegexBasedDetector
from detect_secrets.plugins.ip_public import IPPublicDetector
from detect_secrets.plugins.keyword import DENYLIST
from detect_secrets.plugins.private_key import PrivateKeyDetector


class FurtherFormats(RegexBasedDetector):
    """Keys of services for which the library has no rule, or a narrower one."""

    secret_type = "Further formats"
    denylist = tuple(
        re.compile(rule)
        for rule in (
            r"\b(?:AGPA|AIDA|AROA)[0-9A-Z]{16}\b",
            r"\bgh[pousr]_[A-Za-z0-9]{30,}\b",
            r"\bgithub_pat_[A-Za-z0-9_]{40,}\b",
            r"\bsk-(?:ant-|proj-|or-|live-|test-)?[A-Za-z0-9_\-]{20,}",
            r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}",
            r"\bAIza[0-9A-Za-z_\-]{35}",
            r"\bya29\.[0-9A-Za-z_\-]{20,}",
            r"\bhf_[A-Za-z0-9]{30,}\b",
            r"\bSG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
            r"\bdop_v1_[a-f0-9]{64}\b",
            r"https://(?:discord(?:app)?\.com/api|[a-z0-9.-]+\.webhook\.office\.com)/webhook\S+",
        )
    )


_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)", re.DOTALL
)
"""The whole block: the library's rule marks its first line."""

_NAMES = "|".join((*DENYLIST, "passphrase", "token", "credential", "access[_-]?key", "bearer"))
_NAME = rf"(?:(?:{_NAMES})[\w-]{{0,40}}|\bpass\b)"
_VALUE = r"(?:\"(?P<quoted>[^\"\n]{4,})\"|'(?P<single>[^'\n]{4,})'|(?P<value>[^\s\"',;&|<>(){}$`\\]{6,}+)(?![(\[]))"
_ASSIGNED = re.compile(rf"(?i){_NAME}[\"'\]]*[ \t]*(?::=|=>|[=:])[ \t]*{_VALUE}")
_OPTION = re.compile(rf"(?i)(?:--[\w-]{{0,40}}(?:{_NAMES})|\bbearer|\bsshpass[ \t]+-p)[ \t]+{_VALUE}")
_SPOKEN = re.compile(rf"(?:\b|_)(?i:{_NAMES})\w{{0,40}}[ \t]+{_VALUE}")
"""``SECRET_KEY_BASE 3f9c…``: here only what looks like a key is one, since words follow words everywhere."""
_NETRC = re.compile(r"\blogin\s+\S+\s+password\s+(?P<value>\S+)")
_MYSQL = re.compile(r"\b(?:mysql|mariadb)\w*\b[^|;&\n]{0,300}?\s-p(?P<value>[^\s'\"]{4,})")
_LOGIN = re.compile(
    r"\b(?:curl|wget|http|https|xh)\b[^|;&\n]{0,300}?\s(?:-u|-a|--user|--auth)[ =]?[\"']?[^\s:\"']+:(?P<value>[^\s\"']+)"
)
_URL = re.compile(r"\b[a-z][a-z0-9+.\-]{0,20}://[^\s/:@]*:(?P<value>[^\s/@]+)@")
_NAMED = (_ASSIGNED, _OPTION, _NETRC, _MYSQL, _LOGIN, _URL)

_WORD = re.compile(r"[A-Za-z0-9+_\-=]{20,}")
_LONGEST_KEY = 100
"""Characters: 64 bytes in base64 have 88. What is longer and of no known format is data."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}(?:\n[A-Za-z0-9+/]+={0,2})*")
_INTEGRITY = re.compile(r"\bsha\d{1,3}-[A-Za-z0-9+/]{20,}={0,2}")
"""A digest as lock files and pages hold it: W3C Subresource Integrity, 3.5."""
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F\-]+")
_KEY_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_ENTROPY_BITS = 3.6
"""Per character: random base62 of 20 characters is above 3.8."""


@functools.lru_cache(maxsize=4096)
def secrets_in(text: str) -> tuple[str, ...]:
    """The secrets of one text, longest first, each once. None reaches over the end of a line, but for a private key's block."""
    found = set(_PRIVATE_KEY.findall(text))
    for line in _lines(text):
        found.update(_known(line))
        found.update(_named(line))
    found.update(value for m in _NETRC.finditer(text) if not _harmless(value := m["value"]))
    found.update(word for word in _words_alone(text) if looks_random(word))
    return tuple(sorted((f for f in found if f), key=lambda f: (-len(f), f)))


@functools.cache
def _rules() -> tuple[Callable[[str], Iterator[str]], ...]:
    """The library's rules for formats, and ours. Addresses are no secrets, and of private keys it marks the first line only."""
    left_out = (IPPublicDetector, PrivateKeyDetector)
    known: Iterable[type[BasePlugin]] = get_mapping_from_secret_type_to_class().values()
    library = [rule() for rule in known if issubclass(rule, RegexBasedDetector) and not issubclass(rule, left_out)]
    return tuple(rule.analyze_string for rule in (*library, FurtherFormats()))


_PIECE, _OVERLAP = 2_000, 300
"""Of a very long line: some rules need time in the square of what they look at, and no format is longer than the overlap."""


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if len(line) <= _PIECE:
            yield line
        else:
            yield from (line[at : at + _PIECE] for at in range(0, len(line) - _OVERLAP, _PIECE - _OVERLAP))


_SHORTEST_FORMAT = 11
"""No format of a key is shorter."""


def is_secret_name(name: str) -> bool:
    """Whether a name is one that secrets are kept under."""
    return bool(re.search(rf"(?i)(?:{_NAMES})[\w-]*$|^pass$", name))


def _known(line: str) -> Iterator[str]:
    """What has the format of a known key. One without a digit is a word."""
    if len(line) < _SHORTEST_FORMAT:
        return
    for rule in _rules():
        for found in rule(line):
            secret = found.strip(" \t\"':=")
            if re.search(r"\d", secret) and not _harmless(secret):
                yield secret


def _named(line: str) -> Iterator[str]:
    """What stands behind a name or an option that secrets are handed over by."""
    for rule in _NAMED:
        yield from (value for m in rule.finditer(line) if not _harmless(value := _value(m)))
    for m in _SPOKEN.finditer(line):
        value = _value(m)
        if looks_random(value) or _KEY_HEX.fullmatch(value):
            yield value


def _value(match: re.Match[str]) -> str:
    return next(v for v in match.groupdict().values() if v)


def _harmless(value: str) -> bool:
    """A path, a placeholder or a name rather than a secret: ``token: tokens.txt``, ``password=***``."""
    path = "/" in value and (value[0] in "/.~" or (value == value.lower() and "://" not in value))
    shape = re.fullmatch(r"[*x.…]+|[\w-]+\.\w{1,5}|<.*>|\[.*\]|R(?:EDACTED)?\d+x*", value)
    return path or bool(shape) or heuristic.is_templated_secret(value) or heuristic.is_prefixed_with_dollar_sign(value)


def _words_alone(text: str) -> Iterator[str]:
    """Long words that are no digest and no base64 of something, and of a length that keys have."""
    rest = _BASE64.sub(lambda m: " " if is_encoded(m[0]) else m[0], _INTEGRITY.sub(" ", text))
    return (m[0] for m in _WORD.finditer(rest) if len(m[0]) <= _LONGEST_KEY)


def looks_random(word: str) -> bool:
    """Whether a long word mixes cases and digits as keys do and dictionary words, paths and digests do not."""
    if len(word) < 20 or _HEX.fullmatch(word):
        return False
    if not (re.search(r"[a-z]", word) and re.search(r"[A-Z]", word) and re.search(r"\d", word)):
        return False
    switches = sum(a.isdecimal() != b.isdecimal() for a, b in pairwise(word))
    return entropy(word) >= _ENTROPY_BITS and switches >= 3


def is_encoded(run: str) -> bool:
    """Whether base64 holds something else than a key: text without a secret, a public key, or lines and lines of data."""
    lines = run.split("\n")
    if len(lines) > 2 and len({len(line) for line in lines[:-1]}) == 1 and len(lines[0]) >= 60:
        return True  # wrapped as encoders do it
    try:
        raw = base64.b64decode(run.replace("\n", ""), validate=True)
    except binascii.Error:
        return len(lines) > 1 and all(is_encoded(line) for line in lines)
    if raw[:3] == b"\0\0\0" and raw[4:8] in (b"ssh-", b"ecds", b"sk-s", b"sk-e"):
        return True  # RFC 4253, 6.6: what stands in authorized_keys
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return False
    plain = all(c.isprintable() or c.isspace() for c in text)
    pair = re.fullmatch(r"[^\s:]+:\S+", text.strip())  # user and password, as in a header
    key = len(text.split()) == 1 and looks_random(text.strip())
    return plain and not pair and not key and not secrets_in(text)


def entropy(word: str) -> float:
    """Shannon entropy in bits a character."""
    counts = Counter(word)
    return -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values())
