"""Which configuration counts: a tree that is judged has no say in how it is judged."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from synth.config import FILES, Config, files_above, parse_config
from verifiers.interface import ConfigError

_NO = frozenset({"", "0", "false", "no", "off"})
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit")


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds, and what was found and does not count."""

    config: Config
    ignored: tuple[str, ...] = ()
    """One sentence a file."""


def in_ci(environ: Mapping[str, str] | None = None) -> bool:
    """Whether this runs in CI, where the tree is somebody else's proposal."""
    return (os.environ if environ is None else environ).get("CI", "").lower() not in _NO


def settings_for(start: Path, judged: Sequence[Path] = (), since: str | None = None) -> Settings:
    """The nearest configuration at or above ``start`` that may count, else the base revision's, else the user's own.

    Args:
        judged: What is about to be judged.
        since: The base revision, in git.

    Raises:
        ConfigError: a configuration that counts cannot be read.
    """
    here = start.absolute()
    why = _no_say(judged)
    if why:
        ignored = tuple(f"ignored: {p} ({why}; name it with --config)" for p in _names_above(here))
        chosen = _of_revision(here, since) if since is not None else None
        return Settings(chosen or _own(here, (here, *judged)) or Config(here), ignored)
    refused = {p: reason for p in _names_above(here) if (reason := _planted(p))}
    ignored = tuple(f"refused: {p} ({reason}; name it with --config)" for p, reason in refused.items())
    nearest = next((p for p in files_above(here, frozenset(refused))), None)
    chosen = parse_config(nearest.read_bytes(), nearest) if nearest is not None else None
    return Settings(chosen or _own(here, ()) or Config(here), ignored)


def _no_say(judged: Sequence[Path]) -> str:
    """Why nothing that is found by search counts; "" where it does."""
    if in_ci():
        return "in CI the judged tree does not configure its judge"
    for path in judged:
        try:
            if path.stat().st_uid != os.geteuid():
                return f"{path} belongs to another owner"
        except OSError:
            continue  # said by whoever reads it
    return ""


def _planted(file: Path) -> str:
    """Why somebody else may have put a file there; "" where nobody else can."""
    home = file.parent.stat()
    if {file.lstat().st_uid, file.stat().st_uid, home.st_uid} != {os.geteuid()}:
        return "it belongs to another owner"
    if home.st_mode & (stat.S_ISVTX | stat.S_IWOTH):
        return "it lies in a shared directory"
    return ""


def _names_above(here: Path) -> Iterator[Path]:
    """Every file that may configure assay. A ``pyproject.toml`` only if it seems to: those that count not are not parsed."""
    for directory in (here, *here.parents):
        for name in FILES:
            file = directory / name
            try:
                if file.is_file() and (name != FILES[-1] or b"tool.assay" in file.read_bytes()):
                    yield file
            except OSError:
                continue  # what cannot be read cannot count


def _own(here: Path, outside_of: Sequence[Path]) -> Config | None:
    """The user's own settings, unless they lie in the judged tree. Their relative paths refer to ``here``."""
    file = Path(platformdirs.user_config_dir("skill-assay")) / FILES[0]
    if not file.is_file() or any(file.resolve().is_relative_to(p.resolve()) for p in outside_of):
        return None
    return parse_config(file.read_bytes(), file, here)


def _of_revision(here: Path, revision: str) -> Config | None:
    """The nearest configuration at or above ``here`` as a git revision has it."""
    if revision.startswith("-"):
        raise ConfigError(f"{revision!r} is not a git revision", "Give a commit, branch or tag to --since.")
    top = git_says(here, "rev-parse", "--show-toplevel")
    if top is None:
        return None
    root = Path(os.fsdecode(top).rstrip("\n"))
    for directory in (p for p in (here.resolve(), *here.resolve().parents) if p.is_relative_to(root)):
        for name in FILES:
            listed = git_says(directory, "ls-tree", revision, "--", name)
            content = git_says(directory, "show", f"{revision}:./{name}") if listed and listed.startswith(b"100") else None
            if content is not None and (name != FILES[-1] or b"tool.assay" in content):
                return parse_config(content, directory / name)
    return None


def git_says(where: Path, *words: str) -> bytes | None:
    """What git prints; None where it has nothing to say."""
    try:
        done = subprocess.run([*_GIT, *words], cwd=where, capture_output=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
