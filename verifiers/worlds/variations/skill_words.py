"""Words and texts of the skill's own, where it may treat them specially."""

from __future__ import annotations

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import below
from verifiers.worlds.records import encoded, takes_lines
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text, tokens
from verifiers.worlds.variation import Example, Rule, Stage, Step, Turns, Variation, pairs
from verifiers.worlds.variations.rename import texts

MOST_VOICED, MOST_SPOKEN, MOST_TOLD = 10, 4, 12


def say(draft: Draft, token: str, word: str) -> None:
    draft.renames[token] = word


def voiced(g: Grammar) -> list[tuple[Step, ...]]:
    """Each word once in each argument."""
    words, found = g.constants.words, texts(g)
    turns = range(len(words))[:MOST_VOICED] if found else ()
    return [tuple(Step("skill-word-in-value", (t, words[(n + k) % len(words)])) for k, t in enumerate(found)) for n in turns]


def foreign(g: Grammar) -> list[str]:
    """Words of the skill that neither the commands nor the start have, in whatever case: two words that become one mean another
    thing."""
    known = set(tokens((g.template.literal_text() + all_text(g.base)).lower()))
    return [w for w in g.constants.words if w.lower() not in known]


def spoken(g: Grammar) -> list[tuple[Step, ...]]:
    """As many words at once as there is room for."""
    room, words = len(g.free_words), foreign(g)
    starts = range(0, len(words), room)[:MOST_SPOKEN] if room else ()
    return [tuple(Step("skill-word-in-content", pair) for pair in zip(g.free_words, words[n:], strict=False)) for n in starts]


def told(g: Grammar) -> list[str]:
    """Texts of the skill that neither the commands nor the start have."""
    known = g.template.literal_text() + all_text(g.base)
    return [t for t in g.constants.texts if t not in known][:MOST_TOLD]


def tell(draft: Draft, path: str) -> None:
    """At the end of a file, each text on a line of its own, as it is and with more behind it. No line is all that an argument
    says, unless one is before or after a recording."""
    content = draft.content(path)
    if not content.endswith(b"\n") or not takes_lines(content):
        return
    said = set() if _says_alone(draft.g) else set(map(as_text, draft.args.values()))
    lines = [line for t in told(draft.g) for line in (t, f"{t}x", f"x {t}") if line not in said]
    draft.edit(path, content + encoded("".join(f"{line}\n" for line in lines)))


def _says_alone(g: Grammar) -> bool:
    contents = (e.content for tree in (g.base, g.expectation.tree) for e in tree.values())
    said = {encoded(as_text(v)) for v in g.args.values()}
    return not said.isdisjoint(line for content in contents for line in content.split(b"\n"))


def call(draft: Draft, path: str) -> None:
    """More files like one, each called as a text of the skill is, or with that at the end or at the start of its name. None is
    hidden where that one is not: ``*`` of a shell does not name them."""
    source = draft.renamed(path)
    where, _, name = source.rpartition("/")
    dot, ending = name.rpartition(".")[1:]
    forms = ("{}", "a{}", "{}z", "a{}.z", *(["{}" + dot + ending] if dot else []))
    names = [n for t in told(draft.g) if "/" not in t for n in (f.replace("{}", t) for f in forms) if n.strip(". ")]
    names = [n for n in names if name.startswith(".") or not n.startswith(".")]
    # A name that another recording has is known from there: whether such a file belongs to the task, its folder may say.
    beside = (below(where, n) for n in names if n not in draft.g.names)
    draft.changes |= {p: draft.base[source] for p in beside if p not in draft.base}


def with_words(g: Grammar) -> list[tuple[Step, ...]]:
    """Alone, and with each word in each argument: what happens for a rare value may need a rare content too."""
    paths = [p for p in g.contents if told(g)][:2]
    alone = [(Step("skill-texts", (p,)),) for p in paths]
    return [*alone, *((*steps, Step("skill-texts", (p,))) for steps in voiced(g) for p in paths)]


VARIATIONS = (
    Variation(
        name="skill-names", why="Files are called as the skill's own texts.",
        choices=lambda g: [(p,) for p in g.files if told(g)], apply=call, rule=Rule.ITEM, turns=Turns.FIRST, alone=2,
        examples=(
            Example(("p",), {"p": ""}, {"p": "", "own.x": "", "aown.x": "", "own.xz": "", "aown.x.z": ""}, texts=("own.x",)),
            Example(("p",), {"p": ""}, {"p": "", "a.own": "", "a.own.z": ""}, texts=(".own",)),
        ),
    ),
    Variation(
        name="skill-texts", why="A file has lines of the skill's own texts.",
        choices=lambda g: [(p,) for p in g.contents if told(g)],
        apply=tell, stage=Stage.EDIT, turns=Turns.FIRST, together=with_words,
        examples=(
            Example(("a",), {"a": "1\n"}, {"a": "1\nt == 1\nt == 1x\nx t == 1\n"}, texts=("t == 1",)),
            Example(("a",), {"a": "1\n"}, {"a": "1\nownx\nx own\n"}, {"v": "own"}, "ls own", texts=("own",)),
            Example(("a",), {"a": "1\n"}, {"a": "1\nown\nownx\nx own\n"}, {"v": "own"}, "ls", {"b": "own"}, texts=("own",)),
        ),
    ),
    Variation(
        name="skill-word-in-value", why="An argument says a word of the skill's own text.",
        choices=lambda g: pairs(texts(g), g.constants.words),
        apply=say, stage=Stage.RENAME, turns=Turns.FIRST, together=voiced,
        examples=(Example(("foo", "own"), {"foo.txt": ""}, {"own.txt": ""}, {"w": "foo"}, "ls foo", words=("own",)),),
    ),
    Variation(
        name="skill-word-in-content", why="A content says a word of the skill's own text.",
        choices=lambda g: pairs(g.free_words, foreign(g)),
        apply=say, stage=Stage.RENAME, drawn=2, together=spoken, respells=True,
        examples=(Example(("some", "own"), {"a": "some words\n"}, {"a": "own words\n"}, words=("own",)),),
    ),
)  # fmt: skip
