"""Groups the traces of a pattern by the shape of their working steps, and finds values for those of another shape."""

from __future__ import annotations

import dataclasses
import re
import string
from collections.abc import Collection, Sequence

from synth.embedded.antiunify import Mismatch, unify
from synth.embedded.literals import arguments, in_literals
from synth.embedded.normal import normal
from synth.embedded.places import inner_name
from synth.embedded.pythoncode import NAMES
from synth.embedded.steps import Work
from synth.embedded.template import Program, Template
from verifiers.binding.other_form import said_and_done
from verifiers.shell.commands import roles
from verifiers.shell.tree import Lit, Redirect, Simple, Word, rebuilt


def clusters(works: Sequence[Work], as_written: bool = False) -> list[list[Work]]:
    """Works that anti-unify with each other, largest group first, earlier first among equals."""
    out: list[list[Work]] = []
    for w in works:
        for group in out:
            if fits([*group[:4], w], as_written):
                group.append(w)
                break
        else:
            out.append([w])
    return sorted(out, key=lambda g: -len(g))


def fits(works: Sequence[Work], as_written: bool = False) -> bool:
    try:
        template_of([w.program for w in works], as_written, [w.evidence.description for w in works])
    except Mismatch:
        return False
    return True


def template_of(programs: Sequence[Program], as_written: bool = False, requests: Sequence[str] = ()) -> Template:
    """What the programs have in common. As they are written, every option of theirs is kept, and fewer of them are alike."""
    return unify(programs if as_written else [normal(p) for p in programs], requests)


# ---------------------------------------------------------------- descriptions


_TOKEN = re.compile(r"""\"[^\"]+\"|(?<!\w)'[^']+'(?!\w)|[\w\-./*~@+]*[\w*~]|\s+|.""", re.S)


def tokens(description: str) -> list[str]:
    """Words, quoted texts (without their quotes) and single marks of a description."""
    found = _TOKEN.findall(" ".join(description.split()))
    return [t[1:-1] if len(t) > 2 and t[0] in "\"'" and t[0] == t[-1] else t for t in found]


def same_form(works: Sequence[Work], like: Work) -> list[Work]:
    """The works whose descriptions differ from one description in single words only."""
    row = tokens(like.evidence.description)
    out = []
    for w in works:
        other = tokens(w.evidence.description)
        if len(other) == len(row) and sum(a != b for a, b in zip(row, other, strict=True)) <= max(3, len(row) // 6):
            out.append(w)
    return out


def transferred(like: Work, works: Sequence[Work]) -> list[Program] | None:
    """The program of one trace with the words that its description shares with it exchanged for the other traces' ones.

    None where two values would have to be told apart that are the same here.
    """
    rows = [tokens(w.evidence.description) for w in works]
    own = tokens(like.evidence.description)
    out: list[Program] = []
    for row in rows:
        changes: dict[str, str] = {}
        for a, b in zip(own, row, strict=True):
            if a != b and changes.setdefault(a, b) != b:
                return None
        for a, b in list(changes.items()):
            changes.setdefault(a.lower(), b.lower())
        out.append(substitute(normal(like.program), changes))
    return out


def lifted(w: Work, others: Sequence[Work] = ()) -> Template:
    """One trace's program with the words that its description shares with it as holes, unless all others' commands say them."""
    program = normal(w.program)
    elsewhere = ["\n".join(o.evidence.commands) for o in others if o is not w]
    words = [t for t in (*said_and_done(w.evidence), *tokens(w.evidence.description)) if re.search(r"\w", t)]
    said = [t for t in words if not elsewhere or not all(_says(text, t) for text in elsewhere)]
    parts = {t for t in said if not _says("\n".join(w.evidence.commands), t)}
    changes = {t: _other(t, k) for k, t in enumerate(dict.fromkeys(said))}
    requests = (w.evidence.description, _pattern(changes).sub(lambda m: changes[m[0]], w.evidence.description))
    found = unify([program, substitute(program, changes, parts)], requests)
    return dataclasses.replace(found, values=tuple(column[:1] for column in found.values))


def _other(text: str, k: int) -> str:
    """A text of the same build in which every word is another one."""
    words = (f"q{k}{letter}" for letter in string.ascii_lowercase * len(text))
    return re.sub(r"\w+", lambda _: next(words), text)


def _says(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w\-]){re.escape(word)}(?![\w\-])", text) is not None


def substitute(program: Program, changes: dict[str, str], parts: Collection[str] = ()) -> Program:
    """Whole tokens exchanged in the constants of words that are not syntax, ``parts`` of them (the 2025 of ``2019-2025``) too.
    Among the code of a program only numbers are."""
    if not changes:
        return program
    out = _Substitution(_pattern(changes, parts), changes).of(program)
    assert isinstance(out, tuple)
    return out


def _pattern(words: Collection[str], parts: Collection[str] = ()) -> re.Pattern[str]:
    """Finds any of the words, the longest first, those of ``parts`` between hyphens too."""
    ends = {w: r"[^\W_]" if w in parts else r"[\w\-]" for w in sorted(words, key=len, reverse=True)}
    return re.compile("|".join(rf"(?<!{end}){re.escape(w)}(?!{end})" for w, end in ends.items()) or r"(?!)")


@dataclasses.dataclass(frozen=True, slots=True)
class _Substitution:
    pattern: re.Pattern[str]
    changes: dict[str, str]

    def of(self, node: object) -> object:
        if isinstance(node, Lit):
            return Lit(self.text(node.text))
        if not isinstance(node, Simple):
            return rebuilt(node, self.of)
        kinds = roles(node.name, node.words[1:])
        words = [self._word(node, k, kind) for k, kind in enumerate(kinds, 1)]
        redirects = tuple(self._redirect(node.name, r) for r in node.redirects)
        return dataclasses.replace(node, words=(*node.words[:1], *words), redirects=redirects)  # type: ignore[arg-type]  # untyped

    def _redirect(self, command: str, redirect: Redirect) -> object:
        if redirect.op != "<<":
            return self.of(redirect)
        return dataclasses.replace(redirect, target=self._program(command, redirect.target))

    def _word(self, node: Simple, at: int, kind: str) -> object:
        word = node.words[at]
        if kind == "syntax":
            return word
        is_program = kind == "script" or (node.name in NAMES and word not in arguments(node))
        return self._program(inner_name(node, at), word) if is_program else self.of(word)

    def _program(self, language: str, word: Word) -> Word:
        """The parts of a program one by one: a literal that a part only begins counts as code."""
        parts = [
            Lit(in_literals(language, p.text, self.text, self.number)) if isinstance(p, Lit) else self.of(p) for p in word.parts
        ]
        return Word(tuple(parts))  # type: ignore[arg-type]  # untyped

    def text(self, text: str) -> str:
        return self.pattern.sub(lambda m: self.changes[m[0]], text)

    def number(self, text: str) -> str:
        return self.pattern.sub(lambda m: self.changes[m[0]] if m[0].isdecimal() else m[0], text)
