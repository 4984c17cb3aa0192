"""Groups the traces of a pattern by the shape of their working steps, and finds values for those of another shape."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from synth.embedded.antiunify import Mismatch, Program, Template, unify
from synth.embedded.steps import Work
from synth.embedded.tree import For, Simple, Sub, Var, Word, literal_word


def normal(program: Program) -> Program:
    """The program with loop variables numbered, quotes forgotten and ``find`` given its root."""
    out = _normal(program, {})
    assert isinstance(out, tuple)
    return out


def _normal(node: object, names: dict[str, str]) -> object:
    if isinstance(node, For):
        inner = {**names, node.var: f"v{len(names)}"}
        words = _normal(node.words, names)
        return dataclasses.replace(node, var=inner[node.var], words=words, body=_normal(node.body, inner))  # type: ignore[arg-type]
    if isinstance(node, Var):
        args = _normal(node.args, names)
        return dataclasses.replace(node, name=names.get(node.name, node.name), args=args, quoted=True)  # type: ignore[arg-type]
    if isinstance(node, Sub):
        return dataclasses.replace(node, body=_normal(node.body, names))  # type: ignore[arg-type]
    if isinstance(node, Simple):
        words = tuple(_normal(w, names) for w in node.words)
        if node.name == "find":
            words = _with_root(words)  # type: ignore[arg-type]
        rest = {"redirects": _normal(node.redirects, names), "assigns": _normal(node.assigns, names)}
        return dataclasses.replace(node, words=words, **rest)  # type: ignore[arg-type]
    if isinstance(node, tuple):
        return tuple(_normal(x, names) for x in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        fields = {f.name: _normal(getattr(node, f.name), names) for f in dataclasses.fields(node)}
        return dataclasses.replace(node, **fields)
    return node


def _with_root(words: tuple[Word, ...]) -> tuple[Word, ...]:
    first = words[1].literal if len(words) > 1 else None
    if len(words) == 1 or (first is not None and (first.startswith("-") or first in ("(", "!"))):
        return (words[0], literal_word("."), *words[1:])
    return words


def clusters(works: Sequence[Work]) -> list[list[Work]]:
    """Works that anti-unify with each other, largest group first, earlier first among equals."""
    out: list[list[Work]] = []
    for w in works:
        for group in out:
            if fits([*group[:4], w]):
                group.append(w)
                break
        else:
            out.append([w])
    return sorted(out, key=lambda g: -len(g))


def fits(works: Sequence[Work]) -> bool:
    try:
        unify([normal(w.program) for w in works])
    except Mismatch:
        return False
    return True


def template_of(works: Sequence[Work]) -> Template:
    return unify([normal(w.program) for w in works])


# ---------------------------------------------------------------- descriptions


def description_slots(descriptions: Sequence[str]) -> list[tuple[str, ...]] | None:
    """What varies between descriptions of one form: value tuples, one value a description; None for other forms."""
    rows = [re.findall(r"[\w\-]+|\s+|.", d, re.S) for d in descriptions]
    if len({len(r) for r in rows}) != 1:
        return None
    columns = list(zip(*rows, strict=True))
    varying = [c for c in columns if len(set(c)) > 1]
    return list(dict.fromkeys(varying)) if len(varying) <= 6 else None


def matcher(description: str, values: Sequence[str]) -> re.Pattern[str] | None:
    """A pattern that reads the values out of descriptions of the same form; None where a value is not in it."""
    places = sorted({(description.find(v), v) for v in values})
    if any(at < 0 for at, _ in places) or len({v for _, v in places}) != len(places):
        return None
    text = re.escape(description)
    for k, v in enumerate(values):
        text, n = re.subn(rf"(?<!\w){re.escape(re.escape(v))}(?!\w)", lambda m, k=k: f"(?P<v{k}>.+?)", text, count=1)  # type: ignore[misc]
        if n != 1:
            return None
    return re.compile(text + r"\Z", re.S)


def read_values(pattern: re.Pattern[str], description: str, count: int) -> list[str] | None:
    m = pattern.match(description)
    return [m[f"v{k}"] for k in range(count)] if m else None


