"""A list of one item has a second: whoever takes the first of a list for all of it is seen where there are two."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import yaml

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded
from verifiers.worlds.variation import Choice, Example, Said, Stage, Turns, Variation, of_content

AFTER, BEFORE = "after", "before"
MOST_BYTES, MOST_DEPTH = 1 << 14, 12
_WORD = re.compile(r"[A-Za-z]{2,}|\d+")
_SHARED = re.compile(r"(?:^|[\s\[{,:])[&*][^\s,\]}]", re.M)
"""What is named and used again: it stands in one place and counts in several, and few lines can be a tree without end."""
_FREE = frozenset({"tag:yaml.org,2002:str", "tag:yaml.org,2002:int"})
"""Types with more than two values."""


class Listed(NamedTuple):
    """A list in a text of YAML or JSON, which is YAML but for its tabs."""

    keys: str
    """The keys that lead to it; ``*`` for the items of a list."""
    items: tuple[tuple[int, int], ...]
    """Where each begins and ends."""
    leaves: tuple[tuple[int, int], ...]
    """Texts and numbers of the first item that are no keys."""
    flow: bool
    """Whether it stands in brackets."""


@lru_cache(maxsize=256)
def lists(content: bytes) -> tuple[Listed, ...]:
    """Every list of a document that has an item."""
    text = decoded(content)
    if len(content) > MOST_BYTES or not re.search(r"\[|^\s*- ", text, re.M) or _SHARED.search(text):
        return ()
    try:
        top = yaml.compose(text, yaml.SafeLoader)
        return tuple(_lists(top, "", 0)) if isinstance(top, yaml.CollectionNode) else ()
    except (yaml.YAMLError, ValueError, RecursionError):
        return ()


def _lists(node: yaml.Node, keys: str, depth: int) -> Iterator[Listed]:
    if isinstance(node, yaml.SequenceNode):
        if node.value:
            items = tuple((i.start_mark.index, i.end_mark.index) for i in node.value)
            yield Listed(keys, items, tuple(_leaves(node.value[0])), bool(node.flow_style))
        inner = [(item, f"{keys}.*") for item in node.value]
    else:
        inner = [(v, f"{keys}.{k.value}") for k, v in node.value] if isinstance(node, yaml.MappingNode) else []
    for each, its_keys in inner if depth < MOST_DEPTH else ():
        yield from _lists(each, its_keys, depth + 1)


def _leaves(node: yaml.Node) -> Iterator[tuple[int, int]]:
    if isinstance(node, yaml.CollectionNode):
        for each in node.value:
            yield from _leaves(each[1] if isinstance(each, tuple) else each)
    elif node.tag in _FREE:
        yield node.start_mark.index, node.end_mark.index


def single(g: Grammar) -> list[Choice]:
    """Each list of one item of a file, with the place of the second one."""
    found = [(p, once.keys) for p in g.contents for once in lists(g.base[p].content) if len(once.items) == 1]
    return [(p, keys, way) for p, keys in dict.fromkeys(found) for way in (AFTER, BEFORE)]


def doubled(content: bytes, draft: Draft, path: str, keys: str, way: str) -> bytes:
    """What arguments say stays in the copy behind the item: it is about the same thing; before the item it is about another."""
    text = decoded(content)
    for one in (x for x in lists(content)[::-1] if x.keys == keys and len(x.items) == 1):
        start, end = one.items[0]
        kept = draft.said if way == AFTER else []
        copy = text[start:end]
        for at, to in reversed(one.leaves):
            copy = copy[: at - start] + _another(text[at:to], kept) + copy[to - start :]
        line = text[text.rfind("\n", 0, start) + 1 : start]
        item = text[start:end]
        if one.flow:
            between = f",\n{line}" if not line.strip() else ", "
        else:
            # What belongs to an item ends where the next thing begins: blank lines and remarks are not its own.
            item, copy = item.rstrip(), copy.rstrip()
            end, between = start + len(item), f"\n{' ' * len(line[: line.rfind('-')])}{line[line.rfind('-') :]}"
        text = text[:start] + between.join((item, copy) if way == AFTER else (copy, item)) + text[end:]
    return encoded(text)


def _another(value: str, kept: Sequence[str]) -> str:
    """The value with one word changed that is not among those to keep."""
    m = next((m for m in _WORD.finditer(value) if m[0] not in kept), None)
    return value if m is None else f"{value[: m.end()]}{'7' if m[0].isdecimal() else 'x'}{value[m.end() :]}"


def known(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """Whether some recorded list at this place has several items."""
    several = (x.keys for g in gs for p in g.contents for x in lists(g.base[p].content) if len(x.items) > 1)
    return Said.ALL if str(choice[1]) in several else Said.HARM


_YAML = "jobs:\n  - name: build\n    on: [push]\n"
VARIATIONS = (
    Variation(
        name="second-item", why="A list of one item in JSON or YAML has a second.",
        choices=single, apply=of_content(doubled), stage=Stage.EDIT, turns=Turns.SHARED, alone=6,
        recorded=known, never="the list has one item",
        examples=(
            Example(
                ("a.json", ".a", AFTER), {"a.json": '{"a": [{"id": 1, "of": "ka"}]}'},
                {"a.json": '{"a": [{"id": 1, "of": "ka"}, {"id": 17, "of": "kax"}]}'},
            ),
            Example(
                ("a.yml", ".jobs", BEFORE), {"a.yml": _YAML},
                {"a.yml": "jobs:\n  - name: buildx\n    on: [pushx]\n  - name: build\n    on: [push]\n"},
            ),
        ),
    ),
)  # fmt: skip
