"""One conformance suite for every engine: Docker on its socket and on TCP; Podman and gVisor where they are installed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox import open_sandbox
from sandbox.dialect import DEFAULT_CAPABILITIES, as_docker, for_podman
from sandbox.engine import Engine, ping
from sandbox.image_store import open_images
from sandbox.install import which
from sandbox.interface import (
    CrashAt,
    Entry,
    ErrnoAt,
    Limits,
    NoReturn,
    Raised,
    Returned,
    RunRequest,
    Sandbox,
    SandboxError,
    Session,
    ShellJob,
    SkillJob,
    SmallDisk,
    Snapshot,
    Surroundings,
)

engine = pytest.mark.engine
BASE = Snapshot(
    {
        "b.txt": Entry("file", 0o640, b"b\n"),
        "a.txt": Entry("file", 0o644, b"a\n"),
        "d/l": Entry("symlink", 0o777, target="../a.txt"),
    }
)


def skill(body: str) -> SkillJob:
    """A skill whose function has this body."""
    return SkillJob(
        "import os, sys, time, subprocess\ndef go():\n" + "".join(f"    {line}\n" for line in body.splitlines()),
        {},
        function="go",
    )


# ---------------------------------------------------------------- the suite


def values_and_effects(session: Session) -> None:
    """A skill's value comes back, and what it changed; an unchanged tree is the base."""
    record = session.run(
        RunRequest(skill("os.rename('a.txt', 'c.txt')\nos.chmod('b.txt', 0o600)\nreturn {'n': [1, None, 'é']}"), BASE)
    )
    assert record.outcome == Returned({"n": [1, None, "é"]})
    assert record.post["c.txt"] == BASE["a.txt"]
    assert record.post["b.txt"].mode == 0o600
    assert "a.txt" not in record.post
    same = session.run(RunRequest(skill("return 1"), BASE)).post
    assert {p: e for p, e in same.items() if p != "."} == dict(BASE)


def errors_and_exits(session: Session) -> None:
    """An exception has its line; leaving without a value is no value."""
    raised = session.run(RunRequest(skill("return 1 / 0"), BASE)).outcome
    assert isinstance(raised, Raised)
    assert (raised.type, raised.line) == ("ZeroDivisionError", 3)
    assert isinstance(session.run(RunRequest(skill("os._exit(3)"), BASE)).outcome, NoReturn)


def steps_of_a_shell_job(session: Session) -> None:
    """Exit codes, both streams, and the directory that the next command starts in."""
    record = session.run(RunRequest(ShellJob(("cd d && pwd", "pwd >&2; exit 3", "kill -9 $$", "cd /; echo x", "pwd")), BASE))
    assert [s.exit_code for s in record.steps] == [0, 3, None, 0, 0]
    assert [s.cwd for s in record.steps] == [".", "d", "d", "d", "."]
    assert record.steps[0].stdout == b"/ws/d\n"
    assert record.steps[1].stderr == b"/ws/d\n"
    assert record.steps[2].signal == 9


def identity_and_rights(session: Session) -> None:
    """uid 1000, no capability, nothing writable but the places for it."""
    body = "status = open('/proc/self/status').read()\n"
    body += "return [os.getuid(), os.getgid(), os.getgroups(), 'CapEff:\\t0000000000000000' in status]"
    assert session.run(RunRequest(skill(body), BASE)).outcome == Returned([1000, 1000, [], True])
    places = "('/', '/etc', '/usr', '/run', '/var/tmp', '/var', '/opt', '/srv', '/root')"
    body = f"out = []\nfor place in {places}:\n    try: open(place + '/x', 'w'); out.append(place)\n"
    body += "    except OSError: pass\nreturn out"
    assert session.run(RunRequest(skill(body), BASE)).outcome == Returned([])


def surroundings_change(session: Session) -> None:
    """Each factor is seen to change by the job's own process."""
    normal = session.run(RunRequest(skill("return 1"), BASE)).probe
    for where in (
        Surroundings(hash_seed=7),
        Surroundings(tz="Asia/Kathmandu"),
        Surroundings(locale="sv_SE.UTF-8"),
        Surroundings(home="other"),
        Surroundings(umask=0o077),
        Surroundings(workdir="other"),
        Surroundings(order="reversed"),
    ):
        changed = session.run(RunRequest(skill("return 1"), BASE, surroundings=where)).probe
        expected = {
            name for name in ("hash_seed", "tz", "locale", "home", "umask", "cwd", "order") if changed[name] != normal[name]
        }
        assert len(expected) == 1, (where, expected)


def leftovers_and_reset(session: Session) -> None:
    """What a run leaves is told, and is gone in the next one."""
    body = "open('/tmp/x', 'w')\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\nreturn sorted(os.listdir('/tmp'))"
    for _ in range(2):
        record = session.run(RunRequest(skill(body), BASE))
        assert record.outcome == Returned(["x"])
        assert {left.kind for left in record.leftovers} >= {"process", "file"}


def deadlines(session: Session) -> None:
    """A run that does not end is ended."""
    record = session.run(RunRequest(ShellJob(("sleep 1000",)), BASE, limits=Limits(wall_s=1)))
    assert record.ended == "timeout"


def output_is_bounded(session: Session) -> None:
    """What is too much is drained and counted."""
    record = session.run(RunRequest(ShellJob(("head -c 300000 /dev/zero",)), BASE, limits=Limits(output_bytes=1000)))
    assert (len(record.steps[0].stdout), record.steps[0].stdout_bytes, record.steps[0].truncated) == (1000, 300000, True)


def no_network(session: Session) -> None:
    """Nothing but loopback."""
    body = "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 2)\nexcept OSError as error: return 'refused'"
    assert session.run(RunRequest(skill(body), BASE)).outcome == Returned("refused")


def small_disks(session: Session) -> None:
    """Writing more than there is room for fails."""
    body = "try: open('big', 'wb').write(bytes(1 << 20))\nexcept OSError as error: return error.errno\nreturn 'room'"
    assert session.run(RunRequest(skill(body), BASE, fault=SmallDisk(64 << 10, 100))).outcome == Returned(28)
    assert session.run(RunRequest(skill(body), BASE)).outcome == Returned("room")


def nushell(session: Session) -> None:
    """The seed's example on a name that would be a program if it were interpolated."""
    source = (
        "import skill_api\nfrom pathlib import Path\n"
        "def go():\n"
        "    hostile = 'a; touch owned $(touch owned) `touch owned` \\' .txt'\n"
        "    Path(hostile).write_text('x')\n"
        "    return skill_api.nu.run('ls | where name == $values.name | length', name=hostile), Path('owned').exists()\n"
    )
    record = session.run(RunRequest(SkillJob(source, {}, function="go"), BASE))
    assert isinstance(record.outcome, Returned), record
    count, owned = record.outcome.value  # type: ignore[misc]  # a list of two, as the source says
    assert str(count).strip() == "1"
    assert owned is False


def nothing_of_the_kernel_is_kept(session: Session) -> None:
    """No keys can be made, and addresses, attributes and abstract sockets do not come back in the next run."""
    body = """import ctypes, socket
libc = ctypes.CDLL(None)
add_key, keyctl = (248, 250) if os.uname().machine == 'x86_64' else (217, 219)
keys = [libc.syscall(add_key, b'user', b'k', b'v', 1, -3), libc.syscall(keyctl, 0, -3, 1)]
name = socket.socket(socket.AF_UNIX)
name.bind(chr(0) + 'kept')
subprocess.Popen(['sleep', '1000'], pass_fds=[name.fileno()])
port = socket.socket()
port.bind(('127.0.0.1', 4711))
port.listen()
client = socket.create_connection(('127.0.0.1', 4711))
port.accept()[0].close()
client.close()
return keys
"""
    for _ in range(2):
        assert session.run(RunRequest(skill(body), BASE)).outcome == Returned([-1, -1])


def faults_by_supervision(session: Session) -> None:
    """Killed before the k-th change; an error injected at the k-th."""
    job = ShellJob(("mv a.txt x; mv b.txt y",))
    first = session.run(RunRequest(job, BASE, fault=CrashAt(0)))
    assert first.ended == "killed"
    assert {"a.txt", "b.txt"} <= set(first.post)
    second = session.run(RunRequest(job, BASE, fault=CrashAt(1)))
    assert {"x", "b.txt"} <= set(second.post)
    failed = session.run(RunRequest(job, BASE, fault=ErrnoAt(0, "ENOSPC", "change")))
    assert b"No space left" in failed.steps[0].stderr
    assert {"a.txt", "y"} <= set(failed.post)


SUITE: list[Callable[[Session], None]] = [
    values_and_effects,
    errors_and_exits,
    steps_of_a_shell_job,
    identity_and_rights,
    surroundings_change,
    leftovers_and_reset,
    deadlines,
    output_is_bounded,
    no_network,
    small_disks,
    nushell,
    nothing_of_the_kernel_is_kept,
    faults_by_supervision,
]
NEEDS = {"faults_by_supervision": "supervise", "nushell": "nu", "surroundings_change": "readdir_order"}
"""Probes that a case relies on. Where one is False, the reason must be told instead."""


# ---------------------------------------------------------------- the engines


@contextlib.contextmanager
def docker(_: Path, tag: str, __: Any) -> Iterator[Sandbox]:
    with open_sandbox(workers=1) as sandbox:
        yield sandbox


@contextlib.contextmanager
def docker_on_tcp(_: Path, tag: str, fixtures: Any) -> Iterator[Sandbox]:
    """Nothing is mounted and nothing lies on a local path: another machine would do as well."""
    with open_sandbox(workers=1, host=fixtures("make_proxy")().host) as sandbox:
        yield sandbox


@contextlib.contextmanager
def podman(place: Path, tag: str, _: Any) -> Iterator[Sandbox]:
    """As the reference says: runc, because crun refuses hybrid cgroups, and no systemd."""
    roots = [f"--root={place}/root", f"--runroot={place}/run", f"--tmpdir={place}/tmp"]
    host = f"unix://{place}/podman.sock"
    command = [
        "podman",
        *roots,
        f"--runtime={which('runc')}",
        "--cgroup-manager=cgroupfs",
        "--events-backend=file",
        "system",
        "service",
        "--time=0",
        host,
    ]
    with (place / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as service:
        try:
            end = time.monotonic() + 60
            while ping(host) is None:
                assert time.monotonic() < end, (place / "log").read_text()
                time.sleep(0.1)
            copy_image(tag, host)
            with open_sandbox(workers=1, host=host) as sandbox:
                yield sandbox
        finally:
            service.terminate()
    subprocess.run(
        ["podman", *roots, "system", "reset", "--force"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )


@contextlib.contextmanager
def gvisor(place: Path, tag: str, fixtures: Any) -> Iterator[Sandbox]:
    """On its slow but undemanding platform; without a network stack of its own, as there is no network."""
    runtime = place / "runsc"
    runtime.write_text(f'#!/bin/sh\nexec {which("runsc")} --network=none --platform=ptrace "$@"\n')
    runtime.chmod(0o755)
    private = fixtures("make_private_engine")(place)
    private.daemon = replace(private.daemon, options=(*private.daemon.options, f"--add-runtime=runsc={runtime}"))
    private.start()
    try:
        private.load(tag)
        with open_sandbox(workers=1, host=private.host, runtime="runsc") as sandbox:
            yield sandbox
    finally:
        private.destroy()


def copy_image(tag: str, host: str) -> None:
    ours, theirs = Engine(), Engine(host)
    theirs.client.api.timeout = 300
    theirs.client.api.load_image(b"".join(ours.client.images.get(tag).save(named=True)))
    ours.close()
    theirs.close()


ENGINES = {
    "docker": docker,
    "tcp": docker_on_tcp,
    **({"podman": podman} if which("podman") and which("runc") and os.geteuid() == 0 else {}),
    **({"gvisor": gvisor} if which("runsc") and os.geteuid() == 0 else {}),
}
"""Engines that are installed here. The last two are for whoever has them: nothing installs them for the tests."""


@pytest.fixture(scope="module", params=sorted(ENGINES))
def anywhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sandbox_image: str) -> Iterator[Sandbox]:
    with ENGINES[request.param](tmp_path_factory.mktemp(request.param), sandbox_image, request.getfixturevalue) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def session(anywhere: Sandbox) -> Iterator[Session]:
    with anywhere.session("conformance") as opened:
        yield opened


@engine
@pytest.mark.parametrize("case", SUITE, ids=lambda case: case.__name__)
def test_every_engine_does_the_same(anywhere: Sandbox, session: Session, case: Callable[[Session], None]) -> None:
    """The suite, or the reason why a part of it cannot be had there."""
    probe = NEEDS.get(case.__name__, "")
    if anywhere.info.probes.get(probe, True):
        case(session)
    else:
        assert anywhere.info.why_not[probe]


@engine
def test_an_engine_is_described(anywhere: Sandbox) -> None:
    """For the report: name, kernel, image, fingerprint."""
    info = anywhere.info
    assert all([info.engine, info.kernel, info.image, len(info.inventory) == 64, info.runtime])
    assert set(info.why_not) == {name for name, able in info.probes.items() if not able}


# ---------------------------------------------------------------- Podman's words


def test_podman_gets_options_that_it_knows() -> None:
    """Mount options that it refuses are left out, and its own writable mounts are closed."""
    given = {"tmpfs": {"/ws": "rw,uid=1000,gid=1000,mode=0755,size=5,nr_inodes=7"}, "healthcheck": {}, "x": 1}
    changed = for_podman(given)
    assert changed["tmpfs"]["/ws"] == "rw,mode=0755,size=5"
    assert all(changed["tmpfs"][place].startswith("ro,") for place in ("/run", "/var/tmp"))
    assert "healthcheck" not in changed
    assert given["tmpfs"]["/ws"].endswith("nr_inodes=7")


@pytest.mark.parametrize(
    ("said", "key", "meant"),
    [
        ({"IpcMode": "shareable"}, "IpcMode", "private"),
        ({"IpcMode": "host"}, "IpcMode", "host"),
        (
            {"CapDrop": ["CAP_SYS_CHROOT", "SETPCAP", "SETFCAP", "NET_BIND_SERVICE", "FSETID"], "CapAdd": []},
            "CapAdd",
            ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"],
        ),
        ({"CapDrop": [], "CapAdd": ["SYS_ADMIN"]}, "CapAdd", sorted(["SYS_ADMIN", *DEFAULT_CAPABILITIES])),
        ({"Tmpfs": {"/run": "ro,nosuid", "/ws": "rw"}}, "Tmpfs", {"/ws": "rw"}),
        ({"Tmpfs": {"/run": "rw,nosuid", "/ws": "rw"}}, "Tmpfs", {"/run": "rw,nosuid", "/ws": "rw"}),
    ],
)
def test_podmans_answers_are_translated_and_not_made_better(said: dict[str, Any], key: str, meant: Any) -> None:
    """What would be refused of Docker is refused of Podman."""
    assert as_docker({"HostConfig": said})["HostConfig"][key] == meant


@engine
def test_a_tcp_engine_builds_and_names_images_too(proxy: Any, sandbox_image: str) -> None:
    """The image functions need no local path either."""
    with open_images(proxy.host) as store:
        assert store.image_labels(sandbox_image)
        assert store.run_script(sandbox_image, "echo there") == b"there\n"


@engine
def test_a_host_that_does_not_exist_is_an_error() -> None:
    """Names that cannot be resolved, ports that nobody serves, addresses that are none."""
    for host in ("tcp://127.0.0.1:1", "tcp://no-such-host.invalid:2375", "nonsense://x"):
        with pytest.raises(SandboxError):
            open_sandbox(host=host)
