"""Is it a Python module at all?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from verifiers.interface import CheckResult, Example, Finding, Stage, Subject, Verdict
from verifiers.subject import ParseProblem, parse_module


class Parses:
    id = "parses"
    title = "Is the file a Python module?"
    why = (
        "What does not compile cannot be judged any further: the other static checks are INCONCLUSIVE then and nothing is"
        " run. The grammar is that of the Python that runs this program (3.11 or later)."
    )
    stage: ClassVar[Stage] = "static"
    version = 1
    good: ClassVar[tuple[Example, ...]] = (Example("a module", "def f() -> int:\n    return 1\n"),)
    bad: ClassVar[tuple[Example, ...]] = (
        Example("a missing bracket", "def f(:\n    return 1\n"),
        Example("return outside a function", "return 1\n"),
        Example("a mixed indentation", "if True:\n    x = 1\n\ty = 2\n"),
    )

    def run_batch(self, subjects: Sequence[Subject]) -> list[CheckResult]:
        """One result a subject, in order."""
        return [self._one(subject) for subject in subjects]

    def _one(self, subject: Subject) -> CheckResult:
        start = time.perf_counter()
        parsed = parse_module(subject.source)
        seconds = time.perf_counter() - start
        if not isinstance(parsed, ParseProblem):
            return CheckResult(self.id, Verdict.PASS, seconds=seconds)
        at = f" (column {parsed.column})" if parsed.column else ""
        finding = Finding(f"does not parse: {parsed.message}{at}", subject.path, parsed.line, rule="parses")
        return CheckResult(self.id, Verdict.FAIL, (finding,), seconds=seconds)


CHECK = Parses()
