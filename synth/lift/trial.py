"""One run of an agent on one recording: a copy of the start, a home of its own, and what is there at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.interface import ROOT, Effect, Snapshot
from synth.export import Skill
from synth.export.agentskills import export_agentskills
from synth.lift.clients import Client, Spent
from synth.tracing.workspace import apply, snapshot_of
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import Expectation

PASSED = (
    "PATH", "LANG", "LC_ALL", "TERM", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
"""Variables that every client is given; of the user's own home and settings it sees nothing."""
OWN = frozenset({".claude", ".codex", ".gemini", ".agents"})
"""Directories that clients put into a project for themselves."""
MAX_SAID = 64 << 20
"""Bytes of a client's output that are read."""


@dataclass(frozen=True, slots=True)
class Run:
    """How one run ended."""

    reached: bool
    """The end state is the one that the recording's own commands reach."""
    why: str
    """What is different, or why it did not end; "" where it was reached."""
    seconds: float
    spent: Spent | None
    """None where the client did not say."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What all runs have in common."""

    client: Client
    program: str
    """Its path."""
    environment: Mapping[str, str]
    model: str | None = None
    timeout_s: float = 600.0


def run(settings: Settings, request: str, x: Expectation, skills: Sequence[Skill]) -> Run:
    """Lets the agent do a request on a copy of a start, with these skills in its home; nothing of it is left.

    Raises:
        WorkspaceError: the start cannot be laid.
        ExportError: a skill cannot be exported.
        OSError: there is no room, or the program cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="assay-lift-", ignore_cleanup_errors=True) as scratch:
        home, work = Path(scratch, "home"), Path(scratch, "work")
        _furnish(home, settings, skills)
        lay(x.base, work)
        began = time.monotonic()
        ended = _call(settings, request, Path(scratch), home, work)
        seconds = time.monotonic() - began
        spent = _said(settings.client, Path(scratch, "out"))
        why = ended or (spent.failed if spent is not None else "the client said nothing of its run")
        why = why or wrong(x, snapshot_of(work), spent.said if spent is not None else "")
        return Run(not why, why, seconds, spent)


def lay(base: Snapshot, directory: Path) -> None:
    """Writes a start into a new directory, modes included.

    Raises:
        WorkspaceError: it has something that cannot be written.
    """
    directory.mkdir(mode=0o755)
    apply([Effect(path, "created", None, entry) for path, entry in base.items() if path != ROOT], directory)
    if ROOT in base:
        directory.chmod(base[ROOT].mode & 0o777 | 0o700)


def wrong(x: Expectation, end: Snapshot, said: str) -> str:
    """What is wrong with an end state, as a verification sees it; "" where nothing is.

    A recording that only reads is judged by its answer: each of its lines must stand in what the agent said last.
    """
    known = {path: entry for path, entry in end.items() if _counts(path, x.base)}
    found = differences(x.tree, known, volatile=x.volatile, links=False)
    if found:
        return f"{found[0]}{f' and {len(found) - 1} more' if len(found) > 1 else ''}"
    if x.effects or not x.answer_known:
        return ""
    missing = [line for line in x.answer.split("\n") if line.strip() and not _stands(line.strip(), said)]
    return f"the answer is not in what it said: {missing[0][:80]!r}" if missing else ""


def _counts(path: str, base: Snapshot) -> bool:
    if path == ROOT:
        return ROOT in base
    top = path.split("/", 1)[0]
    return top not in OWN or top in base


def _stands(line: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(line)}(?!\w)", text) is not None


def _furnish(home: Path, settings: Settings, skills: Sequence[Skill]) -> None:
    """A home with the client's settings and skills, and nothing else."""
    home.mkdir()
    for name, text in settings.client.files(settings.environment, settings.model).items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    folder = home / settings.client.skills
    folder.mkdir(parents=True, exist_ok=True)
    for skill in skills:
        export_agentskills(skill, folder)


def _call(settings: Settings, request: str, scratch: Path, home: Path, work: Path) -> str:
    """Runs the client; why it did not end well, or ""."""
    client = settings.client
    names = (*PASSED, *client.keys, *client.passed)
    given = {name: value for name in names if (value := settings.environment.get(name))}
    (scratch / "tmp").mkdir()
    env = {**given, **client.fixed, "HOME": str(home), "TMPDIR": str(scratch / "tmp")}
    (scratch / "in").write_text(request if client.on_stdin else "", encoding="utf-8", errors="replace")
    words = [settings.program, *client.words(request, settings.model)]
    with (scratch / "in").open("rb") as asked, (scratch / "out").open("wb") as out, (scratch / "err").open("wb") as err:
        process = subprocess.Popen(
            words, cwd=work, env=env, stdin=asked, stdout=out, stderr=err, start_new_session=True, umask=0o022
        )  # fmt: skip
        try:
            code = process.wait(settings.timeout_s)
        except subprocess.TimeoutExpired:
            return f"it did not end within {settings.timeout_s:g} s"
        finally:
            _end(process)
    said = (scratch / "err").read_bytes()[-4000:].decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(said) if line.strip()), "")
    return f"it ended with exit code {code}{f': {last[:200]}' if last else ''}" if code else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the client with all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _said(client: Client, path: Path) -> Spent | None:
    with path.open("rb") as out:
        text = out.read(MAX_SAID).decode("utf-8", "replace")
    try:
        return client.read(text)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
