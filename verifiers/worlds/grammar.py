"""The grammar of one trace: what of it may be renamed, copied, dropped or varied without changing what the task is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import PurePosixPath

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.expectation.oracle import Expectation
from verifiers.expectation.repositories import repository_roots
from verifiers.interface import Args
from verifiers.worlds.constants import NO_CONSTANTS, Constants
from verifiers.worlds.records import decoded
from verifiers.worlds.repositories import below, told
from verifiers.worlds.template import Template, as_text
from verifiers.worlds.tokens import DIGEST, snapshot_tokens, tokens

MOST_ADDED = 4


@dataclass(frozen=True, slots=True)
class Grammar:
    """What one trace offers to vary."""

    task_id: str
    args: Args
    template: Template
    expectation: Expectation
    free: tuple[str, ...]
    """Tokens of names that no argument and no literal of the commands mentions."""
    free_words: tuple[str, ...]
    """The same for words of contents."""
    bound: tuple[tuple[str, tuple[str, ...]], ...]
    """Token of an argument -> the parameters that it is part of. Only parameters with holes, only tokens that no literal
    mentions."""
    inside: frozenset[str]
    """Tokens of arguments that occur in the base as parts of longer words too."""
    files: tuple[str, ...]
    """Regular files that no argument and no literal names, those nearest to the task first."""
    directories: tuple[str, ...]
    """``""`` for the workspace itself."""
    contents: tuple[str, ...] = ()
    """Regular files whose lines may vary: those that are named and those of ``files`` by turns."""
    made: tuple[str, ...] = ()
    """Paths that the trace makes, the shallowest first."""
    constants: Constants = NO_CONSTANTS
    """Of the skill that is judged: sizes to go beyond and words to try."""
    records: Mapping[str, int] = field(default_factory=dict)
    """File -> lines of a record, where that is known."""
    common: frozenset[str] = frozenset()
    """Words of contents that several recordings have: of headings and keys, say."""
    recorded: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    """Ending -> the contents that files with it have, in any recording."""
    names: frozenset[str] = frozenset()
    """What files are called in any recording, without their directories."""
    kinds: frozenset[str] = frozenset()
    """Words that several names of more than one recording have: what a file is, as ``signatures`` and ``vol`` of a backup."""
    formal: tuple[str, ...] = ()
    """Words that nothing mentions and that are not renamed with the rest, for they say what a file or a line is."""

    @property
    def base(self) -> Snapshot:
        return self.expectation.base

    def about(self) -> frozenset[str]:
        """Paths that the task changes, or that an argument or the commands name, or a folder above them."""
        said = {word.strip("/") for command in self.template.fill(self.args) for word in re.split(r"[\s'\"=;|<>()]+", command)}
        tree = self.expectation.tree
        return frozenset(p for p, e in self.base.items() if tree.get(p) != e or not said.isdisjoint({p, *_above(p)}))

    def record_lines(self, path: str) -> int:
        """How many lines of a file make one record, whole ones of which are dropped, doubled or added."""
        return self.records.get(path, 1)

    def framing(self, path: str) -> frozenset[str]:
        """The lines that every recorded file of an ending has, and most of them more than once (``---``, ``}``, ``end``): they
        begin, part or end something, so that lines among them are no records, and stand in an order that means something."""
        recorded = [Counter(decoded(c).split("\n")) for c in self.recorded.get(PurePosixPath(path).suffix, ())]
        if len(recorded) < 2:
            return frozenset()
        shared = frozenset.intersection(*map(frozenset, recorded))
        return frozenset(line for line in shared if line.strip() and sum(c[line] > 1 for c in recorded) * 2 > len(recorded))

    def added(self, path: str) -> tuple[str, ...]:
        """The first lines that the trace adds to a file which is there before and takes over whole: from an argument or from
        another file. Of a line that it puts together (``KEY=value``) one like it may be an older one, to be replaced."""
        before, after = self.base.get(path), self.expectation.tree.get(path)
        if before is None or after is None or after.type != "file" or b"\0" in after.content:
            return ()
        others = (e.content for p, e in self.base.items() if p != path and e.type == "file")
        whole = {line for content in others for line in content.split(b"\n")}
        whole |= {as_text(v).encode("utf-8", "surrogateescape") for v in self.args.values()}
        new = [line for line in after.content.split(b"\n") if line.strip() and line in whole]
        old = set(before.content.split(b"\n"))
        return tuple(line.decode("utf-8", "surrogateescape") for line in dict.fromkeys(new) if line not in old)[:MOST_ADDED]


def grammar(
    task_id: str, args: Args, template: Template, expectation: Expectation, constants: Constants = NO_CONSTANTS
) -> Grammar:
    """Reads off one trace what may vary."""
    whole = Snapshot({p: e for p, e in expectation.base.items() if p != ROOT})
    base = Snapshot({p: e for p, e in whole.items() if not in_repository(p, whole)})
    kept = Snapshot({p: e for p, e in whole.items() if in_repository(p, whole)})
    literal = template.literal_text()
    literal_tokens = set(tokens(literal))
    arg_tokens = {t for v in args.values() for t in tokens(as_text(v))}
    names = snapshot_tokens(base)
    fixed = literal_tokens | arg_tokens
    words = set(tokens(DIGEST.sub(" ", "\n".join(e.content.decode("utf-8", "replace") for e in base.values()))))
    words |= {t for root in repository_roots(kept) for t in tokens(told(below(kept, root)))}
    literal_tokens |= _of_git(kept)
    fixed |= literal_tokens
    owners = _bound(args, template, literal_tokens)
    inside = frozenset(t for t in owners if len(t) > 2 and any(t in w and t != w for w in names | words))
    fixed |= {w for w in names | words if w.lower() in {t.lower() for t in arg_tokens} or any(t in w for t in inside)}
    regular = [p for p, e in base.items() if e.type == "file"]
    regular.sort(key=lambda p: _distance(p, expectation, args))
    files = tuple(p for p in regular if not _names(p, literal, args))
    return Grammar(
        task_id,
        args,
        template,
        expectation,
        free=tuple(sorted(t for t in names - fixed if not t.isdecimal() and not _mentioned(t, literal))),
        free_words=tuple(
            sorted(t for t in words - fixed - names if len(t) > 2 and not t.isdecimal() and not _mentioned(t, literal))
        )[:40],
        bound=tuple(sorted(owners.items())),
        inside=inside,
        files=files,
        directories=("", *(p for p, e in base.items() if e.type == "dir")),
        contents=_by_turns([p for p in regular if p not in files], files),
        made=tuple(sorted(_made(whole, expectation.tree), key=lambda p: (p.count("/"), p))),
        constants=constants,
        recorded=contents_by_ending([base]),
    )


def contents_by_ending(bases: Iterable[Mapping[str, Entry]]) -> dict[str, tuple[bytes, ...]]:
    """The different contents of the files of each ending, in order."""
    found: dict[str, dict[bytes, None]] = {}
    for path, e in (item for base in bases for item in base.items() if item[1].type == "file"):
        found.setdefault(PurePosixPath(path).suffix, {})[e.content] = None
    return {ending: tuple(contents) for ending, contents in found.items() if ending}


def _above(path: str) -> set[str]:
    """The folders above a path."""
    return {path[:i] for i, c in enumerate(path) if c == "/"}


def _distance(path: str, x: Expectation, args: Args) -> tuple[int, bool]:
    """How far from the task a file is: what it changes comes first, then what an argument names, or stands in a directory that
    one names. What is written anew, with no line of what was there, comes last: nothing in it matters."""
    named = {as_text(v).strip("/") for v in args.values()}
    above = _above(path)
    before, after = x.base[path], x.tree.get(path)
    kept = after is None or bool(set(before.content.split(b"\n")) & set(after.content.split(b"\n")) - {b""})
    return (0 if kept else 2) if after != before else 1, not named & {path, *above}


def _by_turns(a: Sequence[str], b: Sequence[str]) -> tuple[str, ...]:
    return tuple(p for pair in zip_longest(a, b) for p in pair if p is not None)


def _made(base: Snapshot, tree: Snapshot) -> list[str]:
    return [p for p in tree if p not in base and p != ROOT and not in_repository(p, tree)]


def _of_git(kept: Snapshot) -> set[str]:
    """Words of git's own in its directories: names of its files but for refs, and settings."""
    own = [p for p in kept if "refs/" not in p]
    settings = [e.content.decode("utf-8", "replace") for p, e in kept.items() if p.endswith("/config")]
    return {*tokens("\n".join((*own, *settings))), "refs", "heads", "tags", "remotes"}


def in_repository(path: str, tree: Snapshot) -> bool:
    """Whether a path is a git directory or lies in one."""
    return any(path == r or path.startswith(r + "/") for r in repository_roots(tree))


def _bound(args: Args, template: Template, literal_tokens: set[str]) -> dict[str, tuple[str, ...]]:
    """Tokens of arguments that stand nowhere but in holes. One that the commands say in another case too is not free: ``*.PDF``
    becomes ``.pdf``."""
    said = {t.lower() for t in literal_tokens}
    owners: dict[str, tuple[str, ...]] = {}
    for p, v in sorted(args.items()):
        for t in tokens(as_text(v)):
            owners[t] = (*owners.get(t, ()), p)
    return {
        t: ps
        for t, ps in owners.items()
        if t.lower() not in said
        and all(p in template.parameters and isinstance(args[p], str | int) and not isinstance(args[p], bool) for p in ps)
    }


def _mentioned(token: str, literal: str) -> bool:
    return len(token) > 2 and token in literal


def _names(path: str, literal: str, args: Args) -> bool:
    """Whether an argument or a literal names the file itself. Naming a directory above it leaves the file free."""
    name = path.rpartition("/")[2]
    values = [as_text(v) for v in args.values()]
    mentioned = (len(name) > 2 or "." in name) and name in literal
    return mentioned or any(path == v.strip("/") or name in v.split("/") for v in values)
