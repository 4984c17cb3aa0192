"""Reports on many skills: the cache first, then the rest, here one by one or all at once on the workers of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synth.cli import console
from synth.cli.counting import count_reports
from synth.cli.verifying import Verifier
from verifiers.gating.discover import Target, with_evidence
from verifiers.gating.gate import Failure, failure
from verifiers.interface import AssayError, Report, Verdict

if TYPE_CHECKING:
    from synth.fanout import Fleet
    from synth.verification import Job

LookUp = Callable[[str], Path | None]


def reports(
    targets: Sequence[Target], verifier: Verifier, talk: console.Talk, look_up: LookUp, fleet: Fleet | None = None
) -> tuple[list[Report], list[Failure]]:
    """A report for every target that can be judged; the others fail with their reason. One bad file stops nothing.

    Args:
        look_up: The registry's directory of a skill, for evidence that does not lie beside it.
        fleet: None = verify here.
    """
    found: dict[int, Report | Failure] = {}
    waiting: dict[int, Target] = {}
    for number, target in enumerate(targets):
        try:
            whole = target if verifier.judging.static else with_evidence(target, look_up)
            known = verifier.known(whole)
        except AssayError as e:
            found[number] = failure(target.path, e)
            continue
        if known is not None:
            found[number] = known
        else:
            waiting[number] = whole
    for number, result in _elsewhere(waiting, verifier, fleet) if fleet else _here(waiting, verifier, talk):
        found[number] = result
        if fleet is not None:
            talk.step(targets[number].path, len(found), len(targets))
    count_reports([r for n in waiting if isinstance(r := found[n], Report)], verifier.cache_hits)
    ordered = [found[number] for number in range(len(targets))]
    return [r for r in ordered if isinstance(r, Report)], [f for f in ordered if isinstance(f, Failure)]


def _here(waiting: Mapping[int, Target], verifier: Verifier, talk: console.Talk) -> Iterator[tuple[int, Report | Failure]]:
    if len(waiting) > 1:
        talk.step("static checks", 0, len(waiting))
        _read_ahead(list(waiting.values()), verifier)
    for done, (number, target) in enumerate(waiting.items()):
        talk.step(target.path, done, len(waiting))
        verifier.heading = f"{target.path}: "
        try:
            yield number, verifier.fresh(target)
        except AssayError as e:
            yield number, failure(target.path, e)
        except Exception as e:  # noqa: BLE001  # one skill that breaks the judge must not keep it from the others
            yield number, Failure(target.path, Verdict.INCONCLUSIVE, f"the judge itself failed ({type(e).__name__}: {e})")


def _read_ahead(targets: Sequence[Target], verifier: Verifier) -> None:
    """The static checks of all skills in one go, because each linter then starts once."""
    from dataclasses import replace

    from verifiers.source.static import prefetch
    from verifiers.subject import load_subject

    wanted = verifier.judging.checks
    if wanted is not None and not wanted & {"parses", "conventions", "ruff-clean", "mypy-strict"}:
        return
    subjects = []
    for target in targets:
        if target.function:
            continue  # what is read ahead is kept by file
        try:
            subjects.append(replace(load_subject(target.skill, verifier.judging.profile, target.function), path=target.file))
        except AssayError:
            continue  # said when its turn comes
    prefetch(subjects, verifier.judging.imports)


def _elsewhere(waiting: Mapping[int, Target], verifier: Verifier, fleet: Fleet) -> Iterator[tuple[int, Report | Failure]]:
    from synth.fanout import Undone

    jobs: dict[int, Job] = {}
    for number, target in waiting.items():
        try:
            jobs[number] = verifier.job(target)
        except AssayError as e:
            yield number, failure(target.path, e)
    numbers = list(jobs)
    for place, result in fleet.verify([jobs[number] for number in numbers]):
        target = waiting[numbers[place]]
        if isinstance(result, Undone):
            verdict = Verdict.INCONCLUSIVE if result.exit_code == 3 else Verdict.FAIL
            yield numbers[place], Failure(target.path, verdict, result.why)
        else:
            verifier.keep(target, result)
            yield numbers[place], result
