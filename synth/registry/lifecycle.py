"""What may happen to a registered version: staged -> active -> archived, back again, and revoked for good."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from synth.interface import Draft, RegistryEntry
from synth.registry import indexing
from synth.registry.admission import admit, source_sha256
from synth.registry.core import RegistryReader
from synth.registry.errors import ApprovalRequired, WrongState
from synth.registry.receipt import canonical, document_sha256, plain, report_document
from verifiers.interface import Report, Verdict


class Lifecycle(RegistryReader):
    """Every change is one transaction, is written to the history with who asked for it, and is told to the hooks."""

    def promote(self, name: str, version: str | None = None, *, actor: str = "assay") -> RegistryEntry:
        """Makes a staged version the active one; the one that was active is archived.

        Raises:
            WrongState: it is not staged, or it drifted and has not been verified again.
            ApprovalRequired: it waits for an approval.
        """
        entry = self._staged(name) if version is None else self.show(name, version)
        self._must_be(entry, "promote", "staged")
        return self._activate(entry, "promoted", actor, {})

    def rollback(self, name: str, version: str | None = None, *, actor: str = "assay") -> RegistryEntry:
        """Makes an earlier version the active one again: the named one, or the newest archived one before the active one.

        Raises:
            WrongState: there is none to go back to, or it may not be active.
        """
        current = self.show(name)
        if version is None:
            earlier = [
                e
                for e in self.versions_of(name)
                if e.status == "archived" and e.metadata["ordinal"] < current.metadata["ordinal"]
            ]
            if not earlier:
                raise WrongState("there is no earlier version to go back to", f"See 'assay registry history {name}'", name)
            entry = earlier[-1]
        else:
            entry = self.show(name, version)
        self._must_be(entry, "roll back to", "archived")
        return self._activate(entry, "rolled-back", actor, {"from": current.version})

    def archive(self, name: str, version: str | None = None, *, actor: str = "assay", reason: str = "") -> RegistryEntry:
        """Takes a version out of use; its files stay."""
        entry = self.show(name, version)
        self._must_be(entry, "archive", "active", "staged")
        return self._retire(entry, "archived", "archived", actor, {"reason": reason})

    def restore(self, name: str, version: str | None = None, *, actor: str = "assay") -> RegistryEntry:
        """Puts an archived version back into use.

        Raises:
            WrongState: another version is active (that is a rollback), or it may not be active.
        """
        entry = self.show(name, version)
        active = [e for e in self.versions_of(name) if e.status == "active"]
        if active:
            raise WrongState("another version is active", f"Use 'assay registry activate {name} VERSION'", name)
        self._must_be(entry, "restore", "archived")
        return self._activate(entry, "restored", actor, {})

    def approve(self, name: str, version: str, *, approver: str, note: str = "") -> RegistryEntry:
        """Records that a person approved exactly this version, and makes it active if it waited for that.

        Args:
            version: Must be said: an approval is of bytes, not of a name.
            approver: Who.

        Raises:
            WrongState: it was revoked, or drifted, or ``approver`` is empty.
        """
        if not approver.strip():
            raise WrongState("an approval needs a name", "Say who approves with --approver", name)
        entry = self.show(name, version)
        self._must_be(entry, "approve", "staged", "active", "archived")
        self.check_intact(entry)
        with self.versions.writer(), self.database.write() as db:
            db.execute("UPDATE version SET approved_by = ? WHERE name = ? AND version = ?", (approver, entry.name, entry.version))
            self.note(
                db,
                name,
                entry.version,
                "approved",
                approver,
                {"version": entry.version, "report": entry.report_sha256, "note": note},
            )
        return self.promote(name, entry.version, actor=approver) if entry.status == "staged" else self.show(name, entry.version)

    def revoke(
        self, name: str, version: str | None = None, *, actor: str = "assay", reason: str = ""
    ) -> tuple[RegistryEntry, ...]:
        """Withdraws a version, or all of them, for good: its code cannot be registered again under any name. The files stay.

        Returns:
            The revoked entries.
        """
        chosen = (
            [self.show(name, version)] if version is not None else [e for e in self.versions_of(name) if e.status != "revoked"]
        )
        for entry in chosen:
            self._must_be(entry, "revoke", "staged", "active", "archived")
        return tuple(self._retire(e, "revoked", "revoked", actor, {"reason": reason}) for e in chosen)

    def demote(self, name: str, version: str, why: str, *, actor: str = "assay") -> RegistryEntry:
        """Takes a version that drifted (passed and no longer does) out of use until it passes again, and clears its score."""
        entry = self.show(name, version)
        status = "staged" if entry.status == "active" else entry.status
        return self._retire(entry, status, "drifted", actor, {"why": why}, drifted=True)

    def reverified(self, name: str, version: str, report: Report, *, actor: str = "assay") -> RegistryEntry:
        """Records a new verification of a registered version. PASS renews its score, FAIL demotes it, else it is just noted.

        Raises:
            WrongState: the report is about other code.
            NotAccepted: it is a PASS, but not about this evidence and these bindings: a score is not renewed by easier ones.
        """
        entry = self.show(name, version)
        if report.sha256 != entry.metadata["code_sha256"]:
            raise WrongState("the report is about other code", "Verify the registered version itself", name)
        if report.verdict is Verdict.FAIL:
            return self.demote(name, entry.version, report.why, actor=actor)
        document = report_document(report)
        sha = document_sha256(document)
        at = self.clock().isoformat()
        renewed = report.verdict is Verdict.PASS and report.score is not None and not report.partial
        if renewed:
            admit(replace(self.draft(name, entry.version), decisions=self.decisions(entry)), report)
        with self.versions.writer(), self.database.write() as db:
            self.note(
                db, name, entry.version, "reverified", actor, {"verdict": report.verdict.name, "why": report.why, "report": sha}
            )
            if renewed and report.score is not None:
                db.execute(
                    "INSERT INTO report VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at",
                    (sha, name, entry.version, at, canonical(document).decode()),
                )
                db.execute(
                    "UPDATE version SET score = ?, estimate = ?, measured = 1, drifted = 0, verified_at = ?, report_sha256 = ?"
                    " WHERE name = ? AND version = ?",
                    (report.score.value, report.score.estimate, at, sha, name, entry.version),
                )
        return self.show(name, entry.version)

    def record(self, entry: RegistryEntry, kind: str, actor: str, detail: Mapping[str, Any]) -> None:
        """Writes something that happened outside the registry (an export, a release from quarantine) to the history."""
        with self.database.write() as db:
            self.note(db, entry.name, entry.version, kind, actor, detail)

    def tried(self, name: str, source: str, report: Report, detail: Mapping[str, Any], *, actor: str = "assay") -> None:
        """Writes a candidate for the next version of a skill to its history, with code and report, whatever became of it.

        It is no version: it cannot be shown as one, run, exported or activated. The same once more changes nothing.
        """
        document = report_document(report)
        sha, code = document_sha256(document), source_sha256(source)
        facts = {**detail, "verdict": report.verdict.name, "report": sha, "source": source}
        text = json.dumps(plain(facts), sort_keys=True)
        with self.database.write() as db:
            same = (name, code, text)
            if db.execute("SELECT 1 FROM event WHERE name = ? AND version = ? AND detail = ?", same).fetchone():
                return
            at = self.clock().isoformat()
            db.execute(
                "INSERT INTO report VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at",
                (sha, name, code, at, canonical(document).decode()),
            )
            self.note(db, name, code, "candidate", actor, facts)

    # ------------------------------------------------------------ parts

    def versions_of(self, name: str) -> list[RegistryEntry]:
        """Every version of a skill, oldest first.

        Raises:
            UnknownSkill: there is none of that name.
        """
        found = self.entries("WHERE name = ? ORDER BY ordinal", name)
        if not found:
            raise self.unknown(name)
        return found

    def _staged(self, name: str) -> RegistryEntry:
        staged = [e for e in self.versions_of(name) if e.status == "staged"]
        if not staged:
            raise WrongState("no version of it is staged", f"See 'assay registry history {name}'", name)
        return staged[-1]

    @staticmethod
    def _must_be(entry: RegistryEntry, verb: str, *allowed: str) -> None:
        if entry.status not in allowed:
            raise WrongState(
                f"cannot {verb} a version that is {entry.status}", f"See 'assay registry history {entry.name}'", entry.name
            )

    @staticmethod
    def _unchanged(db: sqlite3.Connection, entry: RegistryEntry) -> None:
        """Within a transaction: another process has not changed the version since it was looked at."""
        row = db.execute(
            "SELECT status, drifted FROM version WHERE name = ? AND version = ?", (entry.name, entry.version)
        ).fetchone()
        if row is None or (row["status"], bool(row["drifted"])) != (entry.status, entry.metadata["drifted"]):
            raise WrongState("another process changed it meanwhile", "Look at it again and repeat", entry.name)

    def _activate(self, entry: RegistryEntry, kind: str, actor: str, detail: Mapping[str, Any]) -> RegistryEntry:
        if entry.metadata["drifted"]:
            raise WrongState("it drifted: it no longer passes", f"Run 'assay registry verify {entry.name}' first", entry.name)
        if entry.metadata["needs_approval"] and not entry.metadata["approved_by"]:
            raise ApprovalRequired(
                "it waits for an approval",
                f"Run 'assay registry activate {entry.name} {entry.version[:12]} --approver WHO'",
                entry.name,
            )
        draft = self.draft(entry.name, entry.version)
        with self.versions.writer():
            with self.database.write() as db:
                self._unchanged(db, entry)
                self.note(db, entry.name, entry.version, kind, actor, detail)
                self.activate(db, entry.name, entry.version, draft)
            self.publish()
        after = self.show(entry.name, entry.version)
        self.announce(kind, after)
        return after

    def _retire(
        self, entry: RegistryEntry, status: str, kind: str, actor: str, detail: Mapping[str, Any], drifted: bool = False
    ) -> RegistryEntry:
        with self.versions.writer():
            with self.database.write() as db:
                self._unchanged(db, entry)
                db.execute("UPDATE version SET status = ? WHERE name = ? AND version = ?", (status, entry.name, entry.version))
                if drifted:
                    self._clear(db, entry.name, entry.version)
                    db.execute("UPDATE version SET drifted = 1 WHERE name = ? AND version = ?", (entry.name, entry.version))
                self.note(db, entry.name, entry.version, kind, actor, detail)
                if db.execute(
                    "UPDATE skill SET active = NULL WHERE name = ? AND active = ?", (entry.name, entry.version)
                ).rowcount:
                    indexing.remove(db, entry.name)
                    db.execute("INSERT INTO pending_link VALUES (?) ON CONFLICT DO NOTHING", (entry.name,))
            self.publish()
        after = self.show(entry.name, entry.version)
        self.announce(kind, after)
        return after

    def activate(self, db: sqlite3.Connection, name: str, version: str, draft: Draft) -> None:
        """Within a transaction: makes one version the active one, in rows and route index."""
        before = db.execute("SELECT active FROM skill WHERE name = ?", (name,)).fetchone()[0]
        if before is not None and before != version:
            db.execute("UPDATE version SET status = 'archived' WHERE name = ? AND version = ?", (name, before))
            self.note(db, name, before, "superseded", "assay", {"by": version})
        db.execute("UPDATE version SET status = 'active' WHERE name = ? AND version = ?", (name, version))
        db.execute("UPDATE skill SET active = ? WHERE name = ?", (version, name))
        indexing.put(db, name, draft)
        db.execute("INSERT INTO pending_link VALUES (?) ON CONFLICT DO NOTHING", (name,))

    @staticmethod
    def waits(db: sqlite3.Connection, name: str, version: str) -> bool:
        """Within a transaction: whether a version may not be active for want of an approval."""
        row = db.execute(
            "SELECT needs_approval, approved_by FROM version WHERE name = ? AND version = ?", (name, version)
        ).fetchone()
        return bool(row["needs_approval"]) and not row["approved_by"]

    def clear_better(self, db: sqlite3.Connection, name: str, version: str, score: float, actor: str) -> None:
        """Within a transaction: other versions lose a score better than the newest one; they earn it again by passing again."""
        better = db.execute(
            "SELECT version, score FROM version WHERE name = ? AND version != ? AND score > ?", (name, version, score)
        ).fetchall()
        for row in better:
            self._clear(db, name, row["version"])
            self.note(db, name, row["version"], "cleared", actor, {"was": row["score"], "because": version})

    @staticmethod
    def _clear(db: sqlite3.Connection, name: str, version: str) -> None:
        db.execute("UPDATE version SET score = 0, estimate = 0, measured = 0 WHERE name = ? AND version = ?", (name, version))
