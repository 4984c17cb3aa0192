"""``assay registry evolve``: better versions of a skill, by a model, decided by recordings that it was not shown."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.counting import Counted, count_runs
from synth.cli.exits import FAIL, INCONCLUSIVE, PASS
from synth.cli.generators import Generation, asking_options
from synth.cli.home import config, open_registry, registry_option
from synth.cli.outcomes import spent_table
from synth.cli.outputs import emit_document, output_options, plan
from synth.cli.settings import Judging, budget_option, sandbox_options
from synth.cli.tracefiles import read_traces

if TYPE_CHECKING:
    from synth.crystallization.promotion import Crystallization
    from synth.evolve import Base, Evolution, Outcome
    from synth.interface import Draft, ExecutionTrace, RegistryEntry
    from synth.llm import ModelGenerator
    from synth.registry import Registry
    from verifiers.interface import Report

PLAIN_JSON = ("plain", "json")
EXITS = {"promoted": PASS, "waits": PASS, "kept": FAIL, "unsettled": INCONCLUSIVE}
CHOSEN = frozenset({"promoted", "restored", "rolled-back", "approved"})
"""What only a person does to a version."""


@click.command("evolve", short_help="Improve a skill with a model; held-out recordings decide.")
@click.argument("skill", metavar="SKILL")
@click.argument("traces", nargs=-1, type=click.Path(path_type=Path), metavar="[TRACES]...")
@registry_option
@click.option("--hold-out", type=click.IntRange(1), metavar="N", help="Cases to keep unseen. Default: a quarter of them.")
@click.option("--same-terms", is_flag=True, help="Score the old version as if made with what is shown: a new score may be lower.")
@budget_option
@click.option("--seed", type=int, metavar="N", help="Seed of every random choice. Default: from the digest of the inputs.")
@asking_options
@sandbox_options
@output_options(PLAIN_JSON)
def command(skill: str, traces: tuple[Path, ...], registry: Path | None, **rest: Any) -> int:
    """Improves SKILL, a registered skill or the directory of a SKILL.md that carries its code and its recordings. A model is
    shown recordings and report and proposes K times N + 1 versions; each is judged as every candidate is, and goes into the
    registry's history. The best is promoted if recordings that the model was not shown, newer TRACES first, find it better; else
    nothing changes. A directory is only read.

    Exit code 0: a better version is registered. 1: none was better. 3: that could not be settled. 4: there is nothing to improve.
    """
    outputs = plan(rest["formats"], rest["files"], PLAIN_JSON)
    settings = config()
    _installed()
    configured = settings.generator.name if settings.generator.name != "embedded" else "anthropic"
    generation = Generation.of({**rest, "generator": rest["generator"] or configured}, settings)
    from synth.evolve import Evolution, to_json

    known, draft, profile = _subject(skill, registry)
    newer = read_traces(traces) if traces else []
    judging = Judging.of(rest, settings)
    generator: Any = generation.open()
    with ExitStack() as stack:
        box = stack.enter_context(Counted(judging.sandbox()))
        stack.callback(lambda: count_runs(box.runs))
        opened = stack.enter_context(open_registry(registry))
        base = _base(opened, known, draft, newer)
        judged = _crystallization(generator, box, opened, replace(judging, profile=judging.profile or profile))
        with console.talk() as talk:
            count = rest["hold_out"] if rest["hold_out"] is not None else settings.generator.hold_out
            made = Evolution(base, generator, judged, count or None, generation.proposals, rest["same_terms"], talk.step)
            outcome, code = _ended(made)
    emit_document(outputs, to_json(outcome), _plain(outcome))
    return code


def _installed() -> None:
    """Returns if the optimiser is there.

    Raises:
        ConfigError: it is not.
    """
    from importlib.util import find_spec

    from verifiers.interface import ConfigError

    if find_spec("gepa") is None:
        raise ConfigError("gepa is not installed", "Install it with: python3 -m pip install gepa")


def _ended(evolution: Evolution) -> tuple[Outcome, int]:
    """The outcome and the exit code; an interrupt keeps what was found and says what was spent."""
    try:
        outcome = evolution.run()
    except KeyboardInterrupt:
        return evolution.outcome("unsettled", "interrupted; the same again goes on from here"), 130
    return outcome, EXITS[outcome.ending]


def _crystallization(generator: ModelGenerator, box: Any, registry: Registry, judging: Judging) -> Crystallization:
    """What judges and registers, as for every other candidate."""
    from synth.crystallization.judge import SandboxJudge
    from synth.crystallization.promotion import Crystallization
    from synth.crystallization.search import SearchSettings

    judge = SandboxJudge(box, judging.budget, judging.profile or "seed", judging.seed, judging.salt, judging.min_usable,
        judging.imports, judging.programs,
    )  # fmt: skip
    settings = SearchSettings(min_usable=judging.min_usable, seed=judging.seed or 0)
    return Crystallization(generator, judge, registry, settings, config().registry.approve, attest=config().attest())


# ---------------------------------------------------------------- what is to be improved


def _subject(skill: str, registry: Path | None) -> tuple[str, Draft | None, Any]:
    """The name of a registered skill, or the draft in a directory; and the profile.

    Raises:
        AssayError: there is neither, or the directory has nothing that it could be judged on.
    """
    from synth.cli.targets import entry_of, unknown

    path = Path(skill)
    known = entry_of(skill, registry) if path.parent == Path() and (registry is not None or not path.exists()) else None
    if known is not None:
        return skill, None, known.metadata.get("profile")
    if not path.exists():
        raise unknown(skill, registry)
    draft, profile = _directory(path)
    return "", draft, profile


def _base(registry: Registry, known: str, draft: Draft | None, newer: list[ExecutionTrace]) -> Base:
    """What is to be improved, with newer recordings.

    Raises:
        AssayError: it may not be changed, or its files are not those that were verified.
    """
    from synth.evolve import Base
    from synth.registry.admission import source_sha256

    if draft is not None:
        same = (e.name for e in registry.list() if e.metadata["code_sha256"] == source_sha256(draft.source))
        known = next(same, "")
        if not known:
            draft, ids = _with(draft, newer)
            return Base(registry.free_name(draft.name), draft, ids)
        console.say(f"it is the code of the registered {known}: that is what is improved")
    entry = registry.show(known)
    _may_change(entry)
    origin = registry.origin(entry.name, entry.version)
    draft, ids = _with(replace(registry.draft(entry.name, entry.version), decisions=registry.decisions(entry)), newer)
    return Base(entry.name, draft, origin.unseen | ids, origin.failures, entry, _by_hand(registry, entry))


def _with(draft: Draft, newer: list[ExecutionTrace]) -> tuple[Draft, frozenset[str]]:
    """The draft with newer recordings, and their task_ids: its code was made without them."""
    from synth.detect.answering import with_answers
    from synth.tracing.redact import redact_trace
    from synth.tracing.traces import trace_digest

    known, ids = {trace_digest(t) for t in draft.evidence}, {t.task_id for t in draft.evidence}
    more = tuple(redact_trace(t) for t in newer if t.success and t.task_id not in ids and trace_digest(t) not in known)
    if not more:
        return draft, frozenset()
    return replace(draft, evidence=with_answers((*draft.evidence, *more))[0]), frozenset(t.task_id for t in more)


def _may_change(entry: RegistryEntry) -> None:
    """Returns if the skill is one that is in use, waits or drifted.

    Raises:
        WrongState: somebody took it out of use.
    """
    from synth.registry import WrongState

    if entry.status in ("archived", "revoked"):
        advice = "Bring it back first: assay registry activate" if entry.status == "archived" else "Its code may not come back"
        raise WrongState(f"it is {entry.status}", advice, entry.name)


def _by_hand(registry: Registry, entry: RegistryEntry) -> str:
    """Why a better version of it must wait for a person; "" where it need not."""
    if entry.metadata["needs_approval"] or (entry.status == "staged" and not entry.metadata["drifted"]):
        return "the version before waits or waited for an approval"
    if entry.metadata.get("generator") == "hand":
        return "the version before was written by hand"
    chosen = any(e.version == entry.version and e.kind in CHOSEN for e in registry.history(entry.name))
    return "a person chose the version before" if chosen else ""


def _directory(path: Path) -> tuple[Draft, Any]:
    """The code and the recordings of a directory, as they are there now.

    Raises:
        NothingToVerify: it is a text alone.
        Inconclusive: it has no recordings.
        AssayError: something of it cannot be read.
    """
    from synth.cli.targets import target_of, tell_edits
    from synth.draft import read_bindings
    from synth.interface import Draft
    from synth.tracing.traces import load_traces
    from verifiers.decisions import load_decisions
    from verifiers.interface import Inconclusive, NothingToVerify
    from verifiers.subject import load_subject

    folder = path.parent if path.name == "SKILL.md" else path
    try:
        target = target_of(folder)
    except Inconclusive as e:
        advice = "Record some: assay record --task TEXT -o evidence.jsonl -- COMMAND"
        raise Inconclusive("has no recordings beside it: nothing of it can be measured", advice, path) from e
    except NothingToVerify as e:
        if not (folder / "SKILL.md").is_file():
            raise
        advice = "Record what it is for and make a skill of that: assay record, then assay crystallize TRACES"
        raise NothingToVerify("is a text without code and recordings: nothing of it can be measured", advice, path) from e
    tell_edits(target)
    assert target.evidence is not None  # target_of has asked for it
    subject = load_subject(target.skill, None, target.function)
    bindings = read_bindings(target.bindings) if target.bindings is not None else {}
    decisions = tuple(load_decisions(target.decisions)) if target.decisions is not None else ()
    return Draft(subject.name, subject.source, tuple(load_traces(target.evidence)), bindings, "", decisions), subject.profile


# ---------------------------------------------------------------- how it is told


def _plain(outcome: Outcome) -> str:
    said = {"promoted": "is better and in use", "waits": "is better and waits", "kept": "stays as it is"}
    version = f" {outcome.version[:12]}" if outcome.version else ""
    head = f"{outcome.skill}{version} {said.get(outcome.ending, 'stays as it is, which is not settled')}"
    lines = [f"{head}: {outcome.why}" if outcome.why else head]
    rows = [("before", *_standing(outcome.before), "all", "")] if outcome.before is not None else []
    rows += [(t.report.sha256[:12], *_standing(t.report), t.judged_on, t.why or "better") for t in outcome.tried]
    if rows:
        lines += ["", console.table(("version", "verdict", "score", "questions", "judged on", "so it is"), rows)]
    if outcome.held_out:
        lines += ["", f"held out: {', '.join(outcome.held_out)}"]
    lines += [f"not used: {task_id} ({why})" for task_id, why in sorted(outcome.unused.items())]
    return "\n".join(lines) + spent_table([(outcome.skill, outcome.usage, outcome.ending in ("promoted", "waits"))])


def _standing(report: Report) -> tuple[str, str, str]:
    from synth.evolve.standing import open_questions
    from verifiers.formats.text import bound

    score = bound(report.score.value) if report.score is not None else "-"
    return report.verdict.name, score, str(open_questions(report))
