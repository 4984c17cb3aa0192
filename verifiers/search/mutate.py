"""Invented starts from what a skill's own text mentions: sizes, counts, names and values; and arguments that meet each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from random import Random

from sandbox.interface import ROOT, Entry, JsonValue, Snapshot
from verifiers.expectation.rooting import WORKSPACE
from verifiers.search.states import Start
from verifiers.worlds.constants import constants, texts

LONGEST = 80
MOST_COPIES = 400
MOST_LINES = 4000
MOST_WORDS = 32
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def folded(source: str) -> tuple[list[int], list[str]]:
    """Whole numbers and texts that a skill's text says or works out from constants (``1024 * 1024``), largest numbers last."""
    found = dict.fromkeys(t for t in texts(source) if 0 < len(t) < LONGEST)
    return list(constants(source).numbers), list(found)[:MOST_WORDS]


def from_constants(
    start: Start, source: str, rng: Random, paths: Collection[str] = (), first: Sequence[str] = ()
) -> Iterator[Start]:
    """The start with sizes, counts, names and values that the text mentions, one at a time; first those of ``first``, and in the
    files at ``paths``."""
    numbers, words = folded(source)
    files = sorted((p for p, e in start.base.items() if e.type == "file"), key=lambda p: p not in paths)[:6]
    yield from _with_signs(start, source)
    for word in dict.fromkeys((*first, *words)):
        yield from _with_word(start, word, files)
    for path in files:
        yield from _copies(start, path, 300, rng)
    for path in files:
        for number in numbers:
            yield from _with_number(start, number + 1, path, rng)


def by_turns(ways: Iterable[Iterator[Start]]) -> Iterator[Start]:
    """One of each way, then the next one of each."""
    yield from (made for turn in zip_longest(*ways) for made in turn if made is not None)


def from_arguments(start: Start, words: list[str]) -> Iterator[Start]:
    """The start with one argument changed, each in its turn: equal to another, within it, at the edges of numbers, empty,
    longer."""
    ways = [chain(_with_dash(start, name, v), _with_other(start, name, v, words)) for name, v in start.args.items()]
    yield from by_turns(ways)


def _with_other(start: Start, name: str, value: JsonValue, words: list[str]) -> Iterator[Start]:
    for other in _values(name, value, start, words):
        if other != value:
            yield replace(start, args={**start.args, name: other}, how=f"{start.how}, {name} = {other!r}".removeprefix(", "))


def _with_dash(start: Start, name: str, value: JsonValue) -> Iterator[Start]:
    """What the argument names is called like an option, and so does the argument."""
    if not isinstance(value, str) or value not in start.base:
        return

    def moved(tree: Snapshot) -> Snapshot:
        return Snapshot({f"-{p}" if p == value or p.startswith(f"{value}/") else p: e for p, e in tree.items() if p != ROOT})

    args = {**start.args, name: f"-{value}"}
    end = start.end if start.how else start.case.expectation.tree
    how = f"{start.how}, {value} is called -{value}".removeprefix(", ")
    yield replace(start, base=moved(start.base), end=moved(end) if end is not None else None, args=args, how=how)


def _with_signs(start: Start, source: str) -> Iterator[Start]:
    """An argument, and the same word wherever it stands in the start and the recorded end, ends in signs of the skill's texts:
    in all of them at once, then in those of one text."""
    said = ["".join(c for c in t if c.isprintable() and not c.isalnum() and c not in " /") for t in texts(source)]
    every = "".join(dict.fromkeys("".join(said)))
    for signs in dict.fromkeys([every, *said]):
        for name, value in start.args.items():
            if isinstance(value, str) and value and 0 < len(signs) < LONGEST:
                base, end = (_said_otherwise(tree, value, value + signs) for tree in (start.base, start.case.expectation.tree))
                how = f"{value!r} is called {value + signs!r}"
                args = {**start.args, name: value + signs}
                yield replace(start, base=base, end=end, args=args, how=how, placed=frozenset(base))


def _said_otherwise(tree: Snapshot, old: str, new: str) -> Snapshot:
    """A tree with one word replaced in every name and file."""
    return Snapshot(
        {
            p.replace(old, new): replace(e, content=e.content.replace(old.encode(), new.encode()))
            for p, e in tree.items()
            if p != ROOT
        }
    )


def _values(name: str, value: JsonValue, start: Start, words: list[str]) -> list[JsonValue]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [0, 1, -1, value + 1, value * 10]
    if not isinstance(value, str):
        return []
    others = [v for k, v in start.args.items() if k != name and isinstance(v, str)]
    within = [made for v in others for made in (v + value, value + v)]
    whole = [f"{WORKSPACE}/{value}"] if value.strip("/") in start.base and not value.startswith("/") else []
    return [*others, *whole, *within, "", value + "x", f"-{value}", f"./{value}", value + "/", *words[:8]]


def _with_number(start: Start, number: int, path: str, rng: Random) -> Iterator[Start]:
    """The file with so many bytes, then with so many lines; then so many files like it."""
    content = start.base[path].content or b"x\n"
    yield from filled(start, path, _grown(content, number), f"has {number} bytes")
    if number <= MOST_LINES:
        lines = content.splitlines(keepends=True) * number
        yield from filled(start, path, b"".join(lines[:number]), f"has {number} lines")
    if number <= MOST_COPIES:
        yield from _copies(start, path, number, rng)


def _with_word(start: Start, word: str, files: list[str]) -> Iterator[Start]:
    line = word.encode("utf-8", "replace") + b"\n"
    for path in files[:3]:
        yield from filled(start, path, start.base[path].content + line, f"ends in {word!r}")
        yield from filled(start, path, line + start.base[path].content, f"begins with {word!r}")
        yield from filled(start, path, start.base[path].content + line[:-1], f"ends in {word!r} without a line end")
    plain = word.strip().lstrip("/")
    names = [plain, f"a{plain}", f"{plain}z", plain.replace("*", "a").replace("?", "b").lstrip("/")]
    suffixes = {p.rpartition(".")[2] for p in files if "." in p}
    names += [f"{plain}.{s}" for s in sorted(suffixes)]
    content = start.base[files[0]].content if files else b"x\n"
    homes = dict.fromkeys(("", *(p.rpartition("/")[0] for p in files[:3])))
    places = [f"{home}/{name}".lstrip("/") for name in dict.fromkeys(names) if _is_name(name) for home in homes]
    if _is_name(plain):
        inner = files[0].rpartition("/")[2] if files else "x"
        for folder in (f"{home}/{plain}".lstrip("/") for home in homes):
            made = {folder: Entry("dir", 0o755), f"{folder}/{inner}": Entry("file", content=content)}
            yield from _made(start, made, f"there is a folder {folder!r}") if folder not in start.base else ()
    for place in (p for p in places if p not in start.base):
        yield from _made(start, {place: Entry("file", content=content)}, f"there is a file {place!r}")


def _is_name(name: str) -> bool:
    return bool(name) and ".." not in name.split("/") and "\0" not in name and len(name) < 100


def filled(start: Start, path: str, content: bytes, how: str) -> Iterator[Start]:
    yield from _made(start, {path: replace(start.base[path], content=content)}, f"{path} {how}")


def _copies(start: Start, path: str, count: int, rng: Random) -> Iterator[Start]:
    """So many more files like one that is there, with fresh names: a rare one is among them."""
    folder, _, name = path.rpartition("/")
    _, dot, suffix = name.partition(".")
    names = {"".join(rng.choices(_ALPHABET, k=8)) for _ in range(min(count, MOST_COPIES))}
    made: dict[str, Entry | None] = {f"{folder}/{n}{dot}{suffix}".lstrip("/"): start.base[path] for n in sorted(names)}
    yield from _made(start, made, f"there are {len(made)} more files like {path}")


def _made(start: Start, changes: dict[str, Entry] | dict[str, Entry | None], how: str) -> Iterator[Start]:
    made = start.changed(dict(changes), how)
    if made is not None:
        yield made


def _grown(content: bytes, size: int) -> bytes:
    return (content * (size // len(content) + 1))[: max(size, len(content))]
