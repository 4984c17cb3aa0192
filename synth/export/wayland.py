"""Wayland Core: a verified skill as one of its drafts, with the measured row that its router has been waiting for.

The draft keeps Wayland's quarantine (``auto_drafted``): only a person lifts it, with ``release``, and that is recorded. Nothing
is written for a skill that Wayland revoked, or while its skills life cycle is off.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from synth.detect.signature import KEPT, STOPWORDS, tokens
from synth.detect.signature import signature as signature_of
from synth.export.document import asked, checked, facts, front_matter, prose
from synth.export.runnable import scripts, usage
from synth.export.source import ExportError, Skill
from synth.export.wayland_files import (
    PROJECT_FOLDER,
    Places,
    content_digest,
    head,
    is_released,
    is_their_draft,
    lifecycle_on,
    manifest_bytes,
    places_here,
    tombstone_for,
    truncate,
)
from synth.export.wayland_memory import MeasuredRow, clear_rows, drafted_bodies, write_rows
from synth.exported import MARK
from synth.interface import RegistryEntry
from synth.owned import Conflict, owner_of, write_owned
from synth.registry import Registry
from synth.registry.database import FILE
from synth.registry.entries import Event
from synth.registry.hooks import Hook
from verifiers.interface import Args

MAX_SIGNATURE = 59
"""With ``auto-`` 64 characters: the longest name that agentskills.io readers take too."""
OWN_DIRECTORY = "${WCORE_SKILL_DIR}"
"""For which Wayland puts in the skill's own directory, when it gives the text to its model."""
_PARTS = re.compile(r"\d+|[^\W\d]+")
EXPORTED = "exported"
"""Kind of the event in a skill's history that says where it went."""
RELEASED = "released"
"""Kind of the event that says who took a version out of quarantine."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One directory of an export: Wayland knows a skill by the signature of a request, and one task has several."""

    directory: Path
    content_digest: str
    row_written: bool
    released: bool
    """Whether it is out of quarantine."""


@dataclass(frozen=True, slots=True)
class WaylandExport:
    """What an export did."""

    placed: tuple[Placed, ...]
    """One a signature, that of most requests first. None: nothing was written, ``notes`` say why."""
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
    """Writes a draft directory and a row for each signature that the skill's requests have.

    What Wayland's own drafter wrote for such a signature, and nobody edited, is replaced.

    Args:
        places: Wayland's directories; None = those of this process's environment.
        release: A person takes it out of quarantine, under one name: recorded in the registry's history with digest and
            ``actor``. Where somebody did so with this version, it stays released without.
        lifecycle: Whether Wayland's skills life cycle is on; None = what its configuration says.

    Raises:
        ExportError: revoked there, or its text or signatures cannot be used. Nothing was written.
        Conflict: each directory holds another skill, or one was edited: then its row, about other text, has lost its score.
        OSError: a directory cannot be written; what was there is still there.
    """
    where = places or places_here()
    if not (lifecycle if lifecycle is not None else lifecycle_on(where.config, where.project)):
        return WaylandExport((), ("Wayland's skills life cycle is off: nothing was written",))
    signatures = wayland_signatures(skill)
    for signature in signatures:
        revoked = tombstone_for(where.tombstones, f"auto-{signature}", signature)
        if revoked is not None:
            raise ExportError(f"Wayland revoked auto-{signature}", "A revoked skill is not written again", revoked)
    free, taken = _free(where, skill, signatures)
    # Before anything is written: what a conflict leaves half done has a score too.
    _remember(registry, skill, where, free, actor)
    released, told = _released(where, skill, registry, free, release)
    placed, notes = _placed(where, skill, free, released, now or registry.clock())
    for one in (p for p in placed if release and p.released):
        detail = {"format": "wayland", "content_digest": one.content_digest, "directory": str(one.directory)}
        registry.record(skill.entry, RELEASED, actor, detail)
    return WaylandExport(tuple(placed), (*taken, *told, *notes, *_out_of_reach(where, placed)))


def _out_of_reach(where: Places, placed: Sequence[Placed]) -> list[str]:
    """Why Wayland will not run what was released, in words."""
    if not where.in_project:
        what = f"Wayland's sandbox binds the project that it works on: there, -o {PROJECT_FOLDER} puts it where it can be run"
        return [what] if any(p.released for p in placed) else []
    hiding = [d for d in (where.config / "skills" / p.directory.name for p in placed if p.released) if d.exists()]
    return [f"Wayland reads {d} in its place, of the same name: remove that" for d in hiding]


def _released(
    where: Places, skill: Skill, registry: Registry, signatures: Sequence[str], release: bool
) -> tuple[list[str], list[str]]:
    """The signatures that are released, and what becomes of those that were or are not, in words.

    Of one skill a person releases one name: under each, it would fill the list that the model sees.
    Without, those of a version that was released stay so: of another version, nobody has seen what is in it.
    """
    there = [where.skills / f"auto-{s}" for s in signatures]
    found = [s for s, d in zip(signatures, there, strict=True) if owner_of(d, MARK) == skill.entry.name and is_released(d)]
    if release:
        one = (found or list(signatures))[:1]
        return one, [f"auto-{s} is listed, its other names are hidden drafts" for s in one if len(signatures) > 1]
    if any(e.kind == RELEASED and e.version == skill.entry.version for e in registry.history(skill.entry.name)):
        return found, [f"auto-{s} stays released; who wants a draft again removes its directory first" for s in found]
    return [], [f"auto-{s} was released in another version: this one is a draft until --release" for s in found]


def _free(where: Places, skill: Skill, signatures: Sequence[str]) -> tuple[list[str], list[str]]:
    """The signatures under which no other skill is exported, and those under which one is, in words.

    Raises:
        Conflict: there is another under each of them.
    """
    holders = {s: owner_of(where.skills / f"auto-{s}", MARK) for s in signatures}
    others = {s: name for s, name in holders.items() if name not in ("", skill.entry.name)}
    if len(others) == len(signatures):
        first = signatures[0]
        what, advice = f"holds the skill {others[first]}", f"Retire {others[first]}, or release one of the two to another place"
        raise Conflict(what, advice, where.skills / f"auto-{first}")
    return [s for s in signatures if s not in others], [f"auto-{s} holds the skill {name}" for s, name in others.items()]


def _placed(
    where: Places, skill: Skill, signatures: Sequence[str], released: Collection[str], now: datetime
) -> tuple[list[Placed], list[str]]:
    """Directories and rows of signatures, and what was left out; the rows in one change of the database."""
    made: list[tuple[Path, str]] = []
    rows: list[MeasuredRow] = []
    notes: list[str] = []
    try:
        for signature in signatures:
            out = signature in released
            body = released_body(skill, f"auto-{signature}") if out else verified_body(skill, signature)
            made.append(_written(where, skill, signature, body, out))
            rows.append(_row(skill, signature, body, made[-1][1], now))
    finally:
        try:
            written = write_rows(where.database, rows) if rows else []
        except ExportError as e:
            written = [False] * len(rows)
            notes.append(f"no row in the memory database: {e.diagnostics()}")
    placed = zip(made, written, signatures, strict=True)
    return [Placed(*one, row, signature in released) for one, row, signature in placed], notes


def _written(where: Places, skill: Skill, signature: str, body: str, release: bool) -> tuple[Path, str]:
    """The directory of a signature, and its digest as Wayland computes it."""
    name = f"auto-{signature}"
    files = {
        "manifest.json": manifest_bytes(name, signature, skill.usable, skill.entry.registered_at, release),
        "SKILL.md": body.encode(),
        **scripts(skill),
        **skill.carried,
    }
    drafted = drafted_bodies(where.database, name)
    try:
        directory = write_owned(
            where.skills, name, files, MARK, on_conflict="error", owner=skill.entry.name,
            replaces=lambda found: is_their_draft(found, signature, drafted, MARK),
        )  # fmt: skip
    except Conflict:
        if where.database.is_file():
            clear_rows(where.database, [name])
        raise
    return directory, content_digest({**files, MARK: (directory / MARK).read_bytes()})


def _remember(registry: Registry, skill: Skill, where: Places, signatures: Sequence[str], actor: str) -> None:
    """Notes in the registry's history where a version went, once: its score is taken back there, whoever withdraws it."""
    detail = {
        "format": "wayland", "skills": str(where.skills.absolute()), "database": str(where.database.absolute()),
        "names": sorted(f"auto-{s}" for s in signatures),
    }  # fmt: skip
    before = [e for e in _exports(registry, skill.entry.name) if e.detail["database"] == detail["database"]]
    if [(e.version, dict(e.detail)) for e in before[-1:]] != [(skill.entry.version, detail)]:
        registry.record(skill.entry, EXPORTED, actor, detail)


def retract_wayland(name: str, *, places: Places | None = None) -> int:
    """Takes the score of a skill that no longer passes from Wayland's router; returns how many rows lost it.

    Raises:
        ExportError: nothing was written.
    """
    return clear_rows((places or places_here()).database, [name])


def wayland_signatures(skill: Skill) -> list[str]:
    """The signatures that the skill's requests have in Wayland, the most frequent first; its name where none is left.

    The values that a request named are left out: they are one call's, not the task's, and may be nobody else's business.
    Of a request whose arguments nobody knows, nobody knows which words are its values.

    Raises:
        ExportError: none of them can name a directory.
    """
    evidence = skill.draft.evidence
    bindings = skill.draft.bindings if skill.subject.parameters else {t.task_id: {} for t in evidence}
    values = {t.task_id: _values(bindings[t.task_id]) for t in evidence if t.task_id in bindings}
    whole = {signature_of(t.task_description) for t in evidence}
    told = [_without(values[t.task_id], t.task_description) for t in evidence if t.task_id in values]
    # With fewer words left, a value that was named would be one of the longest: no request has that signature.
    common = Counter(s for s in told if s in whole or s.count("-") == KEPT - 1)
    known = str(skill.entry.metadata.get("signature") or "")
    held = any(_holds(word, value) for word in known.split("-") for value in values.values())
    # The pattern's own may hold a value: then it is the signature of one request, and of none without its values.
    first = [known] if known in common or (known not in whole and not held) else []
    found = list(dict.fromkeys(s for s in [*first, *(s for s, _ in common.most_common())] if s))
    found = found or [skill.entry.name.replace("_", "-")]
    usable = [s for s in found if len(s) <= MAX_SIGNATURE and len(s.encode()) <= 200]
    if not usable:
        what = f"its signature {truncate(found[0])!r} is too long for a directory name"
        raise ExportError(what, "Export it to another format", skill.entry.name)
    return usable


def _values(args: Args) -> AbstractSet[str]:
    """The words of a request's arguments."""
    return {word for value in args.values() for word in tokens(json.dumps(value, ensure_ascii=False)) if word} - STOPWORDS


def _without(values: AbstractSet[str], request: str) -> str:
    """The signature of a request without the words that hold its arguments."""
    return signature_of(" ".join(word for word in tokens(request) if not _holds(word, values)))


def _holds(word: str, values: AbstractSet[str]) -> bool:
    """Whether a word is a value or has one glued into it, as ``week01`` has "week"; one or two letters only beside digits."""
    parts = {word, *_PARTS.findall(word)}
    return any(value in parts or (len(value.encode("utf-8", "surrogatepass")) > 2 and value in word) for value in values)


def verified_body(skill: Skill, signature: str) -> str:
    """A draft's SKILL.md: header and note as Wayland's loader knows them, then how to call the skill.

    Raises:
        ExportError: something unsafe would be in it.
    """
    lines = [prose(truncate(text)) for text in skill.requests(3)]
    return checked(head(signature, skill.usable, lines) + "## Approach\n\n" + _approach(skill), skill.entry.name, OWN_DIRECTORY)


def released_body(skill: Skill, name: str) -> str:
    """An ordinary skill's SKILL.md, without the marks of a draft.

    Raises:
        ExportError: something unsafe would be in it.
    """
    fields: dict[str, object] = {"name": name, "description": skill.summary, "when-to-use": asked(skill)}
    text = front_matter(fields) + f"\n# {prose(skill.entry.name)}\n\n" + _approach(skill)
    return checked(text, skill.entry.name, OWN_DIRECTORY)


def _approach(skill: Skill) -> str:
    return "\n".join([prose(skill.summary), "", usage(skill, f'"{OWN_DIRECTORY}"'), "", *facts(skill)]).rstrip() + "\n"


def _row(skill: Skill, signature: str, body: str, digest: str, now: datetime) -> MeasuredRow:
    metadata = {
        "auto_drafted": True,
        "content_digest": digest,
        "evidence_count": skill.usable,
        "report_sha256": skill.entry.report_sha256,
        "signature": signature,
        "verifier": "skill-assay",
    }
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return MeasuredRow(f"auto-{signature}", body, skill.entry.score, int(now.timestamp()), text, skill.entry.report_sha256)


def retracting_hook(places: Places | None = None) -> Hook:
    """A registry hook: a score in Wayland's router is of the version that is active here, or it goes at once.

    Whatever the change was: of a version that was replaced nobody would notice that it drifts.

    In the Wayland of this process, and in each that the history says it was exported to. The rows are those of the
    directories that hold the skill, and of those that did and hold no other skill; a database that is not there has no score
    to lose.
    """
    where = places or places_here()

    def told(kind: str, entry: RegistryEntry) -> None:
        if kind == "staged":  # It waits: what is in use is as before.
            return
        failed: list[str] = []
        here = (where.skills.absolute(), where.database.absolute())
        active, exported = _exported(entry)
        out_of_use = entry.version
        for (skills, database), versions in sorted({here: {}, **exported}.items()):
            owners = {d.name: owner_of(d, MARK) for d in skills.glob("auto-*")}
            wrote = {n for n in versions if not owners.get(n)} | {n for n, owner in owners.items() if owner == entry.name}
            names = sorted(n for n in wrote if not active or versions.get(n, active) != active)
            try:
                if names and database.is_file():
                    clear_rows(database, names)
            except ExportError as e:
                failed.append(e.diagnostics())
                out_of_use = versions.get(names[0], entry.version)
        if failed:
            again = f"assay registry retire {entry.name} {out_of_use[:12]}"
            raise ExportError(f"{entry.name} still has its score there: {'; '.join(failed)}. Then repeat it: {again}")

    return told


def _exported(entry: RegistryEntry) -> tuple[str, dict[tuple[Path, Path], dict[str, str]]]:
    """The version of a skill that is in use, "" if none is; and by directory of skills and database, the version that each name
    there was exported from last."""
    root = next((p for p in Path(entry.path).parents if (p / FILE).is_file()), None)
    found: dict[tuple[Path, Path], dict[str, str]] = {}
    if root is None:
        return entry.version if entry.status == "active" else "", found
    with Registry.existing(root) as registry:
        for e in _exports(registry, entry.name):
            place = (Path(str(e.detail["skills"])), Path(str(e.detail["database"])))
            found.setdefault(place, {}).update(dict.fromkeys(e.detail.get("names", ()), e.version or ""))
        active = registry.show(entry.name)
    return active.version if active.status == "active" else "", found


def _exports(registry: Registry, name: str) -> list[Event]:
    """What a skill's history says of its exports to Wayland, oldest first."""
    return [e for e in registry.history(name) if e.kind == EXPORTED and e.detail.get("format") == "wayland"]
