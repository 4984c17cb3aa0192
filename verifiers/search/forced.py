"""What a branch that only computes would do: the skill is run with every test on the way to that branch taken.

No start may be known on which such a branch runs. Taking it by force shows what it can lead to: which files change then, and
which words of the skill's own come out. What it shows is no proof: bytes of the task's own files may come out otherwise. So a
test that could single out a rare start (a number, a word, a checksum) is not taken for an honest one.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeGuard

from sandbox.interface import ROOT, ReplayRecord
from verifiers.context import Case, Context
from verifiers.expectation.answers import failure
from verifiers.search.harm import doubtful, harm
from verifiers.search.search import traced
from verifiers.search.states import recorded
from verifiers.source.branches import Watched
from verifiers.source.feeding import assigned, loaded
from verifiers.source.parsing import expression, parsed
from verifiers.source.statements import Statement

PURPOSE = "branch taken by force"
MOST_CASES = 4
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_CHECKSUMS = frozenset({"hash", "id", "ord", "crc32", "adler32", "crc_hqx", "digest", "hexdigest", "getrandbits", "random"})
_WORD = re.compile(r"[^\W\d_]{3,}")


def shown_by_force(context: Context, copy: Watched, missed: Sequence[Statement]) -> frozenset[Statement]:
    """Those of the branches that were taken by force on a recorded start and did no harm, nor put words of their own anywhere."""
    return frozenset(s for s in missed if s.kind == "decides" and _taken_well(context, copy, s))


def opened(source: str, statement: Statement) -> str | None:
    """The copy with every test on the way to a statement taken; None where there is no test that could be."""
    tree = parsed(source)
    wanted = {id(test): taken for parent, child in pairwise(_way(tree, statement)) for test, taken in _tests(parent, child)}
    if not wanted or any(_singles_out(tree, n) for n in ast.walk(tree) if id(n) in wanted):
        return None
    kept = [n for n in tree.body if not _is_mark(n)]
    text = ast.unparse(ast.fix_missing_locations(_Opener(wanted).visit(ast.Module(kept, [])))) + "\n"
    marks = source.splitlines(keepends=True)[text.count("\n") :]  # as they stand: their lines tell what ran
    return text + "".join(marks)


def _singles_out(tree: ast.Module, test: ast.AST) -> bool:
    """Whether a test says a number or a word of its own, or looks at a remainder or a checksum."""
    places = {id(n.slice) for n in ast.walk(test) if isinstance(n, ast.Subscript)}  # where it looks, not what it looks for
    texts = [n.value for n in ast.walk(test) if isinstance(n, ast.Constant) and id(n) not in places]
    numbers = [t for t in texts if isinstance(t, int | float) and t not in (0, 1)]
    return bool(numbers or any(_WORD.search(str(t)) for t in texts if isinstance(t, str | bytes)) or _sums_up(tree, test))


def _sums_up(tree: ast.Module, test: ast.AST) -> bool:
    """Whether a remainder or a checksum is part of a test or of what its variables come from."""
    names, parts = loaded(test), [test]
    while True:
        more = [
            n for n in ast.walk(tree) if isinstance(n, ast.stmt | ast.comprehension) and n not in parts and assigned(n) & names
        ]
        if not more:
            break
        parts += more
        names |= {name for n in more for name in loaded(n)}
    inner = [n for part in parts for n in ast.walk(part)]
    remainder = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) and not _is_text(n.left) for n in inner)
    called = {n.attr if isinstance(n, ast.Attribute) else n.id for n in inner if isinstance(n, ast.Attribute | ast.Name)}
    return remainder or bool(called & _CHECKSUMS)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _taken_well(context: Context, copy: Watched, statement: Statement) -> bool:
    source = opened(copy.source, statement)
    if source is None:
        return False
    cases = context.cases[:MOST_CASES]
    records = context.run(PURPOSE, (traced(context.request(c.base, c.args), source) for c in cases))
    reached = [(c, r) for c, r in zip(cases, records, strict=True) if statement.ran(r.lines)]
    if any(_harmful(context, c, r) for c, r in reached):
        return False
    own = _own_words(copy.source, statement)
    if any(own & (_words(r) - _words(context.first[c.label])) for c, r in reached):
        return False
    return any(failure(r.outcome) is None for _, r in reached)  # one that fails shows nothing of what the branch makes


def _harmful(context: Context, case: Case, record: ReplayRecord) -> bool:
    start = recorded(case)
    if harm(context, start, record):
        return True
    return failure(record.outcome) is None and (doubtful(context, start, record) or _loses_lines(case, record))


def _loses_lines(case: Case, record: ReplayRecord) -> bool:
    """Whether lines of a file that the task keeps are gone, and no others stand in their place."""
    for path, entry in case.base.items():
        wanted, now = case.expectation.tree.get(path), record.post.get(path)
        if wanted is None or now is None or {entry.type, wanted.type, now.type} != {"file"}:
            continue
        before, right, after = (e.content.split(b"\n") for e in (entry, wanted, now))
        if len(after) < len(right) and (Counter(before) & Counter(right)) - Counter(after):
            return True
    return False


def _own_words(source: str, statement: Statement) -> set[str]:
    """Words of the texts in the branch."""
    held = _way(parsed(source), statement)[-1]
    texts = (n.value for n in ast.walk(held) if isinstance(n, ast.Constant) and isinstance(n.value, str | bytes))
    return {w for t in texts for w in _WORD.findall(t.decode("utf-8", "replace") if isinstance(t, bytes) else t)}


def _words(record: ReplayRecord) -> set[str]:
    """Words of all that a run leaves and says."""
    said = repr(getattr(record.outcome, "value", ""))
    held = (f"{p}\n{e.target or ''}\n{e.content.decode('utf-8', 'replace')}" for p, e in record.post.items() if p != ROOT)
    return set(_WORD.findall("\n".join((said, *held))))


def _is_mark(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name.startswith("_seen_")


def _way(tree: ast.Module, statement: Statement) -> list[ast.AST]:
    """The nodes from the module down to a statement, or to the branch of an expression for which a mark stands."""
    marks = {n.name for n in tree.body if _is_mark(n) and n.end_lineno == statement.first_line}
    todo: list[list[ast.AST]] = [[tree, n] for n in tree.body if not _is_mark(n)]
    while todo:
        way = todo.pop()
        node = way[-1]
        if isinstance(node, ast.stmt) and node.lineno == statement.first_line and not marks and len(way) > 2:
            return way
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in marks:
            return way[:-2]  # the mark stands in the first place of a list, of which the branch is the second
        if not isinstance(node, ast.Lambda):  # what it is called with is nothing that a test decides
            todo += [[*way, child] for child in ast.iter_child_nodes(node)]
    return [tree]


def _tests(parent: ast.AST, child: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The tests of a node that decide whether its part runs, and how they must come out."""
    if isinstance(parent, ast.If):
        if child in parent.body or child in parent.orelse:
            yield parent.test, child in parent.body
    elif isinstance(parent, ast.IfExp):
        if child is not parent.test:
            yield parent.test, child is parent.body
    elif isinstance(parent, ast.BoolOp):
        before = parent.values[: parent.values.index(child)] if child in parent.values else []
        yield from ((value, isinstance(parent.op, ast.And)) for value in before)
    elif isinstance(parent, _COMPREHENSIONS) and not isinstance(child, ast.comprehension):
        yield from ((test, True) for g in parent.generators for test in g.ifs)


class _Opener(ast.NodeTransformer):
    """Has tests come out as wanted. They are still worked out: what they do besides is part of the run."""

    def __init__(self, wanted: dict[int, bool]) -> None:
        self._wanted = wanted

    def visit(self, node: ast.AST) -> ast.AST:
        taken = self._wanted.get(id(node))
        self.generic_visit(node)
        if taken is None or not isinstance(node, ast.expr):
            return node
        made = expression(f"[0, {taken}][1]")
        assert isinstance(made, ast.Subscript)
        assert isinstance(made.value, ast.List)
        made.value.elts[0] = node
        return ast.copy_location(made, node)
