"""What is not held against a skill although it parts from the commands: their accidents, and what may well be meant."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from sandbox.interface import ROOT, Entry, Raised, ReplayRecord
from verifiers.context import Case
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import Expectation
from verifiers.worlds.harm import lost
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text
from verifiers.worlds.trials import Beyond, Trial
from verifiers.worlds.variations.other_names import BEHIND

ENDING = Beyond("recorded-endings", "the names have endings that some recording has")


def accident(trial: Trial, case: Case, record: ReplayRecord) -> bool:
    """Whether a pattern matched nothing, the shell took it for a name, and the run did no harm: no skill is held to that."""
    return _pattern_for_a_name(trial, case.expectation) and lost(case, record) is None


def _pattern_for_a_name(trial: Trial, x: Expectation) -> bool:
    """Whether the commands made or printed a pattern that no name on the start explains."""
    g, world = trial.g, trial.world
    known = "\n".join((*world.base, *g.expectation.tree, *map(as_text, world.args.values())))
    made = "\n".join(p for p in x.tree if p not in world.base)
    printed = x.answer if "*" not in all_text(world.base) + g.expectation.answer else ""
    return any(mark in made and mark not in known for mark in "*?[") or ("*" in printed and "*" not in known)


def takes_an_ending(trial: Trial, case: Case) -> bool:
    """Whether the commands name an ending and take a file that has another one behind it (``part*`` takes ``part02.bak``): that
    the skill leaves it alone may well be meant."""
    steps = trial.plan.steps
    if len(steps) != 1 or steps[0].variation != "other-name" or steps[0].choice[-1] != BEHIND:
        return False
    named = re.search(r"\.([^\W\d_]+)[^./]*$", str(steps[0].choice[0]))
    if named is None or named[1] not in trial.g.template.literal_text():
        return False
    before, after = trial.g.expectation, case.expectation
    without = {p: e for p, e in after.tree.items() if p not in case.base or p in trial.g.base}
    return before.answer != after.answer or bool(differences(before.tree, without, root=False))


def in_the_way(case: Case, record: ReplayRecord) -> bool:
    """Whether a run says that a file of the user's is in its way, which the commands pass over in silence."""
    error = record.outcome
    if not isinstance(error, Raised) or error.type != "FileExistsError":
        return False
    kept = [p for p, e in case.base.items() if e.type == "file" and case.expectation.tree.get(p) == e]
    return any(error.message.strip("'").endswith(f"/{p}") or error.message.strip("'") == p for p in kept)


def leaves_as_written(trial: Trial, case: Case, record: ReplayRecord) -> bool:
    """Whether a run parts from the commands in nothing but files that it leaves alone, and of which they change only how JSON is
    written. Not where a recording shows that this is wanted."""
    x, recorded = case.expectation, trial.g.expectation
    found = {d.path for d in differences(x.tree, record.post, root=False)}
    alone = all(case.base.get(p) == record.post.get(p) and rewritten(case.base.get(p), x.tree.get(p)) for p in found)
    return bool(found) and alone and not any(rewritten(e.before, e.after) for e in recorded.effects)


def rewritten(before: Entry | None, after: Entry | None) -> bool:
    """Whether two files hold one JSON value, in one order, in other bytes, and are alike in all else."""
    if before is None or after is None or before.content == after.content or replace(after, content=before.content) != before:
        return False
    try:
        values = [json.loads(e.content, object_pairs_hook=list) for e in (before, after)]
    except (ValueError, RecursionError):
        return False
    return repr(values[0]) == repr(values[1])


def is_nothing(x: Expectation) -> bool:
    """Whether all that a run makes is empty files, or, where it makes nothing, it answers nothing."""
    made = [_held(e.after) for e in x.effects if e.path != ROOT]
    return not any(made) if made else not x.answer.strip()


def _held(entry: Entry | None) -> bytes:
    """What a path holds; something where a path went, or became a link."""
    return entry.content if entry is not None and entry.type in ("file", "dir") else b"-"
