"""Hostile jobs: each gets the finding that it deserves, and a canary run afterwards is what it was before.

The jobs are data, in ``hostile/*.toml``. Keys of a job: ``skill`` (source; its function is ``attack``) or ``shell``
(commands); what is expected: ``ended`` (any of these; default exited), ``value``, ``any_value`` (some value came),
``no_value``, ``noreturn`` and ``raised`` (part of the reason, type), ``stdout``, ``stdout_has``, ``stdout_lacks``,
``stdout_bytes_over``, ``leftovers`` (kinds), ``network``, ``findings`` (parts of what the scanner or the protocol found),
``post`` (path to type), ``empty`` (workspace); ``twice`` and ``later`` as ``memory.toml`` says; ``wall_s``;
``inconclusive``: the sandbox gives up, which closes the gate too; ``watched``: run under supervision; ``outside``: parts of
the attempts outside the workspace.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from sandbox import open_sandbox, owner
from sandbox.container import LABEL
from sandbox.engine import Engine
from sandbox.image import ensure_image
from sandbox.interface import (
    Entry,
    Limits,
    NoReturn,
    Raised,
    ReplayRecord,
    Returned,
    RunRequest,
    Sandbox,
    SandboxError,
    Session,
    ShellJob,
    SkillJob,
    Snapshot,
    Surroundings,
)

pytestmark = [pytest.mark.engine, pytest.mark.timeout(180)]

HERE = Path(__file__).parents[2] / "sandbox" / "conformance"


@dataclass(frozen=True)
class Hostile:
    """One job of the tables, with what must be found."""

    name: str
    skill: str = ""
    shell: tuple[str, ...] = ()
    ended: tuple[str, ...] = ("exited",)
    value: Any = None
    any_value: bool = False
    no_value: bool = False
    noreturn: str = ""
    raised: str = ""
    stdout: str | None = None
    stdout_has: str = ""
    stdout_lacks: str = ""
    stdout_bytes_over: int = -1
    leftovers: frozenset[str] = frozenset()
    network: bool = False
    findings: tuple[str, ...] = ()
    post: Mapping[str, str] = field(default_factory=dict)
    empty: bool = False
    twice: bool = False
    later: bool = False
    inconclusive: bool = False
    watched: bool = False
    outside: tuple[str, ...] = ()
    wall_s: float = 5.0

    @classmethod
    def read(cls, raw: dict[str, Any]) -> Hostile:
        """From a table; an unknown key is an error of the table."""
        lists = {key: tuple(raw.pop(key)) for key in ("shell", "ended", "findings", "outside") if key in raw}
        return cls(leftovers=frozenset(raw.pop("leftovers", ())), **lists, **raw)

    def request(self) -> RunRequest:
        job = SkillJob(self.skill, {}, function="attack") if self.skill else ShellJob(self.shell)
        wall_s = 1.0 if "timeout" in self.ended and self.wall_s == 5.0 else self.wall_s
        return RunRequest(job, BASE, limits=Limits(wall_s=wall_s), observe=self.watched)


BASE = Snapshot({"keep.txt": Entry("file", 0o644, b"precious\n"), "sub/more.txt": Entry("file", 0o600, b"more\n")})


def load(path: Path) -> list[Hostile]:
    with path.open("rb") as stream:
        return [Hostile.read(raw) for raw in tomllib.load(stream)["job"]]


JOBS = [job for path in sorted(HERE.glob("*.toml")) for job in load(path)]

CANARY_SKILL = '''
import json, os, resource, socket, sys, tempfile

def canary():
    """Everything that an earlier job could have spoilt."""
    import skill_api
    names = sorted(os.listdir("."))
    with open("made.txt", "w") as stream: stream.write("made")
    os.rename("sub", "moved")
    places = ("/tmp", os.path.expanduser("~"), "/dev/shm", "/dev/mqueue")
    limits = [resource.getrlimit(kind) for kind in range(16)]
    strangers = []
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        try: owner = os.stat(f"/proc/{pid}").st_uid
        except OSError: continue
        if owner == 1000 and int(pid) != os.getpid(): strangers.append(pid)
    ipc = [len(open(f"/proc/sysvipc/{kind}").readlines()) for kind in ("shm", "sem", "msg")]
    return [names, [os.listdir(place) for place in places], limits, strangers, ipc, os.getpriority(os.PRIO_PROCESS, 0),
            sorted(os.sched_getaffinity(0)), oct(os.umask(0o22)), os.getcwd(), sorted(os.environ.items()),
            oct(os.stat(".").st_mode),
            os.listxattr("."),
            sorted(n for n in os.listdir("/proc/self/fd") if len(n) < 2), socket.gethostname(), json.dumps({"a": 1})]
'''
CANARIES = (
    RunRequest(SkillJob(CANARY_SKILL, {}, function="canary"), BASE),
    RunRequest(
        ShellJob(
            (
                "ls -la --time-style=+%Y; umask; ulimit -a; cat keep.txt; mv keep.txt kept.txt; cd sub",
                "pwd; ls; ps -e -o comm= > list; sort list; rm list; find /tmp /dev/shm ~",
            )
        ),
        BASE,
    ),
)


@dataclass
class Arena:
    """One sandbox with one worker, and what its canaries said when nothing had happened yet."""

    sandbox: Sandbox
    session: Session
    engine: Engine
    before: list[ReplayRecord]

    def canary(self) -> list[ReplayRecord]:
        return [quiet(self.session.run(request)) for request in CANARIES]

    def containers(self) -> int:
        """How many containers of this process there are."""
        found = self.engine.client.api.containers(all=True, filters={"label": f"{LABEL}={owner.label()}"})
        return len([c for c in found if c["State"] not in ("removing", "dead")])


def quiet(record: ReplayRecord) -> ReplayRecord:
    """A record without what may differ from run to run."""
    return replace(record, duration_s=0.0, probe={k: v for k, v in record.probe.items() if k != "clock"})


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


def check(job: Hostile, record: ReplayRecord) -> None:
    """Compares what was found with what the table says."""
    assert record.ended in job.ended, record.steps
    assert {left.kind for left in record.leftovers} >= job.leftovers, record.leftovers
    if job.ended == ("exited",) and not job.leftovers and job.name not in LIVELY:
        assert record.leftovers == ()
    assert bool(record.network) >= job.network
    for part in job.findings:
        assert any(part in text for text in (*record.scan_findings, *record.protocol_findings, *record.audit)), record
    check_outcome(job, record)
    check_output(job, record)
    assert {path: record.post[path].type for path in job.post} == job.post
    assert all(any(path in text for text in record.outside) for path in job.outside), record.outside
    if job.empty:
        assert set(record.post) <= {"."}


LIVELY = frozenset({"fork-bomb-shell", "daemon-that-forks-on-for-ever"} | {j.name for j in JOBS if j.twice})
"""Jobs for which leftovers are allowed but not required: they depend on who is faster, or are not what the job is about."""


def check_outcome(job: Hostile, record: ReplayRecord) -> None:
    outcome = record.outcome
    if job.noreturn:
        assert isinstance(outcome, NoReturn)
        assert job.noreturn in outcome.why
    if job.raised:
        assert isinstance(outcome, Raised)
        assert outcome.type == job.raised
    if job.no_value:
        assert not isinstance(outcome, Returned), outcome
    if job.any_value:
        assert isinstance(outcome, Returned), outcome
    elif job.value is not None:
        assert outcome == Returned(job.value)


def check_output(job: Hostile, record: ReplayRecord) -> None:
    """The first step's output is what it should be, and no more of it is kept than is allowed."""
    first = record.steps[0]
    text = first.stdout.decode(errors="replace")
    if job.stdout is not None:
        assert text == job.stdout
    assert job.stdout_has in text
    assert not job.stdout_lacks or job.stdout_lacks not in text
    assert first.stdout_bytes > job.stdout_bytes_over
    limits = job.request().limits
    assert all(len(step.stdout) <= limits.output_bytes and len(step.stderr) <= limits.output_bytes for step in record.steps)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_hostile_job_is_found_out_and_harms_nothing(arena: Arena, job: Hostile) -> None:
    """The finding, then the canary, then the containers."""
    if job.inconclusive:
        with pytest.raises(SandboxError):
            arena.session.run(job.request())
        assert arena.canary() == arena.before
        return
    record = arena.session.run(job.request())
    check(job, record)
    if job.twice:
        assert quiet(arena.session.run(job.request())) == quiet(record)
    if job.later:
        other = arena.session.run(replace(job.request(), surroundings=Surroundings(delay_s=1.1)))
        assert other.post != record.post
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
