"""Reindex hooks: a callable, a command or a URL that is told of every change of the registry. A failing one is reported."""

from __future__ import annotations

import json
import shlex
import subprocess
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterable
from typing import TypeAlias

from synth.interface import RegistryEntry
from verifiers.interface import ConfigError

Hook: TypeAlias = Callable[[str, RegistryEntry], object]
"""Called with what happened (``registered``, ``archived`` …) and the entry that it happened to."""

TIMEOUT_S = 30.0


class HookFailed(UserWarning):
    """A reindex hook failed. The registry itself is unaffected."""


def hook_from(text: str, timeout_s: float = TIMEOUT_S) -> Hook:
    """The hook that a line of configuration means: ``http(s)://…`` is posted to, anything else is a command.

    Raises:
        ConfigError: the line is empty or is not a command line.
    """
    if text.startswith(("http://", "https://")):
        return url_hook(text, timeout_s)
    try:
        words = shlex.split(text)
    except ValueError as e:
        raise ConfigError(f"{text!r} is not a command line ({e})", "Quote its words as for a shell") from e
    if not words:
        raise ConfigError("a reindex hook is empty", "Name a command or a URL, or remove it")
    return command_hook(words, timeout_s)


def event_json(kind: str, entry: RegistryEntry) -> bytes:
    """What a command gets on standard input and a URL as its body."""
    document = {
        "schema": "assay-event/1",
        "event": kind,
        "skill": entry.name,
        "version": entry.version,
        "status": entry.status,
        "score": entry.score,
        "description": entry.description,
        "path": entry.path,
        "report_sha256": entry.report_sha256,
    }
    return json.dumps(document, sort_keys=True).encode()


def command_hook(words: list[str], timeout_s: float = TIMEOUT_S) -> Hook:
    """Runs a command (no shell) with the event on standard input."""

    def run(kind: str, entry: RegistryEntry) -> None:
        done = subprocess.run(words, input=event_json(kind, entry), capture_output=True, timeout=timeout_s, check=False)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise OSError(f"{words[0]} ended with {done.returncode}{': ' + said[-1] if said else ''}")

    return run


def url_hook(url: str, timeout_s: float = TIMEOUT_S) -> Hook:
    """Posts the event to a URL as JSON."""

    def post(kind: str, entry: RegistryEntry) -> None:
        request = urllib.request.Request(url, event_json(kind, entry), {"Content-Type": "application/json"}, method="POST")
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            answer.read(1 << 16)

    return post


def run_hooks(hooks: Iterable[Hook], kind: str, entry: RegistryEntry) -> list[str]:
    """Calls every hook; returns those that failed, in words."""
    failures: list[str] = []
    for hook in hooks:
        try:
            hook(kind, entry)
        except (OSError, ValueError, RuntimeError, LookupError, TypeError, AttributeError, subprocess.SubprocessError) as e:
            failures.append(f"reindex hook failed: {e}")
    return failures


def warn(failure: str) -> None:
    """Says as a Python warning that a hook failed."""
    warnings.warn(failure, HookFailed, stacklevel=3)
