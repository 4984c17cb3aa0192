"""Names and values taken apart into tokens, so that new ones of the same kind can be made from them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from random import Random

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.expectation.repositories import repository_roots
from verifiers.worlds.databases import is_database, reworded
from verifiers.worlds.repositories import below, respelled

TOKEN = re.compile(r"[^\W\d_]+|\d+")
"""A run of letters or a run of digits."""
DIGEST = re.compile(r"(?<![^\W_])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}(?![^\W_])")
"""A digest or a key: the runs of letters in it are no words."""
_WORD = re.compile(f"{DIGEST.pattern}|{TOKEN.pattern}")

_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


def tokens(text: str) -> list[str]:
    return TOKEN.findall(text)


def snapshot_tokens(tree: Snapshot) -> set[str]:
    """Every token of the paths and link targets of a tree."""
    return {t for path, e in tree.items() if path != ROOT for t in (*tokens(path), *tokens(e.target))}


DATE = re.compile(r"(?<!\d)(?:\d{4}[-/.]\d\d?(?:[-/.]\d\d?)?|\d\d?[-/.]\d\d?[-/.]\d{4}|\d\d?:\d\d(?::\d\d)?)(?!\d)")
"""A date with its year, or a time."""


_FORMS = ("%Y-%m-%d", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m", "%H:%M", "%H:%M:%S")


def is_real(date: str) -> bool:
    """Whether what is written as a date or a time is in the calendar or on the clock."""
    for form in _FORMS:
        try:
            datetime.strptime(re.sub("[/.]", "-", date), form)  # nothing is told of a zone
        except ValueError:
            continue
        return True
    return False


def later(date: str, days: int) -> str:
    """A day so many days after one that is written like ``2026-08-31`` or ``20260831``, written alike; "" for another text."""
    mark = next((c for c in date if not c.isdigit()), "")
    form = mark.join(("%Y", "%m", "%d"))
    try:
        return (datetime.strptime(date, form) + timedelta(days)).strftime(form)  # nothing is told of a zone
    except (ValueError, OverflowError):
        return ""


YES_OR_NO = re.compile(r"(?i:true|false|yes|no|on|off|enabled?|disabled?)")
"""Values of which there are two: no other word stands for one."""


def all_text(tree: Snapshot) -> str:
    """Paths, targets and contents of a tree as one text, to look for words in."""
    parts = [p for path, e in tree.items() for p in (path, e.target, e.content.decode("utf-8", "replace"))]
    return "\n".join(parts)


def fresh_words(rng: Random, taken: str, count: int) -> list[str]:
    """Lower-case words that occur nowhere in ``taken`` (in any case) and do not contain each other."""
    haystack = taken.lower()
    words: list[str] = []
    while len(words) < count:
        word = "".join(rng.choice(_SYLLABLES) for _ in range(rng.choice((2, 3)))) + rng.choice("bdgklmnprst")
        if word not in haystack and not any(word in w or w in word for w in words):
            words.append(word)
    return words


def like(old: str, word: str) -> str:
    """``word`` in the letter case of ``old``."""
    if old.isupper() and len(old) > 1:
        return word.upper()
    return word.capitalize() if old[:1].isupper() else word


def new_digits(old: str, rng: Random) -> str:
    """Digits of the same length from the same range; octal modes keep what the owner may do."""
    top = max(int(c) for c in old)
    if len(old) in (3, 4) and top <= 7:
        return old[:-2] + "".join(rng.choice(("0", "4", "5") if int(old[-3]) & 1 else ("0", "4")) for _ in range(2))
    drawn = "".join(str(rng.randint(0, max(top, 3))) for _ in old)
    kept = "0" * (len(old) - len(old.lstrip("0")))
    drawn = kept + drawn[len(kept) :] if kept and len(kept) < len(old) else drawn
    return drawn if int(drawn) else old


def substitute(text: str, renames: Mapping[str, str], *, inside: frozenset[str] = frozenset()) -> str:
    """Text with tokens renamed: as whole tokens outside digests, or for those in ``inside`` wherever the characters occur."""
    for old in sorted(inside & renames.keys(), key=len, reverse=True):
        text = text.replace(old, renames[old])
    if not any(old in text for old in renames):
        return text
    return _WORD.sub(lambda m: renames.get(m.group(), m.group()), text)


def rename_entry(entry: Entry, renames: Mapping[str, str], inside: frozenset[str]) -> Entry:
    """An entry with its link target and, where it is text or a database of texts, its content renamed."""
    target = substitute(entry.target, renames, inside=inside) if entry.target else ""
    content = reworded(entry.content, lambda text: substitute(text, renames, inside=inside))
    if is_database(content):
        return Entry(entry.type, entry.mode, content, target, entry.links)
    with contextlib.suppress(UnicodeDecodeError):
        content = substitute(content.decode("utf-8"), renames, inside=inside).encode("utf-8")
    return Entry(entry.type, entry.mode, content, target, entry.links)


def rename_tree(tree: Snapshot, renames: Mapping[str, str], inside: frozenset[str]) -> Snapshot | None:
    """The image of a tree; None where two paths fall together."""

    def spell(text: str) -> str:
        return substitute(text, renames, inside=inside)

    roots = repository_roots(tree)
    pairs = [
        (path if path == ROOT else spell(path), rename_entry(e, renames, inside))
        for path, e in tree.items()
        if not any(path == r or path.startswith(f"{r}/") for r in roots)
    ]
    for root in roots:
        folder, slash, name = root.rpartition("/")
        at = f"{spell(folder)}{slash}{name}"
        pairs += [(at, tree[root]), *((f"{at}/{p}", e) for p, e in respelled(below(tree, root), spell))]
    return Snapshot(pairs) if len({p for p, _ in pairs}) == len(pairs) else None


def components(paths: Iterable[str]) -> Iterator[str]:
    """Every path component."""
    for path in paths:
        yield from path.split("/")
