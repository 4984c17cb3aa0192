"""Registers a draft that passed and that no search brought: a person's, or an agent's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from synth.detect.match import evidence_keys
from synth.interface import Draft, RegistryEntry
from synth.registry import Registry
from verifiers.interface import Report


def register_draft(
    registry: Registry,
    draft: Draft,
    report: Report,
    generator: str,
    *,
    approve: bool,
    actor: str,
    sign: Callable[[Path, Report], object] | None,
) -> RegistryEntry:
    """Registers it as the next version where its name is taken.

    Args:
        generator: Who wrote it.
        approve: It waits for a person.
        sign: Signs the new version; None where no key is configured.
    """
    known = [e for e in registry.list(None) if e.name == draft.name and e.status in ("active", "staged")]
    # Its task is known by its recordings from now on, as if it had come out of them by itself.
    keys = evidence_keys([t for t in draft.evidence if t.task_id in draft.bindings or not draft.bindings])
    entry = registry.register(
        draft, report, supersedes=draft.name if known else None, require_approval=approve, actor=actor,
        metadata={"source": "crystallized", "generator": generator, "evidence": keys},
    )  # fmt: skip
    if sign is not None:
        sign(Path(entry.path), report)
    return entry
