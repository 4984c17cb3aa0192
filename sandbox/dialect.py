"""Podman's Docker-compatible service: what it calls otherwise, or does of its own accord. Pure functions.

Source: podman 4.3.1, as measured; ``podman-create(1)`` for the defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

UNKNOWN_MOUNT_OPTIONS = re.compile(r",(nr_inodes|uid|gid)=\d+")
"""The runner takes the places for the job; the memory limit bounds how many files there can be."""

OWN_MOUNTS = ("/run", "/var/tmp")
"""Writable file systems that it adds to a read-only container, unless something is mounted there."""

DEFAULT_CAPABILITIES = frozenset(
    (
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)
"""It lists capabilities as a difference from these."""


def for_podman(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options for ``containers.create`` in the words that Podman knows."""
    tmpfs = {place: UNKNOWN_MOUNT_OPTIONS.sub("", how) for place, how in options["tmpfs"].items()}
    closed = {place: "ro,noexec,nosuid,nodev,size=4096" for place in OWN_MOUNTS if place not in tmpfs}
    changed = {**options, "tmpfs": tmpfs | closed}
    changed.pop("healthcheck", None)  # even switching it off asks for systemd
    return changed


def as_docker(inspected: Mapping[str, Any]) -> dict[str, Any]:
    """Podman's answer to an inspection in Docker's words, so that one judge serves both. Nothing is made better."""
    host = dict(inspected.get("HostConfig") or {})
    if host.get("IpcMode") == "shareable":
        host["IpcMode"] = "private"  # a namespace of its own, which another container could ask to join
    tmpfs = host.get("Tmpfs") or {}
    host["Tmpfs"] = {p: how for p, how in tmpfs.items() if p not in OWN_MOUNTS or "ro" not in str(how).split(",")}
    added = {str(c).upper().removeprefix("CAP_") for c in host.get("CapAdd") or ()}
    dropped = {str(c).upper().removeprefix("CAP_") for c in host.get("CapDrop") or ()}
    if "ALL" not in dropped:
        host["CapAdd"] = sorted((DEFAULT_CAPABILITIES | added) - dropped)
    return {**inspected, "HostConfig": host}
