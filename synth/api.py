"""The Python API in one place; ``docs/api.md`` has examples that run."""

from __future__ import annotations

import synth.ours  # noqa: F401  it raises where another distribution's packages are found instead of ours

# isort: split
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from sandbox import open_sandbox
from sandbox.interface import Sandbox, SandboxError
from synth.asynchronous import Cancelled, Step, off_the_loop
from synth.config import Config
from synth.crystallization.outcome import PatternOutcome
from synth.crystallizer import SkillCrystallizer
from synth.draft import read_draft
from synth.registry import Registry
from synth.registry.load import load
from synth.route import RouteIndex
from synth.tracing.workspace import Workspace
from synth.verification import NoSandbox, read_job, run_job
from verifiers.gating.discover import Target, find, with_evidence
from verifiers.interface import NothingToVerify, Report, Verdict
from verifiers.verify import Options

__all__ = [
    "Cancelled", "Config", "Options", "PatternOutcome", "Registry", "Report", "RouteIndex", "SkillCrystallizer", "Verdict",
    "Workspace", "load", "read_draft", "verify_skill", "verify_skill_sync",
]  # fmt: skip


async def verify_skill(
    skill: Path | str, *, options: Options | None = None, config: Config | None = None, progress: Step | None = None
) -> Report:
    """Judges one skill on the evidence beside it, off the event loop. Cancelled, it ends before the next check.

    Args:
        skill: A skill file or a draft directory.
        options: How much and by what; what the configuration says without them.
        config: Which engine and image; the defaults without one.
        progress: Called with the id of each check as it starts, from another thread.

    Raises:
        AssayError: a file of it cannot be read as what it should be, or there is no evidence. A bad skill is in the report.
    """
    return await off_the_loop(lambda step: verify_skill_sync(skill, options=options, config=config, progress=step), progress)


def verify_skill_sync(
    skill: Path | str, *, options: Options | None = None, config: Config | None = None, progress: Step | None = None
) -> Report:
    """``verify_skill`` where there is no event loop. What ``progress`` raises ends it."""
    settings = config if config is not None else Config.default()
    asked = replace(options or _configured(settings), progress=progress)
    profile = options.profile if options is not None else settings.verify.profile
    with _Opened(settings) as opened:
        return run_job(read_job(_target(Path(skill), asked.static_only), asked, profile), opened.sandbox, asked)


def _configured(settings: Config) -> Options:
    verify = settings.verify
    profile = verify.profile or "seed"
    return Options(
        budget=verify.budget,
        salt=verify.seed_salt,
        profile=profile,
        min_usable=verify.min_usable,
        imports=settings.conventions.imports,
    )


def _target(skill: Path, static: bool) -> Target:
    found = find([skill])
    if len(found) > 1:
        raise NothingToVerify(f"holds {len(found)} skills", "Give one file", skill)
    return found[0] if static else with_evidence(found[0])


class _Opened:
    """The sandbox, opened when it is first asked for."""

    def __init__(self, settings: Config) -> None:
        self._settings = settings
        self._stack = ExitStack()

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def sandbox(self) -> Sandbox | NoSandbox:
        where = self._settings.sandbox
        try:
            return self._stack.enter_context(
                open_sandbox(
                    image=where.image, runtime=where.runtime, workers=where.workers, host=where.host, packages=where.packages
                )
            )
        except SandboxError as e:
            return NoSandbox(e.diagnostics())
