"""What a container of ours is allowed, and the proof by inspection that the engine really made it so. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.bundle import BOOT

WORKSPACE = "/ws"
OTHER_WORKSPACE = "/mnt/ws"
HOME = "/home/agent"
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")

LABEL = "assay.owner"
LABEL_SUBJECT = "assay.subject"
LABEL_INSTANCE = "assay.instance"
"""Of one connection, so that it can find what it made without being told."""

MOUNTABLE = re.compile(r"/(home/[^,]+|work[^,]*|(repo|testbed|app|tmp)(/[^,]+)?)")
"""Where a foreign trace's workspace may be mounted (docs/semantics.md, "Absolute paths")."""

_SPARE_PROCESSES = 24
"""For the runner and its warm parents, on top of what a job may have."""


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """The part of a container that differs between runs. Equal specs can serve the same requests."""

    image: str
    runtime: str | None = None
    mounts: tuple[str, ...] = ()
    """Further workspace mounts, absolute."""
    ws_bytes: int = 128 << 20
    ws_inodes: int = 65_536
    processes: int = 128
    memory_bytes: int = 768 << 20
    labels: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def workdirs(self) -> tuple[str, ...]:
        return (WORKSPACE, OTHER_WORKSPACE, *self.mounts)

    @property
    def scratch(self) -> tuple[str, ...]:
        """Writable places that are not workspaces. All are emptied after each run."""
        return tuple(p for p in ("/tmp", HOME, "/dev/shm", "/dev/mqueue") if p not in self.mounts)

    def tmpfs(self) -> dict[str, str]:
        """Mount point -> options, as the engine takes them."""
        job = "rw,exec,nosuid,nodev,uid=1000,gid=1000,mode=0755"
        out = dict.fromkeys(self.workdirs, f"{job},size={self.ws_bytes},nr_inodes={self.ws_inodes}")
        out.setdefault(HOME, f"{job},size={64 << 20},nr_inodes=16384")
        out.setdefault("/tmp", f"rw,exec,nosuid,nodev,mode=1777,size={64 << 20},nr_inodes=16384")
        return out


def create_options(spec: ContainerSpec) -> dict[str, Any]:
    """Keyword arguments for the SDK's ``containers.create``."""
    return {
        "image": spec.image,
        "entrypoint": [],
        "command": ["python3", "-I", "-S", "-B", "-c", BOOT % 0],
        "user": "0:0",
        "working_dir": "/",
        "hostname": "sandbox",
        "environment": {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
        "use_config_proxy": False,  # the host's own proxies, with their passwords, would be put into the environment
        "labels": dict(spec.labels),
        "runtime": spec.runtime,
        "stop_signal": "SIGKILL",  # PID 1 hears no other, and an engine that shuts down would wait for it
        "stdin_open": True,
        "tty": False,
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "cap_add": list(CAPABILITIES),
        "security_opt": ["no-new-privileges"],
        "ipc_mode": "private",
        "tmpfs": spec.tmpfs(),
        "shm_size": 16 << 20,
        "pids_limit": spec.processes + _SPARE_PROCESSES,
        "mem_limit": spec.memory_bytes,
        "memswap_limit": spec.memory_bytes,
        "nano_cpus": 2 * 10**9,
        "log_config": {"type": "none"},
        "auto_remove": True,
        "init": False,
        "healthcheck": {"test": ["NONE"]},
        "ulimits": [
            {"name": "core", "soft": 0, "hard": 0},
            {"name": "nofile", "soft": 4096, "hard": 4096},
            {"name": "nproc", "soft": 4096, "hard": 4096},
        ],
    }


def deviations(spec: ContainerSpec, inspected: Mapping[str, Any]) -> list[str]:
    """What the engine did not do as it was told, one sentence each; empty when every option took effect."""
    return list(_deviations(spec, inspected))


def _deviations(spec: ContainerSpec, inspected: Mapping[str, Any]) -> Iterator[str]:
    host, config = inspected.get("HostConfig", {}), inspected.get("Config", {})
    expected = {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "Privileged": False,
        "IpcMode": "private",
        "PidsLimit": spec.processes + _SPARE_PROCESSES,
        "Memory": spec.memory_bytes,
        "AutoRemove": True,
    }
    for key, value in expected.items():
        if host.get(key) != value:
            yield f"{key} is {host.get(key)!r} instead of {value!r}"
    if {c.upper().removeprefix("CAP_") for c in host.get("CapAdd") or ()} != set(CAPABILITIES):
        yield f"CapAdd is {host.get('CapAdd')!r}"
    if not _drops_all(host):
        yield f"CapDrop is {host.get('CapDrop')!r} instead of ALL"
    if not any(str(o).startswith("no-new-privileges") for o in host.get("SecurityOpt") or ()):
        yield "no-new-privileges is not set"
    if any("unconfined" in str(o) for o in host.get("SecurityOpt") or ()):
        yield f"SecurityOpt is {host.get('SecurityOpt')!r}"
    if host.get("Binds") or [m for m in inspected.get("Mounts") or () if m.get("Type") != "tmpfs"]:
        yield "something of the host or a volume is mounted"
    if set(host.get("Tmpfs") or ()) != set(spec.tmpfs()):
        yield f"tmpfs mounts are {sorted(host.get('Tmpfs') or ())} instead of {sorted(spec.tmpfs())}"
    if (host.get("LogConfig") or {}).get("Type") not in ("none", "k8s-file"):
        yield f"the log driver is {host.get('LogConfig')!r}"
    if host.get("Devices") or host.get("PidMode") not in ("", "private", None):
        yield "devices or another PID namespace are in reach"
    if config.get("Tty") or not config.get("OpenStdin"):
        yield "stdin is not a plain pipe"
    if spec.runtime is not None and host.get("Runtime") != spec.runtime:
        yield f"the runtime is {host.get('Runtime')!r} instead of {spec.runtime!r}"


def _drops_all(host: Mapping[str, Any]) -> bool:
    """Docker repeats ``ALL``; Podman lists what ALL stood for."""
    dropped = {str(c).upper().removeprefix("CAP_") for c in host.get("CapDrop") or ()}
    return "ALL" in dropped or {"NET_RAW", "SYS_CHROOT", "SETPCAP", "NET_BIND_SERVICE"} <= dropped
