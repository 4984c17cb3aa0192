"""Patterns for which the embedded generator made nothing when recorded, answered by a reader that saw only what the prompt shows.

The answers are in ``fixtures/model``, one file a pattern: the first proposal and its repairs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from messages_server import MessagesServer, message, tool_use

from sandbox import open_sandbox
from synth.crystallization.judge import SandboxJudge
from synth.crystallization.promotion import Crystallization
from synth.crystallization.search import SearchSettings
from synth.detect import detect
from synth.interface import TracePattern
from synth.llm import Connection, MessagesClient, ModelGenerator, Settings
from synth.registry import Registry
from synth.tracing.traces import load_traces

FIXTURES = Path(__file__).parents[2] / "fixtures"
ANSWERED = sorted((FIXTURES / "model").glob("*.json"))
CHARACTERS_A_TOKEN = 3.2


def pattern_of(file: Path) -> TracePattern:
    said = json.loads(file.read_text(encoding="utf-8"))
    return next(p for p in detect(load_traces(FIXTURES / said["traces"])) if p.traces[0].task_id == said["first"])


@pytest.fixture(scope="module")
def judge() -> Iterator[SandboxJudge]:
    with open_sandbox() as box:
        yield SandboxJudge(box, budget="fast")


@pytest.mark.engine
@pytest.mark.parametrize("file", ANSWERED, ids=lambda p: p.stem)
def test_a_reader_of_the_prompt_finds_the_skill(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, judge: SandboxJudge, file: Path
) -> None:
    """It is registered after at most one repair, and what was sent stays below 5,000 tokens a request."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    answers = json.loads(file.read_text(encoding="utf-8"))["answers"]
    with MessagesServer(*(message([tool_use("propose_skill", a)]) for a in answers)) as server, Registry(tmp_path) as registry:
        generator = ModelGenerator(Settings(candidates=1, rounds=1), MessagesClient(Connection(server.url, 10.0, 0)))
        outcome = Crystallization(generator, judge, registry, SearchSettings(sealed=True)).run(pattern_of(file))
        assert outcome.ending == "registered", outcome.why
        for request in server.requests:
            sent = json.dumps([request["body"][part] for part in ("system", "tools", "messages")], ensure_ascii=False)
            assert len(sent) / CHARACTERS_A_TOKEN < 5_000
    assert len(server.requests) <= 2
