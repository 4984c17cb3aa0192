"""The Python API: its page runs, work can be watched and cancelled, a directory is a workspace."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from synth import api
from synth.asynchronous import Step, off_the_loop
from synth.tracing.workspace import Workspace, snapshot_of
from verifiers.interface import Verdict

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "api.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.engine
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every block, one after the other, as a reader would."""
    monkeypatch.chdir(ROOT)
    space: dict[str, Any] = {"__name__": "page", "folder": tmp_path, "Path": Path}

    async def read() -> None:
        for block in BLOCKS:
            code = compile(block, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            found = eval(code, space)  # our own page
            if inspect.isawaitable(found):
                await found

    asyncio.run(read())
    assert len(BLOCKS) >= 6
    assert space["match"].skill == "rename_ext"
    assert callable(space["skill"])
    (outcome,) = space["crystallizer"].outcomes
    assert outcome.ending == "registered", outcome.why
    assert "generalises" in capsys.readouterr().out


def test_cancelled_work_has_ended_when_the_await_returns() -> None:
    """It stops at its next step, what it opened is closed, and nobody waits for what it would have returned."""
    began, closed = threading.Event(), threading.Event()
    said: list[str] = []

    def work(step: Step) -> None:
        try:
            for n in range(1000):
                step(str(n))
                began.set()
                closed.wait(0.01)
        finally:
            closed.set()

    async def cancel() -> None:
        task = asyncio.create_task(off_the_loop(work, said.append))
        await asyncio.to_thread(began.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert closed.is_set()

    asyncio.run(cancel())
    assert said[0] == "0"
    assert len(said) < 1000


def test_static_verification_as_a_function() -> None:
    """Without an engine, from a thread and without one; progress hears the steps."""
    said: list[str] = []
    options = api.Options(static_only=True)
    skill = ROOT / "fixtures" / "skills" / "rename_ext"
    first = asyncio.run(api.verify_skill(skill, options=options, progress=said.append))
    second = api.verify_skill_sync(skill, options=options)
    assert first.verdict is second.verdict is Verdict.PASS
    assert said == ["static checks"]


def test_a_directory_is_a_workspace(tmp_path: Path) -> None:
    """The object that the trace format wants."""
    (tmp_path / "a b").write_bytes(b"\0x")
    (tmp_path / "link").symlink_to("a b")
    assert Workspace.from_directory(tmp_path).to_json() == snapshot_of(tmp_path).to_json()


def test_no_argument_is_hidden() -> None:
    """A misspelt keyword is an error where it is written, for a type checker and when it runs."""
    kinds = {p.kind for f in (api.SkillCrystallizer, api.SkillCrystallizer.record_execution, api.verify_skill)
             for p in inspect.signature(f).parameters.values()}  # fmt: skip
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}


def test_the_page_needs_the_api_alone() -> None:
    """Every import of ours is of ``synth.api``."""
    imported = {m for block in BLOCKS for m in re.findall(r"(?m)^(?:from|import) ([\w.]+)", block)}
    assert {m for m in imported if m.partition(".")[0] in ("synth", "verifiers", "sandbox")} == {"synth.api"}


def test_everything_it_names_is_there() -> None:
    """``__all__`` and the page agree with the module."""
    assert all(hasattr(api, name) for name in api.__all__)
    for names in re.findall(r"from synth\.api import (.+)", PAGE.read_text(encoding="utf-8")):
        assert set(re.findall(r"\w+", names)) <= set(api.__all__)
