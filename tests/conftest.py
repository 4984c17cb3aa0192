"""Settings of the whole suite."""

from __future__ import annotations

import os
from pathlib import Path

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several workers those tests of a folder that need the engine follow each other on one of them: they count containers,
    fill disks and take all of a core."""
    for item in items:
        if item.get_closest_marker("engine") is not None:
            judging = "verifiers" in Path(item.path).parts
            item.add_marker(pytest.mark.xdist_group("judging" if judging else "engine"))
