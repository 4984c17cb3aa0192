"""``assay registry``: what is registered, and its life."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from synth.cli import attest, console, drift, evolve, export, lift, metrics, routing
from synth.cli.counting import count_demotions
from synth.cli.exits import FAIL, NOTHING, PASS, exit_code
from synth.cli.files import dump
from synth.cli.groups import Group
from synth.cli.home import actor, config, open_registry, registry_option
from synth.cli.outputs import emit_document, output_options, plan
from synth.cli.remembering import remember
from synth.cli.settings import Judging, judging_options, sandbox_options, without
from synth.judged_by import engine_facts, tools

if TYPE_CHECKING:
    from synth.interface import Draft, RegistryEntry
    from synth.registry import Registry
    from synth.registry.inspection import Reverification
    from verifiers.interface import Report

Command = TypeVar("Command", bound=Callable[..., Any])
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


def _target(function: Command) -> Command:
    function = click.argument("version", required=False)(function)
    function = click.argument("name")(function)
    return registry_option(function)


def _entry_json(entry: RegistryEntry) -> dict[str, Any]:
    return {
        "name": entry.name, "version": entry.version, "status": entry.status, "score": entry.score, "estimate": entry.estimate,
        "description": entry.description, "registered_at": entry.registered_at.isoformat(), "report_sha256": entry.report_sha256,
        "path": entry.path, "metadata": dict(entry.metadata),
    }  # fmt: skip


def _said(entry: RegistryEntry, what: str) -> int:
    console.out(f"{entry.name} {entry.version[:12]} is {entry.status} ({what})")
    return 0


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
        document = {"schema": "assay-registry/1", "skills": [_entry_json(e) for e in entries]}
    rows = [(e.name, e.version[:12], e.status, bound(e.score), e.description) for e in entries]
    table = console.table(("skill", "version", "status", "score", "what it does"), rows) if rows else "no skill is registered"
    emit_document(outputs, document, table)
    return 0


@command.command("show")
@_target
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
@_target
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
            return _said(opened.approve(name, version, approver=approver, note=note), f"approved by {approver}")
        versions = opened.versions_of(name)
        wanted = [e for e in versions if version is None or e.version == opened.show(name, version).version]
        if any(e.status == "staged" for e in wanted):
            return _said(opened.promote(name, version, actor=actor()), "promoted")
        if any(e.status == "active" for e in versions):
            return _said(opened.rollback(name, version, actor=actor()), "rolled back")
        return _said(opened.restore(name, version or versions[-1].version, actor=actor()), "restored")


@command.command("retire")
@_target
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
                _said(entry, "as before; who is told of it was told again")
            return 0
        if not forever:
            return _said(opened.archive(name, version, actor=actor(), reason=reason), "archived")
        for entry in opened.revoke(name, version, actor=actor(), reason=reason):
            _said(entry, "revoked")
    return 0


@command.command("rename")
@_target
@click.option("--to", "new_name", metavar="NAME", help="Its new name.")
@click.option("--parameter", "parameters", multiple=True, metavar="OLD=NEW", help="A parameter's new name (repeatable).")
@click.option("--description", metavar="TEXT", help="What it does, in other words.")
@click.option("--describe", "described", multiple=True, metavar="PARAMETER=TEXT", help="A parameter in other words (repeatable).")
@without("static", "checks", "no_cache")
@judging_options
@sandbox_options
def rename(
    registry: Path | None,
    name: str,
    version: str | None,
    new_name: str | None,
    parameters: tuple[str, ...],
    description: str | None,
    described: tuple[str, ...],
    **rest: Any,
) -> int:
    """Gives a skill another name or description, or its parameters: code, bindings and text along. It is verified anew, as other
    code.

    The version of before is archived. Exit code 1: it does not pass under the new names, and nothing changed.
    """
    from synth.cli.review import renamed_version, signature
    from synth.cli.verifying import Verifier
    from verifiers.formats.text import bound

    reports: list[Report] = []
    pairs, texts = (dict(p.split("=", 1) for p in given if "=" in p) for given in (parameters, described))
    texts |= {"": description} if description is not None else {}
    if (
        len(pairs) != len(parameters)
        or len(texts) - (description is not None) != len(described)
        or not (pairs or texts or new_name)
    ):
        raise click.UsageError("say --to NAME, --parameter OLD=NEW, --description TEXT, or --describe PARAMETER=TEXT")
    judging = Judging.of({**rest, "no_cache": True}, config())
    with console.talk(), Verifier(judging) as verifier, open_registry(registry, must_exist=True) as opened:

        def verify(draft: Draft, entry: RegistryEntry) -> Report:
            reports.append(verifier.draft(draft, opened.origin(entry.name, entry.version)))
            return reports[-1]

        entry = opened.show(name, version)
        approve = config().registry.approve or entry.status == "staged"
        new = renamed_version(opened, entry, verify, new_name, pairs, texts, require_approval=approve)
        if (sign := config().attest()) is not None:
            sign(Path(new.path), reports[-1])
    remember(Path(new.path), reports[-1], judging, registry)
    return _said(new, f"{signature(new)}; score at least {bound(new.score)}")


def _moved(method: str, what: str) -> Callable[..., int]:
    def callback(registry: Path | None, name: str, version: str | None) -> int:
        with open_registry(registry, must_exist=True) as opened:
            return _said(getattr(opened, method)(name, version, actor=actor()), what)

    return callback


def _before(old: str, new: click.Command, callback: Callable[..., int], *without: str) -> None:
    """A name of before, with the parameters of the new one but some."""
    params = [p for p in new.params if p.name not in without]
    command.add_command(click.Command(old, params=params, callback=callback, hidden=True, help=new.help))


assert activate.callback is not None
assert retire.callback is not None
for old, said in (("promote", "promoted"), ("rollback", "rolled back"), ("restore", "restored")):
    _before(old, activate, _moved(old, said), "approver", "note")
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


for part in (export, evolve, lift, drift, attest, metrics):
    command.add_command(part.command)


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


@command.command("add")
@registry_option
@click.argument("draft", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DRAFT_DIR")
@without("static", "checks", "no_cache")
@judging_options
@sandbox_options
def add(registry: Path | None, draft: Path, **rest: Any) -> int:
    """Verifies a draft, such as one that you mended, and registers it if it passes. A skill of its name gets a new version.

    Exit code 0: registered. 1: it fails. 3: it is inconclusive.
    """
    from synth.cli.targets import target_of
    from synth.cli.verifying import Verifier
    from synth.draft import read_draft
    from verifiers.formats import render
    from verifiers.formats.text import bound
    from verifiers.interface import Verdict

    judging = Judging.of({**rest, "no_cache": True}, config())
    taken, target = read_draft(draft), target_of(draft, static=False)
    with console.talk(), Verifier(judging) as verifier, open_registry(registry) as opened:
        report = verifier.report(target)
        taken = dataclasses.replace(taken, name=report.name)
        if report.verdict is not Verdict.PASS:
            console.out(render([report], "plain", color=False))
            return exit_code(report.verdict)
        entry = register_draft(opened, taken, report, "hand", approve=config().registry.approve)
    remember(Path(entry.path), report, judging, registry)
    return _said(entry, f"score at least {bound(entry.score)}")


def register_draft(opened: Registry, draft: Draft, report: Report, generator: str, *, approve: bool) -> RegistryEntry:
    """Registers a draft that passed, as the next version where its name is taken; signed where a key is configured.

    Args:
        generator: Who wrote it.
        approve: It waits for a person.
    """
    from synth.detect.match import evidence_keys

    known = [e for e in opened.list(None) if e.name == draft.name and e.status in ("active", "staged")]
    # Its task is known by its recordings from now on, as if it had come out of them by itself.
    keys = evidence_keys([t for t in draft.evidence if t.task_id in draft.bindings or not draft.bindings])
    entry = opened.register(
        draft, report, supersedes=draft.name if known else None, require_approval=approve, actor=actor(),
        metadata={"source": "crystallized", "generator": generator, "evidence": keys},
    )  # fmt: skip
    if (sign := config().attest()) is not None:
        sign(Path(entry.path), report)
    return entry


@command.command("verify")
@registry_option
@click.argument("names", nargs=-1, metavar="[NAME]...")
@without("no_cache")
@judging_options
@sandbox_options
@output_options(PLAIN_JSON)
def verify(registry: Path | None, names: tuple[str, ...], **rest: Any) -> int:
    """Verifies registered skills again: those that fail now are demoted.

    Exit code 0: all pass. 1: one fails. 3: one is inconclusive. 4: there is none.
    """
    from synth.cli.verifying import Verifier
    from verifiers.formats.text import bound
    from verifiers.gating.discover import find

    outputs = plan(rest.pop("formats"), rest.pop("files"), PLAIN_JSON)
    judging = Judging.of({**rest, "no_cache": True}, config())
    found: list[Reverification] = []
    with console.talk() as talk, Verifier(judging) as verifier, open_registry(registry, must_exist=True) as opened:

        def again(entry: RegistryEntry, draft: Draft) -> Report:
            del draft  # the files of the version are what is verified
            talk.step(entry.name)
            return verifier.report(find([Path(entry.path)])[0], opened.origin(entry.name, entry.version))

        found.extend(opened.verify(again, names or None, actor=actor()))
    count_demotions(sum(r.drifted for r in found))
    document = {
        "schema": "assay-reverification/1",
        "skills": [{**dataclasses.asdict(r), "verdict": str(r.verdict)} for r in found],
    }
    rows = [
        (r.name, r.version[:12], str(r.verdict), bound(r.before), "-" if r.after is None else bound(r.after), r.why)
        for r in found
    ]
    emit_document(outputs, document, console.table(("skill", "version", "verdict", "before", "now", "why"), rows))
    return exit_code(max((r.verdict for r in found), key=int)) if found else NOTHING
