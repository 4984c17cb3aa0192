"""Surroundings, faults and helpers of a real run: each factor is seen inside the job, and nothing else moves with it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Literal

import pytest

from sandbox import open_sandbox
from sandbox.image import ensure_image
from sandbox.interface import (
    CrashAt,
    Entry,
    ErrnoAt,
    Limits,
    OvertakenAt,
    Raised,
    ReadOnlySubtree,
    ReplayRecord,
    Returned,
    RunRequest,
    SandboxError,
    Session,
    ShellJob,
    SkillJob,
    Snapshot,
    Surroundings,
    effects,
)

pytestmark = pytest.mark.engine

HOSTILE = "it's; rm -rf $HOME.txt"
BASE = Snapshot({name: Entry("file", 0o644, b"x\n") for name in ("a.txt", HOSTILE, "B.md", "z")})
HEAD = """import os, subprocess
from pathlib import Path
from skill_api import nu, skill_command
@skill_command
def f(v: str = ''):
"""


def skill(body: str, **args: str) -> SkillJob:
    return SkillJob(HEAD + "".join(f"    {line}\n" for line in body.splitlines()), args)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_sandbox(image=ensure_image(lambda _: None)) as sandbox, sandbox.session("surroundings", 1) as opened:
        yield opened


def seen(session: Session, kind: Literal["skill", "shell"], where: Surroundings) -> Mapping[str, str]:
    job = skill("return 1") if kind == "skill" else ShellJob(("true",))
    probe = session.run(RunRequest(job, BASE, surroundings=where)).probe
    return {key: value for key, value in probe.items() if key != "clock"}


@pytest.mark.parametrize("kind", ["skill", "shell"])
@pytest.mark.parametrize(
    ("where", "key"),
    [
        (Surroundings(order="reversed"), "order"),
        (Surroundings(order="shuffled:5"), "order"),
        (Surroundings(hash_seed=9), "hash_seed"),
        (Surroundings(tz="Asia/Tokyo"), "tz"),
        (Surroundings(locale="en_US.UTF-8"), "locale"),
        (Surroundings(home="alt"), "home"),
        (Surroundings(umask=0o077), "umask"),
        (Surroundings(workdir="other"), "cwd"),
        (Surroundings(workdir="/home/user/repo"), "cwd"),
        (Surroundings(cpus=1), "cpus"),
        (Surroundings(optimised=True), "optimised"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_one_factor_at_a_time(session: Session, kind: Literal["skill", "shell"], where: Surroundings, key: str) -> None:
    """The factor that is asked for differs, and only that one; the next normal run is normal again."""
    normal = seen(session, kind, Surroundings())
    other = seen(session, kind, where)
    assert {k for k in normal if normal[k] != other[k]} == {key}
    assert seen(session, kind, Surroundings()) == normal


def test_the_clock_moves(session: Session) -> None:
    """A delay passes before the job's own start."""
    request = RunRequest(ShellJob(("true",)), BASE, surroundings=Surroundings(delay_s=1.1))
    first, second = (float(session.run(request).probe["clock"]) for _ in range(2))
    assert second - first > 1.1


def test_nushell_gets_values_as_data(session: Session) -> None:
    """A hostile file name is a value like another, and hostile values run nothing."""
    body = "return nu.run('ls | where name =~ $values.p | get name | sort', p=v)"
    assert session.run(RunRequest(skill(body, v="txt$"), BASE)).outcome == Returned(["a.txt", HOSTILE])
    record = session.run(RunRequest(skill(body, v="x'; rm z; $(rm z) #"), BASE))
    assert "z" in record.post
    body = "return nu.run('open --raw $values.n | str trim', n=v)"
    assert session.run(RunRequest(skill(body, v=HOSTILE), BASE)).outcome == Returned("x")


# ---------------------------------------------------------------- a second run in between

COUNT = """n = int(Path('n').read_text()) if Path('n').exists() else 0
os.mkdir('busy')
os.rmdir('busy')
subprocess.run(['bash', '-c', f'echo {n + 1} > n'], check=True)
return n"""


@pytest.mark.parametrize(("k", "counted", "first", "second"), [(0, b"1\n", 0, 0), (1, b"1\n", 0, None), (2, b"1\n", 0, 0)])
def test_a_run_is_overtaken_at_the_same_place_every_time(
    session: Session, k: int, counted: bytes, first: int, second: int | None
) -> None:
    """Held before its k-th change, in whatever process; the second run goes whole; one of both counts is lost."""
    for _ in range(3):
        record = session.run(RunRequest(skill(COUNT), BASE, fault=OvertakenAt(k)))
        assert record.fault_reached
        assert record.outcome == Returned(first)
        assert record.overtaker == Returned(second) if second is not None else isinstance(record.overtaker, Raised)
        assert record.post["n"].content == counted
        assert len(record.steps) == 2


def test_a_run_that_ends_before_is_not_overtaken(session: Session) -> None:
    """There is no second run then."""
    record = session.run(RunRequest(skill(COUNT), BASE, fault=OvertakenAt(3)))
    assert not record.fault_reached
    assert record.overtaker is None
    assert record.post["n"].content == b"1\n"


def test_a_run_that_holds_a_lock_is_not_overtaken(session: Session) -> None:
    """The second one waits for it, so the first goes on after half of the time; both come to their end."""
    body = "import fcntl\nwith open('lock', 'a') as lock:\n    fcntl.flock(lock, fcntl.LOCK_EX)\n"
    body += "    n = len(os.listdir('.'))\n    os.mkdir(str(n))\n    return n"
    record = session.run(RunRequest(skill(body), BASE, fault=OvertakenAt(1), limits=Limits(wall_s=2)))
    assert not record.fault_reached
    assert record.ended == "exited"
    assert (record.outcome, record.overtaker) == (Returned(5), Returned(6))


def test_a_second_run_that_does_not_end_is_ended_with_the_first(session: Session) -> None:
    """The deadline is that of both."""
    body = "if os.path.exists('x'):\n    subprocess.run(['sleep', '100'])\nos.mkdir('x')\nos.mkdir('y')\nreturn 1"
    record = session.run(RunRequest(skill(body), BASE, fault=OvertakenAt(1), limits=Limits(wall_s=1)))
    assert record.ended == "timeout"
    assert record.outcome == Returned(1)
    assert set(record.post) >= {"x", "y"}


def test_commands_are_not_overtaken(session: Session) -> None:
    """Only a skill is called again by somebody else."""
    with pytest.raises(SandboxError, match="overtaken"):
        session.run(RunRequest(ShellJob(("true",)), BASE, fault=OvertakenAt(0)))


# ---------------------------------------------------------------- faults

RENAME = "for p in sorted(Path('.').glob('*.txt')):\n    p.rename(p.with_suffix('.md'))\nreturn 'ok'"


def changed(record: ReplayRecord) -> list[tuple[str, str]]:
    return [(e.path, e.kind) for e in effects(BASE, record.post) if e.path != "."]


def test_every_crash_point_is_visited_once(session: Session) -> None:
    """Killed before the k-th change, exactly k changes are there; one beyond the last is not reached."""
    request = RunRequest(skill(RENAME), BASE)
    for k in range(3):
        record = session.run(RunRequest(request.job, BASE, fault=CrashAt(k)))
        assert len(changed(record)) == 2 * k
        assert record.fault_reached == (k < 2)
        assert record.ended == ("killed" if k < 2 else "exited")


def test_calls_are_in_order_with_their_paths(session: Session) -> None:
    """What was observed is what was done, over all processes of the run."""
    body = "Path('n').write_text('1')\nsubprocess.run(['mv', 'z', 'y'], check=True)\nos.chmod('n', 0o600)\nos.symlink('n', 'l')"
    record = session.run(RunRequest(skill(body), BASE, observe=True))
    made = [(c.kind, c.path, c.path2) for c in record.calls if c.changes_tree]
    assert made == [
        ("create", "/ws/n", ""), ("rename", "/ws/z", "/ws/y"), ("chmod", "/ws/n", ""), ("link", "/ws/l", "n"),
    ]  # fmt: skip
    assert record.outside == ()
    read = session.run(RunRequest(skill("Path('z').read_text()\nopen('/etc/passwd').read()"), BASE, observe=True))
    assert [(c.kind, c.path) for c in read.calls] == [("open-read", "/ws/z")]


def test_looks_are_noted_where_asked_for(session: Session) -> None:
    """Paths of the workspace that are not there, or that are only asked about; nothing of it without the wish, or outside."""
    body = "Path('n').exists()\nos.access('o/p', 4)\nos.path.islink('z')\nPath('/etc/none').exists()"
    body += "\ntry:\n    open('q')\nexcept OSError:\n    pass"
    record = session.run(RunRequest(skill(body), BASE, observe=True, looks=True))
    assert {"/ws/n", "/ws/o/p", "/ws/z", "/ws/q"} <= {c.path for c in record.calls if c.kind == "look"}
    assert not any(c.path.startswith("/etc") or c.changes_tree for c in record.calls)
    assert record.outside == ()
    assert session.run(RunRequest(skill(body), BASE, observe=True)).calls == ()


def test_attempts_outside_and_on_the_network_are_noted(session: Session) -> None:
    """Whether they are refused or not."""
    job = ShellJob(("touch /etc/evil; mv z /opt/z; : > /tmp/fine; exec 3<>/dev/tcp/10.1.2.3/80",))
    record = session.run(RunRequest(job, BASE, observe=True))
    assert any("/etc/evil" in text for text in record.outside)
    assert any("/opt/z" in text for text in record.outside)
    assert not any("/tmp" in text for text in record.outside)
    assert "connect inet 10.1.2.3:80" in record.network
    assert session.run(RunRequest(job, BASE)).network, "the kernel's counters see it without supervision"


@pytest.mark.parametrize(
    ("fault", "body", "error"),
    [
        (ErrnoAt(0, "EACCES", "read"), "return Path('z').read_text()", "PermissionError"),
        (ErrnoAt(0, "ENOSPC", "write"), "Path('n').write_text('x')", "OSError"),
        (ErrnoAt(1, "EIO", "change"), RENAME, "OSError"),
        (ErrnoAt(0, "EACCES", "chmod"), "os.chmod('z', 0o600)", "PermissionError"),
        (ReadOnlySubtree("."), RENAME, "OSError"),
    ],
    ids=["read", "write", "change", "chmod", "read-only"],
)
def test_injected_errors_reach_the_skill(session: Session, fault: ErrnoAt | ReadOnlySubtree, body: str, error: str) -> None:
    """The call that was aimed at fails with that error, and the record says which it was."""
    record = session.run(RunRequest(skill(body), BASE, fault=fault))
    assert isinstance(record.outcome, Raised)
    assert record.outcome.type == error
    assert record.fault_reached
    assert sum(bool(c.injected) for c in record.calls) == 1


def test_lines_that_ran(session: Session) -> None:
    """Exactly the lines of the branch that was taken."""
    job = skill("if v == 'x':\n    a = 1\nelse:\n    a = 2\nreturn a", v="x")
    lines = session.run(RunRequest(SkillJob(job.source, job.args, trace_lines=True), BASE)).lines
    assert {6, 7, 10} <= lines
    assert 9 not in lines


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("return 1", []),
        ("(Path.home() / 'notes.txt').read_text()\nreturn 1", []),
        ("shutil.rmtree(Path.home() / '.ssh')\nreturn 1", [".ssh/id_ed25519", ".ssh/known_hosts"]),
        ("(Path.home() / '.netrc').chmod(0o644)\nreturn 1", [".netrc"]),
        ("(Path.home() / '.bashrc').write_text('x')\nreturn 1", [".bashrc"]),
    ],
)
def test_another_home_is_lived_in(session: Session, body: str, left: list[str]) -> None:
    """Its files are there, and a run that takes or changes one is seen to do so."""
    job = skill(f"import shutil\nfrom pathlib import Path\n{body}")
    record = session.run(RunRequest(job, BASE, surroundings=Surroundings(home="other")))
    assert record.outcome == Returned(1)
    assert sorted((x.kind, x.detail) for x in record.leftovers) == [("home", f"/home/agent/other/{name}") for name in left]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("return 1", []),
        ("import tempfile\nwith tempfile.TemporaryFile() as f:\n    return 1", []),
        ("Path('/tmp/d/é x').write_text('x')\nreturn 1", ["/tmp/d/é x"]),
        ("os.remove('/tmp/a.txt')\nreturn 1", ["/tmp/a.txt"]),
        ("Path('/tmp/b').write_text('x')\nreturn 1", ["/tmp/b"]),
    ],
)
def test_somebody_has_files_beside_the_temporary_ones(session: Session, body: str, left: list[str]) -> None:
    """They are there where it is asked for, and nothing else of a run counts as one of them."""
    where = Surroundings(neighbours=("/tmp/a.txt", "/tmp/d/é x"))
    record = session.run(RunRequest(skill(body), BASE, surroundings=where))
    assert record.outcome == Returned(1)
    assert sorted((x.kind, x.detail) for x in record.leftovers) == [("file" if p == "/tmp/b" else "home", p) for p in left]


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("os.umask(os.umask(0))", ""),
        ("os.umask(0)", "its umask"),
        ("os.chdir('/tmp')", "its working directory"),
        ("os.environ['EDITOR'] = 'x'", "its environment"),
        ("resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))", "its limits"),
        ("logging.getLogger('x').warning('y')", ""),
        ("logging.disable(50)", "its logging"),
        ("logging.root.setLevel(99)", "its logging"),
        ("logging.basicConfig(level=10)", ""),
        ("os.sync = print", "its own os"),
        ("os.remove, os.rmdir = os.rmdir, os.remove", "its own os"),
        ("import shutil\ndel shutil.copy\nshutil.copy = lambda *a: None", "its own shutil"),
        ("import gc\ngc.disable()", "its garbage collection"),
        ("import sys\nsys.setrecursionlimit(5000)", ""),
        ("import sys\nsys.setrecursionlimit(300)", "its recursion limit"),
        ("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)", "its signal handlers"),
        ("import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)", "its signal handlers"),
        ("import signal\nsignal.alarm(3600)", "its timers"),
        ("import signal\nsignal.alarm(3600)\nsignal.alarm(0)", ""),
        ("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})", "its processors" if (os.cpu_count() or 1) > 1 else ""),
        ("os.open('/tmp', os.O_RDONLY)", "its open files"),
        ("open('/etc/passwd')", ""),
        ("kept = [open('/etc/passwd')]\nkept.append(kept)", ""),
    ],
)
def test_what_a_skill_leaves_its_host_is_told(session: Session, body: str, changed: str) -> None:
    """A host calls the next skill in the same process."""
    record = session.run(RunRequest(skill(f"import logging\nimport os\nimport resource\n{body}\nreturn 1"), BASE))
    assert record.probe["changed"] == changed


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("loop.call_later(99, print)", "what its event loop does later"),
        ("loop.call_later(99, print).cancel()", ""),
        ("await asyncio.wait_for(asyncio.sleep(0), 9)", ""),
        ("[t.cancel() for t in asyncio.all_tasks() - {asyncio.current_task()}]", "other tasks of its event loop"),
        ("asyncio.gather(asyncio.sleep(0), asyncio.sleep(0)).cancel()\n    await asyncio.sleep(0)", ""),
    ],
)
def test_what_is_left_to_the_loop_is_told(session: Session, line: str, changed: str) -> None:
    """A host's loop goes on, and does it later."""
    source = f"import asyncio\n\nasync def go():\n    loop = asyncio.get_running_loop()\n    {line}\n    return 1\n"
    record = session.run(RunRequest(SkillJob(source, {}, function="go"), BASE))
    assert record.outcome == Returned(1)
    assert record.probe["changed"] == changed
