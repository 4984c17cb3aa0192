"""A session that opens on first use and remembers what it replayed: the same commands on the same base are not run twice.

Only for the traces' own commands. A skill's runs are never remembered: that it might differ is what they are made for.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import replace

from sandbox.interface import ReplayRecord, RunRequest, Sandbox, Session, ShellJob

Memory = MutableMapping[tuple[object, ...], ReplayRecord]
"""Request -> record. Lives as long as one process; never written to disk."""


class RememberingSession:
    """The traces' side of a verification. Opens a container only when something is not remembered."""

    def __init__(self, sandbox: Sandbox, label: str, memory: Memory) -> None:
        self._sandbox = sandbox
        self._label = label
        self._memory = memory
        self._session: Session | None = None

    def run(self, request: RunRequest) -> ReplayRecord:
        return self.map([request])[0]

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        wanted = list(requests)
        missing = {key: r for r in wanted if (key := self._key(r)) not in self._memory}
        if missing:
            records = self._open().map(list(missing.values()))
            self._memory.update(zip(missing, records, strict=True))
        return [self._memory[self._key(r)] for r in wanted]

    def fresh(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        """Runs without looking at what is remembered."""
        return self._open().map(list(requests))

    @staticmethod
    def _key(request: RunRequest) -> tuple[object, ...]:
        if not isinstance(request.job, ShellJob):
            raise TypeError("only the traces' own commands are remembered")
        bare = replace(request, base=type(request.base)(), job=ShellJob(()))
        return (request.base.digest, request.job.commands, repr(bare))

    def _open(self) -> Session:
        if self._session is None:
            self._session = self._sandbox.session(self._label)
        return self._session

    @property
    def runs(self) -> int:
        return self._session.runs if self._session else 0

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    def __enter__(self) -> RememberingSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
