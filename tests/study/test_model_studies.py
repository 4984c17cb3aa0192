"""What the studies of a model in the loop say of what they measured."""

from __future__ import annotations

from dataclasses import replace

import answers_study
import mixed_study
import pytest
from answers_study import Row

from synth.detect import detect
from synth.tracing.traces import load_traces

GOOD = Row("t", True, 0, 3000.0, 900.0, "")


def test_a_readers_answer_groups_every_mixed_task(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Detection leaves all recordings alone; the kept answer brings each of the five tasks together, and none of the decoys."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    traces = load_traces(mixed_study.MIXED / "evidence.jsonl")
    assert detect(traces) == []
    assert len(mixed_study.labels()) - sum(map(len, mixed_study.families().values())) == 20
    assert mixed_study.main(["--only-groups"]) == 0
    assert "grouped whole and alone: 5 of 5" in capsys.readouterr().out
    assert not set(mixed_study.families().values()) & set(mixed_study.suggested(traces, "careless"))


def test_bars_of_a_readers_answers() -> None:
    """Each bar is named when it is missed; nothing that ran is no success."""
    assert answers_study.missed([]) == ["nothing ran"]
    assert answers_study.missed([GOOD] * 5) == []
    assert answers_study.missed([*[GOOD] * 3, replace(GOOD, registered=False)]) == ["fewer than 80% are registered"]
    assert answers_study.missed([replace(GOOD, repairs=2)]) == ["more than one repair in the median"]
    assert answers_study.missed([replace(GOOD, sent=5001.0)]) == ["t: 5001 tokens"]


def test_what_is_cached_is_a_marked_beginning_that_was_sent_before() -> None:
    """The same recordings again are cached as far as the mark; other recordings only as far as the system's."""

    def body(shown: str, instruction: str) -> dict[str, object]:
        kept = {"cache_control": {"type": "ephemeral"}}
        content = [{"type": "text", "text": shown, **kept}, {"type": "text", "text": instruction}]
        return {"tools": [], "system": [{"type": "text", "text": "s" * 320, **kept}], "messages": [{"content": content}]}

    seen: set[str] = set()
    first, again, other = body("a" * 320, "propose"), body("a" * 320, "repair"), body("b" * 320, "propose")
    assert answers_study.weighed([first], seen)[1] == 0
    assert answers_study.weighed([again], seen)[1] > 200
    assert 100 < answers_study.weighed([other], seen)[1] < 200
