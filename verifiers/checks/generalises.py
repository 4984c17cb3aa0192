"""Does the skill hold beyond the recorded cases?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sandbox.interface import JsonValue, ReplayRecord, Returned
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.context import Context
from verifiers.interface import CheckResult, Finding, Verdict
from verifiers.worlds.decided import decided
from verifiers.worlds.differential import differential
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.implicit import implicit
from verifiers.worlds.judged import Judged, grammars
from verifiers.worlds.opaque import opaque
from verifiers.worlds.renaming import renaming
from verifiers.worlds.substituted import substituted

Oracle = Callable[[Context, Sequence[Grammar]], Judged]
ORACLES: Mapping[str, Oracle] = {
    "differential": differential, "renaming": renaming, "opaque": opaque, "implicit": implicit, "substituted": substituted,
}  # fmt: skip
"""Tried in this order, until one finds something."""


class Generalises:
    id = "generalises"
    title = "Does it hold beyond the recorded cases?"
    why = (
        "Hypothesis draws workspaces and arguments from the grammar of the evidence, and each generated case has a zone. "
        "*Harm* is wrong on every case, whatever the commands do: bytes lost that they leave as they are, the number of a "
        "database's row, a line lost where the task only adds or that says nothing of what it changes, ends of lines that "
        "they keep, a value that runs as code or hangs, one that is taken for a pattern or for a part of a query, success "
        "claimed for a named input or another file that is missing, for an archive that does not match its checksum, or "
        "for a name that no file has where the commands fail (else it is asked whether that is wanted), a backup of the "
        "user's overwritten, a file changed through a link. Renaming belongs here: hostile characters in names that "
        "nothing mentions must rename the result and change nothing else. So do odd bytes in contents (form feeds, line "
        "separators, bytes that are no UTF-8, blanks, marks, long words, for skills that speak SQL a text that goes on in "
        "a query) and other modes, judged where the commands keep them and the skill is right with plain ones. *Within the "
        "evidence* the trace's own commands say what is right: recorded bases renamed, with more, fewer or reordered items "
        "or records, bystanders, near misses, words nearly alike, deep trees, archives with other members, words, texts "
        "and names of the skill's own, values of other characters that the commands take for text, dates of another time, "
        "values of tables and databases in other rows, numbered names past ten, keys of which one file has a part only, "
        "objects of JSON like another but for one value. Who refuses such a start and changes nothing is let be; where "
        "that is more than one start in twenty, it is asked about, and more than half are a failure. What holds over all "
        "recorded starts is inferred (records, columns, unique keys, order, formats, JSON of one shape, plain names and "
        "values) and such cases keep it. Where the commands change several places of a file, each recording had one, and "
        "the skill does some of it, or where the skill does nothing for a value of characters that none had, it is asked "
        "which is right. Databases vary in their texts and rows, and have a table more; of a list of one item a second is "
        "tried, and what has no order in another one. Some such cases are odd (a line built otherwise than those around "
        "it, other line ends, values that look like numbers or options, numbers below nought, answers of odd bytes): one "
        "kind of oddness alone is a question, two are a failure. *Beyond the evidence*, where a case breaks just one such "
        "thing, changes a word that several recordings have, or sets a line in, raising with nothing changed is right and "
        "any other difference is an open question in the report, never a failure; `assay answer` decides it, and whether a "
        "difference within the evidence counts where starts are made as that one is: harm does in any case. Of a trace "
        "with edits or without steps, commands cannot say what is right: there values of the arguments are replaced "
        "throughout start, arguments and recorded end, and the skill must reach that end; where the old value stands "
        "elsewhere too, or inside longer words, changing it there is a question. A memoriser of the recordings must be "
        "refused here."
    )
    stage = "dynamic"
    version = 38
    good = (rename("any name, any number of files"),)
    bad = (rename("gives up on more than three files", RENAME_BODY.replace("for p in files:", "for p in files[:3]:")),)

    def run(self, context: Context) -> CheckResult:
        context.prime()
        gs = grammars(context)
        parts = {"decided": decided(context)}
        for name, oracle in ORACLES.items():
            if not _found(parts.values()):
                parts[name] = oracle(context, gs)
        for part in parts.values():
            context.generated += part.passed
            context.parted += part.parted
        findings, suspects = _found(parts.values()), [s for p in parts.values() for s in p.suspects.values()]
        speaking = sum(g.says_something for g in context.generated)
        measured: dict[str, JsonValue] = {
            **{f"{name}_judged": p.judged for name, p in parts.items()},
            "judged_nonempty": speaking,
            "judged_beyond": sum(p.beyond for p in parts.values()),
            "memoriser_rejected": memoriser_rejected(context),
            "not_checked": list[JsonValue](sorted({f"{p}: {why}" for g in gs for p, why in g.template.why_not.items()})),
        }
        runs = sum(p.runs for p in parts.values())
        odd = tuple(s.question for s in suspects if s.question is not None)
        if findings:
            contested = tuple(q for p in parts.values() for q in p.contested) or odd
            return CheckResult(self.id, Verdict.FAIL, tuple(findings), runs=runs, measured=measured, questions=contested)
        questions = (*odd, *(q for p in parts.values() for q in p.questions))
        why = "" if speaking else "no generated case could be judged: the evidence leaves nothing that may vary"
        why = why or ("" if measured["memoriser_rejected"] else "a memoriser of the recordings would pass")
        if why:
            return CheckResult(self.id, Verdict.INCONCLUSIVE, (Finding(why, context.subject.path),), why, runs, measured=measured)
        notes = tuple(Finding(text, severity="info") for p in parts.values() for text in p.information[:3])
        return CheckResult(self.id, Verdict.PASS, notes, runs=runs, measured=measured, questions=questions)


def _found(parts: Iterable[Judged]) -> list[Finding]:
    """What is held against the skill: two kinds of oddness bear each other out, one alone may be the commands' accident."""
    parts = list(parts)
    findings = [f for p in parts for f in p.findings]
    suspects = {kind: s.finding for p in parts for kind, s in p.suspects.items()}
    return findings or (list(suspects.values()) if len(suspects) > 1 else [])


def memoriser_rejected(context: Context) -> bool:
    """Whether some generated case refuses what a memoriser does there: nothing, with the answer of the recording."""
    for g in context.generated:
        recorded = next(c for c in context.cases if c.task_id == g.case.task_id)
        idle = ReplayRecord(Returned({"ok": True, "output": recorded.expectation.answer}), (), g.case.base, "exited")
        if context.judge.wrong(idle, g.case.expectation) is not None:
            return True
    return False


CHECK = Generalises()
