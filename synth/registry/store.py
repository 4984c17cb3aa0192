"""``Registry``: the skills that passed, and the one way in."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sandbox.interface import SandboxInfo
from synth.draft import draft_files
from synth.files import manifest_digest, manifest_of
from synth.interface import Draft, RegistryEntry
from synth.registry.admission import admit, source_sha256
from synth.registry.annotations import measured
from synth.registry.database import FILE
from synth.registry.errors import NotAccepted, Revoked, UnknownSkill, WrongState
from synth.registry.inspection import Ailing, Difference, Reverification, Verify, audit, difference, reverify
from synth.registry.lifecycle import Lifecycle
from synth.registry.receipt import canonical, document_sha256, plain, report_document
from verifiers.decisions import load_decisions
from verifiers.decisions.places import of_version
from verifiers.interface import Report, Subject
from verifiers.subject import parse_subject

_UPSERT = """
INSERT INTO version (name, version, ordinal, status, score, estimate, measured, description, registered_at, verified_at,
    report_sha256, code_sha256, evidence_sha256, needs_approval, metadata)
VALUES (:name, :version, :ordinal, 'staged', :score, :estimate, 1, :description, :at, :at,
    :report, :code, :evidence, :approval, :metadata)
ON CONFLICT (name, version) DO UPDATE SET score = excluded.score, estimate = excluded.estimate, measured = 1, drifted = 0,
    verified_at = excluded.verified_at, report_sha256 = excluded.report_sha256,
    needs_approval = max(needs_approval, excluded.needs_approval), metadata = json_patch(metadata, excluded.metadata)
"""


@dataclass(frozen=True, slots=True)
class _New:
    """What is about to be committed."""

    name: str
    version: str
    draft: Draft
    report: Report
    description: str
    metadata: Mapping[str, Any]


class Registry(Lifecycle):
    """A directory of registered skills.

    Several processes may use one registry at once; each sees only what was committed. A process killed at any moment leaves
    nothing half-visible, and the next one cleans up after it.
    """

    @classmethod
    def existing(cls, directory: Path | str) -> Registry:
        """Opens a registry that is there; unlike the constructor it never makes one.

        Raises:
            UnknownSkill: there is no registry in the directory.
            RegistryUnusable: it cannot be used.
        """
        if not (Path(directory) / FILE).is_file():
            raise UnknownSkill("there is no registry", "Fill one with 'assay crystallize TRACES --registry DIR'", directory)
        return cls(directory)

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def collect(self) -> dict[str, int]:
        """Removes directories of versions that no entry names, and what killed writers left. Every entry's files stay.

        Returns:
            Version -> bytes that it took.

        Raises:
            RegistryUnusable: the registry cannot be written.
        """
        with self.versions.writer():
            return self.versions.collect()

    def register(
        self,
        draft: Draft,
        report: Report,
        sandbox: SandboxInfo | None = None,
        *,
        supersedes: str | None = None,
        require_approval: bool = False,
        actor: str = "assay",
        metadata: Mapping[str, Any] | None = None,
        tools: Mapping[str, str] | None = None,
    ) -> RegistryEntry:
        """Registers a verified draft and returns its entry: active, or staged while it waits for an approval.

        The same bytes again change nothing but the report and the score, which are always those of the latest verification. What
        was answered about them since must be in that report.

        Args:
            draft: The four files.
            report: A full PASS about exactly these files.
            sandbox: Refuse a report that comes from another image than this one.
            supersedes: The skill that this is a new version of (same task). None = a new skill; a taken name gets a suffix.
            require_approval: Stage it until ``approve`` (policy).
            actor: Who registers, for the history.
            metadata: JSON values to keep with the entry (``pattern_type``, ``frequency``, ``success_rate`` …).
            tools: Refuse a report that was made with other tool versions.

        Raises:
            NotAccepted: the report does not let this draft in. Nothing was changed.
            UnknownSkill: ``supersedes`` names none.
            RegistryUnusable: it cannot be written. Nothing was changed.
        """
        files = draft_files(draft)
        version = manifest_digest(manifest_of(files))
        admit(self._as_answered(draft, version), report, sandbox, tools)
        subject = parse_subject(draft.source, f"{draft.name}/skill.py", report.profile)
        entry_metadata = {**_facts(subject, report), **plain(dict(metadata or {}))}
        with self.versions.writer():
            self._refuse_revoked(draft, version)
            name = self._name_for(draft, version, supersedes)
            new = _New(name, version, draft, report, subject.description, entry_metadata)
            intent = self.versions.place(version, files)
            with self.database.write() as db:
                self._commit(db, new, require_approval, actor)
            self.versions.done(intent)
            self.publish()
        entry = self.show(name, version)
        self.announce("registered" if entry.status == "active" else "staged", entry)
        return entry

    def audit(self, **today: Any) -> list[Ailing]:
        """What someone should look at (``synth.registry.inspection.audit``), as of now."""
        return audit(self, **{"now": self.clock(), **today})

    def diff(self, name: str, old: str | None = None, new: str | None = None) -> Difference:
        """How two versions of a skill differ. By default: its newest version, and the one before that.

        Raises:
            WrongState: there is no earlier version.
        """
        versions = self.versions_of(name)
        newer = self.show(name, new) if new is not None else versions[-1]
        earlier = [e for e in versions if e.metadata["ordinal"] < newer.metadata["ordinal"]]
        if old is None and not earlier:
            raise WrongState("there is only one version", "Name two versions to compare", name)
        return difference(self, self.show(name, old) if old is not None else earlier[-1], newer)

    def verify(self, verify: Verify, names: Iterable[str] | None = None, *, actor: str = "assay") -> Iterator[Reverification]:
        """Verifies registered skills again (``synth.registry.inspection.reverify``): drifted ones are demoted."""
        return reverify(self, verify, names, actor=actor)

    def _as_answered(self, draft: Draft, version: str) -> Draft:
        """The draft with what was answered since these very bytes were registered: a report without that is about less."""
        file = of_version(self.versions.path(version))
        return replace(draft, decisions=load_decisions(file)) if file is not None else draft

    def _refuse_revoked(self, draft: Draft, version: str) -> None:
        row = self.database.read(
            "SELECT name FROM version WHERE status = 'revoked' AND (version = ? OR code_sha256 = ?) LIMIT 1",
            version,
            source_sha256(draft.source),
        )
        if row:
            raise Revoked(
                f"this code was revoked as {row[0]['name']}", f"See 'assay registry history {row[0]['name']}'", draft.name
            )

    def _name_for(self, draft: Draft, version: str, supersedes: str | None) -> str:
        if supersedes is not None:
            if not self.database.read("SELECT 1 FROM skill WHERE name = ?", supersedes):
                raise self.unknown(supersedes)
            return supersedes
        known = self.database.read(
            "SELECT name FROM version WHERE version = ? OR (name = ? AND code_sha256 = ?) ORDER BY version != ?, name LIMIT 1",
            version, draft.name, source_sha256(draft.source), version,
        )  # fmt: skip
        if known:
            return str(known[0]["name"])
        return self.free_name(draft.name)

    def free_name(self, name: str) -> str:
        """The name that another skill gets where it would like to be called ``name``."""
        taken = {
            str(r["name"])
            for r in self.database.read("SELECT name FROM skill WHERE name = ? OR name GLOB ?", name, f"{name}_[0-9]*")
        }
        if name not in taken:
            return name
        number = 2
        while f"{name}_{number}" in taken:
            number += 1
        return f"{name}_{number}"

    def _commit(self, db: sqlite3.Connection, new: _New, require_approval: bool, actor: str) -> None:
        name, version, draft, report = new.name, new.version, new.draft, new.report
        if report.score is None:
            raise NotAccepted("the report has no score", "", name)
        at = self.clock().isoformat()
        document = report_document(report)
        sha = document_sha256(document)
        db.execute("INSERT INTO skill (name, active, created_at) VALUES (?, NULL, ?) ON CONFLICT DO NOTHING", (name, at))
        ordinal = db.execute("SELECT coalesce(max(ordinal), 0) + 1 FROM version WHERE name = ?", (name,)).fetchone()[0]
        row = {
            "name": name,
            "version": version,
            "ordinal": ordinal,
            "score": report.score.value,
            "estimate": report.score.estimate,
            "description": new.description or draft.name.replace("_", " "),
            "at": at,
            "report": sha,
            "code": report.sha256,
            "evidence": report.evidence.sha256,
            "approval": int(require_approval),
            "metadata": json.dumps(new.metadata, sort_keys=True),
        }
        db.execute(_UPSERT, row)
        db.execute(
            "INSERT INTO report VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at",
            (sha, name, version, at, canonical(document).decode()),
        )
        self.note(db, name, version, "registered", actor, {"score": report.score.value, "report": sha})
        self.clear_better(db, name, version, report.score.value, actor)
        if not self.waits(db, name, version):
            self.activate(db, name, version, draft)


def _facts(subject: Subject, report: Report) -> dict[str, Any]:
    """What is worth knowing of a version without opening its files. Kept small: listings carry it.

    MCP hints that the decorator does not declare are filled in as measured. The file stays as it was judged: its digest is the
    report's.
    """
    return {
        "function": subject.name,
        "parameters": [
            {"name": p.name, "annotation": p.annotation, "description": p.description, "required": p.required}
            for p in subject.parameters
        ],
        "hints": plain({**asdict(measured(report_document(report))), **subject.hints}),
        "profile": report.profile,
        "capabilities": sorted(report.capabilities),
        "traces": report.evidence.traces,
        "usable": report.evidence.usable,
        "inventory": report.sandbox.inventory if report.sandbox is not None else None,
        "tools": dict(sorted(report.tools.items())),
    }
