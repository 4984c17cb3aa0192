"""A sandbox that plays a script: each run takes the next answer, and a run beyond the script's end is an error of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from sandbox.interface import ReplayRecord, RunRequest, SandboxError, SandboxInfo, Snapshot

Answer = ReplayRecord | SandboxError | Callable[[RunRequest], ReplayRecord]

INFO = SandboxInfo(
    runtime="fake", image="fake:1", inventory="0" * 64, engine="Fake 1", kernel="0",
    probes={"supervise": True, "readdir_order": True}, why_not={},
)  # fmt: skip


class ScriptExhausted(AssertionError):
    """More was run than the script foresaw."""


class FakeSession:
    """Takes answers from its sandbox's script."""

    def __init__(self, sandbox: FakeSandbox) -> None:
        self._sandbox = sandbox
        self.runs = 0
        self.closed = False

    def run(self, request: RunRequest) -> ReplayRecord:
        if self.closed:
            raise AssertionError("run on a closed session")
        record = self._sandbox.answer(request)
        self.runs += 1
        return record

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        return [self.run(r) for r in requests]

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> FakeSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class FakeSandbox:
    """``script``: the answers, in order. ``asked``: the requests that came."""

    def __init__(self, script: Iterable[Answer], info: SandboxInfo = INFO) -> None:
        self.info = info
        self.asked: list[RunRequest] = []
        self._script = list(script)

    def answer(self, request: RunRequest) -> ReplayRecord:
        if not self._script:
            raise ScriptExhausted(f"the script has no answer left for run {len(self.asked) + 1}: {request.job}")
        self.asked.append(request)
        answer = self._script.pop(0)
        if isinstance(answer, SandboxError):
            raise answer
        return answer if isinstance(answer, ReplayRecord) else answer(request)

    def session(self, label: str, workers: int | None = None) -> FakeSession:
        return FakeSession(self)

    def close(self) -> None:
        if self._script:
            raise AssertionError(f"{len(self._script)} answers of the script were never asked for")

    def __enter__(self) -> FakeSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        if not any(exc):
            self.close()


def unchanged(request: RunRequest) -> ReplayRecord:
    """A run that did nothing."""
    return ReplayRecord(outcome=None, steps=(), post=Snapshot(request.base), ended="exited")


def stand_in(path: Path, text: str) -> str:
    """A program that stands in for another."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)
