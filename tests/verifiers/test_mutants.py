"""Mutants: every operator has its case, words and bookkeeping are left alone, and a sample is fair and repeatable."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.mutation.mutants import Mutant, mutants

HEAD = '''from pathlib import Path
import os, re, shlex, shutil, subprocess
from skill_api import Query, skill_command

@skill_command(autowire=True, description="words")
async def f(a: str = Query("x", description="words"), n: int = Query(3, description="words")) -> dict[str, object]:
    """Words 1 and 2."""
'''


def body(text: str) -> list[Mutant]:
    """All mutants of a skill with this body."""
    return mutants(HEAD + "\n".join("    " + line for line in text.splitlines()) + "\n")


CASES = [
    ("if a:\n    n = 1\nreturn n", "condition-negated", "if not (a):"),
    ("if a:\n    n = 1\nreturn n", "condition-forced", "if True:"),
    ("return [x for x in a if x]", "condition-forced", "if False]"),
    ("return a if n else 0", "condition-negated", "a if not (n) else 0"),
    ("return a == n", "comparison", "a != n"),
    ("return a in n", "comparison", "a not in n"),
    ("return a < n", "comparison", "a <= n"),
    ("return a and n", "boolean-operator", "(a) or (n)"),
    ("return a and n", "operand-dropped", "return (n)"),
    ("return not a", "not-dropped", "return (a)"),
    ("return n * 7", "number", "n * 8"),
    ("return n * 7", "number", "n * (6)"),
    ("return n * 7", "arithmetic", "(n) // (7)"),
    ("return a + '.md'", "text", 'a + ""'),
    ("return a + '.md'", "operand-dropped", "return (a)"),
    ("return a == b'x'", "text", 'a == b""'),
    ("flag = True\nreturn flag", "boolean", "flag = False"),
    ("Path(a).chmod(0o644)", "mode-bits", "chmod(0o755)"),
    ("return a[1:n]", "slice", "return a\n"),
    ("return a[1:n]", "slice", "a[1:]"),
    ("return a.split()[0]", "index", "a.split()[-1]"),
    ("return f'{n:03d}'", "format-dropped", "f'{n}'"),
    ("return f'{n}.md'", "text", "f'{n}'"),
    ("return sorted(a)", "order-dropped", "list(a)"),
    ("return sorted(a)", "order-reversed", "list(reversed(sorted(a)))"),
    ("return list(Path(a).glob('*'))", "function-swapped", "Path(a).rglob('*')"),
    ("return a.strip()", "step-dropped", "return a\n"),
    ("return a.strip()", "function-swapped", "a.lstrip()"),
    ("return a.replace('x', 'y')", "first-only", "a.replace('x', 'y', 1)"),
    ("return re.sub('x', 'y', a)", "first-only", "re.sub('x', 'y', a, count=1)"),
    ("return re.findall('x', a, flags=re.M)", "keyword-dropped", "re.findall('x', a)"),
    ("return shlex.quote(a)", "quoting-dropped", "return (a)"),
    ("return str(n)", "conversion-dropped", "return (n)"),
    ("Path(a).mkdir(exist_ok=True)", "flag-flipped", "exist_ok=False"),
    ("Path(a).write_text('x')", "append-instead", ".open(\"a\").write('x')"),
    ("with open(a, 'w') as out:\n    out.write(a)", "append-instead", "open(a, 'a')"),
    ("Path(a).rename(n)", "copy-instead", 'shutil").copy(Path(a), n)'),
    ("shutil.copy(a, n)", "function-swapped", "shutil.move(a, n)"),
    ("return Path(a).name", "attribute-swapped", "Path(a).stem"),
    ("Path(a).touch()\nreturn n", "statement-removed", "    pass\n"),
    ("Path(a).touch()\nreturn n", "error-swallowed", "except Exception:"),
    ("Path(a).touch()\nreturn n", "statement-doubled", "Path(a).touch(); Path(a).touch()"),
    ("if not a:\n    raise ValueError(a)\nreturn n", "raise-removed", "        pass"),
    ("if not a:\n    return {}\nreturn n", "guard-removed", "    pass\n    return n"),
    ("for x in a:\n    print(x)", "loop-first-only", "list(a)[:1]"),
    ("for x in a:\n    print(x)", "loop-first-skipped", "list(a)[1:]"),
    ("for x in a:\n    if x:\n        continue\n    print(x)", "break-continue", "break"),
    ("try:\n    n = int(a)\nexcept ValueError:\n    n = 0\nreturn n", "handler-widened", "except Exception:"),
    ("try:\n    n = int(a)\nexcept ValueError:\n    raise OSError(a)\nreturn n", "error-swallowed", "        pass"),
    ("total = 0\nfor x in a:\n    total += n\nreturn total", "update-replaced", "total = n"),
    ("subprocess.run(['sh', '-c', 'mv -f \"$1\" \"$2\"', '_', a, n], check=True)", "quoting-dropped", 'mv -f $1 "$2"'),
    ("subprocess.run(['sh', '-c', 'sort -u a | head > b'])", "stage-dropped", "'sort -u a '"),
    ("subprocess.run(['sh', '-c', 'sort -u a | head > b'])", "append-instead", ">> b"),
    ("subprocess.run(['sh', '-c', 'sort -u a | head > b'])", "option-dropped", "'sort  a | head > b'"),
    ("subprocess.run(['rm', '--', a], check=True)", "option-dropped", "['rm', a]"),
    ("return {'ok': True, 'output': a + 'x'}", "text", "'output': a + \"\""),
]


@pytest.mark.parametrize(("text", "operator", "expected"), CASES)
def test_operator(text: str, operator: str, expected: str) -> None:
    """Each operator makes its change, and says so."""
    made = [m for m in body(text) if m.operator == operator and expected in m.source]
    assert made
    assert all(m.description and m.line >= 8 for m in made)


def test_every_operator_has_a_case() -> None:
    """Operators that the cases do not name are seen here."""
    seen = {m.operator for text, _, _ in CASES for m in body(text)}
    assert seen <= {operator for _, operator, _ in CASES}


def test_a_parameter_is_fixed_to_each_traces_value() -> None:
    """Up to three distinct values a parameter, inserted after the docstring."""
    args = [{"a": "x", "n": 1}, {"a": "y", "n": 1}, {"other": 2}]
    made = [m for m in mutants(HEAD + "    return a * n\n", literals=args) if m.operator == "parameter-fixed"]
    assert sorted(m.description for m in made) == ["a is always 'x'", "a is always 'y'", "n is always 1"]
    assert '"""Words 1 and 2."""\n    a = \'x\'\n    return' in next(m.source for m in made if "'x'" in m.description)


def test_words_and_bookkeeping_are_not_mutated() -> None:
    """Docstring, descriptions, messages, counters that only the result shows: none of them differs in any mutant."""
    text = (
        "changed = 0\nmade: list[str] = []\nfor x in sorted(Path(a).iterdir()):\n    if x.suffix == '.md':\n"
        "        raise ValueError(f'bad {x} 5')\n"
        "    x.unlink()\n    changed += 1\n    made.append(x.name)\n"
        "return {'ok': True, 'changed': changed, 'made': made, 'n': len(made)}"
    )
    made = body(text)
    assert made
    for mutant in made:
        for kept in (
            "Words 1 and 2.",
            'description="words"',
            "changed = 0",
            "changed += 1",
            "made.append(x.name)",
            "'changed': changed",
        ):
            assert kept in mutant.source
        assert "f'bad {x} 5'" in mutant.source or mutant.operator in ("raise-removed", "guard-removed")


def test_what_a_helper_returns_for_the_count_is_not_mutated() -> None:
    """A helper's own work is mutated; the number it reports is not, unless something else reads it."""
    helper = "def one(p):\n    if p.exists():\n        return 0\n    p.touch()\n    return 7\n"
    counted = body(helper + "changed = 0\nchanged += one(Path(a))\nreturn {'ok': True, 'changed': changed}")
    assert all("return 0" in m.source or m.operator == "guard-removed" for m in counted)
    assert all("return 7" in m.source and " = one(" not in m.source for m in counted)
    assert {"statement-removed", "condition-negated"} <= {m.operator for m in counted}
    steering = body(helper + "if one(Path(a)):\n    Path(a).touch()\nreturn {'ok': True}")
    assert any("return 8" in m.source for m in steering)


def test_a_counter_that_is_the_answer_is_mutated() -> None:
    """The same counter counts when the answer is made of it."""
    text = "total = 0\nfor x in a:\n    total += 1\nreturn {'ok': True, 'output': str(total)}"
    assert {"number", "statement-removed"} <= {m.operator for m in body(text)}


def test_a_counter_that_steers_is_mutated() -> None:
    """So it does when a condition reads it."""
    text = "changed = int(a == 'x')\nif changed:\n    Path(a).touch()\nreturn {'ok': True, 'changed': changed}"
    assert any(m.operator == "comparison" for m in body(text))


SKILL = HEAD + "".join(f"    {line}\n" for line in (
    "files = sorted(p for p in Path('.').glob('*.' + a) if not p.name.startswith('.'))",
    "for p in files:",
    "    target = p.with_name(p.name[: -len(a)] + str(n))",
    "    if target.exists():",
    "        raise FileExistsError(str(target))",
    "    p.rename(target)",
    "return {'ok': True, 'output': str(len(files))}",
))  # fmt: skip


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 60), st.integers())
def test_samples_are_fair_and_repeatable(limit: int, seed: int) -> None:
    """A sample is a part of the whole, distinct, in file order, the same again, and spread over the operators."""
    whole = {m.id: m for m in mutants(SKILL)}
    sample = mutants(SKILL, limit=limit, seed=seed)
    assert sample == mutants(SKILL, limit=limit, seed=seed)
    assert len(sample) == min(limit, len(whole)) or len(sample) == limit
    assert len({m.source for m in sample}) == len(sample)
    assert [m.line for m in sample] == sorted(m.line for m in sample)
    counts = Counter(m.operator for m in sample)
    operators = {m.operator for m in whole.values()}
    if limit >= len(operators):
        assert set(counts) == operators
    elif counts:
        assert max(counts.values()) == 1


def test_mutants_compile_and_differ() -> None:
    """Every mutant compiles and its tree differs from the skill's and from each other's."""
    made = mutants(SKILL, literals=[{"a": "x", "n": 2}])
    shapes = {ast.dump(ast.parse(m.source)) for m in made}
    assert len(shapes) == len(made)
    assert ast.dump(ast.parse(SKILL)) not in shapes
    assert len(made) > 30


@pytest.mark.parametrize("source", ["", "def f(:", "x = 1\n", "'\ud800'", "def f(a):\n    return " + "+".join("a" * 900)])
def test_texts_without_code_have_no_mutants(source: str) -> None:
    """Nothing to change, nothing made."""
    assert mutants(source) == []


@settings(deadline=None)
@given(st.text(alphabet="abné日\n \"'#", max_size=40))
def test_positions_hold_with_any_text_around(comment: str) -> None:
    """Characters of several bytes do not shift the changes."""
    line = "# " + comment.replace("\n", " ")
    made = mutants(f"{line}\n{HEAD}    return a == {comment.replace(chr(10), '')!r}  {line}\n")
    assert any("!=" in m.source for m in made)
