"""Container options, and the refusal to run where one of them had no effect."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sandbox.container import CAPABILITIES, ContainerSpec, create_options, deviations

SPEC = ContainerSpec(image="sha256:1", mounts=("/repo",))


def honoured() -> dict[str, Any]:
    """What an engine says of a container that is as it was ordered."""
    return {
        "HostConfig": {
            "NetworkMode": "none", "ReadonlyRootfs": True, "Privileged": False, "IpcMode": "private", "PidsLimit": 152,
            "Memory": SPEC.memory_bytes, "AutoRemove": True, "CapAdd": [f"CAP_{c}" for c in CAPABILITIES], "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"], "Binds": None, "Tmpfs": SPEC.tmpfs(), "LogConfig": {"Type": "none"},
            "Devices": [], "PidMode": "", "Runtime": "runc",
        },
        "Config": {"Tty": False, "OpenStdin": True},
        "Mounts": [],
    }  # fmt: skip


def test_an_honest_engine_passes() -> None:
    """Nothing is said where every option took effect."""
    assert deviations(SPEC, honoured()) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("NetworkMode", "bridge"), ("ReadonlyRootfs", False), ("Privileged", True), ("IpcMode", "shareable"), ("PidsLimit", None),
        ("Memory", 0), ("AutoRemove", False), ("CapAdd", ["CAP_SYS_ADMIN"]), ("CapAdd", None), ("CapDrop", None),
        ("SecurityOpt", None),
        ("SecurityOpt", ["no-new-privileges", "seccomp=unconfined"]), ("Binds", ["/:/host"]), ("Tmpfs", {"/tmp": ""}),
        ("LogConfig", {"Type": "json-file"}), ("Devices", [{"PathOnHost": "/dev/kvm"}]), ("PidMode", "host"),
    ],
)  # fmt: skip
def test_each_ignored_option_is_seen(key: str, value: object) -> None:
    """An engine that ignores one option is not run on."""
    said = honoured()
    said["HostConfig"][key] = value
    assert len(deviations(SPEC, said)) == 1


@pytest.mark.parametrize(
    "change",
    [{"Mounts": [{"Type": "volume", "Destination": "/data"}]}, {"Config": {"Tty": True, "OpenStdin": True}}, {"HostConfig": {}}],
)
def test_volumes_and_terminals_are_seen(change: dict[str, Any]) -> None:
    """An image with a VOLUME, or a terminal, is refused as well."""
    assert deviations(SPEC, {**copy.deepcopy(honoured()), **change})


def test_another_runtime_must_be_the_one_asked_for() -> None:
    """``runsc`` asked for and ``runc`` got is no run."""
    spec = ContainerSpec(image="i", runtime="runsc", mounts=("/repo",))
    assert deviations(spec, honoured()) == ["the runtime is 'runc' instead of 'runsc'"]


def test_nothing_of_the_host_is_ordered() -> None:
    """No bind mount, no volume, no network, no privilege; jobs may write to tmpfs only."""
    options = create_options(SPEC)
    assert not {"volumes", "mounts", "devices", "privileged", "ports", "pid_mode"} & set(options)
    assert options["cap_drop"] == ["ALL"]
    assert options["network_mode"] == "none"
    assert options["read_only"] is True
    assert set(options["tmpfs"]) == {"/ws", "/mnt/ws", "/repo", "/home/agent", "/tmp"}
    assert all("nosuid,nodev" in o and "size=" in o and "nr_inodes=" in o for o in options["tmpfs"].values())


def test_a_workspace_in_tmp_is_not_scratch() -> None:
    """A workspace that is mounted over /tmp is not also a place whose files are leftovers."""
    spec = ContainerSpec(image="i", mounts=("/tmp",))
    assert "/tmp" in spec.workdirs
    assert "/tmp" not in spec.scratch
    assert "uid=1000" in spec.tmpfs()["/tmp"]
