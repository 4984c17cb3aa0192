"""One verification as data: what is judged and how, apart from where it runs. The same steps here and on another machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.interface import SandboxError
from synth.exported import edits
from verifiers.binding.bindings import load_bindings
from verifiers.decisions import check_cases, load_decisions
from verifiers.evidence import load_evidence
from verifiers.gating.discover import shown
from verifiers.interface import Binding, Evidence, Profile, Report, Subject
from verifiers.subject import load_subject
from verifiers.verify import Options, verify

if TYPE_CHECKING:
    from sandbox.interface import Sandbox
    from verifiers.gating.discover import Target


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a verification needs besides a sandbox. Can be pickled."""

    subject: Subject
    evidence: tuple[Evidence, ...]
    bindings: Mapping[str, Binding] | None
    options: Options
    """Without progress and memory: those belong to the process that runs it."""
    image: str | None = None
    runtime: str | None = None
    workers: int | None = None
    packages: tuple[str, ...] = ()
    """In the image besides the recipe's own."""
    edited: tuple[str, ...] = ()
    """Files of an exported skill that are not as they were exported."""


@dataclass(frozen=True, slots=True)
class NoSandbox:
    why: str


def read_job(target: Target, options: Options, profile: Profile | None, **where: Any) -> Job:
    """What a target's files hold.

    Args:
        profile: What it should look like; None = as its imports say.
        where: ``image``, ``runtime``, ``workers`` and ``packages`` of the job.

    Raises:
        AssayError: a file cannot be read as what it should be.
    """
    subject = replace(load_subject(target.skill, profile, target.function), path=target.file)
    options = replace(options, profile=subject.profile)
    where["edited"] = tuple(edits(target.home))
    if options.static_only:
        return Job(subject, (), None, options, **where)
    evidence = load_evidence(target.evidence) if target.evidence is not None else []
    bindings = load_bindings(target.bindings) if target.bindings is not None else None
    if target.bindings is not None:
        options = replace(options, bindings_path=shown(target.bindings, Path.cwd()))
    if target.decisions is not None:
        decisions = load_decisions(target.decisions)
        check_cases(decisions, {e.task_id for e in evidence}, target.decisions)
        options = replace(options, decisions=decisions)
    return Job(subject, tuple(evidence), bindings, options, **where)


def run_job(job: Job, opened: Callable[[], Sandbox | NoSandbox], options: Options | None = None) -> Report:
    """Verifies.

    Args:
        opened: Gives the sandbox; asked only where one is needed.
        options: The job's, with progress and memory of this process.
    """
    return replace(_judged(job, opened, options or job.options), edited=job.edited)


def _judged(job: Job, opened: Callable[[], Sandbox | NoSandbox], options: Options) -> Report:
    if options.static_only:
        return verify(job.subject, [], None, options=options)
    box = opened()
    if isinstance(box, NoSandbox):
        return verify(job.subject, job.evidence, job.bindings, options=options, no_sandbox=box.why)
    evidence = list(job.evidence)
    if any(e.base is None and e.success for e in evidence):
        try:
            evidence = _rebuilt(evidence, box)
        except SandboxError as e:
            return verify(job.subject, job.evidence, job.bindings, options=options, no_sandbox=e.diagnostics())
    return verify(job.subject, evidence, job.bindings, sandbox=box, options=options)


def _rebuilt(evidence: list[Evidence], box: Sandbox) -> list[Evidence]:
    """Traces from elsewhere get the start that their outputs bear out."""
    from verifiers.reconstruction.reconstruct import rebuild_all

    with box.session("evidence") as session:
        return rebuild_all(evidence, session)
