"""``assay answer``: says what is right where the evidence does not."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from synth.cli import console
from synth.cli.exits import PASS
from synth.cli.home import config
from synth.cli.settings import Judging, judging_options, sandbox_options, without
from synth.cli.targets import target_of
from synth.cli.verify import FILES, again
from synth.cli.verifying import Verifier

if TYPE_CHECKING:
    from verifiers.gating.discover import Target
    from verifiers.interface import Report, Says

FILE = click.Path(path_type=Path)


@click.command("answer", short_help="Answer a question that a report asks.")
@click.argument("skill", type=FILE, metavar="SKILL.py|DRAFT_DIR|NAME")
@click.argument("n", type=int, metavar="N")
@click.option("--commands", is_flag=True, help="What the commands did is right.")
@click.option("--skill", "skill_", is_flag=True, help="What the skill did is right.")
@click.option("--neither", metavar="TEXT", help="Neither is; TEXT says what would be.")
@click.option("--invalid", is_flag=True, help="No such start is to be expected.")
@click.option("--who", default="", metavar="NAME", help="Who decides.")
@click.option("--case", default="", metavar="DIGEST", help="The question's case, as the report prints it: numbers change.")
@click.option("--report", "saved", type=FILE, metavar="FILE", help="The report that asks, written with --format json.")
@click.option("--evidence", type=FILE, metavar="FILE")
@click.option("--bindings", type=FILE, metavar="FILE")
@click.option("--decisions", type=FILE, metavar="FILE", help="Where to write. Default: beside the evidence.")
@click.option("--registry", type=FILE, metavar="DIR")
@without("static")
@judging_options
@sandbox_options
def command(skill: Path, n: int, who: str, case: str, saved: Path | None, **rest: Any) -> int:
    """Answers question N of the report on SKILL. The answer is written to decisions.jsonl beside the evidence, and is evidence
    from then on.

    The report is the saved or cached one; where there is none, the skill is verified first.
    """
    from verifiers.decisions import answer, home, load_decisions
    from verifiers.evidence import load_evidence

    says, text = _said(rest)
    files: dict[str, Path | None] = {name: rest[name] for name in FILES}
    there = {**files, "decisions": _there(rest["decisions"])}
    target = target_of(skill, **there, static=False)
    assert target.evidence is not None  # target_of has asked for it
    tasks = {e.task_id for e in load_evidence(target.evidence)}
    if target.decisions is not None:
        load_decisions(target.decisions)  # what is damaged is said before anything runs
    judging = Judging.of(rest, config(skill))
    judging = replace(judging, reproduce_with=again(judging, there))
    report, number = _report(target, judging, saved, n, case)
    path = rest["decisions"] or home(target.skill, target.evidence)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    answer(report, number, says, path, text=text, who=who, when=when, tasks=tasks, copied_from=target.decisions)
    console.out(f"decided: {report.questions[number - 1].message}")
    console.out(f"what is right: {says}{f': {text}' if text else ''}")
    more = "".join(f" {option}" for option in again(judging, files))
    # A registered skill whose answer refuses it must not stay in use.
    by_name = not skill.exists() and not any(path for name, path in files.items() if name != "registry")
    verify = "registry verify" if by_name else "verify"
    console.say(f"written to {path}. Now run: assay {verify} {shlex.quote(str(skill))}{more}")
    return PASS


def _said(rest: dict[str, Any]) -> tuple[Says, str]:
    """The answer and its text.

    Raises:
        click.UsageError: there is not exactly one.
    """
    given = {"commands": rest["commands"], "skill": rest["skill_"], "neither": rest["neither"], "invalid": rest["invalid"]}
    chosen = [name for name, value in given.items() if value not in (False, None)]
    if len(chosen) != 1:
        raise click.UsageError("say one of --commands, --skill, --neither TEXT, --invalid")
    return cast("Says", chosen[0]), str(rest["neither"] or "")


def _there(decisions: Path | None) -> Path | None:
    """A file that is named to be written need not be there yet."""
    return decisions if decisions is not None and decisions.exists() else None


def _report(target: Target, judging: Judging, saved: Path | None, n: int, case: str) -> tuple[Report, int]:
    """The report that asks, and the question's number in it.

    Raises:
        DecisionError: no report has that question.
    """
    from verifiers.decisions import DecisionError

    newest = None
    for report in _reports(target, judging, saved):
        newest = newest or report
        numbers = [k for k, q in enumerate(report.questions, 1) if q.case.digest.startswith(case)]
        if not case or n in numbers:
            return report, n
        if numbers:
            return report, numbers[0]
    known = ", ".join(q.case.digest[:12] for q in newest.questions) if newest is not None else ""
    what = f"no question is about case {case}" + (f"; those asked are about {known}" if known else "")
    advice = f"Name the report that asks it with --report FILE, or see what is open now: assay verify {target.path}"
    raise DecisionError(what, advice, target.path)


def _reports(target: Target, judging: Judging, saved: Path | None) -> Iterator[Report]:
    """The saved report; else the newest one, then those from before the latest answers, whose other questions may be meant."""
    from verifiers.gating.cache import open_cache

    if saved is not None:
        yield _saved(target, saved)
        return
    with console.talk() as talk, Verifier(judging, open_cache(), talk.step, live=talk.live) as verifier:
        known, earlier = verifier.known(target), list(verifier.before_answers(target))
        if known is None and earlier:
            _must_ask(earlier[0], target)
        yield known or verifier.fresh(target)
        yield from earlier


def _must_ask(report: Report, target: Target) -> None:
    """Returns if a report from before the latest answers has a question without one: else minutes would be spent to say that.

    Raises:
        DecisionError: names the answers.
    """
    from verifiers.decisions import DecisionError, load_decisions

    assert target.decisions is not None  # there are answers
    says = {d.question.case.digest: d.says for d in load_decisions(target.decisions)}
    if report.questions and all(q.case.digest in says for q in report.questions):
        told = ", ".join(f"{n}: {says[q.case.digest]}" for n, q in enumerate(report.questions, 1))
        advice = f"Remove its line in {target.decisions} to decide anew. Whether there are more questions says: assay verify"
        raise DecisionError(f"every question is answered already ({told})", advice, target.path)


def _saved(target: Target, file: Path) -> Report:
    from synth.cli.report import read
    from verifiers.interface import ConfigError
    from verifiers.subject import load_subject

    sha256 = load_subject(target.skill).sha256
    report = next((r for r in read(file) if r.sha256 == sha256), None)
    if report is None:
        raise ConfigError(f"has no report on {target.path} as it is now", "Verify it again, or leave --report out", file)
    return report
