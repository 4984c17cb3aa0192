"""Wayland Core's formats, byte for byte: manifest, SKILL.md body, content digest, and where things are.

Source: wayland-core v0.13.4 ``auto_skill/drafter.rs``, ``wcore-skills`` (facts restated; vectors in ``fixtures/wayland``).
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synth.export.source import ExportError
from synth.owned import edited

SCORER = "auto_drafter"
PROJECT_FOLDER = ".wayland-core"
_TRUNCATE_BYTES = 80
_MAX_DEPTH = 8
_NOTE = (
    "> NOTE: This skill was auto-drafted from a streak of successful turns with similar task signatures. "
    "Review and edit before treating it as canonical."
)


# ------------------------------------------------------------ places


@dataclass(frozen=True, slots=True)
class Places:
    """Where Wayland keeps what. Nothing is created by finding out."""

    config: Path
    skills: Path
    memory: Path
    governance: Path
    project: Path
    """The directory that Wayland is started in, whose own configuration counts too."""

    @property
    def in_project(self) -> bool:
        """Whether the skills are in a project's own folder: Wayland's sandbox binds the project, and not its own home."""
        return self.skills.absolute().parent.name == PROJECT_FOLDER

    @property
    def database(self) -> Path:
        return self.memory / "memory" / "memory.db"

    @property
    def tombstones(self) -> Path:
        return self.governance / "tombstones"


def places(environment: Mapping[str, str], home: Path, project: Path = Path()) -> Places:
    """Wayland's directories under an environment, a home directory and a project, by its own rules of precedence."""
    wayland, data = environment.get("WAYLAND_HOME"), environment.get("XDG_DATA_HOME")
    config_home = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    data_home = Path(data) if data else home / ".local" / "share"
    config = Path(wayland) if wayland else Path(data) / "wayland-core" if data else config_home / "wayland-core"
    memory = environment.get("WCORE_MEMORY_DIR") or environment.get("AIONRS_MEMORY_DIR")
    governance = environment.get("WAYLAND_SKILLS_GOVERNANCE_DIR")
    beside = Path(wayland) if wayland else data_home / "wayland-core"
    return Places(
        config=config,
        skills=config / "skills",
        memory=Path(memory) if memory else config,
        project=project,
        governance=Path(governance) if governance else beside / "skills-governance",
    )


def places_here(output: Path | None = None) -> Places:
    """Wayland's directories for this process.

    Args:
        output: Its home; or a project's own folder, ``.wayland-core``, where the skills are: the rest is this user's then.
    """
    if output is None:
        return places(os.environ, Path.home())
    if output.absolute().name == PROJECT_FOLDER:
        return replace(places(os.environ, Path.home(), output.absolute().parent), skills=output / "skills")
    return places({**os.environ, "WAYLAND_HOME": str(output)}, Path.home())


def lifecycle_on(config: Path, project: Path) -> bool:
    """Whether Wayland's skills life cycle is on (its default): the user and the project must both leave it, and memory, on.

    Raises:
        ExportError: a file cannot be read, so that nobody knows.
    """
    own = project / ".wayland-core.toml"
    return all(_on(file) for file in (config / "config.toml", own if own.exists() else project / PROJECT_FOLDER / "config.toml"))


def _on(path: Path) -> bool:
    if not path.exists():
        return True
    try:
        settings = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as e:
        raise ExportError(
            f"Wayland's configuration cannot be read ({e})", "Mend it: with the life cycle off nothing may be written", path
        ) from e
    memory = settings.get("memory")
    memory_off = isinstance(memory, dict) and memory.get("enabled") is False
    return not memory_off and not _switched_off(settings)


def _switched_off(table: Mapping[str, Any]) -> bool:
    return any(
        value is False if key == "skills_lifecycle" else isinstance(value, dict) and _switched_off(value)
        for key, value in table.items()
    )


def tombstone_for(tombstones: Path, name: str, signature: str) -> Path | None:
    """The tombstone that revokes a skill of this name or signature; None if there is none.

    Raises:
        ExportError: a tombstone cannot be read, so that nobody knows.
    """
    if not tombstones.is_dir():
        return None
    for path in sorted(p for p in tombstones.iterdir() if p.is_file()):
        if path.stem in (name, signature):
            return path
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError) as e:
            raise ExportError(
                f"a tombstone cannot be read ({e})", "Mend or remove it: a revoked skill must not come back", path
            ) from e
        if isinstance(document, dict) and (
            name in (document.get("skill_name"), document.get("name")) or document.get("signature") == signature
        ):
            return path
    return None


# ------------------------------------------------------------ bytes


def manifest_bytes(name: str, signature: str, evidence_count: int, drafted_at: datetime, released: bool = False) -> bytes:
    """``manifest.json`` as Wayland writes it: eight keys in alphabetical order, two spaces, no newline at the end.

    Args:
        released: Without ``auto_drafted`` and ``needs_review``: a person took it out of quarantine.
    """
    document = {
        "auto_drafted": not released,
        "drafted_at": rfc3339(drafted_at),
        "evidence_count": evidence_count,
        "name": name,
        "needs_review": not released,
        "score": None,
        "scorer": SCORER,
        "signature": signature,
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False).encode()


def rfc3339(time: datetime) -> str:
    """A time as chrono's ``to_rfc3339`` writes it: 0, 3 or 6 digits of fraction, ``+00:00``."""
    utc = time.astimezone(UTC)
    digits = (
        ""
        if utc.microsecond == 0
        else f".{utc.microsecond // 1000:03}"
        if utc.microsecond % 1000 == 0
        else f".{utc.microsecond:06}"
    )
    return f"{utc:%Y-%m-%dT%H:%M:%S}{digits}+00:00"


def head(signature: str, evidence_count: int, lines: Sequence[str]) -> str:
    """The part of a draft's SKILL.md that Wayland knows it by, up to and including the examples of when to use it."""
    resembles = "".join(f"{number}. {line}\n" for number, line in enumerate(lines[:3], 1))
    return (
        f"# Auto-drafted skill: auto-{signature}\n\n{_NOTE}\n\nSignature: `{signature}`\n\n"
        f"Evidence: {evidence_count} successful turns\n\n"
        f"## When to use\n\nApply when the task shape resembles:\n\n{resembles}\n"
    )


def draft_body(signature: str, trajectories: Sequence[tuple[str, str]]) -> str:
    """SKILL.md exactly as Wayland's drafter writes it for (user input, summary) pairs: nothing escaped, no procedure in it."""
    lines = [f"`{truncate(said)}` -> {summary}" for said, summary in trajectories]
    return head(signature, len(trajectories), lines) + _TAIL


_TAIL = "## Approach\n\nDerive from the successful trajectories above. Refine after human review.\n"


def is_their_draft(directory: Path, signature: str, bodies: Collection[str], mark: str) -> bool:
    """Whether Wayland's drafter wrote manifest and body last, nobody edited either, and nothing else is there but what we left.

    Args:
        bodies: The bodies that its database says it drafted; with none there, the shape of the text decides.
        mark: Name of the file with the digests of what we left.
    """
    try:
        body = (directory / "SKILL.md").read_text("utf-8")
        manifest = (directory / "manifest.json").read_bytes()
        known = json.loads(manifest)
    except (OSError, ValueError, RecursionError):
        return False
    beside = [path for path in edited(directory, mark) or () if path not in ("SKILL.md", "manifest.json")]
    others = {p.name for p in directory.iterdir()} - {"SKILL.md", "manifest.json"}
    return (
        isinstance(known, dict)
        and known.keys() == json.loads(manifest_bytes("", "", 0, datetime.now(UTC))).keys()
        and manifest == json.dumps(known, indent=2, sort_keys=True, ensure_ascii=False).encode()
        and (known["name"], known["signature"]) == (f"auto-{signature}", signature)
        and body.startswith(f"# Auto-drafted skill: auto-{signature}\n\n{_NOTE}\n\nSignature: `{signature}`\n\nEvidence: ")
        and body.endswith(_TAIL)
        and (not bodies or body in bodies)
        and not beside
        and (not others or (directory / mark).is_file())
    )


def is_released(directory: Path) -> bool:
    """Whether the manifest in a directory says that it is out of quarantine."""
    try:
        known = json.loads((directory / "manifest.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(known, dict) and known.get("auto_drafted") is False


def truncate(text: str) -> str:
    """At most 80 bytes, cut at a character, and ``...`` if something was cut."""
    data = text.encode()
    if len(data) <= _TRUNCATE_BYTES:
        return text
    return data[:_TRUNCATE_BYTES].decode("utf-8", "ignore") + "..."


def content_digest(files: Mapping[str, bytes]) -> str:
    """Wayland's digest of a skill directory (what a promotion grant is bound to), of its files by relative path."""
    h = hashlib.sha256()
    for path in sorted(files, key=lambda p: [part.encode() for part in p.split("/")]):
        for data in (path.encode(), files[path]):
            h.update(len(data).to_bytes(8, "little"))
            h.update(data)
    return f"sha256:{h.hexdigest()}"


def directory_digest(directory: Path) -> str:
    """``content_digest`` of a directory.

    Raises:
        ExportError: it has a symbolic link or is too deep, which Wayland refuses.
    """
    files: dict[str, bytes] = {}
    for path in sorted(directory.rglob("*")):
        relative = path.relative_to(directory)
        if path.is_symlink() or len(relative.parts) > _MAX_DEPTH:
            raise ExportError("Wayland takes no links and no more than 8 levels", "Remove it", path)
        if path.is_file():
            files[relative.as_posix()] = path.read_bytes()
    return content_digest(files)
