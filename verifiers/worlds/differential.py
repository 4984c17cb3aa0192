"""Clean starts for the differential oracle: images of a recorded base under renaming, with more or fewer items and bystanders.

Hypothesis draws a ``Plan`` (small and shrinkable: the empty plan is the recorded trace itself); ``realise`` turns it into a
workspace, the
arguments and the trace's commands for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st

from sandbox.interface import ROOT, Entry, JsonValue, Snapshot
from verifiers.expectation.answers import same_answer
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import Expectation
from verifiers.expectation.repositories import repository_roots
from verifiers.interface import Args
from verifiers.worlds.edits import EDITS, EMPTY, GROWN, NEAR, beyond, edited, near, near_lines
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import TOKEN, all_text, fresh_words, like, new_digits, rename_tree, substitute, tokens

MAX_COPIES = 3
ODDITIES = ("hidden file", "link", "empty directory")
"""Kinds of unusual bystanders."""
LINK = ODDITIES.index("link")
DEPTH = 6
MOST_VOICED = 10
SPARE = 2 * MAX_COPIES + 12 + DEPTH
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
    """(file of ``contents``): copies under names that are nearly what an argument says."""
    deep: tuple[int, ...] = ()
    """(directory): a copy of all that is in it, in it, six directories further down."""
    voiced: tuple[tuple[int, int], ...] = ()
    """(word of an argument, word of the skill's own text): the one becomes the other."""
    salt: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """A generated situation for the commands and for the skill."""

    task_id: str
    base: Snapshot
    args: Args
    commands: tuple[str, ...]
    varied: frozenset[str]
    """Parameters whose value differs from the recorded one."""


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
        edits=pairs(len(g.contents), EDITS, 2),
        many=some(len(g.files), 1),
        odd=pairs(len(g.directories), len(ODDITIES), 1),
        spoken=pairs(len(g.free_words), len(g.constants.words), 2),
        salt=st.integers(0, 3),
    )


def systematic(g: Grammar, *, first: bool = True) -> list[Plan]:
    """Plans that chance should not miss: files longer than the skill's numbers, more files than those, its own words, texts that
    look like numbers or options, what is nearly what an argument says, and a deep tree. Its words as arguments for one trace
    only: the ``first``."""
    texts = tuple(i for i, (token, _) in enumerate(g.bound) if not token.isdecimal())
    out = [Plan(rename_bound=texts, numeric=texts), Plan(rename_bound=texts, dashed=texts)] if texts else []
    out += [Plan(edits=((i, NEAR),), decoys=(i,)) for i in range(len(g.contents))][:2]
    named = {as_text(v).strip("/") for v in g.args.values()}
    out += [Plan(deep=(i,)) for i, d in enumerate(g.directories) if d in named][:1] or [Plan(deep=(0,))]
    count = len(g.constants.words) if first else 0
    out += [Plan(voiced=tuple((i, (n + k) % count) for k, i in enumerate(texts))) for n in range(count) if texts][:MOST_VOICED]
    out += [Plan(edits=((i, GROWN),)) for i in range(len(g.contents))][:3]
    out += [Plan(many=(i,)) for i in range(len(g.files))][:2]
    room, words = len(g.free_words), len(g.constants.words)
    chunks = [range(n, min(words, n + room)) for n in range(0, words, room)] if room else []
    return out + [Plan(spoken=tuple(enumerate(chunk))) for chunk in chunks[:4]]


def realise(g: Grammar, plan: Plan) -> World | None:
    """The world of a plan; None where names would fall together."""
    rng = Random(f"{g.task_id}:{plan.salt}")
    taken = all_text(g.base) + all_text(g.expectation.tree) + "\n".join(g.template.commands)
    words = fresh_words(rng, taken, len(g.bound) + len(g.free) + len(g.free_words) + SPARE)
    renames = _renames(g, plan, words, rng)
    args = {p: _new_value(v, renames) for p, v in g.args.items()}
    base: Snapshot | None = Snapshot({p: e for p, e in g.base.items() if p != ROOT})
    base = rename_tree(base, renames, g.inside) if base is not None else None
    if base is None:
        return None
    paths = {p: substitute(p, renames, inside=g.inside) for p in g.base if p != ROOT}
    said = sorted({t for v in args.values() if isinstance(v, str) for t in tokens(v) if t.isalpha() and len(t) > 1})
    base = _vary(g, plan, base, paths, words[-SPARE:], rng, said)
    varied = frozenset(p for p, v in args.items() if as_text(v) != as_text(g.args[p]))
    if varied - g.template.parameters or _collides(g, base, renames):
        return None
    return World(g.task_id, base, args, g.template.fill(args), varied)


def _renames(g: Grammar, plan: Plan, words: list[str], rng: Random) -> Mapping[str, str]:
    out: dict[str, str] = {}
    fresh = iter(words)
    for i, (token, _) in enumerate(g.bound):
        word = next(fresh)
        if i in plan.rename_bound:
            digits = new_digits(token, rng) if token.isdecimal() else f"0{rng.randint(11, 99)}{i}" if i in plan.numeric else ""
            dash = "-" if i in plan.dashed and not digits else ""
            out |= {t: digits or dash + like(t, word) for t in (token.upper(), token.capitalize(), token.lower(), token)}
    for i, token in enumerate(g.free):
        word = next(fresh)
        if i in plan.rename_free:
            out[token] = like(token, word)
    for i, token in enumerate(g.free_words):
        word = next(fresh)
        if i in plan.rename_words:
            out[token] = like(token, word)
    for i, j in plan.voiced:
        out[g.bound[i][0]] = g.constants.words[j]
    for i, j in plan.spoken:
        out[g.free_words[i]] = g.constants.words[j]
    return out


def _new_value(value: JsonValue, renames: Mapping[str, str]) -> JsonValue:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    text = substitute(as_text(value), renames)
    return int(text) if isinstance(value, int) else text


def _vary(
    g: Grammar, plan: Plan, base: Snapshot, paths: Mapping[str, str], words: list[str], rng: Random, said: Sequence[str]
) -> Snapshot:
    """The base with everything but the renaming done. ``said``: the words of the new arguments."""
    changes: dict[str, Entry | None] = {}
    fresh = iter(words)
    for i, how in plan.edits:
        path = paths[g.contents[i]]
        content = base[path].content
        if how == NEAR:
            content = near_lines(content, said, named=g.contents[i] not in g.files)
        else:
            content = edited(content, how, rng, g.constants.numbers, named=g.contents[i] not in g.files)
        changes[path] = Entry("file", base[path].mode, content)
    for i in plan.decoys:
        source = paths[g.contents[i]]
        where, _, name = source.rpartition("/")
        changes |= {_below(where, n): base[source] for n in near(name, said) if _below(where, n) not in base}
    for i in plan.deep:
        top = paths.get(g.directories[i], "")
        names = [next(fresh) for _ in range(DEPTH)]
        nest = [_below(top, "/".join(names[:n])) for n in range(1, DEPTH + 1)]
        changes |= {p: Entry("dir", 0o755) for p in nest} | {f"{nest[-1]}/{p}": e for p, e in _subtree(base, top).items()}
    for i, d in plan.copies:
        source = paths[g.files[i]]
        name = _renamed_stem(source.rpartition("/")[2], next(fresh), g)
        if name:
            changes[_below(paths.get(g.directories[d], ""), name)] = base[source]
    for i in plan.many:
        source, word = paths[g.files[i]], next(fresh)
        for n in range(beyond(g.constants.numbers, len(g.files) + 9, MAX_MANY)):
            name = _renamed_stem(source.rpartition("/")[2], word + "aeiouy"[n % 6] * (1 + n // 6), g)
            if name and len(name) < 120:
                changes[_below(source.rpartition("/")[0], name)] = base[source]
    for i in plan.drops:
        changes[paths[g.files[i]]] = None
    for d in plan.bystanders:
        changes[_below(paths.get(g.directories[d], ""), f"{next(fresh)}.{next(fresh)[:3]}")] = Entry(
            "file", 0o640, b"a bystander\n"
        )
    for d, kind in plan.odd:
        where, name = paths.get(g.directories[d], ""), f"{next(fresh)}.{next(fresh)[:3]}"
        odd = (
            Entry("file", 0o640, b"a bystander\n"),
            Entry("symlink", 0o777, target=f"gone.{next(fresh)}"),
            Entry("dir", 0o750),
        )[kind]
        changes[_below(where, f".{name}" if kind == 0 else name)] = odd
    return base.replace(changes)


def strange(plan: Plan) -> bool:
    """Whether a plan adds what no recording has: judged only where the commands take no notice of it. Sloppy commands (``grep
    .xml$``) say nothing of a careful skill."""
    return plan != without_strange(plan)


def without_strange(plan: Plan) -> Plan:
    """The plan without unusual bystanders and near misses."""
    return replace(plan, odd=(), decoys=(), edits=tuple((i, how) for i, how in plan.edits if how != NEAR))


def unnoticed(plain: Expectation, odd: Expectation) -> bool:
    """Whether two outcomes differ only in what one base has more than the other, paths or lines, and that is still there as it
    was."""
    more = {p: e for p, e in odd.base.items() if p not in plain.base}
    if not same_answer(plain.answer, odd.answer) or any(odd.tree.get(p) != e for p, e in more.items()):
        return False
    tree = Snapshot({p: e for p, e in odd.tree.items() if p not in more})
    added = Counter[bytes]()
    for p, e in plain.base.items():
        added += lines_of(odd.base.get(p)) - lines_of(e)
    found = differences(plain.tree, tree)
    return all(d.kind == "content" and added and _only_more(plain.tree[d.path], tree[d.path], added) for d in found)


def lines_of(entry: Entry | None) -> Counter[bytes]:
    return Counter(entry.content.split(b"\n") if entry is not None else ())


def _only_more(plain: Entry, odd: Entry, added: Counter[bytes]) -> bool:
    return lines_of(odd) == lines_of(plain) + added


def bare(g: Grammar, plan: Plan) -> bool:
    """Whether a plan leaves nothing where the recordings have something: what is right there no recording says."""
    return any(how == EMPTY for _, how in plan.edits) or (len(plan.drops) == len(g.files) > 0)


def usual(gs: Sequence[Grammar], g: Grammar, plan: Plan) -> Plan:
    """The plan without what no recording speaks of: nothing left of what they have, links where none of them has one."""
    linked = any(e.type == "symlink" for x in gs for e in x.base.values())
    return replace(
        plan,
        edits=tuple((i, how) for i, how in plan.edits if how != EMPTY),
        drops=plan.drops if len(plan.drops) < len(g.files) else (),
        odd=tuple((d, kind) for d, kind in plan.odd if linked or kind != LINK),
    )


def _subtree(base: Snapshot, top: str) -> dict[str, Entry]:
    """What lies below a directory, by path within it, if it is not too much and no repository."""
    start = f"{top}/" if top else ""
    inside = {p.removeprefix(start): e for p, e in base.items() if p != ROOT and p.startswith(start)}
    return inside if len(inside) <= MAX_MANY and not repository_roots(base) else {}


def _below(where: str, name: str) -> str:
    return f"{where}/{name}" if where else name


def _renamed_stem(name: str, word: str, g: Grammar) -> str:
    """A file name with its first free token replaced; "" where all of it means something."""
    arg_tokens = {t for v in g.args.values() for t in tokens(as_text(v))}
    literal = set(tokens(g.template.literal_text()))
    for m in TOKEN.finditer(name):
        if (
            m.group() not in arg_tokens | literal
            and not m.group().isdecimal()
            and m.start() < name.rfind(".") + len(name) * ("." not in name)
        ):
            return name[: m.start()] + like(m.group(), word) + name[m.end() :]
    return ""


def _collides(g: Grammar, base: Snapshot, renames: Mapping[str, str]) -> bool:
    """Whether a path that the trace creates is there from the start."""
    made = [p for p in g.expectation.tree if p not in g.base]
    return any(substitute(p, renames, inside=g.inside) in base for p in made)
