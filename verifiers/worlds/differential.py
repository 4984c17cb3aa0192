"""Clean starts for the differential oracle: images of a recorded base under renaming, with more or fewer items and bystanders.

``realise`` turns a ``Plan`` (the empty one is the recorded trace itself) into a workspace, the arguments and the trace's commands
for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from sandbox.interface import ROOT, Entry, JsonValue, Snapshot
from verifiers.expectation.answers import same_answer
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import Expectation
from verifiers.expectation.repositories import repository_roots
from verifiers.interface import Args
from verifiers.worlds.edits import NEAR, beyond, edited, near, near_lines
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.plans import (
    DEPTH,
    ENDING_TWICE,
    HIDDEN,
    HIDDEN_ITEM,
    IN_DIRECTORY,
    KINDS,
    MARK_TWICE,
    MAX_MANY,
    SPARE,
    Plan,
)
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import TOKEN, all_text, fresh_words, like, new_digits, rename_tree, substitute, tokens


@dataclass(frozen=True, slots=True)
class World:
    """A generated situation for the commands and for the skill."""

    task_id: str
    base: Snapshot
    args: Args
    commands: tuple[str, ...]
    varied: frozenset[str]
    """Parameters whose value differs from the recorded one."""
    stays: tuple[str, ...] = ()
    """Paths that the commands have to leave as they are: else the case says nothing."""


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
    base = _with_older(base, [substitute(g.made[i], renames, inside=g.inside) for i in plan.stale])
    shapes = [_shaped(g, base, paths[g.files[i]], how, words[-1 - n]) for n, (i, how) in enumerate(plan.shaped)]
    base = base.replace({p: e for made in shapes for p, e in made.items()})
    stays = tuple(p for made in shapes for p, e in made.items() if e.type == "dir")
    return World(g.task_id, base, args, g.template.fill(args), varied, stays)


def _renames(g: Grammar, plan: Plan, words: list[str], rng: Random) -> Mapping[str, str]:
    out: dict[str, str] = {}
    fresh = iter(words)
    for i, (token, _) in enumerate(g.bound):
        word = next(fresh)
        if i in plan.rename_bound:
            digits = new_digits(token, rng) if token.isdecimal() else f"0{rng.randint(11, 99)}{i}" if i in plan.numeric else ""
            dash = "-" if i in plan.dashed and not digits else ""
            tail = f".{word[:2].lower()}" if i in plan.dotted and not digits else ""
            out |= {t: digits or dash + like(t, word) + tail for t in (token.upper(), token.capitalize(), token.lower(), token)}
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
            named = g.contents[i] not in g.files
            content = edited(content, how, rng, g.constants.numbers, named=named, kept=_meant(g))
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
            where, _, old = source.rpartition("/")
            name = _renamed_stem(old, word + "aeiouy"[n % 6] * (1 + n // 6), g) or _numbered(old, n, g)
            if name and len(name) < 120 and _below(where, name) not in base:
                changes[_below(where, name)] = base[source]
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
        )[kind % KINDS]
        beside = [p.rpartition("/")[2] for p in paths.values() if p.rpartition("/")[0] == where and base[p].type == "file"]
        if kind >= KINDS and beside:
            like_one = rng.choice(beside)
            name = _renamed_stem(like_one, name.partition(".")[0], g) or name.partition(".")[0] + like_one[like_one.rfind(".") :]
            odd = replace(odd, target=rng.choice(beside)) if odd.type == "symlink" else odd
        changes[_below(where, f".{name}" if kind % KINDS == HIDDEN else name)] = odd
    return base.replace(changes)


def _meant(g: Grammar) -> frozenset[str]:
    """Words and numbers that arguments and the commands mention."""
    said = {*tokens(g.template.literal_text()), *(t for v in g.args.values() for t in tokens(as_text(v)))}
    return frozenset(said | {t.lower() for t in said})


def _with_older(base: Snapshot, paths: Sequence[str]) -> Snapshot:
    """An older file in the place of each path, and the directories that it needs."""
    above = {"/".join(p.split("/")[:n]) for p in paths for n in range(1, len(p.split("/")))} - set(paths)
    if any(base[p].type != "dir" for p in above if p in base):
        return base
    changes: dict[str, Entry | None] = {p: Entry("dir", 0o755) for p in sorted(above) if p not in base}
    return base.replace(changes | {p: Entry("file", 0o644, b"an older one\n") for p in paths})


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


def _subtree(base: Snapshot, top: str) -> dict[str, Entry]:
    """What lies below a directory, by path within it, if it is not too much and no repository."""
    start = f"{top}/" if top else ""
    inside = {p.removeprefix(start): e for p, e in base.items() if p != ROOT and p.startswith(start)}
    return inside if len(inside) <= MAX_MANY and not repository_roots(base) else {}


def _shaped(g: Grammar, base: Snapshot, source: str, how: int, word: str) -> dict[str, Entry]:
    """A copy of a file under a name of another build; {} where its name allows none, or the file is not there."""
    where, _, old = source.rpartition("/")
    name = _renamed_stem(old, word, g)
    if not name or source not in base:
        return {}
    stem, dot, ending = name.partition(".")
    if how == IN_DIRECTORY:
        folder = _below(where, name)
        return {folder: Entry("dir", 0o755), f"{folder}/{_renamed_stem(old, word[::-1], g)}": base[source]}
    last = name[name.rfind(".") :] if dot else ""
    mark = re.search(r"[^\w.]|_", stem)
    if how == MARK_TWICE and mark is None:
        return {}
    name = {
        ENDING_TWICE: f"{name}{last}",
        HIDDEN_ITEM: f".{name}",
        MARK_TWICE: f"{name[: mark.start()]}{mark.group()}{name[mark.start() :]}" if mark else "",
    }.get(how, f"{stem}.{word[:3]}{dot}{ending}")
    return {_below(where, name): base[source]}


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


def _numbered(name: str, n: int, g: Grammar) -> str:
    """A file name with another number in the place of its last one: ``part2`` of a series goes on to ``part11``."""
    found = [m for m in TOKEN.finditer(name) if m.group().isdecimal() and m.group().isascii()]
    if not found or found[-1].group() in {t for v in g.args.values() for t in tokens(as_text(v))}:
        return ""
    last = found[-1]
    return f"{name[: last.start()]}{str(int(last.group()) + n + 1).zfill(len(last.group()))}{name[last.end() :]}"


def _collides(g: Grammar, base: Snapshot, renames: Mapping[str, str]) -> bool:
    """Whether a path that the trace creates is there from the start."""
    made = [p for p in g.expectation.tree if p not in g.base]
    return any(substitute(p, renames, inside=g.inside) in base for p in made)
