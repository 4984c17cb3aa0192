"""Settings of the whole suite."""

from __future__ import annotations

import fcntl
import functools
import os
import re
import tempfile
from collections.abc import Iterator
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


ALONE = Path(__file__).parent / "sandbox"
"""Tests of the engine itself: they count containers and fill disks. No other test uses the engine meanwhile."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several workers each file goes to whoever is free; those that are alone with the engine follow each other on one of
    them. xdist's own groups do not work with pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "alone" if _use_of_engine(config.rootpath / file) == fcntl.LOCK_EX else file

    return Scheduling(config, log)


@functools.cache
def _use_of_engine(file: Path) -> int:
    """How a file's tests lock the engine: for themselves, with others, or not at all."""
    if re.search(r"\bmark\.engine\b", file.read_text(encoding="utf-8")) is None:
        return fcntl.LOCK_UN
    return fcntl.LOCK_EX if file.is_relative_to(ALONE) else fcntl.LOCK_SH


class EngineLock:
    """Held by a worker while it runs a file whose tests use the engine."""

    def __init__(self) -> None:
        name = f"assay-tests-{os.getuid()}"
        self._engine, self._door = ((Path(tempfile.gettempdir()) / f"{name}.{part}").open("w") for part in ("engine", "door"))
        self._file: Path | None = None

    # The outermost one: the time that a test may take does not begin before.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if item.path != self._file:
            self._file = item.path
            fcntl.flock(self._engine, fcntl.LOCK_UN)
            if (use := _use_of_engine(item.path)) != fcntl.LOCK_UN:
                # Who waits to be alone holds the door: nobody else enters before.
                fcntl.flock(self._door, fcntl.LOCK_EX)
                fcntl.flock(self._engine, use)
                fcntl.flock(self._door, fcntl.LOCK_UN)
        return (yield)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(EngineLock())
