"""Bringing an engine up: what is installed, what is refused, and which leftovers of dead daemons are believed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import daemon, install
from sandbox.daemon import Daemon
from sandbox.install import Host
from sandbox.interface import Cause, SandboxError

DEBIAN = Host(
    root=True,
    linux=True,
    os_ids=("debian",),
    systemd=False,
    dockerd=None,
    apt_get="/usr/bin/apt-get",
    apparmor=False,
    cgroups=True,
)


def script(path: Path, text: str) -> str:
    """A program at ``path`` that runs ``text``."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def apt_log(tmp_path: Path) -> tuple[str, Path]:
    """An apt-get that only writes down how it was called, and where it does."""
    log = tmp_path / "calls"
    return script(tmp_path / "apt-get", f'echo "$DEBIAN_FRONTEND $*" >> {log}'), log


def test_root_on_debian_installs_after_saying_so(apt_log: tuple[str, Path]) -> None:
    """The packages are named before apt-get runs, and apt-get asks no questions."""
    apt_get, log = apt_log
    said: list[str] = []
    install.install_packages(replace(DEBIAN, apt_get=apt_get), said.append, allowed=True)
    assert said == ["installing with apt-get: docker.io, mmdebstrap"]
    update, installed = log.read_text().splitlines()
    assert update.startswith("noninteractive ")
    assert update.endswith(" update")
    assert installed.endswith(" install -y --no-install-recommends docker.io mmdebstrap")


def test_what_the_machine_lacks_is_installed_with_it(apt_log: tuple[str, Path]) -> None:
    """AppArmor kernels need the parser, machines without cgroup mounts the mounting script."""
    apt_get, log = apt_log
    host = replace(DEBIAN, apt_get=apt_get, apparmor=True, cgroups=False)
    install.install_packages(host, lambda _: None, allowed=True)
    assert log.read_text().splitlines()[1].endswith(" docker.io mmdebstrap apparmor cgroupfs-mount")


@pytest.mark.parametrize(
    ("host", "allowed", "advice"),
    [
        (replace(DEBIAN, root=False), True, "As root, run: apt-get install --no-install-recommends docker.io mmdebstrap"),
        (DEBIAN, False, "assay engine up --install"),
        (replace(DEBIAN, os_ids=("fedora",)), True, "Install Docker Engine with your system's packages"),
        (replace(DEBIAN, apt_get=None), True, "Install Docker Engine with your system's packages"),
        (replace(DEBIAN, linux=False), True, "Install Docker Desktop"),
    ],
    ids=["not-root", "not-allowed", "other-system", "no-apt", "not-linux"],
)
def test_refusals_say_in_one_sentence_what_to_install(host: Host, allowed: bool, advice: str) -> None:
    """Nothing runs; the error names the next command to type."""
    with pytest.raises(SandboxError) as caught:
        install.install_packages(host, lambda text: pytest.fail(f"said {text}"), allowed=allowed)
    assert caught.value.cause is Cause.ENGINE_MISSING
    assert advice in caught.value.diagnostics()


def test_a_failing_apt_get_is_an_error(tmp_path: Path) -> None:
    """A broken archive does not count as installed."""
    host = replace(DEBIAN, apt_get=script(tmp_path / "apt-get", "exit 100"))
    with pytest.raises(SandboxError, match="failed with exit code 100"):
        install.install_packages(host, lambda _: None, allowed=True)


def test_an_answering_engine_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an engine there, nothing is installed or started."""
    monkeypatch.setattr("sandbox.engine.ping", lambda host=None: "24.0")
    monkeypatch.setattr(install, "install_packages", lambda *a, **k: pytest.fail("installs"))
    monkeypatch.setattr(install, "start", lambda *a, **k: pytest.fail("starts"))
    said: list[str] = []
    install.up(True, said.append)
    assert said == ["a Docker Engine answers (24.0); nothing to install or start"]


def test_an_installed_engine_is_only_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """dockerd is there but silent: it is started, and nothing is installed."""
    started: list[str] = []
    monkeypatch.setattr("sandbox.engine.ping", lambda host=None: None)
    monkeypatch.setattr(Host, "probe", classmethod(lambda cls: replace(DEBIAN, dockerd="/usr/sbin/dockerd")))
    monkeypatch.setattr(install, "install_packages", lambda *a, **k: pytest.fail("installs"))
    monkeypatch.setattr(install, "start", lambda host, process, say: started.append(process.binary))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    install.up(False, lambda _: None)
    assert started == ["/usr/sbin/dockerd"]


@pytest.mark.parametrize("named", ["tcp://10.0.0.1:2375", "ssh://builder", "unix:///run/user/1000/docker.sock"])
def test_an_engine_elsewhere_is_not_replaced_by_a_local_one(named: str) -> None:
    """DOCKER_HOST says where runs belong; a silent one there is an error, not a reason to start one here."""
    with pytest.raises(SandboxError, match="does not answer"):
        install.refuse_foreign_host({"DOCKER_HOST": named})


def test_the_usual_socket_is_no_foreign_host() -> None:
    """Naming the default socket changes nothing."""
    install.refuse_foreign_host({"DOCKER_HOST": "unix:///var/run/docker.sock"})
    install.refuse_foreign_host({})


def test_a_user_without_rights_is_told_what_to_start() -> None:
    """Only root can start the daemon."""
    with pytest.raises(SandboxError, match="does not answer this user") as caught:
        install.start(replace(DEBIAN, root=False), Daemon("/usr/sbin/dockerd"), lambda _: None)
    assert caught.value.cause is Cause.ENGINE_DENIED


@given(
    st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), st.text("abc 12.-", max_size=8)),
    st.sampled_from(["", '"', "'"]),
)
def test_os_release_values_come_back_unquoted(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, str], quote: str
) -> None:
    """Every key that was written is read, with or without quotes."""
    path = tmp_path_factory.mktemp("etc") / "os-release"
    path.write_text("# comment\n" + "".join(f"{k}={quote}{v.strip()}{quote}\n" for k, v in values.items()))
    assert install.read_os_release(path) == {k: v.strip() for k, v in values.items()}


def test_an_absent_os_release_is_empty(tmp_path: Path) -> None:
    """Other systems have none."""
    assert install.read_os_release(tmp_path / "none") == {}


# ---------------------------------------------------------------- daemons and what they leave


@pytest.fixture
def places(tmp_path: Path) -> Daemon:
    """A daemon whose files are all below a temporary directory."""
    (tmp_path / "exec/containerd").mkdir(parents=True)
    return Daemon(
        script(tmp_path / "dockerd", 'echo "failed to start daemon: no luck" >&2; exit 1'),
        socket=tmp_path / "docker.sock",
        pid_file=tmp_path / "docker.pid",
        exec_root=tmp_path / "exec",
        system_containerd=tmp_path / "containerd.sock",
        log=tmp_path / "log" / "dockerd.log",
        options=("--bridge=none",),
    )


@pytest.mark.parametrize(
    "content", ["", "abc", "99999999", "-1", f"{os.getpid()}"], ids=["empty", "words", "gone", "negative", "somebody-else"]
)
def test_a_pid_file_is_believed_only_if_it_names_the_daemon(tmp_path: Path, content: str) -> None:
    """A number that another process has got since is no running daemon."""
    path = tmp_path / "docker.pid"
    path.write_text(content)
    assert daemon.pid_of(path, "dockerd") is None


def test_a_zombie_of_that_name_is_not_believed(tmp_path: Path) -> None:
    """Where nobody reaps orphans, a dead daemon keeps its number: dockerd itself would take it for alive."""
    path = tmp_path / "x.pid"
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    path.write_text(f"{child}\n")
    assert daemon.pid_of(path, Path("/proc/self/comm").read_text().strip()) is None
    os.waitpid(child, 0)


def test_a_living_process_of_that_name_is_believed(tmp_path: Path) -> None:
    """The file names a process that is what it should be."""
    path = tmp_path / "x.pid"
    path.write_text(f"{os.getpid()}\n")
    assert daemon.pid_of(path, Path("/proc/self/comm").read_text().strip()) == os.getpid()


def test_leftovers_of_a_dead_daemon_are_swept(places: Daemon) -> None:
    """Pid files of others and a containerd socket that nobody serves go, each with a sentence."""
    places.pid_file.write_text(f"{os.getpid()}")
    (places.exec_root / "containerd/containerd.pid").write_text("99999999")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(places.system_containerd))
    said: list[str] = []
    daemon.sweep_stale(places, said.append)
    assert len(said) == 3
    assert not places.pid_file.exists()
    assert not (places.exec_root / "containerd/containerd.pid").exists()
    assert not places.system_containerd.exists()


def test_the_containerd_of_a_dead_daemon_is_ended(places: Daemon, tmp_path: Path) -> None:
    """It is told from other processes by its name and by the directory that it serves."""
    named = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'containerd', 0, 0, 0); print(1, flush=True); time.sleep(60)"
    pid_file = places.exec_root / "containerd/containerd.pid"
    for serves, ended in ((tmp_path / "elsewhere", False), (places.exec_root / "containerd/containerd.toml", True)):
        with subprocess.Popen([sys.executable, "-c", named, str(serves)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            pid_file.write_text(str(process.pid))
            said: list[str] = []
            daemon.end_orphan(places, said.append, patience_s=0.5)
            assert bool(said) is ended
            if not ended:
                assert process.poll() is None
                process.kill()
            assert process.wait(timeout=60) in (-signal.SIGTERM, -signal.SIGKILL)


def test_a_served_containerd_socket_stays(places: Daemon) -> None:
    """A system's own containerd is not disturbed."""
    with socket.socket(socket.AF_UNIX) as alive:
        alive.bind(str(places.system_containerd))
        alive.listen()
        daemon.sweep_stale(places, lambda text: pytest.fail(text))
    assert places.system_containerd.exists()


def test_a_daemon_that_ends_at_once_is_an_error_with_its_last_words(places: Daemon) -> None:
    """The reader sees why, and where the log is."""
    with pytest.raises(SandboxError, match="ended at once: failed to start daemon: no luck") as caught:
        install.start(replace(DEBIAN, dockerd=places.binary), places, lambda _: None)
    assert str(places.log) in caught.value.diagnostics()


def test_a_daemon_without_network_is_started_again_without_one(places: Daemon, tmp_path: Path) -> None:
    """The sandbox needs no bridge: trouble with it is no reason to have no engine."""
    calls = tmp_path / "calls"
    binary = script(
        tmp_path / "dockerd", f'echo "$*" >> {calls}; echo "Error initializing network controller: iptables" >&2; exit 1'
    )
    said: list[str] = []
    with pytest.raises(SandboxError, match="ended at once"):
        install.start(DEBIAN, replace(places, binary=binary, options=()), said.append)
    assert "--bridge=none" in calls.read_text().splitlines()[1]
    assert any("without one" in text for text in said)


def test_a_daemon_that_never_answers_is_an_error(places: Daemon) -> None:
    """Waiting is bounded."""
    with pytest.raises(SandboxError, match="does not answer after 0 s") as caught:
        daemon.wait_until_it_answers(places, None, lambda _: None, timeout_s=0.3)
    assert caught.value.cause is Cause.ENGINE_LOST


@pytest.fixture
def killed_at_the_end(short_path: Path) -> Iterator[Path]:
    """A pid file; the daemon that it names at the end is stopped."""
    path = short_path / "real.pid"
    yield path
    pid = daemon.pid_of(path, "dockerd")
    if pid is not None:
        subprocess.run(["kill", str(pid)], check=True)
        os.waitpid(pid, 0)


@pytest.mark.engine
def test_a_real_daemon_starts_over_the_leftovers_of_another(short_path: Path, killed_at_the_end: Path) -> None:
    """A private daemon comes up although its pid files name living processes that are no daemons."""
    # In a network namespace of its own: a second daemon would take the first one's bridge away.
    binary = script(short_path / "private-dockerd", 'exec unshare --net dockerd "$@"')
    place = Daemon(
        binary,
        socket=short_path / "d.sock",
        pid_file=killed_at_the_end,
        exec_root=short_path / "exec",
        log=short_path / "dockerd.log",
        options=(f"--data-root={short_path}/data", "--bridge=none", "--iptables=false", "--ip6tables=false"),
    )
    (short_path / "exec/containerd").mkdir(parents=True)
    for stale in (place.pid_file, place.exec_root / "containerd/containerd.pid"):
        stale.write_text(f"{os.getpid()}")
    said: list[str] = []
    install.start(replace(DEBIAN, dockerd=binary), place, said.append)
    assert "the Docker Engine answers" in said[-1]
    assert daemon.pid_of(place.pid_file, "dockerd") is not None
