"""What is nearly what an argument says: lines, and names beside files and directories."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox.interface import Entry
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import below, renamed_stem
from verifiers.worlds.records import MAX_LINES, decoded, encoded, records, takes_lines
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text, tokens
from verifiers.worlds.variation import Choice, Example, Rule, Said, Stage, Step, Variation, of_content, pairs

MOST_NEAR = 8
QUOTED = re.compile(r"[\"'=]([^\"'\0\n$\\]{2,20})[\"']")
NO_CASE = "no word is another one's but for its case"
NO_SUCH_LINES = "no line stands twice, says the same twice, or is set in from the margin of one like it"
"""One sentence, so one question: how lines are meant that no recording has."""
LETTERS, CASE, PART, BEHIND, INDENTED = "letters", "case", "part", "behind", "indented"


def near(text: str, said: Sequence[str], way: str = LETTERS) -> list[str]:
    """Texts that are nearly what arguments say: a word of theirs with a letter more, with two in the other order, or without the
    mark before it; or only (CASE) in the other case, which some commands take for the same, or (PART) as a part of a longer word
    with a dash, in which some see the end of it."""
    out: list[str] = []
    for word in said:
        edge = r"\w" if any(c.isdigit() for c in word) else r"[^\W\d_]"
        if m := re.search(rf"(?<!{edge}){re.escape(word)}(?!{edge})", text):
            head, tail = text[: m.start()], text[m.end() :]
            before, behind = _like(word[0]), _like(word[-1])
            key = re.sub(r"\W+$", "", word) or word  # a mark behind it is no part of a word: ``id:``
            if way in (CASE, PART):
                mark = joint(text)
                others = [word.swapcase()] if way == CASE else [f"{word}{mark}{behind}", f"{before}{mark}{word}"]
                out += [f"{head}{other}{tail}" for other in others]
                continue
            out += [
                f"{head}{key}{behind}{word[len(key) :]}{tail}",
                f"{head}{before}{word}{tail}",
                f"{head}{transposed(word)}{tail}",
            ]
            out += [f"{head[:-1]}{word}{tail}"] if head[:-1] and not head[-1].isalnum() and head[-1] not in "/ \n" else []
    return list(dict.fromkeys(t for t in out if t != text))[:MOST_NEAR]


def joint(text: str) -> str:
    """What joins the parts of a longer word there: a dash, unless words are joined with low lines alone."""
    return "_" if re.search(r"[^\W\d_]_[^\W\d_]", text) and not re.search(r"[^\W\d_]-[^\W\d_]", text) else "-"


def transposed(word: str) -> str:
    """The word with its last two different neighbours of one kind in the other order; the word itself where there are none."""
    for i in range(len(word) - 1, 1, -1):
        a, b = word[i - 1], word[i]
        if a != b and a.isdigit() == b.isdigit() and a.isalpha() == b.isalpha():
            return word[: i - 1] + b + a + word[i + 1 :]
    return word


def case_is_told(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """Whether a recording shows what becomes of a word that is an argument's but for its case: programs, names of packages and
    people differ there."""
    return Said.ALL if choice[-1] != CASE or any(map(_in_both_cases, gs)) else Said.HARM


def _in_both_cases(g: Grammar) -> bool:
    text = all_text(g.base)
    values = {as_text(v) for v in g.args.values() if isinstance(v, str) and v}
    return any(found != value for value in values for found in re.findall(rf"(?i)(?<!\w){re.escape(value)}(?!\w)", text))


def margin_is_told(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """Whether recordings show what becomes of each line that is set in: of those that begin so, some are and some are not."""
    if choice[-1] != INDENTED:
        return Said.ALL
    contents = [decoded(g.base[p].content) for g in gs for p in g.contents]
    shown = set().union(*map(_at_two_margins, contents))
    said = {t for g in gs for v in g.args.values() if isinstance(v, str) for t in tokens(v) if t.isalpha() and len(t) > 1}
    meant = {_BEGINNING.match(row) for text in contents for row in text.split("\n") if said & set(tokens(row))}
    return Said.ALL if {m[2] for m in meant if m} <= shown else Said.HARM


_BEGINNING = re.compile(r"(?m)^([ \t]*)([^\w\s]+|\w+)")


def _at_two_margins(text: str) -> set[str]:
    """What lines begin with of which some are set in and some are not."""
    found = {(bool(margin), start) for margin, start in _BEGINNING.findall(text)}
    return {start for margin, start in found if margin and (False, start) in found}


def _like(letter: str) -> str:
    """A letter of the same kind: a version that goes on is a version."""
    return "7" if letter.isdigit() else "x"


def indented(text: str, said: Sequence[str]) -> list[str]:
    """The text with blanks before each of its lines, if it says a word of the arguments: it belongs to what stands above it."""
    spoken = any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in said)
    return ["".join(f"    {line}" for line in text.splitlines(keepends=True))] if spoken else []


def near_lines(content: bytes, said: Sequence[str], *, named: bool, way: str = LETTERS, size: int = 1) -> bytes:
    """Text with more records, which say nearly what arguments say: each beside the one that it is like. Or, BEHIND all records,
    what lies between the first and the last of those once more for each way to be nearly like them. Of a file that an argument
    names the first line stays."""
    found = records(content, size, head=named)
    if found is None or len(found.items) + named < 2 or not found.whole:
        return content
    like = [indented(item, said) if way == INDENTED else near(item, said, way) for item in found.items]
    out = _behind(found.items, like) if way == BEHIND else _each_at_its_own(found.items, like, before=way == PART)
    return found.joined(out) if len(out) <= MAX_LINES else content


def _each_at_its_own(items: list[str], like: list[list[str]], *, before: bool) -> list[str]:
    """Behind the one that it is like, or the first of them ``before`` it. What is set in below a line belongs to it, and comes
    along: no block is cut in two."""
    ends = _block_ends(items)
    copies: list[list[str]] = [[] for _ in range(len(items) + 1)]
    for n in reversed(range(len(items))):
        whole = [[head, *items[n + 1 : ends[n]]] for head in like[n]]
        copies[n] += [t for block in whole[:before] for t in block]
        copies[ends[n]] += [t for block in whole[before:] for t in block]
    return [*(t for n, item in enumerate(items) for t in (*copies[n], item)), *copies[-1]]


_CLOSING = re.compile(r"\s*[]})]+[;,]?\s*")


def _block_ends(items: Sequence[str]) -> list[int]:
    """For each item the first one behind it that is set in no further, and closes nothing; an empty one stands where the next one
    does."""
    ends, open_blocks, margin = [len(items)] * len(items), list[int](), 0
    margins = [0] * len(items)
    for n in reversed(range(len(items))):
        margin = margins[n] = len(items[n]) - len(items[n].lstrip(" \t")) if items[n].strip() else margin
    for n in range(len(items)):
        closing = bool(_CLOSING.fullmatch(items[n])) and bool(open_blocks)
        while open_blocks and margins[open_blocks[-1]] >= margins[n]:
            last = open_blocks.pop()
            ends[last] = n + (closing and margins[last] == margins[n] and last < n - 1)
        open_blocks.append(n)
    return ends


def _behind(items: list[str], like: list[list[str]]) -> list[str]:
    found = [i for i, texts in enumerate(like) if texts]
    if not found:
        return items
    ways = range(min(len(like[i]) for i in found))
    return [*items, *(like[i][way] if like[i] else items[i] for way in ways for i in range(found[0], found[-1] + 1))]


def near_names(draft: Draft, path: str, way: str) -> None:
    """Beside a file, and beside every directory."""
    for source in (draft.renamed(path), *(p for p, e in draft.base.items() if e.type == "dir")):
        where, _, name = source.rpartition("/")
        beside = (below(where, n) for n in near(name, draft.said, way))
        draft.changes |= {p: draft.base[source] for p in beside if p not in draft.base}


def _edited(content: bytes, draft: Draft, path: str, way: str) -> bytes:
    said = spoken(draft, decoded(content))
    return near_lines(content, said, named=draft.named(path), way=way, size=draft.g.record_lines(path))


def spoken(draft: Draft, text: str) -> list[str]:
    """What arguments say, as the text has it: a value that stands there whole is one word, and its parts are none."""
    whole = [v for v in draft.numbered if v in text]
    parts = {t for v in whole for t in tokens(v)}
    return [*(t for t in draft.said if t not in parts), *draft.numbered]


def near_files(draft: Draft, path: str, way: str) -> None:
    """Another file like one, in which the lines that say a word of the arguments say nearly that."""
    source = draft.renamed(path)
    where, _, name = source.rpartition("/")
    text = decoded(draft.content(path)) if takes_lines(draft.content(path)) else ""
    said = spoken(draft, text)
    like = {line: indented(line, said) if way == INDENTED else near(line, said) for line in text.splitlines(keepends=True)}
    other = renamed_stem(name, draft.word(), draft.g)
    if any(like.values()) and other:
        content = encoded("".join((like[line] or [line])[0] for line in text.splitlines(keepends=True)))
        draft.changes[below(where, other)] = Entry("file", draft.base[source].mode, content)


def names_come_along(g: Grammar) -> list[tuple[Step, ...]]:
    both = [(Step("near-lines", (p, way)), Step("near-names", (p, way))) for p in g.contents for way in (LETTERS, CASE)]
    return [*both[:4], *((Step("near-lines", (p, way)),) for p in g.contents[:2] for way in (BEHIND, PART))]


def literals(g: Grammar) -> list[str]:
    """Words and quoted texts of the commands' own that stand in contents too: what a line is compared with."""
    text, said = all_text(g.base), g.template.literal_text()
    there, texts = set(tokens(text)), QUOTED.findall(said)
    written = {t for t in {*tokens(said), *texts} & there if re.search(rf"(?<!\w){re.escape(t)}(?!\w)", text)}
    quoted = [t for t in texts if t in text and re.search(r"\w", t) and t not in written]
    words = [t for t in dict.fromkeys(tokens(said)) if t in written and not t.isdecimal()]
    return [*dict.fromkeys(quoted), *words][:MOST_NEAR]


def compared(g: Grammar) -> list[Choice]:
    """Each literal in each file, but for those of a line that frames records: with another in its place they are none."""
    framing = {p: {t for line in g.framing(p) for t in tokens(line)} for p in g.contents}
    found = literals(g)
    return [(p, k) for p in g.contents for k, word in enumerate(found) if word not in framing[p]]


def _near_literals(content: bytes, draft: Draft, path: str, k: int) -> bytes:
    return near_lines(content, literals(draft.g)[k : k + 1], named=draft.named(path), size=draft.g.record_lines(path))


VARIATIONS = (
    Variation(
        name="near-literals", why="A file has lines that are nearly what the commands look for.",
        choices=compared, apply=of_content(_near_literals),
        rule=Rule.BYSTANDER, stage=Stage.EDIT, alone=6,
        examples=(Example(("a", 0), {"a": "k\nx A\n"}, {"a": "k\nx A\nx Ax\nx xA\n"}, {}, "awk '$2 == \"A\"' a"),),
    ),
    Variation(
        name="near-lines", why="A file has lines that are nearly what an argument says.",
        choices=lambda g: pairs(g.contents, (LETTERS, CASE, BEHIND, PART)), apply=of_content(_edited),
        rule=Rule.BYSTANDER, stage=Stage.EDIT, drawn=2, together=names_come_along,
        recorded=case_is_told, never=NO_CASE,
        examples=(
            Example(("a", LETTERS), {"a": "k\nbob,1\n"}, {"a": "k\nbob,1\nbobx,1\nxbob,1\nbbo,1\n"}, {"w": "bob"}, "ls bob"),
            Example(("a", PART), {"a": "k\nbob,1\n"}, {"a": "k\nbob-x,1\nbob,1\nx-bob,1\n"}, {"w": "bob"}, "ls bob"),
            Example(("a", BEHIND), {"a": "bob\nk\n"}, {"a": "bob\nk\nbobx\nxbob\nbbo\n"}, {"w": "bob"}, "ls bob"),
        ),
    ),
    Variation(
        name="set-in-lines", why="A file has lines that say what an argument says, set in from their margin.",
        choices=lambda g: pairs(g.contents, (INDENTED,)), apply=of_content(_edited),
        rule=Rule.BYSTANDER, stage=Stage.EDIT, alone=2, recorded=margin_is_told, never=NO_SUCH_LINES,
        examples=(Example(("a", INDENTED), {"a": "bob\nk\n"}, {"a": "bob\n    bob\nk\n"}, {"w": "bob"}, "ls bob"),),
    ),
    Variation(
        name="near-files", why="Another file says nearly what an argument says, where one like it says just that.",
        choices=lambda g: pairs(g.files, (LETTERS, INDENTED)), apply=near_files, rule=Rule.BYSTANDER, alone=4,
        recorded=margin_is_told, never=NO_SUCH_LINES,
        examples=(
            Example(("a.md", LETTERS), {"a.md": "k: up\n"}, {"a.md": "k: up\n", "….md": "k: upx\n"}, {"w": "up"}, "grep up *.md"),
            Example(("a.md", INDENTED), {"a.md": "up\n"}, {"a.md": "up\n", "….md": "    up\n"}, {"w": "up"}, "grep up *.md"),
        ),
    ),
    Variation(
        name="near-names", why="Files and directories are called nearly as an argument says.",
        choices=lambda g: pairs(g.contents, (LETTERS, CASE)), apply=near_names, rule=Rule.BYSTANDER,
        recorded=case_is_told, never=NO_CASE,
        examples=(
            Example(("a.md", LETTERS), {"a.md": ""}, {"a.md": "", "a.mdx": "", "a.xmd": "", "amd": ""}, {"e": "md"}, "ls *.md"),
            Example(("a.md", CASE), {"a.md": ""}, {"a.md": "", "a.MD": ""}, {"e": "md"}, "ls *.md"),
        ),
    ),
)  # fmt: skip
