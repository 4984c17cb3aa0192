"""What archives hold: other bytes, and members that are called nearly like those that are there."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence

from verifiers.worlds.grammar import Grammar
from verifiers.worlds.packed import contents, edited
from verifiers.worlds.records import MAX_BYTES
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

BYTES, NEAR, PARTS, AGAIN, LONG = "bytes", "near", "parts", "again", "long"
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
        found += [(path, LONG)] if whole and any(0 < len(data) <= _most(g.constants.numbers) for data in inside) else []
        found += [(path, NEAR)] if inside else []
    return found


def _most(numbers: Sequence[int]) -> int:
    return max((n for n in numbers if n <= MAX_BYTES // 2), default=0)


def refilled(content: bytes, way: str, numbers: Sequence[int] = ()) -> bytes:
    """The archive with other bytes in its members, with near names beside theirs, or (a single file) in two parts. A tar archive
    also with an older state of each member before it. Long ones have
    members longer than the greatest number that the skill says."""
    if way == LONG:
        return edited(content, lambda name, data: [(name, data * (_most(numbers) // max(len(data), 1) + 1))])
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
        why="The members of an archive have other bytes, are longer, or have others of their names, or nearly so, beside them.",
        choices=archives, apply=of_content(lambda content, d, _p, way: refilled(content, way, d.g.constants.numbers)),
        stage=Stage.EDIT, alone=6, examples=(example(),),
    ),
)  # fmt: skip
