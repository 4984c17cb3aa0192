"""What the oracles of ``generalises`` have in common: the grammar of each case, and what one of them found."""

from __future__ import annotations

from dataclasses import dataclass, field

from sandbox.interface import ReplayRecord
from verifiers.context import Case, Context, Generated, Wrong
from verifiers.interface import Finding, Question
from verifiers.worlds.asking import answered, asks_about, question
from verifiers.worlds.constants import constants
from verifiers.worlds.essence import essential
from verifiers.worlds.grammar import Grammar, grammar
from verifiers.worlds.hostile import Hostile
from verifiers.worlds.proven import proven
from verifiers.worlds.template import templates
from verifiers.worlds.trials import Beyond, Trial

CHECK_ID = "generalises"


@dataclass(frozen=True, slots=True)
class Suspect:
    """A difference that may be the commands' accident: what is held against the skill, and what a person may say to it."""

    finding: Finding
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A start within the evidence that the skill refuses, with nothing changed, where the commands do their work."""

    trial: Trial
    case: Case
    record: ReplayRecord
    wrong: Wrong


@dataclass
class Judged:
    """What one oracle found."""

    passed: list[Generated] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    information: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    parted: list[Case] = field(default_factory=list)
    """Starts beyond the evidence on which the skill does something else than the commands, and no harm was seen."""
    beyond: int = 0
    """Of the judged cases, those beyond the evidence on which skill and commands agree."""
    judged: int = 0
    runs: int = 0
    suspects: dict[str, Suspect] = field(default_factory=dict)
    """By their kind of oddness: one alone is asked about, and another beside it makes both findings."""
    contested: list[Question] = field(default_factory=list)
    """About what is held against the skill: a person may say that the skill is right there."""
    within: list[Trial] = field(default_factory=list)
    """Within the evidence, and right without refusing."""
    refused: list[Refused] = field(default_factory=list)

    def hold(self, suspect: Suspect) -> None:
        """Holds a difference against the skill, until somebody says otherwise."""
        self.judged += 1
        self.findings.append(suspect.finding)
        self.contested += [suspect.question] if suspect.question is not None else []


def grammars(context: Context) -> list[Grammar]:
    """The grammar of each recorded case, those first whose commands take the most arguments: they say most of them."""
    recorded = essential(context, [c for c in context.cases if c.evidence is not None and c.evidence.by_commands])
    found = proven(context, recorded, templates([(c.evidence.commands, c.args) for c in recorded if c.evidence is not None]))
    said = constants(context.subject.source)
    gs = [grammar(c.task_id, c.args, t, c.expectation, said) for c, t in zip(recorded, found, strict=True)]
    return sorted(gs, key=lambda g: -len(g.template.parameters))


def hostile_finding(context: Context, g: Grammar, h: Hostile, message: str) -> Finding:
    case = Case(f"hostile {h.parameter} (trace {g.task_id})", h.args, g.expectation, g.task_id)
    return context.finding(
        CHECK_ID, message, case, Wrong("effect", message, "the value taken as text", repr(h.payload)), f"--seed {context.seed}"
    )


def ask(context: Context, out: Judged, beyond: Beyond, case: Case, record: ReplayRecord) -> None:
    """Adds the question about a case, unless its cause was asked or decided about."""
    if unasked(context, out, beyond):
        out.questions.append(question(case, record, beyond, context.judge.answer_path))


def unasked(context: Context, out: Judged, beyond: Beyond) -> bool:
    """Neither the cause nor, of another variation, the same sentence."""
    again = any(asks_about(q, beyond) for q in out.questions)
    return not again and beyond.name not in answered(context.decisions)
