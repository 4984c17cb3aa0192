"""Does a failing system call get reported?"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, replace
from typing import Literal

from sandbox.codec import waited
from sandbox.interface import Call, CancelledAt, ErrnoAt, JsonValue, ReplayRecord
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.context import CANCELLED, Case, Context
from verifiers.expectation.answers import failure
from verifiers.expectation.rooting import WORKSPACE
from verifiers.interface import CheckResult, Finding, Verdict

Calls = Literal["change", "write", "chmod", "read"]

CLASSES: tuple[tuple[Calls, tuple[str, ...]], ...] = (
    ("change", ("ENOSPC", "EIO")),
    ("write", ("ENOSPC", "EIO")),
    ("chmod", ("EACCES",)),
    ("read", ("EACCES", "EIO")),
)
"""Which calls may fail with what (docs/semantics.md, "Crashes and faults")."""

OF_THE_TREE = frozenset({"ENOENT", "EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY", "ELOOP", "EINVAL", "ENXIO", "ESRCH", "ECHILD"})
"""Errors that say what is there, or what was asked for: a call that fails with one of them where it is not so proves nothing."""
MOST_WAITS = 1000
"""Of one run that may be drawn from."""


@dataclass(frozen=True, slots=True)
class Injection:
    case: Case
    fault: ErrnoAt | CancelledAt

    def named(self, record: ReplayRecord) -> str:
        """What was done to a run."""
        if isinstance(self.fault, CancelledAt):
            return f"a cancellation while it waits (time {self.fault.k + 1})"
        where = next((f"{c.kind} {c.path}" for c in record.calls if c.injected), f"call {self.fault.k}")
        return f"{self.fault.errno} at {where}"

    @property
    def again(self) -> str:
        """What the command that shows it again must say."""
        f = self.fault
        return f"--errno-at {f.calls}:{f.k}:{f.errno}" if isinstance(f, ErrnoAt) else ""


class FaultHonest:
    id = "fault-honest"
    title = "Does a failing system call get reported?"
    why = (
        "One call at a time fails with a full disk, an I/O error or a refused permission: tree-changing calls, writes, "
        "chmod, and opening for reading a regular file that the clean run read; besides with each error that the skill names "
        "(`errno.EXDEV`) and that says nothing of the workspace. A coroutine is also cancelled, as by a host that "
        "gives up, at one of the places where it waits. A run that then claims success with a "
        "tree or an answer other than the clean run's is lying; what it made for itself and could not remove is no lie. "
        "Listing directories, stat and probes of absent files are not judged: the standard library itself swallows those. "
        "Above the budget's number of calls (32 by default) a seeded sample of them is tried."
    )
    stage = "dynamic"
    version = 4
    good = (
        rename("errors are raised"),
        rename(
            "a cancellation goes on to the host, and what has begun is finished first",
            RENAME_BODY.replace(
                "        p.rename(target)\n",
                "        import asyncio\n        try:\n            await asyncio.sleep(0)\n"
                "        finally:\n            p.rename(target)\n",
            ),
        ),
        rename(
            "to another disk it copies",
            RENAME_BODY.replace(
                "        p.rename(target)\n",
                "        import errno, shutil\n        try:\n            p.rename(target)\n        except OSError as error:\n"
                "            if error.errno != errno.EXDEV:\n                raise\n            shutil.copy2(p, target)\n"
                "            p.unlink()\n",
            ),
        ),
        rename(
            "a lock that cannot be removed",
            RENAME_BODY.replace(
                "    for p in files:\n",
                '    lock = Path(".renaming.lock")\n    lock.touch()\n    for p in files:\n',
            ).replace(
                "    return",
                "    try:\n        lock.unlink()\n    except OSError:\n        pass\n    return",
            ),
        ),
    )
    bad = (
        rename(
            "a cancellation is swallowed",
            RENAME_BODY.replace(
                "        p.rename(target)\n",
                "        import asyncio\n        try:\n            await asyncio.sleep(0)\n            p.rename(target)\n"
                "        except asyncio.CancelledError:\n            pass\n",
            ),
        ),
        rename(
            "another disk is passed over",
            RENAME_BODY.replace(
                "        p.rename(target)\n",
                "        import errno\n        try:\n            p.rename(target)\n        except OSError as error:\n"
                "            if error.errno != errno.EXDEV:\n                raise\n",
            ),
        ),
        rename(
            "errors are swallowed",
            RENAME_BODY.replace(
                "        p.rename(target)\n",
                "        try:\n            p.rename(target)\n        except OSError:\n            pass\n",
            ),
        ),
    )

    def run(self, context: Context) -> CheckResult:
        context.prime()
        why = context.supervised()
        if why:
            return CheckResult.inconclusive(self.id, f"faults cannot be injected here: {why}")
        hidden = context.unlogged()
        if hidden:
            return CheckResult.inconclusive(self.id, hidden)
        injections = self._injections(context)
        if not injections:
            return CheckResult.not_applicable(
                self.id, f"0 calls on workspace files and no wait in {len(context.first)} supervised runs"
            )
        requests = [context.request(i.case.base, i.case.args, fault=i.fault) for i in injections]
        errors = sum(isinstance(i.fault, ErrnoAt) for i in injections)
        records = context.run("injected error", requests[:errors]) + context.run(CANCELLED, requests[errors:])
        findings: list[Finding] = []
        reached = 0
        for i, request, record in zip(injections, requests, records, strict=True):
            reached += record.fault_reached
            if not record.fault_reached:
                continue
            if failure(record.outcome) is not None:
                context.disturbed.append((i.case, request, record))
                continue
            wrong = context.judge.wrong(_without_rest(record, i.case), i.case.expectation)
            if wrong is not None and len(findings) < 5:
                message = f"{i.case.label}: {i.named(record)} is not reported: success is claimed, but {wrong.message}"
                findings.append(context.finding(self.id, message, i.case, wrong, i.again))
        measured: dict[str, JsonValue] = {"injected": reached, "not_reached": len(records) - reached}
        verdict = Verdict.FAIL if findings else Verdict.PASS if reached else Verdict.INCONCLUSIVE
        return CheckResult(
            self.id, verdict, tuple(findings), "" if reached else "no injected error was reached", len(records), measured=measured
        )

    def _injections(self, context: Context) -> list[Injection]:
        """Every call of every class with each of its errors, and last every wait; a seeded sample above the budget, each class
        represented."""
        by_class = []
        known = _spoken_of(context.subject.source)
        for calls, errnos in (*CLASSES, ("change", known), ("read", known)):
            found = [
                Injection(case, ErrnoAt(k, e, calls))
                for case in context.cases
                for k in range(
                    _count(context.with_writes()[case.label] if calls == "write" else context.first[case.label].calls, calls)
                )
                for e in errnos
            ]
            by_class.append(found)
        waits = [(c, k) for c in context.cases for k in range(min(waited(context.first[c.label].probe), MOST_WAITS))]
        by_class.append([Injection(case, CancelledAt(k)) for case, k in waits])
        rng = context.rng("faults")
        most = context.counts.fault_points
        share = max(4, most // max(1, sum(bool(f) for f in by_class)))
        return [i for found in by_class for i in (found if len(found) <= share else rng.sample(found, share))]


def _spoken_of(source: str) -> tuple[str, ...]:
    """Names of errors of its surroundings that a skill knows by name, and so may treat in its own way."""
    return tuple(sorted({e for e in re.findall(r"\bE[A-Z0-9]+\b", source) if e in errno.errorcode.values()} - OF_THE_TREE))


def _without_rest(record: ReplayRecord, case: Case) -> ReplayRecord:
    """The record without what the run made for itself and could not remove again, for that call is the one that failed. It may
    be a tool's lock, of which its exit status says nothing."""
    root = f"{record.probe.get('cwd') or WORKSPACE}/"
    rests = {c.path.removeprefix(root) for c in record.calls if c.injected and c.kind == "unlink"}
    known = case.base.keys() | case.expectation.tree.keys()
    return replace(record, post=record.post.replace({p: None for p in rests - known if p in record.post}))


def _count(calls: tuple[Call, ...], wanted: Calls) -> int:
    """How many calls of a class a clean run made."""
    inside = [c for c in calls if c.in_workspace]
    if wanted == "change":
        return sum(c.changes_tree for c in inside)
    kinds = {"chmod": ("chmod",), "read": ("open-read",), "write": ("write", "truncate")}[wanted]
    return sum(c.kind in kinds for c in inside)


CHECK = FaultHonest()
