"""Recordings that detection left alone, grouped by a model. It only suggests: execution decides whether a group holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from synth.detect.deeds import effect_kinds
from synth.llm.brief import block, clip

if TYPE_CHECKING:
    from synth.interface import ExecutionTrace
    from synth.llm.asking import Asker

MAX_ALONE = 120
"""Recordings of one request; of more, the newest."""
MAX_TEXT = 300


def grouped(asker: Asker, alone: Sequence[ExecutionTrace], least: int) -> list[frozenset[str]]:
    """Groups of task_ids that one request suggests; what it invents, repeats or leaves too small is dropped.

    Args:
        alone: Successful traces that are in no pattern.
        least: Traces that a group needs.

    Raises:
        ModelError: the model gave nothing that can be used.
    """
    if len(alone) < least:
        return []
    rows = [
        {
            "task_id": t.task_id, "request": clip(t.task_description, MAX_TEXT),
            "commands": [clip(c, MAX_TEXT) for c in t.commands[:8]],
            "effects": effect_kinds(t.workspace, t.post_workspace),
        }
        for t in alone[-MAX_ALONE:]
    ]  # fmt: skip
    free = {t.task_id for t in alone[-MAX_ALONE:]}
    out = []
    for group in asker.groups(block("recordings", rows)).groups:
        ids = frozenset(group.task_ids) & free
        if len(ids) >= max(least, 2):
            out.append(ids)
            free -= ids
    return out
