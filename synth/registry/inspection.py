"""Looking the registry over: what is stale, duplicate, broken, drifted or open, how versions differ, and verifying all again."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from textwrap import shorten
from typing import Literal

from synth.draft import draft_files
from synth.interface import Draft, RegistryEntry
from synth.registry.errors import RegistryUnusable, WrongState
from synth.registry.lifecycle import Lifecycle
from synth.registry.receipt import plain
from verifiers.decisions import DecisionError
from verifiers.interface import AssayError, Report, Verdict

STALE_DAYS = 180
MOST_SAID = 160
"""Characters of a report's reason."""

Ailment = Literal["stale", "duplicate", "broken", "drifted", "unmeasured", "orphan", "asks", "answered"]


@dataclass(frozen=True, slots=True)
class Ailing:
    """One thing that the audit found."""

    kind: Ailment
    name: str
    version: str
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class Reverification:
    """What verifying a registered skill again gave."""

    name: str
    version: str
    verdict: Verdict
    why: str
    before: float
    after: float | None
    """The new score; None unless it is a full PASS."""

    @property
    def drifted(self) -> bool:
        """It passed once and fails now."""
        return self.verdict is Verdict.FAIL


Verify = Callable[[RegistryEntry, Draft], Report]
"""Verifies one registered version (its files as a draft)."""


def audit(
    registry: Lifecycle,
    *,
    now: datetime,
    stale_days: int = STALE_DAYS,
    inventory: str | None = None,
    tools: Mapping[str, str] | None = None,
) -> list[Ailing]:
    """Everything that someone should look at, by skill. Runs nothing.

    Args:
        now: The time that staleness is counted from.
        stale_days: A skill whose last verification is older is stale.
        inventory: Today's image inventory: skills that passed on another one are stale.
        tools: Today's tool versions: skills that passed with others are stale.
    """
    active = registry.list()
    found = [a for entry in registry.list(None) if entry.status != "revoked" for a in _broken(registry, entry)]
    for entry in active:
        found += _stale(entry, now - timedelta(days=stale_days), inventory, tools)
        found += _asking(registry, entry)
        if not entry.metadata["measured"]:
            found.append(_of(entry, "unmeasured", "its score was cleared", f"Run 'assay registry verify {entry.name}'"))
    for entry in registry.list("staged"):
        if entry.metadata["drifted"]:
            found.append(_of(entry, "drifted", why_drifted(registry, entry), f"Mend it, or 'assay registry retire {entry.name}'"))
    found += _duplicates(active)
    found += [
        Ailing("orphan", "", version, "a directory that no entry names", "Remove it, unless the database is not the right one")
        for version in registry.versions.unnamed()
    ]  # fmt: skip
    return sorted(found, key=lambda a: (a.name, a.kind, a.version))


def why_drifted(registry: Lifecycle, entry: RegistryEntry) -> str:
    """Why a version that passed once no longer does: what the report on it said, shortened."""
    said = [
        str(e.detail.get("why", "")) for e in registry.history(entry.name) if (e.kind, e.version) == ("drifted", entry.version)
    ]
    why = " ".join(said[-1].split()) if said else ""
    return f"it passed once and no longer does{': ' if why else ''}{shorten(why, MOST_SAID, placeholder=' ...')}"


def _of(entry: RegistryEntry, kind: Ailment, message: str, advice: str) -> Ailing:
    return Ailing(kind, entry.name, entry.version, message, advice)


def _stale(entry: RegistryEntry, limit: datetime, inventory: str | None, tools: Mapping[str, str] | None) -> Iterator[Ailing]:
    advice = f"Run 'assay registry verify {entry.name}'"
    verified = datetime.fromisoformat(str(entry.metadata["verified_at"]))
    if verified < limit:
        yield _of(entry, "stale", f"last verified on {verified.date()}", advice)
    if inventory is not None and entry.metadata.get("inventory") != inventory:
        yield _of(entry, "stale", "verified on another sandbox image", advice)
    known = entry.metadata.get("tools") or {}
    today = tools if tools is not None else known
    changed = sorted(k for k in today.keys() | known.keys() if today.get(k) != known.get(k))
    if changed:
        yield _of(entry, "stale", f"verified with other versions of {', '.join(changed)}", advice)


def open_questions(registry: Lifecycle, entry: RegistryEntry) -> tuple[int, bool]:
    """How many questions about a version nobody has answered, and whether one was answered that it was not judged by since.

    Raises:
        DecisionError: the answers are damaged.
        RegistryUnusable, WrongState: the report is, or is gone.
    """
    asked = {q["invariant"] for q in registry.report(entry.name, entry.version).get("questions", ())}
    unanswered = asked - {d.question.invariant for d in registry.decisions(entry)}
    return len(unanswered), unanswered != asked


def _asking(registry: Lifecycle, entry: RegistryEntry) -> Iterator[Ailing]:
    try:
        unanswered, answered = open_questions(registry, entry)
    except AssayError as e:
        if isinstance(e, DecisionError):  # of its report, what is broken says so
            yield _of(entry, "broken", e.what, e.advice)
        return
    if answered:
        what = "a question about it was answered, and it was not judged by that since"
        yield _of(entry, "answered", what, f"Run 'assay registry verify {entry.name}'")
    if unanswered:
        asks = "a question about it is" if unanswered == 1 else f"{unanswered} questions about it are"
        yield _of(entry, "asks", f"{asks} open", f"See 'assay verify {entry.name}', then 'assay answer {entry.name} 1'")


_LINK = re.compile(r"\]\(([^)\s#]+)")


def _broken(registry: Lifecycle, entry: RegistryEntry) -> Iterator[Ailing]:
    try:
        registry.check_intact(entry)
        score = registry.report(entry.name, entry.version).get("score")
    except (RegistryUnusable, WrongState) as e:
        yield _of(entry, "broken", e.what, e.advice)
        return
    if entry.metadata["measured"] and entry.score != score:
        what = f"its score is {entry.score:g}, and its report says {score}"
        yield _of(entry, "broken", what, f"Run 'assay registry verify {entry.name}'")
    known = set(draft_files(registry.draft(entry.name, entry.version)))
    for target in dict.fromkeys(_LINK.findall(registry.skill_md(entry))):
        if "://" not in target and not target.startswith("mailto:") and target.removeprefix("./") not in known:
            yield _of(
                entry,
                "broken",
                f"SKILL.md refers to {target!r}, which is not there",
                "Mend the link in the draft and register it again",
            )


def _duplicates(entries: Iterable[RegistryEntry]) -> Iterator[Ailing]:
    first: dict[tuple[str, str], RegistryEntry] = {}
    for entry in entries:
        words = " ".join(re.findall(r"\w+", entry.description.lower()))
        keys = {("code", str(entry.metadata["code_sha256"])): "the same code", ("says", words): "the same description"}
        for key, what in keys.items():
            other = first.setdefault(key, entry)
            if other is not entry and key[1]:
                yield _of(
                    entry, "duplicate", f"{what} as {other.name}", "Compare them with 'assay registry diff', and archive one"
                )
                break


# ------------------------------------------------------------ differences


@dataclass(frozen=True, slots=True)
class Difference:
    """How two registered versions differ."""

    old: RegistryEntry
    new: RegistryEntry
    files: Mapping[str, str]
    """Unified diff of each file that differs; of evidence only which traces came and went."""

    @property
    def score(self) -> float:
        """New minus old."""
        return self.new.score - self.old.score


def difference(registry: Lifecycle, old: RegistryEntry, new: RegistryEntry) -> Difference:
    """What changed from one version to another (of any skill).

    Raises:
        RegistryUnusable: the files of one are damaged.
    """
    drafts = registry.draft(old.name, old.version), registry.draft(new.name, new.version)
    before, after = (draft_files(d) for d in drafts)
    changed: dict[str, str] = {}
    for name in sorted(before | after):
        one, two = before.get(name, b""), after.get(name, b"")
        if one == two:
            continue
        if name == "evidence.jsonl":
            changed[name] = _traces(*drafts)
            continue
        changed[name] = _unified(one, two, f"{_label(old)}/{name}", f"{_label(new)}/{name}")
    return Difference(old, new, changed)


def _label(entry: RegistryEntry) -> str:
    return f"{entry.name}@{entry.version[:12]}"


def _unified(before: bytes, after: bytes, old: str, new: str) -> str:
    one, two = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after))
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in difflib.unified_diff(one, two, old, new))


def _traces(old: Draft, new: Draft) -> str:
    before, after = ({t.task_id: plain(t.commands) for t in d.evidence} for d in (old, new))
    lines = [f"-{t}" for t in before if t not in after] + [f"+{t}" for t in after if t not in before]
    lines += [f"~{t}" for t in before if t in after and _trace(old, t) != _trace(new, t)]
    return "".join(f"{line}\n" for line in sorted(lines, key=lambda line: (line[1:], line)))


def _trace(draft: Draft, task: str) -> object:
    return next(t for t in draft.evidence if t.task_id == task)


# ------------------------------------------------------------ again


def reverify(
    registry: Lifecycle, verify: Verify, names: Iterable[str] | None = None, *, actor: str = "assay"
) -> Iterator[Reverification]:
    """Verifies active and drifted skills again, one at a time, and records what came of it: drifted ones are demoted at once.

    Args:
        verify: Does the verification.
        names: Which skills; None = all.

    Raises:
        UnknownSkill: a name is not registered.
    """
    chosen = (
        [registry.show(n) for n in names]
        if names is not None
        else [e for e in registry.list(None) if e.status == "active" or e.metadata["drifted"]]
    )
    for entry in chosen:
        try:
            draft = registry.draft(entry.name, entry.version)
        except AssayError as e:
            yield Reverification(entry.name, entry.version, Verdict.INCONCLUSIVE, e.what, entry.score, None)
            continue
        report = verify(entry, draft)
        registry.reverified(entry.name, entry.version, report, actor=actor)
        passed = report.verdict is Verdict.PASS and not report.partial and report.score is not None
        after = report.score.value if passed and report.score is not None else None
        yield Reverification(entry.name, entry.version, report.verdict, report.why, entry.score, after)
