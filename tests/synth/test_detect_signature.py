"""Signature and streaks against the vectors of Wayland Core."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.detect.bucketer import Bucketer, triggers
from synth.detect.signature import STOPWORDS, is_alphanumeric, signature
from synth.interface import TurnTrajectory

VECTORS = Path(__file__).parents[2] / "fixtures" / "wayland"


def vectors(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (VECTORS / name).read_text("utf-8").splitlines()]


def turn(text: str, outcome: Any) -> TurnTrajectory:
    return TurnTrajectory(text, None, outcome, "1 turn(s)", datetime(2026, 1, 1, tzinfo=UTC))


def test_all_447_signatures_agree() -> None:
    """What upstream's own function answered, for every vector."""
    cases = vectors("wayland_signatures.jsonl")
    assert len(cases) == 447
    assert [c["input"] for c in cases if signature(c["input"]) != c["signature"]] == []


@pytest.mark.parametrize("case", vectors("wayland_triggers.jsonl"), ids=lambda c: c["id"])
def test_all_72_streaks_agree(case: dict[str, Any]) -> None:
    """Which observation triggers, under which signature, with which evidence."""
    bucketer = Bucketer(case["threshold"])
    turns = [turn(text, outcome) for text, outcome in case["observations"]]
    found = []
    for index, one in enumerate(turns):
        trigger = bucketer.observe(one)
        if trigger is not None:
            evidence = [next(i for i, t in enumerate(turns) if t is e) for e in trigger.trajectories]
            found.append({"index": index, "signature": trigger.signature, "evidence_indices": evidence})
    assert found == case["triggers"]


def test_a_sequence_of_turns_gives_its_streaks() -> None:
    """Imported turns, all at once."""
    turns = [turn(text, "success") for text in ("fix the build", "build fix", "please fix build", "write tests")]
    assert [(t.signature, len(t.trajectories)) for t in triggers(turns)] == [("build-fix", 3)]


def test_there_are_44_stopwords() -> None:
    """The list is upstream's, whole."""
    assert len(STOPWORDS) == 44


def test_a_threshold_below_one_is_one() -> None:
    """As upstream: zero cannot mean never."""
    assert Bucketer(0).observe(turn("write tests", "success")) is not None


@given(st.text())
def test_a_signature_is_at_most_three_sorted_words(text: str) -> None:
    """Shape: sorted distinct words without a stopword, at most three."""
    words = signature(text).split("-") if signature(text) else []
    assert len(words) <= 3
    assert words == sorted(set(words))
    assert not STOPWORDS & set(words)


@given(st.characters())
def test_alphanumeric_is_a_superset_of_pythons(char: str) -> None:
    """Rust's class only adds to Python's."""
    assert is_alphanumeric(char) or not char.isalnum()
