"""What has no order stands in another one: attributes of elements, keys of objects in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded
from verifiers.worlds.variation import Choice, Example, Said, Stage, Turns, Variation, of_content
from verifiers.worlds.variations.json_values import Json, documents, written

ATTRIBUTES, KEYS = "attributes", "keys"
_ATTRIBUTE = r"""\s+[\w:.@-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*')"""
_TAG = re.compile(rf"<(?P<name>[A-Za-z][\w:.-]*)(?P<attributes>(?:{_ATTRIBUTE}){{2,}})")


def tags(content: bytes) -> Iterator[tuple[str, list[str]]]:
    """Elements with several attributes, and the attributes' names in order."""
    for m in _TAG.finditer(decoded(content)):
        yield m["name"], [a.partition("=")[0].strip() for a in re.findall(_ATTRIBUTE, m["attributes"])]


def ways(g: Grammar) -> list[Choice]:
    of_objects = [(p, KEYS) for p in documents(g) if _turned_text(g.base[p].content) != g.base[p].content]
    return [*((p, ATTRIBUTES) for p in g.contents if any(tags(g.base[p].content))), *of_objects]


def turned(content: bytes, _draft: Draft, _path: str, way: str) -> bytes:
    if way == KEYS:
        return _turned_text(content)
    return encoded(_TAG.sub(lambda m: f"<{m['name']}{''.join(re.findall(_ATTRIBUTE, m['attributes'])[::-1])}", decoded(content)))


def _turned_text(content: bytes) -> bytes:
    value: Json = json.loads(content)
    try:
        new = _turned(value)
    except RecursionError:
        return content
    return content if json.dumps(new) == json.dumps(value) else written(new, like=decoded(content))


def _turned(value: Json) -> Json:
    if isinstance(value, dict):
        return {k: _turned(v) for k, v in reversed(value.items())}
    return [_turned(v) for v in value] if isinstance(value, list) else value


def known(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """Whether a recorded element has its attributes in one order here and in another there."""
    orders: dict[tuple[str, frozenset[str]], set[tuple[str, ...]]] = {}
    for g in gs if choice[1] == ATTRIBUTES else ():
        for name, attributes in (found for p in g.contents for found in tags(g.base[p].content)):
            orders.setdefault((name, frozenset(attributes)), set()).add(tuple(attributes))
    return Said.ALL if any(len(found) > 1 for found in orders.values()) else Said.HARM


VARIATIONS = (
    Variation(
        name="unordered", why="Attributes of elements, or keys of objects in JSON, stand in another order.",
        choices=ways, apply=of_content(turned), stage=Stage.EDIT, turns=Turns.SHARED, alone=3,
        recorded=known, never="attributes and keys stand in one order",
        examples=(
            Example(("a", ATTRIBUTES), {"a": '<a b="1" c="2"/>'}, {"a": '<a c="2" b="1"/>'}),
            Example(("a", KEYS), {"a": '{"a": 1, "b": {"c": 1, "d": 2}}\n'}, {"a": '{"b": {"d": 2, "c": 1}, "a": 1}\n'}),
        ),
    ),
)  # fmt: skip
