"""Arguments of traces that a candidate's maker has not seen: what names say comes first, and swapped names are never taken up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from synth.crystallization.judge import SandboxJudge
from synth.interface import Candidate
from verifiers.checks._examples import RENAME_ARGS, RENAME_BODY, RENAME_HEAD
from verifiers.evidence import load_evidence
from verifiers.interface import Args, Evidence

FIXTURES = Path(__file__).parents[2] / "fixtures"
SERIES = '''from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
async def series(prefix: str = Query(...), width: int = Query(...), count: int = Query(...)) -> dict[str, object]:
    """Make numbered directories."""
    for n in range(1, count + 1):
        Path(f"{prefix}{n:0{width}d}").mkdir(exist_ok=True)
    return {"ok": True}
'''

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as opened:
        yield opened


def bound(sandbox: Sandbox, source: str, known: dict[str, Args], traces: list[Evidence]) -> dict[str, Args]:
    """What is read for the traces that are not known."""
    seen = [e for e in traces if e.task_id in known]
    new = [e for e in traces if e.task_id not in known]
    return dict(SandboxJudge(sandbox).bind(Candidate("c", source, known, "", "test"), seen, new))


def test_a_part_that_no_grammar_cuts_is_read_where_the_others_have_it(sandbox: Sandbox) -> None:
    """``seq -f "Labs/lab4a/folder%03g" 3``: no rule of names finds that prefix."""
    traces = [e for e in load_evidence(FIXTURES / "traces" / "traces.jsonl") if e.task_id.startswith("pub_mkdir_series-")]
    known: dict[str, Args] = {
        "pub_mkdir_series-02": {"prefix": "course/week", "width": 2, "count": 5},
        "pub_mkdir_series-03": {"prefix": "runs/exp", "width": 1, "count": 4},
    }
    assert bound(sandbox, SERIES, known, traces) == {
        "pub_mkdir_series-01": {"prefix": "Labs/lab4a/folder", "width": 3, "count": 3}
    }


@pytest.mark.parametrize("swapped", [False, True])
def test_swapped_names_are_not_taken_up_from_the_maker(sandbox: Sandbox, swapped: bool) -> None:
    """A maker that calls the old extension new, and binds it so, has the rest bound by the names, where it is wrong."""
    other = {"old_ext": "new_ext", "new_ext": "old_ext"} if swapped else {"old_ext": "old_ext", "new_ext": "new_ext"}
    body = RENAME_BODY.replace("old_ext", "\0").replace("new_ext", other["new_ext"]).replace("\0", other["old_ext"])
    args: dict[str, Args] = {t: {other[n]: v for n, v in a.items()} for t, a in RENAME_ARGS.items()}
    last = max(args)
    known = {t: a for t, a in args.items() if t != last}
    got = bound(sandbox, RENAME_HEAD + body, known, list(load_evidence(FIXTURES / "examples" / "rename.jsonl")))
    assert got == {last: RENAME_ARGS[last]}
