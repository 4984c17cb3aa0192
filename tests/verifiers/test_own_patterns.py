"""What the commands' own patterns match besides: found in their text, and made item by item."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.worlds.variations.own_patterns import items, others, patterns, samples


@pytest.mark.parametrize(
    ("command", "text", "among"),
    [
        ("sed -i -E 's|^(CC[[:space:]]*[:?]?=[[:space:]]*).*|\\1x|' f", "CC := gcc\n", {"CC = gcc\n", "CC ?= gcc\n", "CC := \n"}),
        ("sed 's/k *= /x/' f", "k = 1\n", {"k= 1\n", "k  = 1\n"}),
        ("perl -ne 'print unless /^END\\r?$/' f", "END\n", {"END\r\n"}),
        ("grep -E 'v[0-9]+' f", "v12\n", {"v7\n"}),
        ("awk '/^a[ \\t]*b$/' f", "ab\n", {"a b\n"}),
        (
            "grep -oP '^:61:\\d{6}(\\d{4})?C\\K\\d+,\\d*' f",
            ":61:2403010301C45,00\n",
            {":61:240301C45,00\n", ":61:2403010301C45,\n"},
        ),
        ("grep -E '^(add|remove) ' f", "add a\n", {"remove a\n"}),
        ("grep -E '^x(y(a|b)+)*$' f", "xya\n", {"x\n", "xyaya\n"}),
        ("grep -E 'add|remove' f", "remove a\n", set()),
        ("grep -E '^P [0-9-]+ ' f", "P 2024-01-31 x\n", set()),
    ],
)
def test_other_texts_that_the_patterns_speak_of(command: str, text: str, among: set[str]) -> None:
    """Optional things there and not there, other characters of a set."""
    found = {o for p in patterns((command,)) for o in others(p, text)}
    assert among <= found


def test_what_is_not_understood_makes_nothing() -> None:
    """What looks around itself, goes back to a group, is no pattern."""
    assert items("a(?=b)") == ()
    assert items(r"(a)\1") == ()
    assert items("a)b") == ()
    assert list(others("a(", "a")) == []


def test_a_group_is_opened_or_one_item() -> None:
    """By whether it comes once, and in one form."""
    assert items("a(b)c") == ((("a", ""), ("b", ""), ("c", "")),)
    assert items("a(b|c)d|e") == ((("a", ""), ("(?:b|c)", ""), ("d", "")), (("e", ""),))
    assert items("(ab)*") == ((("(?:ab)", "*"),),)


@given(st.text(st.sampled_from("ab[]^()*+?.\\\\{}|-&~ 1:=$"), max_size=12), st.text(st.sampled_from("ab1 :=[]-"), max_size=8))
def test_any_pattern_is_read_and_what_comes_of_it_matches(pattern: str, text: str) -> None:
    """Never an error; and another text is matched by the pattern's items too."""
    for other in list(others(pattern, text))[:20]:
        joined = "|".join("".join(map("".join, parts)) for parts in items(pattern))
        assert re.search(joined, other, re.MULTILINE)


def test_what_would_take_for_ever_is_left_alone() -> None:
    """Patterns with many repeats, and long lines."""
    assert list(others(".*.*.*=", "ab="))
    assert list(others(".*.*.*.*=", "ab=")) == []
    assert list(others("a*=", "a" * 50 + "="))
    assert list(others("a*=", "a" * 5000 + "=")) == []


@pytest.mark.parametrize(
    ("pattern", "found"),
    [(r"\\([0-7]{3})", [r"\777"]), (r"a\(b\)|c+", ["a(b)", "c"]), ("plain", []), ("a(?=b)", [])],
)
def test_a_text_that_a_pattern_matches(pattern: str, found: list[str]) -> None:
    """One for each alternative; none where the pattern is the text, or is not understood."""
    assert samples(pattern) == found


@given(st.text(alphabet="ab[](){}+*?|\\d.^$-", max_size=12))
def test_what_is_said_to_match_matches(pattern: str) -> None:
    """Whatever is read as a pattern."""
    assert all(re.search(pattern, text) for text in samples(pattern))
