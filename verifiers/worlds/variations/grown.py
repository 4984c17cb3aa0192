"""Files longer than any number that the skill mentions."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import PurePosixPath

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import beyond
from verifiers.worlds.records import MAX_BYTES, MAX_LINES, decoded, records
from verifiers.worlds.tokens import tokens
from verifiers.worlds.variation import Choice, Example, Said, Stage, Variation, contents, of_content

_WORD = r"[A-Za-z]{2,}"
BUFFER, ENOUGH_LINES = io.DEFAULT_BUFFER_SIZE, 600
"""Who takes what a buffer holds for the whole file is seen where it holds more; a shell may take its time for each line."""


def grown(
    content: bytes,
    numbers: Sequence[int] = (),
    *,
    named: bool = False,
    size: int = 1,
    said: Sequence[str] = (),
    framing: Collection[str] = (),
    meant: Collection[str] = (),
) -> bytes:
    """Text with more records, and more bytes, than the numbers say and a buffer holds: the given ones again, in the order that
    they have, each with a word of its own. Every second one keeps the words that arguments have ``said``, if it has others: it
    is about the same thing still; words that are ``meant`` stay if there are others. A record that has no word but what all have
    comes no second time: it begins or ends something. Nor does one that alone has a word of an argument, below its first line: it
    is no record of that, it holds one. Of a text whose lines are framed by others all come, as they are."""
    found = records(content, size, head=named and content.count(b"\n") > 2)
    if found is None or len(found.items) < 1 + named:
        return content
    items = list(found.items)
    common = set.intersection(*(set(re.findall(_WORD, item)) for item in items)) if len(items) > 1 else set()
    frame = set.intersection(*(set(item.split("\n")) for item in items)) if len(items) > 1 else set()
    framed = found.framed(framing)
    words = [set(re.findall(_WORD, item)) for item in found.items]
    told = Counter(w for each in words for w in each & {*said})
    heads = [set(re.findall(_WORD, item.partition("\n")[0])) for item in found.items]
    below = [(each - head) & {*said} for each, head in zip(words, heads, strict=True)]
    several = [item for item, held in zip(found.items, below, strict=True) if all(told[w] > 1 for w in held)]
    pool = [item for item in several if framed or set(re.findall(_WORD, item)) - common - {*meant}] or several
    if not pool:
        return content
    length = max([0, *(n for n in numbers if n > MAX_LINES and n + 4096 <= MAX_BYTES)])
    count = beyond(numbers, len(items) + 40, MAX_LINES)
    total = sum(map(len, items))
    while len(items) < count or total <= length or (total <= BUFFER and len(items) < ENOUGH_LINES):
        item = pool[len(items) % len(pool)]
        about = common | set(said)
        kept = about if len(items) % 2 and (framed or set(re.findall(_WORD, item)) - about - {*meant}) else common
        items.append(item if framed else _own(item, len(items), kept, frame, meant))
        total += len(items[-1])
    return found.joined(items)


def _own(record: str, n: int, common: Collection[str] = (), frame: Collection[str] = (), meant: Collection[str] = ()) -> str:
    """A record with letters of its own behind its first word that not every record has, one that is not ``meant`` if there is,
    or else behind the last one of a line that not every record has: so that keys stay different, and what kind of record it is,
    or frames it, stays as it is."""
    letters = "".join(chr(97 + int(d)) for d in str(n))
    word = r'(?<=": ")[^"\\]*[A-Za-z]{2}' if record.startswith("{") and '": "' in record else _WORD
    found = list(re.finditer(word, record))
    own = [m for m in found if m[0] not in common]
    own = [m for m in own if m[0] not in meant] or own
    own = own or [m for m in found if _line_at(record, m.start()) not in frame][-1:] or found
    return f"{record[: own[0].end()]}{letters}{record[own[0].end() :]}" if own else record


def _line_at(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]


def _edited(content: bytes, draft: Draft, path: str, *, alike: bool = False) -> bytes:
    """``alike``: what the commands look for may get letters too."""
    g = draft.g
    told = _replaced(g, path) | _of_several(g, path) | {*g.formal}
    return grown(
        content,
        g.constants.numbers,
        named=draft.named(path),
        size=g.record_lines(path),
        said=draft.said,
        framing=g.framing(path),
        meant=told - _sought(g, path) if alike else told | _sought(g, path),
    )


def _replaced(g: Grammar, path: str) -> set[str]:
    """Words that the task takes out of lines of a file: another one in their place would be something else to change."""
    after = g.expectation.tree.get(path)
    if after is None or after.type != "file":
        return set()
    old, new = ({*decoded(e.content).split("\n")} for e in (g.base[path], after))
    return set(tokens("\n".join(old - new))) - set(tokens("\n".join(new - old)))


def _of_several(g: Grammar, path: str) -> set[str]:
    """Words that files with this ending have in more than one recording: headings, keys, and what else says what a line is."""
    contents = g.recorded.get(PurePosixPath(path).suffix, ())
    counts = Counter(word for content in contents for word in set(re.findall(_WORD, decoded(content))))
    return {word for word, times in counts.items() if times > 1}


def _sought(g: Grammar, path: str) -> set[str]:
    """Whole words of a file that the commands look for."""
    text = decoded(g.base[path].content)
    return {t for t in tokens(g.template.literal_text()) if re.search(rf"(?<![\w-]){re.escape(t)}(?![\w-])", text)}


def sought(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents if _sought(g, p)]


def framed_once(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """What it means that all of a text comes again whose lines are framed by others, no recording says."""
    for g in (g for g in gs if choice[0] in g.base):
        path = str(choice[0])
        found = records(g.base[path].content, g.record_lines(path))
        if found is not None and found.framed(g.framing(path)):
            return Said.HARM
    return Said.ALL


VARIATIONS = (
    Variation(
        name="grown-alike", why="A file is longer, and more of its lines say nearly what the commands look for.",
        choices=sought, apply=of_content(partial(_edited, alike=True)), stage=Stage.EDIT, alone=2,
        recorded=framed_once, never="what stands between marks that come again is there once",
        odd="nearly what is looked for",
        examples=(
            Example(
                ("a",), {"a": f"WW {'1' * 200}\n"}, {"a": f"WW {'1' * 200}\n" + f"WW… {'1' * 200}\n" * 40}, commands="grep WW a"
            ),
        ),
    ),
    Variation(
        name="grown", why="A file has more lines than any number that the skill mentions, and is longer than a buffer.",
        choices=contents, apply=of_content(_edited), stage=Stage.EDIT, drawn=2, alone=3,
        recorded=framed_once, never="what stands between marks that come again is there once", asks=False,
        examples=(Example(("a",), {"a": f"one {'1' * 200}\n"}, {"a": f"one {'1' * 200}\n" + f"one… {'1' * 200}\n" * 40}),),
    ),
)  # fmt: skip
