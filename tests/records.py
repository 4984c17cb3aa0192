"""Recordings as JSON objects (docs/design.md, "The trace format")."""

from __future__ import annotations

import base64
from typing import Any


def file(text: str, mode: str = "0644") -> dict[str, str]:
    return {"type": "file", "mode": mode, "content_b64": base64.b64encode(text.encode()).decode()}


def record(*steps: dict[str, Any], commands: int = 0, **more: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "task_id": "t", "task_description": "do it", "commands": ["true"] * commands, "outputs": [""] * commands,
        "success": True, "duration_ms": 1, "timestamp": "2026-01-01T00:00:00+00:00", "metadata": {},
    }  # fmt: skip
    return {**base, "steps": list(steps), **more}


def edit(path: str, before: str | None, after: str | None) -> dict[str, Any]:
    sides = {"before": before, "after": after}
    return {"edit": {"path": path, **{k: file(v) if v is not None else None for k, v in sides.items()}}}
