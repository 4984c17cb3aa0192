"""What a new trace's own words say that a skill's arguments are, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from verifiers.binding.aligned import align
from verifiers.binding.bindings import validate_binding
from verifiers.binding.edited import proposals
from verifiers.binding.inference import infer_bindings
from verifiers.interface import Args, Binding, Evidence, Subject


def readings(subject: Subject, known: Mapping[str, Args], bound: Sequence[Evidence], trace: Evidence) -> Iterator[Args]:
    """Arguments for ``trace``, likeliest first: where the bound traces have theirs, else by names, types and descriptions that
    give the bound ones their own values. None that breaks the rules for bindings.

    Args:
        known: Arguments of each trace in ``bound``, by task_id.
        bound: Traces whose arguments are known.
        trace: The one to read.
    """
    seen: list[Args] = []
    for args in _all(subject, known, bound, trace):
        wrong = validate_binding(subject, trace, Binding(trace.task_id, args, inferred=True))
        if args not in seen and not any(f.severity == "error" for f in wrong):
            seen.append(args)
            yield args


def _all(subject: Subject, known: Mapping[str, Args], bound: Sequence[Evidence], trace: Evidence) -> Iterator[Args]:
    read = align(known, bound, trace)
    if read is not None:
        yield read
    if not trace.commands:
        yield from proposals(known, bound, trace)
    required = [p.name for p in subject.parameters if p.required]
    if not required:
        yield {}
        return
    for guess in infer_bindings(subject, [*bound, trace]):
        if all(guess.bindings[e.task_id].args.get(n) == known[e.task_id].get(n) for e in bound for n in required):
            yield guess.bindings[trace.task_id].args
