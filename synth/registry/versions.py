"""Whole-directory versions, addressed by content: ``versions/<sha256>/`` holds the four files of a draft as they were verified.

A directory is written and synced aside, renamed into place, and exists only once a row names it. One lock file orders the
writers of all processes; the system releases it when a process dies.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from synth.draft import DRAFT_FILES, draft_files
from synth.files import manifest, manifest_digest, manifest_of, sync_directory, write_tree
from synth.interface import Draft
from synth.registry.database import Database
from synth.registry.errors import RegistryUnusable

VERSIONS = "versions"
STAGING = "staging"
LINKS = "skills"
_INTENT = re.compile(r"[0-9a-f]{64}\.intent")


def version_of(draft: Draft) -> str:
    """The version that registering ``draft`` gives: the digest of its directory."""
    return manifest_digest(manifest_of(draft_files(draft)))


def version_in(directory: Path) -> str:
    """The version that the files of a draft in a directory make, wherever it lies; what else is there is no part of it."""
    found = {name: directory / name for name in DRAFT_FILES}
    return manifest_digest(manifest_of({name: path.read_bytes() for name, path in found.items() if path.is_file()}))


class Versions:
    """The directories of a registry."""

    def __init__(self, root: Path, database: Database) -> None:
        self.root = root
        self._database = database

    @contextmanager
    def writer(self) -> Iterator[None]:
        """Waits until no other process writes; what a killed writer left is cleaned up first."""
        try:
            lock = (self.root / "lock").open("a")
        except OSError as e:
            what = f"the registry cannot be written ({e.strerror})"
            raise RegistryUnusable(what, "Check the rights, and that it is on a disk that can be written", self.root) from e
        with lock as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            self._clean()
            yield

    def recover(self) -> None:
        """Cleans up after a killed writer, unless one is at work now. What a full disk prevents is left for the next time."""
        if not any((self.root / STAGING).iterdir()) and not self._database.read("SELECT 1 FROM pending_link LIMIT 1"):
            return
        try:
            with (self.root / "lock").open("a") as f:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._clean()
        except OSError:
            # Busy, or no space or no right to tidy up: nothing of it is visible, and reading must work.
            return

    def _clean(self) -> None:
        for left in sorted((self.root / STAGING).iterdir()):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
                continue
            if _INTENT.fullmatch(left.name):  # of any other name it says nothing that we wrote
                self._remove_unnamed(left.stem)
            left.unlink()
        self.publish()

    def _remove_unnamed(self, version: str) -> None:
        named = self._database.read("SELECT 1 FROM version WHERE version = ? LIMIT 1", version)
        if not named and self.path(version).is_dir():
            shutil.rmtree(self.path(version))

    def path(self, version: str) -> Path:
        return self.root / VERSIONS / version

    def place(self, version: str, files: Mapping[str, bytes]) -> Path:
        """Puts a version's directory in place, durable; returns the intent, to be removed once a row names it. Within ``writer``.

        Raises:
            RegistryUnusable: it could not be written; nothing is left of it.
        """
        intent = self.root / STAGING / f"{version}.intent"
        staged = self.root / STAGING / uuid.uuid4().hex
        try:
            intent.touch()
            sync_directory(intent.parent)
            if not self.intact(version):
                write_tree(staged, files)
                self._set_aside(version)
                staged.rename(self.path(version))
                sync_directory(self.path(version).parent)
        except OSError as e:
            shutil.rmtree(staged, ignore_errors=True)
            raise RegistryUnusable(
                f"the version cannot be written ({e.strerror})", "Free some space, or check the rights", self.root
            ) from e
        return intent

    def _set_aside(self, version: str) -> None:
        """Moves a damaged directory of this version out of the way; its sound copy takes its place."""
        if self.path(version).exists():
            self.path(version).rename(self.root / STAGING / uuid.uuid4().hex)

    def done(self, intent: Path) -> None:
        """The row is there: the intent and whatever was set aside go."""
        for left in sorted((self.root / STAGING).iterdir()):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
        intent.unlink(missing_ok=True)

    def intact(self, version: str) -> bool:
        """Whether the directory is there and holds exactly the bytes that its name says."""
        try:
            return manifest_digest(manifest(self.path(version))) == version
        except OSError:
            return False

    def unnamed(self) -> list[str]:
        """Directories that no row names and no writer is about to name: nobody can see them."""
        named = {str(row["version"]) for row in self._database.read("SELECT DISTINCT version FROM version")}
        return sorted({p.name for p in (self.root / VERSIONS).iterdir() if p.is_dir()} - named)

    def collect(self) -> dict[str, int]:
        """Removes the directories that ``unnamed`` lists. Within ``writer``.

        Returns:
            Name -> bytes that it took.

        Raises:
            RegistryUnusable: one cannot be removed.
        """
        removed = {}
        for name in self.unnamed():
            try:
                size = sum(p.lstat().st_size for p in self.path(name).rglob("*"))
                shutil.rmtree(self.path(name))
            except OSError as e:
                raise RegistryUnusable(f"it cannot be removed ({e.strerror})", "Check the rights", self.path(name)) from e
            removed[name] = size
        return removed

    def publish(self) -> None:
        """Brings ``skills/<name>`` (links to the active versions, for people and for tools that walk directories) up to date."""
        for row in self._database.read("SELECT p.name, s.active FROM pending_link p LEFT JOIN skill s USING (name)"):
            self._link(str(row["name"]), row["active"])
            with self._database.write() as db:
                db.execute("DELETE FROM pending_link WHERE name = ?", (row["name"],))

    def _link(self, name: str, version: str | None) -> None:
        link = self.root / LINKS / name
        if version is None:
            link.unlink(missing_ok=True)
            return
        aside = self.root / STAGING / uuid.uuid4().hex
        try:
            aside.symlink_to(os.path.join("..", VERSIONS, version))  # noqa: PTH118 a relative link text, not a path of ours
            aside.rename(link)
        except OSError as e:
            aside.unlink(missing_ok=True)
            raise RegistryUnusable(
                f"the link {name} cannot be written ({e.strerror})", "Free some space; the registry itself is intact", link
            ) from e
