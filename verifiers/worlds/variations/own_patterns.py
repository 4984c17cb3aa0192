"""What the commands' own patterns would match as well: ``[:?]?=`` speaks of ``=`` and ``?=`` too, whatever was recorded.

A pattern is read item by item, each item is found in what the whole matched, and one of them takes another form.
"""

from __future__ import annotations

import re
import string
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, zip_longest

from verifiers.shell.script import parse_script
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.tokens import DATE
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

MOST_WAYS, MOST_OPTIONS = 12, 2
"""Other texts for one file; other characters for one item."""
MOST_REPEATED, MOST_LINES, LONGEST_LINE = 3, 400, 200
_POOL = "x7 _:=?-+,.;#/\t\"'" + string.ascii_letters + string.digits
_LETTERS = {"alpha": "a-zA-Z", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z"}
_CLASSES = {"space": r"\s", "blank": r" \t", "digit": "0-9", **_LETTERS}
_OPENING = ("(", "(?:")
_UNBOUNDED = re.compile(r"(?<!\\)[*+]|\{\d+,\d*\}")
_IN_SCRIPT = re.compile(r"(?<![\w\\])s([/|#,@!])((?:\\.|(?!\1).)+)\1|/((?:\\.|[^/\\\n])+)/")
_ITEM = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?:)?|\)|[^\\])(\*|\+|\?|\{\d+(?:,\d*)?\})?\??", re.DOTALL)
_SEARCHING = frozenset({"grep", "egrep"})
_EXTENDED = re.compile(r"\s-\w*[ErP]\w*(\s|$)|--regexp-extended|--extended-regexp|\begrep\b|awk|perl")


def patterns(commands: tuple[str, ...]) -> list[str]:
    """Patterns of scripts and searches, as Python writes them."""
    out: list[str] = []
    for command in commands:
        extended = bool(_EXTENDED.search(command))
        found = [m[2] or m[3] for m in _IN_SCRIPT.finditer(command)]
        words = [w.text for w in parse_script((command,)).words if w.program in _SEARCHING and w.slot not in ("name", "option")]
        out += [_python(text, extended) for text in (*found, *words)]
    return list(dict.fromkeys(out))


def _python(text: str, extended: bool) -> str:
    text = re.sub(r"\[:(\w+):\]", lambda m: _CLASSES.get(m[1], m[0]), text).replace(r"\K", "")
    return text if extended else re.sub(r"\\([(){}|+?])|([(){}|+?])", lambda m: m[1] or f"\\{m[2]}", text)


Item = tuple[str, str]
"""One part of a pattern and how often it comes."""


@lru_cache(maxsize=256)
def items(pattern: str) -> tuple[tuple[Item, ...], ...]:
    """The alternatives of a pattern, each as its items. A group that comes once and has no alternatives is opened, any other is
    an item."""
    tokens = [(m[1], m[2] or "") for m in _ITEM.finditer(pattern)]
    found, closed_with = _alternatives(iter(tokens))
    looks_around = any(text in _OPENING and quantifier for text, quantifier in tokens)
    try:
        read = (
            closed_with is None
            and not looks_around
            and all(re.compile(f"{item}{often}") for parts in found for item, often in parts)
        )
    except re.error:
        return ()
    return tuple(tuple(parts) for parts in found) if read else ()


def _alternatives(tokens: Iterator[Item]) -> tuple[list[list[Item]], str | None]:
    """What stands up to the end of a group, and how often the group comes; None at the end of the pattern."""
    found: list[list[Item]] = [[]]
    for text, quantifier in tokens:
        if text == ")":
            return found, quantifier
        if text == "|":
            found.append([])
        elif text in _OPENING:
            inner, often = _alternatives(tokens)
            source = "|".join("".join(map("".join, parts)) for parts in inner)
            found[-1] += inner[0] if not often and len(inner) == 1 else [(f"(?:{source})", often or "")]
        else:
            found[-1].append((_plain_set(text), quantifier))
    return found, None


def _plain_set(item: str) -> str:
    """A set of characters without what Python may read as sets within it."""
    if item[:1] != "[":
        return item
    inner = re.sub(r"(?<!\\)([\[&~|])", r"\\\1", item[1:-1])
    return "[" + inner.replace("--", r"-\-") + "]"


def others(pattern: str, text: str) -> Iterator[str]:
    """The text with the first match of the pattern in other forms, each differing in one item; each item has its turn."""
    for parts in items(pattern):
        yield from _others(parts, text)


def _others(parts: Sequence[Item], text: str) -> Iterator[str]:
    source = "".join(map("".join, parts))
    if len(_UNBOUNDED.findall(source)) > MOST_REPEATED:
        return
    found = _found("".join(f"({item}{quantifier})" for item, quantifier in parts), text)
    if found is None or "\n" in found[0]:  # what goes over a line's end tells records apart
        return
    # A pattern says loosely what a date is: nobody expects anything else there.
    forms = [[f for f in _forms(*part) if f != found[k] and not DATE.fullmatch(found[k])] for k, part in enumerate(parts, 1)]
    for turn in zip_longest(*forms):
        for k, other in enumerate(turn, 1):
            if other is not None:
                yield text[: found.start(k)] + other + text[found.end(k) :]


def _found(pattern: str, text: str) -> re.Match[str] | None:
    """The first match in the first lines: a recording's pattern may take for ever on long ones."""
    try:
        form = re.compile(pattern, re.MULTILINE)
    except re.error:
        return None
    at = 0
    for line in text.split("\n")[:MOST_LINES]:
        end = at + len(line)
        if len(line) <= LONGEST_LINE and (found := form.search(text, at, end)):
            return found
        at = end + 1
    return None


def _forms(item: str, quantifier: str) -> list[str]:
    """Other texts that an item matches; none for anchors and single characters."""
    options = _options(item)
    if not options or (len(options) == 1 and not quantifier) or quantifier[:1] == "{":
        return []
    none = [""] if quantifier[:1] in ("*", "?") else []
    twice = [options[0] * 2] if quantifier[:1] in ("*", "+") else []
    return [*none, *options[:MOST_OPTIONS], *twice]


def _options(item: str) -> list[str]:
    """Texts that an item matches once."""
    if item.startswith(_OPENING[1]):
        return ["".join(map(_sample, parts)) for parts in items(item[len(_OPENING[1]) : -1])]
    return ["\r"] if item == r"\r" else [c for c in _POOL if re.fullmatch(item, c)]


def _sample(part: Item) -> str:
    """A text for an item as often as it has to come, or once; nothing for an anchor."""
    least = re.match(r"\{(\d+)", part[1])
    itself = part[0][-1] if re.fullmatch(r"\\\W|[^\\^$.\[(]", part[0]) else ""
    return next(iter(_options(part[0])), itself) * (int(least[1]) if least else 1)


def samples(pattern: str) -> list[str]:
    """A text that a pattern matches, for each of its alternatives; none where it cannot be read."""
    found = ["".join(map(_sample, parts)) for parts in items(pattern)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a pattern is the skill's, and so is what Python thinks of it
            return [text for text in found if text and text != pattern and re.search(pattern, text)]
    except re.error:
        return []


def ways(g: Grammar, path: str) -> list[str]:
    content = g.base[path].content
    if not takes_lines(content):
        return []
    text = decoded(content)
    found = (other for p in patterns(g.template.commands) for other in others(p, text) if _blank(other) <= _blank(text))
    return list(islice(dict.fromkeys(found), MOST_WAYS))


def _blank(text: str) -> int:
    return sum(not line.strip() for line in text.split("\n"))


def choices(g: Grammar) -> list[Choice]:
    return [(path, k) for path in g.contents[:2] for k in range(len(ways(g, path)))]


def other_match(content: bytes, draft: Draft, path: str, k: int) -> bytes:
    """The recorded file's other form, with the new names."""
    if content != draft.g.base[path].content:
        return content
    return encoded(draft.renamed(ways(draft.g, path)[k]))


VARIATIONS = (
    Variation(
        name="own-patterns", why="A file has what the commands' patterns speak of and no recording has.",
        choices=choices, apply=of_content(other_match), stage=Stage.EDIT, alone=MOST_WAYS,
        examples=(
            Example(("a", 4), {"a": "k := 1\n"}, {"a": "k ?= 1\n"}, commands="sed -E 's/^k ?[:?]?= ?.*/k = 2/' a"),
            Example(("a", 0), {"a": "k = 1\n"}, {"a": "k= 1\n"}, commands="sed 's/k *= /x/' a"),
        ),
    ),
)  # fmt: skip
