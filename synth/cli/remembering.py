"""What was judged elsewhere than where it lies now, for the cache: `assay verify` of it is answered at once."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from synth.cli.settings import Judging
from synth.cli.targets import target_of
from synth.cli.verify import again
from synth.cli.verifying import Verifier
from synth.config_origin import in_ci

if TYPE_CHECKING:
    from synth.verification import Job
    from verifiers.interface import Finding, Report


def remember(place: Path, report: Report, judging: Judging, registry: Path | None) -> None:
    """Keeps the report on what lies at ``place`` now, if a verification there would find just this.

    Args:
        judging: As it was judged.
        registry: The one that was named, as whoever verifies it will.
    """
    from verifiers.gating.cache import open_cache

    if in_ci():
        return  # there nobody believes how a version was made, and its score is another one
    # Past counterexamples were not tried: where there are some, the key is another one.
    as_later = replace(judging, no_cache=False, database=None, reproduce_with=again(judging, {"registry": registry}))
    verifier, target = Verifier(as_later, open_cache(), registry=registry), target_of(place)
    if _same(verifier.job(target), report):
        verifier.keep(target, moved(report, target.path, as_later.reproduce_with))


def _same(job: Job, report: Report) -> bool:
    """Whether a report is on these inputs, and says all that one on files would."""
    from verifiers.binding.doubt import BY_RECORDING
    from verifiers.interface import Verdict
    from verifiers.verify import derive_seed

    wrong = {c.id for c in report.checks if c.verdict is not Verdict.PASS and c.verdict is not None}
    # The seed is a digest of all that was judged. Bindings that lie in a file are doubted, where there are such findings.
    seed = derive_seed(job.subject, job.evidence, job.bindings, job.options)
    return (job.subject.name, seed) == (report.name, report.seed) and not wrong & {"bindings", *BY_RECORDING}


def moved(report: Report, path: str, more: tuple[str, ...]) -> Report:
    """The report of the same verification at another path.

    Args:
        more: What commands that show a finding again must say besides the skill.
    """

    def command(text: str) -> str:
        return " ".join([text.replace(f" {shlex.quote(report.path)}", f" {shlex.quote(path)}", 1), *more]) if text else ""

    def finding(found: Finding) -> Finding:
        return replace(found, path=path if found.path == report.path else found.path, reproduce=command(found.reproduce))

    checks = tuple(replace(c, findings=tuple(map(finding, c.findings))) for c in report.checks)
    questions = tuple(replace(q, answer=command(q.answer)) for q in report.questions)
    return replace(report, path=path, checks=checks, questions=questions)
