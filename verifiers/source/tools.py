"""Runs the external linters: one process for a batch of skills, files in a private directory, output parsed from JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from verifiers.interface import Subject

TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What a linter's process said."""

    exit_code: int | None
    """None: it could not be started, or did not end within ``TIMEOUT_S``."""
    stdout: str
    stderr: str


def run_tool(command: Sequence[str], cwd: Path, env: dict[str, str] | None = None) -> ToolRun:
    """Runs a tool without a shell and without input. Never raises for what the tool does."""
    full = {**os.environ, **(env or {})}
    try:
        done = subprocess.run(
            [*command], cwd=cwd, env=full, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return ToolRun(None, "", f"{Path(command[0]).name} did not end within {TIMEOUT_S:.0f} s")
    except OSError as error:
        return ToolRun(None, "", f"{command[0]} cannot be started: {error.strerror or error}")
    return ToolRun(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def tool_command(package: str) -> list[str]:
    """How to start a tool that is installed beside this interpreter: its executable where there is one, else ``-m``."""
    beside = Path(sys.executable).with_name(package)
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", package]


def tool_version(package: str) -> str:
    """The installed version; "absent" where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def module_name(subject: Subject) -> str:
    """A file stem that no other source shares, so that equal file names never clash."""
    return f"skill_{subject.sha256[:20]}"


@contextmanager
def written(sources: dict[str, str]) -> Iterator[Path]:
    """A private directory with ``<stem>.py`` for every source; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="assay-static-") as name:
        folder = Path(name)
        for stem, source in sources.items():
            (folder / f"{stem}.py").write_text(source, encoding="utf-8", errors="surrogateescape", newline="\n")
        yield folder


def json_lines(text: str) -> Iterator[dict[str, object]]:
    """The JSON objects among the lines of a tool's output."""
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found
