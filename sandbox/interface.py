"""The contract of the sandbox: what can be run, and the facts that come back. No opinion about right or wrong.

A job that fails is data (``ReplayRecord``); a sandbox that fails is an exception (``SandboxError``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol, TypeAlias

from sandbox.snapshot import ROOT as ROOT
from sandbox.snapshot import Effect as Effect
from sandbox.snapshot import EffectKind as EffectKind
from sandbox.snapshot import Entry as Entry
from sandbox.snapshot import EntryType as EntryType
from sandbox.snapshot import Snapshot as Snapshot
from sandbox.snapshot import effects as effects

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

# ---------------------------------------------------------------- what can be run


@dataclass(frozen=True, slots=True)
class ShellJob:
    """A trace's commands: each ``bash -c``, each starting where the previous one ended (root if that is gone or outside)."""

    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkillJob:
    """One call of the one ``@skill_command`` function of ``source``, in a process forked from a warm interpreter."""

    source: str
    """Text of the skill file."""
    args: Mapping[str, Any]
    """Keyword arguments, JSON values."""
    trace_lines: bool = False
    """Report which lines of the file ran (slower)."""
    function: str | None = None
    """Which function to call where a file has more than one candidate; None = the one decorated one."""


Job = ShellJob | SkillJob


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What may differ around a run and must not matter. The defaults are the normal surroundings."""

    order: str = "sorted"
    """Directory order: ``sorted``, ``reversed`` or ``shuffled:<int seed>`` (creation order on tmpfs)."""
    hash_seed: int = 0
    tz: str = "UTC"
    locale: str = "C.UTF-8"
    home: str | None = None
    """Another HOME below the sandbox's home mount, with files of somebody who lives there; None = the default, which is empty."""
    neighbours: tuple[str, ...] = ()
    """Absolute paths, at places where everybody may write, at which files of somebody stand."""
    umask: int = 0o022
    workdir: str | None = None
    """``other`` = the workspace is mounted at another path; an absolute path = there; None = the default /ws."""
    delay_s: float = 0.0
    """Wall time to let pass before the run (another clock)."""
    cpus: int | None = None
    """Restrict to this many CPUs; None = all."""
    optimised: bool = False
    """Python runs as with ``-O``, as hosts may run it: without assertions, and with ``__debug__`` false."""
    module: str | None = None
    """Another name for a skill's module, whose file then has an absolute path; None = ``skill``, of ``skill.py``."""
    author: str = "agent <agent@sandbox> 1600000000 +0000"
    """Who makes commits, and when, as ``git var GIT_AUTHOR_IDENT`` says it."""


@dataclass(frozen=True, slots=True)
class CrashAt:
    """Kill every process of the run just before its k-th (0-based) tree-changing call on the workspace takes effect.

    ``torn=True`` counts writes to workspace files too, so that a kill between truncation and last write can be aimed at.
    """

    k: int
    torn: bool = False


@dataclass(frozen=True, slots=True)
class ErrnoAt:
    """Let the k-th (0-based) call among ``calls`` on workspace paths fail with ``errno`` (a name such as ``ENOSPC``)."""

    k: int
    errno: str
    calls: Literal["change", "write", "chmod", "read"]
    """change: tree-changing calls · write: write/copy/truncate/close on workspace files · chmod · read: open of a regular
    workspace file for reading."""


@dataclass(frozen=True, slots=True)
class KillAfter:
    """Kill every process of the run after this many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """Run with a workspace that has room for this much more (bytes, inodes)."""

    bytes: int
    inodes: int


@dataclass(frozen=True, slots=True)
class ReadOnlySubtree:
    """Everything at and below ``path`` refuses changes with EROFS/EACCES."""

    path: str


@dataclass(frozen=True, slots=True)
class OvertakenAt:
    """Hold a skill's run just before its k-th (0-based) tree-changing call and run the same job whole, on the same workspace.

    Then the held run goes on: one way in which two runs at once can meet, the same every time. Not reached where the second
    run does not end while the first is held (it may wait for a lock of the first).
    """

    k: int


@dataclass(frozen=True, slots=True)
class CancelledAt:
    """Cancel the call of a skill's coroutine function where it waits for the k-th (0-based) time, as hosts do that give up."""

    k: int


Fault = CrashAt | ErrnoAt | KillAfter | SmallDisk | ReadOnlySubtree | OvertakenAt | CancelledAt


@dataclass(frozen=True, slots=True)
class Limits:
    wall_s: float = 20.0
    output_bytes: int = 1 << 20
    """Kept of each of stdout and stderr (the rest is drained, counted and hashed)."""
    file_bytes: int = 64 << 20
    processes: int = 128


@dataclass(frozen=True, slots=True)
class RunRequest:
    job: Job
    base: Snapshot
    surroundings: Surroundings = Surroundings()
    fault: Fault | None = None
    observe: bool = False
    """Supervise and log tree-changing, network and (regular file) read calls even without a fault."""
    looks: bool = False
    """While observing, log too which workspace paths are only looked at (stat, access, readlink, open of what is absent)."""
    host_input: bool = False
    """Let something stand on the standard input of commands too, which is empty otherwise. A skill always finds something."""
    limits: Limits = Limits()


# ---------------------------------------------------------------- what comes back


@dataclass(frozen=True, slots=True)
class ExecResult:
    """One finished command."""

    exit_code: int | None
    """None when a signal ended it."""
    signal: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool = False
    stdout_bytes: int = 0
    """What was printed in all, before truncation."""
    cwd: str = "."
    """Where it started, relative to the workspace."""


@dataclass(frozen=True, slots=True)
class Raised:
    type: str
    message: str
    traceback: str = ""
    """Frames of the skill file only: ``line N: text`` a line."""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """The job's claim: what the skill's process said that its function returned."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class NoReturn:
    """The skill's process ended without the one frame that carries its value."""

    why: str
    """``exited 0 without a return value``, ``killed by signal 9``, ``timed out after 20 s``, ``the value is not JSON: …``."""


Outcome = Returned | Raised | NoReturn

LeftoverKind = Literal["process", "file", "home", "shm", "mqueue", "sysv-ipc", "abstract-socket"]
"""home: a file of somebody, in HOME or beside temporary ones, is gone or changed. No kernel keys among them, as no job can make
any (``guest/guard.py``). Abstract sockets live as long as a process has them."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something outside the workspace that outlived the run."""

    kind: LeftoverKind
    detail: str
    """A path or a command line, escaped."""


CallKind = Literal[
    "create", "rename", "unlink", "link", "mkdir", "rmdir", "chmod",
    "open-write", "truncate", "write", "open-read", "look", "connect", "other",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """One supervised system call, in global order over all processes of the run."""

    index: int
    syscall: str
    kind: CallKind
    path: str
    """Absolute as the call meant it (resolved against cwd or dirfd), or the address of a connect."""
    path2: str = ""
    """Target of rename and link."""
    in_workspace: bool = True
    changes_tree: bool = False
    """One of the points that ``CrashAt`` counts."""
    truncates: bool = False
    """An open that cuts a file with earlier content."""
    injected: str = ""
    """Name of the errno that was injected here."""


@dataclass(frozen=True, slots=True)
class ReplayRecord:
    """The facts of one run."""

    outcome: Outcome | None
    """Of a skill; None for shell jobs."""
    steps: tuple[ExecResult, ...]
    """One per command of a shell job; for a skill one, its process, and the second run's with ``OvertakenAt``."""
    post: Snapshot
    """The workspace afterwards, with the root's own mode under ``ROOT``."""
    ended: Literal["exited", "timeout", "killed", "oom"]
    """killed = by the fault that was asked for."""
    leftovers: tuple[Leftover, ...] = ()
    network: tuple[str, ...] = ()
    """Attempts to reach a network, described."""
    outside: tuple[str, ...] = ()
    """Attempts (successful or refused) to change something outside the workspace and outside /tmp, HOME, /dev (supervised
    runs only)."""
    calls: tuple[Call, ...] = ()
    """Only with ``observe`` or a fault."""
    fault_reached: bool = False
    lines: frozenset[int] = frozenset()
    """Lines of the skill file that ran, where asked for."""
    protocol_findings: tuple[str, ...] = ()
    """A second frame, bytes that are no frame, and the like."""
    overtaker: Outcome | None = None
    """Of the second run, with ``OvertakenAt``. The rest of the record is the first one's, the tree is of both."""
    audit: tuple[str, ...] = ()
    """What the interpreter told of a skill's own process: code made while it ran, frames it looked into, modules it imported."""
    started: tuple[tuple[str, ...], ...] = ()
    """Command lines of the programs that a skill's own process started, each once, long words cut off."""
    missing: tuple[str, ...] = ()
    """Names of programs that some process of the run looked for and that are not in the image (supervised runs only; those
    that a shell only looks up need ``looks``)."""
    probe: Mapping[str, str] = field(default_factory=dict)
    """What the job's process itself saw: hash_seed, tz, locale, home, umask, cwd, order, cpus, optimised, clock; of a
    skill also how often it waited, and its module's name."""
    scan_findings: tuple[str, ...] = ()
    """What no snapshot holds: trees too deep, files over the limit, extended attributes and access lists."""
    took_input: bool = False
    """Some process of the run read what stood on its standard input, which is its host's."""
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SandboxInfo:
    runtime: str
    image: str
    """Tag: the digest of the recipe."""
    inventory: str
    """Fingerprint (sha256) of what is really installed in the image."""
    engine: str
    kernel: str
    probes: Mapping[str, bool]
    """What this engine can do: ``readdir_order``, ``supervise``, ``hash_seed``, ``locale``, ``workdir``, ``nu`` …"""
    why_not: Mapping[str, str] = field(default_factory=dict)
    """For each probe that is False, the reason in one sentence."""


class Session(Protocol):
    """Containers that serve one subject only. Never shared between subjects, nor between a skill and a trace."""

    def run(self, request: RunRequest) -> ReplayRecord:
        """Runs one request in clean surroundings. Raises SandboxError (after one retry of transient causes)."""
        ...

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        """Runs requests on all of the session's workers; records in the order of the requests."""
        ...

    @property
    def runs(self) -> int: ...

    def close(self) -> None: ...

    def __enter__(self) -> Session: ...

    def __exit__(self, *exc: object) -> None: ...


class Sandbox(Protocol):
    """A connection to one engine with one image."""

    @property
    def info(self) -> SandboxInfo: ...

    def session(self, label: str, workers: int | None = None) -> Session:
        """Opens a session (containers start ahead, in the background). ``workers`` None = the sandbox's own number."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Sandbox: ...

    def __exit__(self, *exc: object) -> None: ...


# ---------------------------------------------------------------- errors


class Cause(Enum):
    """Whose fault a sandbox failure is, for the sentence that the user reads."""

    ENGINE_MISSING = "engine-missing"
    ENGINE_DENIED = "engine-denied"
    ENGINE_OLD = "engine-old"
    ENGINE_LOST = "engine-lost"
    IMAGE_MISSING = "image-missing"
    IMAGE_BROKEN = "image-broken"
    OPTION_IGNORED = "option-ignored"
    PROTOCOL = "protocol"
    DEADLINE = "deadline"
    DISK = "disk"


class SandboxError(RuntimeError):
    """The sandbox itself failed. Never a skill's fault; the verdict that follows is INCONCLUSIVE."""

    def __init__(self, cause: Cause, what: str, advice: str = "") -> None:
        super().__init__(what)
        self.cause = cause
        self.what = what
        self.advice = advice

    def diagnostics(self) -> str:
        """What happened and what to do, one or two sentences."""
        return f"{self.what}. {self.advice}".strip() if self.advice else self.what
