"""Directories that we write and people may edit: replaced whole while they are as we left them, never once edited."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from synth.files import Manifest, manifest, manifest_digest, manifest_of, sync_directory, write_tree
from verifiers.interface import AssayError

SCHEMA = "assay-owned/1"


class Conflict(AssayError, FileExistsError):
    """A directory of that name holds something that we did not write."""


def write_owned(
    root: Path, name: str, files: Mapping[str, bytes], mark: str, on_conflict: Literal["sibling", "error"] = "sibling",
    *, kept: str = "", owner: str = "", replaces: Callable[[Path], bool] = lambda directory: False,
) -> Path:  # fmt: skip
    """Puts a directory with ``files`` at ``root/name`` and returns where it is.

    A directory that still is as we wrote it is replaced whole. One that was edited, or that we did not write, is left alone:
    ours goes to ``<name>_2`` (and so on), or nothing is written.

    Args:
        root: Created if need be.
        mark: Name of the file in it that holds the digest of what we wrote; the digest leaves it out.
        kept: Name of a file that is others' to write: it is no edit of ours, and stays when the rest is replaced.
        owner: What is written, by name: the directory of another owner is not replaced.
        replaces: Whether a directory that is not as we left it may be replaced all the same.

    Raises:
        Conflict: ``on_conflict`` is ``error`` and the directory was edited, or has another owner.
        OSError: it cannot be written, its ``filename`` says which; what was there is still there, nothing else is.
    """
    missing = [p for p in (root, *root.parents) if not p.exists()]
    root.mkdir(parents=True, exist_ok=True)
    digest = manifest_digest(manifest_of(files))
    for number in range(1, 1000):
        target = root / (name if number == 1 else f"{name}_{number}")
        _recover(target)
        if content_digest(target, mark, kept) == digest:
            _without_compiled(target)
            return target
        other = owner_of(target, mark)
        other = "" if owner in ("", other) else other
        if not other and (not os.path.lexists(target) or is_ours(target, mark, kept) or replaces(target)):
            with _told(target, missing):
                _put(target, files, mark, owner, kept)
            return target
        if on_conflict == "error":
            raise _conflict(target, mark, kept, other)
    raise Conflict("there are too many directories of that name", "Remove those that you do not need", root / name)


def is_ours(directory: Path, mark: str, kept: str = "") -> bool:
    """Whether a directory holds exactly what ``write_owned`` wrote last."""
    return bool(_note(directory, mark).get("digest", "") == content_digest(directory, mark, kept))


def content_digest(directory: Path, mark: str, kept: str = "") -> str | None:
    """Digest of everything in the directory but our mark, what is kept and compiled code; None if it is no directory."""
    found = _manifest(directory, mark, kept)
    return None if found is None else manifest_digest(found)


def edited(directory: Path, mark: str, kept: str = "") -> list[str] | None:
    """The paths that are not as ``write_owned`` left them; None where it does not say how that was."""
    files, found = _note(directory, mark).get("files"), _manifest(directory, mark, kept)
    if not isinstance(files, dict) or found is None:
        return None
    now = {path: fact.sha256 for path, fact in found.items()}
    changed = {path for path in {*files, *now} - {kept} if files.get(path) != now.get(path)}
    same = {path: (directory / path).read_bytes() for path, fact in found.items() if fact.kind == "file" and path not in changed}
    return sorted(changed | {path for path, fact in manifest_of(same).items() if fact.mode != found[path].mode})


def _manifest(directory: Path, mark: str, kept: str) -> Manifest | None:
    if directory.is_symlink() or not directory.is_dir():
        return None
    # Whoever imports our code may leave compiled copies of it: they are nobody's edit.
    return {p: f for p, f in manifest(directory).items() if p not in (mark, kept) and "__pycache__" not in p.split("/")}


def _without_compiled(directory: Path) -> None:
    """What hosts compiled is no part of what was written: others take their digest of the whole directory."""
    for cache in list(directory.rglob("__pycache__")):
        if cache.is_dir() and not cache.is_symlink():
            shutil.rmtree(cache, ignore_errors=True)


def _note(directory: Path, mark: str) -> Mapping[str, Any]:
    """What ``write_owned`` noted in a directory; nothing where it wrote none, or the note is damaged."""
    try:
        note = json.loads((directory / mark).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def owner_of(directory: Path, mark: str) -> str:
    """What ``write_owned`` wrote last into a directory, by name; "" where it does not say."""
    return str(_note(directory, mark).get("owner", ""))


def _conflict(target: Path, mark: str, kept: str, other: str) -> Conflict:
    if other:
        return Conflict(f"holds the skill {other}", f"Give one of the two another name, or retire {other}", target)
    paths = edited(target, mark, kept)
    what = f"was edited ({', '.join(paths[:3])})" if paths else "was edited, or made by somebody else"
    return Conflict(what, "Move it away, or write under another name", target)


@contextmanager
def _told(target: Path, made: Sequence[Path]) -> Iterator[None]:
    """An error is about the directory that was to be written, and those that were made for it alone go again."""
    try:
        yield
    except OSError as e:
        for each in made:
            with suppress(OSError):
                each.rmdir()
        e.filename = str(target)
        raise


def _put(target: Path, files: Mapping[str, bytes], mark: str, owner: str, kept: str) -> None:
    facts = manifest_of(files)
    said: dict[str, Any] = {"schema": SCHEMA, "digest": manifest_digest(facts), "files": {p: f.sha256 for p, f in facts.items()}}
    staged = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.new."))
    try:
        note = json.dumps({**said, "owner": owner} if owner else said).encode()
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
