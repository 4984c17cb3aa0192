"""Makes sure that the imported ``synth``, ``verifiers`` and ``sandbox`` are ours: other distributions use the first two names."""

from __future__ import annotations

import importlib.util
from pathlib import Path

OURS = {"synth": "interface", "verifiers": "interface", "sandbox": "interface"}
"""Package -> a module that ours has."""
EMPTY = ("synth", "verifiers")
"""Packages whose ``__init__.py`` is empty: with anything in it, another distribution was installed over them."""


def shadowed() -> str:
    """One sentence about a package that is not ours, or not ours alone; empty when all are."""
    root = Path(__file__).resolve().parent.parent.parent
    for package, module in OURS.items():
        spec = importlib.util.find_spec(package)
        places = [Path(p).resolve() for p in (spec.submodule_search_locations or [])] if spec else []
        if not places or places[0].parent != root or not (places[0] / f"{module}.py").is_file():
            found = f"is the one at {places[0]}" if places else "is not importable"
            return f"the package `{package}` {found}, not skill-assay's. {_whose(package)}"
        if package in EMPTY and (places[0] / "__init__.py").stat().st_size:
            return f"another distribution was installed over the package `{package}` at {places[0]}. {_whose(package)}"
    return ""


def _whose(package: str) -> str:
    """Which distribution it is, and what to do."""
    from importlib import metadata

    named = [d for d in metadata.packages_distributions().get(package, []) if d.lower() not in ("skill-assay", "skill_assay")]
    who = f"The distribution {' and '.join(sorted(set(named)))} uses" if named else "Another distribution uses"
    remove = " ".join(sorted(set(named))) or package
    return (
        f"{who} the same name: uninstall it (python3 -m pip uninstall {remove}) and install this one again, "
        "or use an environment of its own"
    )
