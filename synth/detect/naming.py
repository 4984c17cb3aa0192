"""Names of patterns: a snake_case identifier from the words that the descriptions of a pattern share."""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Sequence

from synth.detect.features import Features, singular
from synth.detect.signature import STOPWORDS

MAX_WORDS = 5
MAX_LENGTH = 48
_FILLER_TEXT = """
all every each any there here under below above within inside into onto then than how many much what which whose who where
when also just only please currently current using use used make sure need want given following have has get let me them their
its one own same other another those these
"""
_FILLER = frozenset(_FILLER_TEXT.split())
_VERB_TEXT = """
add append archive back bundle calculate change check clean clear collect combine compress compute concatenate convert copy
count create cut delete dereference display download drop encode extract fetch fill filter find fix format generate group
insert install join link list locate lock lowercase merge mirror move normalise normalize pack prefix prepare prepend print
purge put read release remove rename replace report reset restore reverse rotate scaffold search set sort split strip
substitute sum summarise summarize swap sync tag tail touch transform trim truncate unpack update uppercase write show print
zip unzip backup compare check count pretty validate set
"""
_VERBS = frozenset(_VERB_TEXT.split())


def category(members: Sequence[Features]) -> str:
    """A name for the task of these traces: a verb first where the descriptions have one, then what it is done to.

    Words that most descriptions share come first; one description's own words fill up, then the commands' names. Only plain
    lower-case words are used, which no key is.
    """
    values = {w for t in members for w in t.words if w not in t.template} - _shared(members)
    texts = [[w for w in _plain(t.words) if w not in values] for t in members]
    counts = Counter(w for words in texts for w in dict.fromkeys(words))
    kept = [_plain(t.template) for t in members]
    best = max(
        texts, key=lambda words: (sum(counts[w] for w in set(words)) / (len(set(words)) + 2), -len(words), words), default=[]
    )
    words = [w for w in dict.fromkeys(best) if 2 * counts[w] >= len(texts)]
    if len(words) < 2:
        others = [*best, *(w for w, _ in counts.most_common())]
        words += [w for w in dict.fromkeys(others) if w not in words and any(w in k for k in kept)][: 3 - len(words)]
    if len(words) < 2:
        words += [n for n in dict.fromkeys(members[0].names if members else ()) if n.isalpha() and n not in words]
    verb = next((w for w, n in counts.most_common() if w in _VERBS and 2 * n >= len(texts)), None)
    verb = verb or next((w for w in (*best, *(w for w, _ in counts.most_common())) if w in _VERBS), None)
    if verb is not None:
        words = [verb, *(w for w in words if w != verb and (w not in _VERBS or counts[w] == len(texts)))]
    return _identifier(words)


def _shared(members: Sequence[Features]) -> frozenset[str]:
    """Words that all descriptions have: what is no other in any trace is no value of one."""
    first, *others = [frozenset(t.words) for t in members] or [frozenset()]
    return first.intersection(*others)


def _plain(words: Sequence[str]) -> list[str]:
    """Words that a name may have; a question for a number begins with ``count``."""
    asked = ["count"] if words[:2] == ("how", "many") else []
    return asked + [w for w in words if w not in _FILLER and w not in STOPWORDS and re.fullmatch(r"[a-z]{2,20}", w)]


def _identifier(words: Sequence[str]) -> str:
    """``words`` as a snake_case identifier of bounded length; ``task`` when nothing is left."""
    kept: list[str] = []
    for word in words[:MAX_WORDS]:
        clean = re.sub(r"[^a-z0-9]", "", word.lower())
        if clean and len("_".join([*kept, clean])) <= MAX_LENGTH:
            kept.append(clean)
    name = "_".join(kept) or "task"
    if not name[0].isalpha() or keyword.iskeyword(name) or keyword.issoftkeyword(name):
        return f"task_{name}"
    return name


def distinct(names: Sequence[str], extras: Sequence[Sequence[str]]) -> list[str]:
    """Names without repetition: a repeated one gets the first of its extra words that tells it apart, else a number."""
    used: set[str] = set()
    out: list[str] = []
    repeated = {n for n, k in Counter(names).items() if k > 1}
    for name, extra in zip(names, extras, strict=True):
        options = [name] if name not in repeated else []
        words = [w for w in dict.fromkeys(extra) if w.isalpha() and singular(w) not in name.split("_")]
        options += [f"{name}_{w}" for w in words] + [name]
        chosen = next((o for o in options if o not in used), None)
        number = 2
        while chosen is None:
            chosen = f"{name}_{number}" if f"{name}_{number}" not in used else None
            number += 1
        used.add(chosen)
        out.append(chosen)
    return out
