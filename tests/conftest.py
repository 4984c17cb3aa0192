"""Settings of the whole suite."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Speed is measured by the benchmarks: a busy machine must not turn a property test red.
settings.register_profile(
    "assay",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=os.environ.get("ASSAY_SAME_EXAMPLES") == "1",  # CI judges the change, not the luck of the draw
)
settings.load_profile("assay")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several workers, files that need the engine follow each other on one of them: they count containers, fill disks and
    judge on both cores. Any other file goes to whoever is free. xdist's own groups do not work with pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "engine" if _needs_engine(config.rootpath / file) else file

    return Scheduling(config, log)


@functools.cache
def _needs_engine(file: Path) -> bool:
    return re.search(r"\bmark\.engine\b", file.read_text(encoding="utf-8")) is not None
