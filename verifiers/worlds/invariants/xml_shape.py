"""A text that is well-formed XML, with the same element around it all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from random import Random
from xml.parsers import expat

from verifiers.worlds.invariants.kind import Learned, Lesson

MOST_BYTES = 1 << 18
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)\w+;")
"""Of a name that XML does not know without a declaration."""
_DECLARED = re.compile(r"\A<\?(\S+)\s+\S+?=[\"']1[.]\d[\"'][^?]*\?>")
_PART = re.compile(r"""(\S+?)=(?=["']([^"']*))""")


@lru_cache(maxsize=512)
def root(text: str) -> str | None:
    """The element around all, with its namespace; None for what is no XML. Of one with entities too: they could be endless."""
    if not text.lstrip("\ufeff \r\n\t").startswith("<") or len(text) > MOST_BYTES or "<!ENTITY" in text:
        return None
    found: list[str] = []
    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler = lambda name, _: found.append(name) if not found else None
    try:
        parser.Parse(text.encode("utf-8", "surrogateescape"), True)
    except (expat.ExpatError, ValueError, LookupError):
        return None
    return found[0] if found else None


class XmlShape:
    name = "xml"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        names = {root(text) for text in seen}
        return Lesson(names.pop() or "", len(seen)) if len(names) == 1 and None not in names else None

    def holds(self, value: Learned, text: str) -> bool:
        return root(text) == value

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """The declaration has its name and those of its parts back, names of namespaces theirs, and what stands for a sign stands
        for one."""
        text = _ENTITY.sub("&amp;", text)
        declared = _DECLARED.match(text)
        if declared is None:
            return text
        text = _PART.sub(_part, declared[0]) + text[declared.end() :]
        return re.sub(rf"(?<![\w:.]){re.escape(declared[1])}(?=ns[:=]|:\w+=|\s+version=)", "xml", text)

    def says(self, value: Learned) -> str:
        return f"is XML in an element {str(value).rpartition('}')[2]}"


def _part(m: re.Match[str]) -> str:
    """A part of a declaration by its value: there are three."""
    return ("version" if re.fullmatch(r"1[.]\d", m[2]) else "standalone" if m[2] in ("yes", "no") else "encoding") + "="


KIND = XmlShape()
