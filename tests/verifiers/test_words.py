"""Shell words as bindings see them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.binding.words import c_decode, expand_braces, parse_script, unquote


def texts(*commands: str) -> list[str]:
    return [w.text for w in parse_script(commands).words]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cp -r 'my proj' backup", ["cp", "-r", "my proj", "backup"]),
        ("""echo 'alias ll='"'"'ls -l'"'"'' | tee -a .bashrc""", ["echo", "alias ll='ls -l'", "tee", "-a", ".bashrc"]),
        ("cut -d $'\\t' -f 2-3 a.tsv > b.tsv", ["cut", "-d", "\t", "-f", "2-3", "a.tsv", "b.tsv"]),
        ('for f in *.txt; do mv "$f" "${f%.txt}.md"; done', ["*.txt", "mv", "$f", "${f%.txt}.md"]),
        ("x=$(cat 'a b')", ["cat", "a b"]),
    ],
)
def test_words_are_what_the_shell_sees(command: str, expected: list[str]) -> None:
    """Quotes are gone, expansions stay as written, nested commands are found."""
    assert [t for t in texts(command) if t in expected] == expected


def test_slots_name_the_place() -> None:
    """An option's value is known by its option, others by their number."""
    places = {w.text: (w.program, w.slot) for w in parse_script(("split -d -l 5 data.csv x_ > out",)).words}
    assert places["5"] == ("split", "-l")
    assert places["x_"] == ("split", "#1")
    assert places["out"][1] == ">"


def test_nested_scripts_are_parsed() -> None:
    """What ``bash -c`` runs has words and statements too."""
    script = parse_script(("bash -c 'mv old.txt new.txt'",))
    assert "old.txt" in [w.text for w in script.words]
    assert "mv old.txt new.txt" in script.statements
    for how in ("find . -exec sh -c {} \\;", "ls | xargs /bin/sh -c {}", "eval {}"):
        assert "gzip -k big.log" in parse_script((how.replace("{}", "'gzip -k big.log'"),)).statements


def test_directories_follow_cd() -> None:
    """Relative ``cd`` adds up; variables and absolute paths are left alone."""
    assert parse_script(("cd a/b", "cd ../c", "cd $X", "cd /tmp")).directories == ("a/b", "a/c")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p/{lib,doc/{a,b}}", ["p/lib", "p/doc/a", "p/doc/b"]),
        ("f{01..03}", ["f01", "f02", "f03"]),
        ("{3..1}", ["3", "2", "1"]),
        ("${x,,}", ["${x,,}"]),
        ("{}", ["{}"]),
        ("{a..q..z}", ["{a..q..z}"]),
    ],
)
def test_braces(text: str, expected: list[str]) -> None:
    """Lists and ranges are written out, everything else stays."""
    assert expand_braces(text) == expected


def test_nested_braces_cannot_explode() -> None:
    """A hundred levels are cut off, not computed."""
    assert len(expand_braces("{a," * 100 + "b" + "}" * 100 + "{c,d}" * 100)) <= 64


@given(st.text(alphabet="ab{},.0123456789$\\'\" ", max_size=40))
def test_braces_are_bounded(text: str) -> None:
    """Any text: no crash, never more than the limit, never nothing."""
    assert 1 <= len(expand_braces(text)) <= 64


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=40))
def test_unquote_undoes_quoting(text: str) -> None:
    """What ``shlex`` quotes comes back."""
    assert unquote(shlex.quote(text)) == text


@given(st.text(max_size=60))
def test_any_text_can_be_parsed(text: str) -> None:
    """Broken shell gives what can be read, never an exception."""
    script = parse_script((text,))
    assert all(isinstance(w.text, str) for w in script.words)
    assert isinstance(c_decode(text), str)


@pytest.mark.parametrize("command", ["$(" * 3000 + "a" + ")" * 3000, "if a; then " * 3000 + "b;" + " fi;" * 3000])
def test_commands_nested_too_deeply_give_what_was_read(command: str) -> None:
    """Foreign text may be nested deeper than Python's stack; the next command is read all the same."""
    assert "c" in texts("mv c d", command)
    assert "c" in texts(command, "mv c d")
