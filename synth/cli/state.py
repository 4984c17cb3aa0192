"""What ``assay`` says when nothing is asked: how things stand here, and the next step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synth.config import Config

DRAFTS = ("skill.py", "*/skill.py", "*/*/skill.py")
"""Where drafts are looked for: a whole tree can be large, and this is said at once or not at all."""
MOST_TRACES = 2000
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class State:
    """How things stand."""

    missing: str
    """What keeps runs from starting; "" where nothing does."""
    traces_in: Path
    traces: int
    due: tuple[str, ...] | None
    """Names of tasks that are repeated and have no skill; None where nobody has counted."""
    registry: Path
    active: int | None
    """None where there is no registry."""
    waiting: tuple[str, ...] = ()
    """Versions that wait for an approval, or to be activated, as ``NAME VERSION``."""
    refused: tuple[str, ...] = ()
    """Skills that passed once and no longer do, and of which no version is in use."""
    questions: tuple[tuple[str, int], ...] = ()
    """Skill, and how many questions about it nobody has answered."""
    answered: tuple[str, ...] = ()
    """Skills that were not judged again since a question about them was answered."""
    drafts: tuple[Path, ...] = field(default=())

    def lines(self) -> Iterator[str]:
        """What there is, one line each, then the next step."""
        from verifiers.formats.text import plural

        yield f"engine      {self.missing or 'ready'}"
        yield f"recordings  {self.traces} in {self.traces_in}"
        if self.due is not None:
            named = f": {', '.join(self.due[:MOST_NAMED])}" if self.due else ""
            more = f" and {len(self.due) - MOST_NAMED} more" if len(self.due) > MOST_NAMED else ""
            yield f"due         {plural(len(self.due), 'repeated task')} without a skill{named}{more}"
        yield f"skills      {'no registry' if self.active is None else f'{self.active} active'} in {self.registry}"
        if self.drafts:
            yield f"drafts      {len(self.drafts)} here: {', '.join(str(d) for d in self.drafts[:MOST_NAMED])}"
        for what in self.waiting:
            yield f"waiting     {what}"
        for skill in self.refused:
            yield f"refused     {skill}: it passed once and no longer does"
        for skill, n in self.questions:
            yield f"open        {plural(n, 'question')} about {skill}"
        for skill in self.answered:
            yield f"answered    {skill}, not judged again since"
        yield ""
        yield f"next        {self.next_step()}"

    def next_step(self) -> str:
        """One command line, or where to read on."""
        if self.missing:
            return "assay engine up --install && assay engine image"
        if self.due:
            return "assay crystallize"
        if self.drafts:
            return f"assay verify {self.drafts[0]}"
        if self.waiting:
            return f"assay registry activate {self.waiting[0]}"
        if self.refused:
            return f"assay verify {self.refused[0]}"
        if self.answered:
            return f"assay registry verify {self.answered[0]}"
        if self.questions:
            return f"assay verify {self.questions[0][0]}"
        if self.active:
            return 'assay route "WHAT YOU WANT DONE"'
        return 'assay record --task "WHAT IT IS FOR" -- COMMAND (three of one task make a skill), or assay hook install'


def state(settings: Config, registry: Path, here: Path) -> State:
    """How things stand with this configuration, in this directory. Makes nothing."""
    from sandbox.status import engine_status
    from synth.tracing.collector import TraceCollector

    found = engine_status(settings.sandbox.host, probe=False, image=settings.sandbox.image, packages=settings.sandbox.packages)
    files = TraceCollector(settings.trace_dir, settings.evolution.max_traces_stored).files()
    standing = _Standing.of(registry) if (registry / "registry.db").is_file() else _Standing()
    due = _due(settings, standing.known) if files and len(files) <= MOST_TRACES else None
    inside = registry.resolve()
    drafts = sorted(p.parent for pattern in DRAFTS for p in here.glob(pattern) if not p.resolve().is_relative_to(inside))
    shown = tuple(d.relative_to(here) for d in drafts)
    return State(
        found.missing, settings.trace_dir, len(files), due, registry,
        standing.active, standing.waiting, standing.refused, standing.questions, standing.answered, shown,
    )  # fmt: skip


def _due(settings: Config, known: frozenset[str]) -> tuple[str, ...]:
    from synth.detect import detect
    from synth.tracing.traces import consolidate

    patterns = detect(consolidate([settings.trace_dir], lambda problem: None), settings)
    return tuple(p.task_category for p in patterns if not {t.task_id for t in p.traces} <= known)


@dataclass(frozen=True, slots=True)
class _Standing:
    """What a registry holds; as here where there is none."""

    active: int | None = None
    waiting: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    questions: tuple[tuple[str, int], ...] = ()
    answered: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    """The task_ids that skills were made of."""

    @classmethod
    def of(cls, directory: Path) -> _Standing:
        from synth.registry import Registry
        from synth.registry.inspection import open_questions

        questions, answered, known = [], [], set[str]()
        with Registry(directory) as opened:
            entries = opened.list("active")
            staged = opened.list("staged")
            waiting = tuple(f"{e.name} {e.version[:12]}" for e in staged if not e.metadata["drifted"])
            unused = {e.name for e in staged if e.metadata["drifted"]} - {e.name for e in entries}
            for e in entries:
                unanswered, some = open_questions(opened, e)
                questions += [(e.name, unanswered)] if unanswered else []
                answered += [e.name] if some else []
                known |= {t.task_id for t in opened.draft(e.name, e.version).evidence}
        return cls(len(entries), waiting, tuple(sorted(unused)), tuple(questions), tuple(answered), frozenset(known))
