"""Groups the traces of a pattern by the shape of their working steps, and finds values for those of another shape."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from synth.embedded.antiunify import Mismatch, unify
from synth.embedded.normal import normal
from synth.embedded.steps import Work
from synth.embedded.template import Program, Template
from verifiers.shell.commands import roles
from verifiers.shell.tree import Lit, Simple, rebuilt


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
        template_of([w.program for w in works], as_written)
    except Mismatch:
        return False
    return True


def template_of(programs: Sequence[Program], as_written: bool = False) -> Template:
    """What the programs have in common. As they are written, every option of theirs is kept, and fewer of them are alike."""
    return unify(programs if as_written else [normal(p) for p in programs])


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
    words = [t for t in tokens(w.evidence.description) if re.search(r"\w", t)]
    said = [t for t in words if not elsewhere or not all(_says(text, t) for text in elsewhere)]
    other = substitute(program, {t: f"{t[: len(t) - len(t.lstrip('.'))]}q{k}" for k, t in enumerate(dict.fromkeys(said))})
    found = unify([program, other])
    return dataclasses.replace(found, values=tuple(column[:1] for column in found.values))


def _says(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w\-]){re.escape(word)}(?![\w\-])", text) is not None


def substitute(program: Program, changes: dict[str, str]) -> Program:
    """Whole tokens exchanged in the constants of words that are not syntax."""
    if not changes:
        return program
    inner = "|".join(re.escape(k) for k in sorted(changes, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w\-])(?:{inner})(?![\w\-])")
    out = _substituted(program, pattern, changes)
    assert isinstance(out, tuple)
    return out


def _substituted(node: object, pattern: re.Pattern[str], changes: dict[str, str]) -> object:
    if isinstance(node, Lit):
        return Lit(pattern.sub(lambda m: changes[m[0]], node.text))
    if isinstance(node, Simple):
        kinds = roles(node.name, node.words[1:])
        words = [w if k == "syntax" else _substituted(w, pattern, changes) for w, k in zip(node.words[1:], kinds, strict=True)]
        redirects = _substituted(node.redirects, pattern, changes)
        return dataclasses.replace(node, words=(*node.words[:1], *words), redirects=redirects)  # type: ignore[arg-type]  # untyped
    return rebuilt(node, lambda x: _substituted(x, pattern, changes))
