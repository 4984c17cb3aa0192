"""Verdicts by digest: the same skill, evidence, image and tools are not verified twice.

An entry is one JSON file. It is read only if it is whole, of this version, and for exactly this key; anything else is a miss.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import platformdirs

from sandbox.interface import JsonValue
from verifiers.formats.json_report import ReportFormatError, dump, report_from_json, report_to_json
from verifiers.interface import Budget, Profile, Report

_FORMAT = "assay-cache/1"
_FALSE = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class Key:
    """Everything that a verdict depends on (docs/semantics.md, "The same verdict again")."""

    path: str
    """As the report shows it."""
    code: str
    """SHA-256 of the skill file's bytes, and so on."""
    evidence: str
    bindings: str
    profile: Profile | Literal[""]
    """An empty one = as the code's imports say."""
    budget: Budget
    seed: int | None
    salt: str
    """Digest of the policy's salt, never the salt itself."""
    checks: Mapping[str, int]
    """Version of every check that is asked for."""
    tools: Mapping[str, str]
    inventory: str
    """Fingerprint of what is installed in the image."""
    probes: Mapping[str, bool]
    """What the engine can do."""
    options: Mapping[str, JsonValue]
    """The rest of what was asked for: min_usable, exclusions, held-out traces, ``--all``."""

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over all parts."""
        parts = [
            self.path, self.code, self.evidence, self.bindings, self.profile, self.budget, self.seed, self.salt,
            dict(self.checks), dict(self.tools), self.inventory, dict(self.probes), dict(self.options),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps([_FORMAT, parts], sort_keys=True).encode()).hexdigest()


class VerdictCache:
    """Reports on disk, by key. Safe for several processes at once: entries are put in place whole."""

    def __init__(self, directory: Path, *, readable: bool = True) -> None:
        self.directory = directory
        self.readable = readable
        """False: entries are written, never believed."""

    def get(self, key: Key) -> Report | None:
        """The stored report, or None: not there, not readable here, damaged, or of another version."""
        if not self.readable:
            return None
        digest = key.digest
        try:
            head, _, body = self._file(digest).read_bytes().partition(b"\n")
            if head.decode("ascii", "replace") != _head(digest, body):
                return None
            return replace(report_from_json(json.loads(body)), cached=True)
        except (OSError, ValueError, RecursionError, ReportFormatError):
            return None

    def put(self, key: Key, report: Report) -> bool:
        """Stores a report; False where the directory cannot be written (a cache that fails costs time, never a verdict)."""
        digest = key.digest
        body = dump(report_to_json(report), indent=None).encode()
        file = self._file(digest)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(file, _head(digest, body).encode() + b"\n" + body)
        except OSError:
            return False
        return True

    def _file(self, digest: str) -> Path:
        return self.directory / digest[:2] / f"{digest[2:]}.json"


def open_cache(directory: Path | None = None, *, trusted: bool = False, environ: Mapping[str, str] | None = None) -> VerdictCache:
    """Returns the cache at ``directory`` (default: ``$ASSAY_CACHE``, else the user's cache directory).

    In CI (``$CI`` set) a contributor may be able to write it: it is then read only if the policy says ``cache: trusted``.
    """
    env = os.environ if environ is None else environ
    named = env.get("ASSAY_CACHE")
    chosen = directory or (Path(named) if named else platformdirs.user_cache_path("assay") / "verdicts")
    return VerdictCache(chosen, readable=trusted or env.get("CI", "").lower() in _FALSE)


def _head(digest: str, body: bytes) -> str:
    return f"{_FORMAT} {digest} {hashlib.sha256(body).hexdigest()}"


def _write_whole(file: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        Path(name).replace(file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
