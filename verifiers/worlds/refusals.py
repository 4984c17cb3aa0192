"""Starts that a skill refuses, weighed against those that it takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from verifiers.context import Context
from verifiers.worlds.judged import Judged, Suspect, ask
from verifiers.worlds.smallest import shrunk
from verifiers.worlds.template import as_text
from verifiers.worlds.trials import Beyond, Evidenced, Trial

SOME = 1 / 20
"""Of the starts within the evidence, how many a skill may refuse before a person is asked."""
MOST = 1 / 2
"""And how many it may refuse at all."""
ENOUGH = 3
"""Other values of an argument that are refused, and none taken: then it takes the recorded ones and no more."""
REFUSING = Beyond("refused-starts", "", told="The skill refuses what the commands take, and changes nothing.", always=True)


def weigh_refusals(context: Context, evidenced: Evidenced, out: Judged) -> None:
    """Who says no and changes nothing does no harm, and may know what no recording shows. Not where that is what it does most of
    the time, or with all other values of an argument, unless its recorded ones come twice on the whole: it may be one of a few.
    Where it is no exception, a person should know of it."""
    if not out.refused:
        return
    no, yes, known = [r.trial for r in out.refused], out.within, _recorded(evidenced)
    r = min(out.refused, key=lambda r: len(r.trial.plan.steps))
    share = f"{len(no)} of {len(no) + len(yes)} starts within the evidence are refused"
    few = {p for p, n in Counter(p for p, _ in known).items() if 2 * n <= sum(p in g.args for g in evidenced.gs)}
    held = [t for t in no if not few & {p for p, _ in _said(t) - known}]
    taken = {p for t in yes for p, _ in _said(t) - known}
    refused = Counter(p for p, _ in {said for t in held for said in _said(t) - known} if p not in taken)
    if len(held) > MOST * (len(held) + len(yes)) or any(n >= ENOUGH for n in refused.values()):
        finding = shrunk(context, evidenced, r.trial, r.case, r.record, r.wrong, refused=True).finding
        out.hold(Suspect(replace(finding, notes=(*finding.notes, share))))
        return
    out.information.append(f"{share}, and nothing was changed ({r.case.label}: {r.wrong.message})")
    if len(no) > SOME * (len(no) + len(yes)):
        ask(context, out, REFUSING, r.case, r.record)
        out.parted.append(r.case)


def _said(trial: Trial) -> set[tuple[str, str]]:
    return {(p, as_text(v)) for p, v in trial.world.args.items()}


def _recorded(evidenced: Evidenced) -> set[tuple[str, str]]:
    """Parameters with their values in every recording."""
    return {(p, as_text(v)) for g in evidenced.gs for p, v in g.args.items()}
