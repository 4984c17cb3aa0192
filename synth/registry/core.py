"""Opening and reading a registry."""

from __future__ import annotations

import builtins
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synth.draft import DOCUMENT, SKILL, read_draft
from synth.interface import Draft, ExecutionTrace, RegistryEntry, Status
from synth.registry.database import Database
from synth.registry.entries import COLUMNS, Event, entry_of, event_of
from synth.registry.errors import RegistryError, RegistryUnusable, UnknownSkill, WrongState
from synth.registry.hooks import Hook, run_hooks, warn
from synth.registry.receipt import document_sha256, plain
from synth.registry.versions import LINKS, STAGING, VERSIONS, Versions
from verifiers.decisions import load_decisions
from verifiers.decisions.places import of_version
from verifiers.interface import Decision


def now_utc() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Origin:
    """How a version's code came about, as far as its score depends on it."""

    unseen: frozenset[str]
    """task_ids of traces that the code was made without."""
    failures: int
    """Leave-one-out refits that were wrong."""


class RegistryReader:
    """What can be read from a registry. Use ``Registry``."""

    def __init__(
        self,
        directory: Path | str,
        *,
        hooks: tuple[Hook, ...] = (),
        clock: Callable[[], datetime] = now_utc,
        on_hook_failure: Callable[[str], None] = warn,
    ) -> None:
        """Opens the registry in ``directory``, creating it if need be.

        Args:
            directory: Holds ``registry.db``, ``versions/<sha256>/`` and ``skills/<name>`` (links to the active versions).
            hooks: Told after every change that routing should know of (``synth.registry.hooks``).
            on_hook_failure: Told in words of a hook that failed; the change itself is done by then. Default: a Python warning.
            clock: What time it is.

        Raises:
            RegistryUnusable: the directory cannot be used.
        """
        self.root = Path(directory).absolute()
        try:
            for name in (VERSIONS, STAGING, LINKS):
                if not (self.root / name).is_dir():
                    (self.root / name).mkdir(parents=True)
        except FileExistsError:
            pass
        except OSError as e:
            raise RegistryUnusable(
                f"cannot be used as a registry ({e.strerror})", "Name a directory that can be written", self.root
            ) from e
        self.database = Database(self.root)
        self.versions = Versions(self.root, self.database)
        self.clock = clock
        self.hooks = hooks
        self.on_hook_failure = on_hook_failure
        self.versions.recover()

    # ------------------------------------------------------------ reading

    def list(self, status: Status | None = "active") -> builtins.list[RegistryEntry]:
        """Entries in name order (versions of one skill oldest first); None = of every status."""
        if status is None:
            return self.entries("ORDER BY name, ordinal")
        return self.entries("WHERE status = ? ORDER BY name, ordinal", status)

    def entries(self, condition: str, *values: object) -> builtins.list[RegistryEntry]:
        """Entries by an SQL condition (a constant of ours; values are passed apart)."""
        rows = self.database.read(f"SELECT {COLUMNS} FROM version {condition}", *values)
        versions = str(self.root / VERSIONS)
        return [entry_of(row, versions) for row in rows]

    def show(self, name: str, version: str | None = None) -> RegistryEntry:
        """The active version of a skill (or its newest, if none is active), or the named one.

        Args:
            name: The skill.
            version: A version or its first 6 or more digits.

        Raises:
            UnknownSkill: there is none, or the digits fit several.
        """
        if version is None:
            found = self.entries("WHERE name = ? ORDER BY status != 'active', ordinal DESC LIMIT 1", name)
        elif len(version) < 6:
            raise UnknownSkill(f"{version!r} is too short for a version", "Give at least 6 digits", name)
        else:
            found = self.entries("WHERE name = ? AND substr(version, 1, ?) = ?", name, len(version), version)
        if len(found) != 1:
            raise self.unknown(name, version)
        return found[0]

    def unknown(self, name: str, version: str | None = None) -> UnknownSkill:
        what = f"no skill {name!r} is registered" if version is None else f"{name!r} has no single version {version!r}"
        return UnknownSkill(
            what, "See 'assay registry list'" if version is None else f"See 'assay registry history {name}'", self.root
        )

    def history(self, name: str) -> tuple[Event, ...]:
        """Everything that happened to a skill, oldest first.

        Raises:
            UnknownSkill: there is none of that name.
        """
        events = tuple(event_of(row) for row in self.database.read("SELECT * FROM event WHERE name = ? ORDER BY id", name))
        if not events:
            raise self.unknown(name)
        return events

    def candidate(self, name: str, digest: str) -> tuple[str, builtins.list[dict[str, Any]]]:
        """The code of a candidate that is in a skill's history, and the reports on it, oldest first.

        Args:
            digest: Of its code, or the beginning of it.

        Raises:
            UnknownSkill: there is none, or the digits fit several.
        """
        found = [e for e in self.history(name) if e.kind == "candidate" and (e.version or "").startswith(digest)]
        if len(digest) < 6 or len({e.version for e in found}) != 1:
            raise self.unknown(name, digest)
        sql = "SELECT document FROM report WHERE name = ? AND version = ? AND sha256 = ?"
        kept = [row for e in found for row in self.database.read(sql, name, e.version, e.detail["report"])]
        return str(found[0].detail["source"]), [json.loads(row["document"]) for row in kept]

    def draft(self, name: str, version: str | None = None) -> Draft:
        """The files of a version, read and checked against its digest.

        Raises:
            UnknownSkill: there is none.
            RegistryUnusable: its directory is missing or was changed.
        """
        entry = self.show(name, version)
        self.check_intact(entry)
        return replace(read_draft(Path(entry.path)), name=entry.name)

    def decisions(self, entry: RegistryEntry) -> tuple[Decision, ...]:
        """Answers to questions about a version: those it was registered with, and those given since.

        Raises:
            DecisionError: their file is damaged.
        """
        file = of_version(Path(entry.path))
        return load_decisions(file) if file is not None else ()

    def answers_about(self, traces: Iterable[ExecutionTrace]) -> tuple[Decision, ...]:
        """Answers to questions about cases of these very recordings, given for whatever version; of one case, the latest's.

        Raises:
            DecisionError: a file of them is damaged.
            RegistryUnusable: a version that they were given for is.
        """
        # Not by digest: a version keeps a recording with the start that was reconstructed for it.
        wanted = {t.task_id: (t.commands, t.outputs) for t in traces}
        found: dict[str, Decision] = {}
        for entry in sorted(self.list(None), key=lambda e: e.registered_at):
            given = [d for d in self.decisions(entry) if d.question.case.task_id in wanted]
            evidence = self.draft(entry.name, entry.version).evidence if given else ()
            recorded = {t.task_id for t in evidence if wanted.get(t.task_id) == (t.commands, t.outputs)}
            same = [d for d in given if d.question.case.task_id in recorded]
            found |= {d.question.case.digest: d for d in same}
        return tuple(found.values())

    def check_intact(self, entry: RegistryEntry) -> None:
        """Returns if the version's directory holds the bytes that were verified.

        Raises:
            RegistryUnusable: it does not.
        """
        if not self.versions.intact(entry.version):
            raise RegistryUnusable(
                f"the files of {entry.name} are not those that were verified", "Register it again from its draft", entry.path
            )

    def report(self, name: str, version: str | None = None) -> dict[str, Any]:
        """The ``assay-report/1`` document (times apart) of a version's latest verification.

        Raises:
            UnknownSkill: there is none.
            RegistryUnusable: the document is damaged or was changed.
        """
        entry = self.show(name, version)
        rows = self.database.read(
            "SELECT document FROM report WHERE name = ? AND version = ? AND sha256 = ?",
            entry.name,
            entry.version,
            entry.report_sha256,
        )
        if not rows:
            raise WrongState("the report of this version is gone", "Verify it again with 'assay registry verify'", name)
        try:
            document: dict[str, Any] = json.loads(rows[0]["document"])
            intact = document_sha256(document) == entry.report_sha256
        except (ValueError, TypeError, RecursionError):
            intact = False
        if not intact:
            raise RegistryUnusable("the stored report is not the one that was made", "Verify it again, or restore a backup", name)
        return document

    def origin(self, name: str, version: str | None = None) -> Origin:
        """How the version's code came about: that stays so, whenever the same code is verified again.

        Raises:
            UnknownSkill: there is none.
        """
        inputs = self.report(name, version).get("score_inputs") or {}
        unseen = frozenset(str(t["task_id"]) for t in inputs.get("traces", ()) if t.get("unseen") is True)
        return Origin(unseen, int(inputs.get("failures") or 0))

    def source(self, entry: RegistryEntry) -> str:
        """The code of an entry, as it lies in its directory (not checked)."""
        return self._text_of(entry, SKILL)

    def skill_md(self, entry: RegistryEntry) -> str:
        """The SKILL.md of an entry, as it lies in its directory (not checked)."""
        return self._text_of(entry, DOCUMENT)

    def _text_of(self, entry: RegistryEntry, name: str) -> str:
        try:
            return (Path(entry.path) / name).read_bytes().decode("utf-8", "surrogateescape")
        except OSError as e:
            what = f"{name} of {entry.name} cannot be read ({e.strerror})"
            raise RegistryUnusable(what, "Register it again from its draft, or restore a backup", entry.path) from e

    def close(self) -> None:
        self.database.close()

    # ------------------------------------------------------------ for those that write

    def note(
        self, db: sqlite3.Connection, name: str, version: str | None, kind: str, actor: str, detail: Mapping[str, Any]
    ) -> None:
        db.execute(
            "INSERT INTO event (at, name, version, kind, actor, detail) VALUES (?, ?, ?, ?, ?, ?)",
            (self.clock().isoformat(), name, version, kind, actor, json.dumps(plain(detail), sort_keys=True)),
        )

    def announce(self, kind: str, entry: RegistryEntry) -> None:
        """Tells the hooks, after the change is committed."""
        for failure in run_hooks(self.hooks, kind, entry):
            self.on_hook_failure(failure)

    def publish(self) -> None:
        """Brings the links up to date, as far as the disk allows."""
        try:
            self.versions.publish()
        except RegistryError:
            # What was asked for is committed; the link is remembered as pending and made by the next writer.
            return
