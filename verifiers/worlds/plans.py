"""What to vary about a trace: plans, drawn by hypothesis or systematic, and what of them no recording speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from sandbox.interface import ROOT, Snapshot
from verifiers.worlds.edits import (
    ABOVE,
    BARE,
    BLANK,
    CASES,
    DRAWN,
    EMPTY,
    GROWN,
    NEAR,
    NEAR_AFTER,
    NUMBERS,
    PADDED,
    PREFIXED,
    REPEATED,
    SAID,
    STRANGE,
    SUFFIXED,
    UNENDED,
)
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text

MAX_COPIES = 3
ODDITIES = ("hidden file", "link", "empty directory", "hidden namesake", "link as namesake", "directory as namesake")
"""Kinds of unusual bystanders; namesakes are called as a file beside them is, but for one word."""
KINDS = len(ODDITIES) // 2
HIDDEN, LINK = ODDITIES.index("hidden file"), ODDITIES.index("link")
SHAPES = ("dot within", "ending twice", "in a directory of such a name", "mark twice", "hidden", "what an argument says within")
"""Names of another build for one more item: a hidden one counts where the commands treat it as one."""
ENDING_TWICE, IN_DIRECTORY, MARK_TWICE, HIDDEN_ITEM, SAID_WITHIN = 1, 2, 3, 4, 5
DEPTH = 6
MOST_VOICED = 10
MARKS = ("{}%s", "\\a&")
"""What words of arguments get behind them: placeholders (``{name}``), and what formats and replacements treat specially. Not
``\\n``: JSON writes an end of line that it read as one in the same two characters, and nothing would show that it was read."""
SPARE = 3 * MAX_COPIES + 12 + DEPTH
"""Words for new names, besides those for renaming."""
MAX_MANY = 300
"""To what the number of files grows at most."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to vary about one trace. Indices into its grammar's tuples, so that it shrinks towards nothing."""

    rename_bound: tuple[int, ...] = ()
    rename_free: tuple[int, ...] = ()
    rename_words: tuple[int, ...] = ()
    copies: tuple[tuple[int, int], ...] = ()
    """(file, directory): a copy under a new name."""
    drops: tuple[int, ...] = ()
    bystanders: tuple[int, ...] = ()
    """Directories that get an unrelated file."""
    edits: tuple[tuple[int, int], ...] = ()
    """(file of ``contents``, how): its lines dropped, doubled, put in another order, many more of them, or none."""
    many: tuple[int, ...] = ()
    """(file): more copies under new names than the skill's numbers and the recordings have."""
    odd: tuple[tuple[int, int], ...] = ()
    """(directory, kind of oddity): judged only where the commands take no notice of it."""
    spoken: tuple[tuple[int, int], ...] = ()
    """(word of a content, word of the skill's own text): the one becomes the other."""
    numeric: tuple[int, ...] = ()
    """Words of arguments among ``rename_bound`` that become digits with a leading zero: text all the same."""
    dashed: tuple[int, ...] = ()
    """Those that get a dash in front, as an option has."""
    decoys: tuple[int, ...] = ()
    """(file of ``contents``): copies under names that are nearly what an argument says, and directories of such names."""
    deep: tuple[int, ...] = ()
    """(directory): a copy of all that is in it, in it, six directories further down."""
    voiced: tuple[tuple[int, int], ...] = ()
    """(word of an argument, word of the skill's own text): the one becomes the other."""
    dotted: tuple[int, ...] = ()
    """Those that get a dot in the middle, as ``tar.gz`` has."""
    marked: tuple[tuple[int, int], ...] = ()
    """(one of those, one of MARKS): judged only where the commands take the mark for text like any other."""
    grown: tuple[int, ...] = ()
    """Words of arguments that are numbers and become larger ones, with a digit more if they had one."""
    shaped: tuple[tuple[int, int], ...] = ()
    """(file, one of SHAPES): a copy under a name of another build."""
    stale: tuple[int, ...] = ()
    """(path that the trace makes): there is an older file in its place."""
    before: tuple[int, ...] = ()
    """(path that the trace makes): it is there before, an older file or a directory with something in it."""
    salt: int = 0
    """Of the seed of what is drawn; where it is odd, near misses differ in case and in nothing else."""


def plans(g: Grammar) -> st.SearchStrategy[Plan]:
    """Plans for one trace."""

    def some(count: int, most: int) -> st.SearchStrategy[tuple[int, ...]]:
        if not count:
            return st.just(())
        return st.lists(st.integers(0, count - 1), max_size=min(count, most), unique=True).map(lambda v: tuple(sorted(v)))

    def pairs(count: int, other: int, most: int) -> st.SearchStrategy[tuple[tuple[int, int], ...]]:
        if not count or not other:
            return st.just(())
        return st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, other - 1)), max_size=most).map(tuple)

    return st.builds(
        Plan,
        rename_bound=some(len(g.bound), 6),
        rename_free=some(len(g.free), 8),
        rename_words=some(len(g.free_words), 6),
        copies=pairs(len(g.files), len(g.directories), MAX_COPIES),
        drops=st.one_of(*[some(len(g.files), 2)] * 3, st.just(tuple(range(len(g.files))))),
        bystanders=some(len(g.directories), 2),
        edits=pairs(len(g.contents), DRAWN, 2),
        many=some(len(g.files), 1),
        odd=pairs(len(g.directories), len(ODDITIES), 1),
        spoken=pairs(len(g.free_words), len(g.constants.words), 2),
        salt=st.integers(0, 3),
    )


def systematic(g: Grammar, *, turn: int = 0, of: int = 1) -> list[Plan]:
    """Plans that chance should not miss: files longer than the skill's numbers, more files than those, its own words, texts that
    look like numbers, options or endings, what is nearly what an argument says or holds what is to be written, a hidden item, a
    deep tree; and of those in ``_unlike`` the share of this trace, whose ``turn`` it is ``of`` several. The skill's words as
    arguments for the first trace only."""
    texts = tuple(i for i, (token, _) in enumerate(g.bound) if not token.isdecimal())
    renamed = Plan(rename_bound=texts)
    out = [replace(renamed, numeric=texts), replace(renamed, dashed=texts), replace(renamed, dotted=texts)] if texts else []
    every = range(len(g.contents))
    out += [Plan(edits=((i, NEAR),), decoys=(i,), salt=cased) for i in every for cased in (0, 1)][:4]
    out += [Plan(edits=((i, NEAR_AFTER),)) for i in every][:2]
    out += [Plan(edits=((i, how),)) for i in every if g.added(g.contents[i]) for how in (SUFFIXED, PREFIXED, ABOVE)][:3]
    out += [Plan(edits=((i, REPEATED),)) for i in every][:3] + [Plan(edits=((i, SAID),)) for i in every][:3]
    out += _made_already(g)
    if turn == 0:
        out += [replace(renamed, marked=(mark,)) for mark in _markable(g, texts)]
        out += [Plan(grown=(i,)) for i, (t, _) in enumerate(g.bound) if t.isdecimal() and len(t) < 3 and t[0] != "0"][:3]
    named = {as_text(v).strip("/") for v in g.args.values()}
    out += [Plan(deep=(i,)) for i, d in enumerate(g.directories) if d in named][:1] or [Plan(deep=(0,))]
    count = len(g.constants.words) if turn == 0 else 0
    out += [Plan(voiced=tuple((i, (n + k) % count) for k, i in enumerate(texts))) for n in range(count) if texts][:MOST_VOICED]
    out += [Plan(edits=((i, GROWN),)) for i in range(len(g.contents))][:3]
    out += [Plan(many=(i,)) for i in range(len(g.files))][:2]
    out += [Plan(shaped=((i, HIDDEN_ITEM),)) for i in range(len(g.files))][:1]
    room, words = len(g.free_words), len(g.constants.words)
    chunks = [range(n, min(words, n + room)) for n in range(0, words, room)] if room else []
    return out + [Plan(spoken=tuple(enumerate(chunk))) for chunk in chunks[:4]] + _unlike(g)[turn::of]


def marks(g: Grammar, plan: Plan) -> dict[int, str]:
    """Which words of arguments get which mark behind them. Placeholders have the names of other parameters, if there are any."""
    out = {}
    for i, how in plan.marked:
        own = g.bound[i][1]
        names = [p for p in sorted(g.args) if p not in own][:3] or [*own]
        out[i] = MARKS[how].format("".join(f"{{{name}}}" for name in names))
    return out


def _markable(g: Grammar, texts: Sequence[int]) -> list[tuple[int, int]]:
    """Of each text argument, up to four, a word that no other one has, with each mark. A backslash may mean something to the
    format of a file (JSON), so a word that stands in one gets none."""
    alone = {g.bound[i][1][0]: i for i in texts if len(g.bound[i][1]) == 1 and isinstance(g.args[g.bound[i][1][0]], str)}
    written = b"\n".join(e.content for e in g.base.values()).decode("utf-8", "replace").lower()
    return [
        (i, how)
        for i in [*alone.values()][:4]
        for how, mark in enumerate(MARKS)
        if "\\" not in mark or g.bound[i][0].lower() not in written
    ]


def _made_already(g: Grammar) -> list[Plan]:
    """Plans in which a directory or a file that the trace makes is there before; empty files first, for those are often touched
    and not written."""
    made = [g.expectation.tree[p] for p in g.made]
    out = []
    for kind, most in (("dir", 1), ("file", 3)):
        of_kind = [i for i, entry in enumerate(made) if entry.type == kind]
        out += [Plan(before=(i,)) for i in sorted(of_kind, key=lambda i: len(made[i].content))[:most]]
    return out


def _unlike(g: Grammar) -> list[Plan]:
    """Plans with what recordings seldom have, of each kind for a few files: namesakes, names of another build, other numbers and
    cases."""
    out = [Plan(odd=((i, kind),)) for i in _peopled(g) for kind in range(KINDS, 2 * KINDS)]
    hows = (*range(HIDDEN_ITEM), SAID_WITHIN)
    out += [Plan(shaped=((i, how),)) for i in range(len(g.files)) for how in hows][: 2 * len(hows)]
    contents = range(len(g.contents))[:3]
    out += [Plan(edits=((i, how),)) for i in contents for how in (BLANK, BARE, PADDED)]
    return out + [Plan(edits=((i, how),), salt=n) for i in contents for how in (NUMBERS, CASES) for n in range(2)]


def _peopled(g: Grammar) -> list[int]:
    """Two directories with files that no argument names."""
    return [i for i, d in enumerate(g.directories) if any(p.rpartition("/")[0] == d for p in g.files)][:2]


def unheld(g: Grammar) -> list[Plan]:
    """Plans with what ``held`` may take away: unended last lines, older results, links and hidden files as namesakes."""
    out = [Plan(edits=((i, UNENDED),)) for i in range(len(g.contents)) if g.base[g.contents[i]].content.endswith(b"\n")][:3]
    for kind, most in (("dir", 2), ("file", 1)):
        out += [Plan(stale=(i,)) for i in [i for i, p in enumerate(g.made) if g.expectation.tree[p].type == kind][:most]]
    return out + [Plan(odd=((i, kind + KINDS),)) for i in _peopled(g) for kind in (LINK, HIDDEN)]


def strange(plan: Plan) -> bool:
    """Whether a plan adds what no recording has: judged only where the commands take no notice of it. Sloppy commands (``grep
    .xml$``) say nothing of a careful skill."""
    return plan != without_strange(plan)


def without_strange(plan: Plan) -> Plan:
    """The plan without unusual bystanders, near misses, hidden items and what is made already."""
    shaped = tuple((i, how) for i, how in plan.shaped if how != HIDDEN_ITEM)
    edits = tuple((i, how) for i, how in plan.edits if how not in STRANGE)
    return replace(plan, odd=(), decoys=(), before=(), shaped=shaped, edits=edits)


def has_hidden_item(plan: Plan) -> bool:
    return any(how == HIDDEN_ITEM for _, how in plan.shaped)


def bare(g: Grammar, plan: Plan) -> bool:
    """Whether a plan leaves nothing where the recordings have something: what is right there no recording says."""
    return any(how == EMPTY for _, how in plan.edits) or (len(plan.drops) == len(g.files) > 0)


def held(gs: Sequence[Grammar], g: Grammar, plan: Plan) -> Plan:
    """The plan without what says nothing of a skill, not even by the harm it does: results that are there before, last lines
    without their end, and namesakes that are links or hidden where no recording has such. Careful skills treat those in more
    than one way."""
    unsaid = {kind + KINDS for kind in (LINK, HIDDEN) if not any(_has_namesake(x.base, kind) for x in gs)}
    odd = tuple((d, kind) for d, kind in plan.odd if kind not in unsaid)
    return replace(plan, stale=(), odd=odd, edits=tuple((i, how) for i, how in plan.edits if how != UNENDED))


def _has_namesake(base: Snapshot, kind: int) -> bool:
    """Whether a base has a link or a hidden file that ends as a plain file beside it does."""

    def name(path: str) -> tuple[str, str]:
        where, _, last = path.rpartition("/")
        return where, last[last.rfind(".") :] if "." in last[1:] else ""

    hidden = {p for p in base if p != ROOT and p.rpartition("/")[2].startswith(".")}
    odd = {p for p, e in base.items() if e.type == "symlink"} if kind == LINK else hidden
    plain = {name(p) for p, e in base.items() if e.type == "file" and p not in odd}
    return any(name(p)[1] and name(p) in plain for p in odd)


def usual(gs: Sequence[Grammar], g: Grammar, plan: Plan) -> Plan:
    """The plan without what no recording speaks of: nothing left of what they have, links where none has one, something of what
    they make there before. Then only harm counts."""
    linked = any(e.type == "symlink" for x in gs for e in x.base.values())
    return replace(
        plan,
        edits=tuple((i, how) for i, how in plan.edits if how != EMPTY),
        drops=plan.drops if len(plan.drops) < len(g.files) else (),
        before=(),
        odd=tuple((d, kind) for d, kind in plan.odd if linked or kind % KINDS != LINK),
    )
