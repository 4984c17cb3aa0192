"""One more item under a name of another build."""

from __future__ import annotations

import re

from sandbox.interface import Entry
from verifiers.worlds.draft import Draft
from verifiers.worlds.names import below, renamed_stem
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Example, Rule, Variation, files, pairs

DOT_WITHIN, ENDING_TWICE, IN_DIRECTORY, MARK_TWICE, SAID_WITHIN, BEFORE, BEHIND, JOINED = SHAPES = (
    "dot within", "ending twice", "in a directory of such a name", "mark twice", "what an argument says within",
    "a word before", "an ending behind", "another's name behind its own",
)  # fmt: skip


LONGEST_OTHER = 60


def copy_shaped(draft: Draft, path: str, shape: str) -> None:
    """None where the name of the file allows no such shape."""
    source, word = draft.renamed(path), draft.word()
    where, _, old = source.rpartition("/")
    name = renamed_stem(old, word, draft.g)
    if name and shape == IN_DIRECTORY:
        where, name = below(where, name), renamed_stem(old, word[::-1], draft.g)
        draft.changes[where] = Entry("dir", 0o755)
        draft.stays.append(where)
    elif shape in (BEFORE, BEHIND):
        name = f"{word}-{old}" if shape == BEFORE else f"{old}.{word[:3]}"
    elif name:
        name = _shaped(name, word, shape, draft, old)
    if name:
        draft.changes[below(where, name)] = draft.base[source]


def copy_hidden(draft: Draft, path: str) -> None:
    source = draft.renamed(path)
    where, _, old = source.rpartition("/")
    if name := renamed_stem(old, draft.word(), draft.g):
        draft.changes[below(where, f".{name}")] = draft.base[source]


def _shaped(name: str, word: str, shape: str, draft: Draft, old: str) -> str:
    """A name of another build; "" where there is none."""
    stem, dot, ending = name.partition(".")
    if shape == ENDING_TWICE:
        return f"{name}{name[name.rfind('.') :]}" if dot else name
    if shape == MARK_TWICE:
        mark = re.search(r"[^\w.]|_", stem)
        return f"{name[: mark.start()]}{mark.group()}{name[mark.start() :]}" if mark else ""
    if shape == SAID_WITHIN:
        values = map(as_text, draft.args.values())
        said = next((v for v in values if 0 < len(v) < 12 and "/" not in v and "\n" not in v), "")
        return f"{stem}{said}{word}{dot}{ending}" if said else ""
    if shape == JOINED:
        others = (draft.renamed(p).rpartition("/")[2].partition(".") for p in draft.g.files)
        different = (s for s, _, end in others if end == ending and s != old.partition(".")[0])
        other = next((s for s in different if len(s) < LONGEST_OTHER), "")
        return f"{stem}-{other}{dot}{ending}" if other else ""
    return f"{stem}.{word[:3]}{dot}{ending}"


VARIATIONS = (
    Variation(
        name="other-name", why="One more file like another, under a name of another build.",
        choices=lambda g: pairs(g.files, SHAPES), apply=copy_shaped, alone=len(SHAPES),
        examples=(
            Example(("a.x.gz", ENDING_TWICE), {"a.x.gz": ""}, {"a.x.gz": "", "….x.gz.gz": ""}),
            Example(("a.gz", JOINED), {"a.gz": "", "b.gz": ""}, {"a.gz": "", "b.gz": "", "…-b.gz": ""}),
            Example(("a.gz", IN_DIRECTORY), {"a.gz": ""}, {"a.gz": "", "….gz/": "", "….gz/….gz": ""}),
        ),
    ),
    Variation(
        name="hidden-item", why="One more file like another is hidden.",
        choices=files, apply=copy_hidden, rule=Rule.ITEM, alone=1,
        examples=(Example(("a.txt",), {"a.txt": "1"}, {"a.txt": "1", ".….txt": "1"}),),
    ),
)  # fmt: skip
