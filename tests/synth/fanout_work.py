"""What the workers of test_fanout do with a job instead of verifying it. Below pytest's path, so that they can import it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from sandbox.interface import Cause, SandboxError
from synth.verification import Job
from verifiers.interface import Inconclusive, Report
from verifiers.verify import verify


def noted(job: Job) -> Report:
    """Leaves a file when it begins and one when it ends. Skills called ``slow_…`` wait for the file ``go``."""
    notes = Path(job.options.salt)
    (notes / f"{job.subject.name} began {os.getpid()}").touch()
    while job.subject.name.startswith("slow_") and not (notes / "go").exists():
        time.sleep(0.02)
    if job.subject.name == "refused":
        raise Inconclusive("not today", "Come back tomorrow")
    if job.subject.name == "fatal":
        raise SandboxError(Cause.ENGINE_LOST, "the engine died", "Start it again")
    report = verify(job.subject, job.evidence, job.bindings, options=job.options)
    (notes / f"{job.subject.name} ended {os.getpid()}").touch()
    return report
