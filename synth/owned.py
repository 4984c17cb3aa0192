"""Directories that we write and people may edit: replaced whole while they are as we left them, never once edited."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from synth.files import manifest, manifest_digest, manifest_of, sync_directory, write_tree
from verifiers.interface import AssayError

SCHEMA = "assay-owned/1"


class Conflict(AssayError, FileExistsError):
    """A directory of that name holds something that we did not write."""


def write_owned(
    root: Path, name: str, files: Mapping[str, bytes], mark: str, on_conflict: Literal["sibling", "error"] = "sibling",
    *, kept: str = "",
) -> Path:  # fmt: skip
    """Puts a directory with ``files`` at ``root/name`` and returns where it is.

    A directory that still is as we wrote it is replaced whole. One that was edited, or that we did not write, is left alone:
    ours goes to ``<name>_2`` (and so on), or nothing is written.

    Args:
        root: Created if need be.
        mark: Name of the file in it that holds the digest of what we wrote; the digest leaves it out.
        kept: Name of a file that is others' to write: it is no edit of ours, and stays when the rest is replaced.

    Raises:
        Conflict: ``on_conflict`` is ``error`` and the directory was edited.
        OSError: it cannot be written; what was there is still there.
    """
    root.mkdir(parents=True, exist_ok=True)
    digest = manifest_digest(manifest_of(files))
    for number in range(1, 1000):
        target = root / (name if number == 1 else f"{name}_{number}")
        _recover(target)
        if content_digest(target, mark, kept) == digest:
            return target
        if not os.path.lexists(target) or is_ours(target, mark, kept):
            _put(target, files, mark, digest, kept)
            return target
        if on_conflict == "error":
            raise Conflict("was edited, or made by somebody else", "Move it away, or write under another name", target)
    raise Conflict("there are too many directories of that name", "Remove those that you do not need", root / name)


def is_ours(directory: Path, mark: str, kept: str = "") -> bool:
    """Whether a directory holds exactly what ``write_owned`` wrote last."""
    try:
        note = json.loads((directory / mark).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(note, dict) and note.get("digest") == content_digest(directory, mark, kept)


def content_digest(directory: Path, mark: str, kept: str = "") -> str | None:
    """Digest of everything in the directory but our mark and what is kept; None if it is no directory."""
    if directory.is_symlink() or not directory.is_dir():
        return None
    return manifest_digest({path: fact for path, fact in manifest(directory).items() if path not in (mark, kept)})


def _put(target: Path, files: Mapping[str, bytes], mark: str, digest: str, kept: str) -> None:
    staged = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.new."))
    try:
        note = json.dumps({"schema": SCHEMA, "digest": digest}).encode()
        write_tree(staged / "new", {**files, mark: note})
        if target.exists():
            target.rename(_aside(target))
            # Only now: nobody can add to it any more.
            if kept and (_aside(target) / kept).is_file():
                shutil.copy2(_aside(target) / kept, staged / "new" / kept)
        (staged / "new").rename(target)
        sync_directory(target.parent)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        _recover(target)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _recover(target: Path) -> None:
    """Ends a replacement that was cut off between its two renames: the old directory comes back, or goes."""
    old = _aside(target)
    if not old.is_dir():
        return
    if target.exists():
        shutil.rmtree(old)
    else:
        old.rename(target)
