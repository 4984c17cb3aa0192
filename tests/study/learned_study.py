"""What becomes of kinds of commits of real histories, by the commands that a user types.

    python tests/study/learned_study.py CORPUS [REPOSITORY ...]

CORPUS is as in ``history_study.py``. Of each labelled kind the group that has most of it is imported, its newest commits kept
back; ``assay crystallize`` learns from the older ones and ``assay registry drift`` runs the skill on the newer. ``odd`` is
what the skill does on the odd commits of the newest layout, with the values that their messages tell: right, refused or another
end. ``s`` is from the traces to the verdict.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from figures import table

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from synth.cli.home import open_registry
from synth.history.commits import read_history
from synth.history.drift import drift
from synth.history.eras import Kind, kinds_of
from synth.history.facts import facts_of
from synth.history.kinds import groups_of
from synth.history.objects import Objects
from synth.history.since import Since
from synth.interface import Draft
from synth.tracing.traces import load_traces, to_evidence
from verifiers.subject import parse_subject

HEAD = ("repository", "kind", "deterministic", "group", "outcome", "score", "s", "newer commits", "odd commits")


def assay(*words: object) -> dict[str, Any]:
    """The answer of a command in JSON."""
    ran = subprocess.run(["assay", *map(str, words), "--format", "json"], capture_output=True, text=True)
    return dict(json.loads(ran.stdout)) if ran.stdout.startswith("{") else {"error": ran.stderr}


def kinds(clone: Path) -> list[Kind]:
    with Objects(clone) as objects:
        return kinds_of(groups_of(facts_of(read_history(objects).commits, objects)))


def row(label: Mapping[str, Any], groups: Sequence[Kind], clone: Path, scratch: Path) -> tuple[object, ...]:
    """One labelled kind, from its history to what its skill does on the commits kept back."""
    wanted = {c["sha"] for c in label["commits"]}
    group = max(groups, key=lambda k: sum(f.commit.oid in wanted for f in k.found))
    traces, registry = scratch / "traces.jsonl", scratch / "registry"
    kept = ["--held-out", str(scratch / "newer.jsonl"), "--odd", str(scratch / "odd.jsonl")]
    subprocess.run(["assay", "import", "git", str(clone), "--kind", group.name, "-o", str(traces), *kept], capture_output=True)
    head = (label["repo"], label["kind"], label.get("deterministic", ""), group.name)
    if not traces.exists():
        return *head, "no traces", "-", 0.0, "-", "-"
    began = time.monotonic()
    learned = assay("crystallize", traces, "--registry", registry)
    took = round(time.monotonic() - began, 1)
    patterns = learned.get("patterns") or [{}]
    best = min(patterns, key=lambda p: p.get("outcome") != "registered")
    told = best.get("outcome", "no pattern"), best.get("score", "-"), took
    if best.get("outcome") != "registered":
        return *head, *told, "-", "-"
    with open_registry(registry) as opened, open_sandbox() as sandbox:
        drafts = [(e.name, opened.draft(e.name, e.version)) for e in opened.list()]
        return *head, *told, *(tried(drafts, group, scratch / f"{which}.jsonl", sandbox) for which in ("newer", "odd"))


def tried(drafts: Sequence[tuple[str, Draft]], group: Kind, commits: Path, sandbox: Sandbox) -> str:
    """What the skills do on the starts of some commits, with the values that their messages tell."""
    if not commits.exists():
        return "none"
    known = {f.commit.oid: f.commit for f in group.found}
    traces = tuple((known[str(t.metadata["commit"])], t) for t in load_traces(commits))
    found: Counter[str] = Counter()
    for name, draft in drafts:
        came = drift(
            parse_subject(draft.source, f"{name}/skill.py", name=name), [to_evidence(t) for t in draft.evidence],
            draft.bindings, Since(group.name, traces), sandbox,
        )  # fmt: skip
        found.update(c.outcome for c in came.cases)
    return ", ".join(f"{n} {what}" for what, n in found.items()) or "none"


def rows(labels: Sequence[Mapping[str, Any]], corpus: Path, scratch: Path) -> Iterator[tuple[object, ...]]:
    for repository in dict.fromkeys(label["repo"] for label in labels):
        name = repository.replace("/", "+")
        subprocess.run(["git", "clone", "-q", "--bare", str(corpus / f"{name}.bundle"), str(scratch / name)], check=True)
        groups = kinds(scratch / name)
        for n, label in enumerate(x for x in labels if x["repo"] == repository):
            folder = scratch / f"{name}.{n}"
            folder.mkdir()
            found = row(label, groups, scratch / name, folder)
            sys.stderr.write(f"{found}\n")
            yield found


def main(corpus: Path, only: Sequence[str]) -> int:
    labels = [json.loads(line) for line in (corpus / "kinds.jsonl").read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as scratch:
        found = list(rows([x for x in labels if not only or x["repo"] in only], corpus, Path(scratch)))
    print(table(HEAD, found))
    made = [r for r in found if r[4] == "registered"]
    print(f"\n{len(made)} of {len(found)} kinds became skills; {statistics.median(r[6] for r in found):.1f} s in the median")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python tests/study/learned_study.py CORPUS [REPOSITORY ...]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
