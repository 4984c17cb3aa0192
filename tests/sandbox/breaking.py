"""What tests that break things on our own side share: our containers, runs in the background, a root file system."""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sandbox import owner
from sandbox.container import LABEL
from sandbox.interface import ReplayRecord, RunRequest, Session


def ours(client: Any, label: str | None = None) -> list[str]:
    """Containers with an owner's label: ids of all that are not on their way out."""
    wanted = owner.label() if label is None else label
    found = client.api.containers(all=True, filters={"label": f"{LABEL}={wanted}"})
    return [c["Id"] for c in found if c["State"] not in ("removing", "dead")]


def gone_soon(what: Callable[[], list[str]], within_s: float = 30.0) -> bool:
    """Whether a list becomes empty in time."""
    end = time.monotonic() + within_s
    while what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def started(session: Session, request: RunRequest) -> Callable[[], ReplayRecord]:
    """Starts a run in a thread; returns how to wait for its record."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(session.run, request)

    def result() -> ReplayRecord:
        try:
            return future.result(120)
        finally:
            pool.shutdown()

    return result


def ok(record: ReplayRecord) -> bool:
    """Whether a ``slow`` run did what it should."""
    return record.ended == "exited" and record.steps[0].stdout == b"a\n" and set(record.post) == {".", "c.txt"}


def tar_of(path: Path) -> Path:
    """A root file system of 5 MB."""
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("big")
        info.size = 5 << 20
        tar.addfile(info, io.BytesIO(os.urandom(info.size)))
    return path
