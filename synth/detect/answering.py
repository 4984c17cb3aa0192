"""Which step of a task answers: decided over all recordings of a pattern, for one alone may have nothing to say there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from synth.interface import ExecutionTrace
from synth.tracing.traces import to_evidence
from verifiers.conventions.programs import named
from verifiers.interface import ANSWER_STEP, Evidence
from verifiers.shell.script import parse_script

TIDYING = frozenset({"rm", "rmdir", "unlink", "true", "kill", "sync", "sleep"})
"""Programs that put a workspace in order behind an answer. Builtins (``cd``, ``unset``) do too."""


def with_answers(traces: Sequence[ExecutionTrace]) -> tuple[tuple[ExecutionTrace, ...], str]:
    """The traces with ``metadata.answer_step`` where it is not the last one; and what is not clear, in one sentence, or "".

    The step that answers is the last one that prints anything in any of the recordings, if all that comes after it only tidies
    up or says words of its own ("done"). Where every recording says it already, that stands.
    """
    if all(ANSWER_STEP in t.metadata for t in traces):
        return tuple(traces), ""
    evidence = [to_evidence(t) for t in traces]
    most = min((len(e.commands) for e in evidence), default=0)
    for back in range(1, most + 1):
        if any(_says(e, back) for e in evidence):
            if back == 1:
                return tuple(traces), ""
            return tuple(_marked(t, len(t.commands) - back) for t in traces), ""
        if not all(_tidies(e, back) for e in evidence):
            return tuple(traces), _unclear(evidence, back)
    return tuple(traces), ""


def _says(e: Evidence, back: int) -> bool:
    """Whether a step, counted from the end, prints something that does not stand in its own text."""
    printed = e.stdout(len(e.commands) - back).strip()
    return bool(printed) and not _own_words(e.commands[-back], printed)


def _own_words(command: str, printed: str) -> bool:
    """Whether a command only says what its text says: ``echo done``."""
    words = [w for w in parse_script((command,)).words if w.slot != "name"]
    speaks = {w.program for w in parse_script((command,)).words if w.slot == "name"} <= {"echo", "printf"}
    return (
        speaks
        and not any(c in w.text for w in words for c in "$`*?[")
        and all(part in " ".join(w.text for w in words) for part in printed.split())
    )


def _tidies(e: Evidence, back: int) -> bool:
    command = e.commands[-back]
    printed = e.stdout(len(e.commands) - back).strip()
    return not named([command]) - TIDYING or (bool(printed) and _own_words(command, printed))


def _unclear(evidence: Sequence[Evidence], back: int) -> str:
    """Where an earlier step printed something, and what came after it may have been the point: nothing is assumed."""
    earlier = [e for e in evidence if any(e.stdout(i).strip() for i in range(len(e.commands) - back))]
    reads_only = all(e.base is None or e.post is None or e.base == e.post for e in evidence)
    if not earlier or not reads_only:
        return ""
    e, step = earlier[0], next(i for i in range(len(earlier[0].commands)) if earlier[0].stdout(i).strip())
    return (
        f"is the answer what an earlier command of {e.task_id} printed? Its last ones print nothing, and are taken as they are."
        f' If it is, say so in the metadata of each trace, as with "{ANSWER_STEP}": {step}'
    )


def _marked(trace: ExecutionTrace, step: int) -> ExecutionTrace:
    return replace(trace, metadata={**trace.metadata, ANSWER_STEP: step})
