"""What ``assay`` says when nothing is asked: how things stand here, and the next step."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from synth.cli.next_steps import refused

if TYPE_CHECKING:
    from synth.config import Config

DRAFTS = ("skill.py", "*/skill.py", "*/*/skill.py")
"""Where drafts are looked for: a whole tree can be large, and this is said at once or not at all."""
DATA = "{PRJ_DATA}"
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
    refused: tuple[tuple[str, str], ...] = ()
    """Skills that passed once and no longer do, and of which no version is in use; and why."""
    questions: tuple[tuple[str, int], ...] = ()
    """Skill, and how many questions about it nobody has answered."""
    answered: tuple[str, ...] = ()
    """Skills that were not judged again since a question about them was answered."""
    drafts: tuple[Path, ...] = field(default=())
    hooks: tuple[int, Path] | None = None
    """How many tasks hooks recorded, and where; None where they recorded none."""
    often: tuple[tuple[str, Path], ...] = ()
    """What hooks saw often enough and nobody has learned: its task, and the file with its recordings."""
    project: Path | None = None
    """The directory that all this is about, where it is one above."""

    def lines(self) -> Iterator[str]:
        """What there is, one line each, then the next step."""
        from verifiers.formats.text import plural

        if self.project is not None:
            yield f"project     {self.project}"
        yield f"engine      {self.missing or 'ready'}"
        yield f"recordings  {self.traces} in {self.traces_in}"
        if self.hooks is not None:
            yield f"hooks       {plural(self.hooks[0], 'task')} recorded in {self.hooks[1]}"
        for task, _ in self.often:
            yield f"often       {task}"
        if self.due is not None:
            named = f": {', '.join(self.due[:MOST_NAMED])}" if self.due else ""
            more = f" and {len(self.due) - MOST_NAMED} more" if len(self.due) > MOST_NAMED else ""
            yield f"due         {plural(len(self.due), 'repeated task')} without a skill{named}{more}"
        yield f"skills      {'no registry' if self.active is None else f'{self.active} active'} in {self.registry}"
        if self.drafts:
            yield f"drafts      {len(self.drafts)} here: {', '.join(str(d) for d in self.drafts[:MOST_NAMED])}"
        for what in self.waiting:
            yield f"waiting     {what}"
        for skill, why in self.refused:
            yield f"refused     {skill}: {why}"
        for skill, n in self.questions:
            yield f"open        {plural(n, 'question')} about {skill}"
        for skill in self.answered:
            yield f"answered    {skill}, not judged again since"
        yield ""
        there = f"cd {shlex.quote(str(self.project))} && " if self.project is not None else ""
        yield f"next        {there}{self.next_step()}"

    def next_step(self) -> str:
        """One command line, or where to read on."""
        if self.missing:
            return "assay engine up --install && assay engine image"
        if self.due:
            return "assay crystallize"
        if self.often:
            return f"assay crystallize {shlex.quote(str(self.often[0][1]))}"
        if self.drafts:
            return f"assay verify {shlex.quote(str(self.drafts[0]))}"
        if self.waiting:
            return f"assay registry activate {self.waiting[0]}"
        if self.refused:
            return f"assay verify {self.refused[0][0]}"
        if self.answered:
            return f"assay registry verify {self.answered[0]}"
        if self.questions:
            return f"assay verify {self.questions[0][0]}"
        if self.active:
            return 'assay route "WHAT YOU WANT DONE"'
        return 'assay record --task "WHAT IT IS FOR" -- COMMAND (three of one task make a skill), or assay hook install'


def project(settings: Config, here: Path) -> Path:
    """The directory whose recordings count: a configured one, else the nearest with a data directory at or above this one.

    Where somebody else can write, that is somebody else's word; and the home directory is no project.
    """
    if settings.root.absolute() != here.absolute():
        return settings.root
    for directory in (here.absolute(), *here.absolute().parents):
        facts = directory.stat()
        others = facts.st_uid != os.geteuid() or facts.st_mode & (stat.S_ISVTX | stat.S_IWOTH)
        if directory != here.absolute() and (others or directory == Path.home()):
            break
        if replace(settings, root=directory).path(DATA).is_dir():
            return directory
    return here


def stand() -> State:
    """How things stand where this program was started."""
    from synth.cli.home import config, registry_dir

    settings, here = config(), Path.cwd()
    root = project(settings, here)
    if root in (here, settings.root):
        return state(settings, registry_dir(), here)
    settings = replace(settings, root=root)
    return replace(state(settings, registry_dir(settings=settings), root), project=root)


def state(settings: Config, registry: Path, here: Path) -> State:
    """How things stand with this configuration, in this directory. Makes nothing."""
    from sandbox.status import engine_status
    from synth.tracing.collector import TraceCollector

    found = engine_status(settings.sandbox.host, probe=False, image=settings.sandbox.image, packages=settings.sandbox.packages)
    files = TraceCollector(settings.trace_dir, settings.evolution.max_traces_stored).files()
    standing = _Standing.of(registry) if (registry / "registry.db").is_file() else _Standing()
    settled = (standing.known, *refused(settings))
    due = _due(settings, settled) if files and len(files) <= MOST_TRACES else None
    hooks, often = _hooked(here, settled)
    return State(
        found.missing, settings.trace_dir, len(files), due, registry,
        standing.active, standing.waiting, standing.refused, standing.questions, standing.answered,
        _drafts(settings, registry, here, standing.known), hooks, often,
    )  # fmt: skip


def _due(settings: Config, settled: Sequence[frozenset[str]]) -> tuple[str, ...]:
    """Tasks of which something is recorded that no skill was made of, and no refusal is about."""
    from synth.detect import detect
    from synth.tracing.traces import consolidate

    patterns = detect(consolidate([settings.trace_dir], lambda problem: None), settings)
    return tuple(p.task_category for p in patterns if not any({t.task_id for t in p.traces} <= ids for ids in settled))


def _drafts(settings: Config, registry: Path, here: Path, known: frozenset[str]) -> tuple[Path, ...]:
    """Drafts below this directory, and those that refusals left; of these not what has become a skill since."""
    inside, kept = registry.resolve(), settings.path(DATA) / "drafts"
    found = {p.parent for pattern in DRAFTS for p in here.glob(pattern) if not p.resolve().is_relative_to(inside)}
    found |= {p.parent for p in kept.glob("*/skill.py") if not _settled(p.with_name("evidence.jsonl"), [known])}
    return tuple(d.relative_to(here) if d.is_relative_to(here) else d for d in sorted(found))


def _settled(recordings: Path, settled: Sequence[frozenset[str]]) -> bool:
    """Whether all of a file's recordings are among those of one of these; not of a file that somebody is still at."""
    from synth.tracing.traces import load_traces
    from verifiers.interface import EvidenceError

    try:
        found = {t.task_id for t in load_traces(recordings)}
    except EvidenceError:
        return False
    return any(found <= ids for ids in settled)


def _hooked(here: Path, settled: Sequence[frozenset[str]]) -> tuple[tuple[int, Path] | None, tuple[tuple[str, Path], ...]]:
    """What hooks recorded on this machine, and what they saw often enough in this project."""
    from synth.hooks.receive import default_store
    from synth.store.pictures import project_root
    from synth.store.tasks import Store

    store = Store(default_store())
    tasks = store.tasks()
    if not tasks:
        return None, ()
    root = str(project_root(here)[0])
    found = [m for m, _ in store.moments.all("due", "told") if m.root == root and not m.seconds and Path(m.recording).is_file()]
    often = tuple((m.task, Path(m.recording)) for m in found if not _settled(Path(m.recording), settled))
    return (len(tasks), store.root), often


@dataclass(frozen=True, slots=True)
class _Standing:
    """What a registry holds; as here where there is none."""

    active: int | None = None
    waiting: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    questions: tuple[tuple[str, int], ...] = ()
    answered: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    """The task_ids that skills were made of."""

    @classmethod
    def of(cls, directory: Path) -> _Standing:
        from synth.registry import Registry
        from synth.registry.inspection import open_questions, why_drifted

        questions, answered, known = [], [], set[str]()
        with Registry(directory) as opened:
            entries = opened.list("active")
            staged = opened.list("staged")
            waiting = tuple(f"{e.name} {e.version[:12]}" for e in staged if not e.metadata["drifted"])
            active = {e.name for e in entries}
            unused = {e.name: why_drifted(opened, e) for e in staged if e.metadata["drifted"] and e.name not in active}
            for e in entries:
                unanswered, some = open_questions(opened, e)
                questions += [(e.name, unanswered)] if unanswered else []
                answered += [e.name] if some else []
                known |= {t.task_id for t in opened.draft(e.name, e.version).evidence}
        return cls(len(entries), waiting, tuple(sorted(unused.items())), tuple(questions), tuple(answered), frozenset(known))
