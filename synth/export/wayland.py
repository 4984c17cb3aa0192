"""Wayland Core: a verified skill as one of its drafts, with the measured row that its router has been waiting for.

The draft keeps Wayland's quarantine (``auto_drafted``): only a person lifts it, with ``release``, and that is recorded. Nothing
is written for a skill that Wayland revoked, or while its skills life cycle is off.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from synth.detect.signature import signature as signature_of
from synth.export.document import checked, facts, front_matter, prose
from synth.export.runnable import scripts, usage
from synth.export.source import MARK, ExportError, Skill
from synth.export.wayland_files import (
    Places,
    content_digest,
    head,
    lifecycle_on,
    manifest_bytes,
    places_here,
    tombstone_for,
    truncate,
)
from synth.export.wayland_memory import MeasuredRow, clear_rows, schema_version, write_row
from synth.interface import RegistryEntry
from synth.owned import write_owned
from synth.registry import Registry
from synth.registry.hooks import Hook

MAX_SIGNATURE = 59
"""With ``auto-`` 64 characters: the longest name that agentskills.io readers take too."""
LAST_SCHEMA_WITH_LEGACY_COPY = 5


@dataclass(frozen=True, slots=True)
class WaylandExport:
    """What an export did."""

    directory: Path | None
    """None: nothing was written, ``notes`` say why."""
    content_digest: str | None
    row_written: bool
    notes: tuple[str, ...] = ()
    """What was left out, in words."""


def export_wayland(
    skill: Skill,
    registry: Registry,
    *,
    places: Places | None = None,
    release: bool = False,
    actor: str = "assay",
    now: datetime | None = None,
    lifecycle: bool | None = None,
) -> WaylandExport:
    """Writes the draft directory and the row.

    Args:
        places: Wayland's directories; None = those of this process's environment.
        release: A person takes it out of quarantine: recorded in the registry's history with digest and ``actor``.
        lifecycle: Whether Wayland's skills life cycle is on; None = what its configuration says.

    Raises:
        ExportError: revoked there, or its text or signature cannot be used. Nothing was written.
        Conflict: a person edited the directory. Nothing was written.
        OSError: the directory cannot be written; what was there is still there.
    """
    where = places or places_here()
    if not (lifecycle if lifecycle is not None else lifecycle_on(where.config)):
        return WaylandExport(None, None, False, ("Wayland's skills life cycle is off: nothing was written",))
    signature = wayland_signature(skill)
    name = f"auto-{signature}"
    revoked = tombstone_for(where.tombstones, name, signature)
    if revoked is not None:
        raise ExportError(f"Wayland revoked {name}", "A revoked skill is not written again", revoked)
    body = released_body(skill, name) if release else verified_body(skill, signature)
    files = {
        "manifest.json": manifest_bytes(name, signature, skill.usable, skill.entry.registered_at, release),
        "SKILL.md": body.encode(),
        **scripts(skill),
    }
    directory = write_owned(where.skills, name, files, MARK, on_conflict="error")
    digest = content_digest({**files, MARK: (directory / MARK).read_bytes()})
    if release:
        detail = {"format": "wayland", "content_digest": digest, "directory": str(directory)}
        registry.record(skill.entry, "released", actor, detail)
    written, notes = _row(where, skill, name, signature, body, digest, now or registry.clock())
    return WaylandExport(directory, digest, written, (*notes, *_legacy_copy(where, signature, body)))


def retract_wayland(name: str, *, places: Places | None = None) -> int:
    """Takes the score of a skill that no longer passes from Wayland's router; returns how many rows lost it.

    Raises:
        ExportError: nothing was written.
    """
    return clear_rows((places or places_here()).database, name)


def wayland_signature(skill: Skill) -> str:
    """The signature that the skill's traces have in Wayland.

    Raises:
        ExportError: it cannot name a directory.
    """
    known = skill.entry.metadata.get("signature")
    found = (
        known
        if isinstance(known, str) and known
        else signature_of(skill.draft.evidence[0].task_description) or skill.entry.name.replace("_", "-")
    )
    if len(found) > MAX_SIGNATURE or len(found.encode()) > 200 or "/" in found or found.startswith("."):
        raise ExportError(
            f"its signature {truncate(found)!r} is too long for a directory name", "Export it to another format", skill.entry.name
        )
    return found


def verified_body(skill: Skill, signature: str) -> str:
    """A draft's SKILL.md: header and note as Wayland's loader knows them, then how to call the skill.

    Raises:
        ExportError: something unsafe would be in it.
    """
    lines = [prose(truncate(text)) for text in skill.requests(3)]
    return checked(head(signature, skill.usable, lines) + "## Approach\n\n" + _approach(skill), skill.entry.name)


def released_body(skill: Skill, name: str) -> str:
    """An ordinary skill's SKILL.md, without the marks of a draft.

    Raises:
        ExportError: something unsafe would be in it.
    """
    fields: dict[str, object] = {"name": name, "description": skill.summary}
    return checked(front_matter(fields) + f"\n# {prose(skill.entry.name)}\n\n" + _approach(skill), skill.entry.name)


def _approach(skill: Skill) -> str:
    return "\n".join([prose(skill.summary), "", usage(skill), "", *facts(skill)]).rstrip() + "\n"


def _row(
    where: Places, skill: Skill, name: str, signature: str, body: str, digest: str, now: datetime
) -> tuple[bool, tuple[str, ...]]:
    metadata = {
        "auto_drafted": True,
        "content_digest": digest,
        "evidence_count": skill.usable,
        "report_sha256": skill.entry.report_sha256,
        "signature": signature,
        "verifier": "skill-assay",
    }
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    row = MeasuredRow(name, body, skill.entry.score, int(now.timestamp()), text, skill.entry.report_sha256)
    try:
        return write_row(where.database, row), ()
    except ExportError as e:
        return False, (f"no row in the memory database: {e.diagnostics()}",)


def _legacy_copy(where: Places, signature: str, body: str) -> tuple[str, ...]:
    """The second copy that versions up to 0.12.25 look for. Best effort: it warns and never fails."""
    schema = schema_version(where.database)
    if where.legacy is None or schema is None or schema > LAST_SCHEMA_WITH_LEGACY_COPY:
        return ()
    try:
        write_owned(where.legacy, signature, {"SKILL.md": body.encode()}, MARK, on_conflict="error")
    except OSError as e:
        return (f"the older second copy was not written: {e}",)
    return ()


def retracting_hook(places: Places | None = None) -> Hook:
    """A registry hook: what drifts, is archived or revoked here loses its score in Wayland's router at once.

    A hook of its own for who wants it; a database that is not there has no score to lose.
    """
    where = places or places_here()

    def told(kind: str, entry: RegistryEntry) -> None:
        signature = entry.metadata.get("signature")
        if kind in ("drifted", "archived", "revoked") and isinstance(signature, str) and where.database.is_file():
            clear_rows(where.database, f"auto-{signature}")

    return told
