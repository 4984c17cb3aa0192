"""The lock on system calls: its filter decides as it should on both machines, for every call and every set of flags."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest import guard, syscalls
from sandbox.guest.seccomp import ALLOW, REFUSE

MACHINES = sorted(guard.REFUSED)
EPERM, ENOSYS = REFUSE | errno.EPERM, REFUSE | errno.ENOSYS


def decide(machine: str, number: int, arg0: int = 0, arch: int | None = None) -> int:
    """What the kernel's interpreter would return: the six instructions that the filter uses."""
    data = {guard._ARCH: syscalls.AUDIT[machine] if arch is None else arch, guard._NR: number, guard._ARG0: arg0 & 0xFFFFFFFF}
    filled, at, held = guard.program(machine), 0, 0
    while True:
        code, yes, no, operand = filled[at]
        at += 1
        if code == guard._RET:
            return operand
        if code == guard._LD_W_ABS:
            held = data[operand]
        else:
            true = {guard._JEQ: held == operand, guard._JGE: held >= operand, guard._JSET: bool(held & operand)}[code]
            at += yes if true else no


@pytest.mark.parametrize("machine", MACHINES)
def test_every_listed_call_is_answered_as_listed(machine: str) -> None:
    """EPERM for what nobody needs, ENOSYS for what has another way."""
    for number in (guard.REFUSED[machine] | guard.REFUSED_EVERYWHERE).values():
        assert decide(machine, number) == EPERM
    for number in guard.ABSENT.values():
        assert decide(machine, number) == ENOSYS


@given(st.sampled_from(MACHINES), st.integers(0, 600))
def test_every_other_call_goes_through(machine: str, number: int) -> None:
    """The lock is a short list, not a profile."""
    listed = {*guard.REFUSED[machine].values(), *guard.REFUSED_EVERYWHERE.values(), *guard.ABSENT.values()}
    assert (decide(machine, number) == ALLOW) == (number not in listed)


@given(st.sampled_from(MACHINES), st.integers(0, 2**64 - 1))
def test_a_clone_makes_no_namespace(machine: str, flags: int) -> None:
    """fork, vfork and threads go through; any namespace flag is refused."""
    refused = bool(flags & guard.NAMESPACES)
    assert decide(machine, guard.CLONE[machine], flags) == (EPERM if refused else ALLOW)


@given(st.sampled_from(MACHINES), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_calls_of_another_table_do_not_exist(machine: str, number: int, arch: int) -> None:
    """32-bit and x32 numbers mean other calls: none of them is a way around."""
    if arch != syscalls.AUDIT[machine]:
        assert decide(machine, number, arch=arch) == ENOSYS
    assert decide(machine, number | guard._X32_BIT) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_fits(machine: str) -> None:
    """Jumps stay inside, and every path ends in a return."""
    filled = guard.program(machine)
    assert len(filled) < 4096
    assert filled[-1][0] == guard._RET
    assert all(at + 1 + max(yes, no) < len(filled) for at, (code, yes, no, _) in enumerate(filled) if code != guard._RET)
