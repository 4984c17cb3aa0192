"""Filters in Python against the programs that they stand for: any text, byte for byte."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.embedded.emit_python import compile_program, skill_source
from synth.embedded.scope import Facts, Param
from verifiers.shell.parse import parse
from verifiers.shell.tree import Hole, Seq, Simple, Word, literal_word

NOTHING = Facts(lambda *_: False, lambda *_: True, lambda *_: False, lambda *_: False, lambda *_: False)
NATIVE = (
    "sort in", "sort -u in", "sort -r in", "sort -n in", "sort -rn in", "cat in | sort -ru",
    "uniq in", "uniq -c in", "uniq -d in", "uniq -u in",
    "cut -d: -f1 in", "cut -d , -f 2- in", "cut -f1,3 in", "cut -f-2 in", "cut -d: -f2 -s in", "cut -c2-3 in", "cut -c 3- in",
    "grep a in", "grep -v a in", "grep -c a in", "grep -F 'a.' in", "grep '^a.*b$' in", "grep -E 'a|b+' in", "egrep '(a|1)' in",
    "grep '[[:digit:]]' in", "grep '\\.' in", "grep ä in", "grep '[ab]1*' in",
    "head -n 2 in", "head -3 in", "head in", "tail -n 2 in", "tail -n +2 in", "tail -1 in", "tac in",
    "tr a b < in", "tr a-c x < in", "tr -d '\\n' < in", "tr '[:lower:]' '[:upper:]' < in",
    "tr ':,' '\\t ' < in", "tr -d 0-9 < in", "wc -l < in",
    "sed 's/a/b/' in", "sed -e 's/a*1/<&>/g' in", "sed -E 's/(a+)/\\1\\1/g' in", "sed 's/\\r$//' in", "sed 's/^[ab]//' in",
    "sed 's/ *$//' in",
    "sort in | uniq -c | sort -rn | head -n 2", "grep a in | cut -d: -f1 | sort -u | tail -n 2 | tac",
    "cut -d: -f1 in | tr a-z A-Z",
)  # fmt: skip
"""Said in Python."""
BY_PROGRAM = (
    "sort -k2 in", "sort -f in", "sort -nu in", "uniq -i in", "cut -c 1,3 in", "cut --complement -f1 in", "grep -w a in",
    "grep '\\w' in", "grep -i a in", "grep 'a.b' in", "grep -n a in", "head -c 3 in", "head -n -1 in", "tail -f in",
    "tr -s a < in", "tr ä a < in", "wc -w < in", "sed -n 's/a/b/p' in", "sed 's/a/b/2' in", "sed 's/./x/' in", "sed 1d in",
    "sed 's/a*/x/g' in", "sed -E 's/a|ab/x/' in", "sed 's/a*\\(ab\\)*/x/' in",
)  # fmt: skip
"""What bytes and signs differ in, or nobody has said in Python."""
ENV = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
TEXT = st.text(st.sampled_from("ab1 :,.\t\n\rc0-ä"), max_size=40)


def source_of(line: str) -> str:
    code = compile_program((parse(line),), (), NOTHING, writes=False)
    return skill_source("filtered", "Filter", (), code, "It.")


def loaded(source: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    api: Any = ModuleType("skill_api")
    api.skill_command, api.Query = lambda **_: lambda f: f, lambda *_, **__: None
    monkeypatch.setitem(sys.modules, "skill_api", api)
    namespace: dict[str, Any] = {}
    exec(compile(source, "skill.py", "exec"), namespace)
    return lambda: asyncio.run(namespace["filtered"]())["output"]


@pytest.mark.parametrize("line", NATIVE)
def test_it_prints_what_the_program_prints(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Last lines without an end, empty ones, numbers and marks wherever they stand."""
    monkeypatch.chdir(tmp_path)
    source = source_of(line)
    assert "subprocess" not in source, source
    run = loaded(source, monkeypatch)

    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(text=TEXT)
    def same(text: str) -> None:
        Path("in").write_bytes(text.encode())
        done = subprocess.run(["bash", "-c", line], capture_output=True, check=False, env=ENV)
        assert done.returncode in (0, 1), done.stderr
        assert run() == done.stdout.decode(errors="replace")

    same()


def test_a_value_called_as_a_variable_is_not_taken_for_it() -> None:
    """``line`` is what many call what they look for."""
    word = Word((Hole(0),))
    command = Seq((Simple((*map(literal_word, ("grep", "-F")), word, literal_word("in"))),))
    code = compile_program((command,), (Param("line", "str", ("a", "b")),), NOTHING, writes=False)
    assert "[row for row in _lines(" in "\n".join(code.lines)
    assert "if os.fsencode(line) in row]" in "\n".join(code.lines)


@pytest.mark.parametrize("line", BY_PROGRAM)
def test_what_python_says_otherwise_stays_with_the_program(line: str) -> None:
    assert "subprocess" in source_of(line)
