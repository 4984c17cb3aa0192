"""Looks for starts on which a skill takes the branches that no other run took. Bounded by counts, drawn from the seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, cycle, islice, zip_longest

from sandbox.interface import ReplayRecord, RunRequest, SkillJob
from verifiers.checks.arguments_matter import differs
from verifiers.context import BATCH, Case, Context
from verifiers.expectation.answers import failure
from verifiers.search.brackets import in_brackets
from verifiers.search.harm import doubtful, harm
from verifiers.search.members import archives
from verifiers.search.mutate import folded, from_arguments, from_constants
from verifiers.search.states import Start, paths_of, recorded, states
from verifiers.search.task_lines import in_conditions, in_lines_of_the_task
from verifiers.source.statements import Statement
from verifiers.worlds.harm import untouched

BASES = 3
"""Recorded starts that are changed, the smallest first."""
PURPOSE = "searched start"
TURNS = 4
"""After so many that gave nothing all lanes are empty."""
REFUSALS = 2
"""Starts on which a statement that gives nothing leads to a refusal."""


@dataclass(frozen=True, slots=True)
class Harmful:
    """A run that did harm on an invented start, on a branch that no other run took."""

    start: Start
    what: str


@dataclass
class Found:
    """What a search has found so far."""

    lines: set[int]
    runs: int = 0
    how: dict[int, str] = field(default_factory=dict)
    """First line of a statement -> the start on which it ran."""
    harmful: list[Harmful] = field(default_factory=list)
    grown: list[Start] = field(default_factory=list)
    """Starts that showed a new line, to be changed further."""
    refused: dict[int, set[tuple[str, str]]] = field(default_factory=dict)
    """First line of a statement that gives nothing -> the starts that were refused, and on which it ran."""
    again: list[Start] = field(default_factory=list)
    """What runs left behind, for a second run with the same arguments."""


def search(context: Context, source: str, wanted: Sequence[Statement], lines: set[int]) -> Found:
    """Tries invented starts until every wanted statement ran without harm, some run does harm, or the budget is used up.

    Args:
        source: the copy whose lines show what ran.
        wanted: statements of the copy.
        lines: those that ran already.
    """
    out = Found(lines)
    lanes = [_starts(context, missing(wanted, lines)), iter(())]
    tried: set[tuple[str, str]] = set()
    most = context.counts.search
    while out.runs < most and not out.harmful and missing(wanted, out.lines):
        batch = list(islice(_untried(_in_lanes(lanes), tried), min(BATCH, most - out.runs)))
        if not batch:
            break
        _try(context, source, wanted, batch, out)
        lanes[0] = chain(out.again, lanes[0])
        if out.grown:
            lanes[1] = chain(_further(context, out.grown), lanes[1])
        out.again, out.grown = [], []
    return out


def try_archives(context: Context, source: str, wanted: Sequence[Statement], lines: set[int]) -> Found:
    """Runs on archives with unusual members, each judged for harm. Nothing where no recorded start has an archive."""
    out = Found(lines)
    starts = [s for case in sorted(context.cases, key=_size)[:1] for s in archives(recorded(case))]
    records = context.run(PURPOSE, (context.request(s.base, s.args) for s in starts))
    out.runs = len(records)
    for start, record in zip(starts, records, strict=True):
        what = harm(context, start, record)
        if what and failure(record.outcome) is None:
            out.harmful.append(Harmful(start, what))
            return out
    if starts and missing(wanted, lines):
        _try(context, source, wanted, starts, out)
    return out


def _starts(context: Context, wanted: Sequence[Statement]) -> Iterator[Start]:
    cases = sorted(context.cases, key=_size)[:BASES]
    looked = context.run(PURPOSE, (context.request(c.base, c.args, observe=not context.supervised(), looks=True) for c in cases))
    paths = {c.label: paths_of(c, r) for c, r in zip(cases, looked, strict=True)}
    words = [w for w in folded(context.subject.source)[1] if "/" not in w and ".." not in w]
    told = in_conditions(context.subject.source, wanted)
    ways = [_parted(context)]
    for n, case in enumerate(cases):
        start, rng = recorded(case), context.rng(f"constants {n}")
        ways += [_in_turn(states(start, paths[case.label]), n, len(cases)), from_arguments(start, words)]
        ways += [in_brackets(start)]
        ways += [from_constants(start, context.subject.source, rng, paths[case.label], told), archives(start, words)]
        ways += 2 * in_lines_of_the_task(start, context.subject.source, wanted)  # two of each at a turn: they find most
    yield from (made for turn in zip_longest(*ways) for made in turn if made is not None)


def _parted(context: Context) -> Iterator[Start]:
    """Starts on which the skill is known to part from the commands: there it may well take another branch."""
    origins = {c.task_id: c for c in context.cases}
    for case in context.parted:
        origin = origins[case.task_id]
        changed = frozenset(p for p, e in case.base.items() if origin.base.get(p) != e)
        yield replace(recorded(case), case=origin, how=case.label, placed=changed)


def _in_turn(starts: Iterator[Start], turn: int, of: int) -> Iterator[Start]:
    """First those whose turn it is: what one recorded start is tried as, the others need not be at once."""
    later = []
    for i, start in enumerate(starts):
        if i % of == turn:
            yield start
        else:
            later.append(start)
    yield from later


def _further(context: Context, grown: Sequence[Start]) -> Iterator[Start]:
    """Starts that showed something new, changed once more."""
    words = [w for w in folded(context.subject.source)[1] if "/" not in w and ".." not in w]
    rng = context.rng(f"further {grown[0].key}")
    made = [m for s in grown for m in (*from_arguments(s, words), *states(s, list(s.base)[:8]))]
    rng.shuffle(made)
    yield from made


def _try(context: Context, source: str, wanted: Sequence[Statement], starts: Sequence[Start], out: Found) -> None:
    """Runs a batch; a run that shows a wanted statement counts if the plain skill does the same there, and no harm."""
    requests = [context.request(s.base, s.args) for s in starts]
    records = context.run(PURPOSE, (traced(r, source) for r in requests))
    out.runs += len(records)
    for start, request, record in zip(starts, requests, records, strict=True):
        fresh = went_through(record) - out.lines
        repeats = start.args != start.case.args or fresh
        if repeats and failure(record.outcome) is None and record.post != start.base:
            out.again.append(_after(start, record))
        if not fresh:
            continue
        _note_refusals(context, wanted, start, record, out)
        news = [s for s in missing(wanted, out.lines) if s.ran(record.lines)]
        if any(not _vouched(s, record) for s in news):
            continue
        if news:
            plain = context.run(PURPOSE, [replace(request, observe=not context.supervised())])[0]
            out.runs += 1
            what = harm(context, start, plain)
            if what:
                out.harmful.append(Harmful(start, what))
                return
            if differs(plain, record) or doubtful(context, start, plain):
                continue
            out.how |= {s.first_line: start.how for s in news}
        out.lines |= went_through(record)
        out.grown.append(start)


def _note_refusals(context: Context, wanted: Sequence[Statement], start: Start, record: ReplayRecord, out: Found) -> None:
    """What gives nothing (``return -1``, ``x if found else None``) tells the caller that there is nothing: where several starts
    show it, and the skill refuses each of them and changes none, that is what it is for. No run that succeeds could show it."""
    if not context.judge.refuses(record) or not untouched(start.base, record):
        return
    for s in missing(wanted, out.lines):
        if s.ran(record.lines) and s.kind == "decides" and s.gives_nothing:
            seen = out.refused.setdefault(s.first_line, set())
            seen.add(start.key)
            if len(seen) == REFUSALS:
                out.lines.add(s.first_line)
                out.how[s.first_line] = f"{start.how}, which is refused"


def _vouched(statement: Statement, record: ReplayRecord) -> bool:
    """Whether a run shows what a statement does: one that fails shows that only of what cleans up after an error."""
    cleans_up = any(c.text.startswith("except") for c in statement.conditions)
    came_to_grief = getattr(record.outcome, "line", None)
    return failure(record.outcome) is None or (cleans_up and came_to_grief != statement.first_line)


def went_through(record: ReplayRecord) -> frozenset[int]:
    """Lines that ran, but for the one where the run came to grief: what that would have done is not to be seen."""
    return record.lines - {getattr(record.outcome, "line", None) or 0}


def _after(start: Start, record: ReplayRecord) -> Start:
    """The start that a run leaves behind."""
    return replace(start, base=record.post, how=f"a second run where {start.how}")


def missing(wanted: Sequence[Statement], lines: set[int]) -> list[Statement]:
    """Those of the statements that did not run."""
    return [s for s in wanted if not s.ran(frozenset(lines))]


def _untried(starts: Iterator[Start], tried: set[tuple[str, str]]) -> Iterator[Start]:
    for start in starts:
        if start.key not in tried:
            tried.add(start.key)
            yield start


def _in_lanes(lanes: Sequence[Iterator[Start]]) -> Iterator[Start]:
    """Three of the first lane for each of the second. Nothing is taken ahead: who stops may go on anew, with more in them."""
    turns = cycle((0, 0, 0, 1))
    empty = 0
    while empty < TURNS:
        start = next(lanes[next(turns)], None)
        empty = empty + 1 if start is None else 0
        if start is not None:
            yield start


def _size(case: Case) -> tuple[int, str]:
    return sum(len(e.content) + 50 for e in case.base.values()), case.label


def traced(request: RunRequest, source: str) -> RunRequest:
    """The same run of a copy, with its lines."""
    job = request.job
    return replace(request, job=replace(job, source=source, trace_lines=True)) if isinstance(job, SkillJob) else request
