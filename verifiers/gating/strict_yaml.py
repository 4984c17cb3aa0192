"""YAML as configuration and policies are read: plain values, and no key twice."""

from __future__ import annotations

from typing import Any

import yaml


class UniqueLoader(yaml.SafeLoader):
    """A SafeLoader that refuses duplicate keys, of which YAML's own loaders silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = key_node.value
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} appears twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)
