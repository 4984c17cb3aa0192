"""Every skill that the fixtures' tasks give, in every format, as its reader takes it: category, flags, digest, visibility."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from factories import report
from readers import misread
from test_embedded_skills import materialised, picture, run

from sandbox.interface import Snapshot
from synth.detect import detect
from synth.embedded import EmbeddedGenerator
from synth.export import skill_of
from synth.interface import Draft
from synth.registry import Registry
from synth.tracing.traces import load_traces, to_evidence
from verifiers.capabilities import capabilities
from verifiers.expectation.equivalence import differences
from verifiers.interface import CheckResult, Evidence, Verdict

FIXTURES = Path(__file__).parents[2] / "fixtures"


def drafts() -> Iterator[Draft]:
    """What the embedded generator proposes first for each repeated task of the recordings."""
    for name in ("traces", "heldout"):
        for pattern in detect(load_traces(FIXTURES / name / "traces.jsonl")):
            found = next(EmbeddedGenerator().generate(pattern, [to_evidence(t) for t in pattern.traces]), None)
            if found is not None:
                yield Draft(found.name, found.source, pattern.traces, found.bindings, f"# {found.name}\n")


def measured(of: Draft, folder: Path) -> tuple[tuple[str, ...], list[str]] | None:
    """What a report says of its capabilities, and the checks that it passes, by the report's own rules; None if it does not do
    what was recorded.

    Each recording's start and values, in a folder of their own: the sandbox sees more, and takes minutes for all of them.
    """
    folder.mkdir(parents=True)
    recordings = [e for e in map(to_evidence, of.evidence) if e.task_id in of.bindings]
    try:
        ends = [twice(of, e, folder / str(number)) for number, e in enumerate(recordings)]
    except (OSError, RuntimeError):
        return None
    if any(differences(e.post, once) for e, (once, _) in zip(recordings, ends, strict=True)):
        return None
    cases = [SimpleNamespace(label=e.task_id, base=e.base) for e in recordings]
    first = {e.task_id: SimpleNamespace(post=once) for e, (once, _) in zip(recordings, ends, strict=True)}
    passed = ["effect-equivalent", *(["idempotent-replay"] if all(once == again for once, again in ends) else [])]
    return capabilities(SimpleNamespace(cases=cases, first=first, ran=())), passed


def twice(of: Draft, recording: Evidence, folder: Path) -> tuple[Snapshot, Snapshot]:
    """What a recording's start is after a run, and after another one."""
    root = materialised(folder, recording.base)
    run(of, root, of.bindings[recording.task_id])
    once = picture(root)
    run(of, root, of.bindings[recording.task_id])
    return once, picture(root)


def test_every_skill_is_read_as_it_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least forty of them, of each kind; what a reader will take otherwise, or refuse, was said.

    Whether one stays in its workspace only the sandbox sees: every other one is told to, for both have to be read as meant.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    kinds: Counter[str] = Counter()
    hints: Counter[tuple[str, bool]] = Counter()
    wrong: dict[str, dict[str, list[str]]] = {}
    found = [(made, facts) for n, made in enumerate(drafts()) if (facts := measured(made, tmp_path / "w" / str(n))) is not None]
    with Registry(tmp_path / "registry") as registry:
        for number, (made, (able, passed)) in enumerate(found):
            checks = tuple(CheckResult(c, Verdict.PASS) for c in (*passed, *(["contained"] if number % 2 else [])))
            judged = report(made, capabilities=able, checks=checks)
            skill = skill_of(registry, registry.register(made, judged).name)
            kinds.update(able)
            hints.update(asdict(skill.annotations).items())
            assert not skill.summary.endswith(("?.", "!.", "….")), skill.summary
            assert re.match(r"[^\W\d_]+\b", skill.summary), f"no verb: {skill.summary}"
            assert not re.search(r"\b(\w+) \1\b", skill.summary), f"a word twice: {skill.summary}"
            taken = misread(skill, registry, tmp_path)
            wrong |= {skill.entry.name: taken} if any(taken.values()) else {}
    assert len(found) >= 40
    assert set(kinds) == {"read-only", "creates", "overwrites", "deletes", "chmods", "links"}
    assert len(hints) == 8, f"of a hint one value was not tried: {hints}"
    assert wrong == {}
