"""Makes sure that the imported ``synth``, ``verifiers`` and ``sandbox`` are ours: other distributions use the same names."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PACKAGES = ("synth", "verifiers", "sandbox")


def shadowed() -> str:
    """One sentence about a package that is not ours; empty when all are."""
    root = Path(__file__).resolve().parent.parent
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        places = [Path(p).resolve() for p in (spec.submodule_search_locations or [])] if spec else []
        if not places or places[0].parent != root:
            found = f"is the one at {places[0]}" if places else "is not importable"
            whose = _whose(package)
            start = "Start it as `assay` or `python3 -m skill_assay`; in a program, import skill_assay first"
            return f"the package `{package}` {found}, not skill-assay's{whose}. {start}"
    return ""


def _whose(package: str) -> str:
    """The distribution that it comes from, where one says so."""
    from importlib import metadata

    named = {d for d in metadata.packages_distributions().get(package, []) if d.lower().replace("_", "-") != "skill-assay"}
    return f", but of the distribution {' and '.join(sorted(named))}" if named else ""
