"""Names that a skill has fixed and no trace varies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot
from verifiers.binding.fixed import fixed_names
from verifiers.interface import Args, Evidence

HEAD = '''
from skill_api import Query, skill_command

@skill_command(autowire=True)
async def spell(file: str = Query(default="words", description="of dict")) -> dict[str, object]:
    """Compare with dict.txt."""
'''
FIXED = HEAD + '    return {"ok": open(file).read() == open("dict.txt").read()}\n'
OPEN = HEAD.replace("file: str", "words: str, file: str") + "    return {'ok': open(file) == open(words)}\n"


def trace(command: str, *paths: str) -> Evidence:
    base = Snapshot({p: Entry("file", 0o644, b"") for p in paths})
    return Evidence("t", "", (command,), ("",), None, (0,), base, None, True)


def names(source: str, *rows: tuple[Evidence, Args]) -> tuple[str, ...]:
    return fixed_names(source, rows)


A = trace("comm -23 a.txt dict.txt", "a.txt", "dict.txt")
B = trace("comm -23 'my b.md' dict.txt", "my b.md", "dict.txt")
C = trace("comm -23 c words", "c", "words")


def test_a_name_in_the_skill_and_in_every_trace_is_fixed() -> None:
    """Words of the docstring, of defaults and descriptions are not in its statements."""
    assert names(FIXED, (A, {"file": "a.txt"}), (B, {"file": "my b.md"})) == ("dict",)
    assert names(FIXED, (A, {}), (B, {})) == ("dict", "txt")


def test_what_a_trace_varies_is_not_fixed() -> None:
    """One trace with another name is enough; so is an argument that says the name."""
    assert names(FIXED, (A, {"file": "a.txt"}), (C, {"file": "c"})) == ()
    assert names(OPEN, (A, {"file": "a.txt", "words": "dict.txt"}), (B, {"file": "my b.md", "words": "dict.txt"})) == ()
    assert names(OPEN, (A, {"file": "a.txt"}), (B, {"file": "my b.md"})) == ()


def test_programs_and_options_are_no_names() -> None:
    """A file that is called as a program or an option is does not make their words fixed."""
    source = HEAD + '    return {"ok": ["sort", "--reverse", "-c"]}\n'
    assert names(source, (trace("sort --reverse a c", "a", "sort", "reverse", "c"), {})) == ()


def test_what_git_keeps_is_no_name() -> None:
    """``git commit`` is not about ``.git/logs/commit``."""
    source = HEAD + '    return {"ok": ["git", "commit", "main.c"]}\n'
    files = (".git/HEAD", ".git/objects/aa/bb", ".git/refs/heads/main", ".git/commit", "main.c")
    assert names(source, (trace("git commit main.c", *files), {})) == ("c", "main")
    assert names(source, (trace("git commit main", *files[:-1]), {})) == ()


def test_without_traces_nothing_is_fixed() -> None:
    """Nothing is the same everywhere where there is nothing."""
    assert names(FIXED) == ()


@given(st.text(max_size=60), st.text(max_size=30), st.dictionaries(st.text(max_size=4), st.text(max_size=8), max_size=2))
def test_any_text_can_be_read(source: str, command: str, args: Args) -> None:
    """Neither broken Python nor broken shell is an error."""
    found = names(source, (trace(command, "a"), args))
    assert set(found) <= {"a"}
