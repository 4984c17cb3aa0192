"""What a history holds: more commits, behind all that the commands speak of, or before its latest names."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.interface import Entry
from verifiers.expectation.repositories import repository_roots
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import beyond
from verifiers.worlds.repositories import Change, below, beside, continued, has_merges, head
from verifiers.worlds.variation import Choice, Example, Rule, Said, Turns, Variation

MAX_COMMITS = 60


def tracked(g: Grammar) -> list[Choice]:
    """Each text file beside a git directory; the first of each folder first."""
    tops = [root.rpartition("/")[0] for root in repository_roots(g.base)]
    found = [(top, p) for p in g.contents for top in tops if not top or p.startswith(f"{top}/")]
    return [(top, p) for top, p in found if b"\0" not in g.base[p].content]


def _one_more_commit(draft: Draft, top: str, path: str) -> None:
    _go_on(draft, top, path, [draft.word()])


def _more_commits(draft: Draft, top: str, path: str) -> None:
    """More than the skill's numbers, two of them with one message; the names of the last commit move along."""
    words = [draft.word() for _ in range(beyond(draft.g.constants.numbers, 4, MAX_COMMITS))]
    _go_on(draft, top, path, [*words, words[0]], moved=True)


def _one_more_merge(draft: Draft, top: str, path: str) -> None:
    _go_on(draft, top, path, [draft.word()], moved=True, merged=True)


def _go_on(draft: Draft, top: str, path: str, words: Sequence[str], *, moved: bool = False, merged: bool = False) -> None:
    """The file gets a line more with each commit. Nothing where the file is not as it was committed last."""
    top, path = draft.renamed(top), draft.renamed(path)
    root = f"{top}/.git".lstrip("/")
    entry = draft.here(path)
    if entry is None or root not in draft.base:
        return
    changes: list[Change] = []
    content = entry.content
    for word in words:
        content += f"{word}\n".encode()
        changes.append(Change(path.removeprefix(f"{top}/"), content, f"{word.capitalize()} it"))
    old = below(draft.base, root)
    new = continued(old, changes, moved=moved, merged=merged)
    if new is not None:
        draft.changes |= {f"{root}/{p}": e for p, e in set(new) - set(old)}
        draft.edit_new(path, content)


def _remembered(draft: Draft, root: str) -> None:
    """Git's own record says that another branch was there once, and a commit was taken back: nothing may be taken from either
    that the commands leave."""
    root = draft.renamed(root)
    listed = below(draft.base, root)
    name = head(listed)
    taken_back = {f"{root}/{p}": e for p, e in beside(listed, f"{draft.word().capitalize()} it").items()}
    draft.changes |= {p: e for p, e in taken_back.items() if p not in draft.base}
    logs = {path: draft.base.get(path) for path in (f"{root}/logs", f"{root}/logs/HEAD")}
    if name and not any(logs.values()):
        line = f"{name} {name} Somebody <somebody@home.example> 1700000000 +0000\tcheckout: moving from {draft.word()} to main\n"
        draft.changes |= {f"{root}/logs": Entry("dir", 0o755), f"{root}/logs/HEAD": Entry("file", 0o644, line.encode())}


def merges_are_told(_: Choice, gs: Sequence[Grammar]) -> Said:
    """Whether a recorded history has one."""
    seen = any(has_merges(below(g.base, root)) for g in gs for root in repository_roots(g.base))
    return Said.ALL if seen else Said.HARM


NO_COMMIT = {"a": "x\n", ".git/HEAD": "ref: refs/heads/main\n", ".git/": "", ".git/objects/": "", ".git/refs/": ""}

VARIATIONS = (
    Variation(
        name="remembered", why="Git's own record says where a branch once was, and a commit lies there that nothing names.",
        choices=lambda g: [(root,) for root in repository_roots(g.base)], apply=_remembered, rule=Rule.BYSTANDER, alone=1,
        examples=(Example((".git",), NO_COMMIT, NO_COMMIT),),
    ),
    Variation(
        name="newer-commit", why="A repository has one commit more than was recorded.", choices=tracked, apply=_one_more_commit,
        turns=Turns.EVERY, alone=3, examples=(Example(("", "a"), NO_COMMIT, NO_COMMIT),),
    ),
    Variation(
        name="more-commits", why="A repository has many commits more, and its latest names are of the last of them.",
        choices=tracked, apply=_more_commits, turns=Turns.EVERY, alone=1, examples=(Example(("", "a"), NO_COMMIT, NO_COMMIT),),
    ),
    Variation(
        name="newer-merge", why="A repository has one merge more, and its latest names are of it.",
        choices=tracked, apply=_one_more_merge, turns=Turns.EVERY, alone=1,
        recorded=merges_are_told, never="no commit has two parents",
        examples=(Example(("", "a"), NO_COMMIT, NO_COMMIT),),
    ),
)  # fmt: skip
