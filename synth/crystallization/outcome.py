"""What became of a pattern: the typed result of crystallizing, and its JSON form (``assay-crystallize/1``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from synth.interface import Draft
from synth.usage import Usage, total
from verifiers.interface import Args, Report

Ending = Literal["registered", "refused", "no-candidate", "inconclusive"]
ENDINGS: tuple[Ending, ...] = ("registered", "refused", "no-candidate", "inconclusive")

SCHEMA = "assay-crystallize/1"


@dataclass(frozen=True, slots=True)
class PatternOutcome:
    """One pattern's end. Only ``registered`` has put anything anywhere."""

    task: str
    task_ids: tuple[str, ...]
    ending: Ending
    why: str
    """One sentence that a user understands; empty for ``registered`` without reservations."""
    skill: str | None = None
    version: str | None = None
    """sha256 of the registered directory."""
    score: float | None = None
    held_out: tuple[str, ...] = ()
    """Traces that no generator saw before the skill was judged on them."""
    bindings: Mapping[str, Args] = field(default_factory=dict)
    tried: int = 0
    """Candidates that were judged."""
    refitted: tuple[str, ...] = ()
    """Traces on which a skill made without them held (leave-one-out)."""
    notes: tuple[str, ...] = ()
    unused: Mapping[str, str] = field(default_factory=dict)
    """task_id -> why that recording was not used."""
    report: Report | None = None
    seconds: float = 0.0
    draft: Draft | None = None
    """Of what was not registered: the candidate that came furthest, for a person to look at. It did not pass."""
    usage: Usage | None = None
    generator: str = ""

    def to_json(self) -> dict[str, Any]:
        """The object of one pattern, as docs/design.md, "Other documents", lists it."""
        return {
            "task": self.task,
            "task_ids": list(self.task_ids),
            "outcome": self.ending,
            "skill": self.skill,
            "version": self.version,
            "score": self.score,
            "why": self.why,
            "held_out": list(self.held_out),
            "refitted": list(self.refitted),
            "bindings": {task_id: {"args": dict(args)} for task_id, args in self.bindings.items()},
            "tried": self.tried,
            "notes": list(self.notes),
            "unused": dict(sorted(self.unused.items())),
            "generator": self.generator,
            "usage": asdict(self.usage) if self.usage is not None else None,
            "seconds": round(self.seconds, 3),
        }


def to_json(outcomes: Sequence[PatternOutcome], metrics: Mapping[str, Any], beside: Usage | None = None) -> dict[str, Any]:
    """The whole ``assay-crystallize/1`` document.

    Args:
        beside: What was spent for no single pattern.
    """
    usages = [u for u in (*(o.usage for o in outcomes), beside) if u is not None]
    spent = asdict(total(usages)) if usages else None
    return {"schema": SCHEMA, "patterns": [o.to_json() for o in outcomes], "metrics": dict(metrics), "usage": spent}


def counts(outcomes: Sequence[PatternOutcome]) -> dict[Ending, int]:
    """How many patterns ended in which way, all ways listed."""
    seen = Counter(o.ending for o in outcomes)
    return {ending: seen[ending] for ending in ENDINGS}
