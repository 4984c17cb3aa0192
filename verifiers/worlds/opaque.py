"""Equivariance of contents and modes: bytes that nothing mentions mean nothing.

Other bytes in the place of a word of a file must come out in its place, and a file that the task edits keeps its mode. Judged
only where the trace's commands do just that too, and where the skill does it with a plain word: then nothing but the odd bytes
can have made the difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sandbox.interface import ROOT, Entry, ReplayRecord, Snapshot
from verifiers.context import Case, Context, Generated
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import Expectation, expect, shell_request
from verifiers.interface import Args
from verifiers.worlds.asking import answered, question
from verifiers.worlds.grammar import Grammar, in_repository
from verifiers.worlds.harm import harmless
from verifiers.worlds.judged import CHECK_ID, Judged
from verifiers.worlds.tokens import substitute, tokens
from verifiers.worlds.trials import Beyond

PLAIN = "{}qz"
FORMS = {
    "a form feed": "{}\fqz",
    "a vertical tab": "{}\vqz",
    "a file separator": "{}\x1cqz",
    "a next-line character": "{}\x85qz",
    "a line separator": "{}\u2028qz",
    "bytes that are no UTF-8": "{}\udcff\udcfeqz",
    "decomposed letters": "{}e\u0301qz",
    "a byte order mark": "{}\ufeffqz",
    "a letter that changes with its case": "{}\u0130\u00dfqz",
    "a blank": "{} qz",
    "two blanks": "{}  qz",
    "a tab": "{}\tqz",
    "a dash": "{}-qz",
    "a dot": "{}.qz",
    "an underscore": "{}_qz",
    "a digit": "{}7qz",
    "a quote": "{}'qz",
    "a double quote": '{}"qz',
    "a backslash": "{}\\nqz",
    "a glob": "{}*qz",
    "an ampersand": "{}&qz",
    "a dollar": "{}$1${{HOME}}qz",
    "a percent sign": "{}%sqz",
    "braces": "{}{{0}}qz",
    "a comma": "{},qz",
    "a colon": "{}:qz",
    "an equal sign": "{}=qz",
    "a hash": "{}#qz",
    "a slash": "{}/qz",
    "markup": "{}<b>&lt;qz",
    "many letters": "{}" + "q" * 9000,
}
"""What stands behind a word instead of nothing -> the word with it. The word itself stays in front: lines keep their order."""
AT_THE_END = {"a blank behind": "{} ", "a tab behind": "{}\t"}
AT_THE_START = {"a blank before": " {}", "a tab before": "\t{}"}
MODES = {"nobody else may read": 0o600, "anybody may run": 0o755, "the group may write": 0o664}
UNPRINTABLE = Beyond("printable-text", "the files are of printable characters")
MOST_OWN = 8
TRACES = 2
"""That share the forms: each form is tried on one of them."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """One start with odd bytes or modes, and the recorded outcome with them."""

    g: Grammar
    what: str
    expected: Expectation
    plain: Expectation | None = None
    """The same with a plain word; None for modes."""
    args: Args = field(default_factory=dict)
    """What the call says instead of the recorded arguments."""
    plain_args: Args = field(default_factory=dict)
    unprintable: bool = False
    """The bytes are no characters that people write: what they do to a new file or an answer is for a person to say."""

    @property
    def called(self) -> Args:
        return {**self.g.args, **self.args}


def opaque(context: Context, gs: Sequence[Grammar]) -> Judged:
    """Odd bytes and modes where nothing mentions them: the result must have them and be the same otherwise."""
    out = Judged()
    able = [g for g in gs if not any(g.expectation.failed) and not g.expectation.volatile]
    trials = [t for n, g in enumerate(able[:TRACES]) for t in (*list(_with_bytes(g))[n % TRACES :: TRACES], *_with_modes(g))]
    trials += [t for g in able[:1] for t in _with_names(g)]
    cases = _supported(context, trials)
    records = context.run("odd bytes", (context.request(c.base, c.args) for _, c, _ in cases))
    out.runs = len(trials) + len(records)
    for (trial, case, also), record in zip(cases, records, strict=True):
        wrong = context.judge.wrong(record, case.expectation, also)
        if wrong is None:
            out.passed.append(Generated(case, record, "renaming"))
            out.judged += 1
        elif context.judge.refuses(record) and harmless(case, record):
            out.information.append(f"{case.label}: refused, and nothing was lost")
        elif trial.plain is not None and _wrong_when_plain(context, trial):
            out.information.append(f"{case.label}: not judged, a plain word makes a difference too")
        elif trial.unprintable and not _damages(case, record):
            if UNPRINTABLE.name not in answered(context.decisions) | {q.invariant for q in out.questions}:
                out.questions.append(question(case, record, UNPRINTABLE, context.judge.answer_path))
        else:
            out.judged += 1
            message = f"{trial.what} changes more than that: {wrong.message}"
            out.findings.append(context.finding(CHECK_ID, message, case, wrong, f"--seed {context.seed}"))
            break
    return out


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


def _damages(case: Case, record: ReplayRecord) -> bool:
    """Whether something that is there before is not what it should be."""
    return any(d.path in case.base for d in differences(case.expectation.tree, record.post, root=False))


def _wrong_when_plain(context: Context, trial: Opaque) -> bool:
    x = trial.plain
    if x is None:
        return False
    record = context.run("plain bytes", [context.request(x.base, {**trial.g.args, **trial.plain_args})])[0]
    return context.judge.wrong(record, x) is not None


def _with_bytes(g: Grammar) -> Iterator[Opaque]:
    """Each form behind a word of its own, as far as there are words: those of files that the task reads or changes first; and
    behind one of those that come out."""
    words = _words(g)
    told = _told(g, words)
    forms = FORMS | {f"the skill's own text in {form.format('…')!r}": form for form in _own(g)}
    for n, (what, form) in enumerate(forms.items() if words else ()):
        chosen = dict.fromkeys([words[n % len(words)], *(told[n % len(told)] for _ in told[:1])])
        yield from (_bytes(g, word, what, form) for word in chosen)
    lines = [line for e in _interesting(g) for line in _text(e).split("\n") if line]
    ends = [w for line in lines for w in tokens(line)[-1:] if line.endswith(w) and w in g.free_words]
    starts = [w for line in lines for w in tokens(line)[:1] if line.startswith(w) and w in g.free_words]
    for word in ends[:1]:
        yield from (_bytes(g, word, what, form) for what, form in AT_THE_END.items())
    for word in starts[:1]:
        yield from (_bytes(g, word, what, form) for what, form in AT_THE_START.items())


def _with_names(g: Grammar) -> Iterator[Opaque]:
    """What an argument names is called as a text of the skill's own is."""
    for p, v in sorted(g.args.items()):
        if isinstance(v, str) and v in g.base and v != ROOT and p in g.template.parameters:
            expected, plain = _called(g, v, PLAIN.format("")), {p: _beside(v, PLAIN.format(""))}
            for text in [t for t in g.constants.parts if t.strip(".")][:MOST_OWN]:
                yield Opaque(g, f"{v} called {text!r}", _called(g, v, text), expected, {p: _beside(v, text)}, plain)


def _called(g: Grammar, path: str, name: str) -> Expectation:
    """The recorded outcome where a path has another name."""
    x, new = g.expectation, _beside(path, name)

    def moved(tree: Snapshot) -> Snapshot:
        return Snapshot({new + p[len(path) :] if p == path or p.startswith(f"{path}/") else p: e for p, e in tree.items()})

    return replace(x, base=moved(x.base), tree=moved(x.tree), answer=x.answer.replace(path, new))


def _beside(path: str, name: str) -> str:
    return f"{path.rpartition('/')[0]}/{name}".lstrip("/")


def _bytes(g: Grammar, word: str, what: str, form: str) -> Opaque:
    odd = form.format("")
    expected, plain = _image(g, {word: form.format(word)}), _image(g, {word: PLAIN.format(word)})
    return Opaque(g, f"{what} at {word!r}", expected, plain, unprintable=not odd.replace("\t", "").isprintable())


def _words(g: Grammar) -> list[str]:
    free = set(g.free_words)
    found = (w for e in _interesting(g) for w in tokens(_text(e)) if w in free)
    return list(dict.fromkeys(found))


def _told(g: Grammar, words: Sequence[str]) -> list[str]:
    """Of the words those that stand in the answer, or in what the task changes."""
    x = g.expectation
    changed = {p: e for p, e in x.tree.items() if p in x.base and e != x.base[p] and e.type == "file"}
    lines = {line for p, e in changed.items() for line in set(_text(e).split("\n")) ^ set(_text(x.base[p]).split("\n"))}
    out = set(tokens("\n".join((x.answer if x.answer_known else "", *lines))))
    return [w for w in words if w in out]


def _own(g: Grammar) -> list[str]:
    """Forms of the skill's own texts: a word may begin, end, or go on with one."""
    texts = [t.replace("{", "{{").replace("}", "}}") for t in g.constants.parts if t not in g.template.literal_text()]
    return [form for t in texts[:MOST_OWN] for form in (f"{t}{{}}", f"{{}}{t}", f"{{}}{t}qz")]


def _interesting(g: Grammar) -> list[Entry]:
    """Files with text, those that the task changes or an argument names first."""
    whole = g.base
    files = [(p, e) for p, e in whole.items() if e.type == "file" and b"\0" not in e.content and not in_repository(p, whole)]
    free = {p for p, e in files if g.expectation.tree.get(p) == e and p in g.files}
    return [e for p, e in sorted(files, key=lambda pair: (pair[0] in free, pair[0]))]


def _text(e: Entry) -> str:
    return e.content.decode("utf-8", "surrogateescape")


def _image(g: Grammar, words: dict[str, str]) -> Expectation:
    """The recorded outcome with other words in contents, in what is made of them, and in the answer."""
    x = g.expectation
    base = {p: e if in_repository(p, x.base) else _renamed(e, words) for p, e in x.base.items()}
    tree = {
        p if p in x.base else substitute(p, words): e if in_repository(p, x.tree) else _renamed(e, words)
        for p, e in x.tree.items()
    }
    return replace(x, base=Snapshot(base), tree=Snapshot(tree), answer=substitute(x.answer, words))


def _renamed(e: Entry, words: dict[str, str]) -> Entry:
    if e.type != "file" or b"\0" in e.content:
        return e
    return replace(e, content=substitute(_text(e), words).encode("utf-8", "surrogateescape"))


def _with_modes(g: Grammar) -> Iterator[Opaque]:
    """Files that the task changes, moves or copies with other modes, and directories: what is edited keeps its own."""
    x = g.expectation
    folders = [
        p for p, e in x.base.items() if e.type == "dir" and p != ROOT and _keeps_mode(x, p) and not in_repository(p, x.base)
    ]
    if folders:
        base, tree = ({p: replace(e, mode=0o700) if p in folders else e for p, e in t.items()} for t in (x.base, x.tree))
        yield Opaque(g, "a directory that nobody else may enter", replace(x, base=Snapshot(base), tree=Snapshot(tree)))
    files = [p for p, e in x.base.items() if e.type == "file" and _keeps_mode(x, p) and not in_repository(p, x.base)]
    for what, mode in MODES.items() if files else ():
        base = {p: replace(e, mode=mode) if p in files else e for p, e in x.base.items()}
        tree = {p: replace(e, mode=mode) if p in files else e for p, e in x.tree.items()}
        yield Opaque(g, f"a mode with which {what}", replace(x, base=Snapshot(base), tree=Snapshot(tree)))


def _copied(x: Expectation, kept: Expectation) -> Expectation:
    """What the commands do, but new files have the mode that those before have: a careful copy keeps it."""
    modes = {e.mode for p, e in kept.base.items() if e.type == "file" and kept.tree.get(p, e).mode == e.mode}
    mode = modes.pop() if len(modes) == 1 else None
    tree = {p: replace(e, mode=mode) if mode is not None and _new(x, p, e) else e for p, e in x.tree.items()}
    return replace(x, tree=Snapshot(tree))


def _new(x: Expectation, path: str, e: Entry) -> bool:
    return path not in x.base and e.type == "file"


def _keeps_mode(x: Expectation, path: str) -> bool:
    return path not in x.tree or x.tree[path].mode == x.base[path].mode
