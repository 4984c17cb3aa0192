"""Codex's patches (``*** Begin Patch``): files added, deleted, moved, or updated by hunks without line numbers.

Source of the format: patches in sessions, and the tool's description of itself to the model. A hunk begins with
``@@``, with the line of a function or class behind it or not; its lines begin with a blank, ``-`` or ``+``, and are looked for
from where the last hunk ended: exactly, then without blanks at the end, then without any around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from synth.importers.keeping import DoesNotApply
from synth.importers.turns import Changed, removed, written

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_EOF = "*** End of File"


@dataclass(slots=True)
class _Hunk:
    head: str = ""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    at_end: bool = False


def patch_in(text: str) -> str | None:
    """The patch in a command (a here-document, an argument), or None."""
    begin, end = text.find(_BEGIN), text.rfind(_END)
    return text[begin : end + len(_END)] if 0 <= begin < end else None


def changes(patch: str) -> list[Changed]:
    """The edits of a patch, in order.

    Raises:
        DoesNotApply: it is no such patch.
    """
    lines = patch.strip().split("\n")
    if lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        raise DoesNotApply("a patch has no beginning or no end")
    out: list[Changed] = []
    body = lines[1:-1]
    at = 0
    while at < len(body):
        end = next((n for n in range(at + 1, len(body)) if _starts_file(body[n])), len(body))
        out += _file(body[at].rstrip(), body[at + 1 : end])
        at = end
    return out


def _starts_file(line: str) -> bool:
    return line.startswith((_ADD, _DELETE, _UPDATE))


def _file(head: str, body: Sequence[str]) -> Iterator[Changed]:
    if head.startswith(_ADD):
        text = "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))
        yield Changed(head.removeprefix(_ADD), written(text), None, shows_before=True)
    elif head.startswith(_DELETE):
        yield Changed(head.removeprefix(_DELETE), removed)
    elif head.startswith(_UPDATE):
        path, target = head.removeprefix(_UPDATE), ""
        if body and body[0].startswith(_MOVE):
            target, body = body[0].removeprefix(_MOVE).rstrip(), body[1:]
        yield from _updated(path, target, hunked(list(_hunks(body))))
    else:
        raise DoesNotApply(f"a patch has a line that is none of its own: {head[:60]!r}")


def _updated(path: str, target: str, change: Callable[[str | None], str | None]) -> Iterator[Changed]:
    if not target or target == path:
        yield Changed(path, change)
        return
    moved: list[str | None] = []

    def take(text: str | None) -> str | None:
        moved.append(change(text))
        return None

    yield Changed(path, take)
    yield Changed(target, lambda _: moved[-1] if moved else None, None, shows_before=True)


def _hunks(body: Sequence[str]) -> Iterator[_Hunk]:
    hunk = _Hunk()
    for line in body:
        if line.startswith("@@"):
            if hunk.old or hunk.new:
                yield hunk
                hunk = _Hunk()
            hunk.head = line[2:].strip()
        elif line.rstrip() == _EOF:
            hunk.at_end = True
        elif line.startswith("+"):
            hunk.new.append(line[1:])
        elif line.startswith("-"):
            hunk.old.append(line[1:])
        else:
            context = line[1:] if line.startswith(" ") else line
            hunk.old.append(context)
            hunk.new.append(context)
    if hunk.old or hunk.new:
        yield hunk


def hunked(hunks: Sequence[_Hunk]) -> Callable[[str | None], str | None]:
    """Hunks in the order of the file."""

    def change(text: str | None) -> str:
        if text is None:
            raise DoesNotApply("a patch updates a file that is not there")
        lines = text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        at = 0
        for hunk in hunks:
            at = _apply(lines, hunk, at)
        return "".join(f"{line}\n" for line in lines)

    return change


def _apply(lines: list[str], hunk: _Hunk, at: int) -> int:
    """Puts one hunk into the lines; returns where it ended."""
    if hunk.head:
        at = _find(lines, [hunk.head], at, False) + 1
    if not hunk.old:
        place = at if hunk.head else len(lines)
        lines[place:place] = hunk.new
        return place + len(hunk.new)
    place = _find(lines, hunk.old, at, hunk.at_end)
    lines[place : place + len(hunk.old)] = hunk.new
    return place + len(hunk.new)


def _find(lines: Sequence[str], wanted: Sequence[str], at: int, at_end: bool) -> int:
    starts = range(at, len(lines) - len(wanted) + 1)
    order = [*reversed(starts)] if at_end else [*starts]
    for same in (str, str.rstrip, str.strip):
        key = [same(w) for w in wanted]
        for n in order:
            if [same(line) for line in lines[n : n + len(wanted)]] == key:
                return n
    raise DoesNotApply("a patch changes lines that its file does not hold, as far as is known")
