"""Turns in which a registered skill ran: an outcome each for the router, and the ends of the tree, which
`assay registry drift` looks at.

A skill runs as the program of an export, as ``assay run``, or as a tool of ``assay mcp``. A call that was wrong ran nothing.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from synth.draft import SKILL
from synth.files import write_atomic
from synth.hooks.traces import ends_of
from synth.interface import ExecutionTrace, RegistryEntry
from synth.registry import Registry, RegistryError
from synth.route import RouteIndex
from synth.store.tasks import Event, Store
from synth.tracing.redact import redact_trace
from synth.tracing.traces import dump_trace
from verifiers.shell.quoting import unquote
from verifiers.shell.script import parse_script

PROGRAM = "/scripts/run.py"
"""How the path of an export's program ends."""
_WRONG_CALL = 2
"""Exit code of both programs where nothing was run."""


@dataclass(frozen=True, slots=True)
class Use:
    """A skill that ran in a turn."""

    skill: str
    """Its name, or that of its export; "" = that of the version."""
    version: str
    """"" = the active one."""
    args: Mapping[str, Any] | None
    """None where they cannot be told."""
    place: str
    """The directory that it worked on; "" where it changed nothing."""
    succeeded: bool | None
    """None where nobody said."""
    registry: str = ""
    """Where it said that it is registered."""
    source: str | None = None
    """Of an export its code: one that somebody edited, or that only says it is of a version, is another skill."""


def keep_uses(store: Store, task: Path, trace: ExecutionTrace | str, registries: Sequence[Path]) -> bool:
    """Tells the router of each skill that ran in a turn, and keeps the turn's start and end; False where none did.

    Args:
        trace: What the turn gave: it knows exit codes.
        registries: Where its skills may be registered.
    """
    events = store.events(task)
    found = [(use, entry) for use in uses_of(events, trace) if (entry := _count(use, registries)) is not None]
    ends = ends_of(store, task) if len(found) == 1 else ""
    if isinstance(ends, ExecutionTrace):
        use, entry = found[0]  # of several, nobody saw what the second one began with
        if use.args is not None and use.place:
            below = os.path.relpath(use.place, str(events[0]["root"]))
            facts = {**ends.metadata, "skill": entry.name, "version": entry.version, "args": dict(use.args), "below": below}
            file = store.root / "uses" / f"{task.stem}.json"
            file.parent.mkdir(mode=0o700, exist_ok=True)
            write_atomic(file, dump_trace(redact_trace(replace(ends, metadata=facts))).encode(), 0o600)
    return bool(found)


def _count(use: Use, registries: Sequence[Path]) -> RegistryEntry | None:
    """Counts the outcome where the version that ran is the active one of a registry, and returns its entry there."""
    for place in (*([Path(use.registry)] if use.registry else []), *registries):
        with suppress(RegistryError), Registry.existing(place) as registry:
            entry = next((e for e in registry.list("active") if e.version == use.version or e.name == use.skill), None)
            if entry is None or use.version not in (entry.version, ""):
                continue
            if use.source not in (None, registry.source(entry)):
                return None
            if use.succeeded is not None:
                RouteIndex(registry).feedback(entry.name, use.succeeded)
            return entry
    return None


# ---------------------------------------------------------------- what ran


def uses_of(events: Sequence[Event], trace: ExecutionTrace | str) -> Iterator[Use]:
    """The skills that ran, in order."""
    exits: dict[str, list[int | None]] = defaultdict(list)
    for command, code in zip(trace.commands, trace.exit_codes or (), strict=False) if not isinstance(trace, str) else ():
        exits[command].append(code)
    for event in events:
        if event.get("event") != "after":
            continue
        said = event.get("output")
        if isinstance(event.get("skill"), str):
            given = {k: v for k, v in (event.get("given") or {}).items() if k not in ("workspace", "assay_workspace")}
            place = (event.get("given") or {}).get("assay_workspace") or (event.get("given") or {}).get("workspace")
            yield Use(event["skill"], "", given, _join(event, str(place)) if place else "", _claims(said))
        elif isinstance(event.get("command"), str):
            known = exits[event["command"]].pop(0) if exits[event["command"]] else event.get("exit")
            if known != _WRONG_CALL:
                yield from _in_command(event, _claims(said) if known is None else known == 0)


def _in_command(event: Event, succeeded: bool | None) -> Iterator[Use]:
    words = parse_script((str(event["command"]),)).words
    for call in dict.fromkeys(w.call for w in words):
        texts = [unquote(w.written) if w.slot == "name" else w.text for w in words if w.call == call]
        at = next((n for n, text in enumerate(texts) if text.endswith(PROGRAM)), None)
        if at is not None:
            version, source = _exported(Path(_join(event, os.path.expanduser(texts[at]))).parents[1])  # noqa: PTH111  as the shell
            said = _options(texts[at + 1 :], {"-d": "--directory", "-a": "--arguments"})
            args, place = said.get("--arguments", said.get("", "{}")), said.get("--directory", ".")
            if version:
                yield Use("", version, _object(args), _join(event, place), succeeded, source=source)
        elif [os.path.basename(t) for t in texts[:1]] == ["assay"] and texts[1:2] == ["run"]:  # noqa: PTH119  a word of a command
            said = _options(texts[2:], {})
            place = _join(event, said.get("--workspace", ".")) if "--apply" in texts else ""
            registry = _join(event, said["--registry"]) if "--registry" in said else ""
            yield Use(said.get("", ""), "", _object(said.get("--args", "{}")), place, succeeded, registry)


def _options(words: Sequence[str], short: Mapping[str, str]) -> dict[str, str]:
    """Options with their values, and "" -> the first word that is none."""
    out: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        name = short.get(name, name)
        if not word.startswith("-") or word == "-":
            out.setdefault("", word)
        elif name not in ("--apply", "--diff", "-q"):
            out[name] = value if equals else next(rest, "")
    return out


def _join(event: Event, path: str) -> str:
    return os.path.normpath(Path(str(event.get("cwd") or "/")) / path)


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _exported(directory: Path) -> tuple[str, str]:
    """The version that an export was made of, "" where it says none; and its code."""
    try:
        head = (directory / "SKILL.md").read_text("utf-8").split("\n---")[0].removeprefix("---")
        found = yaml.safe_load(head)
        return str(found["metadata"]["assay-version"]), (directory / "scripts" / SKILL).read_text("utf-8", "surrogateescape")
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        return "", ""


def _claims(said: object) -> bool | None:
    """What a skill's own answer claims, however an agent hands it on; None where there is none."""
    if isinstance(said, Mapping):
        if isinstance(said.get("claims_success"), bool):
            return bool(said["claims_success"])
        if said.get("isError") is True or said.get("ok") is False or said.get("error") or said.get("status") == "error":
            return False
        if said.get("ok") is True:
            return True
        said = [said.get(key) for key in ("structuredContent", "stdout", "llmContent", "content", "text", "output")]
    if isinstance(said, list):
        return next((claim for part in said if (claim := _claims(part)) is not None), None)
    lines = [line for line in str(said or "").splitlines() if line.strip()]
    for line in reversed(lines):
        text = line.strip().removeprefix("value: ")
        if text.startswith("failed: "):
            return False
        if (found := _object(text)) is not None:
            claim = _claims(found)
            return True if claim is None else claim
    return None
