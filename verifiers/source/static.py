"""All static checks over a batch of skills: the two linters run as processes while the conventions are read here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from verifiers.checks import conventions, mypy_strict, parses, ruff_clean
from verifiers.checks.conventions import Conventions
from verifiers.checks.mypy_strict import MypyStrict
from verifiers.interface import AS_LISTED, CheckResult, ImportRules, StaticCheck, Subject

# Named here instead of taken from the catalog: that one loads the dynamic checks too, which takes several times as long.
STATIC = cast("tuple[StaticCheck, ...]", (parses.CHECK, conventions.CHECK, ruff_clean.CHECK, mypy_strict.CHECK))
_OWN_PROCESS = frozenset({"ruff-clean", "mypy-strict"})


_prefetched: dict[tuple[str, str, str, ImportRules], list[CheckResult]] = {}
"""Results of ``prefetch``, by source, path, profile and rules for imports."""


def prefetch(subjects: Sequence[Subject], imports: ImportRules = AS_LISTED) -> None:
    """Runs all static checks over a batch now, so that ``run_static`` of each one later costs nothing.

    For who judges many skills one by one: the linters start once instead of once a skill. Replaces what was prefetched before.
    """
    _prefetched.clear()
    results = run_static(subjects, imports=imports)
    _prefetched.update((_key(s, imports), r) for s, r in zip(subjects, results, strict=True))


def _key(subject: Subject, imports: ImportRules) -> tuple[str, str, str, ImportRules]:
    return (subject.sha256, subject.path, subject.profile, imports)


def run_static(
    subjects: Sequence[Subject], checks: Collection[str] | None = None, imports: ImportRules = AS_LISTED
) -> list[list[CheckResult]]:
    """One list a subject, in order, each with one result a static check in catalog order.

    Args:
        checks: ids to run; None = all.
        imports: what the configuration says of them besides the list in the manual.
    """
    keys = [_key(s, imports) for s in subjects]
    if keys and all(k in _prefetched for k in keys):
        return [[r for r in _prefetched[k] if checks is None or r.id in checks] for k in keys]
    told = (parses.CHECK, Conventions(imports), ruff_clean.CHECK, MypyStrict(imports.allow)) if imports else STATIC
    wanted = [c for c in cast("tuple[StaticCheck, ...]", told) if checks is None or c.id in checks]
    with ThreadPoolExecutor(max_workers=len(_OWN_PROCESS)) as pool:
        started = {c.id: pool.submit(c.run_batch, subjects) for c in wanted if c.id in _OWN_PROCESS}
        columns = [started[c.id].result() if c.id in started else _here(c, subjects) for c in _cheap_first(wanted)]
    by_id = {c.id: column for c, column in zip(_cheap_first(wanted), columns, strict=True)}
    return [[by_id[c.id][i] for c in wanted] for i in range(len(subjects))]


def _cheap_first(checks: Sequence[StaticCheck]) -> list[StaticCheck]:
    """Those that run here before those that are waited for."""
    return sorted(checks, key=lambda c: c.id in _OWN_PROCESS)


def _here(check: StaticCheck, subjects: Sequence[Subject]) -> list[CheckResult]:
    return check.run_batch(subjects)
