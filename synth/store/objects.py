"""Contents by their SHA-256, in a directory that only its owner may read. Written whole or not at all, each once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path


class Objects:
    """The contents below a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, data: bytes) -> str:
        """Keeps the bytes and returns their digest."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if path.exists():
            return digest
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_name(f".{digest[:8]}.{os.getpid()}")
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        return digest

    def get(self, digest: str) -> bytes | None:
        """The bytes; None where they are not kept, or are not what their name says."""
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def prune(self, kept: set[str]) -> int:
        """Removes what nobody refers to; returns how many bytes that were."""
        freed = 0
        for path in self._files():
            if path.parent.name + path.name not in kept:
                freed += path.stat().st_size
                path.unlink(missing_ok=True)
        return freed

    def size_bytes(self) -> int:
        """Of all contents."""
        return sum(path.stat().st_size for path in self._files())

    def _files(self) -> Iterator[Path]:
        return (path for path in self.root.glob("??/*") if not path.name.startswith("."))

    def _path(self, digest: str) -> Path:
        return self.root / digest[:2] / digest[2:]
