"""Whether commands took notice of what a generated start has and no recording: if they did, nothing says what is right. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from sandbox.interface import Entry, ReplayRecord, Snapshot
from verifiers.expectation.answers import answer_at, same_answer
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import Expectation


def unnoticed(plain: Expectation, odd: Expectation, made: bool = False) -> bool:
    """Whether two outcomes differ only in what one base has more than the other, paths or lines, and that is still there as it
    was. ``made``: that may be what the commands make where it is not there."""
    more = {p: e for p, e in odd.base.items() if p not in plain.base}
    if not same_answer(plain.answer, odd.answer) or any(odd.tree.get(p) != e for p, e in more.items()):
        return False
    tree = Snapshot({p: e for p, e in odd.tree.items() if p not in more})
    added = Counter[bytes]()
    for p, e in plain.base.items():
        added += _lines_of(odd.base.get(p)) - _lines_of(e)
    usual = Snapshot({p: e for p, e in plain.tree.items() if p not in more}) if made else plain.tree
    found = differences(usual, tree)
    return all(d.kind == "content" and added and _only_more(plain.tree[d.path], tree[d.path], added) for d in found)


def _lines_of(entry: Entry | None) -> Counter[bytes]:
    return Counter(entry.content.split(b"\n") if entry is not None else ())


def _only_more(plain: Entry, odd: Entry, added: Counter[bytes]) -> bool:
    return _lines_of(odd) == _lines_of(plain) + added


def seen(base: Snapshot, record: ReplayRecord, answer_path: str | None) -> Expectation:
    """What a run of the skill did, in the form of an expectation."""
    text = answer_at(getattr(record.outcome, "value", None), answer_path) if answer_path is not None else None
    return Expectation(base, record.post, frozenset(), text or "", True, (0,), (True,))


def alike(
    plain: Expectation, odd: Expectation, instead: Mapping[str, str], *, whole: bool = False, ordered: bool = True,
    both: bool = False,
) -> bool:  # fmt: skip
    """Whether two outcomes differ only in the given words.

    Args:
        instead: odd word -> plain word.
        whole: not where they are part of a longer word.
        both: the plain outcome may say such words in other places.
        ordered: not in the order of lines either: what is sorted by name stands elsewhere under another name.
    """
    edge = r"(?<!\w){}(?!\w)" if whole else "{}"

    def bare(text: str) -> str:
        for word in sorted(instead, key=len, reverse=True):
            text = re.sub(edge.format(re.escape(word)), lambda m: instead[m.group()], text)
        return text

    def of(entry: Entry) -> Entry:
        content = bare(entry.content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        return in_order(replace(entry, content=content, target=bare(entry.target)))

    def in_order(entry: Entry) -> Entry:
        return entry if ordered else replace(entry, content=b"\n".join(sorted(entry.content.split(b"\n"))))

    tree = {bare(path): of(entry) for path, entry in odd.tree.items()}
    usual = {path: of(entry) if both else in_order(entry) for path, entry in plain.tree.items()}
    said = bare(plain.answer) if both else plain.answer
    return not differences(usual, tree) and same_answer(said, bare(odd.answer), ordered=ordered)
