"""What a host sends and is sent: arguments that fit a tool's schema, and text that JSON can carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_SAID = 2_000
"""Characters of one sentence: what it repeats of a call may be of any length, and whoever called pays for reading it."""


def cut(text: str, most: int = MOST_SAID) -> str:
    """A text that is no longer than a conversation bears; how long it was is said."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def ends(text: str, most: int) -> str:
    """A long text's beginning and end, for what went wrong stands there; how long it was is said."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}… ({len(text)} characters) …{text[len(text) - half :]}"


def sendable(value: Any) -> Any:
    """A JSON value whose texts are UTF-8: the name of a file may be none, and an answer with it would end the connection."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {sendable(key): sendable(part) for key, part in value.items()}
    return [sendable(part) for part in value] if isinstance(value, list | tuple) else value


def misfit(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """What is wrong with arguments, in one sentence; "" if nothing is."""
    known, required = schema["properties"], schema["required"]
    missing = [name for name in required if name not in arguments]
    if missing:
        return f"argument {missing[0]!r} is missing"
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        return f"there is no argument {unknown[0]!r}; known are {', '.join(known)}"
    wrong = [(name, why) for name, value in arguments.items() if (why := _unfit(known[name], value))]
    return f"argument {wrong[0][0]!r} is {wrong[0][1]}" if wrong else ""


def _unfit(schema: Mapping[str, Any], value: object) -> str:
    """Why a value is not one of its schema's; "" if it is."""
    kinds = schema.get("type")
    if kinds is not None and not any(_is(kind, value) for kind in (kinds if isinstance(kinds, list) else [kinds])):
        return f"of the wrong type: expected {kinds}"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            return "empty"
        return next((f"wrong in one of its items, {why}" for v in value if (why := _unfit(schema.get("items", {}), v))), "")
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"not between {schema['minimum']} and {schema['maximum']}"
    return ""


def _is(kind: str, value: object) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    matching: dict[str, tuple[type, ...]] = {
        "string": (str,), "integer": (int,), "number": (int, float), "array": (list,), "object": (dict,), "null": (type(None),),
    }  # fmt: skip
    return isinstance(value, matching.get(kind, ()))
