"""What an export starts from: one registered version with its draft and its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from synth.interface import Draft, RegistryEntry
from synth.registry import Registry
from synth.registry.annotations import Annotations, measured
from verifiers.interface import AssayError, Subject
from verifiers.subject import parse_subject

MARK = ".assay-export.json"
"""Holds the digest of what we last wrote into an exported directory."""


class ExportError(AssayError, ValueError):
    """A skill that cannot be exported to that format."""


@dataclass(frozen=True, slots=True)
class Skill:
    """An active, intact, registered skill."""

    entry: RegistryEntry
    draft: Draft
    document: Mapping[str, Any]
    """``assay-report/1`` of its latest verification."""
    subject: Subject

    @property
    def annotations(self) -> Annotations:
        return measured(self.document)

    @property
    def summary(self) -> str:
        """One line: what it does."""
        return self.subject.description or self.entry.description

    @property
    def usable(self) -> int:
        """Recorded traces that it was judged on."""
        return int(self.document["evidence"]["usable"])

    def requests(self, limit: int) -> list[str]:
        """Requests that were really made, each once, oldest first."""
        return list(dict.fromkeys(" ".join(t.task_description.split()) for t in self.draft.evidence))[:limit]


def skill_of(registry: Registry, name: str) -> Skill:
    """The active version of a registered skill, its bytes checked.

    Raises:
        UnknownSkill: there is none of that name.
        ExportError: it is not active: only what passed, and still passes, is exported.
        RegistryUnusable: its files were changed.
    """
    entry = registry.show(name)
    if entry.status != "active":
        raise ExportError(f"it is {entry.status}: only active skills are exported", f"See 'assay registry history {name}'", name)
    document = registry.report(name, entry.version)
    draft = replace(registry.draft(name, entry.version), decisions=registry.decisions(entry))
    return Skill(entry, draft, document, parse_subject(draft.source, "skill.py", document["profile"]))
