"""What a skill was seen to do to workspaces: the measured capabilities that the gate prints
(docs/semantics.md, "Capabilities")."""

from __future__ import annotations

from verifiers.context import OUTSIDE_ARGUMENT, Context
from verifiers.expectation.equivalence import durable_effects
from verifiers.expectation.oracle import without_root
from verifiers.expectation.repositories import forgotten


def capabilities(context: Context) -> tuple[str, ...]:
    """Sorted words: creates, overwrites, deletes, chmods, links, follows-outside-paths; ``read-only`` where none was seen. What
    git no longer knows is deleted too, though no file of the user's is another one."""
    seen: set[str] = set()
    for case in context.cases:
        record = context.first.get(case.label)
        if record is None:
            continue
        for e in durable_effects(case.base, without_root(record.post)):
            made = e.after or e.before
            if e.kind == "created":
                seen.add("links" if made is not None and made.type == "symlink" else "creates")
            else:
                seen.add({"removed": "deletes", "mode": "chmods", "target": "links"}.get(e.kind, "overwrites"))
        if forgotten(case.base, case.base, record.post):
            seen.add("deletes")
    if any(purpose == OUTSIDE_ARGUMENT and record.outside for purpose, record in context.ran):
        seen.add("follows-outside-paths")
    return tuple(sorted(seen)) or ("read-only",)


def measured_hints(context: Context) -> dict[str, bool]:
    """The MCP hints as measured (MCP semantics): idempotent only after its check has passed, so the caller says so elsewhere."""
    seen = set(capabilities(context))
    return {
        "read_only": seen <= {"read-only", "follows-outside-paths"},
        "destructive": bool(seen & {"deletes", "overwrites"}),
        "open_world": any(record.network for _, record in context.ran),
    }
