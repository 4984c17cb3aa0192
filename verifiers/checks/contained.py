"""Does the skill touch nothing but its workspace?"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from sandbox.interface import ReplayRecord, RunRequest, ShellJob
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.context import UNJUDGED, Context, breaches, foreign
from verifiers.conventions.allowed_imports import refusal
from verifiers.expectation.carried import carried, obeyed
from verifiers.expectation.steps import trace_request
from verifiers.interface import CheckResult, Counterexample, Finding, Subject, Verdict

LOOKED_AT = 3
"""Recorded cases on which it is seen which programs a shell looks for."""
OF_THE_LIBRARY = frozenset({"_strptime"})
"""What functions of the standard library that are written in C import for themselves: ``datetime.strptime`` does."""
MOST = 20
"""Findings that one report shows."""


class Contained:
    id = "contained"
    title = "Nothing outside the workspace, no network, nothing left, within limits?"
    why = (
        "Every run of the skill counts, whatever it was made for. Anything left in /tmp, HOME, /dev/shm or the process "
        "table is a finding (what the run removes before it ends is not); so is every network attempt, every attempt to "
        "change something outside the workspace, a second or forged frame on the channel that carries the returned value, "
        "code that runs and stands in no text of the skill, a look into the frames of its host, "
        "a returned value or an error that carries the environment or the accounts of the machine, "
        "an escape sequence printed where the recordings have none, what it does to its host's process and event loop (its "
        "limits, signals, timers and open files too), "
        "what its module holds otherwise after a call (every judged run is a process of its own, so no other run shows it), "
        "what it takes from its host's standard input, unless the recorded commands read theirs too, "
        "and whatever in the workspace no comparison sees: extended attributes, access lists, more than can be read back. "
        "So is every program that is started, or looked for and not there, unless a recording names it, the built-in list has it "
        "(coreutils, findutils, grep, sed, awk, tar and the like) or `conventions.allow_programs` of the configuration: what a "
        "program would do that the image lacks is seen nowhere. "
        "A program that may be run but not read hides its calls, which is a finding; a change that no seen call explains "
        "leaves this open. The sandbox's own path in a value is noted: it says where the skill ran, not what it did."
    )
    stage = "dynamic"
    version = 14
    good = (
        rename("touches its workspace only"),
        rename(
            "starts a program that reads what it is given",
            RENAME_BODY.replace(
                "    return {", '    import subprocess\n    subprocess.run(["cat"], check=True, input=b"x")\n    return {'
            ),
        ),
        rename(
            "remembers what it worked out, which is the same without",
            RENAME_BODY.replace("    return {", '    _plain("a")\n    return {')
            + "\n\nfrom functools import cache\n\n\n@cache\ndef _plain(name):\n    return name.strip()\n",
        ),
        rename(
            "reads a date",
            RENAME_BODY.replace(
                "    return {", '    from datetime import datetime\n    datetime.strptime("1", "%d")\n    return {'
            ),
        ),
    )
    bad = (
        rename(
            "leaves a note in HOME",
            RENAME_BODY.replace("    return {", '    (Path.home() / ".note").write_text("x")\n    return {'),
        ),
        rename(
            "returns its environment",
            RENAME_BODY.replace("    return {", '    import os\n    return {"debug": dict(os.environ), '),
        ),
        rename(
            "starts a program that reads what stands on the standard input of its host",
            RENAME_BODY.replace(
                "    return {",
                '    import subprocess\n    subprocess.run(["cat"], check=True, capture_output=True)\n    return {',
            ),
        ),
        rename(
            "starts a program that no recording names",
            RENAME_BODY.replace(
                "    return {", '    import subprocess\n    subprocess.run(["perl", "-v"], check=True)\n    return {'
            ),
        ),
        rename(
            "remembers what it was called with, by another name than the module's own",
            RENAME_BODY.replace("    return {", "    _note(_CALLS)\n    return {")
            + "\n\n_SEEN = []\n_CALLS = _SEEN.append\n\n\ndef _note(told):\n    told(1)\n",
        ),
        rename(
            "runs code that stands in no text",
            RENAME_BODY.replace("    return {", '    import timeit\n    timeit.timeit("len([1])", number=1)\n    return {'),
        ),
    )

    def run(self, context: Context) -> CheckResult:
        context.prime()
        programs = self._known_programs(context)
        known, noted, soft = recorded_text(context), dict[str, None](), dict[str, None]()
        told: dict[str, str] = {}
        for purpose, record in context.ran:
            if purpose in UNJUDGED:
                continue
            gives = carried(record, known)
            noted |= dict.fromkeys(c.what for c in gives if c.harmless)
            away = [c.what for c in gives if not c.harmless]
            kept = _remembered(record)
            soft |= dict.fromkeys(kept if context.subject.profile == "omni" else ())
            hard = () if context.subject.profile == "omni" else kept
            for message in [*breaches(record), *unseen(record, context.subject), *foreign(record, programs), *away, *hard]:
                told.setdefault(message, purpose)
        if (taker := _took_input(context)) is not None:
            told.setdefault("reads what stands on its host's standard input, such as the next message to the host", taker)
        for case, record in context.first.items():
            told |= dict.fromkeys(obeyed(record, known), case)
        findings = [
            Finding(
                message,
                context.subject.path,
                counterexample=Counterexample(purpose, expected="nothing outside the workspace", observed=message),
                reproduce=context.reproduce(self.id),
            )
            for message, purpose in islice(told.items(), MOST)
        ]
        why = context.supervised()
        notes = [Finding(text, context.subject.path, severity="warning") for text in [*list(noted)[:1], *soft]]
        if why:
            notes.append(Finding(f"refused attempts outside the workspace were not watched: {why}", severity="info"))
        hidden = context.unlogged()
        verdict = Verdict.FAIL if findings else Verdict.PASS if context.ran and not hidden else Verdict.INCONCLUSIVE
        return CheckResult(self.id, verdict, (*findings, *notes), hidden, runs=0, measured={"runs_watched": len(context.ran)})

    @staticmethod
    def _known_programs(context: Context) -> frozenset[str]:
        """What the skill may start. Runs that start programs are repeated, to see what a shell looks for and does not find."""
        known = context.known_programs()
        if context.supervised() or not any(record.started for _, record in context.ran):
            return known
        cases = context.cases[:LOOKED_AT]
        records = context.run("programs looked for", (context.request(c.base, c.args, observe=True, looks=True) for c in cases))
        if all(name in known for r in records for name in r.missing):
            return known
        # Git and others look for programs of their own accord.
        same = [
            RunRequest(ShellJob(c.evidence.commands), c.base, observe=True, looks=True) for c in cases if c.evidence is not None
        ]
        return known | {name for r in context.traces.map(same) for name in r.missing}


def _remembered(record: ReplayRecord) -> list[str]:
    """What of the module's a run changed, as a sentence: a host that calls the skill twice does not start anew."""
    names = record.probe.get("remembered")
    return [f"changes {names} of its module, which the next call in the same process finds so"] if names else []


def _took_input(context: Context) -> str | None:
    """The purpose of a run that took what is its host's. A skill may do so where the recorded commands do, if they find something
    there."""
    taker = next((purpose for purpose, record in context.ran if record.took_input and purpose not in UNJUDGED), None)
    if taker is None:
        return None
    requests = [replace(trace_request(c.evidence, c.base), host_input=True) for c in context.cases if c.evidence is not None]
    return None if any(r.took_input for r in context.traces.map(requests)) else taker


def recorded_text(context: Context) -> str:
    """All that the recordings say: what stands there is no secret of the machine."""
    evidence = [case.evidence for case in context.cases if case.evidence is not None]
    parts = [part for e in evidence for part in (*e.commands, *e.outputs, e.workspace_root or "")]
    parts += [case.expectation.answer for case in context.cases]
    contents = (entry.content for case in context.cases for entry in case.base.values())
    return "\n".join([*parts, *(content.decode("utf-8", "replace") for content in contents)])


def unseen(record: ReplayRecord, subject: Subject) -> list[str]:
    """What ran that nobody could read, a sentence each, as the interpreter told it."""
    imported = [text.partition(" ")[2] for text in record.audit if text.startswith("import ")]
    hidden = [n for n in imported if refusal(n, subject.profile) and n.rpartition(".")[2] not in subject.source]
    hidden = [n for n in hidden if n not in OF_THE_LIBRARY]
    out = [f"ran what stands in no text of the skill: {text}" for text in record.audit if not text.startswith("import ")]
    return out + [f"imported {name}, which its text does not name" for name in hidden]


CHECK = Contained()
