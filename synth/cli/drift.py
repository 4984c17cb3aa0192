"""``assay registry drift``: do a repository's newest commits still do what was learned from its history?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import FAIL, INCONCLUSIVE, NOTHING, PASS
from synth.cli.home import config, open_registry, registry_option
from synth.cli.outputs import emit_document, output_options, plan
from synth.cli.settings import Judging, sandbox_options

if TYPE_CHECKING:
    from synth.history.drift import Case, Drift, Outcome
    from synth.history.since import Since
    from synth.interface import Draft, RegistryEntry
    from synth.registry import Registry

    Learned = Mapping[str, tuple[RegistryEntry, Draft]]

SCHEMA = "assay-drift/2"
PLAIN_JSON = ("plain", "json")
MOST_APART = 5
"""Skills of other histories that are named; of more, only the number is said."""
OUTCOMES: tuple[Outcome, ...] = ("right", "in part", "refused", "another end", "unread")
SHOWN = ("another end", "refused", "in part", "unread")
"""Outcomes of commits that are told one by one."""


@click.command("drift", short_help="Say whether newest commits still do what was learned.")
@click.argument("where", type=click.Path(path_type=Path, file_okay=False), metavar="REPO|STORE")
@click.argument("skill", required=False, metavar="[SKILL]")
@registry_option
@click.option("--until", default="HEAD", metavar="REV", help="The newest commit. Default: HEAD.")
@sandbox_options
@output_options(PLAIN_JSON)
def command(where: Path, skill: str | None, registry: Path | None, until: str, **rest: Any) -> int:
    """Runs skills that were learned from REPO's history (`assay import git`) on the start of each newer commit of their kind,
    with the values that its message tells, and compares where that leads with what the commit did. Without SKILL: all of them.
    Of a STORE (`assay hook status` names it), what is compared are turns of agents in which the skill ran, with their ends.

    A skill has drifted when one commit or turn has another end, or when of those that were tried it refuses, or does only a part
    of, more than a quarter. Odd commits part from the others of their kind and count for nothing: where the skill does something
    else than such a one, it is asked which is right.

    Exit code 0: all conform. 1: one has drifted. 3: no commit of one could be tried. 4: there is nothing to check.
    """
    outputs = plan(rest["formats"], rest["files"], PLAIN_JSON)
    judging = Judging.of(rest, config())
    with open_registry(registry, must_exist=True) as opened:
        is_store = (where / "tasks").is_dir()
        learned = _all(opened, skill) if is_store else _learned(opened, skill)
    found = _of_turns(where, learned, judging) if is_store else _of_commits(where, learned, skill, until, judging)
    emit_document(outputs, _document(where, learned, found), "\n".join(_plain(found)))
    return _exit_code(found)


def _of_turns(store: Path, learned: Learned, judging: Judging) -> dict[str, Drift]:
    from synth.history.turns import drift_of_turns, turns_of
    from verifiers.interface import NothingToVerify
    from verifiers.subject import parse_subject

    turns = turns_of(store, {name: entry.version for name, (entry, _) in learned.items()})
    if not turns:
        raise NothingToVerify("no turn is kept in which a skill of the registry ran", "See: assay hook status", store)
    with console.talk(), judging.sandbox() as box:
        return {
            name: drift_of_turns(
                parse_subject(learned[name][1].source, f"{name}/skill.py", judging.profile, name=name), found, box
            )
            for name, found in turns.items()
        }  # fmt: skip


def _of_commits(repository: Path, learned: Learned, skill: str | None, until: str, judging: Judging) -> dict[str, Drift]:
    from synth.history.since import learned_from, since
    from verifiers.interface import NothingToVerify

    newer = since(repository, {name: learned_from(draft.evidence) for name, (_, draft) in learned.items()}, until)
    here = {name: found for name, found in newer.items() if not isinstance(found, str)}
    apart = [f"{name}: {found}" for name, found in newer.items() if isinstance(found, str)]
    if skill is not None and apart:
        raise NothingToVerify(f"cannot be compared with {apart[0]}", "", repository)
    for text in apart[:MOST_APART]:
        console.say(text)
    if len(apart) > MOST_APART:
        console.say(f"{len(apart) - MOST_APART} more skills were not learned from this history")
    if not here:
        raise NothingToVerify("no skill of the registry was learned from its history", "See: assay import git --help", repository)
    return _drifts({name: learned[name] for name in here}, here, judging)


def _all(opened: Registry, skill: str | None) -> Learned:
    entries = [opened.show(skill)] if skill is not None else opened.list()
    return {e.name: (e, opened.draft(e.name, e.version)) for e in entries}


def _learned(opened: Registry, skill: str | None) -> Learned:
    """The skill, or all that are in use, as far as they were learned from a history; with what they were learned from.

    Raises:
        UnknownSkill: there is none of that name.
        NothingToVerify: it was learned from something else.
    """
    from synth.history.since import learned_from
    from verifiers.interface import NothingToVerify

    out = {name: known for name, known in _all(opened, skill).items() if learned_from(known[1].evidence)}
    if skill is not None and not out:
        raise NothingToVerify("was not learned from a repository's history", "Verify it: assay registry verify", skill)
    return out


def _drifts(learned: Learned, newer: Mapping[str, Since], judging: Judging) -> dict[str, Drift]:
    """Judges one skill after the other. The sandbox is opened only if there is something to run."""
    from synth.history.drift import Drift, drift
    from synth.tracing.traces import to_evidence
    from verifiers.subject import parse_subject

    idle = {name: Drift(new.kind, ()) for name, new in newer.items() if not (new.traces or new.without or new.odd)}
    if len(idle) == len(newer):
        return idle
    found = {}
    with console.talk() as talk, judging.sandbox() as box:
        for n, (name, (_, draft)) in enumerate(learned.items()):
            talk.step(name, n, len(learned))
            subject = parse_subject(draft.source, f"{name}/skill.py", judging.profile, name=name)
            found[name] = idle.get(name) or drift(
                subject, [to_evidence(t) for t in draft.evidence], draft.bindings, newer[name], box
            )
    return found


def _exit_code(found: Mapping[str, Drift]) -> int:
    states = {d.state for d in found.values()}
    if "drifted" in states:
        return FAIL
    if "unsettled" in states:
        return INCONCLUSIVE
    return PASS if "conforms" in states else NOTHING


def _plain(found: Mapping[str, Drift]) -> Iterator[str]:
    head = ("skill", "kind", "tried", *OUTCOMES, "odd", "so it")
    rows = [
        (name, d.kind, *(str(n) for n in (d.tried, *(d.count(o) for o in OUTCOMES), len(d.odd))), _SAID[d.state])
        for name, d in found.items()
    ]
    yield console.table(head, rows)
    for name, d in found.items():
        if d.older:
            yield f"{name}: the newest {len(d.cases)} commits were looked at, of {len(d.cases) + d.older}"
        for outcome in SHOWN:
            for c in d.cases:
                if c.outcome == outcome:
                    yield f"{name}: {outcome}: {c.commit.oid[:10]} {c.commit.subject[:60]}: {c.what}"
        for c, how in d.odd:
            yield f"{name}: odd: {c.commit.oid[:10]} {c.commit.subject[:60]}: {how}; {_SAID_OF_ODD[c.outcome].format(c.what)}"


_SAID_OF_ODD: dict[Outcome, str] = {
    "right": "the skill does the same", "in part": "the skill does a part of it ({}): which is right?",
    "refused": "the skill refuses ({})", "another end": "the skill does something else ({}): which is right?",
    "unread": "not tried ({})",
}  # fmt: skip
_SAID = {
    "conforms": "conforms", "drifted": "has drifted", "unsettled": "could not be tried",
    "nothing new": "has no newer commit",
}  # fmt: skip


def _row(case: Case) -> dict[str, Any]:
    args = dict(case.args) if case.args is not None else None
    told = {"commit": case.commit.oid, "subject": case.commit.subject}
    return {**told, "outcome": case.outcome, "what": case.what, "args": args}


def _document(repository: Path, learned: Learned, found: Mapping[str, Drift]) -> dict[str, Any]:
    skills = [
        {
            "name": name, "version": learned[name][0].version, "kind": d.kind, "state": d.state, "tried": d.tried,
            "commits": [_row(c) for c in d.cases],
            "odd": [{**_row(c), "apart": how} for c, how in d.odd],
            "not_looked_at": d.older,
        }
        for name, d in found.items()
    ]  # fmt: skip
    return {"schema": SCHEMA, "repository": str(repository), "skills": skills}
