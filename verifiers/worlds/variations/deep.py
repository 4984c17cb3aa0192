"""Deep trees, and nested ones."""

from __future__ import annotations

from sandbox.interface import ROOT, Entry
from verifiers.expectation.repositories import repository_roots
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import below
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Rule, Step, Turns, Variation

DEPTH = 20
MOST_COPIED = 300


def deepen(draft: Draft, directory: str) -> None:
    """Not if that is too much, or a repository."""
    top = draft.renamed(directory)
    names = [draft.word() for _ in range(DEPTH)]
    nest = [below(top, "/".join(names[:n])) for n in range(1, DEPTH + 1)]
    start = below(top, "")
    inside = {p.removeprefix(start): e for p, e in draft.base.items() if p != ROOT and p.startswith(start)}
    draft.changes |= {p: Entry("dir", 0o755) for p in nest}
    if len(inside) <= MOST_COPIED and not repository_roots(draft.base):
        draft.changes |= {f"{nest[-1]}/{p}": e for p, e in inside.items()}


def nest(draft: Draft, directory: str) -> None:
    """One level down."""
    top = draft.renamed(directory)
    down, start = below(top, draft.word()), below(top, "")
    inside = {p.removeprefix(start): e for p, e in draft.base.items() if p != ROOT and p.startswith(start)}
    if 0 < len(inside) <= MOST_COPIED and not repository_roots(draft.base):
        draft.changes |= {down: draft.base[top]} | {f"{down}/{p}": e for p, e in inside.items()}


def holding(g: Grammar) -> list[Choice]:
    """Directories with directories in them that an argument names."""
    values = {as_text(v).strip("/") for v in g.args.values()}
    above = {d.rpartition("/")[0] for d in g.directories if d}
    return [(d,) for d in g.directories if d in above & values - {""}]


def likely(g: Grammar) -> list[tuple[Step, ...]]:
    """The first directory that an argument names, and the first of which one names a part: not where directories may be the
    items, for one of another name is none."""
    values = {as_text(v).strip("/") for v in g.args.values()}
    above = {d.rpartition("/")[0] for d in g.directories if d}
    flat = [d for d in g.directories if d and d not in above]
    named = next((d for d in flat if d in values), "")
    partly = [d for d in flat if d != named and set(d.split("/")) & values]
    return [(Step("deep", (d,)),) for d in (named, *partly[:1])]


VARIATIONS = (
    Variation(
        name="deep", why="A directory has a copy of all that is in it, many directories further down.",
        choices=lambda g: [(d,) for d in g.directories], apply=deepen, together=likely,
        examples=(Example(("",), {}, {"/".join("…" * n) + "/": "" for n in range(1, DEPTH + 1)}),),
    ),
    Variation(
        name="nested", why="A directory has a copy of all that is in it, one directory further down.",
        choices=holding, apply=nest, rule=Rule.BYSTANDER, turns=Turns.FIRST, alone=1,
        examples=(
            Example(
                ("d",), {"d/e/f": "1"}, {"d/": "", "d/e/": "", "d/e/f": "1", "d/…/": "", "d/…/e/": "", "d/…/e/f": "1"},
                {"d": "d"}, "ls d/e",
            ),
        ),
    ),
)  # fmt: skip
