"""What is not held against a skill although it parts from the commands."""

from __future__ import annotations

import pytest

from sandbox.interface import Entry
from verifiers.worlds.indulgence import rewritten


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (b'{"a": {\n }}', b'{"a": {}}\n', True),
        (b'{"a": 1, "b": 2}', b'{"b": 2, "a": 1}', False),
        (b'{"a": 1}', b'{"a": true}', False),
        (b'{"a": 1}', b'{"a": 1.0}', False),
        (b'{"a": 1}', b'{"a": 1}', False),
        (b"a\n", b"a \n", False),
        (b"[" * 100_000, b"[]", False),
    ],
)
def test_json_in_other_bytes(before: bytes, after: bytes, same: bool) -> None:
    """One value in one order, and other bytes; anything else is a change."""
    assert rewritten(Entry("file", content=before), Entry("file", content=after)) is same
    assert not rewritten(Entry("file", content=before), Entry("file", 0o600, after))
    assert not rewritten(None, Entry("file", content=after))
