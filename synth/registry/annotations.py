"""MCP-style hints as they were measured, not as somebody declared them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_ADDING = frozenset({"creates", "links", "read-only"})
"""Capabilities that leave alone what was there."""


@dataclass(frozen=True, slots=True)
class Annotations:
    read_only: bool
    """No replay changed its workspace."""
    destructive: bool
    """A replay overwrote, removed, renamed or re-moded something that was there."""
    idempotent: bool
    """A second run changed nothing further."""
    open_world: bool
    """It was seen to reach beyond its workspace."""


def measured(document: Mapping[str, Any]) -> Annotations:
    """The hints that an ``assay-report/1`` document supports.

    What was not measured is told at its worst: destructive, not idempotent, open.
    """
    capabilities = document.get("capabilities")
    seen = {str(c) for c in capabilities} if isinstance(capabilities, list) else set()
    passed = {str(c.get("id")) for c in document.get("checks", ()) if isinstance(c, Mapping) and c.get("verdict") == "PASS"}
    return Annotations(
        read_only=seen == {"read-only"},
        destructive=not seen or bool(seen - _ADDING),
        idempotent="idempotent-replay" in passed,
        open_world="contained" not in passed or "follows-outside-paths" in seen,
    )
