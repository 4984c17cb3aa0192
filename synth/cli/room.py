"""Room on disks: a cache that cannot be written is done without, and a full disk is named."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import platformdirs

from synth.cli.home import say_once

CACHE_ROOM_BYTES = 64 << 20
"""What mypy's cache of the standard library and some verdicts take."""
_FULL_BYTES = 1 << 20


def usable_cache() -> None:
    """Sees to it that this process has a cache directory that can be written: the user's own, else an empty one of its own.

    Says once which one is skipped and why.
    """
    cache = Path(platformdirs.user_cache_dir())
    why = _unusable(cache)
    if not why:
        return
    say_once(f"warning: the cache in {cache} is not used: {why}")
    own = tempfile.mkdtemp(prefix="assay-cache-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    os.environ["XDG_CACHE_HOME"] = own


def _unusable(cache: Path) -> str:
    """Why a directory is of no use as a cache; "" where it is."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=cache, prefix=".assay-") as probe:
            probe.write(b"\0" * 4096)
            probe.flush()
        free = shutil.disk_usage(cache).free
    except OSError as e:
        return e.strerror or str(e)
    return f"{free >> 20} MiB are free there, and it wants {CACHE_ROOM_BYTES >> 20}" if free < CACHE_ROOM_BYTES else ""


def size_of(place: Path) -> int:
    """Bytes of the files below a directory; what cannot be looked at counts nothing."""
    total = 0
    for path in place.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size if not path.is_dir() else 0
    return total


def stale(place: Path, before: float) -> list[Path]:
    """Files below a cache directory that were last written before a time (seconds since the epoch)."""
    found = []
    for path in sorted(place.rglob("*")):
        with suppress(OSError):
            if (path.is_file() or path.is_symlink()) and path.lstat().st_mtime < before:
                found.append(path)
    return found


def full_places() -> list[str]:
    """Where this process writes and there is no room: standard output, temporary files, the working directory."""
    places = [("standard output", _stdout()), ("temporary files", Path(tempfile.gettempdir())), ("", Path.cwd())]
    found: dict[str, None] = {}
    for what, place in places:
        if place is None:
            continue
        with suppress(OSError):
            if place == Path("/dev/full") or shutil.disk_usage(place).free < _FULL_BYTES:
                found[f"{place} ({what})" if what else str(place)] = None
    return list(found)


def _stdout() -> Path | None:
    """The file that standard output goes to; None where it goes to a terminal or a pipe."""
    with suppress(OSError, ValueError):
        place = Path(f"/proc/self/fd/{sys.__stdout__.fileno() if sys.__stdout__ else 1}").readlink()
        return place if place.is_absolute() and (place.is_file() or place == Path("/dev/full")) else None
    return None
