"""What is kept for its next use."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox.held import Held


def test_what_was_not_used_for_the_longest_goes_first() -> None:
    held: Held[bytes] = Held(2, 100, len)
    held.put("a", b"1")
    held.put("b", b"2")
    assert held.get("a") == b"1"
    held.put("c", b"3")
    assert [held.get(name) for name in "abc"] == [b"1", None, b"3"]


def test_the_last_one_stays_whatever_it_weighs() -> None:
    held: Held[bytes] = Held(9, 10, len)
    held.put("a", b"small")
    held.put("b", b"x" * 50)
    assert held.get("a") is None
    assert held.get("b") == b"x" * 50


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.binary(max_size=9)), max_size=30))
def test_what_is_kept_is_never_too_much(puts: list[tuple[str, bytes]]) -> None:
    held: Held[bytes] = Held(3, 12, len)
    last: dict[str, bytes] = {}
    for name, value in puts:
        held.put(name, value)
        last[name] = value
        kept = {n: v for n in last if (v := held.get(n)) is not None}
        held.get(name)
        assert kept[name] == value
        assert all(last[n] == v for n, v in kept.items())
        assert len(kept) == 1 or (len(kept) <= 3 and sum(map(len, kept.values())) <= 12)
