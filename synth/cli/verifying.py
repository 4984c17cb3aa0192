"""Verifying files from the command line: the cache first, the sandbox opened only when something must really run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sandbox.interface import JsonValue
from synth.cli import console
from synth.cli.counting import Counted
from synth.cli.home import registry_dir
from synth.cli.progress import Checks, Live, Runs, dynamic_checks
from synth.cli.settings import Judging
from synth.config_origin import in_ci
from synth.judged_by import engine_facts, judge_code, tools

if TYPE_CHECKING:
    from sandbox.interface import Sandbox
    from synth.interface import Draft
    from synth.registry.core import Origin
    from synth.verification import Job
    from verifiers.expectation.sessions import Memory
    from verifiers.gating.cache import Key, VerdictCache
    from verifiers.gating.discover import Target
    from verifiers.interface import Report


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
    facts: Callable[[], tuple[str, str] | None] | None = None
    """Image and engine that the verdicts come from, where that is not the engine here."""
    cache_hits: int = 0
    heading: str = ""
    """What progress begins with."""
    registry: Path | None = None
    """The one that knows how registered skills were made; None = the configured one."""
    live: Live | None = None
    """Where the runs are counted as they are made; without it each step says how many there were."""

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def report(self, target: Target, origin: Origin | None = None) -> Report:
        """The report on a target, from the cache where nothing changed.

        Args:
            origin: How a registered skill was made (not part of the cache's key: only for runs without a cache).

        Raises:
            AssayError: a file of it cannot be read as what it should be.
        """
        known = self.known(target)
        return known if known is not None else self.fresh(target, origin)

    def draft(self, draft: Draft, origin: Origin) -> Report:
        """The report on a draft that lies nowhere yet."""
        from synth.draft import write_draft
        from verifiers.gating.discover import find

        with TemporaryDirectory() as folder:
            return self.report(find([write_draft(Path(folder), draft)])[0], origin)

    def known(self, target: Target) -> Report | None:
        """What the cache has."""
        key = self._key(target)
        known = self.cache.get(key) if key is not None and self.cache is not None else None
        self.cache_hits += known is not None
        return known

    def before_answers(self, target: Target) -> Iterator[Report]:
        """What the cache has from before the latest answers were given, newest first."""
        if self.cache is None or target.decisions is None:
            return
        data = target.decisions.read_bytes()
        while data:
            data = data[: data.rfind(b"\n", 0, -1) + 1]
            key = self._key(target, hashlib.sha256(data).hexdigest() if data else "")
            known = self.cache.get(key) if key is not None else None
            if known is not None:
                yield known

    def fresh(self, target: Target, origin: Origin | None = None) -> Report:
        """A new report, which the cache then has too.

        Raises:
            AssayError: a file of it cannot be read as what it should be.
        """
        # The key of before: the verification itself may add to what the next one tries first.
        key = self._key(target)
        report = self._verify(target, origin)
        self._put(key, report)
        return report

    def keep(self, target: Target, report: Report) -> None:
        """Puts a report that was made elsewhere into the cache."""
        self._put(self._key(target), report)

    def _put(self, key: Key | None, report: Report) -> None:
        """Only whole reports: what was not checked for want of an engine may be checked next time."""
        if key is not None and self.cache is not None and not _cut_short(report):
            self.cache.put(key, report)

    def job(self, target: Target, origin: Origin | None = None) -> Job:
        """A target as it can be verified elsewhere.

        Raises:
            AssayError: a file of it cannot be read as what it should be.
        """
        from dataclasses import replace

        from synth.verification import read_job

        j = self.judging
        options = j.options()
        origin = origin or registered_origin(target, self.registry)
        if origin is not None:
            options = replace(options, unseen=origin.unseen, leave_one_out_failures=origin.failures)
        return read_job(target, options, j.profile, image=j.image, runtime=j.runtime, workers=j.workers, packages=j.packages)

    def _verify(self, target: Target, origin: Origin | None) -> Report:
        from dataclasses import replace

        from synth.verification import NoSandbox, run_job

        job = self.job(target, origin)
        progress, live = None, self.live or (lambda text: None)
        if self.progress is not None:
            runs = Runs(self._counted)
            live(runs)
            told = runs if self.live is None else lambda: ""
            progress = Checks(self.progress, dynamic_checks(self.judging.checks), self.heading, told)
        options = replace(job.options, progress=progress, planned=self._expect, memory=self._memory)
        try:
            return run_job(job, lambda: self.open() or NoSandbox(self._no_box), options)
        finally:
            live(lambda: "")

    def _counted(self) -> Counted | None:
        return self._box if isinstance(self._box, Counted) else None

    def _expect(self, runs: int) -> None:
        if (box := self._counted()) is not None:
            box.expect(runs)

    def open(self) -> Sandbox | None:
        """The sandbox; None where there is none, and then the reason was said."""
        from sandbox.interface import SandboxError

        if self._box is None and not self._no_box:
            try:
                self._box = self._stack.enter_context(Counted(self.judging.sandbox()))
            except SandboxError as e:
                self._no_box = e.diagnostics()
                console.error(self._no_box)
        return self._box

    def _key(self, target: Target, decisions: str | None = None) -> Key | None:
        """What the verdict depends on; None without a cache, or where no engine says which image would be used.

        Args:
            decisions: Digest of the decisions, where it is not to be today's.
        """
        from synth.exported import edits
        from verifiers.gating.cache import Key

        j = self.judging
        if self.cache is None or j.no_cache:
            return None
        facts = ("", "") if j.static else self.facts() if self.facts else engine_facts(j.host, j.image, j.packages)
        if facts is None:
            return None
        return Key(
            path=target.path, code=_sha(target.skill), evidence=_sha(target.evidence), bindings=_sha(target.bindings),
            profile=j.profile or "", budget=j.budget, seed=j.seed, salt=hashlib.sha256(j.salt.encode()).hexdigest(),
            checks={"judge": judge_code()}, tools=tools(), inventory=facts[0], probes={facts[1]: True},
            options={
                "static": j.static, "all": j.every, "min_usable": j.min_usable, "runtime": j.runtime,
                "checks": ",".join(sorted(j.checks)) if j.checks is not None else None, "excluded": dict(j.excluded),
                "imports": str(j.imports), "programs": ",".join(sorted(j.programs)),
                "reproduce_with": list(j.reproduce_with),
                "decisions": _sha(target.decisions) if decisions is None else decisions,
                **_origin_key(registered_origin(target, self.registry)),
                "edited": list[JsonValue](edits(target.home)),
                "past": _past(j.database, target.skill) if j.database is not None and not j.static else "",
            },
        )  # fmt: skip


def registered_origin(target: Target, registry: Path | None = None) -> Origin | None:
    """How a registered version was made, so that its score is the registry's wherever it lies; None of any other, and in CI.

    There a registry may be part of what is judged, and says nothing in its own favour.

    Args:
        registry: Knows the versions that lie in none; None = the configured one.
    """
    from synth.registry import Registry, RegistryUnusable
    from synth.registry.versions import VERSIONS, version_in

    place = target.skill.resolve().parent
    root = place.parent.parent if place.parent.name == VERSIONS else registry_dir(registry)
    if in_ci() or not (root / "registry.db").is_file():
        return None
    try:
        with Registry(root) as opened:
            entry = next(iter(opened.entries("WHERE version = ? ORDER BY name", version_in(place))), None)
            return opened.origin(entry.name, entry.version) if entry is not None else None
    except RegistryUnusable:
        return None  # what has no say in the verdict does not stop it


def _origin_key(origin: Origin | None) -> dict[str, JsonValue]:
    return {} if origin is None else {"unseen": list[JsonValue](sorted(origin.unseen)), "failures": origin.failures}


def _past(database: Path, skill: Path) -> str:
    """Digest of the kept counterexamples that may concern a skill: those of a name that its text contains."""
    try:
        files = sorted(p for p in database.iterdir() if p.suffix == ".json")
    except OSError:
        return ""
    text = skill.read_text(encoding="utf-8", errors="replace") if files else ""
    return ",".join(_sha(p) for p in files if p.name.rpartition("-")[0] in text)


def _cut_short(report: Report) -> bool:
    """Whether something that was wanted did not run, other than for a finding."""
    return not all(n.decided for n in report.not_checked)


def _sha(path: Path | None) -> str:
    """Digest of a file, or of the files of a directory of traces; "" for None.

    Raises:
        ConfigError: it cannot be read.
    """
    from verifiers.interface import ConfigError

    if path is None:
        return ""
    try:
        if path.is_dir():
            return ",".join(f"{p.name}:{_sha(p)}" for p in sorted(path.iterdir()) if p.is_file())
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as e:
        raise ConfigError(f"cannot be read ({e.strerror})", "Check the path and its permissions", path) from e
