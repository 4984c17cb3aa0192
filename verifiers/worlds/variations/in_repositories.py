"""What a history holds: one commit more, behind all that the commands speak of."""

from __future__ import annotations

from verifiers.expectation.repositories import repository_roots
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.repositories import below, continued
from verifiers.worlds.variation import Choice, Example, Turns, Variation


def tracked(g: Grammar) -> list[Choice]:
    """Each text file beside a git directory; the first of each folder first."""
    tops = [root.rpartition("/")[0] for root in repository_roots(g.base)]
    found = [(top, p) for p in g.contents for top in tops if not top or p.startswith(f"{top}/")]
    return [(top, p) for top, p in found if b"\0" not in g.base[p].content]


def _one_more_commit(draft: Draft, top: str, path: str) -> None:
    """The file gets a line more, and the commit has it. Nothing where the file is not as it was committed last."""
    top, path = draft.renamed(top), draft.renamed(path)
    root = f"{top}/.git".lstrip("/")
    entry, word = draft.here(path), draft.word()
    if entry is None or root not in draft.base:
        return
    content = entry.content + f"{word}\n".encode()
    old = below(draft.base, root)
    new = continued(old, path.removeprefix(f"{top}/"), content, f"{word.capitalize()} it")
    if new is not None:
        draft.changes |= {f"{root}/{p}": e for p, e in set(new) - set(old)}
        draft.edit_new(path, content)


NO_COMMIT = {"a": "x\n", ".git/HEAD": "ref: refs/heads/main\n", ".git/": "", ".git/objects/": "", ".git/refs/": ""}

VARIATIONS = (
    Variation(
        name="newer-commit", why="A repository has one commit more than was recorded.", choices=tracked, apply=_one_more_commit,
        turns=Turns.EVERY, alone=3, examples=(Example(("", "a"), NO_COMMIT, NO_COMMIT),),
    ),
)  # fmt: skip
