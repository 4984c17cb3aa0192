"""``assay import``: what other tools recorded, as traces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import NOTHING, PASS
from synth.cli.files import append_lines
from synth.cli.home import config

if TYPE_CHECKING:
    from synth.importers import ImportReport
    from synth.interface import ExecutionTrace

KINDS = (
    "jsonl", "omni", "claude-code", "codex", "gemini-cli", "openhands", "mini-swe-agent", "swe-agent", "swe-agent-log", "aider",
    "cline", "terminal-bench", "wayland", "asciicast", "typescript", "history", "shell",
)  # fmt: skip
MOST_SHOWN = 20
"""Things left out that are said one by one; of more, only the number is."""


class _Import(click.Command):
    """The command with one of another kind below it: a repository is no recording, and has options of its own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] != ["git"]:
            return super().make_context(info_name, args, parent, **extra)
        from synth.cli.import_git import command as git

        return git.make_context(f"{info_name} git", args[1:], parent, **extra)


@click.command("import", cls=_Import, short_help="Bring in traces from other tools.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option("--from", "kind", type=click.Choice(KINDS), help="Only files of this kind. Default: told from the content.")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Append to FILE.")
@click.option("--repo", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="The project, for starts.")
def command(paths: tuple[Path, ...], kind: str | None, file: Path | None, repo: Path | None) -> int:
    """Imports recordings into the configured store, or appends them to a JSONL file. Says what was left out, and why: from
    sessions to tasks, to those with an effect, a known start, and done often enough to learn. Files of a directory that are no
    recordings, or of no kind that is known, are named, and the rest is read.

    With --repo the files of a start come from a commit: the one that the session names, the parent of one that it made, or the
    last one before the request. One on which the session's edits do not fit is not taken.

    `assay import git REPO` learns from a repository's own commits; see its --help.
    """
    from synth.importers import import_path
    from synth.importers.repository import Repository
    from verifiers.formats.text import plural

    start = Repository(repo) if repo is not None else None
    reports = [import_path(path, kind, start) for path in paths]  # type: ignore[arg-type]  # click has checked the choice
    traces = [trace for report in reports for trace in report.traces]
    for report in reports:
        _say(report)
    _say_funnel(reports)
    where = _store(traces, file) if traces else None
    turns = sum(len(report.turns) for report in reports)
    place = f" into {where}" if where else ""
    also = f", {plural(turns, 'turn')} read" if turns else ""
    console.out(f"{plural(len(traces), 'trace')} imported{place}{also}")
    return PASS if traces or turns else NOTHING


def _say(report: ImportReport) -> None:
    for note in report.notes:
        console.say(f"note: {note}")
    for dropped in sorted(report.dropped, key=lambda d: d.what != "file")[:MOST_SHOWN]:
        console.say(str(dropped))
    if len(report.dropped) > MOST_SHOWN:
        console.say(f"{len(report.dropped) - MOST_SHOWN} more things were dropped")


def _say_funnel(reports: Sequence[ImportReport]) -> None:
    """Of sessions only: traces that were recorded as such lost nothing on the way."""
    from synth.importers.funnel import funnel, shown

    whole = reports[0]
    for report in reports[1:]:
        whole += report
    if whole.sessions:
        for line in shown(funnel(whole, config().evolution)):
            console.say(line)


def _store(traces: Sequence[ExecutionTrace], file: Path | None) -> Path:
    from synth.tracing.collector import TraceCollector
    from synth.tracing.traces import dump_trace
    from verifiers.formats.text import plural
    from verifiers.interface import ConfigError

    if file is None:
        settings = config()
        most = settings.evolution.max_traces_stored
        collector = TraceCollector(settings.trace_dir, most)
        if len(collector.files()) + len(traces) > most:
            what = f"has no room for {plural(len(traces), 'trace')}: it keeps {most}, and the oldest would go"
            raise ConfigError(what, "Raise evolution.max_traces_stored, or import into a file with -o", collector.trace_dir)
        for trace in traces:
            collector.store(trace)
        return collector.trace_dir
    append_lines(file, [dump_trace(trace) for trace in traces])
    return file
