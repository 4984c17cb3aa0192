"""Files, links and directories that have nothing to do with the task."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.expectation.repositories import repository_roots
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import below, renamed_stem
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Rule, Said, Step, Turns, Variation, files, pairs

FILE = Entry("file", 0o640, b"a bystander\n")
HIDDEN, LINK, EMPTY = "hidden file", "link", "empty directory"
NAMESAKES = {"hidden namesake": HIDDEN, "link as namesake": LINK, "directory as namesake": EMPTY}
"""Called as a file beside them is, but for one word."""
MOST_COPIED = 300
HUNDREDS = 300
"""With as many a directory takes more than the 4096 bytes that it has at first."""


def bystander(draft: Draft, directory: str) -> None:
    draft.changes[below(draft.renamed(directory), new_name(draft))] = FILE


def crowded(draft: Draft, directory: str) -> None:
    where, word = draft.renamed(directory), draft.word()
    draft.changes |= {below(where, f"{word}{n}.{word[:3]}"): FILE for n in range(HUNDREDS)}


def around(g: Grammar) -> list[Choice]:
    """Directories of which something is named first."""
    values = {as_text(v).strip("/") for v in g.args.values()}
    said = {p.rpartition("/")[0] for p in values & set(g.base)}
    return [(d,) for d in sorted(g.directories, key=lambda d: d not in said)]


def odd(draft: Draft, directory: str, kind: str) -> None:
    where, name, target = draft.renamed(directory), new_name(draft), f"gone.{draft.word()}"
    beside = [p.rpartition("/")[2] for p, e in draft.base.items() if e.type == "file" and p.rpartition("/")[0] == where]
    if kind in NAMESAKES and beside:
        like_one, word = draft.rng.choice(beside), name.partition(".")[0]
        name = renamed_stem(like_one, word, draft.g) or word + like_one[like_one.rfind(".") :]
        target = draft.rng.choice(beside)
    plain = NAMESAKES.get(kind, kind)
    entry = {LINK: Entry("symlink", 0o777, target=target), EMPTY: Entry("dir", 0o750)}.get(plain, FILE)
    draft.changes[below(where, f".{name}" if plain == HIDDEN else name)] = entry


def linked(draft: Draft, path: str) -> None:
    """The file that the link leads to stays as it is: the commands pass the link over."""
    source = draft.renamed(path)
    where, _, old = source.rpartition("/")
    name, elsewhere = renamed_stem(old, draft.word(), draft.g), draft.word()
    if name and elsewhere not in draft.base:
        target = f"{elsewhere}/{draft.word()}{old[old.rfind('.') :] if '.' in old else ''}"
        draft.changes |= {elsewhere: Entry("dir", 0o755), target: draft.base[source]}
        up = "../" * source.count("/")
        draft.changes[below(where, name)] = Entry("symlink", 0o777, target=f"{up}{target}")
        draft.stays.append(target)


def linked_directory(draft: Draft, directory: str) -> None:
    """What it leads to is nobody's to change: the commands pass the link over."""
    top, elsewhere = draft.renamed(directory), draft.word()
    start = below(top, "")
    inside = {f"{elsewhere}/{p.removeprefix(start)}": e for p, e in draft.base.items() if p != ROOT and p.startswith(start)}
    if elsewhere not in draft.base and len(inside) <= MOST_COPIED and not repository_roots(draft.base):
        link = Entry("symlink", 0o777, target="../" * (top.count("/") + 1) + elsewhere)
        draft.changes |= {elsewhere: Entry("dir", 0o755), below(top, draft.word()): link} | inside
        draft.stays += [p for p, e in inside.items() if e.type == "file"]


def peopled(g: Grammar) -> list[Choice]:
    """Directories with something in them, those that an argument names first."""
    values = {as_text(v).strip("/") for v in g.args.values()}
    found = [d for d in g.directories if d and any(p.startswith(f"{d}/") for p in g.base)]
    return [(d,) for d in sorted(found, key=lambda d: d not in values)]


def said_of_links(choice: Choice, gs: Sequence[Grammar]) -> Said:
    return Said.ALL if any(e.type == "symlink" for g in gs for e in g.base.values()) else Said.HARM


def namesakes(g: Grammar) -> list[tuple[Step, ...]]:
    """In two directories with files that no argument names."""
    peopled = [d for d in g.directories if any(p.rpartition("/")[0] == d for p in g.files)]
    return [(Step("odd", choice),) for choice in pairs(peopled[:2], tuple(NAMESAKES))]


def recorded(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """Namesakes that are links or hidden say nothing of a skill where no recording has such, and of links only the harm counts
    where no recording has one: careful skills treat those in more than one way."""
    kind = str(choice[1])
    plain = NAMESAKES.get(kind, kind)
    if kind in NAMESAKES and plain != EMPTY and not any(has_namesake(g.base, plain == LINK) for g in gs):
        return Said.NOTHING
    linked = plain != LINK or any(e.type == "symlink" for g in gs for e in g.base.values())
    return Said.ALL if linked else Said.HARM


def new_name(draft: Draft) -> str:
    return f"{draft.word()}.{draft.word()[:3]}"


def has_namesake(base: Snapshot, linked: bool) -> bool:
    """Whether a base has a link, or a hidden file, that ends as a plain file beside it does."""

    def name(path: str) -> tuple[str, str]:
        where, _, last = path.rpartition("/")
        return where, last[last.rfind(".") :] if "." in last[1:] else ""

    hidden = {p for p in base if p != ROOT and p.rpartition("/")[2].startswith(".")}
    odd = {p for p, e in base.items() if e.type == "symlink"} if linked else hidden
    plain = {name(p) for p, e in base.items() if e.type == "file" and p not in odd}
    return any(name(p)[1] and name(p) in plain for p in odd)


VARIATIONS = (
    Variation(
        name="linked-directory", why="A directory has a link to a copy of it elsewhere.",
        choices=peopled, apply=linked_directory, rule=Rule.BYSTANDER, alone=2, recorded=said_of_links,
        never="there are no links among the directories",
        examples=(Example(("d",), {"d/a": "1"}, {"d/": "", "d/a": "1", "…/": "", "…/a": "1", "d/…": "-> ../…"}, {"d": "d"}),),
    ),
    Variation(
        name="linked-item", why="One more file like another is a link to a file in another directory.",
        choices=files, apply=linked, rule=Rule.BYSTANDER, alone=2, recorded=said_of_links,
        never="there are no links among the files",
        examples=(Example(("a.txt",), {"a.txt": "1"}, {"a.txt": "1", "…/": "", "…/….txt": "1", "….txt": "-> …/….txt"}),),
    ),
    Variation(
        name="bystander", why="A directory has an unrelated file.",
        choices=lambda g: [(d,) for d in g.directories], apply=bystander, rule=Rule.BYSTANDER, drawn=2,
        examples=(Example(("",), {}, {"….…": "a bystander\n"}),),
    ),
    Variation(
        name="crowded", why="A directory has hundreds of unrelated files.",
        choices=around, apply=crowded, rule=Rule.BYSTANDER, turns=Turns.FIRST, alone=1,
        examples=(Example(("",), {}, {f"…{n}.…": "a bystander\n" for n in range(HUNDREDS)}),),
    ),
    Variation(
        name="odd", why="A directory has a hidden file, a link or an empty directory, perhaps called as a file is.",
        choices=lambda g: pairs(g.directories, (HIDDEN, LINK, EMPTY, *NAMESAKES)),
        apply=odd, rule=Rule.BYSTANDER, turns=Turns.SHARED, drawn=1, alone=1, together=namesakes, recorded=recorded,
        never="there are no links among the files",
        examples=(
            Example(("", HIDDEN), {}, {".….…": "a bystander\n"}),
            Example(("", LINK), {"a.txt": "1"}, {"a.txt": "1", "….…": "-> gone.…"}),
            Example(("", "directory as namesake"), {"a.txt": "1"}, {"a.txt": "1", "….txt/": ""}),
        ),
    ),
)  # fmt: skip
