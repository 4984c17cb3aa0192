"""Drafts and reports made by hand, for tests of what happens after verification."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sandbox.interface import SandboxInfo
from synth.interface import Draft, ExecutionTrace, RegistryEntry
from synth.registry import Registry
from synth.registry.receipt import traces_sha256
from verifiers.interface import CheckResult, EvidenceSummary, Report, SandboxSummary, Score, Verdict
from verifiers.score import ScoreInputs, Trial, score
from verifiers.subject import parse_subject

SOURCE = '''\
"""Renames by extension."""

from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
async def {name}(
    old_ext: str = Query(..., description="Extension to replace, without the dot"),
    new_ext: str = Query("md", description="New extension, without the dot"),
) -> dict[str, object]:
    """{summary}

    Args:
        old_ext: Extension to replace, without the dot.
        new_ext: New extension, without the dot.

    Returns:
        ok and the number of renamed files.
    """
    changed = 0
    for path in sorted(Path().glob(f"*.{{old_ext}}")):
        path.rename(path.with_suffix(f".{{new_ext}}"))
        changed += 1
    return {{"ok": True, "changed": changed}}
'''


def source(name: str = "batch_rename", summary: str = "Rename every file with one extension to another.") -> str:
    return SOURCE.format(name=name, summary=summary)


def trace(number: int, task: str | None = None, commands: tuple[str, ...] | None = None) -> ExecutionTrace:
    old, new = (("txt", "md"), ("html", "htm"), ("log", "bak"), ("jpeg", "jpg"))[number % 4]
    content = base64.b64encode(f"text {number}\n".encode()).decode()
    return ExecutionTrace(
        task_id=f"rename-{number:02}",
        task_description=task or f"Rename all .{old} files to .{new}",
        commands=commands or (f'for f in *.{old}; do mv "$f" "${{f%.{old}}}.{new}"; done',),
        outputs=("",) if commands is None else ("",) * len(commands),
        success=True,
        duration_ms=12.5,
        timestamp=datetime(2026, 1, 2, 3, 4, number % 60, tzinfo=UTC),
        metadata={"source": "test"},
        exit_codes=(0,) if commands is None else (0,) * len(commands),
        workspace={f"a.{old}": {"type": "file", "mode": "0644", "content_b64": content}},
        post_workspace={f"a.{new}": {"type": "file", "mode": "0644", "content_b64": content}},
    )


def draft(
    name: str = "batch_rename",
    *,
    traces: int = 3,
    summary: str = "Rename every file with one extension to another.",
    **changes: Any,
) -> Draft:
    evidence = tuple(trace(n) for n in range(traces))
    bindings = {t.task_id: {"old_ext": "x", "new_ext": "y"} for t in evidence}
    made = Draft(name, source(name, summary), evidence, bindings, f"# {name}\n\n{summary}\n")
    return replace(made, **changes)


def measured(generated: int = 160, traces: int = 3, adequacy: float = 0.85) -> Score:
    result = score(ScoreInputs(tuple(Trial(f"rename-{n:02}", True) for n in range(traces)), generated, adequacy))
    assert result is not None
    return result


SANDBOX = SandboxInfo("runc", "assay-sandbox:1234", "f" * 64, "20.10", "6.1", {})


def report(of: Draft, *, generated: int = 160, path: str = "drafts/batch_rename/skill.py", **changes: Any) -> Report:
    subject = parse_subject(of.source, path)
    made = Report(
        name=subject.name,
        path=path,
        sha256=subject.sha256,
        verdict=Verdict.PASS,
        score=measured(generated, len(of.evidence)),
        checks=(
            CheckResult("effect-equivalent", Verdict.PASS, runs=3, seconds=0.5),
            CheckResult("idempotent-replay", Verdict.PASS, runs=6, seconds=0.7, measured={"runs": 6}),
            CheckResult.not_applicable("answer-equivalent", "writes and claims no answer"),
        ),
        not_checked=(),
        evidence=EvidenceSummary(traces_sha256(of.evidence), len(of.evidence), len(of.evidence), 0),
        bindings=of.bindings,
        sandbox=SandboxSummary(SANDBOX.runtime, SANDBOX.image, SANDBOX.inventory, 20, 1.5),
        tools={"assay": "0.1.0", "ruff": "0.9"},
        seed=4711,
        seconds=3.1,
        partial=False,
        budget="standard",
        profile="seed",
        capabilities=("renames",),
    )
    return replace(made, **changes)


def files_below(directory: Path) -> Mapping[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def ticking_registry(root: Path) -> Registry:
    """A registry whose clock goes on by a minute each time it is looked at."""
    clock = iter(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=n) for n in range(10_000))
    return Registry(root, clock=lambda: next(clock))


def register(registry: Registry, of: Draft | None = None, *, generated: int = 160, **options: Any) -> RegistryEntry:
    chosen = of or draft()
    return registry.register(chosen, report(chosen, generated=generated), **options)
