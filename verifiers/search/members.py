"""Invented starts whose archives have unusual members."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from verifiers.search.states import Start
from verifiers.worlds.packed import Member, remade

ESCAPED = "escaped-member.txt"
DATA = b"a member\n"
MOST_FOLDERS, MOST_WORDS = 4, 12

_KINDS: tuple[tuple[str, tuple[Member, ...]], ...] = (
    ("a directory as a member", (Member("extra-dir/", b"", "dir"),)),
    ("a member two directories down", (Member("extra-dir/deep/member.txt", DATA),)),
    ("a member that goes up", (Member(f"../{ESCAPED}", DATA),)),
    ("a member with an absolute name", (Member(f"/tmp/{ESCAPED}", DATA),)),
    ("a link as a member", (Member("extra-link", b"nowhere", "link"),)),
    ("a member twice", (Member("twice.txt", DATA), Member("twice.txt", DATA + DATA))),
)


def archives(start: Start, words: Sequence[str] = ()) -> Iterator[Start]:
    """The start with each of its archives given an unusual member, one whose name begins with a word, none at all, or what is no
    file for each."""
    named: dict[str, Callable[[list[Member]], list[Member]]] = {
        f"has a member whose name begins with {w!r}": partial(_named, w) for w in words[:MOST_WORDS] if w.isprintable()
    }
    for path, entry in start.base.items():
        if entry.type != "file" or not entry.content:
            continue
        for what, members in _KINDS:
            content = remade(entry.content, partial(_beside, members))
            made = start.changed({path: replace(entry, content=content)}, f"{path} has {what}")
            if made is not None:
                # The archive itself is still the user's, though its content is made here.
                yield replace(made, forbidden=frozenset({ESCAPED}))
        for how, change in {**_WHOLE, **named}.items():
            made = start.changed({path: replace(entry, content=remade(entry.content, change))}, f"{path} {how}")
            if made is not None:
                yield made


def _named(word: str, old: list[Member]) -> list[Member]:
    """The first file once more, below a folder of that name, and with the word before its own."""
    first = [m for m in old if m.kind == "file"][:1]
    return [*(replace(m, name=f"{word}{mark}{m.name.rpartition('/')[2]}") for m in first for mark in ("/", "")), *old]


def _as_directories(old: list[Member]) -> list[Member]:
    return [Member(f"{m.name.rstrip('/')}/", b"", "dir") for m in old]


def _as_links(old: list[Member]) -> list[Member]:
    return [Member(m.name, b"nowhere", "link") for m in old]


def _none(_: list[Member]) -> list[Member]:
    return []


_WHOLE = {
    "is an empty archive": _none,
    "has directories for its members": _as_directories,
    "has links for its members": _as_links,
}


def _beside(members: tuple[Member, ...], old: list[Member]) -> list[Member]:
    """What is there, then the members at the top and in its directories: a skill may take only some of them."""
    folders = list(dict.fromkeys(["", *(f"{m.name.rpartition('/')[0]}/" for m in old if "/" in m.name)]))[:MOST_FOLDERS]
    risen = [
        replace(m, name=f"{folder}{'../' * (folder.count('/') + n)}{ESCAPED}")
        for folder in folders if folder for m in members if m.name.startswith("../") for n in (1, 2)
    ]  # fmt: skip
    free = [m for m in members if not m.name.startswith(("../", "/"))]
    bound = [m for m in members if m not in free]
    return [*old, *bound, *risen, *(replace(m, name=folder + m.name) for folder in folders for m in free)]
