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


def decide(machine: str, number: int, *args: int, arch: int | None = None) -> int:
    """What the kernel's interpreter would return: the six instructions that the filter uses."""
    data = {guard._ARCH: syscalls.AUDIT[machine] if arch is None else arch, guard._NR: number}
    data |= {guard._ARG0 + 8 * n: (args[n] if n < len(args) else 0) & 0xFFFFFFFF for n in range(6)}
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


@given(st.sampled_from(MACHINES), st.integers(0, 2**32 - 1))
def test_advice_to_drop_pages_is_taken_and_not_followed(machine: str, advice: int) -> None:
    """Every other advice is the kernel's business: programs give it for speed."""
    answered = decide(machine, guard.FADVISE[machine], 3, 0, 0, advice)
    assert answered == (REFUSE if advice == guard.DONTNEED else ALLOW)
    assert decide(machine, guard.FADVISE[machine], 3, 0, 0, guard.DONTNEED) == REFUSE


@given(st.sampled_from(MACHINES), st.integers(0, 2**32 - 1))
def test_no_read_tells_what_is_in_the_page_cache(machine: str, flags: int) -> None:
    """Only one that would not wait is refused."""
    refused = REFUSE | errno.EOPNOTSUPP
    assert decide(machine, guard.PREADV2[machine], 3, 0, 1, 0, 0, flags) == (refused if flags & guard.NOWAIT else ALLOW)


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
