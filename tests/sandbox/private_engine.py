"""A Docker daemon of the tests' own, which they may stop and kill."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

from sandbox import daemon, install
from sandbox.daemon import Daemon
from sandbox.engine import Engine


def unmount_below(place: Path) -> None:
    """Unmounts what an engine left mounted at or below a directory, the deepest first."""
    points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for point in sorted((p for p in points if p == str(place) or p.startswith(f"{place}/")), reverse=True):
        subprocess.run(["umount", "-l", point], check=False)


class PrivateEngine:
    """A Docker daemon of the tests' own, in a network namespace of its own (it would take another's bridge away)."""

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        wrapper = place / "private-dockerd"
        wrapper.write_text('#!/bin/sh\nexec unshare --net dockerd "$@"\n')
        wrapper.chmod(0o755)
        self.data = place / "data"
        self.process: int | None = None
        self.daemon = Daemon(
            str(wrapper),
            socket=place / "d.sock",
            pid_file=place / "d.pid",
            exec_root=place / "exec",
            log=place / "dockerd.log",
            options=(f"--data-root={self.data}", "--bridge=none", "--iptables=false", "--ip6tables=false"),
        )

    @property
    def host(self) -> str:
        return self.daemon.host

    def start(self) -> None:
        host = replace(install.Host.probe(), dockerd=self.daemon.binary, root=True)
        install.start(host, self.daemon, lambda _: None)
        self.process = daemon.pid_of(self.daemon.pid_file, "dockerd")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ends the daemon and waits until it is gone."""
        if self.process is not None:
            os.kill(self.process, number)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.process, 0)
            self.process = None

    def load(self, tag: str) -> None:
        """Copies an image of the usual engine into this one."""
        ours, theirs = Engine(), Engine(self.host)
        try:
            theirs.client.api.timeout = 300
            theirs.client.api.load_image(b"".join(ours.client.images.get(tag).save(named=True)))
        finally:
            ours.close()
            theirs.close()

    def destroy(self) -> None:
        self.stop()
        unmount_below(self.daemon.exec_root)
        unmount_below(self.data)
        shutil.rmtree(self.data, ignore_errors=True)
