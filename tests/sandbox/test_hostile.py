"""Hostile jobs: each gets the finding that it deserves, and a canary run afterwards is what it was before.

The jobs are the tables of ``sandbox/conformance``, which ``assay engine check`` runs too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from sandbox import open_sandbox, owner
from sandbox.conformance import BASE, FAMILIES, Hostile, deviations, jobs, quiet
from sandbox.conformance.suite import canary
from sandbox.container import LABEL
from sandbox.engine import Engine
from sandbox.image import ensure_image
from sandbox.interface import ReplayRecord, RunRequest, Sandbox, SandboxError, Session, SkillJob

pytestmark = [pytest.mark.engine, pytest.mark.timeout(180)]

JOBS = jobs()


@dataclass
class Arena:
    """One sandbox with one worker, and what its canaries said when nothing had happened yet."""

    sandbox: Sandbox
    session: Session
    engine: Engine
    before: list[ReplayRecord]

    def canary(self) -> list[ReplayRecord]:
        return canary(self.session)

    def containers(self) -> int:
        """How many containers of this process there are."""
        found = self.engine.client.api.containers(all=True, filters={"label": f"{LABEL}={owner.label()}"})
        return len([c for c in found if c["State"] not in ("removing", "dead")])


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    """The arena, whose containers are all gone in the end."""
    ensure_image(lambda _: None)
    engine = Engine()
    with open_sandbox(workers=1) as sandbox:
        with sandbox.session("hostile", workers=1) as session:
            place = Arena(sandbox, session, engine, [])
            place.before = place.canary()
            assert place.before == place.canary()
            yield place
        assert place.containers() == 0
    engine.close()


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_hostile_job_is_found_out_and_harms_nothing(arena: Arena, job: Hostile) -> None:
    """The finding, then the canary, then the containers."""
    if job.inconclusive:
        with pytest.raises(SandboxError):
            arena.session.run(job.request())
        assert arena.canary() == arena.before
        return
    record = arena.session.run(job.request())
    assert deviations(job, record) == [], record
    if job.twice:
        assert quiet(arena.session.run(job.request())) == quiet(record)
    if job.later:
        assert arena.session.run(job.again()).post != record.post
    assert arena.canary() == arena.before
    assert arena.containers() == 1


def test_a_content_that_was_not_read_does_not_stand_for_another(arena: Arena) -> None:
    """What stands in for a file that is too large must not come back as the content of a small one."""
    size = 50 << 20
    overflow = SkillJob(f"def go():\n    for n in range(3):\n        open(str(n), 'wb').truncate({size})\n", {}, function="go")
    assert arena.session.run(RunRequest(overflow, BASE)).scan_findings
    honest = SkillJob(f"def go():\n    open('x', 'w').write('unread {size}')\n", {}, function="go")
    assert arena.session.run(RunRequest(honest, BASE)).post["x"].content == b"unread %d" % size


def test_the_tables_are_large_enough_and_name_every_job_once() -> None:
    """At least 60 jobs, each of a few lines."""
    assert len(JOBS) >= 60
    assert len({job.name for job in JOBS}) == len(JOBS)
    assert all(len(job.skill.splitlines()) <= 25 for job in JOBS)
    assert all(bool(job.skill) != bool(job.shell) for job in JOBS)
    assert {job.family for job in JOBS} == set(FAMILIES)
    assert all(sum(j.family == f for j in JOBS) >= 8 for f in FAMILIES)
