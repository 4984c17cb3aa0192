"""Invented starts: what a path that a skill looks at can be, and workspaces half way between the recorded start and end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from sandbox.interface import ROOT, Entry, ReplayRecord, Snapshot
from verifiers.context import Case
from verifiers.interface import Args
from verifiers.worlds.databases import without_rows

OTHER = b"other content\nof two lines\n"
MOST_PATHS = 24
MOST_LEFT_OUT, MOST_LAST = 8, 6
_DIGIT = re.compile(r"\d")
_PARTS = {
    "word": re.compile(rb"[^\s,;:|=\"'{}<>\[\]]+"),
    "line": re.compile(rb"[^\n]+\n"),
    "element": re.compile(rb"<(\w+)[^<>]*>[^<>]*</\1>"),
}
"""What of a text may be missing."""


@dataclass(frozen=True, slots=True)
class Start:
    """One invented situation."""

    case: Case
    """From which it was made."""
    base: Snapshot
    args: Args
    how: str
    """What is different, in words: ``a.txt is a directory``."""
    placed: frozenset[str] = frozenset()
    """Paths that the search itself made or changed."""
    forbidden: frozenset[str] = frozenset()
    """Paths that must not come to be."""
    end: Snapshot | None = None
    """What must come of it, where that is known: the recorded end with other words."""

    @property
    def key(self) -> tuple[str, str]:
        return self.base.digest, repr(sorted(self.args.items()))

    def changed(self, changes: Mapping[str, Entry | None], how: str) -> Start | None:
        """This start with some paths set; None where a parent is no directory or nothing changes."""
        for path in changes:
            if {"", ".", ".."} & set(path.split("/")):
                return None  # no path that a workspace can have
            parents = [path[:i] for i, c in enumerate(path) if c == "/"]
            if any(p in self.base and self.base[p].type != "dir" for p in parents):
                return None
        gone = self.base.replace(dict.fromkeys(changes))
        base = gone.replace({p: e for p, e in changes.items() if e is not None})
        text = f"{self.how}, {how}" if self.how else how
        return None if base == self.base else replace(self, base=base, how=text, placed=self.placed | frozenset(changes))


def recorded(case: Case) -> Start:
    """The start as it was recorded."""
    return Start(case, Snapshot({p: e for p, e in case.base.items() if p != ROOT}), case.args, "")


def paths_of(case: Case, record: ReplayRecord) -> list[str]:
    """The paths that matter to a skill: those that it looks at or changes, that the trace changes, that an argument names."""
    root = record.probe.get("cwd") or "/ws"
    seen = [p for c in record.calls for p in (c.path, c.path2) if p.startswith(root + "/")]
    found = dict.fromkeys(e.path for e in case.expectation.effects)
    found |= dict.fromkeys(v.strip("/") for v in case.args.values() if isinstance(v, str) and _is_path(v))
    found |= dict.fromkeys(p[len(root) + 1 :] for p in seen)
    return [p for p in found if p not in ("", ROOT) and not p.startswith((".git/", "../"))][:MOST_PATHS]


def states(start: Start, paths: Iterable[str]) -> Iterator[Start]:
    """Each path as each kind of thing, one at a time, by turns with each as it is in the recorded end, or was in the start."""
    ways = [half_done(start), *(_as_each_kind(start, path) for path in paths)]
    yield from (made for turn in zip_longest(*ways) for made in turn if made is not None)


def _as_each_kind(start: Start, path: str) -> Iterator[Start]:
    for changes, how in _each_kind(start.base, start.case.expectation.tree, path):
        made = start.changed(changes, f"{path} {how}")
        if made is not None:
            yield made


def half_done(start: Start) -> Iterator[Start]:
    """One path of the recorded end in the start, and the whole end with one path as it was."""
    end, begin = start.case.expectation.tree, start.case.base
    changed = sorted({e.path for e in start.case.expectation.effects} - {ROOT})[:MOST_PATHS]
    for path in changed:
        if (made := start.changed(_subtree(end, path), f"{path} is already as in the end")) is not None:
            yield made
    whole = replace(start, base=Snapshot({p: e for p, e in end.items() if p != ROOT}), how="all is as in the end")
    yield whole
    for path in changed:
        if (made := whole.changed(_subtree(begin, path), f"but {path} as in the start")) is not None:
            yield made
        if (
            path in end
            and (made := whole.changed({path: _with_other_mode(end[path])}, f"but {path} has another mode")) is not None
        ):
            yield made


def _each_kind(base: Snapshot, end: Snapshot, path: str) -> Iterator[tuple[dict[str, Entry | None], str]]:
    entry = base.get(path)
    if entry is not None:
        yield {path: None}, "is missing"
        yield {**_subtree(base, path), path: replace(entry, mode=0)} if entry.type != "symlink" else {}, "cannot be read"
        yield {path: _with_other_mode(entry)}, "has another mode"
        after = end[path].content if path in end else entry.content
        for text, how in _other_forms(entry.content if entry.type == "file" else b"", after):
            yield {path: replace(entry, content=text)}, how
        for table, emptied in without_rows(entry.content).items():
            yield {path: replace(entry, content=emptied)}, f"has no rows in {table}"
    for how, name in _other_digits(path).items() if entry is not None and entry.type == "file" else ():
        yield {name: entry}, f"has a twin with {how} for digits"
    # What holds something comes long before what is empty: a branch that has run without harm is not looked at again.
    yield {path: Entry("file", content=OTHER)}, "holds something else"
    yield {path: Entry("dir", 0o755), f"{path}/kept.txt": Entry("file", content=OTHER)}, "is a directory with a file"
    moved = f"{path}.real"
    target = moved.rpartition("/")[2]
    content = entry if entry is not None and entry.type == "file" else Entry("file", content=OTHER)
    yield {path: Entry("symlink", 0o777, target=target), moved: content}, "is a link to a file"
    yield {path: Entry("symlink", 0o777, target="nowhere")}, "is a link to nothing"
    yield {path: Entry("file")}, "is an empty file"
    yield {path: Entry("dir", 0o755)}, "is an empty directory"


def _with_other_mode(entry: Entry) -> Entry:
    return entry if entry.type == "symlink" else replace(entry, mode=entry.mode ^ 0o044)


def _other_forms(content: bytes, after: bytes) -> Iterator[tuple[bytes, str]]:
    """A text as other programs write it; it may end with a line that is not in the text after the task."""
    if not content or b"\0" in content:
        return
    rows = content.splitlines(keepends=True)
    yield content.removesuffix(b"\n"), "has no end of its last line"
    kept = set(after.splitlines(keepends=True))
    changed = [n for n, row in enumerate(rows, 1) if row not in kept][:MOST_LAST]
    for n in dict.fromkeys([*changed, *range(1, min(len(rows), MOST_LAST))]):
        yield b"".join(rows[:n]).removesuffix(b"\n"), f"ends in its line {n}, which has no end"
    yield content.replace(b"\n", b"\r\n"), "has Windows line ends"
    yield b"\n" + content + b"\n", "begins and ends with a blank line"
    yield b"".join(b"  " + row for row in rows), "has blanks before its lines"
    yield b"".join(b"# " + row for row in rows), "has a mark before its lines"
    yield b"".join(row * 2 for row in rows), "has every line twice"
    yield b"".join(rows[::-1]), "has its lines the other way round"
    yield re.sub(rb"\d", b"9", content), "has nines for its digits"
    for what, pattern in _PARTS.items():
        parts = list(pattern.finditer(content))
        for part in parts[:: max(1, len(parts) // MOST_LEFT_OUT)][:MOST_LEFT_OUT]:
            yield content[: part.start()] + content[part.end() :], f"lacks its {what} {part.group()[:40]!r}"


def _other_digits(path: str) -> dict[str, str]:
    """Names like one, whose digits are no number of their kind any more: no day, no part of one."""
    folder, slash, name = path.rpartition("/")
    digits = {"nines": "9", "letters": "x"} if _DIGIT.search(name) else {}
    return {how: f"{folder}{slash}{_DIGIT.sub(other, name)}" for how, other in digits.items()}


def _subtree(tree: Snapshot, path: str) -> dict[str, Entry | None]:
    """What stands at and below a path; the path itself None where nothing does."""
    found: dict[str, Entry | None] = {p: e for p, e in tree.items() if p == path or p.startswith(path + "/")}
    return found or {path: None}


def _is_path(value: str) -> bool:
    return 0 < len(value) < 200 and "\0" not in value and "\n" not in value and ".." not in value.split("/") and value[0] != "/"
