"""What the files of the recorded starts call a value: the head of its column, its key, the kind of thing whose name it is."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from sandbox.snapshot import Snapshot

MOST_FILES, LONGEST = 200, 200_000
"""Files of a start that are looked into, and characters of each."""
_DELIMITERS = ",;\t|"
_WORD = re.compile(r"[A-Za-z][A-Za-z_\- ]{0,19}")
"""What may be a name for something."""
_ABOUT_ALL = frozenset({"value", "key", "text", "data", "item", "true", "false", "none", "null", "default", "string"})
"""Words of files that say of nothing what it is."""


def label(values: Sequence[str], starts: Sequence[Snapshot | None]) -> str:
    """What most of the starts call their value, in snake_case; "" where no more than half of them agree, or the only one has
    several words for it."""
    found = [_labels(value, start) - {""} for value, start in zip(values, starts, strict=True) if value and start is not None]
    votes = Counter(word for words in found for word in words)
    word, times = min(votes.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
    agreed = times > 1 and 2 * times > len(values)
    return word if agreed or len(votes) == len(values) == 1 else ""


def _labels(value: str, start: Snapshot) -> set[str]:
    """Everything that one start calls the value."""
    found = {kind for path in start for kind in _of_path(path, value)}
    for text in islice(_texts(start), MOST_FILES):
        if value in text:
            found |= {name for look in _LOOKS for name in look(text, value)}
    return found


def _texts(start: Snapshot) -> Iterator[str]:
    """The contents of its text files."""
    for path, entry in start.items():
        if entry.type == "file" and len(entry.content) <= LONGEST and "/.git/" not in f"/{path}":
            try:
                yield entry.content.decode("utf-8")
            except UnicodeDecodeError:
                continue


def _of_path(path: str, value: str) -> Iterator[str]:
    """A branch or a tag, by where git notes it."""
    if path.endswith(f".git/refs/heads/{value}"):
        yield "branch"
    if path.endswith(f".git/refs/tags/{value}"):
        yield "tag"


def _of_table(text: str, value: str) -> Iterator[str]:
    """The head of the column that it stands in; ``column`` for a head."""
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)
    width = head.count(delimiter) + 1
    if width < 2:
        return
    try:
        heads, *rows = csv.reader(text.splitlines(), delimiter=delimiter)
    except csv.Error:  # a null byte, or a cell without end
        return
    heads = [h.strip() for h in heads]
    if len(rows) < 2 or any(len(row) != len(heads) for row in rows if row) or not all(map(_WORD.fullmatch, heads)):
        return
    if value in heads:
        yield "column"
    yield from (_word(h) for k, h in enumerate(heads) if any(row and row[k].strip() == value for row in rows))


def _of_setting(text: str, value: str) -> Iterator[str]:
    """The key before it: ``port: 80``, ``port = 80``, ``"port": 80``, ``port="80"``; ``key`` for one that begins a line."""
    if re.search(rf"^[ \t]*[\"']?{re.escape(value)}[\"']?[ \t]*[:=](?![:=])", text, re.MULTILINE):
        yield "key"
    key = rf"([A-Za-z][A-Za-z_\-]{{1,19}})[\"']?[ \t]*[:=][ \t]*[\"']?{re.escape(value)}(?![\w.\-/@])"
    yield from (_word(m[1]) for m in re.finditer(key, text))


def _of_element(text: str, value: str) -> Iterator[str]:
    """The element around it: ``<title>Mai</title>``."""
    yield from (_word(m[1]) for m in re.finditer(rf"<([A-Za-z][\w\-]*)[^<>]*>\s*{re.escape(value)}\s*</\1>", text))


def _of_section(text: str, value: str) -> Iterator[str]:
    """A head in brackets with settings beneath."""
    if re.search(rf"^\[{re.escape(value)}\][ \t]*\n(?:[ \t]*[#;].*\n|[ \t]*\n)*[ \t]*[\w.\-]+[ \t]*=", text, re.MULTILINE):
        yield "section"


_LOOKS: tuple[Callable[[str, str], Iterator[str]], ...] = (_of_table, _of_setting, _of_element, _of_section)


def _word(said: str) -> str:
    """As an identifier; "" where it is a word for anything."""
    name = re.sub(r"[^a-z]+", "_", said.lower()).strip("_")
    return "" if len(name) < 3 or name in _ABOUT_ALL else name
