"""Brings a Docker Engine up on this machine: starts an installed one, installs one first where told so."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.daemon import Daemon, Say, pid_of, read_lines, spawn, sweep_stale, wait_until_it_answers
from sandbox.interface import Cause, SandboxError

PACKAGES = ("docker.io", "mmdebstrap")
"""The engine, and what builds an image where no base image can be pulled."""


@dataclass(frozen=True, slots=True)
class Host:
    """What there is to know about this machine before anything is done to it."""

    root: bool
    linux: bool
    os_ids: tuple[str, ...]
    """ID and ID_LIKE of /etc/os-release."""
    systemd: bool
    dockerd: str | None
    apt_get: str | None
    apparmor: bool
    cgroups: bool
    """Some cgroup file system is mounted."""

    @classmethod
    def probe(cls) -> Host:
        """Reads the facts off the running system."""
        release = read_os_release(Path("/etc/os-release"))
        return cls(
            root=os.geteuid() == 0,
            linux=os.uname().sysname == "Linux",
            os_ids=(release.get("ID", ""), *release.get("ID_LIKE", "").split()),
            systemd=Path("/run/systemd/system").is_dir(),
            dockerd=which("dockerd"),
            apt_get=which("apt-get"),
            apparmor=_first_byte(Path("/sys/module/apparmor/parameters/enabled")) == "Y",
            cgroups=any(line.split()[2:3] in (["cgroup"], ["cgroup2"]) for line in read_lines(Path("/proc/mounts"))),
        )


def read_os_release(path: Path) -> Mapping[str, str]:
    """The keys of an os-release file, unquoted; empty where it cannot be read."""
    pairs = (line.partition("=") for line in read_lines(path) if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}


def which(name: str) -> str | None:
    """The path of a program, looked for in the directories of system programs too."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")


def up(install: bool, say: Say) -> None:
    """Makes sure that a Docker Engine answers. Nothing is installed or started where one does.

    Args:
        install: allowed to install the engine's packages (as root, on Debian and Ubuntu).
        say: told what is going to be done, before it is done.

    Raises:
        SandboxError: no engine answers and none can be brought up; the advice says what to install or start.
    """
    from sandbox.engine import ping

    answer = ping()
    if answer is not None:
        say(f"a Docker Engine answers ({answer}); nothing to install or start")
        return
    refuse_foreign_host(os.environ)
    host = Host.probe()
    if host.dockerd is None:
        install_packages(host, say, allowed=install)
        host = Host.probe()
    if host.dockerd is None:
        raise SandboxError(
            Cause.ENGINE_MISSING, "the packages are installed, yet there is no dockerd", "Look at the output of apt-get above"
        )
    start(host, Daemon(host.dockerd), say)


def refuse_foreign_host(environ: Mapping[str, str]) -> None:
    """Raises SandboxError where DOCKER_HOST names an engine that is not this machine's to start."""
    named = environ.get("DOCKER_HOST", "")
    if named not in ("", "unix:///var/run/docker.sock", "unix:///run/docker.sock"):
        raise SandboxError(
            Cause.ENGINE_LOST, f"the engine of DOCKER_HOST={named} does not answer", "Start it there, or unset DOCKER_HOST"
        )


def install_packages(host: Host, say: Say, *, allowed: bool) -> None:
    """Installs the engine's packages with apt-get.

    Raises:
        SandboxError: not root, not Debian or Ubuntu, not allowed, or apt-get failed. One sentence says what to install.
    """
    names = [*PACKAGES, *(["apparmor"] if host.apparmor else []), *([] if host.cgroups else ["cgroupfs-mount"])]
    command = f"apt-get install --no-install-recommends {' '.join(names)}"
    missing = "no Docker Engine answers and none is installed"
    if not host.linux:
        raise SandboxError(Cause.ENGINE_MISSING, missing, "Install Docker Desktop (or set DOCKER_HOST to an engine elsewhere)")
    if host.apt_get is None or not {"debian", "ubuntu"} & set(host.os_ids):
        raise SandboxError(
            Cause.ENGINE_MISSING, missing, "Install Docker Engine with your system's packages and start its daemon"
        )
    if not host.root:
        raise SandboxError(Cause.ENGINE_MISSING, missing, f"As root, run: {command}")
    if not allowed:
        raise SandboxError(Cause.ENGINE_MISSING, missing, f"Run: assay engine up --install (it runs {command})")
    say(f"installing with apt-get: {', '.join(names)}")
    lock = ("-o", "DPkg::Lock::Timeout=300")
    _apt(host.apt_get, [*lock, "-q", "update"], fatal=False)
    _apt(host.apt_get, [*lock, "-q", "install", "-y", "--no-install-recommends", *names], fatal=True)


def _apt(apt_get: str, args: list[str], *, fatal: bool) -> None:
    """Runs apt-get without questions; its output goes to stderr, so that stdout stays the report's."""
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run([apt_get, *args], env=env, stdin=subprocess.DEVNULL, stdout=2, check=False)
    if fatal and done.returncode != 0:
        text = f"apt-get {' '.join(args)} failed with exit code {done.returncode}"
        raise SandboxError(
            Cause.ENGINE_MISSING, text, "Its last lines say why (network, disk or a broken package); repair that and run it again"
        )


def start(host: Host, daemon: Daemon, say: Say) -> None:
    """Starts the installed daemon and returns when it answers.

    Raises:
        SandboxError: not root, or the daemon ended or does not answer; the last lines of its log are in the message.
    """
    if not host.root:
        raise SandboxError(
            Cause.ENGINE_DENIED,
            "a Docker Engine is installed but does not answer this user",
            "Start it (sudo systemctl start docker), and add the user to the group docker if the socket refuses it",
        )
    if host.systemd and daemon.options == ():
        say("starting the Docker Engine: systemctl start docker")
        subprocess.run(["systemctl", "start", "docker"], stdin=subprocess.DEVNULL, stdout=2, check=False)
        wait_until_it_answers(daemon, None, say)
        return
    if not host.cgroups and (mount := which("cgroupfs-mount")):
        say("mounting the cgroup file systems: cgroupfs-mount")
        subprocess.run([mount], stdin=subprocess.DEVNULL, stdout=2, check=False)
    running = pid_of(daemon.pid_file, "dockerd")
    if running is not None:
        say(f"a Docker daemon is already starting (process {running}); waiting for it")
        wait_until_it_answers(daemon, None, say)
        return
    sweep_stale(daemon, say)
    say(f"starting the Docker Engine: {daemon.binary} (log: {daemon.log})")
    try:
        wait_until_it_answers(daemon, spawn(daemon), say)
    except SandboxError as first:
        if not _is_network_trouble(first.what) or "--bridge=none" in daemon.options:
            raise
        say("the daemon cannot set up its bridge network here; starting it without one (the sandbox uses none)")
        sweep_stale(daemon, say)
        wait_until_it_answers(daemon, spawn(daemon, "--iptables=false", "--ip6tables=false", "--bridge=none"), say)


def _is_network_trouble(text: str) -> bool:
    return "network controller" in text or "iptables" in text


def _first_byte(path: Path) -> str:
    return "".join(read_lines(path))[:1]
