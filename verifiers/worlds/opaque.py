"""Equivariance of contents, names and modes: bytes that nothing mentions mean nothing.

Other bytes in the place of a word of a file must come out in its place, a file under another name is treated as the same one, and
a file that the task edits keeps its mode. Judged only where the trace's commands do just that too, and where the skill does it
with a plain word: then nothing but the odd bytes can have made the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import Entry, ReplayRecord, Snapshot
from verifiers.context import Case, Context, Generated
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import Expectation, expect, shell_request
from verifiers.worlds.asking import answered, question
from verifiers.worlds.constants import texts
from verifiers.worlds.disputed import disputed
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.harm import between, harmless
from verifiers.worlds.indulgence import right_but_for_quotes, table
from verifiers.worlds.invariants.facts import Facts, Start
from verifiers.worlds.judged import CHECK_ID, Judged, Suspect, grammars
from verifiers.worlds.odd import Opaque, with_bytes, with_marks, with_modes, with_names
from verifiers.worlds.plans import Plan
from verifiers.worlds.trials import Beyond, Evidenced, Trial
from verifiers.worlds.world import World

UNPRINTABLE = Beyond("printable-text", "the files are of printable characters")
MARKED = Beyond("line-marks", "no line begins with a sign that the skill knows")
SET_IN = Beyond("line-margins", "the line neither begins nor ends with a blank")
CELLS = Beyond("plain-cells", "a quote before a word of a table is one around its cell")
KNOWN = Beyond("known-signs", "no word has a quote, or the sign of a remark, that the skill knows")
SYNTAX = frozenset("\"'#")
"""What opens something in most formats, so that a single one makes another text of all that follows."""
STRUCTURE = frozenset({"equal-columns", "equal-marks", "delimiters", "json", "yaml"})
"""Invariants of how a file is put together."""
TRIMMED = "no-blanks-around-lines"
TRACES = 2
"""That share the forms: each form is tried on one of them."""
MOST_TRACES = 4
"""On which a form is tried that no other's commands keep."""


def opaque(context: Context, gs: Sequence[Grammar]) -> Judged:
    """Odd bytes and modes where nothing mentions them: the result must have them and be the same otherwise."""
    out = Judged()
    evidenced = Evidenced.of(gs)
    gs, facts = evidenced.gs, evidenced.facts
    able = [g for g in gs if not any(g.expectation.failed) and not g.expectation.volatile]
    cases = _cases(context, able)
    records = context.run("odd bytes", (context.request(c.base, c.args) for _, c, _ in cases))
    out.runs = len(records)
    for (trial, case, also), record in zip(cases, records, strict=True):
        wrong = context.judge.wrong(record, case.expectation, also)
        if wrong is None:
            out.passed.append(Generated(case, record, "renaming"))
            out.judged += 1
        elif context.judge.refuses(record) and harmless(case, record):
            out.information.append(f"{case.label}: refused, and nothing was lost")
        elif right_but_for_quotes(context, trial.g, case.expectation, record):
            out.information.append(f"{case.label}: not judged, only quotes differ there, which say nothing in the file's format")
        elif trial.plain is not None and _wrong_when_plain(context, trial):
            out.information.append(f"{case.label}: not judged, a plain word makes a difference too")
        elif (beyond := _unclear(context, gs, trial, facts, case, record)) is not None:
            if beyond.name not in answered(context.decisions) | {q.invariant for q in out.questions}:
                out.questions.append(question(case, record, beyond, context.judge.answer_path))
        else:
            out.judged += 1
            message = f"{trial.what} changes more than that: {wrong.message}"
            finding = context.finding(CHECK_ID, message, case, wrong, f"--seed {context.seed}")
            if not trial.unusual or differences(case.expectation.tree, record.post, root=False):
                out.findings.append(finding)
                break
            plain = Beyond("plain-words", "", told=f"A file has {trial.what}.")
            if plain.name not in answered(context.decisions):
                asked = question(case, record, plain, context.judge.answer_path)
                out.suspects.setdefault("bytes", Suspect(finding, asked))
    return out


def _unclear(
    context: Context, gs: Sequence[Grammar], trial: Opaque, facts: Facts, case: Case, record: ReplayRecord
) -> Beyond | None:
    """What only a person can say of an end without harm: odd bytes may mean something, or the commands of another recording
    answer as the skill did. What those do to files is no excuse: they may be careless where these are not."""
    answers = not differences(case.expectation.tree, record.post, root=False)
    known = trial.sign in SYNTAX and any(trial.sign in text for text in texts(context.subject.source))
    known = known and not _loses(trial, case, record)
    beyond = KNOWN if known else _beyond(trial, facts, answers=answers)
    exact = (trial.unprintable or trial.marks_a_line or trial.around_a_line) and _loses(trial, case, record)
    if beyond is not None and not _damages(case, record, edited=not exact):
        return beyond
    world = World(trial.g.task_id, trial.expected.base, trial.called, (), frozenset())
    return disputed(context, gs, Trial(trial.g, Plan(), world), case, record) if answers else None


def _beyond(trial: Opaque, facts: Facts, *, answers: bool) -> Beyond | None:
    """Why odd bytes may mean something after all: people do not write them, they part the file in another way, or they are blanks
    around a line: these set it in, or say nothing."""
    if trial.unprintable:
        return UNPRINTABLE
    if trial.around_a_line:
        return SET_IN
    if trial.marks_a_line:
        return MARKED
    base = trial.expected.base
    broken = facts.broken(Start(base, trial.called), Start(trial.g.base, trial.g.args))
    found = [Beyond(f.kind.name, f.sentence) for f in broken if f.kind.name in STRUCTURE or (answers and f.kind.name == TRIMMED)]
    changed = [e for p, e in trial.g.base.items() if base.get(p) != e]
    return CELLS if not found and '"' in trial.before and any(table(e.content) for e in changed) else next(iter(found), None)


def let_off_marks(context: Context) -> list[Generated]:
    """Runs that keep a mark which the commands do not keep: to part from these is not wrong. They are no trials."""
    trials = [t for g in grammars(context)[:1] for t in with_marks(g)]
    cases = [Case(f"{t.what} (trace {t.g.task_id})", t.called, t.expected, t.g.task_id) for t in trials]
    records = context.run("start that is let off", (context.request(c.base, c.args) for c in cases))
    pairs = zip(cases, records, strict=True)
    return [Generated(c, r, "renaming") for c, r in pairs if context.judge.wrong(r, c.expectation) is None]


def _cases(context: Context, able: Sequence[Grammar]) -> list[tuple[Opaque, Case, tuple[Expectation, ...]]]:
    """Each form once, on a trace whose commands do with it what is expected: one may be careless where another is not."""
    sharing = able[:TRACES]
    trials = [t for n, g in enumerate(sharing) for t in (*with_bytes(g, n, len(sharing)), *with_modes(g))]
    found = _supported(context, [*trials, *(t for g in able[:1] for t in with_names(g))])
    for g in able[:MOST_TRACES]:
        known = {t.form for t, *_ in found}
        found += _supported(context, [t for t in with_bytes(g) if t.form not in known])
    return found


def _supported(context: Context, trials: Sequence[Opaque]) -> list[tuple[Opaque, Case, tuple[Expectation, ...]]]:
    """The trials on which the commands do what is expected; of modes also what else is right: they are sloppy about them."""
    recorded = {c.task_id: c for c in context.cases if c.evidence is not None}
    records = context.traces.map(shell_request(t.expected.base, t.g.template.fill(t.called)) for t in trials)
    out: list[tuple[Opaque, Case, tuple[Expectation, ...]]] = []
    for trial, record in zip(trials, records, strict=True):
        x = _shown(recorded[trial.g.task_id], trial, record)
        if x is None:
            continue
        case = Case(f"{trial.what} (trace {trial.g.task_id}, seed {context.seed})", trial.called, x, trial.g.task_id)
        if trial.plain is None:
            out.append((trial, case, (trial.expected, _copied(x, trial.expected))))
        elif _alike(trial.expected, x):
            out.append((trial, case, ()))
    return out


def _alike(image: Expectation, x: Expectation) -> bool:
    """Whether the commands do what is expected, up to the order of lines: a word that begins otherwise is sorted elsewhere."""
    if x.answer_known and sorted(image.answer.split("\n")) != sorted(x.answer.split("\n")):
        return False
    return not differences(image.tree, x.tree) or not differences(_by_lines(image.tree), _by_lines(x.tree))


def _by_lines(tree: Snapshot) -> Snapshot:
    return Snapshot({p: replace(e, content=b"\n".join(sorted(e.content.split(b"\n")))) for p, e in tree.items()})


def _shown(recorded: Case, trial: Opaque, record: ReplayRecord) -> Expectation | None:
    """What the commands do on the start of a trial, if they run as cleanly as they did when recorded."""
    if recorded.evidence is None:
        return None
    x, why = expect(replace(recorded.evidence, base=trial.expected.base), [record])
    usual = trial.g.expectation
    clean = not why and x.failed == usual.failed and x.quiet == usual.quiet
    return replace(x, answer_ordered=usual.answer_ordered, answer_known=usual.answer_known) if clean else None


def _loses(trial: Opaque, case: Case, record: ReplayRecord) -> bool:
    """Whether the odd word is not in the files any more as often as it should be, or anything of them is neither as it was nor as
    it should be: to read it otherwise is one thing, to throw it away, or to spoil what stands beside it, another."""
    x = case.expectation
    wanted, found = (sum(e.content.count(trial.odd) for e in tree.values()) for tree in (x.tree, record.post))
    return found < wanted or not between(x.base, x, record.post, b" \t")


def _damages(case: Case, record: ReplayRecord, *, edited: bool) -> bool:
    """Whether something that is there before is not what it should be; what the commands change too only if not ``edited``."""
    x = case.expectation
    found = {d.path for d in differences(x.tree, record.post, root=False)} & set(case.base)
    return any(not edited or x.tree.get(p) == case.base[p] for p in found)


def _wrong_when_plain(context: Context, trial: Opaque) -> bool:
    x = trial.plain
    if x is None:
        return False
    record = context.run("plain bytes", [context.request(x.base, {**trial.g.args, **trial.plain_args})])[0]
    return context.judge.wrong(record, x) is not None


def _copied(x: Expectation, kept: Expectation) -> Expectation:
    """What the commands do, but new files have the mode that those before have: a careful copy keeps it."""
    modes = {e.mode for p, e in kept.base.items() if e.type == "file" and kept.tree.get(p, e).mode == e.mode}
    mode = modes.pop() if len(modes) == 1 else None
    tree = {p: replace(e, mode=mode) if mode is not None and _new(x, p, e) else e for p, e in x.tree.items()}
    return replace(x, tree=Snapshot(tree))


def _new(x: Expectation, path: str, e: Entry) -> bool:
    return path not in x.base and e.type == "file"
