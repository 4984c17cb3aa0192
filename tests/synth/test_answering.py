"""Which step answers: decided over all recordings, and asked where it is not clear."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from factories import trace
from messages_server import MessagesServer, proposal

from sandbox import open_sandbox
from synth.crystallization.judge import SandboxJudge
from synth.crystallization.promotion import Crystallization
from synth.crystallization.search import SearchSettings
from synth.detect.answering import with_answers
from synth.embedded import EmbeddedGenerator
from synth.interface import ExecutionTrace, TracePattern
from synth.llm import Connection, MessagesClient, ModelGenerator, Settings
from synth.registry import Registry
from synth.tracing.traces import to_evidence

CODE = '''\
"""Count the lines of a file that hold a word."""

from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
async def count_lines(
    file: str = Query(..., description="File to look into"),
    word: str = Query(..., description="Word that a line must hold"),
) -> dict[str, object]:
    """Count the lines of a file that hold a word.

    Args:
        file: File to look into.
        word: Word that a line must hold.

    Returns:
        ok and the count as output.
    """
    lines = Path(file).read_bytes().split(b"\\n")
    return {"ok": True, "output": str(sum(word.encode() in line for line in lines))}
'''


WORDS = {2: "sold", 3: "gone", 5: "lost"}


def recorded(n: int, *steps: tuple[str, str]) -> ExecutionTrace:
    """A recording that changes nothing."""
    text = "".join(f"{WORDS.get(n, 'sold')} {i}\n" for i in range(n)) + "kept\n"
    tree = {f"log{n}.txt": {"type": "file", "mode": "0644", "content_b64": base64.b64encode(text.encode()).decode()}}
    commands, outputs = zip(*steps, strict=True)
    made = trace(0, task=f"How many lines of log{n}.txt hold {WORDS.get(n)}?", commands=commands)
    return replace(made, task_id=f"count-{n}", outputs=outputs, workspace=tree, post_workspace=tree)


def counted(n: int) -> ExecutionTrace:
    word, file = WORDS[n], f"log{n}.txt"
    return recorded(n, (f"grep -F {word} {file} > hits", ""), (f"grep -cF {word} {file}", f"{n}\n"), ("rm hits", ""))


def step_of(traces: Sequence[ExecutionTrace]) -> tuple[list[int], str]:
    marked, unclear = with_answers(traces)
    return [to_evidence(t).answer_step for t in marked], unclear


def test_a_closing_rm_is_no_answer() -> None:
    """What was printed before it is; the trace is the same one as before."""
    traces = [counted(n) for n in (2, 3, 5)]
    assert step_of(traces) == ([1, 1, 1], "")
    assert to_evidence(with_answers(traces)[0][0]).digest != to_evidence(traces[0]).digest


def test_the_last_step_answers_even_if_it_once_had_nothing_to_say() -> None:
    """One recording in which it printed something is enough; an empty answer is one."""
    traces = [
        recorded(n, ("cat log.txt", "x\n"), ("grep -F sold log.txt", text)) for n, text in ((1, ""), (2, "sold 1\n"), (3, ""))
    ]
    assert step_of(traces) == ([1, 1, 1], "")


def test_words_of_its_own_are_no_answer() -> None:
    """``echo done`` says nothing of the files; ``echo $n`` does."""
    traces = [recorded(n, ("wc -l log.txt", f"{n} log.txt\n"), ("echo all done", "all done\n")) for n in (1, 2, 3)]
    assert step_of(traces) == ([0, 0, 0], "")
    traces = [recorded(n, ("cat log.txt", "x\n"), ('n=$(wc -l < log.txt); echo "$n"', f"{n}\n")) for n in (1, 2, 3)]
    assert step_of(traces) == ([1, 1, 1], "")


def test_what_is_not_clear_is_asked() -> None:
    """A silent step that may have been the point is not passed over: it answers as before, with a question."""
    traces = [recorded(n, ("wc -l log.txt", f"{n} log.txt\n"), ("diff log.txt log.txt", "")) for n in (1, 2, 3)]
    steps, unclear = step_of(traces)
    assert steps == [1, 1, 1]
    assert unclear.startswith("is the answer what an earlier command of count-1 printed?")
    assert unclear.endswith('"answer_step": 0')
    said = [replace(t, metadata={**t.metadata, "answer_step": 0}) for t in traces]
    assert step_of(said) == ([0] * len(said), "")


def test_the_embedded_generator_takes_the_step_that_answers() -> None:
    """It makes the counting of the recordings, not the tidying behind it."""
    traces, _ = with_answers([counted(n) for n in WORDS])
    pattern = TracePattern("repetitive", traces[0].commands, 3, 1.0, "count_lines", "files-count", traces)
    made = next(iter(EmbeddedGenerator().generate(pattern, [to_evidence(t) for t in traces])))
    assert "unlink" not in made.source
    assert "grep" in made.source or "in line" in made.source


@pytest.mark.parametrize("given", [True, -1, 3, "1", None])
def test_a_mark_that_is_no_step_is_ignored(given: object) -> None:
    """The last step answers then, as ever."""
    made = replace(counted(2), metadata={"answer_step": given})
    assert to_evidence(made).answer_step == 2


@pytest.mark.engine
def test_a_skill_is_judged_by_the_step_that_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The right count passes, though the recordings end with ``rm``; the registered evidence says which step it was."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    traces = tuple(counted(n) for n in WORDS)
    pattern = TracePattern("repetitive", traces[0].commands, 3, 1.0, "count_lines", "files-count", traces)
    bindings = {t.task_id: {"file": f"log{n}.txt", "word": WORDS[n]} for n, t in zip(WORDS, traces, strict=True)}
    with MessagesServer(proposal(CODE, bindings)) as server, Registry(tmp_path) as registry, open_sandbox() as box:
        generator = ModelGenerator(Settings(candidates=1, rounds=0), MessagesClient(Connection(server.url, 10.0, 0)))
        judge = SandboxJudge(box, budget="fast")
        outcome = Crystallization(generator, judge, registry, SearchSettings(sealed=True, hold_out=0)).run(pattern)
        told = [c.id for c in (outcome.report.checks if outcome.report else ()) if c.findings]
        assert "answer-equivalent" not in told, outcome.why
        assert not outcome.why.startswith("answer-equivalent")
        assert outcome.ending == "registered", outcome.why
        kept = registry.draft(str(outcome.skill)).evidence
    assert [to_evidence(t).answer_step for t in kept] == [1, 1, 1]
