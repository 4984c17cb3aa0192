"""Supervision without a kernel: the filter's decisions, the tables, and what the supervisor makes of a call."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest import memory, procs, reads, seccomp, syscalls
from sandbox.guest.supervisor import Notification, Seen, Supervisor

MACHINES = sorted(syscalls.NUMBERS)
CONTROL = 1000


def run_filter(machine: str, classes: tuple[str, ...], number: int, args: tuple[int, ...] = (), audit: int | None = None) -> int:
    """Interprets the filter as the kernel does; what it returns."""
    data = struct.pack("<iIQ6Q", number, syscalls.AUDIT[machine] if audit is None else audit, 0, *(args + (0,) * 6)[:6])
    program = seccomp.program(machine, classes, CONTROL)
    at, accumulator = 0, 0
    for _ in range(len(program)):
        code, true, false, operand = program[at]
        if code == 0x06:
            return operand
        if code == 0x20:
            accumulator, true, false = struct.unpack_from("<I", data, operand)[0], 0, 0
            at += 1
            continue
        hit = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: bool(accumulator & operand)}[code]
        at += 1 + (true if hit else false)
    raise AssertionError("the filter did not end")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("classes", [(), ("read",), ("write",), ("look",)])
def test_every_call_of_the_table_is_announced(machine: str, classes: tuple[str, ...]) -> None:
    """Calls that change something are announced on each machine; writes and looks only where they are asked for."""
    number = syscalls.numbers(machine)
    for name, meaning in syscalls.MEANINGS.items():
        if name not in number:
            continue
        args = [0, 0, 0, 0, 1, 16]
        if meaning.flags is not None and meaning.kind == "open":
            args[meaning.flags] = os.O_WRONLY
        expected = seccomp.NOTIFY if meaning.when not in ("write", "look") or meaning.when in classes else seccomp.ALLOW
        assert run_filter(machine, classes, number[name], tuple(args)) == expected, name


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_not_announced(machine: str) -> None:
    """Reading, plain sends, the control line and other architectures go on at once; rings are refused."""
    number = syscalls.numbers(machine)
    assert run_filter(machine, (), number["openat"], (0, 0, os.O_RDONLY | os.O_CLOEXEC)) == seccomp.ALLOW
    assert run_filter(machine, ("read",), number["openat"]) == seccomp.NOTIFY
    assert run_filter(machine, (), number["sendto"], (3, 1, 1, 0, 0, 0)) == seccomp.ALLOW
    assert run_filter(machine, (), number["sendto"], (3, 1, 1, 0, 1 << 40, 16)) == seccomp.NOTIFY
    assert run_filter(machine, (), number["sendmsg"], (CONTROL,)) == seccomp.ALLOW
    assert run_filter(machine, (), number["unlinkat"], audit=0x40000003) == seccomp.ALLOW
    assert run_filter(machine, (), number["io_uring_setup"]) & 0xFFFF0000 == seccomp.REFUSE
    assert run_filter(machine, (), 9999) == seccomp.ALLOW


@given(st.sampled_from(MACHINES), st.integers(0, 2**31 - 1), st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_the_filter_always_ends(machine: str, number: int, args: list[int]) -> None:
    """Any call gets one of the four answers."""
    assert run_filter(machine, ("read", "write"), number, tuple(args)) in (
        seccomp.ALLOW, seccomp.NOTIFY, seccomp.REFUSE | 38,
    )  # fmt: skip


def test_the_tables_agree() -> None:
    """Both machines know the calls that have no older form, no number is used twice, and every name has a meaning."""
    for machine in MACHINES:
        number = syscalls.numbers(machine)
        assert len(set(number.values())) == len(number)
        assert set(number) - set(syscalls.HIDDEN) - {"seccomp"} <= set(syscalls.MEANINGS)
        assert {"openat", "renameat2", "unlinkat", "fchmodat2", "connect"} <= set(number)
    with pytest.raises(LookupError, match="riscv64"):
        syscalls.numbers("riscv64")


# ---------------------------------------------------------------- decisions


def supervisor(fault: dict[str, Any] | None, root: Path = Path("/ws")) -> Supervisor:
    return Supervisor({"fault": fault}, str(root), ("/tmp", "/dev"), lambda: None, lambda: None)


CHANGE = Seen("rename", "rename", "/ws/a", "/ws/b", in_workspace=True, changes_tree=True)
WRITE = Seen("write", "write", "/ws/a", in_workspace=True, regular=True)
READ = Seen("openat", "open-read", "/ws/a", in_workspace=True, regular=True)


@pytest.mark.parametrize(
    ("calls", "sequence", "hit"),
    [
        ("change", [READ, WRITE, CHANGE, CHANGE], 3),
        ("torn", [READ, WRITE, CHANGE, WRITE], 2),
        ("write", [CHANGE, WRITE, READ, WRITE], 3),
        ("read", [READ, CHANGE, READ], 2),
        ("chmod", [CHANGE, Seen("fchmod", "chmod", "/ws/a", in_workspace=True)] * 2, 3),
    ],
)
def test_faults_count_their_own_calls(calls: str, sequence: list[Seen], hit: int) -> None:
    """k = 1 hits the second call of the class that is counted, and only that one."""
    watcher = supervisor({"type": "errno", "k": 1, "errno": "EIO", "calls": calls})
    answers = [watcher._decide(seen) for seen in sequence]
    assert [i for i, a in enumerate(answers) if a] == [hit]
    assert watcher.reached


def test_a_crash_is_no_answer() -> None:
    """The call at which the run is to end is never answered."""
    watcher = supervisor({"type": "crash", "k": 0, "calls": "change"})
    assert watcher._decide(READ) == 0
    assert watcher._decide(CHANGE) is None


def test_a_read_only_subtree() -> None:
    """Changes at and below the path are refused, reading and the rest of the tree are not."""
    watcher = supervisor({"type": "read-only", "path": "/ws/d"})
    below = Seen("openat", "create", "/ws/d/x", in_workspace=True, changes_tree=True)
    assert watcher._decide(below) == 30
    assert watcher._decide(Seen("rename", "rename", "/ws/a", "/ws/d/a", in_workspace=True, changes_tree=True)) == 30
    assert watcher._decide(Seen("openat", "open-read", "/ws/d/x", in_workspace=True)) == 0
    assert watcher._decide(Seen("openat", "create", "/ws/dx", in_workspace=True, changes_tree=True)) == 0


@pytest.mark.parametrize(
    ("name", "flags", "kind", "changes"),
    [
        ("new", os.O_WRONLY | os.O_CREAT, "create", True),
        ("old", os.O_WRONLY | os.O_CREAT | os.O_EXCL, "open-write", False),
        ("old", os.O_WRONLY | os.O_TRUNC, "open-write", True),
        ("new", os.O_WRONLY, "open-write", False),
        ("link", os.O_RDWR, "open-write", True),
        ("old", os.O_RDONLY, "open-read", False),
    ],
)
def test_opens(tmp_path: Path, name: str, flags: int, kind: str, changes: bool) -> None:
    """Flags and what is there decide what an open does; one that would fail changes nothing."""
    (tmp_path / "old").write_text("x")
    (tmp_path / "link").symlink_to("old")
    seen = supervisor(None, tmp_path)._opened(Notification(1, 1, "openat", ()), str(tmp_path / name), flags)
    assert seen is not None
    assert (seen.kind, seen.changes_tree) == (kind, changes)
    assert seen.truncates == bool(flags & os.O_TRUNC)


def test_a_link_that_leads_outside_is_outside(tmp_path: Path) -> None:
    """What counts is where a path really leads."""
    ws = tmp_path / "ws"
    ws.mkdir()
    (tmp_path / "out").write_text("x")
    (ws / "link").symlink_to("../out")
    seen = supervisor(None, ws)._opened(Notification(1, 1, "openat", ()), str(ws / "link"), os.O_WRONLY)
    assert seen is not None
    assert not seen.in_workspace
    assert supervisor(None, ws)._resolved(f"{ws}/../ws/a", 1) == f"{ws}/a"


def test_outside_is_what_nobody_empties() -> None:
    """/tmp and /dev are not outside; a rename counts with both its ends."""
    watcher = supervisor(None)
    for seen in (
        Seen("openat", "create", "/etc/evil"), Seen("rename", "rename", "/ws/a", "/opt/a", in_workspace=True),
        Seen("openat", "open-write", "/tmp/x"), Seen("openat", "open-write", "/dev/null"), Seen("mkdir", "mkdir", "/usr"),
        Seen("connect", "connect", "1.2.3.4:5", family="inet"), Seen("sendto", "connect", "netlink", family="netlink"),
    ):  # fmt: skip
        watcher._note(seen)
    assert watcher.outside == ["openat /etc/evil", "rename /ws/a /opt/a"]
    assert watcher.network == ["connect inet 1.2.3.4:5"]
    assert [c["index"] for c in watcher.log] == list(range(7))


# ---------------------------------------------------------------- parsers


@given(st.binary(max_size=128))
def test_any_socket_address_is_described(data: bytes) -> None:
    """Addresses come out of a job's memory."""
    family, text = memory.described(data)
    assert family
    assert isinstance(text, str)


def test_known_socket_addresses() -> None:
    """The usual families are readable."""
    assert memory.described(struct.pack("<HHBBBB", 2, 0x5000, 10, 0, 0, 1) + bytes(8)) == ("inet", "10.0.0.1:80")
    loopback = struct.pack("<HHI", 10, 0x5000, 0) + bytes(15) + b"\x01" + bytes(4)
    assert memory.described(loopback) == ("inet6", "[0:0:0:0:0:0:0:1]:80")
    assert memory.described(b"\x01\x00\x00name") == ("unix", "@name")


@given(st.binary(max_size=100))
def test_cut_inotify_events_end(data: bytes) -> None:
    """A cut event is not read beyond its end."""
    assert all(isinstance(name, str) for _, _, name in reads.parse(data))


def test_network_counters() -> None:
    """Counters that rose are described, whatever their file's layout."""
    before = "Ip: InReceives OutNoRoutes\nIp: 5 1\nTcp: ActiveOpens\nTcp: 0\nIp6OutNoRoutes   0\n"
    after = before.replace("5 1", "9 3").replace("Ip6OutNoRoutes   0", "Ip6OutNoRoutes   1")
    assert procs.network_attempts(before, after) == ["2 packets without a route", "1 IPv6 packets without a route"]
    assert procs.network_attempts(before, before) == []


@given(st.text(), st.text())
def test_any_counters_can_be_read(before: str, after: str) -> None:
    """A kernel with other files gives no attempts, and no crash."""
    assert isinstance(procs.network_attempts(before, after), list)
