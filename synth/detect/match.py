"""Near-duplicates of what is registered already: they are evidence for that skill, not a second one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from synth.detect.features import Features, features_of, template
from synth.detect.split import done_key, said_key, similarity
from synth.interface import ExecutionTrace, RegistryEntry, TracePattern

ENOUGH = 0.8
"""Similarity of the words from which an entry without recorded evidence counts as the same task."""


def match_existing(pattern: TracePattern, entries: Iterable[RegistryEntry]) -> RegistryEntry | None:
    """The registered skill that already does what the pattern's traces do, or None.

    An entry that kept what its evidence said and did (``metadata["evidence"]``, made by ``evidence_keys``) is compared by that:
    most of the pattern's traces must agree with it. One without is compared by the words of its name and description.
    """
    features = [features_of(t) for t in pattern.traces]
    best: tuple[float, RegistryEntry] | None = None
    for entry in entries:
        if entry.status in ("archived", "revoked"):
            continue
        score = _by_keys(features, entry) if "evidence" in entry.metadata else _by_words(pattern, entry)
        if score > (best[0] if best else 0.5):
            best = (score, entry)
    return best[1] if best else None


def evidence_keys(traces: Sequence[ExecutionTrace]) -> dict[str, list[str]]:
    """What traces said and did, as JSON for ``RegistryEntry.metadata["evidence"]``."""
    features = [features_of(t) for t in traces]
    return {
        "said": sorted({repr(said_key(f)) for f in features if said_key(f) is not None}),
        "done": sorted({repr(done_key(f)) for f in features}),
    }


def _by_keys(features: Sequence[Features], entry: RegistryEntry) -> float:
    """Share of the traces that said or did what the entry's evidence did."""
    kept = entry.metadata["evidence"]
    said, done = set(kept.get("said", ())), set(kept.get("done", ()))
    agree = sum(repr(said_key(f)) in said or repr(done_key(f)) in done for f in features)
    return agree / len(features) if features else 0.0


def _by_words(pattern: TracePattern, entry: RegistryEntry) -> float:
    words = pattern.task_category.split("_")
    by_name = similarity(words, entry.name.split("_"))
    text = template(entry.description, frozenset())
    by_text = max((similarity(template(t.task_description, frozenset()), text) for t in pattern.traces[:20]), default=0.0)
    return max(by_name, by_text) if by_name >= ENOUGH or by_text >= ENOUGH else 0.0
