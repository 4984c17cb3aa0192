"""Names that a skill has fixed and no trace varies.

Two traces that both speak of ``dict.txt`` do not say whether the task is about that file or about any. A skill that has the name
in its text may be right; nothing that was recorded tried the other reading. What that is worth a study measured: docs/score.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.interface import Snapshot
from verifiers.expectation.repositories import repository_roots
from verifiers.interface import Args, Evidence
from verifiers.shell.script import parse_script
from verifiers.worlds.constants import texts
from verifiers.worlds.tokens import snapshot_tokens, tokens


def fixed_names(source: str, traces: Sequence[tuple[Evidence, Args]]) -> tuple[str, ...]:
    """Words of the skill's texts (options left out) that in every trace stand in a command's operand and in a path of the
    workspace, and in no argument. Sorted; none without traces."""
    said = {t for text in texts(source) if not text.startswith("-") for t in tokens(text) if t.isalpha()}
    for evidence, args in traces:
        said &= _operands(evidence) & _names(evidence)
        said -= {t for value in args.values() for t in tokens(str(value))}
    return tuple(sorted(said)) if traces else ()


def _operands(evidence: Evidence) -> set[str]:
    """The words of what commands are given, without options and the names of programs."""
    words = parse_script(evidence.commands).words
    return {t for w in words if w.slot not in ("name", "option") for t in tokens(w.text)}


def _names(evidence: Evidence) -> set[str]:
    """The words of the names in the workspace, before and after, without what git calls its own files."""
    trees: Sequence[Snapshot | None] = (evidence.base, evidence.post)
    return {t for tree in trees if tree is not None for t in snapshot_tokens(_without_repositories(tree))}


def _without_repositories(tree: Snapshot) -> Snapshot:
    roots = repository_roots(tree)
    return Snapshot({p: e for p, e in tree.items() if not any(p == r or p.startswith(r + "/") for r in roots)}) if roots else tree
