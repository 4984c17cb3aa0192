"""``assay import git``: a repository's own repeated commits, as traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from synth.cli import console
from synth.cli.exits import NOTHING, PASS

if TYPE_CHECKING:
    from synth.history.eras import Kind

MOST_KINDS = 20
"""Kinds that are listed; of more, only the number is said."""
MOST_ODD = 5
FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("git", short_help="Learn from a repository's own commits.")
@click.argument("repository", type=click.Path(path_type=Path, file_okay=False), metavar="REPO")
@click.option("--since", metavar="REV", help="Only commits that are not reachable from REV.")
@click.option("--until", default="HEAD", metavar="REV", help="The newest commit. Default: HEAD.")
@click.option("--kind", metavar="K", help="Only this kind: its name as listed.")
@click.option("--author", metavar="WHO", help="Only commits whose author's name or address holds WHO.")
@click.option(
    "--hold-out", type=click.IntRange(min=0), metavar="N", help="Newest of each kind kept back. Default: a third, to 20."
)
@click.option("--held-out", "held_file", type=FILE, metavar="FILE", help="Append the ones kept back to FILE.")
@click.option("--odd", "odd_file", type=FILE, metavar="FILE", help="Append the odd ones to FILE.")
@click.option("-o", "--output", "file", type=FILE, metavar="FILE", help="Append traces to FILE. Default: only list the kinds.")
def command(
    repository: Path, since: str | None, until: str, kind: str | None, author: str | None, hold_out: int | None,
    held_file: Path | None, odd_file: Path | None, file: Path | None,
) -> int:  # fmt: skip
    """Lists the kinds of commits that come again and again in REPO, and writes those of the newest layout as traces.

    Reads objects only: nothing that the repository brings (hooks, configuration, filters, attributes) is run or honoured. A
    commit that does less or more than the others of its kind is odd: it is listed, and is no evidence.
    """
    from synth.cli.files import append_lines, check_appendable
    from synth.history.learning import learn
    from synth.tracing.traces import dump_trace
    from verifiers.formats.text import plural

    for wanted in filter(None, (file, held_file, odd_file)):
        check_appendable(wanted)
    learned = learn(
        repository, until, since, author, kind, hold_out, traces=any((file, held_file, odd_file)), with_odd=odd_file is not None
    )
    for note in learned.notes:
        console.say(f"note: {note}")
    for found in learned.kinds[:MOST_KINDS]:
        _show(found, kind is not None)
    if len(learned.kinds) > MOST_KINDS:
        console.out(f"{len(learned.kinds) - MOST_KINDS} more kinds, each smaller")
    if not learned.kinds:
        console.error("no kind of commit comes three times")
    for commit, why in learned.dropped[:MOST_ODD]:
        console.say(f"{commit.oid[:10]}: no trace: {why}")
    for place, traces in ((file, learned.traces), (held_file, learned.held_out), (odd_file, learned.odd)):
        if place is not None and traces:
            append_lines(place, [dump_trace(t) for t in traces])
    if file is not None:
        held = f", {len(learned.held_out)} held out" if learned.held_out else ""
        console.out(f"{plural(len(learned.traces), 'trace')} imported into {file}{held}")
    return PASS if (learned.traces if file is not None else learned.kinds) else NOTHING


def _show(kind: Kind, detailed: bool) -> None:
    counts = f"{len(kind.found)} found, {len(kind.era)} in the newest era, {len(kind.conforming)} conforming, {len(kind.odd)} odd"
    console.out(f"{kind.name}: {counts}  ({kind.message})")
    for facts, why in kind.odd if detailed else ():
        console.out(f"  odd {facts.commit.oid[:10]} {facts.commit.subject[:60]}: {why}")
