"""``assay mcp``: verification and the registered skills, for an agent host."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli.home import config, registry_dir, registry_option
from synth.cli.next_steps import DRAFTS
from synth.cli.settings import Judging, sandbox_options

if TYPE_CHECKING:
    from synth.interface import Draft, RegistryEntry
    from synth.mcp_server import Say

TOKEN = "ASSAY_MCP_TOKEN"


@click.command("mcp", short_help="Offer verification to an agent host over MCP.")
@registry_option
@click.option("--no-skills", is_flag=True, help="Do not offer the registered skills as tools.")
@click.option("--learn", is_flag=True, help="Offer to record tasks and to make skills of them, for a person to approve.")
@click.option(
    "--http", "address", metavar="[HOST:]PORT", help="Serve streamable HTTP at /mcp instead of standard input and output."
)
@click.option(
    "--token-file", type=click.Path(path_type=Path), metavar="FILE", help=f"Holds the token of --http. Default: {TOKEN}."
)
@sandbox_options
def command(
    registry: Path | None, no_skills: bool, learn: bool, address: str | None, token_file: Path | None, **rest: Any
) -> int:
    """Serves until the host hangs up. Needs the extra `mcp` of this package."""
    from verifiers.interface import ConfigError

    if token_file is not None and address is None:
        raise click.UsageError("--token-file is for --http")
    place = _address(address) if address is not None else None
    token = _token(token_file) if place is not None else ""
    try:
        from synth.mcp_server import Services, build
        from synth.serving.transport import serve_http, serve_stdio
    except ModuleNotFoundError as e:
        raise ConfigError(f"{e.name} is not installed", "Install it with: python3 -m pip install mcp") from e
    offered = Offered(Judging.of(rest, config()), registry_dir(registry))
    server = build(
        Services(
            offered.registry, offered.verify, offered.gate, None if no_skills else offered.run,
            offered.record if learn else None, offered.learn if learn else None, offered.propose if learn else None,
        )
    )  # fmt: skip
    if place is None:
        serve_stdio(server)
    else:
        serve_http(server, *place, token)
    return 0


def _address(text: str) -> tuple[str, int]:
    """Host and port; the host is this machine's own where none is given.

    Raises:
        click.BadParameter: it is none.
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise click.BadParameter(f"{text!r} is no [HOST:]PORT", param_hint="--http")
    return host.strip("[]") or "127.0.0.1", int(port)


def _token(file: Path | None) -> str:
    """What requests must carry: who can ask can run skills.

    Raises:
        ConfigError: there is none, or it cannot be read.
    """
    from verifiers.interface import ConfigError

    try:
        token = file.read_text("utf-8").strip() if file is not None else os.environ.get(TOKEN, "").strip()
    except (OSError, ValueError) as e:
        raise ConfigError(f"cannot be read ({e})", "Give a file with a token in it with --token-file", file or "") from e
    if len(token) < 16 or not token.isascii():
        raise ConfigError("--http needs a token of at least 16 characters", f"Give it with --token-file FILE or in {TOKEN}")
    return token


class Offered:
    """What the server's tools do, with the settings of the command line."""

    def __init__(self, judging: Judging, registry: Path) -> None:
        self.judging = judging
        self.registry = registry

    def verify(self, path: Path, say: Say) -> dict[str, Any]:
        """``assay-report/1`` of a skill file or draft directory."""
        from synth.cli.targets import target_of
        from synth.cli.verifying import Verifier
        from verifiers.formats.json_report import report_to_json
        from verifiers.gating.cache import open_cache

        with Verifier(self.judging, open_cache(), say, registry=self.registry) as verifier:
            return dict(report_to_json(verifier.report(target_of(path))))

    def gate(self, paths: Sequence[Path], say: Say) -> dict[str, Any]:
        """``assay-gate/1`` of directories."""
        from synth.cli.gate import gate, policy_of
        from verifiers.gating.gate import gate_to_json

        return dict(
            gate_to_json(gate(paths, self.judging, policy_of(None, config(*paths)), registry=self.registry, progress=say))
        )

    def run(self, entry: RegistryEntry, args: Mapping[str, Any], workspace: Path, apply: bool, say: Say) -> dict[str, Any]:
        """``assay-changes/1`` of a registered skill. What was cancelled before its effects were made changes nothing."""
        from synth.cli.run import run_skill
        from synth.draft import SKILL
        from synth.serving.changes import changes_of
        from synth.tracing.workspace import apply as make

        say(f"running {entry.name} on a copy of {workspace}")
        source = (Path(entry.path) / SKILL).read_text(encoding="utf-8")
        document, changes = run_skill(source, "", args, workspace, self.judging, apply_=False)
        made = apply and bool(document["claims_success"])
        if made:
            say(f"making {len(changes)} changes")
            make(changes, workspace)
        return changes_of(document, changes, made)

    def record(self, task: str, commands: Sequence[str], workspace: Path, say: Say) -> dict[str, Any]:
        """``assay-recorded/1``: the recording's name, what the commands printed and changed. What was cancelled is not kept."""
        from synth.serving.changes import recorded_of
        from synth.tracing.collector import TraceCollector
        from synth.tracing.record import record

        settings = config()
        store = TraceCollector(settings.trace_dir, settings.evolution.max_traces_stored)
        store.check()
        trace = record(task, tuple(commands), workspace, step=say)
        say("keeping the recording")
        store.store(trace)
        return recorded_of(trace)

    def learn(self, say: Say) -> dict[str, Any]:
        """``assay-crystallize/1`` of what is due. A person approves what passed: an agent does not promote its own work.

        Cancelled, it ends before the next candidate or check; what was registered by then waits all the same.
        """
        import asyncio
        from contextlib import closing
        from dataclasses import replace

        from synth.crystallization.outcome import to_json
        from synth.crystallizer import SkillCrystallizer

        settings = config()
        asked = replace(settings, registry=settings.registry.model_copy(update={"approve": True}))
        kept = asked.evolution
        with closing(
            SkillCrystallizer(asked.trace_dir, self.registry, kept.min_frequency, kept.min_complexity, config=asked, progress=say)
        ) as crystallizer:
            outcomes = []
            for pattern in crystallizer.patterns():
                say(f"{pattern.task_category} ({len(pattern.traces)} recordings)")
                outcomes.append(asyncio.run(crystallizer.crystallize(pattern)))
        return dict(to_json(outcomes, {}))

    def propose(self, path: Path, recordings: Mapping[str, Any], say: Say) -> dict[str, Any]:
        """``assay-proposed/1``: an agent's own skill file, judged on what was recorded here. What passes waits for a person."""
        from dataclasses import replace

        from synth.cli.home import actor, config, open_registry
        from synth.cli.outcomes import waiting
        from synth.cli.targets import target_of
        from synth.cli.verifying import Verifier
        from synth.crystallization.by_hand import register_draft
        from synth.draft import write_draft
        from verifiers.formats.json_report import report_to_json
        from verifiers.interface import Verdict

        draft = _proposed(path, recordings)
        place = write_draft(config().path(DRAFTS), draft)
        with Verifier(replace(self.judging, no_cache=True), None, say) as verifier:
            report = verifier.report(target_of(place))
        document = {"schema": "assay-proposed/1", "draft": str(place), "report": dict(report_to_json(report))}
        if report.verdict is not Verdict.PASS:
            return {**document, "registered": False, "why": report.why}
        say("registering")
        with open_registry(self.registry) as opened:
            entry = register_draft(opened, draft, report, "agent", approve=True, actor=actor(), sign=config().attest())
        return {**document, "registered": True, "skill": entry.name, "version": entry.version, "why": waiting(entry)}


def _proposed(path: Path, recordings: Mapping[str, Any]) -> Draft:
    """The draft of a skill file and the recordings that it was written for, each with its arguments.

    Raises:
        ConfigError: there is no such recording, or its arguments are no object.
        SkillFileError: the file cannot be read.
    """
    from synth.export.document import prose
    from synth.interface import Draft
    from synth.tracing.collector import TraceCollector
    from verifiers.interface import ConfigError
    from verifiers.subject import load_subject

    subject, stored = load_subject(path), {t.task_id: t for t in TraceCollector(config().trace_dir).traces([])}
    for task_id, arguments in recordings.items():
        if task_id not in stored:
            raise ConfigError("there is no such recording", "Give the task_ids that assay_record answered with", task_id)
        if not isinstance(arguments, dict):
            raise ConfigError("its arguments are no object", 'Give them as {"TASK_ID": {"PARAMETER": VALUE}}', task_id)
    traces = tuple(stored[task_id] for task_id in recordings)
    text = f"# {subject.name}\n\n{prose(subject.description)}\n"
    return Draft(subject.name, subject.source, traces, dict(recordings), text)
