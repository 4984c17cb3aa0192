"""Is it written the way a skill has to be?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from verifiers.conventions import findings, read, rules_for
from verifiers.interface import AS_LISTED, CheckResult, Example, Finding, ImportRules, Stage, Subject, Verdict


class Conventions:
    id = "conventions"
    title = "Does the file keep the conventions of a skill?"
    why = (
        "What a skill promises is read before it is run: by indexes, by models that call it, by people who review it. The"
        " rules are listed below, each with an id of its own (`assay verify --explain conventions-docstring`). An error fails "
        "the check, a warning never does. `assay verify --fix` applies the fixes that cannot change behaviour."
    )
    stage: ClassVar[Stage] = "static"
    version = 10
    good: ClassVar[tuple[Example, ...]] = ()  # every rule carries its own, see verifiers/conventions
    bad: ClassVar[tuple[Example, ...]] = ()

    def __init__(self, imports: ImportRules = AS_LISTED) -> None:
        self.imports = imports

    def run_batch(self, subjects: Sequence[Subject]) -> list[CheckResult]:
        """One result a subject, in order."""
        return [self._one(subject) for subject in subjects]

    def _one(self, subject: Subject) -> CheckResult:
        start = time.perf_counter()
        if read(subject) is None:
            why = "the file does not parse"
            return CheckResult.inconclusive(self.id, why, [Finding(why, subject.path)])
        found = findings(subject, self.imports)
        errors = sum(f.severity == "error" for f in found)
        return CheckResult(
            self.id,
            Verdict.FAIL if errors else Verdict.PASS,
            found,
            seconds=time.perf_counter() - start,
            measured={"rules": len(rules_for(subject.profile)), "errors": errors, "warnings": len(found) - errors},
        )


CHECK = Conventions()
