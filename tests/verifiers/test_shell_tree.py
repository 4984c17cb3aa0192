"""Words and trees: what bash would read, and text that reads back the same."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.embedded.antiunify import unify
from synth.embedded.emit_shell import _no_option
from synth.embedded.normal import normal
from verifiers.shell.others import other_shell
from verifiers.shell.parse import parse, read_words
from verifiers.shell.tree import For, Glob, Group, If, Lit, Pipe, Seq, ShellError, Simple, Sub, Var, While, Word, literal_word
from verifiers.shell.unparse import command, word

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), max_size=30)


def only(text: str) -> Simple:
    node = parse(text).items[0]
    assert isinstance(node, Simple)
    return node


@given(TEXT)
def test_a_quoted_text_is_one_constant_word(text: str) -> None:
    """shlex.quote and back."""
    words = read_words(shlex.quote(text))
    assert [w.literal for w in words] == [text]


@given(st.lists(TEXT, min_size=1, max_size=5))
def test_quoted_arguments_come_back(texts: list[str]) -> None:
    """A whole command line through the parser."""
    line = "printf " + " ".join(map(shlex.quote, texts))
    assert [w.literal for w in only(line).words[1:]] == texts


@given(TEXT)
def test_a_word_written_out_reads_back(text: str) -> None:
    """unparse, then parse."""
    assert read_words(word(literal_word(text)))[0].literal == text


@given(st.text(max_size=60))
def test_any_text_is_a_tree_or_a_shell_error(text: str) -> None:
    """Foreign text never raises anything else."""
    with contextlib.suppress(ShellError):
        assert isinstance(parse(text), Seq)


def test_rare_letters_do_not_end_the_process() -> None:
    """The parser's library crashes on these when it sees them."""
    with contextlib.suppress(ShellError):
        parse("폁\U0010e198${\U00109e4f\x0e")
    assert only("echo \U0010e198é").words[1].literal == "\U0010e198é"


def test_globs_are_active_only_outside_quotes() -> None:
    """``*.txt`` and ``"*.txt"``."""
    assert read_words("*.txt")[0] == Word((Glob("*"), Lit(".txt")))
    assert read_words('"*.txt"')[0].literal == "*.txt"
    assert read_words(r"\*.txt")[0].literal == "*.txt"
    assert read_words("[!a-c]?")[0] == Word((Glob("[!a-c]"), Glob("?")))


def test_expansions_keep_operator_and_pattern() -> None:
    """``${f%.txt}`` and ``${f/a/b}``."""
    var = read_words('"${f%.txt}.md"')[0].parts[0]
    assert isinstance(var, Var)
    assert (var.name, var.op, var.args[0].literal) == ("f", "%", ".txt")
    swap = next(p for p in read_words("${f//a/b}")[0].parts if isinstance(p, Var))
    assert [a.literal for a in swap.args] == ["a", "b"]


@pytest.mark.parametrize("text", ["~/x"])
def test_what_is_not_understood_says_so(text: str) -> None:
    """A clear error, no guess."""
    with pytest.raises(ShellError, match="not understood"):
        read_words(text)


def test_structures_are_found() -> None:
    """One of each."""
    assert isinstance(parse("a | b | c").items[0], Pipe)
    assert len(parse("a | b | c > f").items[0].stages) == 3  # type: ignore[union-attr]  # it is a Pipe
    assert isinstance(parse("for x in a b; do echo $x; done").items[0], For)
    assert isinstance(parse("while read -r x; do echo $x; done < f").items[0], While)
    assert isinstance(parse("if [ -f a ]; then rm a; fi").items[0], If)
    assert isinstance(parse("(cd x; ls)").items[0], Group)
    assert parse("a && b || c; d").joins == ("&&", "||", ";")


def test_redirections_and_here_documents() -> None:
    """Targets, descriptors, texts."""
    first, second = only("cmd > out 2>> err").redirects
    assert (first.fd, first.op, first.target.literal) == (1, ">", "out")
    assert (second.fd, second.op) == (2, ">>")
    doc = only("cat <<'EOF'\n$x y\nEOF").redirects[0]
    assert doc.target.literal == "$x y\n"
    assert only("cat >> M <<'EOF'\n\n \n  x:\n\ty\n\nEOF").redirects[-1].target.literal == "\n \n  x:\n\ty\n\n"
    assert only("cat <<EOF\n\nEOF").redirects[0].target.literal == "\n"
    assert only("cat <<-EOF\n\n\t x\n\tEOF").redirects[0].target.literal == "\n x\n"
    assert only('cat <<< "hi"').redirects[0].target.literal == "hi\n"


def test_text_nested_too_deeply_is_a_shell_error() -> None:
    """Foreign text may be nested deeper than Python's stack."""
    with pytest.raises(ShellError, match="too deeply"):
        parse("if a; then " * 3000 + "b;" + " fi;" * 3000)


@pytest.mark.parametrize(
    "text",
    [
        'for f in *.txt; do mv "$f" "${f%.txt}.md"; done',
        "find . -name '*.c' -exec chmod 644 {} ';'",
        "sort a > b && mv b a",
        "grep -v '^#' f | sort -u > g",
        "if [ -f a ]; then rm a; else touch a; fi",
        "x=$(basename 'a b'); echo \"$x\"",
        'while read -r l; do echo "$l"; done < f',
        "( cd d; ls ) > out",
    ],
)
def test_a_program_written_out_reads_back(text: str) -> None:
    """unparse is the inverse of parse."""
    tree = parse(text)
    assert normal((parse(command(tree)),)) == normal((tree,))


@pytest.mark.parametrize(
    "text",
    [
        'for f in ab cd; do [[ $f =~ ^(.)b$ ]] || continue; echo "${BASH_REMATCH[1]}"; done',
        'for n in 08 9; do printf "%0*d\\n" 3 "$((10#$n))"; done',
        'x=2024-05-06; echo "${x:0:7}" ${x^^} "${#x}"',
        'for f in a.md "b c.txt"; do case "$f" in *.md) echo page;; "b c".*|z) echo "$f";; esac; done | sort',
        "i=0; until (( i >= 3 )); do echo $i; (( i += 1 )); done",
        "for ((i = 0; i < 3; i++)); do echo $i; done > out; cat out",
        'a=(1 "2 3"); a[2]=4; b=x; b+=y; echo "${a[1]}" "${#a[@]}" $b',
        "! false && echo yes; if ! grep -q x /dev/null; then echo none; fi",
        'export A="b c"; readonly D=e; echo "$A" $D',
        'set -- a b; x=p-$1.$2; echo "$x"',
        "if (( 2 > 1 )); then echo more; elif ((1)); then echo one; fi",
    ],
)
def test_what_is_kept_as_it_was_written_does_the_same(text: str, tmp_path: Path) -> None:
    """Constructs without a node of their own, run by bash as they were and as they are written out."""
    tree = parse(text)
    done = [
        subprocess.run(["bash", "-c", t], capture_output=True, text=True, check=False, cwd=tmp_path)
        for t in (text, command(tree), command(parse(command(tree))))
    ]
    assert done[0].stdout
    assert [(d.returncode, d.stdout) for d in done] == [(0, done[0].stdout)] * 3


def test_words_and_commands_are_found_in_what_is_kept() -> None:
    """Values in the branches of a ``case`` can vary; a function's positional parameters are not the program's."""
    traces = [parse(f'case "$x" in {v}) rm {v}.txt;; *) ls;; esac') for v in ("one", "two")]
    template = unify([(t,) for t in traces])
    assert template.values == (("one", "two"),)
    assert command(template.program[0]) == 'case "${x}" in "${1}") rm "${1}".txt;; *) ls;; esac'
    with pytest.raises(ShellError, match="a function"):
        parse("f() { echo $1; }; f a")


def test_a_substitution_holds_a_tree() -> None:
    """Backticks are the same as ``$(…)``."""
    a = read_words("$(ls d)")[0].parts[0]
    b = read_words("`ls d`")[0].parts[0]
    assert isinstance(a, Sub)
    assert a == b


@pytest.mark.parametrize("text", ["a'b", "$'a", "'", "x'y'z'"])
def test_an_open_quote_is_an_error_and_no_endless_loop(text: str) -> None:
    """Where the structure and the word disagree about what is quoted."""
    with pytest.raises(ShellError, match="no closing"):
        read_words(text)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ('mkdir -p "$d"', 'mkdir -p -- "${d}"'),
        ('mv -n "$f" "$d/"', 'mv -n -- "${f}" "${d}"/'),
        ('mv -t d "$f"', 'mv -t d "${f}"'),
        ("rm -f x", "rm -f x"),
        ('grep x "$f"', 'grep x "${f}"'),
    ],
)
def test_what_a_variable_gives_is_no_option(text: str, made: str) -> None:
    """Where the program knows ``--`` and its options come first."""
    assert command(_no_option(parse(text).items[0])) == made


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Get-ChildItem -Recurse *.log | Remove-Item", "PowerShell"),
        ("cd x; $env:PATH", "PowerShell"),
        ("Get-Content a.txt |\n  ForEach-Object { $_.ToUpper() } |\n  Set-Content b.txt", "PowerShell"),
        ("[System.IO.File]::ReadAllText('a')", "PowerShell"),
        ("ls | where size > 1kb | sort-by name", "Nushell"),
        ("open data.json | get items | length", "Nushell"),
        ("let n = (ls | length)", "Nushell"),
        ("ls *.txt | each { |f| mv $f.name $'($f.name).bak' }", "Nushell"),
        ("grep -r 'Get-Item' src | sort", ""),
        ("cat <<'E'\nGet-Item x\nE", ""),
        ("let x=1+2", ""),
        ("ls | sort | head -n 3", ""),
        ("nu -c 'ls | where size > 1kb'", ""),
        ("pwsh -c 'Get-Item x'", ""),
        ("ls > save; open x", ""),
        ("ls *.htm | rename 's/htm/html/'", ""),
        ("apt-get install x; add-apt-repository y", ""),
    ],
)
def test_other_shells_are_refused_by_name(text: str, name: str) -> None:
    """What only they have tells them; in quotes, or given to their own program, it is data."""
    assert other_shell(text) == name
    if name:
        with pytest.raises(ShellError, match=name):
            parse(text)
