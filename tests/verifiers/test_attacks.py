"""Skills written to cheat: each is refused, and by a check that says why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from judging import taken

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.catalog import DYNAMIC
from verifiers.conventions import findings
from verifiers.evidence import load_evidence
from verifiers.expectation.sessions import Memory
from verifiers.interface import Binding, Evidence, Report, Verdict
from verifiers.subject import load_subject
from verifiers.verify import Options, verify

FIXTURES = Path(__file__).parents[2] / "fixtures"
FAMILIES = {
    "rename": "pub_rename_ext",
    "count": "pub_count_lines",
    "append": "pub_append_line",
    "mirror": "pub_mirror_dirs",
    "replace": "pub_sed_tree",
}
EVERY = sorted((FIXTURES / "attacks").glob("*.py"))


def header(path: Path, key: str) -> str:
    return next(line.partition(": ")[2] for line in path.read_text().splitlines() if line.startswith(f"# {key}: "))


def bindings_of(family: str) -> dict[str, Binding]:
    labels = [json.loads(line) for line in (FIXTURES / "gate" / "labels.jsonl").read_text().splitlines()]
    good = next(x for x in labels if x["family"] == FAMILIES[family] and x["label"] == "good")
    return {b["task_id"]: Binding(b["task_id"], b["args"]) for b in good["bindings"]}


SEEN_IN_THE_TEXT = [p for p in EVERY if header(p, "refused-by").startswith("conventions-")]
"""What no number of runs shows, such as chance without a branch."""
ATTACKS = taken([p for p in EVERY if p not in SEEN_IN_THE_TEXT])


def test_there_are_enough_attacks() -> None:
    """The judge is attacked in more than a few ways."""
    assert len(EVERY) >= 25


@pytest.mark.parametrize("path", SEEN_IN_THE_TEXT, ids=lambda p: p.stem)
def test_an_attack_is_seen_in_the_text(path: Path) -> None:
    """A convention refuses it."""
    assert header(path, "refused-by") in {f.rule for f in findings(load_subject(path)) if f.severity == "error"}


@pytest.fixture(scope="module")
def reports(request: pytest.FixtureRequest) -> Iterator[Callable[[Path], Report]]:
    """Two are judged at a time, as there are cores: one after the other takes much longer."""
    items = [i for i in request.session.items if isinstance(i, pytest.Function) and i.path == request.path]
    wanted = [Path(str(i.callspec.params["path"])) for i in items if "reports" in i.fixturenames]
    recorded = list(load_evidence(FIXTURES / "traces" / "traces.jsonl"))
    memory: Memory = {}
    with open_sandbox() as sandbox, ThreadPoolExecutor(2) as pool:
        running = {path: pool.submit(judged, path, recorded, sandbox, memory) for path in wanted}
        yield lambda path: running[path].result()


def judged(path: Path, recorded: list[Evidence], sandbox: Sandbox, memory: Memory) -> Report:
    """By the checks that are to refuse it, and two that run it. What never ran is known after all checks, mutants apart."""
    bindings = bindings_of(header(path, "evidence"))
    evidence = [e for e in recorded if e.task_id in bindings]
    named = frozenset(header(path, "refused-by").split(","))
    few = named | {"effect-equivalent", "deterministic-replay"}
    checks = frozenset(c.id for c in DYNAMIC) - {"mutants-killed"} if "exercised" in named else few
    options = Options(budget="fast", checks=checks, stop_early=False, memory=memory)
    return verify(load_subject(path), evidence, bindings, sandbox=sandbox, options=options)


@pytest.mark.engine
@pytest.mark.parametrize("path", ATTACKS, ids=lambda p: p.stem)
def test_an_attack_is_refused_by_a_named_check(path: Path, reports: Callable[[Path], Report]) -> None:
    """A skill that cheats does not pass, and one of the checks that it is aimed at is the one that says so."""
    report = reports(path)
    refusing = {c.id for c in report.checks if c.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)}
    assert report.verdict is not Verdict.PASS, header(path, "attack")
    assert refusing & set(header(path, "refused-by").split(",")), refusing
