"""A request as a description of every recording's task, and the short name that says the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from synth.detect.features import singular
from synth.detect.naming import FILLER, VAGUE, VERBS

STOP = frozenset(
    """a an the of in to all any each every with from for and or on at by is are be it this that these those under into below
    here current directory folder please its their there do make sure which what how many as using use""".split()  # noqa: SIM905  (a list of words reads better as text)
)
"""Words that do not tell one task from another."""
_BEFORE = frozenset("a an the all any each every both everything my our me this these those whole entire complete".split())  # noqa: SIM905  (as above)
"""Words before what is done something to."""
_AFTER = frozenset(
    """of in to with from for and or on at by is are was under into below above over inside within as so that which who whose
    where when what how per via than then after before between through around behind without unless if listing called named here
    there out up off back often -> →""".split()  # noqa: SIM905  (as above)
)
"""Words behind it."""
NO_NOUNS = STOP | _AFTER | FILLER
"""Words that say nothing of what a thing is."""
_NO_VERBS = NO_NOUNS - {"get"}
_MOST_WORDS = 3
_PLACES = frozenset("text value name pattern prefix suffix source destination line root old new".split())  # noqa: SIM905  (as above)
"""Names of parameters that say where a value stands, and not what it is."""
_UNNAMED = frozenset({"text", "value", "name", "number", "pattern"})
_MEASURES = frozenset({"number", "amount", "count"})
"""What is asked of things: "the number of lines" is about lines."""
_THEM = frozenset({"them", "it", "those", "these"})
_THEIR = frozenset({"their", "its"})
_PATHS = frozenset({"file", "folder", "root"})
_ENDS = frozenset({"first", "last"})
_KINDS = frozenset({"file", "key"})
"""Those that most tasks have."""
_COURTESY = re.compile(
    r",? *\b(?:please|pls|plz|thx|thanks)\b[,!]?(?=[.:;)]|$)| *\b(?:please|pls|plz)\b[,!]?(?= )",
    re.IGNORECASE,
)
_TO_ME = re.compile(r"^(?:give|tell|show|send) (?:me|us)(?: all)?\b(?! (?:how|what|which|who|if|when|where)\b)", re.IGNORECASE)
_ONCE = re.compile(r"[,;]? (?:after|since|because|during) (?!each|every|all|any)([^<]*?)(?=[.!]?$)", re.IGNORECASE)
"""The end of a request that tells its occasion."""
_PLACE = re.compile(r"\b(after|before|behind|below|under|above|beneath|between|following)\b")
"""Where one request says so, ``after`` in another may be a place too."""
_PERSONAL = re.compile(r"(?:, (?:so )?| so (?:that )?| (?:before|until|because) )(?:I|we|you|he|she|they)\b[^<]*$", re.IGNORECASE)
"""The end of a request that tells what a person does besides."""
_TOLD = re.compile(r"(?:,| and| \+)(?: then| also)? (?:tell|print|show|report|say|number of|count of)\b[^<]*$", re.IGNORECASE)
"""The end of a request that asks for an answer."""


def asks(text: str) -> bool:
    """Whether it begins with what is to be done: a known verb, or another word before an article or a value."""
    words = text.lower().split()[:2]
    if len(words) < 2 or not re.fullmatch(r"[a-z]{2,}", words[0]) or words[1] in ("of", "for"):
        return False
    value = words[1].startswith("<") and not words[1].startswith(f"<{words[0]}>")
    return words[0] in VERBS or (words[0] not in _NO_VERBS and (words[1] in _BEFORE | {"up", "out", "off"} or value))


def told_words(text: str) -> set[str]:
    """Its words, the first one as the verb that it is said for."""
    words = re.findall(r"[a-z]+", text.lower())
    return {*words, *(VERBS.get(w, w) for w in words[:1])}


def timeless(text: str, elsewhere: str) -> str:
    """The text without courtesy, without whose the things are and without the occasion that one request had, where nothing
    else speaks of it."""
    text = _COURTESY.sub("", _PERSONAL.sub("", text)).strip(" ,")
    text = _TO_ME.sub("Show", re.sub(r"(?<= )(?:my|our) (?=\S)", "", _asking(text)))
    told = _ONCE.search(text)
    words = [w for w in re.findall(r"[a-z]{3,}", told[1].lower()) if w not in STOP] if told is not None else []
    if told is None or not words or _PLACE.search(elsewhere) or any(re.search(rf"\b{w[:5]}", elsewhere) for w in words):
        return text
    return text[: told.start()] + text[told.end() :]


def _asking(text: str) -> str:
    """The text from the sentence on that asks, where what stands before has no value: a subject, or how it came about."""
    for m in re.finditer(r"[.:!]+ +", text):
        if "<" in text[: m.start()] or asks(text):
            break
        if asks(text[m.end() :]):
            return text[m.end() :]
    return text


def unanswered(text: str) -> str:
    """The text without the wish for an answer at its end, for a skill that gives none."""
    return _TOLD.sub("", text)


def shared(text: str, values: Collection[str], others: Collection[str]) -> str:
    """The text without words that belong to this recording's values: they are part of one, and no other recording has them.

    Args:
        values: this recording's.
        others: what the other recordings' requests, values and commands say.
    """
    own = _pieces(values) - _pieces(others)
    words = text.split()
    out: list[str] = []
    for k, word in enumerate(words):
        bare = word.rstrip(",;:.!?)")
        if not k or word != word.lower() or singular(bare) not in own:
            out.append(word)
            continue
        ends = bare != word or word == words[-1] or words[k + 1].lower() in _AFTER
        if out[-1].lower() in ("each", "every"):
            out.append("value")
        elif ends and len(named := _without_articles(out)) > 1 and named[-1].lower() in _AFTER:
            out = named[:-1]
        elif ends:
            out.append("…")
        out[-1] += word[len(bare) :]
    return " ".join(out)


def _without_articles(words: Sequence[str]) -> list[str]:
    return list(words[:-1]) if words[-1].lower() in ("the", "a", "an", "this", "that") else list(words)


def _pieces(texts: Collection[str]) -> set[str]:
    return {singular(w.lower()) for text in texts for w in re.findall(r"[A-Za-z]{3,}", text)}


def named_beside(text: str, names: Collection[str]) -> dict[str, str]:
    """What a description calls values whose names say only where they stand, or which of several they are: ``host`` of "host
    <text>", ``ext`` of "*.<text>", ``directory_mode`` of "directories <mode2>", ``source`` of "from <folder2> to <folder>"."""
    found: dict[str, str] = {}
    if not asks(text):
        return found
    bases = {name: re.sub(r"\d+$", "", name) for name in names}
    told = [(name, "ext") for name in re.findall(r"(?<![\w>])\.<(\w+)>", text) if bases.get(name) in _UNNAMED]
    for one, other in re.findall(r"\bfrom [\"']?<(\w+)>.*?\b(?:in)?to [\"']?<(\w+)>", text):
        told += [(one, "source"), (other, "destination")] if bases.get(one) == bases.get(other) in _PATHS else []
    for word, name in re.findall(r"(?<=\s)([a-z]{3,16}):? [\"'\[]?<(\w+)>", text):
        told += _by_word(word, name, bases)
    for name, word in told:
        if word not in {*names, *found.values()}:
            found.setdefault(name, word)
    return found


def unnamed(name: str) -> bool:
    """Whether a parameter's name says nothing of what its value is."""
    return re.sub(r"\d+$", "", name) in _UNNAMED


def _by_word(word: str, name: str, bases: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The name that a noun before a value gives it."""
    base, one = bases.get(name, name), singular(word)
    twin = list(bases.values()).count(base) > 1 and name != base
    if {word, one} & (_BEFORE | _AFTER | FILLER | _PLACES | VERBS.keys()) or re.search(r"(ed|ing|ly)$", word):
        return
    another = {"old": "new", "new": "old"}.get(base)
    if word == one and word not in STOP and (base in _UNNAMED or (another and another not in bases.values())):
        yield name, word
    elif twin and (word not in STOP or word != one):
        yield name, f"{one}_{base.rpartition('_')[2]}"


def short_name(text: str, category: str = "") -> str:
    """What is done and to what, in snake_case, as a text that asks begins: ``count_lines`` of "Count the <text> lines in
    <file>"; "" where it begins otherwise, or says nothing of what it is done to that the category does not say better.
    """
    # "In the catalog <file>, set …": the place may be said first.
    behind = re.split(r"[,:] ", text, maxsplit=1)[-1]
    known = behind.split(" ")[0].lower() in VERBS
    asked = text if asks(text) else behind if known and asks(behind) else ""
    verb, *rest = asked.split() or ["show", *_answer(text, category)]
    verb, rest = _deed(_infinitive(verb.lower()), rest)
    words: list[Sequence[str]] = []
    named: list[str] = []
    for raw in rest:
        bare = raw.strip("\"'`()[].,;:!?").lower()
        begun = bool(words or named)
        if bare == "of" and words and all(w[-1] in _MEASURES for w in words):
            words = []
            continue
        if bare in ("how", "what", "which") or (begun and (bare in _AFTER or raw.startswith("("))):
            break
        named += re.findall(r"<(\w+)>", raw)
        kept = [w for w in _plain(bare) if w not in (_BEFORE | _AFTER | FILLER) - _ENDS]
        words += [kept] if kept else []
        if (words or named) and raw[-1] in ",;:.!?)":
            break
    meant = VERBS.get(verb.partition("_")[0], "?")
    whole = ["everything"] if "everything" in rest and not named[1:] else []
    said = verb in VAGUE or category.startswith(f"{meant}_")
    objects = [w for part in words[-_MOST_WORDS:] for w in part] or _roles(named, text, said=said) or whole
    return "_".join(dict.fromkeys([verb, *objects])) if objects else ""


def _infinitive(verb: str) -> str:
    """``print`` of "prints", where that is no verb itself."""
    return verb if verb in VERBS or verb.removesuffix("s") not in VERBS else verb.removesuffix("s")


def _deed(verb: str, rest: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The verb with its particle ("back up"), and what follows it; of what is found only to do something with it ("find … and
    delete them", "find … and print their sums") what is done."""
    if rest and rest[0].lower() in ("up", "out", "off"):
        return f"{verb}_{rest[0].lower()}", rest[1:]
    ends = range(len(rest) - 2) if VERBS.get(verb) == "find" else ()
    for k in ends:
        done, whose = _infinitive(rest[k + 1].lower()), rest[k + 2].lower().rstrip(".,")
        if rest[k].lower() in ("and", "then") and done in VERBS and whose in _THEM | _THEIR:
            return done, rest[:k] if whose in _THEM else rest[k + 3 :]
    return verb, rest


def _answer(text: str, category: str) -> list[str]:
    """The words of a text that names what is to be shown, where nothing else is done."""
    first = text.split(" ")[0].lower()
    plain = re.fullmatch(r"[a-z]{3,}", first) and first not in _NO_VERBS
    return text.split() if plain and category.startswith("show_") and not text.endswith("?") else []


def _plain(word: str) -> Sequence[str]:
    """The parts of a word; of a file's name without its ending, or the ending alone where the rest is a value or a pattern."""
    stem = word.rpartition("/")[2]
    if kind := re.fullmatch(r"[^*]*\*\.([a-z][a-z0-9]*)", stem):
        return [kind[1]]
    stem = stem.strip("*.").rpartition(".")[0] or stem.strip("*.")
    return stem.replace(".", "-").split("-") if re.fullmatch(r"[a-z][a-z0-9]*(?:[.\-][a-z0-9]+)*", stem) else []


def _roles(named: Sequence[str], text: str, *, said: bool) -> list[str]:
    """What the first parameter that says it is, and the file that is named for good; nothing where it is of a kind that most
    tasks have, and the task's name has ``said`` more."""
    for name in named:
        role = re.sub(r"\d+$", "", name).removeprefix("output_").removeprefix("old_").removeprefix("new_")
        if role not in _PLACES and not (said and role in _KINDS):
            place = re.search(r"\bin (?:the )?([\w./-]*\.[\w-]+)(?: file)?(?=[,;.]? |[,;.]?$)", text)
            where = _plain(place[1].lower()) if place else []
            return ["files" if role == "ext" else role, *(["in", *where] if where else [])]
    return []
