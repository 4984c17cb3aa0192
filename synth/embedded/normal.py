"""One form for programs that mean the same: loop variables, quotes, spellings of ``find`` and ``xargs``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from synth.embedded.kinds import with_cursor
from synth.embedded.template import Program
from verifiers.shell.commands import PREDICATE_ROLES, TABLE, Spec, parse_args
from verifiers.shell.tree import CURSOR, Arith, Command, For, Pipe, Seq, Simple, Sub, Var, Verbatim, Word, literal_word, rebuilt


def normal(program: Program) -> Program:
    """The program with loop variables numbered, quotes forgotten, ``find`` given its root and no ``exit 0`` at its end."""
    out = _normal(tuple(map(_without_exit, program)), {})
    assert isinstance(out, tuple)
    return out


def _without_exit(step: Seq) -> Seq:
    last = step.items[-1] if len(step.items) > 1 and step.joins[-1] == ";" else None
    ends = isinstance(last, Simple) and last.name == "exit" and [w.literal for w in last.words[1:]] in ([], ["0"])
    return Seq(step.items[:-1], step.joins[:-1]) if ends else step


def _normal(node: object, names: dict[str, str]) -> object:
    if isinstance(node, For):
        inner = {**names, node.var: f"v{len(names)}"}
        words = _normal(node.words, names)
        return dataclasses.replace(node, var=inner[node.var], words=words, body=_normal(node.body, inner))  # type: ignore[arg-type]  # untyped
    if isinstance(node, Var):
        args = _normal(node.args, names)
        return dataclasses.replace(node, name=names.get(node.name, node.name), args=args, quoted=True)  # type: ignore[arg-type]  # untyped
    if isinstance(node, Arith):
        return Arith(re.sub(r"[A-Za-z_]\w*", lambda m: names.get(m[0], m[0]), node.text))
    if isinstance(node, Verbatim):
        return dataclasses.replace(node, text=re.sub(r"(?<=\{)([#!]?)(\w+)", lambda m: m[1] + names.get(m[2], m[2]), node.text))
    if isinstance(node, Sub):
        return dataclasses.replace(node, body=_normal(node.body, names))  # type: ignore[arg-type]  # replace() is untyped here
    if isinstance(node, Simple):
        words = detached(node.name, tuple(w for x in node.words if isinstance(w := _normal(x, names), Word)))
        if node.name == "find":
            words = _with_cursor(_ordered(_with_root(words)))
        if node.name in ("xargs", "sort"):
            plain = (_plain_xargs if node.name == "xargs" else _plain_sort)(dataclasses.replace(node, words=words))
            words = plain.words
        rest = {"redirects": _normal(node.redirects, names), "assigns": _normal(node.assigns, names)}
        return dataclasses.replace(node, words=words, **rest)  # type: ignore[arg-type]  # replace() is untyped here
    if isinstance(node, Pipe):
        node = dataclasses.replace(node, stages=tuple(map(_uncounted, node.stages, (*node.stages[1:], None))))
    return rebuilt(node, lambda x: _normal(x, names))


def _uncounted(stage: Command, after: Command | None) -> Command:
    """Lines that grep finds below a folder, without their files' names where they are only counted: a newline in a name counts
    nothing."""
    if not isinstance(stage, Simple) or not isinstance(after, Simple) or stage.name != "grep":
        return stage
    counted = [w.literal for w in after.words] == ["wc", "-l"] and not after.redirects
    options = parse_args(TABLE["grep"], stage.words[1:])
    if not counted or not options.has("-r", "-R", "--recursive") or options.has("-l", "-L", "-c", "-h"):
        return stage
    return dataclasses.replace(stage, words=(stage.words[0], literal_word("-h"), *stage.words[1:]))


def detached(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Option values as words of their own: ``-f1,3`` -> ``-f 1,3``, ``--lines=5`` -> ``--lines 5``."""
    spec = TABLE.get(name)
    if spec is None or not spec.values or name == "xargs":
        return words
    out = list(words[:1])
    for k, word in enumerate(words[1:], 1):
        if word.literal == "--":
            return (*out, *words[k:])
        valued = words[k - 1].literal in spec.values and k > 1
        option = word.literal is not None and word.literal.startswith("-") and not valued
        out += _detached(spec, word) if option else [word]
    return tuple(out)


def _detached(spec: Spec, word: Word) -> list[Word]:
    text = word.literal or ""
    name, equals, value = text.partition("=")
    if name.startswith("--"):
        return [literal_word(name), literal_word(value)] if equals and name in spec.values else [word]
    if text[1:].isdecimal() and spec.values.get("-n") == "number":
        return [literal_word("-n"), literal_word(text[1:])]
    for k in range(1, len(text)):
        if "-" + text[k] in spec.values:
            return [literal_word(text[: k + 1]), literal_word(text[k + 1 :])] if text[k + 1 :] else [word]
    return [word]


def _with_root(words: tuple[Word, ...]) -> tuple[Word, ...]:
    first = words[1].literal if len(words) > 1 else None
    if len(words) == 1 or (first is not None and (first.startswith("-") or first in ("(", "!"))):
        return (words[0], literal_word("."), *words[1:])
    return words


def _with_cursor(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """``{}`` of find's commands as a variable, so that what stands around it can be told apart."""
    return tuple(with_cursor(w, CURSOR) for w in words)


_ORDER = ("-maxdepth", "-mindepth", "-depth", "-type", "-name", "-iname")
"""Tests that may change places, in the order in which they are put."""


def _ordered(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """find's simple tests in one order, ``\\;`` as ``+`` where the command treats paths one by one, no final ``-print``."""
    texts = [w.literal or "" for w in words]
    start = next((k for k in range(1, len(texts)) if texts[k].startswith("-")), len(words))
    if any(t in ("-o", "-or", "(", "!", "-not", ",") for t in texts):
        return words
    tests: list[tuple[Word, ...]] = []
    k = start
    while (k < len(words) and texts[k] in PREDICATE_ROLES) or (k < len(words) and texts[k] in ("-empty", "-depth", "-a")):
        step = 2 if texts[k] in PREDICATE_ROLES else 1
        if texts[k] != "-a":
            tests.append(words[k : k + step])
        k += step
    tests.sort(key=lambda t: _ORDER.index(t[0].literal or "") if t[0].literal in _ORDER else len(_ORDER))
    rest = words[k:]
    if len(rest) == 1 and rest[0].literal in ("-print", "-print0"):
        rest = ()
    if rest and rest[-1].literal == ";" and _one_by_one(rest):
        rest = (*rest[:-1], literal_word("+"))
    return (*words[:start], *(w for t in tests for w in t), *rest)


def _one_by_one(rest: Sequence[Word]) -> bool:
    """One -exec whose command has the same effect on many paths at once as on each alone."""
    execs = [k for k, w in enumerate(rest) if w.literal == "-exec"]
    if execs != [0] or len(rest) < 4 or rest[-2].literal != "{}":
        return False
    name = rest[1].literal or ""
    return name in TABLE and (TABLE[name].kind == "change" or name in ("cat", "sed"))


def _plain_xargs(node: Simple) -> Simple:
    """xargs without options that only say how names are told apart."""
    words = list(node.words)
    while len(words) > 1 and words[1].literal in ("-0", "-r", "-0r", "-r0", "--null", "--no-run-if-empty"):
        del words[1]
    return dataclasses.replace(node, words=tuple(words))


def _plain_sort(node: Simple) -> Simple:
    return dataclasses.replace(node, words=tuple(w for w in node.words if w.literal not in ("-z", "--zero-terminated")))
