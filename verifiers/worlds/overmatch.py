"""Starts in which a value that the task replaces stands where it never stood: in another file, under another key, or inside
longer words and numbers. A replacement that reaches too far changes it there; no recording says whether that is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sandbox.interface import Snapshot
from verifiers.context import Case, Context
from verifiers.expectation.blocks import changed_blocks
from verifiers.worlds.asking import answered, asks_about, question
from verifiers.worlds.grammar import in_repository
from verifiers.worlds.harm import untouched
from verifiers.worlds.judged import Judged
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text, fresh_words
from verifiers.worlds.trials import Beyond

TRACES, VALUES = 2, 4
"""Recordings that are looked at, and values of each."""
_SHORTEST = 3
_WORD = re.compile(r"\w+(?:[.+-]\w+)*")
_PROSE = re.compile(r'"[^"\\\n]* [^"\\\n]*"')
"""Prose in quotes, in which anything may be said."""
ELSEWHERE = Beyond("replaced-value-elsewhere", "the replaced value stands only where it is replaced")
IN_WORDS = Beyond("replaced-value-in-words", "the replaced value is no part of longer words or numbers")


@dataclass(frozen=True, slots=True)
class Replaced:
    """A value that a recording exchanges for one of its arguments."""

    path: str
    old: str
    line: str
    """One that holds the old value and gets the new one."""


def replaced(case: Case) -> Iterator[Replaced]:
    """The words that a case exchanges for one of its arguments."""
    x = case.expectation
    given = [t for value in case.args.values() for v in (value if isinstance(value, list) else [value]) if (t := as_text(v))]
    for path, before in x.base.items():
        after = x.tree.get(path)
        if after is None or in_repository(path, x.base) or b"\0" in before.content + after.content:
            continue
        for old_block, new_block in changed_blocks(before.content, after.content):
            for line, words in _words_by_line(old_block, new_block):
                found = (_exchanged(*pair, value) for pair in words for value in given)
                yield from (Replaced(path, old, line) for old in found if len(old) >= _SHORTEST)


def _words_by_line(old_block: str, new_block: str) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    """Lines that only got other words, with each word and the one in its place."""
    for line, other in zip(old_block.splitlines(), new_block.splitlines(), strict=False):
        if _WORD.sub("", line) == _WORD.sub("", other):
            yield line, list(zip(_WORD.findall(line), _WORD.findall(other), strict=True))


def _exchanged(old: str, new: str, value: str) -> str:
    """What stood in a word where the value stands now; "" where nothing else did."""
    before, found, behind = new.partition(value)
    fits = found and old != new and old.startswith(before) and old.endswith(behind)
    return old[len(before) : len(old) - len(behind)] if fits else ""


def overmatched(context: Context, cases: Sequence[Case], out: Judged) -> None:
    """Asks where the skill changes a value that only looks like the one that is to be replaced."""
    trials = [t for case in cases[:TRACES] for t in _trials(context, case)]
    records = context.run("the replaced value elsewhere", (context.request(c.base, c.args) for c, _ in trials))
    out.runs += len(records)
    for (case, beyond), record in zip(trials, records, strict=True):
        if context.judge.wrong(record, case.expectation) is None:
            out.judged += 1
            out.beyond += 1
        elif context.judge.refuses(record) and untouched(case.base, record):
            out.information.append(f"{case.label}: refused, and nothing was changed ({beyond.name})")
        else:
            out.parted.append(case)
            if beyond.name not in answered(context.decisions) and not any(asks_about(q, beyond) for q in out.questions):
                out.questions.append(question(case, record, beyond, context.judge.answer_path))


def _trials(context: Context, case: Case) -> Iterator[tuple[Case, Beyond]]:
    """The recorded start with one more mention of a replaced value, and the recorded end with the same."""
    rng = context.rng(f"overmatch {case.task_id}")
    start, end = all_text(case.base), all_text(case.expectation.tree)
    for r in list({r.old: r for r in replaced(case)}.values())[:VALUES]:
        word = fresh_words(rng, start + end, 1)[0]
        # Where the recording lets one stand, it says itself what is right.
        if r.old not in end:
            yield _case(case, "in another file", _beside(case.base, r, word)), ELSEWHERE
            yield _case(case, "in another line", _mentioning(r, f"{word} {r.old}")), ELSEWHERE
        number = r.old[0].isdecimal()
        before, behind = (str(rng.randint(1, 9)) if number else word for _ in range(2))
        if before + r.old not in start and r.old + behind not in start:
            yield _case(case, "in a longer word", _mentioning(r, f"{before}{r.old}{behind}")), IN_WORDS


def _beside(base: Snapshot, r: Replaced, word: str) -> Callable[[Snapshot], Snapshot]:
    """A file of the same kind, with the same line."""
    folder, slash, name = r.path.rpartition("/")
    stem, dot, ending = name.partition(".")
    path = f"{folder}{slash}{stem}_{word}{dot}{ending}"
    made = replace(base[r.path], content=f"{r.line}\n".encode("utf-8", "surrogateescape"), links=1)
    return lambda tree: tree.replace({path: made})


def _mentioning(r: Replaced, text: str) -> Callable[[Snapshot], Snapshot]:
    """The file with a text in its last prose in quotes, else in a last line."""

    def mentioned(tree: Snapshot) -> Snapshot:
        content = tree[r.path].content.decode("utf-8", "surrogateescape")
        prose = [m for m in _PROSE.finditer(content) if r.old not in m[0]]
        at = prose[-1].end() - 1 if prose else len(content)
        lead = "\n" if content and not content.endswith("\n") else ""
        added = f" {text}" if prose else f"{lead}# {text}\n"
        changed = f"{content[:at]}{added}{content[at:]}".encode("utf-8", "surrogateescape")
        return tree.replace({r.path: replace(tree[r.path], content=changed)})

    return mentioned


def _case(case: Case, where: str, change: Callable[[Snapshot], Snapshot]) -> Case:
    x = case.expectation
    expected = replace(x, base=change(x.base), tree=change(x.tree))
    return Case(f"the replaced value {where} (trace {case.task_id})", case.args, expected, case.task_id, case.evidence)
