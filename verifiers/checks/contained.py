"""Does the skill touch nothing but its workspace?"""

from __future__ import annotations

from sandbox.interface import ReplayRecord
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.context import UNJUDGED, Context, breaches
from verifiers.conventions.allowed_imports import refusal
from verifiers.interface import CheckResult, Counterexample, Finding, Subject, Verdict


class Contained:
    id = "contained"
    title = "Nothing outside the workspace, no network, nothing left, within limits?"
    why = (
        "Every run of the skill counts, whatever it was made for. Anything left in /tmp, HOME, /dev/shm or the process "
        "table is a finding (what the run removes before it ends is not); so is every network attempt, every attempt to "
        "change something outside the workspace, a second or forged frame on the channel that carries the returned value, "
        "code that runs and stands in no text of the skill, a look into the frames of its host, "
        "and whatever in the workspace no comparison sees: extended attributes, access lists, more than can be read back. "
        "A program that may be run but not read hides its calls, which is a finding; a change that no seen call explains "
        "leaves this open."
    )
    stage = "dynamic"
    version = 3
    good = (rename("touches its workspace only"),)
    bad = (
        rename(
            "leaves a note in HOME",
            RENAME_BODY.replace("    return {", '    (Path.home() / ".note").write_text("x")\n    return {'),
        ),
        rename(
            "runs code that stands in no text",
            RENAME_BODY.replace("    return {", '    import timeit\n    timeit.timeit("len([1])", number=1)\n    return {'),
        ),
    )

    def run(self, context: Context) -> CheckResult:
        context.prime()
        findings: list[Finding] = []
        seen: set[str] = set()
        for purpose, record in context.ran:
            if purpose in UNJUDGED:
                continue
            for message in [*breaches(record), *unseen(record, context.subject)]:
                if message not in seen and len(findings) < 20:
                    seen.add(message)
                    example = Counterexample(purpose, expected="nothing outside the workspace", observed=message)
                    findings.append(
                        Finding(message, context.subject.path, counterexample=example, reproduce=context.reproduce(self.id))
                    )
        why = context.supervised()
        notes = (Finding(f"refused attempts outside the workspace were not watched: {why}", severity="info"),) if why else ()
        hidden = context.unlogged()
        verdict = Verdict.FAIL if findings else Verdict.PASS if context.ran and not hidden else Verdict.INCONCLUSIVE
        return CheckResult(self.id, verdict, (*findings, *notes), hidden, runs=0, measured={"runs_watched": len(context.ran)})


def unseen(record: ReplayRecord, subject: Subject) -> list[str]:
    """What ran that nobody could read, a sentence each, as the interpreter told it."""
    imported = [text.partition(" ")[2] for text in record.audit if text.startswith("import ")]
    hidden = [n for n in imported if refusal(n, subject.profile) and n.rpartition(".")[2] not in subject.source]
    out = [f"ran what stands in no text of the skill: {text}" for text in record.audit if not text.startswith("import ")]
    return out + [f"imported {name}, which its text does not name" for name in hidden]


CHECK = Contained()
