"""Runs the suite on an engine: which promises it keeps, which it breaks and by what, and which could not be tried."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sandbox import conformance
from sandbox.conformance import CANARIES, FAMILIES, PROMISES, Family, Hostile, deviations, quiet
from sandbox.interface import Cause, ReplayRecord, Sandbox, SandboxError, Session


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one job."""

    name: str
    family: Family
    broken: tuple[str, ...] = ()
    """How the engine failed, a sentence each."""
    untried: str = ""
    """Why nothing can be said."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Kept:
    """One family of attacks: what is promised, and whether it was kept."""

    family: Family
    promise: str
    tried: int
    broken: tuple[Tried, ...]
    untried: tuple[Tried, ...]


@dataclass(frozen=True, slots=True)
class Conformance:
    runtime: str
    engine: str
    kernel: str
    families: tuple[Kept, ...]
    seconds: float

    @property
    def holds(self) -> bool | None:
        """True: everything tried was kept. False: something was broken. None: nothing was, but not all could be tried."""
        if any(kept.broken for kept in self.families):
            return False
        return None if not self.families or any(kept.untried or not kept.tried for kept in self.families) else True

    def lines(self) -> list[str]:
        """A line a promise, and below it what broke it."""
        out = [f"{self.engine}, runtime {self.runtime}, kernel {self.kernel}"]
        for kept in self.families:
            word = "BROKEN" if kept.broken else "kept" if not kept.untried and kept.tried else "open"
            good = kept.tried - len(kept.broken)
            out.append(f"{word:<7}{kept.family:<12}{good} of {kept.tried + len(kept.untried)} jobs  {kept.promise}")
            out += [f"       {job.name}: {job.broken[0]}" for job in kept.broken]
            out += [f"       {job.name}: not tried: {job.untried}" for job in kept.untried]
        return out


def try_engine(
    sandbox: Sandbox, families: Sequence[Family] = FAMILIES, say: Callable[[str, int, int], object] = lambda *_: None
) -> Conformance:
    """Runs every job of these families, and the canaries after each. A job that fails does not end the suite.

    Args:
        say: told now and then which family is tried, the number of the job, and how many there are.

    Raises:
        SandboxError: not even the canaries run.
    """
    began = time.monotonic()
    wanted = [job for family in families for job in conformance.jobs() if job.family == family]
    with sandbox.session("conformance", workers=1) as session:
        before = canary(session)
        if canary(session) != before:
            what = "two runs of the same canary, one after the other, come out differently here"
            raise SandboxError(Cause.PROTOCOL, what, "No verdict from this engine can be trusted: look at `assay engine status`")
        tried = []
        for number, job in enumerate(wanted, 1):
            if number % 10 == 1:
                say(job.family, number, len(wanted))
            tried.append(_try(session, job, before, bool(sandbox.info.probes.get("supervise"))))
    info = sandbox.info
    return Conformance(info.runtime, info.engine, info.kernel, tuple(_sorted(tried, families)), time.monotonic() - began)


def canary(session: Session) -> list[ReplayRecord]:
    """What the canaries see now."""
    return [quiet(session.run(request)) for request in CANARIES]


def _try(session: Session, job: Hostile, before: list[ReplayRecord], supervised: bool) -> Tried:
    began = time.monotonic()
    if job.watched and not supervised:
        return Tried(job.name, job.family, untried="system calls cannot be supervised here")
    try:
        broken = list(_broken(session, job))
        if canary(session) != before:
            broken.append("a run after it is not what it was before")
    except SandboxError as error:
        return Tried(job.name, job.family, untried=error.what, seconds=time.monotonic() - began)
    return Tried(job.name, job.family, tuple(broken), seconds=time.monotonic() - began)


def _broken(session: Session, job: Hostile) -> Iterable[str]:
    try:
        record = session.run(job.request())
    except SandboxError:
        if not job.inconclusive:
            raise
        return []
    found = ["the sandbox did not notice that it could not go on"] if job.inconclusive else deviations(job, record)
    if job.twice and quiet(session.run(job.again())) != quiet(record):
        found.append("a second run of it saw the first")
    if job.later and session.run(job.again()).post == record.post:
        found.append("another clock made no difference")
    return found


def _sorted(tried: Sequence[Tried], families: Sequence[Family]) -> Iterable[Kept]:
    for family in families:
        mine = [job for job in tried if job.family == family]
        untried = tuple(job for job in mine if job.untried)
        broken = tuple(job for job in mine if job.broken)
        yield Kept(family, PROMISES[family], len(mine) - len(untried), broken, untried)
