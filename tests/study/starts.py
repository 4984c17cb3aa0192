"""All made starts of rounds' skills on which they differ from the commands, without a stop at the first: how each was made.

    python tests/study/starts.py ROUND_DIR… [--skill TASK/NAME] [--expect PASS|REFUSE] [--every N] [--variation NAME]
        [--jobs 2] [--show] [--json FILE]

What is held against a skill is a ``finding``, harm beyond the evidence one too; ``question`` is asked, ``refused`` weighed.
With ``--variation`` nothing but its own starts is made: so a new one is measured on skills that it was not written for, and old
ones that may have become needless.
"""

from __future__ import annotations

import argparse
import difflib
import json
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from first_contact import Candidate, candidates, judge

from sandbox import open_sandbox
from sandbox.interface import ROOT, ReplayRecord
from verifiers.checks import generalises
from verifiers.context import Case, Context
from verifiers.expectation.answers import answer_at
from verifiers.expectation.equivalence import differences
from verifiers.worlds import differential
from verifiers.worlds.differential import Judged
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.harm import between, untouched
from verifiers.worlds.plans import Plan, systematic
from verifiers.worlds.trials import Trial

LOOK = differential._look
here = threading.local()


def look(context, evidenced, out: Judged, trial: Trial, first, record) -> None:  # type: ignore[no-untyped-def]
    """One start by itself: what it says is kept, and nothing of it ends the check."""
    alone = Judged()
    LOOK(context, evidenced, alone, trial, first, record)
    out.runs += alone.runs
    out.judged += alone.judged
    out.passed += alone.passed
    how = parts(context, first, record)
    here.rows += [("finding", trial, how, f.message) for f in alone.findings]
    here.rows += [("odd", trial, how, s.finding.message) for s in alone.suspects.values()]
    here.rows += [("question", trial, how, q.message) for q in alone.questions]
    here.rows += [("refused", trial, how, r.wrong.message) for r in alone.refused]


def parts(context: Context, case: Case, record: ReplayRecord) -> str:
    """How a run's end differs: it did less than the commands, and nothing else, or more; the same of the lines of its answer."""
    x, path = case.expectation, context.judge.answer_path
    out = []
    if differences(x.tree, record.post, root=False):
        less = between({*x.base, *x.tree, *record.post} - {ROOT}, x, record.post)
        out.append(("nothing" if untouched(case.base, record) else "some") if less else "more")
    if path is not None and x.answer_known:
        said = Counter((answer_at(getattr(record.outcome, "value", None), path) or "").splitlines())
        wanted = Counter(x.answer.splitlines())
        if said != wanted:
            out.append("fewer lines" if said < wanted else "more lines" if said > wanted else "other lines")
    return ", ".join(out) or "no difference"


def only(variations: Collection[str]):  # type: ignore[no-untyped-def]
    """Makes the plans of these variations, of every recording."""

    def made(context: Context, gs: Sequence[Grammar]) -> list[tuple[Grammar, Plan]]:
        found = [(g, p) for g in differential._able(gs) for p in systematic(g)]
        return [(g, p.held(gs)) for g, p in found if any(s.variation in variations for s in p.steps)]

    return patch.object(differential, "_plans", made)


def changed(trial: Trial) -> Iterator[str]:
    """The start against the recorded one, as a diff."""
    old, new = trial.g.base, trial.world.base
    for path in sorted({*old, *new}):
        a, b = old.get(path), new.get(path)
        if a != b:
            texts = [[] if e is None else (e.content.decode("utf-8", "replace") or e.type).splitlines() for e in (a, b)]
            heads = [f"{path} {e.mode:o}" if e is not None else "nothing" for e in (a, b)]
            yield from difflib.unified_diff(*texts, *heads, lineterm="", n=1)
    yield f"args {dict(trial.world.args)}" + (f", recorded {dict(trial.g.args)}" if trial.world.args != trial.g.args else "")


def tried(
    candidate: Candidate, sandbox, show: bool, checks: frozenset[str] | None
) -> tuple[Candidate, str, list[dict[str, object]]]:  # type: ignore[no-untyped-def]
    here.rows = []
    row = judge(candidate, sandbox, {}, checks)
    out = []
    for kind, trial, how, message in here.rows:
        steps = [f"{s.variation}{list(s.choice)}" for s in trial.plan.steps]
        beyond = trial.beyond.name if trial.beyond else "within"
        known = {"kind": kind, "how": how, "steps": steps, "trace": trial.g.task_id, "beyond": beyond}
        out.append(known | {"message": message[:300], "start": [*changed(trial)] if show else []})
    return candidate, str(row.report.verdict), out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("roots", type=Path, nargs="+")
    parser.add_argument("--skill", action="append", default=[])
    parser.add_argument("--every", type=int, default=1, help="Of the chosen ones, each so many-th.")
    parser.add_argument("--variation", action="append", help="Only starts that it has a part in, and no other oracle.")
    parser.add_argument("--expect", choices=("PASS", "REFUSE"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    chosen = [c for root in given.roots for c in candidates(root) if given.expect is None or c.good == (given.expect == "PASS")]
    chosen = [c for c in chosen if not given.skill or c.name.startswith(tuple(given.skill))][:: given.every]
    checks = frozenset({"generalises"}) if given.variation else None
    rows = []
    with ExitStack() as stack:
        sandbox, pool = stack.enter_context(open_sandbox()), stack.enter_context(ThreadPoolExecutor(given.jobs))
        stack.enter_context(patch.object(differential, "_look", look))
        if given.variation:
            stack.enter_context(only(given.variation))
            stack.enter_context(patch.object(generalises, "ORACLES", {"differential": generalises.ORACLES["differential"]}))
        for candidate, verdict, found in pool.map(lambda c: tried(c, sandbox, given.show, checks), chosen):
            print(f"{candidate.name} {'correct' if candidate.good else 'wrong'} {verdict}", flush=True)
            for r in found:
                how = f"{r['kind']:8} ({r['how']}) {r['beyond']}: {' + '.join(r['steps'])}"  # type: ignore[arg-type]
                print(f"  {how} ({r['trace']}) {r['message']}"[:400])
                print("".join(f"      {line[:200]}\n" for line in r["start"][:40]), end="")  # type: ignore[index]
            rows.append({"skill": candidate.name, "good": candidate.good, "verdict": verdict, "starts": found})
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
