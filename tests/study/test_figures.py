"""The figures that the studies print."""

from __future__ import annotations

from pathlib import Path

import pytest
from figures import Part, auc, auc_interval, brier, quantile, share, table, wilson
from hypothesis import given
from hypothesis import strategies as st
from page import NAME, keep, sections

chances = st.floats(0.0, 1.0)
pairs = st.lists(st.tuples(chances, st.booleans()), min_size=1, max_size=30)


@given(st.integers(0, 300), st.integers(0, 300))
def test_an_interval_holds_the_share_that_was_seen(k: int, more: int) -> None:
    """It lies in [0, 1], around k of n, and says something as soon as anything was tried."""
    n = k + more
    low, high = wilson(k, n)
    assert 0.0 <= low <= high <= 1.0
    if n:
        assert low - 1e-9 <= k / n <= high + 1e-9
        assert high - low < 1.0


def test_known_intervals() -> None:
    """Wilson's interval for 188 of 192, and for nothing tried."""
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(188, 192) == pytest.approx((0.9477, 0.9919), abs=5e-4)
    assert share(24, 24) == "24/24 (0.86..1.00)"


@given(pairs)
def test_scores_of_claims(claims: list[tuple[float, bool]]) -> None:
    """Both lie in [0, 1]; turning every claim round turns the ranking round."""
    assert 0.0 <= brier(claims) <= 1.0
    area, other = auc(claims), auc([(-p, y) for p, y in claims])
    if area is None:
        assert len({y for _, y in claims}) == 1
    else:
        assert other is not None
        assert area + other == pytest.approx(1.0)


@given(chances, st.integers(1, 200), st.integers(1, 200))
def test_an_interval_of_an_area_holds_it(area: float, good: int, bad: int) -> None:
    """It lies in [0, 1] around the area, and more skills never make it wider."""
    low, high = auc_interval(area, good, bad)
    assert 0.0 <= low <= area <= high <= 1.0
    closer = auc_interval(area, 4 * good, 4 * bad)
    assert closer[1] - closer[0] <= high - low + 1e-9


def test_known_scores() -> None:
    """A perfect ranking, a constant, and one that nothing can be said of."""
    assert auc([(0.9, True), (0.1, False)]) == 1.0
    assert auc([(0.7, True), (0.7, False)]) == 0.5
    assert auc([(0.7, True)]) is None
    assert brier([(0.7, True), (0.7, False)]) == pytest.approx(0.29)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), chances)
def test_a_quantile_is_one_of_the_values(values: list[float], q: float) -> None:
    """At least the share q of the values does not exceed it."""
    found = quantile(values, q)
    assert found in values
    assert sum(v <= found for v in values) >= q * len(values) - 1e-6


def test_a_table_is_markdown() -> None:
    """Head, rule, rows."""
    assert table(("a", "b"), [(1, "x")]) == "| a | b |\n| --- | --- |\n| 1 | x |"


def test_a_page_keeps_the_sections_that_were_not_made_anew(tmp_path: Path) -> None:
    """Each part replaces its own section only, with command and day."""
    keep(tmp_path, Part("One", "first"), 60)
    keep(tmp_path, Part("Two", "| a |"), 60)
    keep(tmp_path, Part("One", "second", ("a bar",)), 120)
    found = sections((tmp_path / NAME).read_text())
    assert list(found) == ["One", "Two"]
    assert "first" not in found["One"]
    assert found["One"].endswith("second\n\n**Missed:** a bar")
    assert "2 minutes" in found["One"]
    assert found["Two"].endswith("| a |")
