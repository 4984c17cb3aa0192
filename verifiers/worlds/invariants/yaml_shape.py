"""The file is YAML of more than one level, and no mapping in it says a key twice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import yaml

from verifiers.worlds.invariants.documents import Document
from verifiers.worlds.invariants.json_shape import read as read_json


@lru_cache(maxsize=256)
def keys_of(text: str) -> frozenset[str] | None:
    """The keys at the top of a mapping; None where the text is none, or has one level, as many texts have by accident."""
    if read_json(text) is not ...:
        return None
    try:
        top = yaml.compose(text, yaml.SafeLoader)
        levels = [_keys(node) for node in _mappings(top)]
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    deep = isinstance(top, yaml.MappingNode) and any(not isinstance(v, yaml.ScalarNode) for _, v in top.value)
    return frozenset(levels[0]) if deep and all(len(set(found)) == len(found) for found in levels) else None


def _mappings(top: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    """Every mapping, the outer ones first. One that is named and used again comes once: it would be met without end."""
    met: set[int] = set()
    todo = [top]
    while todo:
        node = todo.pop(0)
        if id(node) in met:
            continue
        met.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            todo += [v for _, v in node.value]
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value


def _keys(node: yaml.MappingNode) -> list[str]:
    return [str(key.value) for key, _ in node.value]


KIND = Document("yaml", "YAML", keys_of)
