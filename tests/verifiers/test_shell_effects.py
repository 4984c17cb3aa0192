"""What commands do at a glance: which change a file, which others they run, and what their words are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.shell.commands import inner_commands, roles
from verifiers.shell.effects import may_change
from verifiers.shell.parse import parse
from verifiers.shell.tree import Lit, ShellError, Simple, Word, literal_word, rebuilt, spelled


@pytest.mark.parametrize(
    "command",
    [
        "ls", "cat a 2>/dev/null", "cat a 2>&1", "sed -n 1p f", "perl -ne print f", "sort f", "awk '$1 > 3 {print $2}' f",
        "find . -name x -exec grep -l a {} +", "find . | xargs wc -l", "env A=1 sort f", "timeout 5 cat f", "tar tf a.tar",
        "tar -tzf src.tgz", "unzip -l a.zip", "unzip -p a.zip b", "git status", "git -P log", "git tag", "command -v jq",
        "sqlite3 d 'select 1'", "bash -c 'ls; cat a'", "x=$(cat f); echo $x", "if [ -f a ]; then cat a; fi", "cd d && ls",
        "time grep a b", "nice -n 5 sort f", "for f in *; do cat $f; done", "while read -r l; do echo $l; done < f",
    ],
)  # fmt: skip
def test_what_only_looks(command: str) -> None:
    """Nothing is written, whatever stands in front of the command."""
    assert not may_change(parse(command))


@pytest.mark.parametrize(
    "command",
    [
        "cat a > b", "ls >> log", "cat a &> b", "sed -i s/a/b/ f", "sed -n -i.bak p f", "perl -pi -e 1 f", "sort -o f f",
        "perl -e 'open(F, \">x\")'", "awk '{print > \"x\"}' f", "awk 'BEGIN{system(\"rm f\")}'", "find . -delete",
        "find . -exec rm {} +", "find . | xargs -n 1 rm", "env A=1 rm f", "sudo rm f", "timeout 5 rm f", "tar xf a.tar",
        "tar czf a.tgz src", "unzip a.zip", "git commit -qm x", "git tag v1", "sqlite3 d 'drop table t'", "some-unknown-tool",
        "bash -c 'rm f'", "x=$(rm f)", "echo `rm f`", "cat <(rm f)", "if rm f; then ls; fi", "[ -n \"$(rm f)\" ]", "$cmd f",
        "for f in $(rm x); do ls; done", "while rm f; do ls; done", "( cd d; rm f )", "ls | tee f", "! rm f",
        "case $x in a) rm f;; esac", "yq -i .a=1 f",
    ],
)  # fmt: skip
def test_what_may_change_a_file(command: str) -> None:
    """A redirection, a command that writes, one that nothing is known of; in a substitution or a condition too."""
    assert may_change(parse(command))


@pytest.mark.parametrize(
    ("command", "inner"),
    [
        ("find a -name x -exec chmod 644 {} + -exec touch b \\;", ["chmod 644 {}", "touch b"]),
        ("xargs -0 -n 1 -I{} cp {} d", ["cp {} d"]),
        ("env A=1 B=2 sort f", ["sort f"]),
        ("timeout -k 5 3 sort f", ["sort f"]),
        ("nice sort f", ["sort f"]),
        ("xargs -0", []),
        ("env", []),
        ("find a", []),
        ("cp a b", []),
    ],
)
def test_commands_that_others_run(command: str, inner: list[str]) -> None:
    """They are found behind options, their values, and settings."""
    node = parse(command).items[0]
    assert isinstance(node, Simple)
    words = node.words[1:]
    assert [" ".join(map(spelled, words[a:b])) for a, b in inner_commands(node.name, [spelled(w) for w in words])] == inner


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("grep -i -m 2 foo f", "syntax syntax number script operand"),
        ("env A=1 sed -e s/a/b/ f", "operand syntax syntax script operand"),
        ("find d -name '*.c' -exec sed -i s/a/b/ {} +", "operand syntax pattern syntax syntax syntax script operand syntax"),
        ("xargs -n 1 grep foo", "syntax number syntax script"),
        ("frobnicate --level=3 -x f", "text syntax operand"),
    ],
)
def test_roles_are_those_of_the_command_that_gets_the_word(command: str, expected: str) -> None:
    """Also where another command starts it."""
    node = parse(command).items[0]
    assert isinstance(node, Simple)
    assert " ".join(roles(node.name, node.words[1:])) == expected


@given(st.text("ab 'c\"$(){}|;&<>*\n-=", max_size=40))
def test_any_tree_has_an_answer_and_rebuilds_itself(text: str) -> None:
    """No text that parses breaks the reading; a tree whose parts stay is the same tree."""
    try:
        tree = parse(text)
    except ShellError:
        return
    assert may_change(tree) in (True, False)

    def same(node: object) -> object:
        return rebuilt(node, same)

    assert same(tree) == tree


def test_a_rebuilt_tree_has_other_words() -> None:
    """Words inside of substitutions too."""

    def shout(node: object) -> object:
        return Lit(node.text.upper()) if isinstance(node, Lit) else rebuilt(node, shout)

    assert shout(parse('echo a "$(cat b)" > c')) == parse('ECHO A "$(CAT B)" > C')
    assert spelled(Word((Lit("a"), *literal_word("b").parts))) == "ab"
