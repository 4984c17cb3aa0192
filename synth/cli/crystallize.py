"""``assay crystallize``: from traces to registered skills."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.asking import ask_ahead, suggested
from synth.cli.counting import Counted, count_here, count_outcomes, count_runs
from synth.cli.generators import Generation, generation_options
from synth.cli.home import config, open_registry, registry_option
from synth.cli.next_steps import keep_draft, keep_refusal, next_step
from synth.cli.outcomes import after_review, exit_code, line, measured, plain, unused
from synth.cli.outputs import Output, emit_document, output_options, plan
from synth.cli.patterns import show_patterns
from synth.cli.progress import Checks, Runs, dynamic_checks
from synth.cli.settings import Judging, budget_option, sandbox_options
from synth.cli.synthesize import make_drafts
from synth.cli.tracefiles import TOGETHER, nothing_repeated, said_together, stored_traces

if TYPE_CHECKING:
    from synth.config import Config
    from synth.crystallization.outcome import PatternOutcome
    from synth.crystallization.promotion import Crystallization
    from synth.detect.watch import Watch
    from synth.interface import ExecutionTrace, Generator, TracePattern
    from synth.usage import Usage

FOLDER = click.Path(path_type=Path, file_okay=False)
PLAIN_JSON = ("plain", "json")
MOST_AT_ONCE = 600
"""Recordings that are replayed and remembered before the first pattern; of more, each pattern's in its turn."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    traces: tuple[Path, ...]
    registry: Path | None
    config: Config
    judging: Judging
    generation: Generation
    hold_out: int
    max_candidates: int
    outputs: list[Output]
    review: bool
    together: tuple[str, ...]
    grouping: bool
    batch: bool
    generator: Callable[[], Generator]
    """The same one each time: its run's budget holds over all rounds."""


@click.command("crystallize", short_help="Turn traces into verified, registered skills.")
@click.argument("traces", nargs=-1, type=click.Path(path_type=Path), metavar="[TRACES]...")
@registry_option
@click.option("--hold-out", type=click.IntRange(0), metavar="N", help="Cases to keep unseen. Default: 1.")
@click.option("--min-frequency", type=click.IntRange(1), metavar="N", help="Successful traces that make a task a pattern.")
@click.option("--min-complexity", type=click.IntRange(1), hidden=True)  # of before: it is evolution.min_complexity now
@click.option("--trigger", type=click.Choice(["any", "all"]), help="Whether frequent or complex is enough, or both are needed.")
@click.option(
    "--max-candidates", type=click.IntRange(1), default=8, show_default=True, metavar="N",
    help="Of the embedded generator, per pattern.",
)  # fmt: skip
@budget_option
@click.option("--seed", type=int, metavar="N", help="Seed of every random choice. Default: from the digest of the inputs.")
@click.option("--refuse-imports", metavar="NAME,NAME", help="Modules that the skills must do without, as os,subprocess.")
@click.option("--every", is_flag=False, flag_value=-1.0, type=float, metavar="[SECONDS]", help="Again and again, as configured.")
@click.option("--dry-run", is_flag=True, help="Only show the repeated tasks, and which traces belong to none.")
@click.option("--drafts", type=FOLDER, metavar="DIR", help="Only write candidates here, unverified, for `assay verify`.")
@click.option("--review", is_flag=True, help="Then show one new skill after the other: accept, rename or leave it.")
@TOGETHER
@click.option("--llm-group", is_flag=True, help="Let the model group traces that no pattern has. Execution decides.")
@click.option("--llm-batch", is_flag=True, help="First proposals as one batch: half the price, up to a day.")
@generation_options
@sandbox_options
@output_options(PLAIN_JSON)
def command(traces: tuple[Path, ...], registry: Path | None, every: float | None, **rest: Any) -> int:
    """Finds repeated tasks in TRACES (files or directories; default: the configured store), makes a skill for each, verifies it
    in the sandbox and registers what passes. Nothing is registered on any failure.

    Exit code 0: something is registered. 1: one was refused, and nothing is registered. 3: nothing could be settled.
    4: no pattern was found.
    """
    settings = _configured(rest)
    outputs = plan(rest["formats"], rest["files"], PLAIN_JSON)
    if rest["dry_run"]:
        return show_patterns(traces, settings, outputs, rest["together"])
    generation = Generation.of(rest, settings)
    if rest["drafts"] is not None:
        return make_drafts(traces, rest["drafts"], settings, generation)
    if rest["llm_group"] and not generation.uses_model:
        raise click.UsageError("--llm-group asks a model: add --generator anthropic or openai")
    if rest["llm_batch"] and generation.generator != "anthropic":
        raise click.UsageError("--llm-batch is of the anthropic generator: add --generator anthropic")
    request = Request(
        traces=traces, registry=registry, config=settings, judging=Judging.of(rest, settings),
        generation=generation, hold_out=_hold_out(rest["hold_out"], settings),
        max_candidates=rest["max_candidates"], outputs=outputs, review=rest["review"],
        together=rest["together"], grouping=rest["llm_group"], batch=rest["llm_batch"], generator=cache(generation.open),
    )  # fmt: skip
    if every is None:
        return _once(request)
    pause_s = request.config.evolution.crystallization_interval if every < 0 else every
    watch = None if request.traces else _watch(request.config)
    while True:
        _tolerant(request, watch)
        console.say(f"again in {pause_s:g} s (Ctrl-C ends)")
        time.sleep(pause_s)


def _configured(values: dict[str, Any]) -> Config:
    settings = config()
    chosen = {name: values[name] for name in ("min_frequency", "min_complexity", "trigger") if values.get(name) is not None}
    settings = replace(settings, evolution=settings.evolution.model_copy(update=chosen))
    if values.get("refuse_imports") is None:
        return settings
    names = tuple(name.strip() for name in values["refuse_imports"].split(",") if name.strip())
    return replace(settings, conventions=settings.conventions.model_copy(update={"refuse_imports": names}))


def _watch(settings: Config) -> Watch:
    """Of the configured store: after the first round, only new traces are read."""
    from synth.detect.cache import PatternIndex
    from synth.detect.watch import Watch

    return Watch(PatternIndex(settings.trace_dir, settings.patterns_file, settings.evolution))


def _tolerant(request: Request, watch: Watch | None) -> None:
    """One round of ``--every``: what is missing now may be there the next time."""
    from sandbox.interface import SandboxError
    from verifiers.interface import AssayError

    try:
        _round(request, watch) if watch is not None else _once(request)
    except (AssayError, SandboxError) as e:
        console.error(e.diagnostics())


def _hold_out(given: int | None, settings: Config) -> int:
    configured = settings.generator.hold_out
    return given if given is not None else 1 if configured is None else configured


def _round(request: Request, watch: Watch) -> None:
    """Takes up the patterns that this round brings; those that could not be settled come again."""
    from verifiers.formats.text import plural

    patterns = watch.patterns()
    unsettled = {tuple(t.task_id for t in p.traces): p for p in patterns}
    try:
        for outcome in _settle(request, patterns, f"{plural(len(patterns), 'pattern')} with new traces"):
            if outcome.ending != "inconclusive" or outcome.report is not None:
                unsettled.pop(outcome.task_ids, None)
    finally:
        for pattern in unsettled.values():
            watch.again(pattern)


def _once(request: Request) -> int:
    from synth.detect import detect
    from verifiers.formats.text import plural

    traces = stored_traces(request.traces, request.config.trace_dir)
    together = said_together(request.together, traces)
    patterns = detect(traces, request.config, together)
    grouping = None
    if request.grouping:
        groups, grouping = suggested(request.generator(), traces, patterns, request.config.evolution.min_frequency)
        patterns = detect(traces, request.config, [*together, *groups])
    found = f"{plural(len(traces), 'trace')}, {plural(len(patterns), 'pattern')}"
    outcomes = _settle(request, patterns, found if patterns else "", grouping)
    if not patterns:
        console.error(nothing_repeated(traces, request.config.evolution))
    else:
        _say_funnel(traces, outcomes, request)
    return exit_code(outcomes)


def _say_funnel(traces: Sequence[ExecutionTrace], outcomes: Sequence[PatternOutcome], request: Request) -> None:
    from synth.crystallization.funnel import funnel
    from synth.importers.funnel import shown

    for text in shown(funnel(traces, outcomes, request.config.evolution)):
        console.say(text)


def _settle(
    request: Request, patterns: Sequence[TracePattern], found: str, grouping: Usage | None = None
) -> list[PatternOutcome]:
    """What becomes of the patterns, said and counted; after an interrupt, what became of them until then.

    Args:
        grouping: What was spent before there were patterns.
    """
    from synth.crystallization.outcome import to_json
    from synth.usage import take_usage, total

    began, interrupted = time.monotonic(), False
    took: list[float] = []
    if found:
        console.say(found)
    outcomes: list[PatternOutcome] = []
    try:
        if patterns:
            _take_up(request, patterns, outcomes, lambda: took.append(time.monotonic() - began))
    except KeyboardInterrupt:
        interrupted = True
    metrics = measured(outcomes, patterns)
    count_outcomes(outcomes, metrics["success_rate_improvement"])
    usages = [u for u in (grouping, take_usage(request.generator(), last=True) if outcomes else None) if u is not None]
    beside = total(usages) if usages else None
    seconds = took[0] if took else time.monotonic() - began
    emit_document(request.outputs, to_json(outcomes, metrics, beside), plain(outcomes, seconds, beside))
    if interrupted:
        raise KeyboardInterrupt
    return outcomes


def _take_up(request: Request, patterns: Sequence[TracePattern], found: list[PatternOutcome], judged: Callable[[], None]) -> None:
    """Adds the outcome of each pattern to ``found``; of an interrupted one, what was spent.

    Args:
        judged: Called when all are, before anybody is asked about them.
    """
    count_here()
    with _crystallization(request) as crystallization:
        try:
            _each(request, crystallization, patterns, found)
        except KeyboardInterrupt:
            why = "interrupted; the same again goes on from here"
            found += [_unsettled(crystallization, p, why) for p in patterns[len(found) :][:1]]
            raise
        judged()
        if request.review:
            found[:] = _reviewed(crystallization, found)


def _each(
    request: Request, crystallization: Crystallization, patterns: Sequence[TracePattern], found: list[PatternOutcome]
) -> None:
    """Settles one pattern after the other, and says how each ended."""
    with console.talk() as talk:
        _replay_all(crystallization, patterns, talk)
        ask_ahead(crystallization, patterns, talk, request.config.llm.parallel, batch=request.batch)
        for number, pattern in enumerate(patterns):
            talk.step(f"{pattern.task_category} ({len(pattern.traces)} traces)", number, len(patterns))
            _tell_checks(crystallization, talk, partial(_say, talk, number, len(patterns), pattern.task_category))
            outcome = _guarded(crystallization, pattern)
            talk.note(line(outcome))
            for text in unused(outcome):
                talk.note(f"    {text}")
            draft = keep_draft(outcome, request.config)
            _remember(request, crystallization, outcome, draft)
            keep_refusal(outcome, request.config)
            advice = next_step(outcome, draft, request.judging.min_usable, request.registry)
            if advice:
                talk.note(f"    next: {advice}")
            found.append(outcome)


def _remember(request: Request, crystallization: Crystallization, outcome: PatternOutcome, draft: Path | None) -> None:
    """Who verifies next what came of a pattern is answered from the cache."""
    from synth.cli.remembering import remember

    registry, place = crystallization.registry, draft
    if registry is not None and outcome.ending == "registered" and outcome.skill and outcome.version:
        place = Path(registry.show(outcome.skill, outcome.version).path)
    if outcome.report is not None and place is not None:
        remember(place, outcome.report, request.judging, request.registry)


def _reviewed(crystallization: Crystallization, outcomes: Sequence[PatternOutcome]) -> list[PatternOutcome]:
    """Asks about what was registered now and waits for that; the outcomes as they are then."""
    from synth.cli.review import Review, judged_by, prompt

    registry = crystallization.registry
    assert registry is not None  # this command always has one
    new = [(o.skill, o.version) for o in outcomes if o.skill and o.version and o.report is not None]
    waiting = [(name, version) for name, version in new if registry.show(name, version).status == "staged"]
    ends = Review(registry, judged_by(crystallization.judge, registry), prompt).run(waiting)
    return [after_review(o, ends[o.version]) if o.version in ends else o for o in outcomes]


def _replay_all(crystallization: Crystallization, patterns: Sequence[TracePattern], talk: console.Talk) -> None:
    """Replays the recordings of all patterns in one go: the judge remembers them, and two replays apart in time cost one wait."""
    from sandbox.interface import SandboxError
    from synth.tracing.traces import to_evidence

    traces = [t for p in patterns for t in p.traces if t.workspace is not None]
    if len(patterns) < 2 or len(traces) > MOST_AT_ONCE:
        return
    talk.step(f"replaying {len(traces)} recordings")
    try:
        crystallization.judge.unusable([to_evidence(t) for t in traces])
    except SandboxError as e:
        # Each pattern will say so in its outcome.
        talk.note(e.diagnostics())


def _guarded(crystallization: Crystallization, pattern: TracePattern) -> PatternOutcome:
    """One pattern's outcome. A bug that one pattern brings out must not cost the others theirs."""
    try:
        return crystallization.run(pattern)
    except Exception as e:  # noqa: BLE001  the command line's own net; it never looks like a verdict
        return _unsettled(crystallization, pattern, f"internal error: {type(e).__name__}: {e}")


def _unsettled(crystallization: Crystallization, pattern: TracePattern, why: str) -> PatternOutcome:
    """The outcome of a pattern that did not come to its end, with what was spent on it."""
    from synth.crystallization.outcome import PatternOutcome
    from synth.usage import take_usage

    generator, ids = crystallization.generator, tuple(t.task_id for t in pattern.traces)
    return PatternOutcome(pattern.task_category, ids, "inconclusive", why, usage=take_usage(generator), generator=generator.name)


@contextmanager
def _crystallization(request: Request) -> Iterator[Crystallization]:
    from synth.crystallization.judge import SandboxJudge
    from synth.crystallization.promotion import Crystallization
    from synth.crystallization.search import SearchSettings
    from synth.embedded import EmbeddedGenerator

    judging = request.judging
    with ExitStack() as stack:
        box = stack.enter_context(Counted(judging.sandbox()))
        stack.callback(lambda: count_runs(box.runs))
        registry = stack.enter_context(open_registry(request.registry))
        judge = SandboxJudge(box, judging.budget, judging.profile or "seed", judging.seed, judging.salt, judging.min_usable,
            judging.imports, judging.programs,
        )  # fmt: skip
        generation = request.generation
        settings = SearchSettings(
            hold_out=request.hold_out, min_usable=judging.min_usable,
            max_candidates=max(request.max_candidates, generation.proposals),
            seed=judging.seed or 0, template=request.config.generator.template,
            refits=not generation.uses_model, sealed=generation.uses_model,
        )  # fmt: skip
        attest = request.config.attest()
        generator = request.generator()
        if isinstance(generator, EmbeddedGenerator):
            generator.replays = judge.replays
        yield Crystallization(
            generator, judge, registry, settings, request.review or request.config.registry.approve, attest=attest
        )


def _tell_checks(crystallization: Crystallization, talk: console.Talk, step: Callable[[str], None]) -> None:
    """Has one pattern's candidates say how far their checks and runs are, where somebody watches; else only each candidate."""
    from synth.crystallization.judge import SandboxJudge

    judge, checks = crystallization.judge, Checks(step, dynamic_checks(None))
    crystallization.say = checks.begin
    box = judge.sandbox if isinstance(judge, SandboxJudge) else None
    if not isinstance(judge, SandboxJudge) or not isinstance(box, Counted) or talk.watched is None:
        return
    runs = Runs(lambda: box)
    if talk.live is not None:
        talk.live(runs)
    else:
        checks.runs = runs
    judge.progress, judge.planned = checks, box.expect


def _say(talk: console.Talk, number: int, total: int, task: str, text: str) -> None:
    talk.step(f"{task}: {text}", number, total)
