"""Which steps of a trace do the work, and which only look or check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.interface import ROOT, effects
from synth.embedded.template import Program
from verifiers.interface import Evidence
from verifiers.shell.effects import may_change
from verifiers.shell.parse import parse
from verifiers.shell.tree import Seq, ShellError, Simple


@dataclass(frozen=True, slots=True)
class Work:
    """The working steps of one trace."""

    evidence: Evidence
    program: Program
    kept: tuple[int, ...]
    dropped: tuple[str, ...]
    """A sentence for each step left out."""


def changes_something(evidence: Evidence) -> bool:
    if evidence.base is None or evidence.post is None:
        return any(_changes(parse_or_none(c)) for c in evidence.commands)
    return any(e.path != ROOT for e in effects(evidence.base, evidence.post))


def parse_or_none(text: str) -> Seq | None:
    try:
        return parse(text)
    except ShellError:
        return None


def work(evidence: Evidence, writes: bool, drop_failed: bool = False) -> Work | None:
    """The working steps; None where one of them cannot be parsed.

    Args:
        drop_failed: leave out steps that ended with an error too (an attempt before the one that worked).
    """
    trees = [parse_or_none(c) for c in evidence.commands]
    kept: list[int] = []
    dropped: list[str] = []
    codes = evidence.exit_codes or (0,) * len(trees)
    for k, tree in enumerate(trees):
        if drop_failed and codes[k] != 0:
            dropped.append(f"step {k + 1} failed: {evidence.commands[k][:60]}")
        elif (tree is not None and _is_cd(tree)) or (writes and _changes(tree)) or (not writes and k == evidence.answer_step):
            kept.append(k)
        else:
            dropped.append(f"step {k + 1} only looks: {evidence.commands[k][:60]}")
    program = [trees[k] for k in kept]
    if not program or any(t is None for t in program):
        return None
    return Work(evidence, tuple(t for t in program if t is not None), tuple(kept), tuple(dropped))


def why_no_work(commands: Iterable[str]) -> str:
    """One sentence: why no step of the traces with these commands could be taken up."""
    for command in commands:
        try:
            parse(command)
        except ShellError as e:
            return f"a command is not understood: {e}"
    return "the files changed, but none of the commands is known to change one"


def _is_cd(tree: Seq) -> bool:
    return all(isinstance(i, Simple) and i.name == "cd" for i in tree.items)


def _changes(tree: Seq | None) -> bool:
    return tree is None or may_change(tree)
