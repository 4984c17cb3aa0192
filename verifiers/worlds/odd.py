"""Starts that differ from the recorded ones in bytes, names or modes that nothing mentions, and what must come of them. Pure."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Args
from verifiers.worlds.grammar import Grammar, in_repository
from verifiers.worlds.packed import Member, remade, with_fields
from verifiers.worlds.tokens import substitute, tokens

PLAIN = "{}qz"
FORMS = {
    "a form feed": "{}\fqz",
    "a vertical tab": "{}\vqz",
    "a file separator": "{}\x1cqz",
    "a next-line character": "{}\x85qz",
    "a line separator": "{}\u2028qz",
    "a no-break space": "{}\xa0qz",
    "an escape character": "{}\x1bqz",
    "a null byte": "{}\0qz",
    "bytes that are no UTF-8": "{}\udcff\udcfeqz",
    "decomposed letters": "{}e\u0301qz",
    "a byte order mark": "{}\ufeffqz",
    "a letter that changes with its case": "{}\u0130\u00dfqz",
    "a blank": "{} qz",
    "two blanks": "{}  qz",
    "a tab": "{}\tqz",
    "a dash": "{}-qz",
    "a dot": "{}.qz",
    "an underscore": "{}_qz",
    "a digit": "{}7qz",
    "a quote": "{}'qz",
    "a double quote": '{}"qz',
    "a backslash": "{}\\nqz",
    "a glob": "{}*qz",
    "an ampersand": "{}&qz",
    "a dollar": "{}$1${{HOME}}qz",
    "a percent sign": "{}%41%sqz",
    "braces": "{}{{0}}qz",
    "a comma": "{},qz",
    "a colon": "{}:qz",
    "an equal sign": "{}=41qz",
    "a hash": "{}#qz",
    "a slash": "{}/qz",
    "markup": "{}<b>&lt;qz",
    "many letters": "{}" + "q" * 9000,
}
"""What stands behind a word instead of nothing -> the word with it. The word itself stays in front: lines keep their order."""
AT_THE_END = {"a blank behind": "{} ", "a tab behind": "{}\t"}
AT_THE_START = {"a blank before": " {}", "a tab before": "\t{}"}
QUERIES = {"a text that goes on in a query": "{}'||'qz", "the same in double quotes": '{}"||"qz'}
"""For skills that speak SQL: put together as text, it says something else then, and nothing fails."""
_SQL = frozenset({"select", "insert", "update", "delete", "where"})
BOM = "\ufeff".encode()
MODES = {"nobody else may read": 0o600, "anybody may run": 0o755, "the group may write": 0o664}
MOST_OWN = 8
_SIGN = re.compile(r"[^\w{]")


@dataclass(frozen=True, slots=True)
class Opaque:
    """One start with odd bytes or modes, and the recorded outcome with them."""

    g: Grammar
    what: str
    expected: Expectation
    plain: Expectation | None = None
    """The same with a plain word; None for modes."""
    args: Args = field(default_factory=dict)
    """What the call says instead of the recorded arguments."""
    plain_args: Args = field(default_factory=dict)
    before: str = ""
    """What stands before the word."""
    sign: str = ""
    """What follows it first, or stands before it."""
    unprintable: bool = False
    """The bytes are no characters that people write: what they do to a new file or an answer is for a person to say."""
    marks_a_line: bool = False
    """A line begins with the sign before the word: it may be a comment or a heading by that, so the same holds."""
    around_a_line: bool = False
    """Blanks stand before a word that begins a line, or behind one that ends it: that sets the line in, or says nothing."""
    odd: bytes = b""
    """The word with what makes it odd."""
    unusual: bool = False
    """The word is none that people write, nor one of the skill's own: where only an answer differs, it is asked about."""
    form: str = ""
    """What was done to the word, whatever word it is."""

    @property
    def called(self) -> Args:
        return {**self.g.args, **self.args}


def with_bytes(g: Grammar, turn: int = 0, of: int = 1) -> Iterator[Opaque]:
    """Each form behind a word of its own, as far as there are words: those of files that the task reads or changes first; and
    behind one of those that come out, or at least of the files that the task changes or is about. Only each so-many-th form
    (``of``), from that of the ``turn`` on."""
    words = _words(g, _interesting(g))
    named = g.about()
    about = [p for p, e in g.base.items() if e in _interesting(g) and p in named]
    edited = [p for p in about if g.expectation.tree.get(p) != g.base[p]]
    told = _told(g, words) or _words(g, [g.base[p] for p in edited]) or _words(g, [g.base[p] for p in about])
    speaks = bool(_SQL & {w.lower() for w in g.constants.words})
    forms = FORMS | (QUERIES if speaks else {}) | {f"the skill's own text in {form.format('…')!r}": form for form in _own(g)}
    lines = [line for e in _interesting(g) for line in _text(e).split("\n") if line]
    heads = {w for line in lines for w in tokens(line)[:1] if line.startswith(w)}
    for n, (what, form) in list(enumerate(forms.items() if words else ()))[turn::of]:
        sign = bool(_SIGN.match(form))
        first = [w for w in words if w in heads][:1] if sign else []
        chosen = dict.fromkeys([words[n % len(words)], *(told[n % len(told)] for _ in told[:1]), *first])
        yield from (replace(_bytes(g, word, what, form), marks_a_line=sign and word in heads) for word in chosen)
    ends = [w for line in lines for w in tokens(line)[-1:] if line.endswith(w) and w in g.free_words]
    starts = [w for line in lines for w in tokens(line)[:1] if line.startswith(w) and w in g.free_words]
    around = [(word, AT_THE_END) for word in ends[:1]] + [(word, AT_THE_START) for word in starts[:1]]
    yield from (_bytes(g, word, what, form) for word, found in around for what, form in list(found.items())[turn::of])


def with_marks(g: Grammar) -> Iterator[Opaque]:
    """A byte order mark in front of a file that the task is about: it stays there, and all else is as it was."""
    x, about, found = g.expectation, g.about(), _interesting(g)
    for path, e in g.base.items():
        if e in found and e.content and path in about and path in x.tree:
            base, tree = (t.replace({path: replace(t[path], content=BOM + t[path].content)}) for t in (x.base, x.tree))
            yield Opaque(g, f"a byte order mark before {path}", replace(x, base=base, tree=tree), x)


def with_names(g: Grammar) -> Iterator[Opaque]:
    """What an argument names is called as a text of the skill's own is."""
    for p, v in sorted(g.args.items()):
        if isinstance(v, str) and v in g.base and v != ROOT and p in g.template.parameters:
            expected, plain = _called(g, v, PLAIN.format("")), {p: _beside(v, PLAIN.format(""))}
            for text in [t for t in g.constants.parts if t.strip(".")][:MOST_OWN]:
                yield Opaque(g, f"{v} called {text!r}", _called(g, v, text), expected, {p: _beside(v, text)}, plain)


def _called(g: Grammar, path: str, name: str) -> Expectation:
    """The recorded outcome where a path has another name."""
    x, new = g.expectation, _beside(path, name)

    def moved(tree: Snapshot) -> Snapshot:
        return Snapshot({new + p[len(path) :] if p == path or p.startswith(f"{path}/") else p: e for p, e in tree.items()})

    return replace(x, base=moved(x.base), tree=moved(x.tree), answer=x.answer.replace(path, new))


def _beside(path: str, name: str) -> str:
    return f"{path.rpartition('/')[0]}/{name}".lstrip("/")


def _bytes(g: Grammar, word: str, what: str, form: str) -> Opaque:
    odd = form.format("")
    expected, plain = _image(g, {word: form.format(word)}), _image(g, {word: PLAIN.format(word)})
    return Opaque(
        g,
        f"{what} at {word!r}",
        expected,
        plain,
        before=form.partition("{}")[0],
        sign="" if form in QUERIES.values() else odd[:1],
        unprintable=not odd.replace("\t", "").isprintable(),
        around_a_line=form in {*AT_THE_END.values(), *AT_THE_START.values()},
        odd=form.format(word).encode("utf-8", "surrogateescape"),
        unusual=form in {*FORMS.values(), *AT_THE_END.values(), *AT_THE_START.values()},
        form=what,
    )


def _words(g: Grammar, entries: Sequence[Entry]) -> list[str]:
    free = set(g.free_words)
    return list(dict.fromkeys(w for e in entries for w in tokens(_text(e)) if w in free))


def _told(g: Grammar, words: Sequence[str]) -> list[str]:
    """Of the words those that stand in the answer, or in what the task changes or makes."""
    x = g.expectation
    changed = [(e, x.base.get(p)) for p, e in x.tree.items() if e != x.base.get(p) and e.type == "file"]
    lines = {line for e, old in changed for line in set(_text(e).split("\n")) ^ set(_text(old).split("\n") if old else ())}
    out = set(tokens("\n".join((x.answer if x.answer_known else "", *lines))))
    return [w for w in words if w in out]


def _own(g: Grammar) -> list[str]:
    """Forms of the skill's own texts: a word may begin, end, or go on with one. What begins a recorded line by itself (``;``)
    makes a remark of what stands behind it."""
    lines = {line.split(maxsplit=1)[0] for e in g.base.values() for line in _text(e).split("\n") if line.strip()}
    known = (t for t in g.constants.parts if t not in g.template.literal_text() and not (_SIGN.match(t) and t in lines))
    texts = [t.replace("{", "{{").replace("}", "}}") for t in known]
    return [form for t in texts[:MOST_OWN] for form in (f"{t}{{}}", f"{{}}{t}", f"{{}}{t}qz")]


def _interesting(g: Grammar) -> list[Entry]:
    """Files with text, those that the task changes or an argument names first."""
    whole = g.base
    files = [(p, e) for p, e in whole.items() if e.type == "file" and b"\0" not in e.content and not in_repository(p, whole)]
    free = {p for p, e in files if g.expectation.tree.get(p) == e and p in g.files}
    return [e for p, e in sorted(files, key=lambda pair: (pair[0] in free, pair[0]))]


def _text(e: Entry) -> str:
    return e.content.decode("utf-8", "surrogateescape")


def _image(g: Grammar, words: dict[str, str]) -> Expectation:
    """The recorded outcome with other words in contents, in what is made of them, and in the answer."""
    x = g.expectation
    base = {p: e if in_repository(p, x.base) else _renamed(e, words) for p, e in x.base.items()}
    tree = {
        p if p in x.base else substitute(p, words): e if in_repository(p, x.tree) else _renamed(e, words)
        for p, e in x.tree.items()
    }
    return replace(x, base=Snapshot(base), tree=Snapshot(tree), answer=substitute(x.answer, words))


def _renamed(e: Entry, words: dict[str, str]) -> Entry:
    if e.type != "file" or b"\0" in e.content:
        return e
    old = _text(e)
    new = substitute(old, words)
    return e if new == old else replace(e, content=new.encode("utf-8", "surrogateescape"))


def with_modes(g: Grammar) -> Iterator[Opaque]:
    """Files that the task changes, moves, copies or takes out of an archive with other modes, and directories: what is edited
    keeps its own."""
    x = g.expectation
    folders = [
        p for p, e in x.base.items() if e.type == "dir" and p != ROOT and _keeps_mode(x, p) and not in_repository(p, x.base)
    ]
    if folders:
        base, tree = ({p: replace(e, mode=0o700) if p in folders else e for p, e in t.items()} for t in (x.base, x.tree))
        yield Opaque(g, "a directory that nobody else may enter", replace(x, base=Snapshot(base), tree=Snapshot(tree)))
    files = [p for p, e in x.base.items() if e.type == "file" and _keeps_mode(x, p) and not in_repository(p, x.base)]
    for what, mode in MODES.items() if files else ():
        base = {p: replace(e, mode=mode) if p in files else e for p, e in x.base.items()}
        tree = {p: replace(e, mode=mode) if p in files else e for p, e in x.tree.items()}
        yield Opaque(g, f"a mode with which {what}", replace(x, base=Snapshot(base), tree=Snapshot(tree)))
    yield from _with_members(g)


def _keeps_mode(x: Expectation, path: str) -> bool:
    return path not in x.tree or x.tree[path].mode == x.base[path].mode


def _with_members(g: Grammar) -> Iterator[Opaque]:
    """Members of tar archives, of which many readers of zip archives keep no modes: what comes out may have theirs."""
    x = g.expectation
    for path, archive in x.base.items():
        modes: dict[bytes, int] = {}

        def changed(members: list[Member], modes: dict[bytes, int] = modes) -> list[Member]:
            return [_in_other_mode(m, modes) for m in members]

        packed = remade(archive.content, changed) if archive.type == "file" else archive.content
        out = {
            p: replace(e, mode=modes[e.content])
            for p, e in x.tree.items()
            if x.base.get(p) != e and e.type == "file" and e.content in modes
        }
        if out:
            entry = {path: replace(archive, content=packed)}
            kept = entry if x.tree.get(path) == archive else {}
            yield Opaque(
                g, f"members of {path} with other modes", replace(x, base=x.base.replace(entry), tree=x.tree.replace(kept | out))
            )


def _in_other_mode(member: Member, modes: dict[bytes, int]) -> Member:
    if member.kind != "file" or not isinstance(member.like, tarfile.TarInfo):
        return member
    mode = modes[member.content] = 0o644 if member.like.mode & 0o100 else 0o750
    return replace(member, like=with_fields(member.like, mode=mode))
