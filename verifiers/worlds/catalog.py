"""Every variation there is: found in ``verifiers/worlds/variations`` by its module-level ``VARIATIONS``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from verifiers.worlds import variations
from verifiers.worlds.variation import Variation


def _discovered() -> Mapping[str, Variation]:
    modules = (importlib.import_module(f"{variations.__name__}.{m.name}") for m in pkgutil.iter_modules(variations.__path__))
    found: list[Variation] = [v for module in modules for v in module.VARIATIONS]
    by_name = {v.name: v for v in found}
    if len(by_name) != len(found):
        raise TypeError(f"two variations share a name: {sorted(v.name for v in found)}")
    return by_name


CATALOG: Mapping[str, Variation] = _discovered()
