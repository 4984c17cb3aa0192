"""What an export starts from: one registered version with its draft and its report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from synth.attest import attestation_path
from synth.draft import draft_files
from synth.exported import ATTESTATION, REPORT
from synth.interface import Draft, RegistryEntry
from synth.registry import Registry
from synth.registry.annotations import Annotations, measured
from synth.tracing.redact import redact_trace
from verifiers.gating.discover import ATTACHED
from verifiers.interface import AssayError, Subject
from verifiers.subject import parse_subject


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
    with_evidence: bool = True
    """Whether exports carry what it was judged on. Recordings hold what their files held."""

    @property
    def carried(self) -> dict[str, bytes]:
        """Files below ``evidence/``: what it was judged on, the report, and the signed statement where there is one.

        Code and text as they were verified end in ``.txt``: a host that looks for skills must not find a second one there.

        Raises:
            ExportError: a recording holds a secret.
        """
        if not self.with_evidence:
            return {}
        for trace in self.draft.evidence:
            if redact_trace(trace) != trace:
                what = f"its recording {trace.task_id} holds a secret"
                raise ExportError(what, "Export it without recordings: --no-evidence", self.entry.name)
        files = {n if n.endswith((".json", ".jsonl")) else f"{n}.txt": data for n, data in draft_files(self.draft).items()}
        files[REPORT] = (json.dumps(self.document, indent=2, sort_keys=True, ensure_ascii=True) + "\n").encode()
        attestation = attestation_path(Path(self.entry.path))
        if attestation.is_file():
            files[ATTESTATION] = attestation.read_bytes()
        return {f"{ATTACHED}/{name}": data for name, data in files.items()}

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


def skill_of(registry: Registry, name: str, *, with_evidence: bool = True) -> Skill:
    """The active version of a registered skill, its bytes checked.

    Args:
        with_evidence: Whether exports of it carry its recordings, so that they can be judged where they are.

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
    return Skill(entry, draft, document, parse_subject(draft.source, "skill.py", document["profile"]), with_evidence)
