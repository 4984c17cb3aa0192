"""Runs mypy over a batch of skills in one process, with a cache of the standard library that outlives it."""

from __future__ import annotations

import fcntl
import hashlib
import io
import re
import shutil
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

import sandbox
from verifiers.interface import Profile
from verifiers.source.tools import json_lines, run_tool, tool_version, written
from verifiers.subject import source_lines

PYTHON_VERSION = "3.11"
"""Of the sandbox's image."""
CACHE_LIMIT_BYTES = 200 << 20
"""Beyond this the cache is thrown away: every skill that was ever checked leaves a trace in it."""
LOCK_WAIT_S = 60.0
_SWITCH = re.compile(r"^(#\s*)(type\s*:\s*ignore|mypy\s*:)", re.IGNORECASE)
_OMNI_STUB = """\
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")

@overload
def skill_command(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def skill_command(
    *, name: str | None = None, description: str | None = None, category: str = "general", title: str | None = None,
    read_only: bool = False, destructive: bool = False, idempotent: bool = False, open_world: bool = False,
    variants: list[str] | None = None, default_variant: str | None = None, inject_root: bool = False,
    inject_settings: list[str] | None = None, autowire: bool = True, retry_on: tuple[type[BaseException], ...] | None = None,
    max_attempts: int = 1, cache_ttl: float = 0.0, error_strategy: str | None = None, log_level: str | None = None,
    trace_args: bool = False, trace_result: bool = True, trace_timing: bool = True, filter_empty: bool = True,
    max_result_depth: int = 3,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def __getattr__(name: str) -> Any: ...
"""
_FOREIGN = ["--ignore-missing-imports", "--allow-subclassing-any", "--no-warn-return-any", "--allow-untyped-decorators"]
"""Skills of the `omni` profile use the host's own packages, of which nothing is known here: what comes from them is ``Any``."""
_SETTINGS = "mypy.ini"
_ANYTHING = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"


@dataclass(frozen=True, slots=True)
class Complaint:
    """One error that mypy reports."""

    line: int
    message: str
    code: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TypecheckFailed:
    """mypy itself did not work."""

    why: str


def typecheck(
    sources: Mapping[str, str], profile: Profile = "seed", unknown: frozenset[str] = frozenset()
) -> Mapping[str, tuple[Complaint, ...]] | TypecheckFailed:
    """mypy's errors by file stem, in file order; a stem is absent where mypy gave up on that one file.

    Args:
        unknown: modules that may be imported although nothing is known of them; what they hold is ``Any``.
    """
    settings = _settings(unknown)
    with _cache() as cache:
        stubs = _stubs(cache, profile)
        return _checked(dict(sources), profile, cache, stubs, settings)


def _settings(unknown: frozenset[str]) -> str:
    """mypy's configuration for modules that it need not find."""
    names = sorted(n for n in unknown if all(part.isidentifier() for part in n.split(".")))
    return "[mypy]\n" + "".join(f"[mypy-{n},{n}.*]\nignore_missing_imports = True\n" for n in names)


def neutralised(source: str) -> str:
    """The text with its suppression comments made ineffective, line for line."""
    if "#" not in source:
        return source
    lines = source_lines(source)
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and _SWITCH.match(token.string):
                row, column = token.start
                line = lines[row - 1]
                lines[row - 1] = line[:column] + "#" + line[column + 1 :].replace(":", ";")
    except (tokenize.TokenError, SyntaxError):
        return source
    return "\n".join(lines)


def _checked(
    sources: dict[str, str], profile: Profile, cache: Path, stubs: Path, settings: str
) -> Mapping[str, tuple[Complaint, ...]] | TypecheckFailed:
    command = [
        sys.executable, "-m", "mypy", "--strict", f"--config-file={_SETTINGS}",
        "--output=json", "--no-error-summary", "--no-site-packages",
        "--python-version", PYTHON_VERSION, "--follow-imports=silent", "--no-color-output",
        # A name may be used again for something else: what is done with it is what is looked at.
        "--allow-redefinition-new", "--local-partial-types",
        "--cache-dir", str(cache / "types" / profile),
        *(_FOREIGN if profile == "omni" else []), ".",
    ]  # fmt: skip
    with written({stem: neutralised(text) for stem, text in sources.items()}) as folder:
        (folder / _SETTINGS).write_text(settings, encoding="utf-8")
        done = run_tool(command, folder, {"MYPYPATH": str(stubs), "MYPY_FORCE_COLOR": "0"})
    complaints = _complaints(done.stdout, sources)
    if done.exit_code in (0, 1):
        return complaints
    if done.exit_code is None or not sources:
        return TypecheckFailed(f"mypy {tool_version('mypy')}: {done.stderr}")
    return _without_the_culprit(sources, profile, cache, stubs, settings, done.stderr or done.stdout)


def _without_the_culprit(
    sources: dict[str, str], profile: Profile, cache: Path, stubs: Path, settings: str, said: str
) -> Mapping[str, tuple[Complaint, ...]] | TypecheckFailed:
    """mypy stops at the first file that it cannot take at all: halve the batch until that one is alone."""
    if len(sources) == 1:
        stem = next(iter(sources))
        complaints = _complaints(said, sources)[stem]
        return {stem: complaints} if complaints else {}
    stems = sorted(sources)
    merged: dict[str, tuple[Complaint, ...]] = {}
    for half in (stems[: len(stems) // 2], stems[len(stems) // 2 :]):
        part = _checked({s: sources[s] for s in half}, profile, cache, stubs, settings)
        if isinstance(part, TypecheckFailed):
            return part
        merged.update(part)
    return merged


def _complaints(output: str, sources: Mapping[str, str]) -> dict[str, tuple[Complaint, ...]]:
    found: dict[str, list[Complaint]] = {stem: [] for stem in sources}
    for item in json_lines(output):
        stem = Path(str(item.get("file"))).stem
        if stem not in found:
            continue
        message, hint = str(item.get("message")), item.get("hint")
        if item.get("severity") == "note":
            if found[stem]:
                last = found[stem][-1]
                found[stem][-1] = replace(last, notes=(*last.notes, message))
            continue
        line = item.get("line")
        notes = tuple(str(hint).splitlines()) if hint else ()
        found[stem].append(
            Complaint(max(line, 1) if isinstance(line, int) else 1, message, str(item.get("code") or "misc"), notes)
        )
    return {stem: tuple(sorted(items, key=lambda c: c.line)) for stem, items in found.items()}


def _stubs(cache: Path, profile: Profile) -> Path:
    """A directory with ``skill_api`` and, for the omni profile, the upstream decorator's stub; written once per content."""
    api = (Path(sandbox.__file__).parent / "guest" / "skill_api.py").read_text(encoding="utf-8")
    files = {"skill_api.py": api}
    if profile == "omni":
        files |= {
            "omni/__init__.pyi": _ANYTHING,
            "omni/foundation/__init__.pyi": _ANYTHING,
            "omni/foundation/api/__init__.pyi": _OMNI_STUB,
            "omni/foundation/api/decorators.pyi": _OMNI_STUB,
        }
    key = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
    folder = cache / f"stubs-{profile}-{key}"
    if not folder.is_dir():
        fresh = Path(tempfile.mkdtemp(dir=cache))
        for name, text in files.items():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).write_text(text, encoding="utf-8")
        try:
            fresh.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(fresh)
    return folder


def cache_folder() -> Path:
    """Where the cache of this mypy and this Python lives."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Path(platformdirs.user_cache_dir("skill-assay")) / f"mypy-{tool_version('mypy')}-py{python}-{PYTHON_VERSION}"


@contextmanager
def _cache() -> Iterator[Path]:
    """The cache directory, held exclusively; a private one where it cannot be had (read-only home, another long run)."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("a")
    except OSError:
        with tempfile.TemporaryDirectory(prefix="assay-mypy-") as name:
            yield Path(name)
        return
    with lock:
        if not _locked(lock):
            with tempfile.TemporaryDirectory(prefix="assay-mypy-") as name:
                yield Path(name)
            return
        types = folder / "types"
        if _size(types) > CACHE_LIMIT_BYTES:
            shutil.rmtree(types)
        yield folder


def _locked(lock: io.TextIOBase) -> bool:
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        except OSError:  # file systems without locks
            return False
        else:
            return True


def _size(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
