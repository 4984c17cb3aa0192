"""Verifying files from the command line: the cache first, the sandbox opened only when something must really run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from synth.cli import console
from synth.cli.settings import Judging

if TYPE_CHECKING:
    from sandbox.interface import Sandbox
    from verifiers.cache import Key, VerdictCache
    from verifiers.discover import Target
    from verifiers.interface import Evidence, Report
    from verifiers.sessions import Memory

TOOLS = ("skill-assay", "libcst", "ruff", "mypy", "hypothesis")


@dataclass
class Verifier:
    """Verifies targets one by one, in one sandbox. Use as a context manager."""

    judging: Judging
    cache: VerdictCache | None = None
    progress: Callable[[str], None] | None = None
    _box: Sandbox | None = None
    _no_box: str = ""
    _memory: Memory = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)
    cache_hits: int = 0

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def report(self, target: Target, unseen: frozenset[str] = frozenset()) -> Report:
        """The report on a target, from the cache where nothing changed.

        Args:
            unseen: task_ids that the skill was made without (not part of the cache's key: only for runs without a cache).

        Raises:
            AssayError: a file of it cannot be read as what it should be.
        """
        key = self._key(target) if self.cache is not None and not self.judging.no_cache else None
        if key is not None and self.cache is not None:
            known = self.cache.get(key)
            if known is not None:
                self.cache_hits += 1
                return known
        report = self._verify(target, unseen)
        # What was not checked for want of an engine may be checked next time: only whole reports are kept.
        if key is not None and self.cache is not None and not _cut_short(report):
            self.cache.put(key, report)
        return report

    def _verify(self, target: Target, unseen: frozenset[str]) -> Report:
        from dataclasses import replace

        from verifiers.bindings import load_bindings
        from verifiers.evidence import load_evidence
        from verifiers.subject import load_subject
        from verifiers.verify import verify

        subject = replace(load_subject(target.skill, self.judging.profile), path=target.path)
        options = replace(self.judging.options(progress=self.progress, memory=self._memory), unseen=unseen)
        if self.judging.static:
            return verify(subject, [], None, options=options)
        evidence = load_evidence(target.evidence) if target.evidence is not None else []
        bindings = load_bindings(target.bindings) if target.bindings is not None else None
        box = self.open()
        if box is not None and any(e.base is None and e.success for e in evidence):
            evidence = _rebuilt(evidence, box)
        why = self._no_box or "no sandbox was given"
        return verify(subject, evidence, bindings, sandbox=box, options=options, no_sandbox=why)

    def open(self) -> Sandbox | None:
        """The sandbox; None where there is none, and then the reason was said."""
        from sandbox import open_sandbox
        from sandbox.interface import SandboxError

        if self._box is None and not self._no_box:
            j = self.judging
            try:
                box = open_sandbox(image=j.image, runtime=j.runtime, workers=j.workers, host=j.host)
                self._box = self._stack.enter_context(box)
            except SandboxError as e:
                self._no_box = e.diagnostics()
                console.error(self._no_box)
        return self._box

    def _key(self, target: Target) -> Key | None:
        """What the verdict depends on; None where no engine says which image would be used."""
        from verifiers.cache import Key

        facts = ("", "") if self.judging.static else _engine_facts(self.judging.host, self.judging.image)
        if facts is None:
            return None
        j = self.judging
        return Key(
            path=target.path, code=_sha(target.skill), evidence=_sha(target.evidence), bindings=_sha(target.bindings),
            profile=j.profile, budget=j.budget, seed=j.seed, salt=hashlib.sha256(j.salt.encode()).hexdigest(),
            checks={"judge": _judge_code()}, tools=_tools(), inventory=facts[0], probes={facts[1]: True},
            options={
                "static": j.static, "all": j.every, "min_usable": j.min_usable, "runtime": j.runtime,
                "checks": ",".join(sorted(j.checks)) if j.checks is not None else None, "excluded": dict(j.excluded),
            },
        )  # fmt: skip


def _rebuilt(evidence: list[Evidence], box: Sandbox) -> list[Evidence]:
    """Traces from elsewhere get the start that their outputs bear out."""
    from verifiers.reconstruct import rebuild_all

    with box.session("evidence") as session:
        return rebuild_all(evidence, session)


def _cut_short(report: Report) -> bool:
    """Whether something that was wanted did not run, other than for a finding."""
    return any("FAIL" not in n.why and "static check failed" not in n.why for n in report.not_checked)


def _sha(path: Path | None) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path is not None else ""


@cache
def _judge_code() -> int:
    """A number for the judge's own code: another byte of it, another verdict cache. Cheaper than importing it."""
    import sandbox
    import verifiers

    digest = hashlib.sha256()
    for package in (sandbox, verifiers):
        for top in package.__path__:
            for path in sorted(Path(top).rglob("*.py")):
                digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:6], "big")


@cache
def _tools() -> dict[str, str]:
    found = {}
    for name in TOOLS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


@cache
def _engine_facts(host: str | None, image: str | None) -> tuple[str, str] | None:
    """The image's inventory and what the engine is, without starting a container; None where there is none."""
    from sandbox.status import engine_status

    status = engine_status(host, probe=False)
    if status.missing or not status.inventory:
        return None
    return f"{image or status.image} {status.inventory}", f"{status.engine} {status.runc} {status.kernel}"
