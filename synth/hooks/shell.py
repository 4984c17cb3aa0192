"""Recording what a person types: one guarded line in a shell's start-up file, beside what is there, taken out without a trace."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from importlib import resources
from pathlib import Path

from synth.files import write_atomic
from synth.hooks.install import MARK
from synth.hooks.notes import bytes_of, digest, find, note_file, put, restore
from synth.hooks.typed import AGENT, IDLE_S
from verifiers.interface import ConfigError

SHELLS = ("bash", "zsh", "fish")


def started_by(shell: str) -> Path:
    """The file that a shell reads when it starts for a person."""
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    files = {
        "bash": home / ".bashrc",
        "zsh": Path(os.environ.get("ZDOTDIR") or home) / ".zshrc",
        "fish": config / "fish" / "conf.d" / "assay-hook.fish",
    }
    return files[shell].resolve()


def persons_shell() -> str:
    """The shell of this person.

    Raises:
        ConfigError: it is none that can be recorded.
    """
    name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise ConfigError(f"$SHELL is {name or 'not set'}, which cannot be recorded", f"Say which: --shell {'|'.join(SHELLS)}")
    return name


def install_shell(shell: str, project: Path | None, store: Path) -> Path:
    """Adds the line and returns the file it is in. Again: brings it up to date.

    Args:
        project: Only there; None = in every git work tree.

    Raises:
        ConfigError: the file cannot be written.
    """
    path = started_by(shell)
    if (earlier := store_in(shell)) is not None and earlier != store:
        uninstall_shell(shell, earlier)  # it knows what was there before
    snippet = store / "shell" / f"hook.{shell}"
    for private in (store, snippet.parent):
        private.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomic(snippet, _snippet(shell, project, store).encode("utf-8", "surrogateescape"), 0o600)
    before = bytes_of(path) or b""
    kept = _without(before)
    put_on = b"" if not kept or kept.endswith(b"\n") else b"\n"
    try:
        put(store, AGENT, path, kept + put_on + _line(shell, snippet))
    except OSError as e:
        raise ConfigError(
            f"cannot be written: {e.strerror}", "Add the line by hand: " + _line(shell, snippet).decode(), path
        ) from e
    return path


def uninstall_shell(shell: str, store: Path) -> bool:
    """Takes the line out again, and says whether there was one. A file that is as we left it becomes what it was."""
    path = started_by(shell)
    note, now = find(store, path), bytes_of(path)
    note_file(store, path).unlink(missing_ok=True)
    (store / "shell" / f"hook.{shell}").unlink(missing_ok=True)
    if now is None or _without(now) == now:
        return False
    if note is not None and digest(now) == note.after:
        restore(path, note)
    else:
        write_atomic(path, _without(now))
    return True


def store_in(shell: str) -> Path | None:
    """Where the line that is there keeps what the shell notes; None where there is none."""
    ours = (line for line in (bytes_of(started_by(shell)) or b"").splitlines() if line.endswith(f"# {MARK}".encode()))
    text = next(ours, b"").decode("utf-8", "surrogateescape").replace(";", " ")
    with suppress(ValueError):  # somebody edited it
        return next((Path(w).parents[1] for w in shlex.split(text) if w.endswith(f"/shell/hook.{shell}")), None)
    return None


def records(shell: str) -> bool:
    """Whether the line is there."""
    now = bytes_of(started_by(shell))
    return now is not None and _without(now) != now


def _without(text: bytes) -> bytes:
    end = f"# {MARK}\n".encode()
    return b"".join(line for line in text.splitlines(keepends=True) if not (line.rstrip(b"\n") + b"\n").endswith(end))


def _line(shell: str, snippet: Path) -> bytes:
    """Does nothing where the snippet is gone."""
    name = shlex.quote(str(snippet))
    text = f"if test -r {name}; source {name}; end" if shell == "fish" else f"if [ -r {name} ]; then . {name}; fi"
    return f"{text} # {MARK}\n".encode("utf-8", "surrogateescape")


def _snippet(shell: str, project: Path | None, store: Path) -> str:
    text = resources.files("synth.hooks").joinpath("snippets", f"hook.{shell}").read_text("utf-8")
    values = {
        "@PYTHON@": sys.executable, "@ENTRY@": str(Path(__file__).with_name("entry.py")), "@STORE@": str(store),
        "@PROJECT@": str(project) if project is not None else "",
    }  # fmt: skip
    for name, value in values.items():
        text = text.replace(name, shlex.quote(value))
    return text.replace("@IDLE@", str(IDLE_S))
