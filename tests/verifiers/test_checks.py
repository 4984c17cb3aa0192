"""Every dynamic check on its own examples, in the sandbox: it catches the bad ones and leaves the good ones alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sandbox import open_sandbox
from sandbox.interface import Sandbox, SandboxInfo
from verifiers.catalog import DYNAMIC
from verifiers.checks._examples import APPEND_BODY, append
from verifiers.checks.idempotent_replay import CHECK as IDEMPOTENT
from verifiers.evidence import load_evidence
from verifiers.expectation.sessions import Memory
from verifiers.interface import Binding, CheckResult, Example, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

EXAMPLES = Path(__file__).parents[2] / "fixtures" / "examples"
NEEDS = {"controls-fail": {"generalises"}, "exercised": {"generalises"}}

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def memory() -> Memory:
    return {}


def result(check_id: str, example: Example, sandbox: Sandbox, memory: Memory) -> CheckResult:
    evidence = load_evidence(EXAMPLES / f"{example.evidence}.jsonl")
    bindings = {t: Binding(t, a) for t, a in example.args.items()}
    wanted = frozenset({check_id} | NEEDS.get(check_id, set()))
    options = Options(budget="fast", checks=wanted, stop_early=False, memory=memory)
    report = verify(parse_subject(example.source, "example.py"), evidence, bindings, sandbox=sandbox, options=options)
    found = report.check(check_id)
    assert found is not None, report.why
    return found


@pytest.mark.parametrize(
    ("check_id", "example"), [pytest.param(c.id, e, id=f"{c.id}: {e.title}") for c in DYNAMIC for e in c.good]
)
def test_a_good_example_is_left_alone(check_id: str, example: Example, sandbox: Sandbox, memory: Memory) -> None:
    """No check refuses its own good example."""
    found = result(check_id, example, sandbox, memory)
    assert found.verdict in (Verdict.PASS, None), found.findings


@pytest.mark.parametrize(
    ("check_id", "example"), [pytest.param(c.id, e, id=f"{c.id}: {e.title}") for c in DYNAMIC for e in c.bad]
)
def test_a_bad_example_is_caught(check_id: str, example: Example, sandbox: Sandbox, memory: Memory) -> None:
    """Each check refuses its own bad example, with a finding that says what and how to see it again."""
    found = result(check_id, example, sandbox, memory)
    assert found.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)
    errors = [f for f in found.findings if f.severity == "error"]
    assert errors
    if found.verdict is Verdict.FAIL and check_id not in ("hints-measured",):
        assert errors[0].counterexample is not None
        assert errors[0].reproduce.startswith("assay replay ")


def test_every_dynamic_check_has_examples() -> None:
    """A check without a skill that it must leave alone, and one that it must catch, is not a check (adequacy is a measure)."""
    assert [c.id for c in DYNAMIC if not c.good] == []
    assert [c.id for c in DYNAMIC if not c.bad] == ["mutants-killed"]


@dataclass
class Blind:
    """A sandbox on an engine that allows no supervision."""

    inner: Sandbox

    @property
    def info(self) -> SandboxInfo:
        known = self.inner.info
        return replace(known, probes={**known.probes, "supervise": False}, why_not={"supervise": "the kernel is too old"})

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def test_two_runs_at_once_are_told_of_in_the_same_words_every_time(sandbox: Sandbox, memory: Memory) -> None:
    """Not a race that either may win: a second run at a chosen point. For information; where it cannot be had, that is said."""
    body = APPEND_BODY.replace('p.write_text(text + line + "\\n")', 'p.open("a").write(line + "\\n")')
    example = append("looks, then appends", body)
    told = [result(IDEMPOTENT.id, example, sandbox, memory) for _ in range(3)]
    assert told[0].verdict is Verdict.PASS
    assert [f.severity for f in told[0].findings] == ["info"]
    assert told[0].findings[0].message.startswith("two runs at once end differently where the second gets in before change 1 of ")
    assert replace(told[0], seconds=0.0) == replace(told[1], seconds=0.0) == replace(told[2], seconds=0.0)
    blind = result(IDEMPOTENT.id, example, Blind(sandbox), memory)  # type: ignore[arg-type]  # the rest is the sandbox's own
    assert [f.message for f in blind.findings] == ["two runs at once were not tried: the kernel is too old"]
