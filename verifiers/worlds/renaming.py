"""Equivariance: renaming what nothing mentions must rename the result and change nothing else (docs/semantics.md, "Zones").

Names get hostile characters; arguments that are paths of the base are renamed along. No oracle but the skill's own run on the
recorded base is needed, so this also judges where the trace's naive commands would break.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st

from sandbox.interface import ROOT, Entry, JsonValue, Snapshot
from verifiers.context import Case, Context, Generated
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Args
from verifiers.worlds.draw import draw
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.judged import CHECK_ID, Judged
from verifiers.worlds.names import too_long
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import components, fresh_words, like, substitute, tokens

HOSTILE = {
    "space": "{} {}",
    "quote": "{}'{}",
    "double quote": '{}"{}',
    "dollar": "{}$Q;{}",
    "substitution": "{}$(touch {})",
    "backtick": "{}`{}`",
    "newline": "{}\n{}",
    "glob star": "{}*{}",
    "glob set": "{}[a-z]{}",
    "leading dash": "-{}{}",
    "semicolon": "{};{}",
    "ampersand": "{}&{}",
    "unicode": "{}é日{}",
    "decomposed letters": "{}e\u0301{}",
    "letters of compatibility": "{}\ufb01\uff21{}",
    "backslash": "{}\\{}",
    "long": "{0}{1}{0}{1}{0}{1}{0}{1}{0}{1}{0}{1}{0}{1}",
    "percent": "{}%s{}",
    "hash": "{}#{}",
}
"""Kind -> how a hostile name is made of two plain words. No slash, no NUL, no leading dot; the first word keeps the sort
order."""

FOR_ARGUMENTS = ("space", "quote", "double quote", "dollar", "semicolon", "ampersand", "unicode", "decomposed letters", "hash")
"""Without meaning as glob or regular expression: an argument may rightly be read as a pattern."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """Tokens of names -> what they become, and which kinds of hostile names are among them."""

    names: Mapping[str, str]
    control: Mapping[str, str]
    """The same with plain words that sort alike: where this already fails, the task depends on names, and nothing is judged."""
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Renamable:
    """Tokens of a trace's paths: free ones, and those that only path arguments mention."""

    free: tuple[str, ...]
    along: tuple[str, ...]


def renamable(g: Grammar) -> Renamable:
    """Reads off a trace which tokens of its names may be renamed."""
    tree = g.expectation.tree
    paths = {p for p in {*g.base, *tree} if p != ROOT}
    changed = [e.content.decode("utf-8", "replace") for p, e in tree.items() if g.base.get(p) != e]
    said = set(tokens("\n".join([*changed, g.expectation.answer])))
    values = {p: as_text(v) for p, v in g.args.items()}
    literal = "\n".join(g.template.commands)
    for v in sorted(values.values(), key=len, reverse=True):
        literal = literal.replace(v, "\0") if len(v) > 1 else literal
    along = {t for v in values.values() for t in tokens(v) if _path_token(t, values, paths)}
    spoken = set(tokens(literal)) | said
    return Renamable(
        tuple(t for t in g.free if t not in said),
        tuple(sorted(t for t in along - spoken if not t.isdecimal() and (len(t) < 3 or t not in literal))),
    )


def _path_token(token: str, values: Mapping[str, str], paths: set[str]) -> bool:
    """Whether every argument that holds the token is a path of the recorded base or result, nothing else."""
    holding = [v for v in values.values() if token in v]
    return all(v.strip("/") in paths and token in tokens(v) for v in holding)


def unsafe_characters(g: Grammar) -> frozenset[str]:
    """Characters that the trace adds to or takes from names, or that its arguments are made of besides letters: they are not
    free."""
    before = "".join(components(p for p in g.base if p not in g.expectation.tree))
    after = "".join(components(p for p in g.expectation.tree if p not in g.base))
    changed = {c for c in {*before, *after} if before.count(c) != after.count(c) and not c.isalnum()}
    spoken = {c for v in g.args.values() for c in as_text(v) if not c.isalnum() and c not in "./" and not _content(g, as_text(v))}
    blank = {" ", "\n", "\t"}
    return frozenset(changed | spoken | (blank if changed & blank else set()))


def _content(g: Grammar, value: str) -> bool:
    """Whether an argument is text of files and of no name, a line to add, say: its characters are free in names."""
    trees = (g.base, g.expectation.tree)
    if len(value) < 3 or any(value in path for tree in trees for path in tree):
        return False
    data = value.encode("utf-8", "surrogateescape")
    return any(data in e.content for tree in trees for e in tree.values())


def renamings(g: Grammar, r: Renamable) -> st.SearchStrategy[Renaming]:
    """Hostile renamings of some of the free tokens and of some that arguments name."""
    unsafe = unsafe_characters(g)
    kinds = [k for k, form in HOSTILE.items() if not set(form.replace("{", "").replace("}", "")) & unsafe]

    def some(of: tuple[str, ...], allowed: list[str], most: int) -> st.SearchStrategy[dict[str, str]]:
        if not of or not allowed:
            return st.just({})
        return st.dictionaries(st.sampled_from(of), st.sampled_from(allowed), max_size=most)

    chosen = st.tuples(some(r.free, kinds, 3), some(r.along, [k for k in FOR_ARGUMENTS if k in kinds], 2), st.integers(0, 3))
    return chosen.map(lambda t: _renaming(g, {**t[0], **t[1]}, t[2]))


def _renaming(g: Grammar, chosen: Mapping[str, str], salt: int) -> Renaming:
    rng = Random(f"rename:{g.task_id}:{salt}")
    taken = "\n".join([*g.base, *g.expectation.tree, *g.template.commands, *(as_text(v) for v in g.args.values())])
    words = iter(fresh_words(rng, taken, 2 * len(chosen) + 2))
    names, control = {}, {}
    for token, kind in sorted(chosen.items()):
        one, two = like(token, next(words)), next(words)
        names[token], control[token] = HOSTILE[kind].format(one, two), f"{one}{two}"
    return Renaming(names, control, tuple(sorted(set(chosen.values()))))


def image(tree: Snapshot, names: Mapping[str, str]) -> Snapshot | None:
    """The tree with tokens of its names and link targets renamed; None where paths fall together or a name grows too long."""
    out: dict[str, Entry] = {}
    for path, e in tree.items():
        new = path if path == ROOT else substitute(path, names)
        if new in out or too_long(new):
            return None
        out[new] = Entry(e.type, e.mode, e.content, substitute(e.target, names)) if e.type == "symlink" else e
    return Snapshot(out)


def rename_args(args: Args, names: Mapping[str, str], along: tuple[str, ...]) -> Args:
    """Arguments with the tokens renamed that only path arguments hold."""
    moved = {t: n for t, n in names.items() if t in along}

    def one(value: JsonValue) -> JsonValue:
        return substitute(value, moved) if isinstance(value, str) else value

    return {p: one(v) for p, v in args.items()}


def expected_under(x: Expectation, names: Mapping[str, str]) -> Expectation | None:
    """What a trace's outcome becomes under a renaming."""
    base, tree = image(x.base, names), image(x.tree, names)
    if base is None or tree is None:
        return None
    volatile = frozenset((substitute(p, names), k) for p, k in x.volatile)
    return replace(x, base=base, tree=tree, volatile=volatile)


def renaming(context: Context, gs: Sequence[Grammar]) -> Judged:
    """Hostile names where nothing mentions them: the result must be renamed and nothing else."""
    out = Judged()
    able = [(g, r) for g in gs if not any(g.expectation.failed) and ((r := renamable(g)).free or r.along)]
    share = -(-context.counts.renaming // len(able)) if able else 0
    trials = []
    for g, r in able:
        for n in draw(renamings(g, r), share, context.number(f"renaming {g.task_id}")):
            x = expected_under(g.expectation, n.names)
            if n.names and x is not None:
                label = f"renamed ({', '.join(n.kinds)}) (trace {g.task_id}, seed {context.seed})"
                trials.append((g, r, n, Case(label, rename_args(g.args, n.names, r.along), x, g.task_id)))
    records = context.run("renamed case", (context.request(c.base, c.args) for _, _, _, c in trials))
    out.runs = len(records)
    for (g, r, n, case), record in zip(trials, records, strict=True):
        wrong = context.judge.wrong(record, case.expectation)
        if wrong is None:
            out.passed.append(Generated(case, record, "renaming"))
        elif _control_fails(context, g, n.control, r.along):
            out.information.append(f"{case.label}: not judged, the task depends on names")
            continue
        else:
            message = f"renaming {_shown(n.names)} changes more than names: {wrong.message}"
            out.findings.append(context.finding(CHECK_ID, message, case, wrong, f"--seed {context.seed}"))
        out.judged += 1
        if out.findings:
            break
    return out


def _control_fails(context: Context, g: Grammar, names: Mapping[str, str], along: tuple[str, ...]) -> bool:
    """Whether plain names already change more than names: in the same place of the sort order, before all others, or after."""
    for plain in (names, *({t: place + n for t, n in names.items()} for place in ("AAA", "zzz"))):
        x = expected_under(g.expectation, plain)
        if x is None or image(g.base, plain) is None:
            return True
        record = context.run("renaming control", [context.request(x.base, rename_args(g.args, plain, along))])[0]
        if context.judge.wrong(record, x) is not None:
            return True
    return False


def _shown(names: object) -> str:
    pairs = names.items() if isinstance(names, dict) else ()
    return ", ".join(f"{a!r} -> {b!r}" for a, b in list(pairs)[:2])
