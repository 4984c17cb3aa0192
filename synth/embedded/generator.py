"""The embedded generator: traces -> template -> candidates, simplest first. No model, no network.

Recordings of edits, or of states alone, hold no commands to generalise: for them edit programs are searched (``states``).
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import PurePosixPath

from sandbox.interface import ROOT, Effect, Entry, RunRequest, Session, ShellJob, Snapshot, effects
from synth.embedded.align import clusters, lifted, same_form, template_of, transferred
from synth.embedded.antiunify import Mismatch
from synth.embedded.code import Code, Piece, joined
from synth.embedded.emit_python import compile_program, skill_source
from synth.embedded.emit_shell import read_program, script_of, staged_program
from synth.embedded.factoring import composed
from synth.embedded.helpers import over_existing
from synth.embedded.idle import Replays, without_idle
from synth.embedded.naming import called, described, skill_name, told_again
from synth.embedded.params import make_params
from synth.embedded.scope import Facts, Param
from synth.embedded.states.generate import state_candidates
from synth.embedded.steps import Work, changes_something, why_no_work, work
from synth.embedded.template import Template, Value
from synth.embedded.trial import trial
from synth.interface import Candidate, TracePattern
from synth.interface import Template as Form
from verifiers.expectation.equivalence import differences
from verifiers.expectation.rooting import names_its_place
from verifiers.interface import Args, Evidence, Report
from verifiers.shell.effects import every
from verifiers.shell.tree import Glob, Hole, Lit, ShellError, Word, spelled

RETURNS_CHANGES = "``ok`` and the number of changes made (0 where all was done already)."
RETURNS_ANSWER = "``output``: the answer as text."


_FINAL = frozenset({"evidence-reproduces", "bindings", "controls-fail"})
"""Checks whose refusal of one candidate holds for another form of the same commands."""


MOST_LIFTED = 5
"""Traces from each of which alone a skill is tried, where few have the same form."""


@dataclass(frozen=True, slots=True)
class Case:
    """A template with what is known about its traces."""

    template: Template
    works: tuple[Work, ...]
    params: tuple[Param, ...]


class EmbeddedGenerator:
    """Proposes skills by anti-unification over the table of command meanings.

    Args:
        session: runs that help to choose between candidates; None = static knowledge only.
    """

    name = "embedded/1"

    def __init__(self, session: Session | None = None) -> None:
        self._session = session
        self.replays: Callable[[], AbstractContextManager[Replays]] | None = None
        """Opens a place where the traces' own commands can be run again, to tell steps that do nothing; None = there is none."""
        self._category = ""
        self._why: list[str] = []
        self._rejected: list[Report] = []

    def generate(self, pattern: TracePattern, evidence: Sequence[Evidence], template: Form = "skill") -> Iterator[Candidate]:
        """Yields candidates, those for most traces first. ``template`` is the same for every form: a skill file."""
        self._why, self._rejected, self._category = [], [], pattern.task_category
        usable = [e for e in evidence if e.success]
        if any(not e.by_commands for e in usable):
            by_states = tuple(state_candidates(pattern, usable, self.name, self._why))
            yield from by_states
            if by_states:
                return
        writes = sum(changes_something(e) for e in usable) * 3 > len(usable)
        works = [w for e in usable if (w := work(e, writes)) is not None]
        if not works:
            self._why.append(why_no_work(c for e in usable for c in e.commands))
            return
        if self.replays is not None and writes:
            with self.replays() as traces:
                works = without_idle(traces, works)
        known = list(cases(works))
        if writes and any(any(e.exit_codes or ()) for e in usable):
            again = [w for e in usable if (w := work(e, writes, drop_failed=True)) is not None]
            known += cases(again) if [w.program for w in again] != [w.program for w in works] else []
        made = [c for case in known if (c := self._candidate(pattern, case, works, writes)) is not None]
        for cost, plain in enumerate((cases(works, as_written=True), known), 1):
            made += [c for case in plain if (c := self._candidate(pattern, case, works, writes, cost)) is not None]
        seen: set[str] = set()
        for candidate in sorted(made, key=lambda c: (-len(c.bindings), c.cost, len(c.source))):
            if candidate.source not in seen and not self._hopeless(candidate) and self._tried(candidate, usable, writes):
                seen.add(candidate.source)
                yield candidate

    def _repeatable(self, case: Case, *, staged: bool = False) -> bool:
        """The recorded commands, run on their own result, succeed and change nothing (``staged``: as a skill runs them)."""
        ends = [(w, w.evidence.post) for w in case.works if w.evidence.post is not None]
        if self.replays is None:
            return True
        forms = [(script_of(w.program),) if staged else tuple(w.evidence.commands[k] for k in w.kept) for w, _ in ends]
        jobs = [RunRequest(ShellJob(form), end) for form, (_, end) in zip(forms, ends, strict=True)]
        with self.replays() as traces:
            again = traces.map(jobs)
        failed = any(step.exit_code != 0 for record in again for step in record.steps)
        return not failed and not any(differences(end, r.post, links=False) for (_, end), r in zip(ends, again, strict=True))

    def _facts(self, case: Case, again: bool) -> Facts:
        return replace(facts_of(case, again), repeatable=again and self.replays is not None)

    def _hopeless(self, candidate: Candidate) -> bool:
        """Counterexamples prune: where the plain form cannot be repeated or the evidence fails, the pipeline cannot help."""
        return candidate.cost > 0 and not _FINAL.isdisjoint(r.decisive.id for r in self._rejected if r.decisive)

    def _tried(self, candidate: Candidate, evidence: Sequence[Evidence], writes: bool) -> bool:
        if self._session is None:
            return True
        wrong = trial(self._session, candidate, evidence, writes)
        self._why += [f"trace {task_id}: {why}" for task_id, why in wrong.items()]
        return not wrong

    def _candidate(
        self, pattern: TracePattern, case: Case, works: Sequence[Work], writes: bool, cost: int = 0
    ) -> Candidate | None:
        params, summary = described(case.works, case.params, pattern.task_category, answers=not writes)
        case = replace(case, params=params)
        again = not writes or self._repeatable(case)
        try:
            if cost:
                again = again or self._repeatable(case, staged=True)
                code = shell_code(case, writes, again)
            else:
                code = compile_program(case.template.program, params, self._facts(case, again), writes)
        except ShellError as error:
            self._why.append(str(error))
            return None
        if not creates_file(case.works):
            code.helpers = over_existing(code.helpers)
        name = skill_name(pattern.task_category, summary)
        params = tuple(defaulted(case, k) for k in range(len(params)))
        source = skill_source(name, summary, params, code, RETURNS_CHANGES if writes else RETURNS_ANSWER)
        bindings = {w.evidence.task_id: args_of(params, k) for k, w in enumerate(case.works)}
        notes = tuple(dict.fromkeys(d for w in case.works for d in w.dropped))
        return Candidate(name, source, bindings, summary, self.name, notes, float(cost))

    def told_again(
        self, candidate: Candidate, evidence: Sequence[Evidence], bindings: Mapping[str, Args]
    ) -> tuple[Candidate, Mapping[str, Args]]:
        """See ``synth.interface.Names``."""
        answers = sum(changes_something(e) for e in evidence) * 3 <= len(evidence)
        return told_again(candidate, evidence, bindings, self._category, answers=answers)

    def rejected(self, candidate: Candidate, report: Report) -> None:
        self._rejected.append(report)

    def why_none(self) -> str:
        if self._rejected:
            return f"no candidate passed: {self._rejected[-1].why}"
        if self._why:
            return f"no candidate could be made: {self._why[0]}"
        return "no candidate could be made from these traces"


def cases(works: Sequence[Work], as_written: bool = False) -> Iterator[Case]:
    """Templates: from traces of one shape, and from one trace whose description says what varies."""
    groups = clusters(works, as_written)
    for group in groups:
        try:
            template = template_of([w.program for w in group], as_written, _requests(group))
        except Mismatch:
            continue
        if len(group) > 1 or len(works) == 1:
            yield case_of(template, group)
    if 2 * len(groups[0]) <= len(works) and not as_written:  # few are alike: what the request names may vary
        for w in [group[0] for group in groups if len(group) == 1][:MOST_LIFTED]:
            with suppress(Mismatch):
                yield case_of(lifted(w, works), [w])
    for group in groups if len(groups) > 1 and not as_written else []:
        alike = same_form(works, group[0])
        programs = transferred(group[0], alike) if len(alike) > 1 else None
        if programs is None:
            continue
        try:
            template = template_of(programs, requests=_requests(alike))
        except Mismatch:
            continue
        yield case_of(template, alike)


def _requests(works: Sequence[Work]) -> list[str]:
    return [w.evidence.description for w in works]


def case_of(template: Template, works: Sequence[Work]) -> Case:
    kinds = [[_kind(w, v) for v, w in zip(values, works, strict=True)] for values in template.values]
    folders, files = ({k for k, found in enumerate(kinds) if set(found) == {kind}} for kind in ("dir", "file"))
    absent = {k: values for k, values in enumerate(template.values) if not any(map(_is_there, works, values))}
    said = {k: called(works, values) for k, values in absent.items()}
    written = {k for k, values in enumerate(template.values) if all(map(_is_written, works, map(str, values)))}
    return Case(template, tuple(works), tuple(make_params(template, folders, said, files, written)))


def _is_written(w: Work, value: str) -> bool:
    path = value.removeprefix("./")
    return any(x.path == path and x.after is not None and x.after.type == "file" for x in changes_of(w))


def _is_there(w: Work, value: Value) -> bool:
    return not isinstance(value, str) or value.removeprefix("./").rstrip("/") in (w.evidence.base or Snapshot())


def _kind(w: Work, value: Value) -> str:
    entry = (w.evidence.base or Snapshot()).get(value.removeprefix("./").rstrip("/")) if isinstance(value, str) else None
    return entry.type if entry is not None else ""


def shell_code(case: Case, writes: bool, again: bool) -> Code:
    """The fallback: the pipeline itself, which can be run ``again`` or has to be kept from it."""
    if not writes:
        return read_program(case.template.program, case.params, needed_paths(case))
    changes = [x for w in case.works for x in changes_of(w)]
    done = "" if again else done_where(case)
    placed = any(names_its_place(w.evidence) for w in case.works)
    once = not again and not done
    copies = made_beside(case) if once else []
    return staged_program(
        case.template.program, case.params, changes, needed_paths(case), done, once=once, placed=placed, copies=copies
    )


def needed_paths(case: Case) -> list[str]:
    """Parameters that name a path which every recording has, before and after."""
    return [p.name for p in case.params if p.kind == "str" and all(map(_stays, case.works, map(str, p.values)))]


def _stays(w: Work, value: str) -> bool:
    path = value.removeprefix("./").rstrip("/")
    return all(s is not None and path in s for s in (w.evidence.base, w.evidence.post))


def changes_of(w: Work) -> tuple[Effect, ...]:
    """What a recording changed, the workspace's own directory apart."""
    if w.evidence.base is None or w.evidence.post is None:
        return ()
    return tuple(e for e in effects(w.evidence.base, w.evidence.post) if e.path != ROOT)


def creates_file(works: Sequence[Work]) -> bool:
    return any(e.kind == "created" and e.after is not None and e.after.type == "file" for w in works for e in changes_of(w))


def done_where(case: Case) -> str:
    """A Python condition that holds on every recorded end and on no start: paths that are gone, and what stands in their place.

    ``""`` where the recordings remove nothing whose name follows from the parameters, or that a pattern of the commands names:
    that a path is there says too little.
    """
    gone, there = (named_paths(case, kind) for kind in ("removed", "created"))
    tests = [f"not os.path.lexists({p})" for p in gone] or [f"not glob.glob({p})" for p in used_up(case)]
    return " and ".join([*tests, *(f"os.path.lexists({p})" for p in there)]) if tests and there else ""


def made_beside(case: Case) -> list[str]:
    """Files that each recording makes while it changes others and removes none, as expressions: where nothing else is left to do
    they are not made anew."""
    kinds = [{e.kind for e in changes_of(w)} for w in case.works]
    return named_paths(case, "created") if all({"created", "content"} <= k and "removed" not in k for k in kinds) else []


def used_up(case: Case) -> list[str]:
    """Patterns in the commands that match what each recording removes, and nothing that it keeps, as expressions."""
    words = dict.fromkeys(w for step in case.template.program for w in every(step) if isinstance(w, Word) and w.has_glob)
    return [pattern for word in words if (pattern := _used_up(case, word))]


def _used_up(case: Case, word: Word) -> str:
    pieces: list[Piece] = []
    for part in word.parts:
        if isinstance(part, Hole) and case.params[part.index].kind == "str":
            pieces.append((False, f"glob.escape({case.params[part.index].name})"))
        elif isinstance(part, Lit | Glob):
            pieces.append((True, part.text if isinstance(part, Glob) else glob.escape(part.text)))
        else:
            return ""
    for k, w in enumerate(case.works):
        held = [str(case.params[p.index].values[k]) if isinstance(p, Hole) else spelled(Word((p,))) for p in word.parts]
        pattern = "".join(t if isinstance(p, Glob) else glob.escape(t) for p, t in zip(word.parts, held, strict=True))
        found = [p for p in w.evidence.base or () if _matches(p, pattern)]
        if not found or any(p in (w.evidence.post or ()) for p in found):
            return ""
    return joined(pieces)


def _matches(path: str, pattern: str) -> bool:
    """As a shell matches: folder by folder, hidden names only where they are meant."""
    parts, wanted = path.split("/"), pattern.removeprefix("./").split("/")
    pairs = list(zip(parts, wanted, strict=False))
    return len(parts) == len(wanted) and all(fnmatchcase(p, w) and p.startswith(".") <= w.startswith(".") for p, w in pairs)


def named_paths(case: Case, kind: str) -> list[str]:
    """Paths that each recording removes or creates, as expressions of the parameters: files, or else whole folders."""
    changed = [{e.path: e for e in changes_of(w) if e.kind == kind} for w in case.works]
    whole = [[p for p in row if str(PurePosixPath(p).parent) not in row] for row in changed]
    single = [[p for p, e in row.items() if {x.type for x in (e.before, e.after) if x is not None} != {"dir"}] for row in changed]
    return _in_terms(case, single) or _in_terms(case, whole)


def _in_terms(case: Case, rows: Sequence[Sequence[str]]) -> list[str]:
    """Each recording's paths as expressions of the parameters; empty where one is none."""
    if len({len(r) for r in rows}) != 1:
        return []
    names = [(p.name, tuple(str(v) for v in p.values)) for p in case.params if p.kind != "list[str]"]
    out: list[str] = []
    for column in zip(*rows, strict=True):
        parts = composed(tuple(column), {k: values for k, (_, values) in enumerate(names)}, depth=1)
        if parts is None:
            return []
        pieces = [
            (True, p.text) if isinstance(p, Lit) else (False, names[p.index][0]) for p in parts if isinstance(p, Lit | Hole)
        ]
        out.append(joined(pieces))
    return out


def args_of(params: Sequence[Param], k: int) -> Args:
    """The binding of the k-th trace of the template; values that are the default are left out."""
    return {p.name: p.values[k] for p in params if p.default is None or p.values[k] != p.default}  # type: ignore[misc]  # JSON values


def defaulted(case: Case, index: int) -> Param:
    """The parameter, with a default where one value is nowhere in its trace: it was put in to give all traces one shape."""
    param = case.params[index]
    absent = {v for v, w in zip(param.values, case.works, strict=True) if isinstance(v, str) and not _occurs(v, w)}
    if len(absent) != 1 or param.kind != "str":
        return param
    return replace(param, default=str(absent.pop()))


def _occurs(value: str, w: Work) -> bool:
    texts = [*w.evidence.commands, w.evidence.description, *(w.evidence.base or {})]
    return any(value in t for t in texts)


# ---------------------------------------------------------------- facts about words


def facts_of(case: Case, again: bool) -> Facts:
    """What the snapshots say about words of the template, whose commands can be run ``again`` or not."""

    def entries(word: Word, cwd: Word | None) -> list[tuple[Snapshot, str]]:
        return [(base, path) for base, path, _ in places(word, cwd)]

    def places(word: Word, cwd: Word | None) -> list[tuple[Snapshot, str, Snapshot]]:
        out: list[tuple[Snapshot, str, Snapshot]] = []
        for k, w in enumerate(case.works):
            path, folder = resolve(case.template, word, k), resolve(case.template, cwd, k) if cwd is not None else ""
            if path is not None and folder is not None and w.evidence.base is not None:
                full = f"{folder.strip('/')}/{path}" if folder else path
                out.append((w.evidence.base, full.removeprefix("./").strip("/"), w.evidence.post or Snapshot()))
        return out

    def types(word: Word, cwd: Word | None) -> set[str]:
        return {base[path].type for base, path in entries(word, cwd) if path in base}

    def below(word: Word, cwd: Word | None, kind: str) -> bool:
        return any(e.type == kind for base, root in entries(word, cwd) for p, e in base.items() if p.startswith(root + "/"))

    def grows(word: Word, cwd: Word | None) -> str | None:
        found = [(base.get(path), post.get(path)) for base, path, post in places(word, cwd)]
        rows = [put_in(a.content, b.content) for a, b in found if a is not None and b is not None and a.type == b.type == "file"]
        if again or len(rows) < len(case.works) or "" in rows:
            return None
        return rows[0] if len(set(rows)) == 1 and re.search(r"\w{3}", rows[0]) else ""

    def keeps(word: Word, cwd: Word | None, pattern: str) -> bool:
        found = places(word, cwd)
        return len(found) == len(case.works) and all(
            _has_line(tree.get(path), pattern, {p.name: p.values[k] for p in case.params})
            for k, (base, path, post) in enumerate(found)
            for tree in (base, post)
        )

    return Facts(
        is_dir=lambda word, cwd: types(word, cwd) == {"dir"},
        exists=lambda word, cwd: bool(types(word, cwd)),
        vanishes=lambda word, cwd: any(p in base and p not in post for base, p, post in places(word, cwd)),
        has_links=lambda word, cwd: below(word, cwd, "symlink"),
        has_folders=lambda word, cwd: below(word, cwd, "dir"),
        grows=grows,
        keeps=keeps,
        creates=creates_file(case.works),
    )


def _has_line(entry: Entry | None, pattern: str, values: Mapping[str, object]) -> bool:
    """Whether a file has a line that a pattern matches; the pattern is an expression that this generator wrote."""
    try:
        text = eval(pattern, {"__builtins__": {"str": str}, "re": re, **values})
    except NameError:  # a value that only a run knows
        return False
    lines = entry.content.decode(errors="surrogateescape").split("\n") if entry is not None and entry.type == "file" else []
    return any(re.search(text, line) for line in lines)


def put_in(before: bytes, after: bytes) -> str:
    """The text that was put in, in one place, where nothing else was changed: from the start of a line if that is one way to
    tell it."""
    more = len(after) - len(before)
    start = next((k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after)))
    if more <= 0 or before[start:] != after[start + more :]:
        return ""
    places = takewhile(lambda k: k == start or after[k] == after[k + more], range(start, -1, -1))
    at = next((k for k in places if after[:k].endswith(b"\n") or not k), start)
    return after[at : at + more].decode("utf-8", "replace")


def resolve(template: Template, word: Word, k: int) -> str | None:
    """The word's text in trace k; None where it is not known before the program runs."""
    out: list[str] = []
    for part in word.parts:
        if isinstance(part, Lit):
            out.append(part.text)
        elif isinstance(part, Hole):
            value: Value = template.values[part.index][k]
            if not isinstance(value, str):
                return None
            out.append(value)
        else:
            return None
    return "".join(out)
