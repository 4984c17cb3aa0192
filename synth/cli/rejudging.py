"""``assay registry add``, ``rename`` and ``verify``: what is judged before it is registered, or again."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.counting import count_demotions
from synth.cli.exits import NOTHING, exit_code
from synth.cli.home import actor, config, open_registry, registry_option, said, version_arguments
from synth.cli.outputs import emit_document, output_options, plan
from synth.cli.remembering import remember
from synth.cli.settings import Judging, judging_options, sandbox_options, without

if TYPE_CHECKING:
    from synth.interface import Draft, RegistryEntry
    from synth.registry.inspection import Reverification
    from verifiers.interface import Report

PLAIN_JSON = ("plain", "json")


@click.command("add")
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
    from synth.crystallization.by_hand import register_draft
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
        approve, sign = config().registry.approve, config().attest()
        entry = register_draft(opened, taken, report, "hand", approve=approve, actor=actor(), sign=sign)
    remember(Path(entry.path), report, judging, registry)
    return said(entry, f"score at least {bound(entry.score)}")


@click.command("rename")
@version_arguments
@click.option("--to", "new_name", metavar="NAME", help="Its new name.")
@click.option("--parameter", "parameters", multiple=True, metavar="OLD=NEW", help="A parameter's new name (repeatable).")
@click.option("--description", metavar="TEXT", help="What it does, in other words.")
@click.option(
    "--describe",
    "described",
    multiple=True,
    metavar="PARAMETER=TEXT",
    help="A parameter, by its old name or its new one, in other words (repeatable).",
)
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
    before = {new: old for old, new in pairs.items()}
    texts = {before.get(parameter, parameter): text for parameter, text in texts.items()}
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
    return said(new, f"{signature(new)}; score at least {bound(new.score)}")


@click.command("verify")
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
