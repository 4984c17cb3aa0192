"""The one way in: a report that passed in full, about these very bytes, made by this very image and these tools."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping

from sandbox.interface import SandboxInfo
from synth.interface import Draft
from synth.registry.errors import NotAccepted
from synth.registry.receipt import canonical, plain, traces_sha256
from verifiers.decisions import digest_of
from verifiers.interface import Args, EvidenceError, Report, Verdict, merge
from verifiers.score import recompute

NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
"""A Python identifier in lower case, short enough for a suffix and for every format we export to (64 characters)."""


ADVISORY = frozenset({"mutants-killed"})
"""Checks that weigh the evidence and may be inconclusive in a report that passes (docs/semantics.md, "Results and merging")."""


class Inconclusive(NotAccepted):
    """Nothing was shown to be wrong, but not everything was shown to be right either."""

    exit_code = 3


def admit(draft: Draft, report: Report, sandbox: SandboxInfo | None = None, tools: Mapping[str, str] | None = None) -> None:
    """Returns if ``report`` lets ``draft`` in.

    Args:
        draft: What is to be registered.
        report: What verification said of it.
        sandbox: Where it should have been verified; None = any sandbox.
        tools: The tool versions it should have been verified with; None = any.

    Raises:
        NotAccepted: says which condition is not met and what to do.
    """
    if not NAME.fullmatch(draft.name):
        raise NotAccepted(
            f"{draft.name!r} cannot be a skill's name", "Use lower case letters, digits and _, at most 60", draft.name[:80]
        )
    _check_verdict(report)
    _check_score(report)
    _check_bytes(draft, report)
    _check_surroundings(report, sandbox, tools)


def _check_verdict(report: Report) -> None:
    advice = (
        f"Run 'assay verify' on it: {report.why}"
        if report.verdict is not Verdict.PASS
        else "Run 'assay verify' without --checks and --static"
    )
    if report.verdict is Verdict.FAIL:
        raise NotAccepted("the report says FAIL: nothing that fails is registered", advice, report.name)
    if report.verdict is Verdict.INCONCLUSIVE:
        raise Inconclusive("the report says INCONCLUSIVE: nothing is registered for lack of evidence", advice, report.name)
    if report.partial:
        raise Inconclusive("the report is partial: some required checks were left out", advice, report.name)
    judged = [c.verdict for c in report.checks if c.verdict is not None and (c.id not in ADVISORY or c.verdict is Verdict.FAIL)]
    if merge(judged) is not Verdict.PASS:
        raise NotAccepted(
            "the report says PASS and its checks do not", "Verify the draft again; do not edit reports", report.name
        )
    if len({c.id for c in report.checks}) != len(report.checks):
        raise NotAccepted("the report has two results of one check", "Verify the draft again; do not edit reports", report.name)


def _check_score(report: Report) -> None:
    score = report.score
    if score is None:
        raise Inconclusive(
            "the report has no score",
            "Verify with a budget that runs the mutants, so that the evidence can be weighed",
            report.name,
        )
    if not all(math.isfinite(x) and 0.0 <= x <= 1.0 for x in (score.value, score.estimate)):
        raise NotAccepted(
            f"the score {score.value!r} is not between 0 and 1", "Verify the draft again; do not edit reports", report.name
        )
    try:
        again = recompute(score.inputs)
    except ValueError as e:
        raise NotAccepted(
            f"the score cannot be recomputed from its inputs ({e})", "Verify the draft again with this version", report.name
        ) from e
    if again is None or again.value != score.value or again.estimate != score.estimate:
        found = "none" if again is None else f"{again.value:g}"
        raise NotAccepted(
            f"the score is {score.value:g}, its inputs give {found}", "Verify the draft again; do not edit reports", report.name
        )


def _check_bytes(draft: Draft, report: Report) -> None:
    if source_sha256(draft.source) != report.sha256:
        raise NotAccepted(
            "the report is about other code", "The skill was edited after it was verified: verify it again", draft.name
        )
    try:
        evidence = traces_sha256(draft.evidence)
    except EvidenceError as e:
        raise NotAccepted(f"the draft's evidence cannot be used ({e.diagnostics()})", "Verify the draft again", draft.name) from e
    if evidence != report.evidence.sha256:
        raise NotAccepted(
            "the report is about other evidence",
            "Evidence was added, removed or edited after verification: verify again",
            draft.name,
        )
    known = {t.task_id for t in draft.evidence}
    if len(known) != len(draft.evidence):
        raise NotAccepted(
            "two traces of the evidence have one task_id", "Give each trace its own task_id and verify again", draft.name
        )
    strangers = sorted(set(draft.bindings) - known)
    if strangers:
        what = f"there is a binding for {strangers[0]!r} and no such trace"
        raise NotAccepted(what, "Remove the binding or add its trace, and verify again", draft.name)
    _check_bindings(draft, report)
    if sorted(digest_of(d) for d in draft.decisions) != sorted(d.digest for d in report.decisions):
        raise NotAccepted(
            "the report is about other decisions", "Questions were answered after verification: verify again", draft.name
        )


def _check_bindings(draft: Draft, report: Report) -> None:
    """What was judged is what the draft says; it may say more only about traces that were not judged."""
    judged, said = _bindings(report.bindings), _bindings(draft.bindings)
    unjudged = set(report.evidence.unusable) | set(report.excluded)
    if any(said.get(task) != args for task, args in judged.items()) or set(said) - set(judged) - unjudged:
        raise NotAccepted(
            "the report is about other bindings", "Bindings were edited after verification: verify again", draft.name
        )
    if not judged:
        raise Inconclusive("no trace was judged: the report has no bindings", "Verify the draft again", draft.name)


def _bindings(bindings: Mapping[str, Args]) -> dict[str, bytes]:
    return {task: canonical(plain(args)) for task, args in bindings.items()}


def _check_surroundings(report: Report, sandbox: SandboxInfo | None, tools: Mapping[str, str] | None) -> None:
    ran = report.sandbox
    if ran is None or ran.runs == 0:
        raise Inconclusive(
            "nothing was replayed: the report names no sandbox",
            "Start an engine ('assay engine up') and verify again",
            report.name,
        )
    if sandbox is not None and (ran.image, ran.inventory, ran.runtime) != (sandbox.image, sandbox.inventory, sandbox.runtime):
        raise NotAccepted(
            "the report comes from another sandbox image or runtime",
            "Verify the draft again on this machine's image",
            report.name,
        )
    if tools is not None and dict(tools) != dict(report.tools):
        changed = sorted(k for k in tools.keys() | report.tools.keys() if tools.get(k) != report.tools.get(k))
        raise NotAccepted(
            f"the report was made with other versions of {', '.join(changed)}",
            "Verify the draft again with the tools of today",
            report.name,
        )


def source_sha256(source: str) -> str:
    """SHA-256 (hex) of a skill's text, as ``Subject.sha256``."""
    return hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()
