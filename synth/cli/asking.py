"""What ``assay crystallize`` asks a model before any pattern is judged: which traces belong together, and first proposals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from synth.cli import console

if TYPE_CHECKING:
    from synth.crystallization.promotion import Crystallization
    from synth.interface import ExecutionTrace, Generator, TracePattern
    from synth.usage import Usage


def suggested(
    generator: Generator, traces: Sequence[ExecutionTrace], patterns: Sequence[TracePattern], least: int
) -> tuple[list[frozenset[str]], Usage]:
    """Groups among the traces that no pattern has, as the model sees them, none where it gave no answer; and what it cost."""
    from synth.llm import ModelGenerator
    from synth.llm.errors import ModelError

    assert isinstance(generator, ModelGenerator)
    known = {t.task_id for p in patterns for t in p.traces}
    alone = [t for t in traces if t.success and t.task_id not in known]
    try:
        groups = generator.together(alone, least)
    except ModelError as e:
        console.error(f"no traces were grouped: {e.diagnostics()}")
        groups = []
    spent = generator.take_usage()
    console.say(f"{len(alone)} traces in no pattern, {len(groups)} groups suggested; {spent}")
    return groups, spent


def ask_ahead(
    crystallization: Crystallization, patterns: Sequence[TracePattern], talk: console.Talk, parallel: int, *, batch: bool
) -> None:
    """Asks a model for the first proposals of all patterns before any is judged."""
    from sandbox.interface import SandboxError
    from synth.llm import ModelGenerator
    from verifiers.formats.text import plural
    from verifiers.interface import AssayError

    generator = crystallization.generator
    if not isinstance(generator, ModelGenerator) or (len(patterns) < 2 and not batch):
        return
    talk.step(f"asking for {len(patterns)} first proposals")
    try:
        shown = [s for p in patterns if (s := crystallization.shown(p)) is not None]
        generator.ahead(shown, parallel, batch)
        for why, count in Counter(generator.lost_ahead).items():
            dearer = ", at the full price" if batch else ""
            talk.note(f"{plural(count, 'first proposal')} will be asked for again in its turn{dearer}: {why}")
    except (AssayError, SandboxError) as e:
        # Each pattern will ask in its turn, and say so in its outcome.
        talk.note(e.diagnostics())
