"""Traces that detection leaves alone: grouped by hand or by a model's suggestion, and judged like any other pattern."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from factories import trace
from messages_server import MessagesServer, Reply, error, message, tool_use

from synth.cli.program import run
from synth.cli.tracefiles import said_together
from synth.detect import detect
from synth.interface import ExecutionTrace
from synth.llm import Connection, Malformed, MessagesClient, ModelGenerator, Settings
from synth.tracing.traces import dump_traces

WORDED = (
    ("Switch the suffix txt to md", 'for f in *.txt; do mv "$f" "${f%.txt}.md"; done'),
    ("html pages shall be called htm", "find . -name '*.html' -exec sh -c 'mv \"$1\" \"${1%.html}.htm\"' _ {} \\;"),
    ("Old logs get the ending bak", "rename -v log bak *.log; true"),
)


def mixed() -> list[ExecutionTrace]:
    """One task in three wordings with three ways to do it, and one of another task."""
    made = [replace(trace(n, task=said, commands=(done,)), task_id=f"mixed-{n}") for n, (said, done) in enumerate(WORDED)]
    return [*made, replace(trace(3, task="Delete jpeg files", commands=("rm *.jpeg",)), task_id="other")]


def groups(*ids: list[str], **more: Any) -> Reply:
    return message([tool_use("group_recordings", {"groups": [{"task": "t", "task_ids": i} for i in ids], **more})])


def suggested(server: MessagesServer, traces: list[ExecutionTrace], least: int = 3) -> list[frozenset[str]]:
    return ModelGenerator(Settings(model="m"), MessagesClient(Connection(server.url, 5.0, 0, 0))).together(traces, least)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")


def test_what_is_said_to_be_one_task_is_one_pattern() -> None:
    """Detection leaves the wordings alone; with the group there is one pattern, and nothing else changes."""
    assert detect(mixed()) == []
    (found,) = detect(mixed(), together=[{"mixed-0", "mixed-1", "mixed-2"}])
    assert [t.task_id for t in found.traces] == ["mixed-0", "mixed-1", "mixed-2"]
    assert (found.pattern_type, found.frequency) == ("repetitive", 3)


def test_a_group_takes_its_traces_out_of_other_patterns() -> None:
    """A trace is in one pattern; what is left of the other one must still be enough."""
    alike = [trace(n) for n in range(4)]
    assert len(detect(alike)) == 1
    found = detect([*alike, *mixed()], together=[{"rename-00", "mixed-0", "mixed-1"}])
    assert sorted(len(p.traces) for p in found) == [3, 3]
    ids = [t.task_id for p in found for t in p.traces]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (("mixed-0,nosuch",), "no trace 'nosuch'"),
        (("mixed-0",), "two traces"),
        (("mixed-0,other", "other,mixed-1"), "two groups"),
    ],
)
def test_a_group_that_cannot_be_is_refused(text: tuple[str, ...], why: str) -> None:
    """One sentence that says which trace is the matter."""
    with pytest.raises(click.BadParameter, match=why):
        said_together(text, mixed())


def test_together_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`assay patterns --together` shows the pattern that there is none of without it."""
    file = tmp_path / "traces.jsonl"
    file.write_text(dump_traces(mixed()), encoding="utf-8")
    assert run(["patterns", str(file)]) == 4
    capsys.readouterr()
    assert run(["patterns", str(file), "--together", "mixed-0,mixed-1,mixed-2", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["patterns"]
    assert found["task_ids"] == ["mixed-0", "mixed-1", "mixed-2"]
    assert run(["patterns", str(file), "--together", "mixed-0,x"]) == 2


def test_a_model_suggests_groups_in_one_strict_request() -> None:
    """It is given requests, commands and effects as data, and answers by one strict tool."""
    with MessagesServer(groups(["mixed-0", "mixed-1", "mixed-2"])) as server:
        assert suggested(server, mixed()) == [{"mixed-0", "mixed-1", "mixed-2"}]
    (asked,) = server.requests
    (tool,) = asked["body"]["tools"]
    assert (tool["name"], tool["strict"]) == ("group_recordings", True)
    told = asked["body"]["messages"][0]["content"][0]["text"]
    rows: list[Mapping[str, Any]] = json.loads(told.removeprefix("<recordings>").removesuffix("</recordings>"))
    assert rows[3] == {
        "task_id": "other", "request": "Delete jpeg files", "commands": ["rm *.jpeg"], "effects": ["created", "removed"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "reply",
    [groups(["mixed-0", "nosuch", "x"]), groups(["mixed-0", "mixed-1"]), groups(["mixed-0"] * 3), groups(), groups([])],
    ids=["invented", "too small", "repeated", "none", "empty"],
)
def test_a_group_that_is_none_is_dropped(reply: Reply) -> None:
    """Traces that nobody recorded, or too few of them, make no pattern."""
    with MessagesServer(reply) as server:
        assert suggested(server, mixed()) == []


def test_a_trace_is_in_one_group_only() -> None:
    """The first group that names it has it."""
    reply = groups(["mixed-0", "mixed-1"], ["mixed-1", "mixed-2", "other"])
    with MessagesServer(reply) as server:
        assert suggested(server, mixed(), 2) == [{"mixed-0", "mixed-1"}, {"mixed-2", "other"}]


def test_too_few_traces_ask_nothing() -> None:
    """No request where no group could come out."""
    with MessagesServer(groups()) as server:
        assert suggested(server, mixed()[:2]) == []
    assert server.requests == []


def test_a_skill_is_no_answer_to_a_grouping() -> None:
    """The other tool is malformed, asked for once more, and then said."""
    with MessagesServer(message([tool_use("decline_task", {"why": "x"})])) as server, pytest.raises(Malformed, match="no tool"):
        suggested(server, mixed())
    assert len(server.requests) == 2


def test_grouping_needs_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    """`--llm-group` without one is wrong use, said at once."""
    assert run(["crystallize", "nosuch.jsonl", "--llm-group"]) == 2
    assert "--generator anthropic" in capsys.readouterr().err


def test_a_lost_service_groups_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence; what detection found goes on without it."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "traces.jsonl"
    file.write_text(dump_traces(mixed()), encoding="utf-8")
    with MessagesServer(error(401, "authentication_error")) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert run(["crystallize", str(file), "--generator", "anthropic", "--llm-group"]) == 4
    assert "no traces were grouped: the model's service refused the request: HTTP 401" in capsys.readouterr().err


def test_what_grouping_cost_is_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where no pattern came of it."""
    monkeypatch.chdir(tmp_path)
    Path("traces.jsonl").write_text(dump_traces(mixed()), encoding="utf-8")
    argv = ["crystallize", "traces.jsonl", "--generator", "anthropic", "--model", "claude-sonnet-5-5", "--llm-group"]
    with MessagesServer(groups()) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert run([*argv, "-o", "report.json"]) == 4
        run(argv)
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["usage"]["requests"] == 1
    assert "(no pattern) " in capsys.readouterr().out
