"""Whether a run on an invented start did harm, whatever would have been right there."""

from __future__ import annotations

from sandbox.interface import ROOT, Entry, ReplayRecord, Snapshot
from verifiers.context import Context, breaches
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import shell_request
from verifiers.expectation.rooting import WORKSPACE
from verifiers.search.states import Start


def harm(context: Context, start: Start, record: ReplayRecord) -> str:
    """What harm a run did, in a sentence; "" for none.

    Harm is: something of it stays outside the workspace or tries to reach out, it does not end, a path that must not be made is
    made, a bystander changes in any attribute, or the run fails and bytes of the user are gone. No bystander is what the trace's
    commands change on the same start, what they or the skill change where it was recorded, and what an argument names.
    """
    found = breaches(record)
    if found:
        return found[0]
    made = [p for p in sorted(start.forbidden) if p in record.post and p not in start.base]
    if made:
        return f"it makes {made[0]}"
    before = Snapshot({p: e for p, e in start.base.items() if p != ROOT})
    after = Snapshot({p: e for p, e in record.post.items() if p != ROOT and p in before})
    changed = differences(before, after)
    if failure(record.outcome) is not None:
        changed = tuple(d for d in changed if _lost(before[d.path], d.path, record.post))
    free = _free(context, start) if changed else frozenset()
    for d in changed:
        if not _is_free(d.path, free, start):
            return f"it changes {d.path}, which is none of its business ({d.kind}: {d.expected} becomes {d.observed})"
    return ""


def doubtful(context: Context, start: Start, record: ReplayRecord) -> bool:
    """Whether the run takes bytes of the user that neither the recording nor the commands on the same start take: such a run
    vouches for nothing, even if the path is one that it may change."""
    if start.end is not None:
        return bool(differences(start.end, Snapshot({p: e for p, e in record.post.items() if p != ROOT})))
    gone = {p for p, e in start.base.items() if _taken(e, p, record.post)}
    if not gone:
        return False
    case = start.case
    recorded = {p for p, e in case.base.items() if _taken(e, p, case.expectation.tree) and start.base.get(p) == e}
    return bool(gone - recorded - (_by_commands(context, start, lost=True) if gone - recorded else set()))


def _is_free(path: str, free: frozenset[str], start: Start) -> bool:
    if path in free:
        return True
    inside = any(path.startswith(f + "/") for f in free)
    return inside and path not in start.placed


def _lost(entry: Entry, path: str, post: Snapshot) -> bool:
    """Whether what a file held is nowhere any more."""
    return entry.type == "file" and bool(entry.content) and not any(e.content == entry.content for e in post.values() if path)


def _taken(entry: Entry, path: str, post: Snapshot) -> bool:
    """Whether a file is lost, or a directory is none any more: who takes an empty one might take a full one."""
    now = post.get(path)
    return _lost(entry, path, post) or (entry.type == "dir" and path != ROOT and (now is None or now.type != "dir"))


def _free(context: Context, start: Start) -> frozenset[str]:
    """Paths that a run on this start may change."""
    case = start.case
    own = {e.path for e in case.expectation.effects}
    own |= {d.path for d in differences(start.base, start.end)} if start.end is not None else set()
    own |= {d.path for d in differences(case.base, context.first[case.label].post)}
    first = context.first[case.label]
    root = f"{first.probe.get('cwd') or '/ws'}/"
    called = (path for c in first.calls if c.changes_tree for path in (c.path, c.path2))
    own |= {path.removeprefix(root) for path in called if path.startswith(root)}  # its temporary names, and a killed run's rests
    said = (v.removeprefix(f"{WORKSPACE}/") for v in start.args.values() if isinstance(v, str) and v)
    own |= {v.strip("/").removeprefix("./") for v in said}
    return frozenset(own | _by_commands(context, start)) - {ROOT, "", "."}


def _by_commands(context: Context, start: Start, *, lost: bool = False) -> set[str]:
    """What the trace's commands change (or lose) on this start; nothing where they were recorded with other arguments."""
    evidence = start.case.evidence
    if evidence is None or start.args != start.case.args:
        return set()
    record = context.traces.map([shell_request(start.base, evidence.commands)])[0]
    if lost:
        return {p for p, e in start.base.items() if _taken(e, p, record.post)}
    return {d.path for d in differences(start.base, record.post)}
