"""Is it a Python module at all?"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import ClassVar

from verifiers.checks.ruff_clean import diagnostics
from verifiers.interface import CheckResult, Example, Finding, Stage, Subject, Verdict
from verifiers.subject import ParseProblem, parse_module

_ADDED = "syntax was added in Python"
"""In what ruff says of syntax that a later version has."""


class Parses:
    id = "parses"
    title = "Is the file a Python module?"
    why = (
        "What does not compile cannot be judged any further: the other static checks are INCONCLUSIVE then and nothing is"
        " run. The grammar is that of the Python that runs this program (3.11 or later). In the `omni` profile, whose host has a"
        " newer one, what only that one reads is INCONCLUSIVE."
    )
    stage: ClassVar[Stage] = "static"
    version = 2
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
        if subject.profile == "omni" and (newer := _of_a_newer_python(subject.source)):
            finding = Finding(newer, subject.path, parsed.line, "warning", rule="parses")
            return CheckResult(self.id, Verdict.INCONCLUSIVE, (finding,), why=newer, seconds=seconds)
        finding = Finding(f"does not parse: {parsed.message}{at}", subject.path, parsed.line, rule="parses")
        return CheckResult(self.id, Verdict.FAIL, (finding,), seconds=seconds)


def _of_a_newer_python(source: str) -> str:
    """What only a newer Python reads of a text, where nothing else is wrong with its syntax; "" otherwise."""
    found, trouble = diagnostics({"skill": source}, ("E9", "F7"))
    said = [str(item["message"]) for item in found.get("skill", [])]
    if trouble or not said or not all(_ADDED in text for text in said):
        return ""
    here = ".".join(map(str, sys.version_info[:2]))
    return f"{said[0]}: run this program with a newer Python than {here} to judge it"


CHECK = Parses()
