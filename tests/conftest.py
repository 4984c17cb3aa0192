"""Settings of the whole suite."""

from __future__ import annotations

import os

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
