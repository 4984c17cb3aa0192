"""Grouping: traces of one task together, of different tasks apart.

Two keys. *Said*: the description's template, equal but for values (agents that were given one text go about it in many ways).
*Done*: the skeleton of the working steps, equal but for literals (people word one task in many ways). Traces that were said
alike form a group; small groups and single traces are joined by what was done. Two groups that each are large enough to be a
pattern stay apart unless most of both was done alike: a pattern that mixes two tasks is worse than two patterns of one task.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence

from synth.detect.commands import INTERPRETERS, SUBCOMMANDS
from synth.detect.features import Features

MIN_TEMPLATE_WORDS = 3
"""Shorter templates ("scaffold") say too little to be a key."""
NEAR_WORDS = 0.5
"""Jaccard similarity of templates from which groups of the same commands are one, if one template holds the other."""
CLOSE_WORDS = 0.8
"""… if neither holds the other."""
SHARED_WORDS = 0.3
"""… of groups that share half of their steps."""
SHARED_WRITTEN = 0.4
"""… of the words that were written."""
SHARED_TEXT = 0.2
"""… of whole texts that were written."""
LEAST_SIGNS = 2
MOST_TELLING = 6
"""The longest words of a read-only trace's commands, by which others like it are found."""
LEAST_SHARED = 3
"""Words that read-only commands have in common."""
_PLAIN = "cat cd cp echo find grep head ls mkdir mv printf read rename rm sed sort tail test xargs"
PLAIN = frozenset(_PLAIN.split())
"""Commands that many tasks run."""
_GENERAL = "awk chmod cut gawk jq ln sqlite3 touch tr uniq unzip wc zip"
GENERAL = SUBCOMMANDS | INTERPRETERS | frozenset(_GENERAL.split())
"""Commands that several do."""
_NEAR_COMPARED = 50


class _Union:
    """Disjoint sets over 0..n-1."""

    def __init__(self, n: int) -> None:
        self.parent = list(range(n))

    def find(self, i: int) -> int:
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def join(self, a: int, b: int) -> None:
        ra, rb = self.find(a), self.find(b)
        if ra != rb:
            self.parent[max(ra, rb)] = min(ra, rb)

    def join_by(self, keys: Iterable[tuple[int, Hashable]]) -> None:
        first: dict[Hashable, int] = {}
        for i, key in keys:
            self.join(i, first.setdefault(key, i))

    def groups(self, members: Iterable[int]) -> list[list[int]]:
        out: dict[int, list[int]] = defaultdict(list)
        for i in members:
            out[self.find(i)].append(i)
        return list(out.values())


def group(traces: Sequence[Features], enough: int = 3) -> list[list[int]]:
    """Groups of indices into ``traces``, each group and the list in order of first appearance. Failures join what they tried.

    Args:
        traces: Features, in any order.
        enough: Successes from which a group stands by itself (``min_frequency``).
    """
    union = _Union(len(traces))
    good = [i for i, t in enumerate(traces) if t.success]
    _join_said(union, traces, good)
    _join_done(union, traces, good, enough)
    _join_near(union, traces, good, enough)
    _attach_failures(union, traces, good)
    return union.groups(range(len(traces)))


def said_key(t: Features) -> Hashable | None:
    """What was asked, with the kind of answer, or of which kind a commit is; None when the template says too little."""
    if t.kind:
        return t.kind
    return (t.template, t.writes) if len(t.template) >= MIN_TEMPLATE_WORDS else None


def done_key(t: Features) -> Hashable:
    return t.kind or (t.core, t.writes)


def _join_said(union: _Union, traces: Sequence[Features], good: list[int]) -> None:
    keyed = ((i, said_key(traces[i])) for i in good)
    union.join_by((i, key) for i, key in keyed if key is not None)


def _join_done(union: _Union, traces: Sequence[Features], good: list[int], enough: int) -> None:
    """Joins groups whose dominant skeletons are equal; small groups join by any skeleton of theirs. Texts that were written from
    here on must have words in common: the skeletons have none of them."""
    keys: list[tuple[int, Hashable]] = []
    written: dict[Hashable, list[Features]] = defaultdict(list)
    for members in union.groups(good):
        counts = Counter(done_key(traces[i]) for i in members)
        small = len(members) < enough
        found = [key for key, n in counts.items() if key != ((), False) and (small or 2 * n > len(members))]
        keys += [(members[0], (key, _text(traces[members[0]], written[key]))) for key in found]
    union.join_by(keys)


def _text(t: Features, known: list[Features]) -> int:
    """The number of the known text that one is like, which it is added to where it is new; 0 where none was written."""
    if "create" not in t.deed.kinds or not any("<<" in skeleton for skeleton in t.core):
        return 0
    alike = (n for n, other in enumerate(known, 1) if similarity(t.deed.words, other.deed.words) >= SHARED_TEXT)
    number = next(alike, len(known) + 1)
    known += [t] if number > len(known) else []
    return number


def _join_near(union: _Union, traces: Sequence[Features], good: list[int], enough: int) -> None:
    """Joins what is left over, the nearest first: small groups to those that ran the same commands, share a step or did the same.
    Where only the latter speaks, all that come together must be alike, and none of them be large enough by itself."""
    groups = union.groups(good)
    buckets: dict[Hashable, list[list[int]]] = defaultdict(list)
    for members in sorted(groups, key=len, reverse=True):
        for key in _near_keys(traces[members[0]]):
            if len(buckets[key]) < _NEAR_COMPARED:
                buckets[key].append(members)
    found: list[tuple[float, int, int]] = []
    for members in groups:
        head = traces[members[0]]
        others = {other[0]: other for key in _near_keys(head) for other in buckets[key] if other is not members}
        allowed = [o for o in others.values() if min(len(members), len(o)) < enough]
        near = [(nearness(head, traces[o[0]]), -o[0]) for o in allowed]
        best, at = max(near, default=(0.0, 0))
        found += [(best, members[0], -at)] if best >= NEAR_WORDS else [(score, members[0], -o) for score, o in near if score > 0]
    together = {members[0]: [members] for members in groups}
    for score, one, other in sorted(found, key=lambda edge: (-edge[0], edge[1:])):
        a, b = union.find(one), union.find(other)
        if a == b:
            continue
        heads = [[traces[m[0]] for m in together[root]] for root in (a, b)]
        large = any(len(m) >= enough for root in (a, b) for m in together[root])
        if score >= NEAR_WORDS or (not large and all(_signs(x, y) >= LEAST_SIGNS for x in heads[0] for y in heads[1])):
            union.join(a, b)
            together[union.find(a)] = together[a] + together[b]


def _near_keys(t: Features) -> set[Hashable]:
    telling = sorted(t.constants, key=len)[-MOST_TELLING:] if not t.writes and not t.deed.kinds else []
    done = {("deed", t.deed.kinds)} if t.deed.kinds else {("says", word) for word in telling}
    return {(t.names, t.writes), *((skeleton, t.writes) for skeleton in t.core), *done}


def nearness(a: Features, b: Features) -> float:
    """How surely two traces are one task though neither said nor did quite the same; 0 = not.

    With half of the steps in common, some words in common are enough. With merely the same commands, one description must say all
    that the other says: "remove the prefix" and "remove the suffix" differ in one word.
    """
    if a.kind != b.kind or (a.effects and b.effects and a.effects != b.effects):
        return 0.0
    words = similarity(a.template, b.template)
    if 2 * similarity(a.core, b.core) >= 1 and words >= SHARED_WORDS:
        return 1 + words
    left, right = set(a.template), set(b.template)
    covered = bool(left and right) and (left <= right or right <= left)
    if a.names == b.names and words >= NEAR_WORDS and (covered or words >= CLOSE_WORDS):
        return words
    signs = _signs(a, b)
    return min(0.05 * signs + words / 2, NEAR_WORDS - 0.01) if signs >= LEAST_SIGNS else 0.0


def _signs(a: Features, b: Features) -> int:
    """How much says that two traces with other commands came to the same; two signs make other ways to do one task.

    With the same kinds of change these are files of one name (which counts twice) or ending, the same words in what was written
    (twice), one mode, a long option or a command in common (twice where few tasks run it). Of read-only ones the same words in
    their commands (twice).
    """
    if a.writes != b.writes or a.deed.kinds != b.deed.kinds:
        return 0
    if not a.deed.kinds:
        said = set(a.constants) & set(b.constants)
        return 2 * (not a.writes and len(said) >= LEAST_SHARED and similarity(a.constants, b.constants) >= NEAR_WORDS)
    signs = 2 * bool(set(a.deed.files) & set(b.deed.files)) + (a.deed.endings == b.deed.endings != ())
    signs += 2 * (similarity(a.deed.words, b.deed.words) >= SHARED_WRITTEN)
    signs += any(kind.startswith("mode") for kind in a.deed.kinds)
    shared = set(a.names) & set(b.names) - PLAIN
    signs += bool(_options(a) & _options(b)) + bool(shared) + bool(shared - GENERAL)
    return signs


def _options(t: Features) -> set[str]:
    return {word.partition("=")[0] for skeleton in t.core for word in skeleton.split() if word.startswith("--") and len(word) > 2}


def _attach_failures(union: _Union, traces: Sequence[Features], good: list[int]) -> None:
    """A failure goes to the group that was asked the same, else to the one that did the same, else stands alone."""
    said: dict[Hashable, int] = {}
    done: dict[Hashable, int] = {}
    for i in good:
        said.setdefault(traces[i].template, i)
        done.setdefault(done_key(traces[i]), i)
    for i, t in enumerate(traces):
        if t.success:
            continue
        target = said.get(t.template) if len(t.template) >= MIN_TEMPLATE_WORDS else None
        if target is None:
            target = done.get(done_key(t))
        if target is not None:
            union.join(target, i)


def similarity(a: Sequence[str], b: Sequence[str]) -> float:
    """Jaccard similarity of two templates as sets of words; 0 when both are empty."""
    left, right = set(a), set(b)
    return len(left & right) / len(left | right) if left | right else 0.0
