"""From recordings of edits to a registered skill, in the sandbox."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sandbox import open_sandbox
from sandbox.interface import Entry, Returned, RunRequest, SkillJob, Snapshot
from synth.crystallization.judge import SandboxJudge
from synth.crystallization.promotion import Crystallization
from synth.crystallization.search import SearchSettings
from synth.detect import detect
from synth.embedded import EmbeddedGenerator
from synth.interface import ExecutionTrace
from synth.registry import Registry
from synth.tracing.traces import trace_from_record

VERSIONS = ("1.0.0", "1.0.1", "1.1.0", "2.0.0")
TEXTS = (
    "The first.",
    "* A hole is mended.\n* Another one too.",
    "* Faster by half.\n\nThanks to all!",
    "Nothing stays as it was.",
)


def files(version: str, entries: str) -> dict[str, str]:
    """A crate at a version; another package has the same one at the beginning."""
    return {
        "Cargo.toml": f'[package]\nname = "it"\nversion = "{version}"\n\n[dependencies.other]\nversion = "1.0.0"\n',
        "src/lib.rs": f'#![doc(html_root_url = "https://docs.rs/it/{version}")]\npub fn one() {{}}\n',
        "CHANGES.md": f"# Changes\n\n{entries}",
    }


def entry(version: str, text: str) -> str:
    return f"{version}\n{'-' * len(version)}\n\n{text}\n\n"


def trace(number: int) -> ExecutionTrace:
    told = [entry(v, t) for v, t in zip(VERSIONS, TEXTS, strict=True)]
    trees = [files(VERSIONS[k], "".join(told[k::-1])) for k in (number, number + 1)]
    start, end = ({p: _file(t) for p, t in tree.items()} for tree in trees)
    edits = [{"edit": {"path": p, "before": start[p], "after": end[p]}} for p in sorted(start)]
    return trace_from_record(
        {
            "task_id": f"release-{number}",
            "task_description": f"Release version {VERSIONS[number + 1]} of the crate", "commands": [],
            "outputs": [], "success": True, "duration_ms": 0, "metadata": {}, "steps": edits, "workspace": start,
            "timestamp": (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)).isoformat(), "post_workspace": end,
        },
        "test",
    )  # fmt: skip


def _file(text: str) -> dict[str, Any]:
    return {"type": "file", "mode": "0644", "content_b64": base64.b64encode(text.encode()).decode()}


@pytest.mark.engine
@pytest.mark.timeout(600)
def test_edits_become_a_registered_skill(tmp_path: Path) -> None:
    """Three releases are found as one task; the skill that is registered makes the fourth, with prose that it is given."""
    (pattern,) = detect([trace(n) for n in range(3)])
    with Registry(tmp_path) as registry, open_sandbox() as box:
        judge = SandboxJudge(box, budget="fast")
        outcome = Crystallization(EmbeddedGenerator(), judge, registry, SearchSettings(refits=True)).run(pattern)
        assert outcome.ending == "registered", outcome.why
        source = registry.draft(str(outcome.skill)).source
        assert set(outcome.bindings["release-0"]) == {"version", "text"}
        base = Snapshot({p: Entry("file", 0o644, t.encode()) for p, t in files("2.0.0", entry("2.0.0", TEXTS[3])).items()})
        args = {"version": "2.1.0", "text": TEXTS[0]}
        with box.session("skill") as session:
            (record,) = session.map([RunRequest(SkillJob(source, args), base)])
    assert isinstance(record.outcome, Returned), record.outcome
    wanted = files("2.1.0", entry("2.1.0", TEXTS[0]) + entry("2.0.0", TEXTS[3]))
    assert {p: record.post[p].content.decode() for p in wanted} == wanted
