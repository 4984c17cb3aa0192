"""Shell words: quotes, braces, places, and what is read of text that is broken."""

from __future__ import annotations

import contextlib
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.shell.parse import parse
from verifiers.shell.quoting import c_decode, expand_braces, unquote
from verifiers.shell.script import parse_script
from verifiers.shell.tree import ShellError, Simple


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


def test_variables_are_those_of_the_shell() -> None:
    """What was set to a literal; a variable of an awk or sed program is none."""
    script = parse_script(("A=1 b='x y'; c=$A; awk '{n=2} END {m=n}' f && sed -i 's|^P=.*|P=3|' g; export d=4",))
    assert script.variables == {"A": "1", "b": "x y", "d": "4"}


def test_directories_follow_cd() -> None:
    """Relative ``cd`` adds up; variables and absolute paths are left alone."""
    assert parse_script(("cd a/b", "cd ../c", "cd $X", "cd /tmp")).directories == ("a/b", "a/c")


@pytest.mark.parametrize(
    "text",
    [
        "a{b,c}d", "{1..3}", "{01..03}", "{3..1}", "{1..9..4}", "{a..c}x", "p/{x,y/{1,2}}", "{a,b}{c,d}", "x{,y}", "{}", "{a}",
        "{a..q..z}", "'{a,b}'", '"{a,b}"', r"\{a,b}", "a{b,'c,d'}", "{a,b", "a}{b,c}", "p/{lib,doc/{a,b}}", "f{-1..1}", "{,}z",
    ],
)  # fmt: skip
def test_braces_expand_as_in_bash(text: str) -> None:
    """Nested, quoted, counted and lettered ones: what bash makes of them is what we say."""
    done = subprocess.run(["bash", "-c", f"printf '%s\\n' {text}"], capture_output=True, text=True, check=True)
    assert [unquote(t) for t in expand_braces(text)] == done.stdout.splitlines()


def test_expansions_are_no_braces() -> None:
    """``${x,,}`` lowers a text; what stands in ``$(…)`` is another command's."""
    assert [expand_braces(t) for t in ("${x,,}", "${a,b}", "$(ls {1,2})")] == [["${x,,}"], ["${a,b}"], ["$(ls {1,2})"]]


def test_nested_braces_cannot_explode() -> None:
    """A hundred levels are cut off, not computed."""
    assert len(expand_braces("{a," * 100 + "b" + "}" * 100 + "{c,d}" * 100, 64)) <= 64
    assert expand_braces("{1..1000000}", 3) == ["1", "2", "1000000"]


@given(st.text(alphabet="ab{},.0123456789$\\ ", max_size=40))
def test_braces_are_bounded(text: str) -> None:
    """Any text: never more than the limit, never nothing."""
    with contextlib.suppress(ShellError):
        assert 1 <= len(expand_braces(text, 64)) <= 64


def test_braces_are_what_was_written_without_quotes() -> None:
    """``{a,b}`` names two files, ``'{a,b}'`` one; a here-document and a value have no braces."""
    words = parse_script(("touch {a,b} '{c,d}'; x={e,f}; cat <<E\n{g,h}\nE",)).words
    assert [w.expanded() for w in words if "{" in w.text] == [["a", "b"], ["{c,d}"], ["{e,f}"], ["{g,h}\n"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\a\b\e\E\f\n\r\t\v", "\a\b\x1b\x1b\f\n\r\t\v"),
        (r"\x41\101\\\'\"", "AA\\'\""),
        (r"\q\%", r"\q\%"),
    ],
)
def test_escapes_are_those_of_c(text: str, expected: str) -> None:
    """Of ``$'…'``; others stay as they are, as in bash."""
    assert c_decode(text) == expected
    done = subprocess.run(["bash", "-c", f"printf %s $'{text}'"], capture_output=True, check=True)
    assert done.stdout.decode() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (""""a \\"b\\" \\$c"'d "e'\\ f""", """a "b" $cd "e f"""),
        ('"$(cat "a b")".txt', '$(cat "a b").txt'),
        ("${f%'.txt'}$'\\t'", "${f%'.txt'}\t"),
        ("'open", "open"),
        ('"a\\\nb"', "ab"),
        ("a\\", "a\\"),
    ],
)
def test_quotes_go_and_expansions_stay(text: str, expected: str) -> None:
    """Whatever an expansion holds in quotes is its own affair; an open quote goes on to the end."""
    assert unquote(text) == expected


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


PIECES = ("$y", "$m", "${k}", "/", "-", ".", "_", "a", "1", ":", ",", "+", "%", "@", "$(ls)", "$1", "\\ ", "*")


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=7))
def test_what_stands_together_is_one_word(pieces: list[str]) -> None:
    """The parser cuts ``$y/$m/`` and ``$m\\ a`` in two if it is shown them."""
    (command,) = parse("mv a " + "".join(pieces)).items
    assert isinstance(command, Simple)
    assert len(command.words) == 3
