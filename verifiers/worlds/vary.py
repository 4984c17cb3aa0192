"""What a plan adds to a start, takes away or edits, once its names are chosen. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.expectation.repositories import repository_roots
from verifiers.interface import Args
from verifiers.worlds.edits import (
    ABOVE,
    BARE,
    BLANK,
    NEAR,
    NEAR_AFTER,
    PADDED,
    PREFIXED,
    REPEATED,
    SAID,
    SUFFIXED,
    beyond,
    edited,
    holding,
    near,
    near_lines,
    repeated,
    saying,
    with_line,
)
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
    SAID_WITHIN,
    Plan,
)
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import TOKEN, like, substitute, tokens

Changes = dict[str, Entry | None]


@dataclass(frozen=True, slots=True)
class Start:
    """A start with its new names, before anything else about it is varied."""

    g: Grammar
    base: Snapshot
    paths: Mapping[str, str]
    """Recorded path -> path on this start."""
    said: Sequence[str]
    """The words of the new arguments."""
    renames: Mapping[str, str]

    def directory(self, i: int) -> str:
        return self.paths.get(self.g.directories[i], "")


def varied(start: Start, plan: Plan, words: Sequence[str], rng: Random) -> Snapshot:
    """The start with everything that the plan says beside names. ``words``: for new names, taken in order."""
    fresh = iter(words)
    changes = _edits(start, plan, rng) | _decoys(start, plan)
    changes |= _nests(start, plan, fresh) | _copies(start, plan, fresh) | _crowds(start, plan, fresh)
    changes |= dict.fromkeys(start.paths[start.g.files[i]] for i in plan.drops)
    changes |= _bystanders(start, plan, fresh) | _oddities(start, plan, fresh, rng)
    return start.base.replace(changes)


def _edits(start: Start, plan: Plan, rng: Random) -> Changes:
    out: Changes = {}
    for i, how in plan.edits:
        path = start.paths[start.g.contents[i]]
        content = _edited(start, plan, i, how, start.base[path].content, rng)
        out[path] = Entry("file", start.base[path].mode, content)
    return out


def _edited(start: Start, plan: Plan, i: int, how: int, content: bytes, rng: Random) -> bytes:
    g = start.g
    named = g.contents[i] not in g.files
    if how in (NEAR, NEAR_AFTER):
        return near_lines(content, start.said, named=named, after=how == NEAR_AFTER, cased=plan.salt % 2 == 1)
    if how in (SUFFIXED, PREFIXED, ABOVE):
        lines = [substitute(line, start.renames, inside=g.inside) for line in g.added(g.contents[i])]
        return holding(content, lines, how)
    if how == REPEATED:
        return repeated(content, start.said)
    if how == SAID:
        return saying(content, start.said)
    if how in (BLANK, BARE, PADDED):
        return with_line(content, {BLANK: b"", BARE: b"word"}.get(how, b"  two words "))
    return edited(content, how, rng, g.constants.numbers, named=named, kept=_meant(g))


def _decoys(start: Start, plan: Plan) -> Changes:
    out: Changes = {}
    cased = plan.salt % 2 == 1
    directories = [p for p, e in start.base.items() if e.type == "dir"]
    sources = [*(start.paths[start.g.contents[i]] for i in plan.decoys), *(directories if plan.decoys else ())]
    for source in sources:
        where, _, name = source.rpartition("/")
        names = (_below(where, n) for n in near(name, start.said, cased=cased))
        out |= {p: start.base[source] for p in names if p not in start.base}
    return out


def _nests(start: Start, plan: Plan, fresh: Iterator[str]) -> Changes:
    out: Changes = {}
    for i in plan.deep:
        top = start.directory(i)
        names = [next(fresh) for _ in range(DEPTH)]
        nest = [_below(top, "/".join(names[:n])) for n in range(1, DEPTH + 1)]
        out |= {p: Entry("dir", 0o755) for p in nest} | {f"{nest[-1]}/{p}": e for p, e in _subtree(start.base, top).items()}
    return out


def _copies(start: Start, plan: Plan, fresh: Iterator[str]) -> Changes:
    out: Changes = {}
    for i, d in plan.copies:
        source = start.paths[start.g.files[i]]
        name = _renamed_stem(source.rpartition("/")[2], next(fresh), start.g)
        if name:
            out[_below(start.directory(d), name)] = start.base[source]
    return out


def _crowds(start: Start, plan: Plan, fresh: Iterator[str]) -> Changes:
    out: Changes = {}
    g = start.g
    for i in plan.many:
        source, word = start.paths[g.files[i]], next(fresh)
        where, _, old = source.rpartition("/")
        for n in range(beyond(g.constants.numbers, len(g.files) + 9, MAX_MANY)):
            name = _renamed_stem(old, word + "aeiouy"[n % 6] * (1 + n // 6), g) or _numbered(old, n, g)
            if name and len(name) < 120 and _below(where, name) not in start.base:
                out[_below(where, name)] = start.base[source]
    return out


def _bystanders(start: Start, plan: Plan, fresh: Iterator[str]) -> Changes:
    return {_below(start.directory(d), _new_name(fresh)): Entry("file", 0o640, b"a bystander\n") for d in plan.bystanders}


def _oddities(start: Start, plan: Plan, fresh: Iterator[str], rng: Random) -> Changes:
    out: Changes = {}
    for d, kind in plan.odd:
        where, name = start.directory(d), _new_name(fresh)
        odd = (
            Entry("file", 0o640, b"a bystander\n"),
            Entry("symlink", 0o777, target=f"gone.{next(fresh)}"),
            Entry("dir", 0o750),
        )[kind % KINDS]
        paths = start.paths.values()
        beside = [p.rpartition("/")[2] for p in paths if p.rpartition("/")[0] == where and start.base[p].type == "file"]
        if kind >= KINDS and beside:
            like_one = rng.choice(beside)
            word = name.partition(".")[0]
            name = _renamed_stem(like_one, word, start.g) or word + like_one[like_one.rfind(".") :]
            odd = replace(odd, target=rng.choice(beside)) if odd.type == "symlink" else odd
        out[_below(where, f".{name}" if kind % KINDS == HIDDEN else name)] = odd
    return out


def _new_name(fresh: Iterator[str]) -> str:
    return f"{next(fresh)}.{next(fresh)[:3]}"


def _meant(g: Grammar) -> frozenset[str]:
    """Words and numbers that arguments and the commands mention."""
    said = {*tokens(g.template.literal_text()), *(t for v in g.args.values() for t in tokens(as_text(v)))}
    return frozenset(said | {t.lower() for t in said})


def with_older(base: Snapshot, paths: Sequence[str]) -> Snapshot:
    """An older file in the place of each path, and the directories that it needs."""
    above = {above for p in paths for above in _parents(p)} - set(paths)
    if any(base[p].type != "dir" for p in above if p in base):
        return base
    changes: dict[str, Entry | None] = {p: Entry("dir", 0o755) for p in sorted(above) if p not in base}
    return base.replace(changes | {p: Entry("file", 0o644, b"an older one\n") for p in paths})


def with_before(g: Grammar, base: Snapshot, made: Mapping[str, str], word: str) -> Snapshot:
    """What the trace makes is there before, with the modes that it gives: an older file, or a directory with one more file.
    ``made``: path on this start -> recorded path."""
    changes: Changes = {}
    for path, recorded in made.items():
        result = g.expectation.tree
        new = {p: result[r] for p, r in zip(_parents(path), _parents(recorded), strict=False) if r in g.made}
        if result[recorded].type == "dir":
            new |= {path: result[recorded], f"{path}/{word}.{word[:3]}": Entry("file", 0o640, b"a bystander\n")}
        elif result[recorded].type == "file":
            new[path] = Entry("file", result[recorded].mode, b"an older one\n")
        changes |= {p: e for p, e in new.items() if p not in base}
    return base.replace(changes)


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def shaped(g: Grammar, base: Snapshot, args: Args, source: str, how: int, word: str) -> dict[str, Entry]:
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
    said = next((v for v in map(as_text, args.values()) if 0 < len(v) < 12 and "/" not in v and "\n" not in v), "")
    if (how == MARK_TWICE and mark is None) or (how == SAID_WITHIN and not said):
        return {}
    name = {
        ENDING_TWICE: f"{name}{last}",
        HIDDEN_ITEM: f".{name}",
        MARK_TWICE: f"{name[: mark.start()]}{mark.group()}{name[mark.start() :]}" if mark else "",
        SAID_WITHIN: f"{stem}{said}{word}{dot}{ending}",
    }.get(how, f"{stem}.{word[:3]}{dot}{ending}")
    return {_below(where, name): base[source]}


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


def _numbered(name: str, n: int, g: Grammar) -> str:
    """A file name with another number in the place of its last one: ``part2`` of a series goes on to ``part11``."""
    found = [m for m in TOKEN.finditer(name) if m.group().isdecimal() and m.group().isascii()]
    if not found or found[-1].group() in {t for v in g.args.values() for t in tokens(as_text(v))}:
        return ""
    last = found[-1]
    return f"{name[: last.start()]}{str(int(last.group()) + n + 1).zfill(len(last.group()))}{name[last.end() :]}"
