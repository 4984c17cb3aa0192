"""Omni: ``assets/skills/<id>/`` with SKILL.md, README.md and ``scripts/commands.py``, as its scanner reads them."""

from __future__ import annotations

import hashlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from synth.draft import EVIDENCE
from synth.export.document import code, skill_md
from synth.export.omni_code import omni_source
from synth.export.omni_immune import refused, refused_modules, without_pathlib
from synth.export.omni_workspace import takes_workspace
from synth.export.source import Skill
from synth.exported import MARK
from synth.owned import write_owned
from synth.registry.indexing import words
from verifiers.gating.discover import ATTACHED

REINDEX = "omni reindex"
_OPEN = ("fetch", "http", "request", "api", "url", "web", "network")
"""What in a function's name makes Omni's scanner take it for one that reaches the network."""
_STOP = frozenset({"the", "and", "all", "for", "with", "from", "into", "that", "this", "every", "each", "them"})


@dataclass(frozen=True, slots=True)
class OmniExport:
    """What an export did."""

    directory: Path
    reindex: str
    """The command that makes Omni's router see it."""
    notes: tuple[str, ...] = ()
    """Where Omni's index will say something else than was measured, and what its immune layer will refuse."""


def export_omni(skill: Skill, skills: Path, prefix: str = "learned_", registry: Path | None = None) -> OmniExport:
    """Writes ``<skills>/<prefix><name>/`` in one step; Omni's file watcher takes that as a registration.

    Args:
        skills: Omni's ``assets/skills``.
        registry: For commands that are told, where it is not the configured one.

    Raises:
        ExportError: the code cannot be rewritten for Omni, or its text cannot be made safe.
        Conflict: a person edited the directory.
        OSError: it cannot be written; what was there is still there.
    """
    identifier = skill_id(skill, prefix)
    files = files_of(skill, identifier)
    directory = write_owned(skills, identifier, files, MARK, on_conflict="error", owner=skill.entry.name)
    return OmniExport(
        directory, REINDEX, (*disagreements(skill), *_refusals(files["scripts/commands.py"].decode(), directory, registry))
    )


def _refusals(source: str, directory: Path, registry: Path | None) -> list[str]:
    """What will be refused, why it is not done otherwise, and how another form is made or judged on the same evidence."""
    found, needed = refused(source), without_pathlib(source)
    if not found:
        return []
    why = f" (pathlib does not do the same as {', '.join(needed)})" if needed else ""
    return [
        f"Omni's ImmuneSystem will refuse it for: {', '.join(found)}{why}",
        *_offers(source, directory, registry),
        f"who writes a form without into its scripts/commands.py has it judged with: assay verify {directory}",
    ]


def _offers(source: str, directory: Path, registry: Path | None) -> list[str]:
    """The command with which a model writes a form without what is refused; none where no recordings go along."""
    if not (directory / ATTACHED / EVIDENCE).is_file() or not (modules := refused_modules(source)):
        return []
    traces = shlex.quote(str(directory / ATTACHED / EVIDENCE))
    place = f" --registry {shlex.quote(str(registry))}" if registry is not None else ""
    return [
        "a model writes a form without, which becomes its next version if it passes: "
        f"assay crystallize {traces} --refuse-imports {','.join(modules)} --generator anthropic{place}"
    ]


def skill_id(skill: Skill, prefix: str = "learned_") -> str:
    """The directory's name: a Python identifier, for the loader imports ``<id>.scripts.commands``."""
    return re.sub(r"\W", "_", prefix + skill.entry.name).lstrip("_") or "learned"


def files_of(skill: Skill, identifier: str) -> dict[str, bytes]:
    """The exported files. The code is rewritten, so the metadata name both digests: of what was verified and of what is there."""
    commands = omni_source(skill.draft.source, skill.subject, skill.annotations, skill.subject.name).encode()
    hints = skill.annotations
    fields = {
        "name": identifier,
        "description": f"Use when asked to: {'; '.join(skill.requests(3)) or skill.summary}",
        "metadata": {
            "author": "skill-assay",
            "version": f"1.0.{int(skill.entry.metadata['ordinal']) - 1}",
            "source": f"learned from {skill.usable} recorded executions",
            "routing_keywords": keywords(skill),
            "intents": [" ".join(r.split()[:12]) for r in skill.requests(5)] or [skill.summary],
            "require_refs": [],
            "permissions": ["filesystem:read"] if hints.read_only else ["filesystem:read", "filesystem:write"],
            "verification": {
                "tool": "skill-assay",
                "verdict": "PASS",
                "score": round(skill.entry.score, 6),
                "evidence": skill.usable,
                "code_sha256": hashlib.sha256(commands).hexdigest(),
                "verified_sha256": skill.subject.sha256,
                "report_sha256": skill.entry.report_sha256,
            },
        },
    }
    said = "`workspace` names; without, on the one that " if takes_workspace(skill.draft.source, skill.subject) else ""
    usage = (
        f"Omni command `{identifier}.{skill.subject.name}`. It works on the directory that {said}Omni was started in. "
        f"After adding or removing this directory by hand: `{REINDEX}`."
    )
    return {
        "SKILL.md": skill_md(skill, fields, usage).encode(),
        "README.md": _readme(skill, identifier).encode(),
        "scripts/__init__.py": b"",
        "scripts/commands.py": commands,
        **skill.carried,
    }


def keywords(skill: Skill) -> list[str]:
    """5 to 20 lower-case words to route by, those of name and summary first."""
    texts = [skill.entry.name, skill.summary, *(p.name for p in skill.subject.parameters), *skill.requests(10)]
    found = dict.fromkeys(w for text in texts for w in words(text) if len(w) > 2 and not w.isdecimal() and w not in _STOP)
    return list(dict.fromkeys([*found, "learned", "verified", "files", "workspace", "skill"]))[: max(5, min(20, len(found)))]


def disagreements(skill: Skill) -> list[str]:
    """Where Omni's index, which reads two of the flags and guesses the others, will say something else than was measured."""
    name, hints = skill.subject.name, skill.annotations
    found: list[str] = []
    if hints.idempotent and not hints.read_only:
        found.append(f"Omni takes nothing that writes for idempotent; {name} was measured to be idempotent")
    if hints.read_only and not hints.idempotent:
        found.append(f"Omni takes everything that only reads for idempotent; {name} was not measured to be")
    if hints.open_world != any(word in name.lower() for word in _OPEN):
        seen = "was seen to stay" if not hints.open_world else "was not seen to stay"
        found.append(f"Omni tells by its name whether {name} is open-world; it {seen} in its directory")
    return found


def _readme(skill: Skill, identifier: str) -> str:
    evidence = {"verified_sha256": skill.subject.sha256, "report_sha256": skill.entry.report_sha256}
    return (
        f"# {identifier}\n\nLearned and verified by skill-assay; the numbers are in the front matter of SKILL.md.\n\n"
        f"`scripts/commands.py` is a mechanical rewrite, for Omni's decorator, of what was verified: {code(evidence)}.\n\n"
        f"Make the router see it: `{REINDEX}`\n"
    )
