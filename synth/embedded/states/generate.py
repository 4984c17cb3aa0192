"""Edit programs as candidates: readable skills with the arguments that each recording had."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from synth.embedded.code import Code, quote
from synth.embedded.emit_python import skill_source
from synth.embedded.helpers import over_existing
from synth.embedded.naming import skill_name, summary_of
from synth.embedded.scope import Param
from synth.embedded.states.edits import CopySibling, Create
from synth.embedded.states.examples import Example, example_of
from synth.embedded.states.learn import Program, programs
from synth.embedded.states.paths import Paths
from synth.embedded.states.patterns import Hole, raw
from synth.embedded.states.values import FUNCTIONS, Parameter
from synth.interface import Candidate, TracePattern
from verifiers.interface import Args, Evidence

_RETURNS = "``ok`` and the number of files changed (0 where all was done already)."
_MOST = 2
"""Programs that are proposed for one pattern."""
LEAST = 3
"""Recordings that show one way of doing something."""


def state_candidates(pattern: TracePattern, evidence: Sequence[Evidence], generator: str, why: list[str]) -> Iterator[Candidate]:
    """Yields a skill for each program that explains all recordings, the simplest first; else says in ``why`` what is missing."""
    order = {t.task_id: n for n, t in enumerate(sorted(pattern.traces, key=lambda t: t.timestamp))}
    found = [(e.task_id, example_of(e)) for e in sorted(evidence, key=lambda e: order.get(e.task_id, 0))]
    why += [f"trace {task_id}: {x}" for task_id, x in found if isinstance(x, str)]
    examples = [x for _, x in found if isinstance(x, Example)]
    if len(examples) < len(found) or not examples:
        return
    if next(programs(examples), None) is None:
        examples = of_one_way(examples)
    made = 0
    for program in programs(examples):
        yield candidate(pattern, program, examples, generator)
        made += 1
        if made == _MOST:
            return
    if not made:
        why.append("no edit program was found that makes every end of its start")


def of_one_way(examples: Sequence[Example]) -> list[Example]:
    """The newest three that one program explains, with all others that it can explain besides; [] where there are none. Files
    get another layout in time, and now and then somebody does something else: neither is to stand in the others' way."""
    newest = list(reversed(examples))
    starts = range(len(newest) - LEAST + 1)
    first = next((n for n in starts if next(programs(newest[n : n + LEAST]), None) is not None), None)
    if first is None:
        return []
    kept = newest[first : first + LEAST]
    for more in newest[first + LEAST :]:
        kept += [more] if next(programs([*kept, more]), None) is not None else []
    return kept[::-1]


def candidate(pattern: TracePattern, program: Program, examples: Sequence[Example], generator: str) -> Candidate:
    """The program as a skill."""
    params = [parameter(p) for p in program.parameters]
    summary = summary_for(program, examples, pattern.task_category)
    name = skill_name(pattern.task_category, summary)
    source = skill_source(name, summary, params, body(program), _RETURNS)
    bindings: dict[str, Args] = {
        x.task_id: {p.name: v if isinstance(v := p.values[k], str) else list(v) for p in program.parameters}
        for k, x in enumerate(examples)
    }
    return Candidate(name, source, bindings, summary, generator, (), float(program.cost))


def summary_for(program: Program, examples: Sequence[Example], category: str = "") -> str:
    """The request's first line with the parameters in it; where that says nothing, what is set where."""
    described = [
        (x.request.split("\n")[0], {p.name: v for p in program.parameters if isinstance(v := p.values[k], str)})
        for k, x in enumerate(examples)
    ]
    summary = summary_of(described, category)
    if re.search(r"[^\W\d_]{3,}", re.sub(r"<\w+>", "", summary)):
        return summary
    files = [p.rpartition("/")[2] for p in examples[0].changed]
    shown = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    return f"Set the {' and '.join(p.name.replace('_', ' ') for p in program.parameters[:2])} in {shown or 'a new file'}"


def parameter(p: Parameter) -> Param:
    kind = "str" if isinstance(p.values[0], str) else "list[str]"
    return Param(p.name, kind, p.values, description(p))


def description(p: Parameter) -> str:
    """What a parameter is, with a value that it had."""
    first = p.values[-1] if isinstance(p.values[-1], str) else p.values[-1][0]
    what = re.sub(r"_\d+$", "", p.name).replace("_", " ")
    shown = first.split("\n")[0][:60]
    return (
        f"The {what}"
        + ("" if "\n" in first else f", such as {shown}")
        + ("" if p.in_request else "; the request need not say it")
    )


def body(program: Program) -> Code:
    """The body of the skill: values checked, files read, edited and written."""
    code = Code(
        taken={p.name for p in program.parameters} | {"files", "m", "k", "path", "old", "made", "changed", "name", "target"}
    )
    for p in program.parameters:
        check(code, p)
    named = [e for e in program.edits if isinstance(e, Paths)]
    if named:
        code.line("changed = 0")
    for rename in named:
        rename.emit(code)
    texts = [e for e in program.edits if e not in named]
    if not texts:
        code.line('return {"ok": True, "changed": changed}')
        return code
    reads = list(dict.fromkeys(r for e in texts for r in e.reads(code)))
    fixed = [r[1:-1] for r in reads if r.startswith("[")]
    lists = ([f"[{', '.join(fixed)}]"] if fixed else []) + [r for r in reads if not r.startswith("[")]
    code.line(f"files = {code.helper('_read')}({_union(lists)})")
    for edit in texts:
        edit.emit(code)
    code.helper("_put")
    new = [isinstance(e, Create | CopySibling) for e in texts]
    if all(new):
        code.helper("_put:new")  # what is there already is read only, and refused where it differs
    elif not any(new):
        code.helpers = over_existing(code.helpers)
    code.line('texts = {name: text.encode(errors="surrogateescape") for name, text in files.items()}')
    total = ("changed + " if named else "") + "sum(_put(Path(name), data) for name, data in texts.items())"
    code.line(f'return {{"ok": True, "changed": {total}}}')
    whole = "\n".join(code.lines)
    code.helpers |= {f.helper for f in FUNCTIONS if f.helper and f"{f.helper}(" in whole}
    return code


def _union(lists: Sequence[str]) -> str:
    return lists[0] if len(lists) == 1 else "[" + ", ".join(f"*{x}" for x in lists) + "]"


def check(code: Code, p: Parameter) -> None:
    """Refuses values of another form than all that were seen: a text that was found by its form could not be found again."""
    values = [v for value in p.values for v in ([value] if isinstance(value, str) else value)]
    form = Hole(tuple(values)).form
    if form.startswith((".", "(?:")):
        return
    test = f"re.fullmatch({raw(form)}, {p.name}) is None"
    if not isinstance(p.values[0], str):
        test = f"not all(re.fullmatch({raw(form)}, value) for value in {p.name})"
    with code.block(f"if {test}:"):
        code.line(f'raise ValueError(f{quote(p.name + " has characters that it cannot have: ")[:-1]}{{{p.name}!r}}")')
