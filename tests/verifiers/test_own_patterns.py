"""What the commands' own patterns match besides: found in their text, and made item by item."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.worlds.variations.own_patterns import items, others, patterns


@pytest.mark.parametrize(
    ("command", "text", "among"),
    [
        ("sed -i -E 's|^(CC[[:space:]]*[:?]?=[[:space:]]*).*|\\1x|' f", "CC := gcc\n", {"CC = gcc\n", "CC ?= gcc\n", "CC := \n"}),
        ("sed 's/k *= /x/' f", "k = 1\n", {"k= 1\n", "k  = 1\n"}),
        ("perl -ne 'print unless /^END\\r?$/' f", "END\n", {"END\r\n"}),
        ("grep -E 'v[0-9]+' f", "v12\n", {"v7\n"}),
        ("awk '/^a[ \\t]*b$/' f", "ab\n", {"a b\n"}),
    ],
)
def test_other_texts_that_the_patterns_speak_of(command: str, text: str, among: set[str]) -> None:
    """Optional things there and not there, other characters of a set."""
    found = {o for p in patterns((command,)) for o in others(p, text)}
    assert among <= found


def test_what_is_not_understood_makes_nothing() -> None:
    """Alternatives and repeated groups; a pattern that is none."""
    assert items("a(b|c)d") == ()
    assert items("(ab)*") == ()
    assert list(others("a(", "a")) == []


@given(st.text(st.sampled_from("ab[]^()*+?.\\\\{}|-&~ 1:=$"), max_size=12), st.text(st.sampled_from("ab1 :=[]-"), max_size=8))
def test_any_pattern_is_read_and_what_comes_of_it_matches(pattern: str, text: str) -> None:
    """Never an error; and another text is matched by the pattern's items too."""
    for other in list(others(pattern, text))[:20]:
        joined = "".join(f"{item}{quantifier}" for item, quantifier in items(pattern))
        assert re.search(joined, other, re.MULTILINE)


def test_what_would_take_for_ever_is_left_alone() -> None:
    """Patterns with many repeats, and long lines."""
    assert list(others(".*.*.*=", "ab="))
    assert list(others(".*.*.*.*=", "ab=")) == []
    assert list(others("a*=", "a" * 50 + "="))
    assert list(others("a*=", "a" * 5000 + "=")) == []
