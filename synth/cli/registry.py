"""``assay registry``: what is registered, and its life."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import attest, console, drift, evolve, export, lift, metrics, routing
from synth.cli.exits import FAIL, PASS
from synth.cli.files import dump
from synth.cli.groups import Group
from synth.cli.home import actor, open_registry, registry_option, said, version_arguments
from synth.cli.outputs import emit_document, output_options, plan
from synth.cli.rejudging import add, rename, verify
from synth.judged_by import engine_facts, tools

if TYPE_CHECKING:
    from synth.interface import RegistryEntry

STATUSES = ("active", "staged", "archived", "revoked")
PLAIN_JSON = ("plain", "json")


OLD = {
    "promote": "registry activate", "approve": "registry activate --approver WHO", "restore": "registry activate",
    "rollback": "registry activate", "archive": "registry retire", "revoke": "registry retire --forever",
    "bench": "route --bench NAME SCORE", "seeds": "route --seeds", "export": "export",
}  # fmt: skip


@click.group("registry", cls=Group, old=OLD, short_help="List, activate, retire, audit registered skills.")
def command() -> None:
    """Registered skills: every version is kept, bound to the bytes and the report that it passed with."""


def _entry_json(entry: RegistryEntry) -> dict[str, Any]:
    return {
        "name": entry.name, "version": entry.version, "status": entry.status, "score": entry.score, "estimate": entry.estimate,
        "description": entry.description, "registered_at": entry.registered_at.isoformat(), "report_sha256": entry.report_sha256,
        "path": entry.path, "metadata": dict(entry.metadata),
    }  # fmt: skip


@command.command("list")
@registry_option
@click.option("--status", type=click.Choice([*STATUSES, "all"]), default="active", show_default=True)
@output_options(PLAIN_JSON)
def list_(registry: Path | None, status: str, **rest: Any) -> int:
    """Lists skills in name order."""
    from verifiers.formats.text import bound

    outputs = plan(rest["formats"], rest["files"], PLAIN_JSON)
    with open_registry(registry, must_exist=True) as opened:
        entries = opened.list(None if status == "all" else status)  # type: ignore[arg-type]  # click has checked the choice
        others = not entries and bool(opened.list(None))
        document = {"schema": "assay-registry/1", "skills": [_entry_json(e) for e in entries]}
    rows = [(e.name, e.version[:12], e.status, bound(e.score), e.description) for e in entries]
    none = f"no skill is {status}: `assay registry list --status all` lists the others" if others else "no skill is registered"
    table = console.table(("skill", "version", "status", "score", "what it does"), rows) if rows else none
    emit_document(outputs, document, table)
    return 0


@command.command("show")
@version_arguments
@output_options(PLAIN_JSON)
def show(registry: Path | None, name: str, version: str | None, **rest: Any) -> int:
    """Shows one version: its facts, its code and its report."""
    from verifiers.formats.text import bound

    outputs = plan(rest["formats"], rest["files"], PLAIN_JSON)
    with open_registry(registry, must_exist=True) as opened:
        entry = opened.show(name, version)
        source = opened.source(entry)
        document = {
            **_entry_json(entry),
            "schema": "assay-registry-entry/1",
            "source": source,
            "report": opened.report(name, entry.version),
        }
    facts = {**_entry_json(entry), "score": f"at least {bound(entry.score)}"}
    head = [f"{key:14} {value}" for key, value in facts.items() if key not in ("metadata", "estimate")]
    emit_document(outputs, document, "\n".join([*head, "", source]))
    return 0


@command.command("history")
@registry_option
@click.argument("name")
@click.argument("candidate", required=False)
def history(registry: Path | None, name: str, candidate: str | None) -> int:
    """Says what happened to a skill, oldest first. With CANDIDATE, the digest of one that `evolve` tried: its code and
    its report."""
    with open_registry(registry, must_exist=True) as opened:
        if candidate is not None:
            code, reports = opened.candidate(name, candidate)
            console.out("\n".join([code, *(dump(r) for r in reports)]))
            return 0
        rows = [
            (e.at.isoformat(timespec="seconds"), e.kind, (e.version or "")[:12], e.actor, _detail(e.detail))
            for e in opened.history(name)
        ]
    console.out(console.table(("when", "what", "version", "who", "detail"), rows))
    return 0


def _detail(detail: Any) -> str:
    return ", ".join(f"{key} {value}" for key, value in dict(detail).items() if value not in ("", None) and key != "source")


@command.command("diff")
@registry_option
@click.argument("name")
@click.argument("old")
@click.argument("new", required=False)
def diff(registry: Path | None, name: str, old: str, new: str | None) -> int:
    """Shows how the code of two versions differs. `assay verify --against` says what that changes in behaviour."""
    with open_registry(registry, must_exist=True) as opened:
        a, b = opened.show(name, old), opened.show(name, new)
        before, after = opened.source(a).splitlines(), opened.source(b).splitlines()
    console.out(
        "\n".join(difflib.unified_diff(before, after, f"{name}@{a.version[:12]}", f"{name}@{b.version[:12]}", lineterm=""))
        or "no difference"
    )
    return 0


@command.command("activate")
@version_arguments
@click.option("--approver", metavar="NAME", help="Who approves exactly this version, where the policy asks for it.")
@click.option("--note", default="", metavar="TEXT", help="Kept with the approval.")
def activate(registry: Path | None, name: str, version: str | None, approver: str | None, note: str) -> int:
    """Makes a version the active one: one that waits, an archived one, or an earlier one.

    Without VERSION: the one that waits, else the newest archived one. With --approver VERSION must be said: an approval is of
    bytes, not of a name.
    """
    with open_registry(registry, must_exist=True) as opened:
        if approver is not None and version is None:
            waiting = [e.version[:12] for e in opened.versions_of(name) if e.status == "staged"]
            which = f" (waiting: {', '.join(waiting)})" if waiting else ""
            raise click.UsageError(f"--approver needs VERSION: an approval is of bytes, not of a name{which}")
        if approver is not None and version is not None:
            approved = opened.approve(name, version, approver=approver, note=note)
            if approved.status == "active":
                return said(approved, f"approved by {approver}")
        versions = opened.versions_of(name)
        wanted = [e for e in versions if version is None or e.version == opened.show(name, version).version]
        if any(e.status == "staged" for e in wanted):
            return said(opened.promote(name, version, actor=actor()), "promoted")
        if any(e.status == "active" for e in versions):
            return said(opened.rollback(name, version, actor=actor()), "rolled back")
        return said(opened.restore(name, version or versions[-1].version, actor=actor()), "restored")


@command.command("retire")
@version_arguments
@click.option("--reason", default="", metavar="TEXT")
@click.option("--forever", is_flag=True, help="Its code cannot be registered again. Without VERSION: all versions.")
def retire(registry: Path | None, name: str, version: str | None, reason: str, forever: bool) -> int:
    """Takes a version out of use; its files stay, and `activate` brings it back unless it is retired forever.

    Of one that is out of use already, who is told of changes (Wayland's router, the hooks) is told again.
    """
    with open_registry(registry, must_exist=True) as opened:
        chosen = opened.versions_of(name) if forever and version is None else [opened.show(name, version)]
        if all(e.status == "revoked" or (e.status == "archived" and not forever) for e in chosen):
            for entry in chosen:
                opened.announce(entry.status, entry)
                said(entry, "as before; who is told of it was told again")
            return 0
        if not forever:
            return said(opened.archive(name, version, actor=actor(), reason=reason), "archived")
        for entry in opened.revoke(name, version, actor=actor(), reason=reason):
            said(entry, "revoked")
    return 0


def _moved(method: str, what: str) -> Callable[..., int]:
    def callback(registry: Path | None, name: str, version: str | None) -> int:
        with open_registry(registry, must_exist=True) as opened:
            return said(getattr(opened, method)(name, version, actor=actor()), what)

    return callback


def _before(old: str, new: click.Command, callback: Callable[..., int], *without: str) -> None:
    """A name of before, with the parameters of the new one but some."""
    params = [p for p in new.params if p.name not in without]
    command.add_command(click.Command(old, params=params, callback=callback, hidden=True, help=new.help))


assert activate.callback is not None
assert retire.callback is not None
for old, what in (("promote", "promoted"), ("rollback", "rolled back"), ("restore", "restored")):
    _before(old, activate, _moved(old, what), "approver", "note")
_before("approve", activate, activate.callback)
_before("archive", retire, partial(retire.callback, forever=False), "forever")
_before("revoke", retire, partial(retire.callback, forever=True), "forever")


@command.command("bench", hidden=True)
@registry_option
@click.argument("name")
@click.argument("score", required=False, type=click.FloatRange(0, 1))
def bench(registry: Path | None, name: str, score: float | None) -> int:
    """Records what a skill scored on a benchmark. Without SCORE, forgets it."""
    return routing.bench(registry, name, score)


@command.command("seeds", hidden=True)
@registry_option
@output_options(PLAIN_JSON)
def seeds(registry: Path | None, **rest: Any) -> int:
    """Lists what another router should start each skill with."""
    return routing.seeds(registry, plan(rest["formats"], rest["files"], PLAIN_JSON))


@command.command("audit")
@registry_option
@output_options(PLAIN_JSON)
def audit(registry: Path | None, **rest: Any) -> int:
    """Lists what someone should look at: stale, duplicate, broken, drifted, unmeasured, orphan; what asks, and what was answered
    and not judged by that since.

    Stale: last verified long ago, or with other tools or another image than today's (the image only where an engine answers).
    Exit code 1: there is something.
    """
    outputs = plan(rest["formats"], rest["files"], PLAIN_JSON)
    with open_registry(registry, must_exist=True) as opened:
        facts = engine_facts(None, None)
        found = opened.audit(tools=tools(), inventory=facts[0].split()[-1] if facts is not None else None)
    document = {"schema": "assay-audit/1", "findings": [dataclasses.asdict(a) for a in found]}
    rows = [(a.kind, a.name, a.version[:12], a.message, a.advice) for a in found]
    emit_document(
        outputs, document, console.table(("what", "skill", "version", "message", "advice"), rows) if rows else "all is well"
    )
    return FAIL if found else PASS


@command.command("gc")
@registry_option
def gc(registry: Path | None) -> int:
    """Removes directories that no entry names, and says what the registry takes. Every version that was registered stays."""
    from synth.cli.room import size_of
    from verifiers.formats.text import plural

    with open_registry(registry, must_exist=True) as opened:
        removed = opened.collect()
        kept = len(opened.list(None))
        root = opened.root
    for version, size in removed.items():
        console.out(f"removed {version[:12]} ({size / (1 << 20):.1f} MiB)")
    console.out(f"{plural(kept, 'version')} in {root}, {size_of(root) / (1 << 20):.1f} MiB")
    return 0


for part in (export, evolve, lift, drift, attest, metrics):
    command.add_command(part.command)
for verb in (add, rename, verify):
    command.add_command(verb)
