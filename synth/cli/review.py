"""``assay crystallize --review``: one new skill after the other, to accept, rename or leave."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from synth.cli import console
from synth.cli.home import actor
from synth.cli.trees import diff_lines

if TYPE_CHECKING:
    from synth.crystallization.judge import Judge
    from synth.interface import Draft, RegistryEntry
    from synth.registry import Registry
    from verifiers.interface import Report

ORIGIN = (
    "source", "pattern_type", "frequency", "success_rate", "signature", "evidence", "generator", "held_out", "refitted",
)  # fmt: skip
"""Metadata of a version that its renamed form keeps: how it came about."""
HELP = (
    "y accept · n leave it waiting · r NAME rename it · p OLD NEW rename a parameter · d TEXT say what it does · "
    "d PARAMETER: TEXT say what a parameter is · c show its code · q leave the rest"
)


@dataclass
class Review:
    """Asks about versions that wait.

    Args:
        verify: Judges a draft anew, as the version that it is made from was judged.
        ask: Gives one line of the person's answer.
    """

    registry: Registry
    verify: Callable[[Draft, RegistryEntry], Report]
    ask: Callable[[str], str]

    def run(self, names: list[tuple[str, str]]) -> dict[str, RegistryEntry]:
        """Goes through versions (name, version). Returns what has become of each that was asked about, by its first version."""
        ends: dict[str, RegistryEntry] = {}
        for number, (name, version) in enumerate(names, 1):
            entry = self.registry.show(name, version)
            console.out(f"\n[{number}/{len(names)}] {entry.name}")
            for line in shown(self.registry, entry):
                console.out(line)
            answer, entry = self._answer(entry)
            ends[version] = entry
            if answer == "q":
                break
            if answer == "y":
                ends[version] = self.registry.approve(entry.name, entry.version, approver=actor(), note="reviewed")
                console.out(f"{entry.name} is active")
        return ends

    def _answer(self, entry: RegistryEntry) -> tuple[str, RegistryEntry]:
        """Until it is accepted or left: the answer, and the version that it is about by then."""
        from verifiers.interface import AssayError

        while True:
            words = self.ask("accept? [y/n/r/p/d/c/q/?]").split()
            try:
                match words:
                    case ["y" | "n" | "q" as answer]:
                        return answer, entry
                    case ["r", name]:
                        entry = self._renamed(entry, name, {})
                    case ["p", old, new]:
                        entry = self._renamed(entry, None, {old: new})
                    case ["d", first, *more] if first.endswith(":") and more:
                        entry = self._renamed(entry, None, {}, {first[:-1]: " ".join(more)})
                    case ["d", *more] if more:
                        entry = self._renamed(entry, None, {}, {"": " ".join(more)})
                    case ["c"]:
                        console.out(self.registry.source(entry))
                    case ["?"]:
                        console.out(HELP)
                    case ["r" | "p" | "d" as answer, *_]:
                        console.out(f"{' '.join(words)!r} has not the words that {answer} takes:\n{HELP}")
                    case _:
                        console.out(f"{' '.join(words)!r} is none of these:\n{HELP}")
            except AssayError as e:
                console.error(e.diagnostics())

    def _renamed(
        self, entry: RegistryEntry, name: str | None, parameters: dict[str, str], described: dict[str, str] | None = None
    ) -> RegistryEntry:
        """The version under other names, verified anew; it takes the place of the one that waited.

        Raises:
            AssayError: the names cannot be given, or it no longer passes; nothing changed.
        """
        console.say("verifying it under its new names")
        new = renamed_version(self.registry, entry, self.verify, name, parameters, described, require_approval=True)
        console.out(f"now {new.name}: {signature(new)}")
        for line in told(new):
            console.out(line)
        return new


def renamed_version(
    registry: Registry,
    entry: RegistryEntry,
    verify: Callable[[Draft, RegistryEntry], Report],
    name: str | None,
    parameters: dict[str, str],
    described: dict[str, str] | None = None,
    *,
    require_approval: bool,
) -> RegistryEntry:
    """A version under other names, verified anew and registered in the place of the one that it was.

    Raises:
        AssayError: the names cannot be given, or it no longer passes; nothing changed.
    """
    from synth.renaming import renamed

    answered = replace(registry.draft(entry.name, entry.version), decisions=registry.decisions(entry))
    draft = renamed(answered, name, parameters, described)
    kept = {key: entry.metadata[key] for key in ORIGIN if key in entry.metadata}
    before = entry.name if draft.name == entry.name else None
    new = registry.register(
        draft, verify(draft, entry), supersedes=before, require_approval=require_approval, metadata=kept, actor=actor()
    )
    # One in use stays so until the other one is approved.
    if registry.show(entry.name, entry.version).status == "staged" or (new.status == "active" and before is None):
        reason = f"renamed to {new.name} {new.version[:12]}"
        registry.archive(entry.name, entry.version, actor=actor(), reason=reason)
    return new


def shown(registry: Registry, entry: RegistryEntry) -> Iterator[str]:
    """What it does in words, its parameters, what it did to one recording, and what is open about it."""
    from sandbox.interface import effects
    from synth.tracing.traces import to_evidence
    from verifiers.expectation.oracle import without_root
    from verifiers.formats.text import bound

    draft, report = registry.draft(entry.name, entry.version), registry.report(entry.name, entry.version)
    yield from told(entry)
    yield f"  {entry.name}({signature(entry)}), score at least {bound(entry.score)}; {', '.join(report['capabilities'])}"
    for trace in draft.evidence:
        e = to_evidence(trace)
        if e.base is not None and e.post is not None and trace.task_id in draft.bindings:
            yield f"  on the recording {trace.task_id} ({trace.task_description}), with {dict(draft.bindings[trace.task_id])}:"
            changed = list(diff_lines(effects(without_root(e.base), without_root(e.post))))
            yield from (
                f"    {line}" for line in changed or ["it changed nothing, and printed:", *trace.outputs[-1].splitlines()[:8]]
            )
            break
    for n, question in enumerate(report.get("questions", ()), 1):
        yield f"  question {n}: {question['message']}"
    if report.get("questions"):
        here = shlex.quote(os.path.relpath(registry.root))
        yield f"  its case, and the answers: assay verify {entry.name} --registry {here}"


def told(entry: RegistryEntry) -> Iterator[str]:
    """What it and its parameters are, in words."""
    yield entry.description
    yield from (f"    {p['name']}: {p['description']}" for p in entry.metadata["parameters"])


def signature(entry: RegistryEntry) -> str:
    return ", ".join(f"{p['name']}: {p['annotation']}" for p in entry.metadata["parameters"])


def prompt(text: str) -> str:
    """One line from the terminal; ``q`` where there is none to ask."""
    try:
        return str(click.prompt(console.escape(text), default="?", show_default=False, err=True))
    except click.Abort:
        return "q"


def judged_by(judge: Judge, registry: Registry) -> Callable[[Draft, RegistryEntry], Report]:
    """Judges renamed versions: what was unseen when the code was made still was."""
    from synth.interface import Candidate
    from synth.tracing.traces import to_evidence

    def judged(draft: Draft, entry: RegistryEntry) -> Report:
        origin = registry.origin(entry.name, entry.version)
        candidate = Candidate(
            draft.name, draft.source, draft.bindings, entry.description, str(entry.metadata.get("generator", ""))
        )
        evidence = [to_evidence(t) for t in draft.evidence]
        deciding = judge.deciding(draft.decisions)
        return deciding.verify(candidate, evidence, draft.bindings, origin.unseen, origin.failures)

    return judged
