"""The contract of the verifiers: evidence in, judgments out.

A bad skill is data (a ``CheckResult``); only a broken tool is an exception (``AssayError``). What is judged and what is raised is
defined in ``verifiers.inputs`` and ``verifiers.errors``, and imported from here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, Literal, Protocol

from sandbox.interface import JsonValue, Snapshot
from verifiers.errors import AssayError, BindingError, ConfigError, EvidenceError, Inconclusive, NothingToVerify, SkillFileError
from verifiers.inputs import (
    ANSWER_STEP,
    AS_LISTED,
    REDACTED,
    Args,
    Binding,
    Edit,
    Evidence,
    ImportRules,
    Parameter,
    Profile,
    Subject,
)

__all__ = [
    "ANSWER_STEP",
    "AS_LISTED",
    "REDACTED",
    "Args",
    "AssayError",
    "Binding",
    "BindingError",
    "ConfigError",
    "Edit",
    "Evidence",
    "EvidenceError",
    "ImportRules",
    "Inconclusive",
    "NothingToVerify",
    "Parameter",
    "Profile",
    "SkillFileError",
    "Subject",
]
"""What is defined elsewhere: type checkers let others import it from here."""

Budget = Literal["fast", "standard", "thorough"]


# ---------------------------------------------------------------- verdicts


class Verdict(IntEnum):
    """PASS < INCONCLUSIVE < FAIL; merging takes the worst. Not usable as a truth value, on purpose."""

    PASS = 0
    INCONCLUSIVE = 1
    FAIL = 2

    def __bool__(self) -> bool:
        raise TypeError("a Verdict has three values: compare it (verdict is Verdict.PASS) instead of testing its truth")

    def __str__(self) -> str:
        return self.name


def merge(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of the verdicts; INCONCLUSIVE for none at all."""
    seen = list(verdicts)
    return max(seen, key=int) if seen else Verdict.INCONCLUSIVE


# ---------------------------------------------------------------- findings and results


@dataclass(frozen=True, slots=True)
class Fix:
    """One edit that removes a finding: the file's whole new text."""

    safe: bool
    """Safe = behaviour unchanged."""
    title: str
    replacement: str


@dataclass(frozen=True, slots=True)
class Counterexample:
    """The smallest case that shows the finding."""

    case: str
    """``trace rename-03``, ``case 17 (seed 4711)``, ``crash before call 3 (rename a.txt -> a.md)``."""
    args: Args = field(default_factory=dict)
    expected: str = ""
    observed: str = ""
    trace: str | None = None
    base: Snapshot | None = field(default=None, compare=False, repr=False)
    """The start, of a generated case; no part of a report's JSON form."""
    end: Snapshot | None = field(default=None, compare=False, repr=False)
    """The end that is expected there, where one is known."""


MOST_QUESTIONS = 3
"""That one report asks."""

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    message: str
    path: str = ""
    line: int = 1
    severity: Severity = "error"
    """error = part of the reason for a FAIL or INCONCLUSIVE; warning and info never are."""
    counterexample: Counterexample | None = None
    reproduce: str = ""
    """The command that shows it again."""
    fix: Fix | None = None
    notes: tuple[str, ...] = ()
    """Lines to show under the finding: ``effect: run 2 created …``."""
    rule: str = ""
    """Sub-rule, such as ``S602`` or ``conventions-docstring``."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check says. ``verdict`` None = NOT_APPLICABLE, and then ``why`` is the measured reason."""

    id: str
    verdict: Verdict | None
    findings: tuple[Finding, ...] = ()
    why: str = ""
    """Of NOT_APPLICABLE and INCONCLUSIVE: one sentence."""
    runs: int = 0
    seconds: float = 0.0
    measured: Mapping[str, JsonValue] = field(default_factory=dict)
    """Counts and facts for score and report, JSON values, deterministic."""
    questions: tuple[Question, ...] = ()
    """Cases beyond the evidence where commands and skill part."""

    @classmethod
    def not_applicable(cls, id: str, why: str, runs: int = 0, **measured: JsonValue) -> CheckResult:
        if not why:
            raise ValueError("NOT_APPLICABLE needs a measured reason")
        return cls(id, None, why=why, runs=runs, measured=measured)

    @classmethod
    def inconclusive(
        cls, id: str, why: str, findings: Sequence[Finding] = (), runs: int = 0, **measured: JsonValue
    ) -> CheckResult:
        return cls(id, Verdict.INCONCLUSIVE, tuple(findings) or (Finding(why),), why=why, runs=runs, measured=measured)


@dataclass(frozen=True, slots=True)
class NotChecked:
    id: str
    why: str
    decided: bool = False
    """Another check had failed: the verdict does not wait for this one."""


@dataclass(frozen=True, slots=True)
class Example:
    """A skill (and the evidence it is judged on) that a check must catch, or must not."""

    title: str
    source: str
    evidence: str = ""
    """Name of an evidence file below ``fixtures/examples`` for dynamic checks."""
    args: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict)
    """task_id -> arguments."""


Stage = Literal["static", "dynamic"]


class CheckPage(Protocol):
    """What every check tells of itself, one file each in ``verifiers/checks/``. Tests and manual are generated from it."""

    id: ClassVar[str]
    title: ClassVar[str]
    """The question, one line."""
    why: ClassVar[str]
    """Why it matters and what it means exactly; Markdown paragraphs."""
    stage: ClassVar[Stage]
    good: ClassVar[tuple[Example, ...]]
    bad: ClassVar[tuple[Example, ...]]
    version: ClassVar[int]
    """Shown in the manual: raise it when the check's meaning changes. (The cache's keys hold a digest of the judge's code.)"""


class StaticCheck(CheckPage, Protocol):
    """A check that reads the text only. Judges a batch at once (mypy starts once for all)."""

    def run_batch(self, subjects: Sequence[Subject]) -> list[CheckResult]: ...


# ---------------------------------------------------------------- questions and decisions


@dataclass(frozen=True, slots=True)
class GeneratedCase:
    """A generated start with arguments: what a question is about."""

    task_id: str
    """The trace whose commands it was made from."""
    base: Snapshot
    args: Args

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the trace's name, the start and the arguments."""
        doc = [self.task_id, self.base.digest, sorted((k, repr(v)) for k, v in self.args.items())]
        return hashlib.sha256(json.dumps(doc).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What one side, the trace's commands or the skill, did on a case."""

    tree: Snapshot
    """The workspace afterwards."""
    answer: str | None = None
    """None where none is claimed."""
    failure: str = ""
    """How it reported failure; "" where it claims success."""
    diff: tuple[str, ...] = ()
    """For people: a line for each path that it changed, or one that nothing changed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A case beyond the evidence on which the trace's commands and the skill part (docs/semantics.md, "Zones"). Never a FAIL."""

    invariant: str
    """Name of what the case breaks and all recorded starts keep: ``unique-keys``, ``no-blanks-in-names``; or why else it is
    beyond the evidence: ``commands-disagree``, ``refused``."""
    message: str
    """One sentence for somebody who knows neither shell nor Python."""
    case: GeneratedCase
    commands: Behaviour
    skill: Behaviour
    harm: int = 0
    """How much would be lost if the skill is wrong: questions are asked in descending order of it."""
    answer: str = ""
    """The command that answers it, but for what it says."""


Says = Literal["commands", "skill", "neither", "invalid"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Somebody's answer to a question: from then on it is evidence."""

    question: Question
    says: Says
    text: str = ""
    """Of ``neither``: what would be right."""
    who: str = ""
    when: str = ""
    """ISO 8601, or ""."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a report says of a decision."""

    says: Says
    invariant: str
    digest: str
    """SHA-256 (hex) of the whole decision but its time."""
    who: str = ""
    when: str = ""


# ---------------------------------------------------------------- reports


@dataclass(frozen=True, slots=True)
class Score:
    """Formula and meaning: docs/semantics.md, "Score", and ``verifiers/score.py``."""

    value: float
    estimate: float
    inputs: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class EvidenceSummary:
    sha256: str
    traces: int
    usable: int
    reconstructed: int
    unusable: Mapping[str, str] = field(default_factory=dict)
    """task_id -> why, one sentence."""
    volatile: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SandboxSummary:
    runtime: str
    image: str
    inventory: str
    runs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one verification found. ``assay-report/1`` is its JSON form."""

    name: str
    path: str
    sha256: str
    verdict: Verdict
    score: Score | None
    checks: tuple[CheckResult, ...]
    not_checked: tuple[NotChecked, ...]
    evidence: EvidenceSummary
    bindings: Mapping[str, Args]
    sandbox: SandboxSummary | None
    tools: Mapping[str, str]
    seed: int
    seconds: float
    partial: bool
    budget: Budget
    profile: Profile
    capabilities: tuple[str, ...] = ()
    """Measured: creates, overwrites, deletes, chmods, links, renames, follows-outside-paths, read-only."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    inferred: tuple[str, ...] = ()
    """task_ids whose binding was inferred."""
    questions: tuple[Question, ...] = ()
    """Open ones, the most harmful first; at most ``MOST_QUESTIONS``."""
    decisions: tuple[Decided, ...] = ()
    """Those that the verdict rests on."""
    edited: tuple[str, ...] = ()
    """Files of an exported skill that are not as they were exported. The verdict is about them as they are."""
    cached: bool = field(default=False, compare=False)
    """Whether it was made before and nothing ran now: no part of what it says."""

    def check(self, id: str) -> CheckResult | None:
        return next((c for c in self.checks if c.id == id), None)

    @property
    def decisive(self) -> CheckResult | None:
        """The first check that gives the verdict; None for PASS, and where a check that did not run gives it."""
        return None if self.verdict is Verdict.PASS else next((c for c in self.checks if c.verdict is self.verdict), None)

    @property
    def why(self) -> str:
        """One sentence: why the verdict is not PASS ("" for PASS)."""
        if self.verdict is Verdict.PASS:
            return ""
        if (check := self.decisive) is not None:
            errors = [f.message for f in check.findings if f.severity == "error"]
            return f"{check.id}: {errors[0] if errors else check.why}"
        if self.not_checked:
            return f"{self.not_checked[0].id} was not checked: {self.not_checked[0].why}"
        return "nothing was checked"
