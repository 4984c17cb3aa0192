"""Files that commands read and write, with errors that say what to do."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from verifiers.interface import ConfigError


def write_atomically(path: Path, text: str) -> None:
    """Writes ``path`` so that a reader sees the old text or the new one, never a part. Makes its directory.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as f:
            f.write(text if text.endswith("\n") else text + "\n")
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError as e:
        raise ConfigError(f"cannot be written: {e.strerror}", "Give another file", path) from e


def json_object(text: str, what: str) -> dict[str, Any]:
    """Parses one JSON object, given inline or as ``@FILE``.

    Raises:
        ConfigError: not JSON, not an object, or the file cannot be read.
    """
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as e:
            raise ConfigError(f"{what}: {e}", "Give a JSON file in UTF-8") from e
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
