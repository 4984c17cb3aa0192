"""Every check there is: one file each in ``verifiers/checks``, found by its module-level ``CHECK``."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Protocol, TypeAlias, cast

from verifiers import checks
from verifiers.context import Context
from verifiers.interface import CheckPage, CheckResult, StaticCheck


class Check(CheckPage, Protocol):
    """A check that runs the skill."""

    def run(self, context: Context) -> CheckResult: ...


AnyCheck: TypeAlias = "Check | StaticCheck"

ORDER = (
    "parses", "conventions", "ruff-clean", "mypy-strict",
    "evidence-reproduces", "effect-equivalent", "answer-equivalent", "idempotent-replay", "controls-fail", "deterministic-replay",
    "generalises", "arguments-matter", "crash-convergent", "fault-honest", "exercised", "mutants-killed", "hints-measured",
    "contained",
)  # fmt: skip
"""Cheap ones first; later ones build on what earlier ones ran (``contained`` looks at every run). One not named here is last."""


def _discovered() -> tuple[AnyCheck, ...]:
    found: list[AnyCheck] = []
    for module in pkgutil.iter_modules(checks.__path__):
        loaded = importlib.import_module(f"{checks.__name__}.{module.name}")
        check = getattr(loaded, "CHECK", None)
        if check is not None:
            found.append(cast("AnyCheck", check() if isinstance(check, type) else check))
    ids = [c.id for c in found]
    if len(set(ids)) != len(ids):
        raise TypeError(f"two checks share an id: {sorted(i for i in set(ids) if ids.count(i) > 1)}")
    rank = {id: n for n, id in enumerate(ORDER)}
    return tuple(sorted(found, key=lambda c: (rank.get(c.id, len(ORDER)), c.id)))


CATALOG: tuple[AnyCheck, ...] = _discovered()
STATIC: tuple[StaticCheck, ...] = tuple(cast("StaticCheck", c) for c in CATALOG if c.stage == "static")
DYNAMIC: tuple[Check, ...] = tuple(cast("Check", c) for c in CATALOG if c.stage == "dynamic")


def by_id(id: str) -> AnyCheck | None:
    """The check of that id; None for none."""
    return next((c for c in CATALOG if c.id == id), None)
