"""Files that commands read and write, with errors that say what to do."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from verifiers.interface import ConfigError

IN_THE_WAY = "cannot be written: a file is where its directory should be"
MAKE_IT = "Make it first, or give another path"


def write_atomically(path: Path, text: str) -> None:
    """Writes ``path`` so that a reader sees the old text or the new one, never a part.

    Raises:
        ConfigError: it cannot be written.
    """
    with _told(path):
        path = path.resolve()  # a link stays a link
        if _is_special(path):
            path.write_text(_ended(text), encoding="utf-8", errors="backslashreplace")
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as f:
                f.write(_ended(text))
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
            Path(name).chmod(mode)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def json_object(text: str, what: str) -> dict[str, Any]:
    """Parses one JSON object, given inline or as ``@FILE``.

    Raises:
        ConfigError: not JSON, not an object, or the file cannot be read.
    """
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except OSError as e:
            raise ConfigError(f"{what}: {text[1:]} cannot be read: {e.strerror}", "Give a JSON file after the @") from e
        except UnicodeDecodeError as e:
            raise ConfigError(f"{what}: {text[1:]} is not UTF-8 text (byte {e.start})", "Give a JSON file after the @") from e
    try:
        value = json.loads(text)
    except ValueError as e:
        raise ConfigError(f"{what} is not JSON: {e}", 'Write an object such as {"name": "value"}') from None
    if not isinstance(value, dict):
        raise ConfigError(f"{what} is a JSON {type(value).__name__}, not an object", 'Write an object such as {"name": "value"}')
    return value


def dump(value: object) -> str:
    """JSON as the program prints it: two spaces, keys as given, one trailing newline, non-ASCII kept but surrogates escaped."""
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def append_lines(path: Path, lines: Sequence[str]) -> None:
    """Adds whole lines to a file, making it where it is not there. A last line that was cut off stays alone.

    Raises:
        ConfigError: they cannot be written; the file is as it was.
    """
    data = "".join(f"{line}\n" for line in lines).encode()
    with _told(path), _opened(path) as file:
        size = os.fstat(file.fileno()).st_size  # 0 of a pipe or a device
        if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
            data = b"\n" + data
        try:
            while data:
                data = data[file.write(data) :]
        except OSError:
            with suppress(OSError):
                file.truncate(size)
            raise


def check_appendable(path: Path) -> None:
    """Returns if lines can be added to a file: to be asked before the work whose result goes there.

    Raises:
        ConfigError: they cannot.
    """
    with _told(path):
        if not _is_special(path):
            _opened(path).close()


def must_have_parent(path: Path) -> None:
    """Returns if the directory is there that something is to be put in: a misspelt one is never made.

    Raises:
        ConfigError: it is not.
    """
    parent = path.resolve().parent
    if parent.exists() and not parent.is_dir():
        raise ConfigError(IN_THE_WAY, "Give another file", path)
    if not parent.is_dir():
        raise ConfigError(f"cannot be written: there is no directory {_missing(parent)}", MAKE_IT, path)


def _is_special(path: Path) -> bool:
    """A pipe or a device: written to as it is, and only once, as opening it may already mean something to its reader."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _opened(path: Path) -> io.FileIO:
    access = os.O_WRONLY if _is_special(path) else os.O_RDWR | os.O_CREAT | os.O_APPEND
    return io.FileIO(os.open(path, access, 0o644), "w" if _is_special(path) else "r+")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Translates what the system says of a file that cannot be written."""
    try:
        yield
    except FileNotFoundError as e:
        raise ConfigError(f"cannot be written: there is no directory {_missing(path.resolve().parent)}", MAKE_IT, path) from e
    except (FileExistsError, NotADirectoryError) as e:
        raise ConfigError(IN_THE_WAY, "Give another file", path) from e
    except OSError as e:
        raise ConfigError(f"cannot be written: {e.strerror}", "Give another file", path) from e


def _missing(directory: Path) -> Path:
    """The first directory on the way that is not there."""
    return next((p for p in reversed([directory, *directory.parents]) if not p.exists()), directory)
