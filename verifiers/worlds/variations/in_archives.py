"""What archives hold: other bytes, and members that are called nearly like those that are there."""

from __future__ import annotations

import io
import tarfile

from verifiers.worlds.grammar import Grammar
from verifiers.worlds.packed import contents, edited
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

BYTES, NEAR, PARTS, AGAIN = "bytes", "near", "parts", "again"
ODD = b"\xff\r\n\xfe end\n"
OTHER = b"another one\n"


def archives(g: Grammar) -> list[Choice]:
    """Other bytes only where the task takes the contents as they are."""
    made = {e.content for p, e in g.expectation.tree.items() if g.base.get(p) != e}
    found: list[Choice] = []
    for path, e in g.base.items():
        inside = contents(e.content) if e.type == "file" else []
        whole = bool(set(inside) & made - {b""})
        found += [(path, way) for way in (BYTES, PARTS, AGAIN)] if whole else []
        found += [(path, NEAR)] if inside else []
    return found


def refilled(content: bytes, way: str) -> bytes:
    """The archive with other bytes in its members, with near names beside theirs, or (a single file) in two parts. A tar archive
    also with an older state of each member before it."""
    if way == BYTES:
        return edited(content, lambda name, data: [(name, data + ODD)])
    if way == AGAIN:
        return edited(content, lambda name, data: [(name, OTHER), (name, data)] if name else [(name, data)])
    if way == PARTS:
        return edited(
            content, lambda name, data: [(name, data)] if name else [("", data[: len(data) // 2]), ("", data[len(data) // 2 :])]
        )
    return edited(content, lambda name, data: _near(name, data) if name else [(name, data)])


def _near(name: str, data: bytes) -> list[tuple[str, bytes]]:
    where, slash, last = name.rpartition("/")
    before = [(f"{where}{slash}x{last}", OTHER), (f"x/{name}", OTHER)]
    return [*before, (name, data), (f"{name}x", OTHER), (f"y/{name}", OTHER)]


def example() -> Example:
    """A tar archive is text where its members are."""
    out = io.BytesIO()
    with tarfile.TarFile.open(fileobj=out, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("b"))
    before = out.getvalue()
    return Example(("a", NEAR), {"a": before.decode()}, {"a": refilled(before, NEAR).decode()})


VARIATIONS = (
    Variation(
        name="in-archives",
        why="The members of an archive have other bytes, or others of their names, or nearly so, beside them.",
        choices=archives, apply=of_content(lambda content, _d, _p, way: refilled(content, way)), stage=Stage.EDIT, alone=6,
        refusable=True, examples=(example(),),
    ),
)  # fmt: skip
