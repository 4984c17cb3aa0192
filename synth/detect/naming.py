"""Names of patterns: a verb and what it is done to, as the requests say it, in snake_case."""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from synth.detect.features import Features, singular
from synth.detect.signature import STOPWORDS

MOST_OBJECTS = 3
MAX_LENGTH = 48
_FILLER_TEXT = """
all every each any there here under below above within inside into onto than then how many much what which whose who whom where
when also just only please currently current using use used make sure need want given following have has had get gets let me
them their its one own same other another those these will be been being not out off up down over after before behind between
through per via without unless until while because since so that very too again already still always never once twice some such
must should would could may might rest
like new old tmp etc usr var opt srv stdin stdout called named way itself themselves both few more most less least own dont doesnt
"""
_FOREIGN_TEXT = """
der die das den dem des ein eine einen einer und oder ist sind mit von vom zum zur aus auf bei nach für über alle alles welche
wie bitte nicht noch auch le la les un une du de et ou est sont avec pour dans sur par tous toutes quel quelle el los las una es
son con para por en il lo gli di da het een van voor met
"""
FILLER = frozenset((_FILLER_TEXT + _FOREIGN_TEXT).split())
_WAYS = """
add: append insert introduce include; allow: authorize permit; apply; archive; backup: back; bring; bump: raise; calculate:
compute; change: edit modify; check: validate verify; clean: purge tidy clear prune; collect: gather; comment; compare;
compress: gzip zip; concatenate; convert: transform turn; copy: duplicate; count; create: make scaffold; cut; decode; delete:
erase; disable: deactivate; display; enable: activate; encode; export; extract; fill; filter; find: locate search; fix: repair
correct; follow; format; generate: regenerate; give; group; ignore; import; index; install; join; keep; link: symlink; list;
lock; lowercase; mark; merge: combine; mirror; move; normalise: normalize; number; pack: bundle; pin; prefix; prepare; prepend;
print; publish: deploy; put; read; refresh; release; remove: drop; rename; replace: substitute swap; report; reset; restore;
reverse; rotate; scale;
set; show: tell; sort: order; split: chunk; strip: trim; sum: total; summarise: summarize; switch; sync; tag; take: pick; tick;
truncate; unpack: unzip decompress; update; uppercase; write
"""
VERBS = {
    said: verb for verb, _, ways in (line.strip().partition(":") for line in _WAYS.split(";")) for said in (verb, *ways.split())
}
"""A verb as it may be said -> the one that stands in the name."""
VAGUE = frozenset({"bring", "change", "give", "make", "put", "take"})
"""Verbs that say less than any other one."""
_NOUNS = frozenset({"number", "list", "order", "total", "index", "report", "tag"})
"""Verbs at the beginning of a request only."""
_EFFECTS = (("target", "link"), ("mode", "set_mode"), ("content_b64", "update"), ("created", "create"), ("removed", "remove"))


def category(members: Sequence[Features]) -> str:
    """A name for the task of these traces: what most requests want done, and to what.

    Commits of one kind whose messages name no deed are called as the kind is. What recordings differ in is a value and in no
    name. Words that the commands of all recordings have as well weigh more, and stand in where the requests share too few. Only
    plain lower-case words are used, which no key is.
    """
    known = _constant(members)
    texts = [_said(t, known) for t in members]
    forms = Counter(w for words in texts for w in words)
    counts = Counter(s for words in texts for s in {singular(w) for w in words})
    verbs = Counter(filter(None, map(_verb, texts)))
    verb = min(verbs, key=lambda v: (-verbs[v], v in VAGUE), default="")
    of_history = members[0].kind.rpartition("/")[2].split("-")
    if not verb and of_history[0]:
        return _identifier([*([] if of_history[0] in VERBS else [_effect(members)]), *of_history])
    nouns = (w for w in forms if w not in VERBS or (w in _NOUNS and w != verb))
    others = list(dict.fromkeys(singular(w) for w in nouns if not (verb and w.startswith(verb))))
    objects = [s for s in others if 2 * counts[s] >= max(len(texts), 2)]
    unspoken = [w for w in known if _may_be_said(w) and w not in VERBS]
    if not objects:
        # What some request says of what all commands have, then what only the commands say, then what some request says.
        said = sorted(others, key=lambda s: -counts[s])
        objects = [*(s for s in said if s in map(singular, known)), *unspoken, *said][:1]
    spoken = {s: max((w for w in forms if singular(w) == s), key=lambda w: (forms[w], -len(w)), default=s) for s in objects}
    ordered = _ordered(set(objects), verb, texts)[:MOST_OBJECTS]
    return _identifier([verb or _effect(members), *(spoken[s] for s in ordered)])


def _verb(words: Sequence[str]) -> str:
    """What a request wants done: finding is done for something else that it names."""
    found = [VERBS[w] for i, w in enumerate(words) if w in VERBS and (w not in _NOUNS or not i)]
    return next((v for v in found if v != "find"), found[0] if found else "")


def _said(t: Features, known: Sequence[str]) -> list[str]:
    """Words of the request that a name may have: none that only this trace's commands have."""
    asked = ["count"] if t.words[:2] == ("how", "many") else []
    kept = frozenset(t.template)
    return asked + [w for w in t.words if (singular(w) in kept or w in known) and _may_be_said(w)]


def _may_be_said(word: str) -> bool:
    """Whether it is a plain word that says what is done; an adverb says how."""
    adverb = len(word) > 6 and word.endswith("ly")
    return word not in FILLER and word not in STOPWORDS and not adverb and bool(re.fullmatch(r"[a-z]{2,20}", word))


def _constant(members: Sequence[Features]) -> tuple[str, ...]:
    """Words that the literals of all traces have."""
    first, *others = [t.constants for t in members] or [()]
    return tuple(w for w in first if all(w in o for o in others))


def _ordered(objects: set[str], verb: str, texts: Sequence[Sequence[str]]) -> list[str]:
    """The objects as the request has them that names most of them: what follows its verb first."""
    best = max(texts, key=lambda words: (len(objects & {singular(w) for w in words}), -len(words), words), default=[])
    at = next((i for i, w in enumerate(best) if VERBS.get(w) == verb), -1)
    found = [singular(w) for w in (*best[at + 1 :], *best[: at + 1])]
    return [s for s in dict.fromkeys((*found, *sorted(objects))) if s in objects]


def _effect(members: Sequence[Features]) -> str:
    """What is done where no request says it."""
    if not any(t.writes for t in members):
        return "show"
    shared = set.intersection(*(set(t.effects) for t in members))
    return next((verb for kind, verb in _EFFECTS if kind in shared), "update")


def _identifier(words: Sequence[str]) -> str:
    """``words`` as a snake_case identifier of bounded length; ``task`` when nothing is left."""
    kept: list[str] = []
    for word in words:
        clean = re.sub(r"[^a-z0-9_]", "", word.lower())
        if clean and clean not in kept and len("_".join([*kept, clean])) <= MAX_LENGTH:
            kept.append(clean)
    name = "_".join(kept) or "task"
    if not name[0].isalpha() or keyword.iskeyword(name) or keyword.issoftkeyword(name):
        return f"task_{name}"
    return name


def distinct(names: Sequence[str], extras: Sequence[Sequence[str]]) -> list[str]:
    """Names without repetition: a repeated one gets the first of its extra words that tells it apart, else a number."""
    repeated = {n for n, k in Counter(names).items() if k > 1}
    out: list[str] = []
    for name, extra in zip(names, extras, strict=True):
        out.append(next(n for n in _ways(name, extra, name in repeated) if n not in out))
    return out


def _ways(name: str, extra: Sequence[str], repeated: bool) -> Iterator[str]:
    """Names for it, the best first."""
    if not repeated:
        yield name
    for word in dict.fromkeys(extra):
        if word.isalpha() and singular(word) not in map(singular, name.split("_")):
            yield f"{name}_{word}"
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1
