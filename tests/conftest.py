"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Speed is measured by the benchmarks: a busy machine must not turn a property test red.
settings.register_profile("assay", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("assay")
