"""``assay synth``: candidates for repeated tasks, unverified."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import NOTHING, PASS
from synth.cli.files import must_have_parent
from synth.cli.generators import Generation, generation_options
from synth.cli.home import config
from synth.cli.tracefiles import nothing_repeated, stored_traces

if TYPE_CHECKING:
    from synth.config import Config
    from synth.interface import Candidate, Generator, Template, TracePattern


@click.command("synth", hidden=True)
@click.argument("traces", nargs=-1, type=click.Path(path_type=Path), metavar="[TRACES]...")
@click.option("--drafts", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write drafts here.")
@click.option("--limit", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Candidates per pattern.")
@click.option("--template", type=click.Choice(["skill", "command", "tool"]), help="What to generate. Default: as configured.")
@generation_options
def command(traces: tuple[Path, ...], drafts: Path | None, limit: int, template: Template | None, **rest: Any) -> int:
    """Prints candidates, or writes drafts for `assay verify`. Nothing is verified and nothing registered."""
    settings = config()
    return make_drafts(traces, drafts, settings, Generation.of(rest, settings), limit, template)


def make_drafts(
    traces: Sequence[Path],
    drafts: Path | None,
    settings: Config,
    generation: Generation,
    limit: int = 1,
    template: Template | None = None,
) -> int:
    """Writes a draft for each repeated task; without a directory prints the candidates."""
    from synth.detect import detect

    if drafts is not None:
        must_have_parent(drafts)
    known = stored_traces(traces, settings.trace_dir)
    patterns = detect(known, settings)
    if not patterns:
        console.error(nothing_repeated(known, settings.evolution))
    generator = generation.open()
    made = 0
    for pattern in patterns:
        found = list(islice(_candidates(generator, pattern, template or settings.generator.template), limit))
        if not found:
            console.say(f"{pattern.task_category}: {generator.why_none()}")
        for candidate in found:
            made += 1
            _show(candidate, pattern, drafts if candidate is found[0] else None)
    return PASS if made else NOTHING


def _candidates(generator: Generator, pattern: TracePattern, template: Template) -> Iterator[Candidate]:
    from synth.tracing.traces import to_evidence

    return generator.generate(pattern, [to_evidence(t) for t in pattern.traces], template)


def _show(candidate: Candidate, pattern: TracePattern, drafts: Path | None) -> None:
    from synth.draft import unverified, write_draft

    if drafts is None:
        console.out(f"# {candidate.name} ({candidate.generator}), unverified\n{candidate.source}")
        return
    place = write_draft(drafts, unverified(candidate, pattern, candidate.bindings))
    console.out(str(place))
    console.say(f"next: assay verify {shlex.quote(str(place))}")
