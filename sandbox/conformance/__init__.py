"""A suite of hostile jobs for an engine: each must get the finding that it deserves, and harm nothing that comes after it.

The jobs are data, in the tables beside this file. Keys of a job: ``family`` (what it tries); ``skill`` (source; its function is
``attack``) or ``shell`` (commands); what is expected: ``ended`` (any of these; default exited), ``value``, ``any_value`` (some
value came), ``no_value``, ``noreturn`` and ``raised`` (part of the reason, type), ``stdout``, ``stdout_has``, ``stdout_lacks``,
``stdout_bytes_over``, ``leftovers`` (kinds), ``network``, ``findings`` (parts of what the scanner or the protocol found),
``post`` (path to type), ``empty`` (workspace); ``twice`` and ``later`` as ``memory.toml`` says; ``wall_s``;
``inconclusive``: the sandbox gives up, which closes the gate too; ``watched``: run under supervision; ``outside``: parts of
the attempts outside the workspace.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from sandbox.interface import (
    Entry,
    Limits,
    NoReturn,
    Raised,
    ReplayRecord,
    Returned,
    RunRequest,
    ShellJob,
    SkillJob,
    Snapshot,
    Surroundings,
)

Family = Literal["escape", "persistence", "forging", "blinding", "starvation", "timing"]
FAMILIES: tuple[Family, ...] = get_args(Family)
PROMISES: Mapping[Family, str] = {
    "escape": "nothing outside the run's own places can be reached, changed or signalled, and no network",
    "persistence": "nothing of a run is left for the next one",
    "forging": "no job can say anything in the runner's name, or take back what it said",
    "blinding": "what a job does is seen, or it is said that it was not",
    "starvation": "no job takes more than its share of disk, memory, processes, output",
    "timing": "a job that does not end is ended, and a clock that decides shows",
}

BASE = Snapshot({"keep.txt": Entry("file", 0o644, b"precious\n"), "sub/more.txt": Entry("file", 0o600, b"more\n")})


@dataclass(frozen=True)
class Hostile:
    """One job of the tables, with what must be found."""

    name: str
    family: Family
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
        lists: dict[str, Any] = {key: tuple(raw.pop(key)) for key in ("shell", "ended", "findings", "outside") if key in raw}
        return cls(leftovers=frozenset(raw.pop("leftovers", ())), **lists, **raw)

    def request(self) -> RunRequest:
        job = SkillJob(self.skill, {}, function="attack") if self.skill else ShellJob(self.shell)
        wall_s = 1.0 if "timeout" in self.ended and self.wall_s == 5.0 else self.wall_s
        return RunRequest(job, BASE, limits=Limits(wall_s=wall_s), observe=self.watched)

    def again(self) -> RunRequest:
        """The same run a little later, by the wall clock too where that is what it is about."""
        return replace(self.request(), surroundings=Surroundings(delay_s=1.1)) if self.later else self.request()

    @property
    def lively(self) -> bool:
        """Whether leftovers are allowed but not required: they depend on who is faster, or are not what the job is about."""
        return self.twice or self.name in ("fork-bomb-shell", "daemon-that-forks-on-for-ever")


@cache
def jobs() -> tuple[Hostile, ...]:
    """Every job of the tables."""
    tables = sorted((t for t in resources.files(__name__).iterdir() if t.name.endswith(".toml")), key=lambda t: t.name)
    return tuple(Hostile.read(raw) for t in tables for raw in tomllib.loads(t.read_text(encoding="utf-8"))["job"])


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
    devices = [(name, os.lstat(f"/dev/{name}").st_mtime_ns) for name in sorted(os.listdir("/dev")) if name != "pts"]
    return [names, [os.listdir(place) for place in places if os.path.isdir(place)], limits, strangers, ipc, devices,
            os.getpriority(os.PRIO_PROCESS, 0),
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
"""Runs that come out otherwise where an earlier one has left anything."""


def quiet(record: ReplayRecord) -> ReplayRecord:
    """A record without what may differ from run to run."""
    return replace(record, duration_s=0.0, probe={k: v for k, v in record.probe.items() if k != "clock"})


def deviations(job: Hostile, record: ReplayRecord) -> list[str]:
    """Where a run is not what the table says, a sentence each; empty where it is."""
    return [*_around(job, record), *_outcome(job, record), *_output(job, record)]


def _around(job: Hostile, record: ReplayRecord) -> Iterator[str]:
    """What was seen of it, beside what it said."""
    left = {x.kind for x in record.leftovers}
    if record.ended not in job.ended:
        yield f"it ended by {record.ended} instead of {' or '.join(job.ended)}"
    if not left >= job.leftovers:
        yield f"not seen among what it left: {', '.join(sorted(job.leftovers - left))}"
    if job.ended == ("exited",) and not job.leftovers and not job.lively and left:
        yield f"it left {', '.join(f'{x.kind} {x.detail}' for x in record.leftovers)[:200]}"
    if job.network and not record.network:
        yield "its attempt to reach a network was not seen"
    said = (*record.scan_findings, *record.protocol_findings, *record.audit)
    yield from (f"not found: {part}" for part in job.findings if not any(part in text for text in said))
    for path, kind in job.post.items():
        if path not in record.post or record.post[path].type != kind:
            yield f"{path} is no {kind} afterwards"
    missed = [path for path in job.outside if not any(path in text for text in record.outside)]
    yield from (f"its attempt on {path} was not seen" for path in missed)
    if job.empty and not set(record.post) <= {"."}:
        yield "the workspace is not empty afterwards"


def _outcome(job: Hostile, record: ReplayRecord) -> Iterator[str]:
    outcome = record.outcome
    if job.noreturn and not (isinstance(outcome, NoReturn) and job.noreturn in outcome.why):
        yield f"instead of no value ({job.noreturn}) there is {outcome}"[:300]
    if job.raised and not (isinstance(outcome, Raised) and outcome.type == job.raised):
        yield f"instead of {job.raised} there is {outcome}"[:300]
    if job.no_value and isinstance(outcome, Returned):
        yield f"it returned {outcome.value!r}"[:300]
    if job.any_value and not isinstance(outcome, Returned):
        yield f"it returned nothing: {outcome}"[:300]
    if not job.any_value and job.value is not None and outcome != Returned(job.value):
        yield f"instead of {job.value!r} there is {outcome}"[:300]


def _output(job: Hostile, record: ReplayRecord) -> Iterator[str]:
    """The first step's output is what it should be, and no more of it is kept than is allowed."""
    first = record.steps[0]
    text = first.stdout.decode(errors="replace")
    if job.stdout is not None and text != job.stdout:
        yield f"it printed {text[:200]!r} instead of {job.stdout!r}"
    if job.stdout_has not in text or (job.stdout_lacks and job.stdout_lacks in text):
        yield f"it printed {text[:200]!r}"
    if first.stdout_bytes <= job.stdout_bytes_over:
        yield f"only {first.stdout_bytes} bytes of its output were counted"
    limit = job.request().limits.output_bytes
    if any(len(step.stdout) > limit or len(step.stderr) > limit for step in record.steps):
        yield "more of its output was kept than is allowed"
