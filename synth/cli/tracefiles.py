"""Trace files as commands take them: several files or directories, bad records told and left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synth.cli import console

if TYPE_CHECKING:
    from synth.config import Evolution
    from synth.interface import ExecutionTrace
    from verifiers.interface import EvidenceError

MOST_SHOWN = 5
"""Records that cannot be read, each with its reason; of more, only the number is said."""


def nothing_repeated(traces: Sequence[ExecutionTrace], evolution: Evolution) -> str:
    """One sentence that says why no pattern came out of traces, and how to say that they are one task where they may be."""
    from verifiers.formats.text import plural

    if not traces:
        return "there is no trace: record one with 'assay record', or name the files, or the directories that were recorded in"
    thresholds = f"{evolution.min_frequency} successful traces", f"{plural(evolution.min_complexity, 'command')} in one"
    needed = (" and " if evolution.trigger == "all" else " or ").join(thresholds)
    failed = sum(not t.success for t in traces)
    told = f" ({failed} of them failed)" if failed else ""
    why = f"no repeated task in {plural(len(traces), 'trace')}{told}: a task counts from {needed}"
    good = [t.task_id for t in traces if t.success]
    if len(good) < evolution.min_frequency:
        return why
    ids = ",".join(good[:MOST_SHOWN]) + (",..." if len(good) > MOST_SHOWN else "")
    return f"{why}, and these look different from each other. If they are one task: assay crystallize ... --together {ids}"


TOGETHER = click.option(
    "--together", multiple=True, metavar="ID,ID...", help="These traces are one task, however they look. May be repeated."
)


def said_together(texts: Sequence[str], traces: Sequence[ExecutionTrace]) -> list[frozenset[str]]:
    """The groups of ``--together``.

    Raises:
        click.BadParameter: a group is too small, names a trace that is not there, or two groups share one.
    """
    known, taken = {t.task_id for t in traces}, set[str]()
    groups = [frozenset(part.strip() for part in text.split(",") if part.strip()) for text in texts]
    for ids in groups:
        what = f"there is no trace {min(ids - known)!r}" if ids - known else ""
        what = what or ("name two traces or more" if len(ids) < 2 else "")
        what = what or (f"{min(ids & taken)!r} is in two groups" if ids & taken else "")
        if what:
            raise click.BadParameter(what, param_hint="--together")
        taken |= ids
    return groups


def stored_traces(paths: Sequence[Path], store: Path) -> list[ExecutionTrace]:
    """``read_traces`` of what was named, else of the configured store; none where nothing was ever recorded.

    Raises:
        EvidenceError: as ``read_traces``.
    """
    return read_traces(paths or (store,)) if paths or store.is_dir() else []


def read_traces(paths: Sequence[Path]) -> list[ExecutionTrace]:
    """All traces of files and directories, copies dropped, oldest first. A record that cannot be read is named on stderr.

    Raises:
        EvidenceError: nothing at all could be read: the first reason.
    """
    from synth.tracing.traces import consolidate

    problems: list[EvidenceError] = []
    found = consolidate(paths, problems.append)
    # What ends the command is said by whoever catches it.
    told = problems if found else problems[1:]
    for problem in told[:MOST_SHOWN]:
        console.error(problem.diagnostics())
    if len(told) > MOST_SHOWN:
        console.error(f"{len(told) - MOST_SHOWN} more records cannot be read")
    if problems and not found:
        raise problems[0]
    return found
