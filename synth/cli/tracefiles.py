"""Trace files as commands take them: several files or directories, bad records told and left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synth.cli import console

if TYPE_CHECKING:
    from synth.interface import ExecutionTrace
    from verifiers.interface import EvidenceError

MOST_SHOWN = 5
"""Records that cannot be read, each with its reason; of more, only the number is said."""


def read_traces(paths: Sequence[Path]) -> list[ExecutionTrace]:
    """All traces of files and directories, copies dropped, oldest first. A record that cannot be read is named on stderr.

    Raises:
        EvidenceError: nothing at all could be read: the first reason.
    """
    from synth.tracing.traces import consolidate

    problems: list[EvidenceError] = []

    def note(problem: EvidenceError) -> None:
        problems.append(problem)
        if len(problems) <= MOST_SHOWN:
            console.error(problem.diagnostics())

    found = consolidate(paths, note)
    if len(problems) > MOST_SHOWN:
        console.error(f"{len(problems) - MOST_SHOWN} more records cannot be read")
    if problems and not found:
        raise problems[0]
    return found
