"""What the runner holds for the client: contents by sha256 and trees by the digest of their manifest. Guest side."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable

from sandbox.guest.tree import WireEntry

MAX_BYTES = 96 << 20
MAX_MANIFESTS = 400


def manifest(entries: Iterable[WireEntry]) -> bytes:
    """Entries as the canonical JSON that is sent and hashed: sorted by path."""
    return json.dumps(sorted(entries), separators=(",", ":")).encode("ascii")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Store:
    """Bounded, least recently used goes first; what the current run needs is pinned by being fetched for it."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._blobs: OrderedDict[str, bytes] = OrderedDict()
        self._manifests: OrderedDict[str, dict[str, WireEntry]] = OrderedDict()
        self._bytes, self._max_bytes = 0, max_bytes

    def put(self, ref: str, content: bytes) -> None:
        if ref not in self._blobs:
            self._blobs[ref] = content
            self._bytes += len(content)

    def get(self, ref: str) -> bytes | None:
        if ref in self._blobs:
            self._blobs.move_to_end(ref)
        return self._blobs.get(ref)

    def put_manifest(self, text: bytes) -> str:
        name = digest(text)
        self._manifests[name] = {e[0]: WireEntry(*e) for e in json.loads(text)}
        self._manifests.move_to_end(name)
        while len(self._manifests) > MAX_MANIFESTS:
            self._manifests.popitem(last=False)
        return name

    def tree(self, name: str) -> dict[str, WireEntry] | None:
        if name in self._manifests:
            self._manifests.move_to_end(name)
        return self._manifests.get(name)

    def missing(self, entries: Iterable[WireEntry]) -> list[str]:
        return sorted({e.ref for e in entries if e.type == "file" and self.get(e.ref) is None})

    def trim(self) -> None:
        """Forgets the oldest contents until the bound holds. Called between runs only."""
        while self._bytes > self._max_bytes and self._blobs:
            _, content = self._blobs.popitem(last=False)
            self._bytes -= len(content)
