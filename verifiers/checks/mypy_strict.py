"""Does mypy, in strict mode and against ``skill_api``, find nothing?"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from verifiers.interface import CheckResult, Example, Finding, Profile, Severity, Stage, Subject, Verdict
from verifiers.source.tools import module_name, tool_version
from verifiers.source.typecheck import Complaint, TypecheckFailed, typecheck
from verifiers.subject import ParseProblem, parse_module

_HEAD = "from pathlib import Path\n\nfrom skill_api import Query, skill_command\n\n\n@skill_command(autowire=True)\n"
_DEF = 'async def touch(file: str = Query(..., description="Path")) -> dict[str, object]:\n'


UNWRITTEN = frozenset({"var-annotated", "type-arg", "no-untyped-def", "no-untyped-call", "no-any-return", "redundant-cast"})
"""A type that could be written and is not: nothing goes wrong by it. Those of the command itself are a convention."""


class MypyStrict:
    id = "mypy-strict"
    title = "Does mypy in strict mode, against skill_api's types, find nothing?"
    why = (
        "`mypy --strict` for Python 3.11, without site packages, against the `skill_api` that the sandbox has (in the "
        "`omni` profile against a stub of the upstream decorator, other packages unknown; `conventions.allow_imports` may be "
        "unknown too; there it only warns: those skills are typed as their own house wants it). Types catch what replays of a "
        "few recordings cannot: the branch nobody recorded. A type that a helper or a variable could have and has not is a note; "
        "a name may be used again for something else. `# type: ignore` and `# mypy:` comments are not honoured. All skills of a "
        "run are checked by one process."
    )
    stage: ClassVar[Stage] = "static"
    version = 4
    good: ClassVar[tuple[Example, ...]] = (
        Example("typed", _HEAD + _DEF + '    Path(file).touch()\n    return {"ok": True}\n'),
        Example(
            "an unannotated dict", _HEAD + _DEF + '    seen = {}\n    Path(file).touch()\n    return {"ok": True, "seen": seen}\n'
        ),
        Example(
            "a name used again",
            _HEAD + _DEF + '    with Path(file).open("rb") as handle:\n        data = handle.read()\n'
            '    with Path(file).open("wb") as handle:\n        handle.write(data)\n    return {"ok": True}\n',
        ),
    )
    bad: ClassVar[tuple[Example, ...]] = (
        Example("a wrong return", _HEAD + _DEF + '    Path(file).touch()\n    return "ok"\n'),
        Example("an attribute that is not there", _HEAD + _DEF + '    Path(file).tuoch()\n    return {"ok": True}\n'),
        Example(
            "a name used again, and returned as what it was",
            _HEAD
            + _DEF
            + '    text: object = Path(file).read_bytes()\n    seen = {"text": 1}\n    seen = [text]\n    return seen\n',
        ),
        Example("a wrong return, hidden", _HEAD + _DEF + '    Path(file).touch()\n    return "ok"  # type: ignore\n'),
    )

    def __init__(self, allowed: frozenset[str] = frozenset()) -> None:
        self.allowed = allowed
        """Modules that the configuration allows; nothing is known of what they hold."""

    def run_batch(self, subjects: Sequence[Subject]) -> list[CheckResult]:
        """One result a subject, in order; one process for all of a profile."""
        start = time.perf_counter()
        outcomes: dict[Profile, Mapping[str, tuple[Complaint, ...]] | TypecheckFailed] = {}
        for profile in sorted({s.profile for s in subjects}):
            group = [s for s in subjects if s.profile == profile and not isinstance(parse_module(s.source), ParseProblem)]
            outcomes[profile] = {}
            if group:
                outcomes[profile] = typecheck({module_name(s): s.source for s in group}, profile, self.allowed)
        seconds = (time.perf_counter() - start) / max(len(subjects), 1)
        return [self._result(s, outcomes[s.profile], seconds) for s in subjects]

    def _result(
        self, subject: Subject, outcome: Mapping[str, tuple[Complaint, ...]] | TypecheckFailed, seconds: float
    ) -> CheckResult:
        if isinstance(outcome, TypecheckFailed):
            return CheckResult.inconclusive(self.id, outcome.why, [Finding(outcome.why, subject.path)])
        complaints = outcome.get(module_name(subject))
        if complaints is None:
            why = "the file does not parse"
            if not isinstance(parse_module(subject.source), ParseProblem):
                why = f"mypy {tool_version('mypy')} gave up on this file"
            return CheckResult.inconclusive(self.id, why, [Finding(why, subject.path)])
        findings = tuple(
            Finding(f"{c.message} [{c.code}]", subject.path, c.line, _severity(subject, c), notes=c.notes, rule=c.code)
            for c in complaints
        )
        failed = any(f.severity == "error" for f in findings)
        return CheckResult(self.id, Verdict.FAIL if failed else Verdict.PASS, findings, seconds=seconds)


def _severity(subject: Subject, complaint: Complaint) -> Severity:
    if subject.profile != "seed":
        return "warning"
    return "info" if complaint.code in UNWRITTEN else "error"


CHECK = MypyStrict()
