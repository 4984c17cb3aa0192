"""Every skill that the fixtures' tasks give, in every format, as its reader takes it: category, flags, digest, visibility."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from factories import report
from readers import misread

from synth.detect import detect
from synth.embedded import EmbeddedGenerator
from synth.export import skill_of
from synth.interface import Draft
from synth.registry import Registry
from synth.tracing.traces import load_traces, to_evidence

FIXTURES = Path(__file__).parents[2] / "fixtures"


def drafts() -> Iterator[Draft]:
    """What the embedded generator proposes first for each repeated task of the recordings."""
    for name in ("traces", "heldout"):
        for pattern in detect(load_traces(FIXTURES / name / "traces.jsonl")):
            found = next(EmbeddedGenerator().generate(pattern, [to_evidence(t) for t in pattern.traces]), None)
            if found is not None:
                yield Draft(found.name, found.source, pattern.traces, found.bindings, f"# {found.name}\n")


def capability(of: Draft) -> str:
    """What the recordings do to their workspaces, as a report would tell it."""
    pairs = [(dict(t.workspace or {}), dict(t.post_workspace or {})) for t in of.evidence]
    if all(before == after for before, after in pairs):
        return "read-only"
    return "creates" if all(before.items() <= after.items() for before, after in pairs) else "renames"


def test_every_skill_is_read_as_it_is_meant(tmp_path: Path) -> None:
    """At least forty of them, of each kind; what a reader will take otherwise, or refuse, was said."""
    kinds: Counter[str] = Counter()
    wrong: dict[str, dict[str, list[str]]] = {}
    with Registry(tmp_path / "registry") as registry:
        for made in drafts():
            kinds[kind := capability(made)] += 1
            skill = skill_of(registry, registry.register(made, report(made, capabilities=(kind,))).name)
            assert not skill.summary.endswith(("?.", "!.", "….")), skill.summary
            assert re.match(r"[^\W\d_]+\b", skill.summary), f"no verb: {skill.summary}"
            assert not re.search(r"\b(\w+) \1\b", skill.summary), f"a word twice: {skill.summary}"
            found = misread(skill, registry, tmp_path)
            wrong |= {skill.entry.name: found} if any(found.values()) else {}
    assert kinds.total() >= 40
    assert set(kinds) == {"read-only", "creates", "renames"}
    assert wrong == {}
