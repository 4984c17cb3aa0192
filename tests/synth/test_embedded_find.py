"""find as Python: on the same tree it finds, and removes, what find does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from synth.embedded.emit_python import compile_program, skill_source
from synth.embedded.scope import Facts
from verifiers.shell.parse import parse
from verifiers.shell.tree import ShellError

FACTS = Facts(
    is_dir=lambda word, cwd: False, exists=lambda word, cwd: False, has_links=lambda word, cwd: False,
    vanishes=lambda word, cwd: False, has_folders=lambda word, cwd: False,
)  # fmt: skip
NAMES = ("p.txt", "path.txt", "p", "a == x", "a != x", "b == y", "a and b", "not c.txt", "d.is_dir()", "n.tmp", "N.TMP")
RUN = """
import asyncio, sys, types
api = types.ModuleType("skill_api")
api.skill_command = lambda **_: (lambda f: f)
sys.modules["skill_api"] = api
scope = {"__name__": "skill"}
exec(compile(open(sys.argv[1]).read(), "skill.py", "exec"), scope)
print(asyncio.run(scope["find_them"]()).get("output", ""), end="")
"""


def tree(root: Path) -> Path:
    """Files with and without content, folders, a link."""
    root.mkdir()
    for k, name in enumerate(NAMES):
        (root / name).write_text("" if k % 2 == 0 else "x" * k)
        (root / "sub" / f"dir {k}").mkdir(parents=True)
        (root / "sub" / name).write_text("y")
    (root / "sub" / "p.txt").write_text("")
    (root / "link").symlink_to("p.txt")
    return root


def left(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*"))


def run_skill(line: str, writes: bool, root: Path, tmp_path: Path) -> str:
    code = compile_program((parse(line),), (), FACTS, writes)
    file = tmp_path / "skill.py"
    file.write_text(skill_source("find_them", "Find them", (), code, "What was found."))
    done = subprocess.run([sys.executable, "-c", RUN, str(file)], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    "tests",
    [
        "! -name '* == x'", "! -name 'a != x'", "-name '*and*'", "! -name '*and*'", "-not -iname '*.tmp'", "-type f -name p.txt",
        "! -type d", "! ! -type f", "! \\( -name '*.txt' -o -type d \\)", "\\( -name p -o -name '* == x' \\)", "-size -3c",
        "! -size 3c", "-type f -empty", "-type d -empty", "! -empty", "-perm 644", "! -perm -100", "-perm /111", "-mindepth 2",
        "! -path './sub/*'", "-name 'not c.txt' -o -name p", "-type f,l", "! -regex '.*txt'", "-name 'd.is_dir()'",
    ],
)  # fmt: skip
def test_what_is_found_is_what_find_finds(tests: str, tmp_path: Path) -> None:
    """Each kind of test, and its negation."""
    root = tree(tmp_path / "work")
    line = f"find . -mindepth 1 \\( {tests} \\) | LC_ALL=C sort"
    expected = subprocess.run(["bash", "-c", line], cwd=root, capture_output=True, text=True, check=True).stdout
    assert expected.strip()
    found = run_skill(f"find . -mindepth 1 \\( {tests} \\)", False, root, tmp_path)
    assert "".join(sorted(found.splitlines(keepends=True))) == expected


@pytest.mark.parametrize(
    "tests",
    [
        "-type f -empty -name p.txt", "-empty", "-type d -empty", "-name 'd.is_dir()'", "-type f ! -name '* == x'",
        "\\( -type f -o -type l \\) -name 'p*'", "-mindepth 2 -type d -empty",
    ],
)  # fmt: skip
def test_what_is_removed_is_what_find_removes(tests: str, tmp_path: Path) -> None:
    """``p.txt`` is a name, whatever the loop's variable is called; a folder goes as a folder, a file as a file."""
    one, other = tree(tmp_path / "one"), tree(tmp_path / "other")
    before = left(one)
    subprocess.run(["bash", "-c", f"find . {tests} -delete"], cwd=one, check=True)
    run_skill(f"find . {tests} -delete", True, other, tmp_path)
    assert left(other) == left(one) != before


@pytest.mark.parametrize(
    "test",
    ["[[ $f == new_* ]] ||", "[[ $f != new_* ]] &&", "[[ $f == *.old.txt ]] ||", "[[ $f == 'new_*' ]] ||"],
)
def test_a_pattern_in_a_test_is_no_text(test: str, tmp_path: Path) -> None:
    names = ("a.txt", "new_b.txt", "c.old.txt", "new_*")
    ends = []
    for way in ("bash", "skill"):
        root = tmp_path / way
        root.mkdir()
        for name in names:
            (root / name).write_text(name)
        line = f'for f in *.txt; do {test} mv "$f" "x$f"; done'
        if way == "bash":
            subprocess.run(["bash", "-c", line], cwd=root, check=False)
        else:
            run_skill(line, True, root, tmp_path)
        ends.append(left(root))
    assert ends[0] == ends[1]
    assert any(name.startswith("x") for name in ends[0])


@pytest.mark.parametrize("test", ["[[ $f == a?b ]]", "[[ $f == a*b ]]", "[ $f = new_* ]", "test $f = new_*", "[ -e new_* ]"])
def test_another_pattern_in_a_test_is_left_to_the_shell(test: str) -> None:
    """In single brackets it stands for names of files."""
    with pytest.raises(ShellError):
        compile_program((parse(f'for f in *.txt; do {test} || mv "$f" "x$f"; done'),), (), FACTS, writes=True)
