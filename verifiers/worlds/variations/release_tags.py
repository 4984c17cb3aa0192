"""Versions have a tag behind their three numbers, as those have that are not released yet: who reads three numbers loses it."""

from __future__ import annotations

import re

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

VERSION = re.compile(r"(?<![\w.+-])v?\d{1,4}\.\d{1,4}\.\d{1,4}(?![\w.+-])", re.ASCII)
TAG = "-rc.1"


def with_versions(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents if takes_lines(g.base[p].content) and VERSION.search(decoded(g.base[p].content))]


def everywhere(content: bytes, draft: Draft, path: str) -> bytes:
    """Every version of a file but those that arguments say."""
    said = "\n".join(map(as_text, draft.args.values()))
    return encoded(VERSION.sub(lambda m: m[0] if m[0] in said else m[0] + TAG, decoded(content)))


VARIATIONS = (
    Variation(
        name="release-tags", why="Versions in a file have a tag behind their numbers.",
        choices=with_versions, apply=of_content(everywhere), stage=Stage.EDIT, alone=3,
        odd="versions with a tag",
        examples=(Example(("a",), {"a": "v1.2.3 10.0.0.1 2.0\n"}, {"a": "v1.2.3-rc.1 10.0.0.1 2.0\n"}),),
    ),
)  # fmt: skip
