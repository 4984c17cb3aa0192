"""Same effect: two snapshots compared per path and attribute, archives and repositories by what they hold
(docs/semantics.md, "Same effect").

What an archive or a repository may hold besides is compared as it is: nothing hides in what has a normal form.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from sandbox.interface import ROOT, Effect, EffectKind, Entry, Snapshot
from verifiers.expectation.archives import canonical
from verifiers.expectation.repositories import in_summary, repository_roots, repository_summary

LONG, BEFORE = 60, 24
"""Of a common beginning: how much is shown whole, and how much of a longer one."""
LOOKED_AT = 1 << 16
"""Bytes in which two contents are searched for where they part."""
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that no text has, in whatever encoding of one byte a letter: nobody reads what stands around them."""
Attribute = tuple[str, EffectKind]


@dataclass(frozen=True, slots=True)
class Difference:
    """One attribute of one path where two trees disagree."""

    path: str
    kind: EffectKind
    expected: str
    observed: str

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}: expected {self.expected}, observed {self.observed}"


def differences(
    expected: Mapping[str, Entry], observed: Mapping[str, Entry], *, volatile: Collection[Attribute] = (), root: bool = True,
    links: bool = True,
) -> tuple[Difference, ...]:  # fmt: skip
    """Where ``observed`` differs from ``expected`` by the rules (docs/semantics.md, "Same effect").

    Args:
        volatile: attributes that are not compared; a volatile ``created`` of a path leaves the whole path out.
        root: compare the workspace directory's own mode too (only where both sides know it).
        links: compare under how many names a file stands, which recordings do not say.
    """
    out: list[Difference] = []
    a, b = normal_form(expected, links), normal_form(observed, links)
    for path in sorted(a.keys() | b.keys()):
        if path == ROOT and (not root or path not in a or path not in b):
            continue
        if any((path, kind) in volatile for kind in ("created", "removed")):
            continue
        found = [d for d in _compare(path, a.get(path), b.get(path)) if (path, d.kind) not in volatile]
        out.extend(_shown_where(d, expected.get(path), observed.get(path)) for d in found)
    return tuple(out)


def _shown_where(d: Difference, a: Entry | None, b: Entry | None) -> Difference:
    """The difference of two contents, with what they say where they part."""
    if d.kind != "content" or a is None or b is None or not a.content or not b.content:
        return d
    if any(content_digest(e.content) != _sha(e.content) for e in (a, b)):
        return d  # an archive: its bytes say nothing
    if any(_BINARY.search(e.content) for e in (a, b)):
        return d
    texts = parted(*(e.content[:LOOKED_AT].decode("utf-8", "replace") for e in (a, b)))
    wanted, found = (f"{len(e.content)} bytes {_clip(t)}" for e, t in zip((a, b), texts, strict=True))
    return replace(d, expected=wanted, observed=found)


def parted(one: str, other: str) -> tuple[str, str]:
    """Two texts for people, without the most of a long beginning that both have."""
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = shared - BEFORE if shared > LONG and one != other else 0
    return ("…" + one[start:], "…" + other[start:]) if start else (one, other)


def durable_effects(before: Snapshot, after: Snapshot, volatile: Collection[Attribute] = ()) -> tuple[Effect, ...]:
    """The effects from ``before`` to ``after`` under the same rules (a repacked archive of equal content is none)."""
    kinds = {(d.path, d.kind) for d in differences(before, after, volatile=volatile)}
    return tuple(Effect(path, kind, before.get(path), after.get(path)) for path, kind in sorted(kinds))


@dataclass(frozen=True, slots=True)
class Normal:
    """One path in normal form: what is compared of it."""

    type: str
    mode: int
    content: str
    """Digest of the content, or of what an archive holds."""
    target: str
    show: str
    """For people: the content's size and beginning."""


def normal_form(tree: Mapping[str, Entry], links: bool = True) -> dict[str, Normal]:
    """Path -> what is compared. A git directory stands for what is in its summary; hooks, settings and the like are files."""
    roots = repository_roots(tree)
    out: dict[str, Normal] = {}
    for path, e in tree.items():
        root = next((r for r in roots if path.startswith(r + "/")), None)
        if root is not None and (e.type == "dir" or (e.type == "file" and in_summary(path[len(root) + 1 :]))):
            continue
        if path in roots:
            text = repository_summary(tree, path)
            out[path] = Normal("dir", e.mode, _sha(text.encode()), "", _clip(text))
        elif e.type == "file":
            out[path] = Normal("file", e.mode, content_digest(e.content), _names(e) if links and root is None else "", show(e))
        else:
            out[path] = Normal(e.type, 0o777 if e.type == "symlink" else e.mode, "", e.target, show(e))
    return out


def _names(entry: Entry) -> str:
    """Whether a change of the file changes another path too."""
    return f"one file under {entry.links} names" if entry.links > 1 else "a file of its own"


def _compare(path: str, a: Normal | None, b: Normal | None) -> list[Difference]:
    if a is None or b is None:
        kind: EffectKind = "created" if a is None else "removed"
        return [Difference(path, kind, a.show if a else "no such path", b.show if b else "no such path")]
    if a.type != b.type:
        return [Difference(path, "type", a.type, b.type)]
    out = []
    if a.mode != b.mode:
        out.append(Difference(path, "mode", f"{a.mode:04o}", f"{b.mode:04o}"))
    if a.content != b.content:
        out.append(Difference(path, "content", a.show, b.show))
    if a.target != b.target:
        out.append(Difference(path, "target", a.target, b.target))
    return out


def show(entry: Entry) -> str:
    """One entry for people: type, size and the beginning of the content, where it is text."""
    if entry.type == "file" and _BINARY.search(entry.content):
        return f"{len(entry.content)} bytes of no text (sha256 {_sha(entry.content)[:12]}…)"
    if entry.type == "file":
        return f"{len(entry.content)} bytes {_clip(entry.content.decode('utf-8', 'replace'))}"
    return f"symlink to {entry.target}" if entry.type == "symlink" else f"{entry.type} {entry.mode:04o}"


def _clip(text: str, most: int = 160) -> str:
    return repr(text if len(text) <= most else text[:most] + "…")


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@lru_cache(maxsize=4096)
def content_digest(data: bytes) -> str:
    """Digest of what a file holds: of the members of an archive, the dump of a database, else of the bytes."""
    return _sha(canonical(data))
