"""Makes sure that the imported ``synth``, ``verifiers`` and ``sandbox`` are ours: other distributions use the first two names."""

from __future__ import annotations

import importlib.util
from pathlib import Path

OURS = {"synth": "interface", "verifiers": "interface", "sandbox": "interface"}
"""Package -> a module that ours has."""


def shadowed() -> str:
    """One sentence about a package that is not ours; empty when all are."""
    root = Path(__file__).resolve().parent.parent.parent
    for package, module in OURS.items():
        spec = importlib.util.find_spec(package)
        places = [Path(p).resolve() for p in (spec.submodule_search_locations or [])] if spec else []
        if places and places[0].parent == root and (places[0] / f"{module}.py").is_file():
            continue
        found = f"is the one at {places[0]}" if places else "is not importable"
        return (
            f"the package `{package}` {found}, not skill-assay's. Another distribution uses the same name: "
            f"uninstall it (python3 -m pip uninstall {package}) or install skill-assay into an environment of its own"
        )
    return ""
