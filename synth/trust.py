"""Which configurations may run commands: those whose very text, at that very place, somebody has looked at and trusted."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import platformdirs


def is_trusted(file: Path, sha256: str) -> bool:
    """Whether this text at this place was trusted."""
    return _mark(file, sha256).is_file()


def trust(file: Path, sha256: str) -> None:
    """Remembers, for this user, that this text at this place may run commands.

    Raises:
        OSError: the user's data directory cannot be written.
    """
    mark = _mark(file, sha256)
    mark.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mark.write_text(f"{file.absolute()}\n", encoding="utf-8", errors="surrogateescape")


def withdraw(file: Path, sha256: str) -> bool:
    """Forgets it; False where it was not trusted."""
    known = is_trusted(file, sha256)
    _mark(file, sha256).unlink(missing_ok=True)
    return known


def _mark(file: Path, sha256: str) -> Path:
    key = hashlib.sha256(os.fsencode(file.resolve()) + b"\0" + sha256.encode()).hexdigest()
    return Path(platformdirs.user_data_dir("skill-assay")) / "trusted" / key
