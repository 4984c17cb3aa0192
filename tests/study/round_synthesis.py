"""What the embedded generator makes of rounds that nobody tuned it for, and whether what is registered is right.

    python tests/study/round_synthesis.py ROUND_DIR… [--task NAME …] [--budget standard] [--unjudged] [--drafts DIR] [--json FILE]

All recordings of a task are one pattern; detection is asked besides whether it finds that pattern by itself among all traces of
the round. A registered skill is run on the recordings and in the round's worlds, which know nothing of the judge: one that is
wrong there is a *wrong registration*. ``--unjudged`` leaves the judge out and tries the first candidates in the worlds alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from figures import wilson
from round_bench import API, one_wrong, play, tasks, wanted_tree, wrong

from sandbox import open_sandbox
from synth.crystallization.judge import SandboxJudge
from synth.crystallization.search import NotFound, Search, SearchSettings
from synth.detect import detect
from synth.embedded import EmbeddedGenerator
from synth.interface import Candidate, TracePattern
from synth.tracing.traces import load_traces, to_evidence
from verifiers.evidence import load_evidence
from verifiers.interface import Args

MOST_UNJUDGED = 3
"""Candidates of a task that are tried where no judge chooses."""


@dataclass(frozen=True, slots=True)
class Row:
    """A task's end."""

    task: str
    registered: bool
    detected: bool
    why: str
    faults: tuple[str, ...]
    """Where the registered skill (or a candidate) is wrong; the oracle's words."""
    untried: tuple[str, ...]
    """Parameters whose value in a world is not known from the task's values: then no world was run."""
    score: float | None
    seconds: float
    names: tuple[str, ...] = ()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=Path, nargs="+")
    parser.add_argument("--task", action="append")
    parser.add_argument("--budget", choices=("fast", "standard", "thorough"), default="standard")
    parser.add_argument("--unjudged", action="store_true")
    parser.add_argument("--drafts", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(argv)
    rows: list[Row] = []
    with open_sandbox(workers=2) as sandbox:
        for root in given.rounds:
            own: list[Row] = []
            for folder, detected in found_patterns(root, given.task):
                judge = SandboxJudge(sandbox, given.budget)
                row = tried(folder, judge, detected) if given.unjudged else studied(folder, judge, detected, given.drafts)
                print(shown(row), flush=True)
                own.append(row)
            print(f"{root}: {summary(own)}", flush=True)
            rows += own
    if given.json:
        given.json.write_text(json.dumps([asdict(r) for r in rows], indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"all: {summary(rows)}")
    return 0 if rows else 1


def found_patterns(root: Path, chosen: Sequence[str] | None) -> Iterator[tuple[Path, bool]]:
    """The tasks of a round, each with whether detection brings exactly its recordings together."""
    folders = tasks(root)
    everything = [t for f in folders for t in load_traces(f / "evidence.jsonl")]
    groups = [{t.task_id for t in p.traces} for p in detect(everything)]
    for folder in folders:
        if not chosen or folder.name in chosen:
            yield folder, {e.task_id for e in load_evidence(folder / "evidence.jsonl")} in groups


def pattern_of(folder: Path) -> TracePattern:
    traces = tuple(t for t in load_traces(folder / "evidence.jsonl"))
    commands = tuple(dict.fromkeys(c for t in traces for c in t.commands))
    return TracePattern("repetitive", commands, len(traces), 1.0, folder.name, "", traces)


def studied(folder: Path, judge: SandboxJudge, detected: bool, drafts: Path | None) -> Row:
    """The whole way to the registry's door, and what the worlds say of what passed."""
    began = time.monotonic()
    pattern = pattern_of(folder)
    generator = EmbeddedGenerator()
    generator.replays = judge.replays
    evidence = [to_evidence(t) for t in pattern.traces]
    made: list[Candidate] = []
    search = Search(pattern, evidence, Keeping(generator, made), judge, SearchSettings(refits=True))
    found = search.run()
    seconds = time.monotonic() - began
    candidate = made[-1] if isinstance(found, NotFound) and made else None
    if not isinstance(found, NotFound):
        candidate = found.candidate
    if drafts is not None and candidate is not None:
        bindings = candidate.bindings if isinstance(found, NotFound) else found.bindings
        save(drafts / folder.name, folder, candidate, bindings)
    if isinstance(found, NotFound):
        return Row(folder.name, False, detected, found.why, (), (), None, seconds)
    faults, untried = trial(folder, found.candidate.source, found.bindings)
    score = found.report.score.value if found.report.score else None
    notes = "; ".join(found.notes)
    return Row(folder.name, True, detected, notes, faults, untried, score, seconds, (found.candidate.name,))


class Keeping:
    """A generator whose first candidates of all traces are kept."""

    def __init__(self, inner: EmbeddedGenerator, made: list[Candidate]) -> None:
        self._inner, self._made, self.name = inner, made, inner.name

    def generate(self, pattern: TracePattern, evidence: Sequence[Any], template: Any = "skill") -> Iterator[Candidate]:
        for candidate in self._inner.generate(pattern, evidence, template):
            self._made += [candidate] if not self._made else []
            yield candidate

    def rejected(self, candidate: Candidate, report: Any) -> None:
        self._inner.rejected(candidate, report)

    def why_none(self) -> str:
        return self._inner.why_none()

    def told_again(self, *given: Any) -> Any:
        return self._inner.told_again(*given)


def tried(folder: Path, judge: SandboxJudge, detected: bool) -> Row:
    """The first candidates in the worlds, without a judge."""
    began = time.monotonic()
    pattern = pattern_of(folder)
    generator = EmbeddedGenerator()
    generator.replays = judge.replays
    evidence = [to_evidence(t) for t in pattern.traces]
    best: Row | None = None
    for candidate in islice(generator.generate(pattern, evidence), MOST_UNJUDGED):
        faults, untried = trial(folder, candidate.source, candidate.bindings)
        missing = [e.task_id for e in evidence if e.task_id not in candidate.bindings]
        faults = (*(f"no arguments for {t}" for t in missing), *faults)
        row = Row(folder.name, not faults, detected, "", faults, untried, None, time.monotonic() - began, (candidate.name,))
        if best is None or len(row.faults) < len(best.faults):
            best = row
    return best or Row(folder.name, False, detected, generator.why_none(), (), (), None, time.monotonic() - began)


def save(target: Path, folder: Path, candidate: Candidate, bindings: Mapping[str, Args]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    (target / "skill.py").write_text(candidate.source, encoding="utf-8")
    (target / "evidence.jsonl").write_bytes((folder / "evidence.jsonl").read_bytes())
    rows = {task_id: {"args": dict(args)} for task_id, args in bindings.items()}
    (target / "bindings.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# ---------------------------------------------------------------- the oracle


def trial(folder: Path, source: str, bindings: Mapping[str, Args]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where a skill is wrong on the recordings and in the worlds, and the parameters that kept the worlds from being run."""
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    recorded = [json.loads(line) for line in (folder / "evidence.jsonl").read_text(encoding="utf-8").splitlines()]
    recorded = [e for e in recorded if e["task_id"] in bindings]
    values = {t["task_id"]: t["values"] for t in task["traces"]}
    worlds = json.loads((folder / "worlds.json").read_text(encoding="utf-8"))
    given, unknown = arguments(values, bindings)
    worlds = worlds if given is not None else []
    api = API.read_text(encoding="utf-8")
    whole = {"skill": source, "api": api}
    jobs = [{**whole, "workspace": e["workspace"], "args": dict(bindings[e["task_id"]]), "times": 2} for e in recorded]
    for w in worlds:
        assert given is not None
        jobs.append({**whole, "workspace": w["workspace"], "args": given(w["values"]), "times": w.get("times", 1)})
    wanted = [wanted_tree(w, a) for w in worlds for a in w["accept"]]
    played = play([*jobs, *({"workspace": tree, "commands": ["true"]} for tree in wanted)])
    trees = iter(p["before"] for p in played[len(jobs) :])
    faults = []
    reads = all(e["workspace"] == e["post_workspace"] for e in recorded)
    for e, seen in zip(recorded, played, strict=False):
        accept = {"answer": e["outputs"][-1].strip()} if reads else {}
        if why := one_wrong(accept, seen, e["post_workspace"]):
            faults.append(f"recording {e['task_id']}: {why}")
    for w, seen in zip(worlds, played[len(recorded) : len(jobs)], strict=True):
        if why := wrong(w, seen, [next(trees) for _ in w["accept"]]):
            faults.append(f"world {w['name']} ({w['why']}): {why}")
    return tuple(faults), tuple(unknown)


Reader = Callable[[Mapping[str, Any]], dict[str, Any]]


def arguments(values: Mapping[str, Mapping[str, Any]], bindings: Mapping[str, Args]) -> tuple[Reader | None, list[str]]:
    """How each parameter follows from the task's values, or the parameters of which that is not known."""
    names = sorted({n for args in bindings.values() for n in args})
    known: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
    for name in names:
        rows = [(values[t], args[name]) for t, args in bindings.items() if name in args]
        reading = next((f for f in readings(rows[0][0]) if all(_same(f, v, a) for v, a in rows)), None)
        if reading is not None:
            known[name] = reading
        elif len({json.dumps(a) for _, a in rows}) == 1:  # one value in all recordings: it is no matter of the task's values
            known[name] = lambda _, a=rows[0][1]: a  # type: ignore[misc]  # a lambda with a default
    unknown = [n for n in names if n not in known]
    if unknown:
        return None, unknown
    return lambda row: {n: f(row) for n, f in known.items()}, []


def _same(reading: Callable[[Mapping[str, Any]], Any], row: Mapping[str, Any], arg: object) -> bool:
    try:
        return bool(reading(row) == arg)
    except (KeyError, IndexError, ValueError):
        return False


_VIEWS: tuple[Callable[[Any], Any], ...] = (
    lambda v: v,
    str,
    lambda v: int(str(v)),
    lambda v: str(v).removeprefix("."),
    lambda v: "." + str(v),
    lambda v: str(v).rstrip("/"),
    lambda v: str(v).rpartition("/")[2],
    lambda v: str(v).rpartition("/")[0],
    lambda v: str(v).rpartition(".")[0],
    lambda v: str(v).rpartition(".")[2],
    lambda v: str(v).rpartition("/")[2].rpartition(".")[0],
    lambda v: str(v).split(" ", 1)[0],
    lambda v: str(v).split(" ", 1)[1],
    lambda v: str(v).partition(".")[0],
    lambda v: str(v).partition(".")[2],
    lambda v: str(v).split(".")[1],
    lambda v: str(v).split(".")[2],
    lambda v: str(v).upper(),
    lambda v: str(v).lower(),
    lambda v: str(v).replace(".", "/"),
)


def readings(row: Mapping[str, Any]) -> Iterator[Callable[[Mapping[str, Any]], Any]]:
    """The ways in which a skill may take one of the task's values, the plain ones first."""
    for view in _VIEWS:
        for role in row:
            yield lambda r, view=view, role=role: view(r[role])  # type: ignore[misc]  # a lambda with defaults


# ---------------------------------------------------------------- words


def shown(row: Row) -> str:
    head = "registered" if row.registered else "NOT"
    if row.registered and row.faults:
        head = "WRONG"
    score = f" {row.score:.2f}" if row.score is not None else ""
    alone, name = "" if row.detected else "(not detected) ", row.names[0] if row.names else ""
    lines = [f"{head:10} {row.task}{score} {alone}{row.seconds:.0f} s {name}"]
    if row.why and not row.registered:
        lines.append("    " + " ".join(row.why.split())[:400])
    lines += [f"    wrong: {' '.join(f.split())[:300]}" for f in row.faults]
    lines += [f"    no world was run: what is {', '.join(row.untried)}?"] if row.untried else []
    return "\n".join(lines)


def summary(rows: Sequence[Row]) -> str:
    registered = [r for r in rows if r.registered]
    low, high = wilson(len(registered), len(rows))
    faulty = [r for r in registered if r.faults]
    untried = [r for r in registered if r.untried]
    detected = sum(r.detected for r in rows)
    return (
        f"registered {len(registered)}/{len(rows)} ({low:.2f}..{high:.2f}), wrong {len(faulty)}, "
        f"{len(untried)} without worlds; detected by itself {detected}/{len(rows)}; {sum(r.seconds for r in rows):.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
