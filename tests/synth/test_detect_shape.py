"""Shapes of commands: literals go, what a command does stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.detect.programs import program_shape
from synth.detect.shape import Shape, shapes_of


def shape_of(command: str) -> Shape:
    """The shape of a command line that is one statement."""
    (shape,) = shapes_of(command)
    return shape


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cp -r a b", "cp -r 'my dir' /x/y"),
        ('for f in *.a; do mv "$f" "${f%.a}.b"; done', 'for file in *.txt; do mv "$file" "${file%.txt}.md"; done'),
        ("find . -name '*.c' -print0 | xargs -0 cat | wc -l", 'find . -name "*.py" | xargs cat | wc -l'),
        ("find x -type f -name '*.a' -exec cat {} +", 'find y -name "*.b" -type f -exec cat {} \\;'),
        ("rename 's/^IMG_//' *.jpg", "rename 's/^123_//' *.txt"),
        ("sed -i 's/foo/bar/g' a", "sed -i 's/example.org/example.net/g' 'b c'"),
        ("mkdir -p a b c", "mkdir -p x"),
        ("grep 'TODO' a >> b", "grep FIXME c >> d"),
        ("head -n 5 a", "head -n 10 b"),
        ("jq -r '.\"a\"' f", "jq -r '.\"größe\"' g"),
        ("git commit -m 'one'", "git commit -m two"),
        ("find -name '*.a' -delete", "find . -name '*.b' -delete"),
        ("LC_ALL=C sort -u -- a > b", "sort -u c > d"),
        ("find a -type f -print0 | xargs -0 -r -- rm", "find b -type f | xargs rm"),
        ("jq -r --arg k v '.[]|select(.a==$k)' f", "jq -r --arg name x '.[]|select(.b==$name)' g"),
        ("sed -i '2a ## 1.0\\n- one' f", "sed -i '4a ## 2.0\\n- more of it' g"),
        ("sed -i '/^\\[a\\]/,/^\\[/ s/^b=.*/b=1/' f", "sed -i '/^\\[c d\\]/,/^\\[/ s|^e=.*|e=/x/y|' g"),
        ("awk -v n=1 '{print n}' f", "awk -v m=22 '{print m}' g"),
    ],
)
def test_literals_do_not_matter(one: str, other: str) -> None:
    """Two commands of one task have one skeleton."""
    assert shape_of(one).skeleton == shape_of(other).skeleton


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("awk -F, '{s+=$3} END{print s}' f", "awk -F, '$3>m{m=$3} END{print m}' f"),
        ("awk 'END{print NR}' f", "awk 'END{print NF}' f"),
        ("rename 's/^IMG_//' *", "rename 's/\\s+/_/g' *"),
        ("rename 's/a/b/' *", "rename 'y/A-Z/a-z/' *"),
        ("sed -i '/x/d' f", "sed -n '/x/p' f"),
        ("tr a-z A-Z", "tr A-Z a-z"),
        ("find . -type f", "find . -type d"),
        ("find . -name x -delete", "find . -name x"),
        ("sort -n f | head -1", "sort -n f | tail -1"),
        ("git add x", "git rm x"),
        ("tar czf a b", "tar xzf a b"),
        ("a > f", "a >> f"),
        ("python3 build.py x", "python3 clean.py x"),
        ("bash deploy.sh", "bash test.sh"),
        ("find . -exec rm {} +", "find . -exec cat {} +"),
        ("python3 - <<'E'\nprint(sum(rows))\nE", "python3 - <<'E'\nprint(max(rows))\nE"),
        ("awk -v n=1 '{s += $n} END {print s}' f", "awk -v n=1 '{print $n}' f"),
        ("jq --arg k v 'length' f", "jq --arg k v 'keys' f"),
        ("sed -e 's/a/b/' -e '/x/d' f", "sed -e 's/a/b/' -e '/x/p' f"),
        ("mv a .", "mv a b"),
        ("sed '2a x' f", "sed '2i x' f"),
        ("sed 's/a/b/' f", "sed 's/a/b&/' f"),
    ],
)
def test_what_is_done_matters(one: str, other: str) -> None:
    """Sum and maximum, delete and print, upper and lower: not one task."""
    assert shape_of(one).skeleton != shape_of(other).skeleton


@pytest.mark.parametrize(
    ("command", "observes"),
    [
        ("ls -la | head", True),
        ("grep -r x . 2>/dev/null", True),
        ("cat a 2>&1", True),
        ("cat a > b", False),
        ("cat a | tee b", False),
        ("sed 's/a/b/' f", True),
        ("sed -i 's/a/b/' f", False),
        ("find . -name x", True),
        ("find . -name x -delete", False),
        ("find . -exec rm {} +", False),
        ("find . | xargs wc -l", True),
        ("find . | xargs rm", False),
        ("sudo rm x", False),
        ("git status", True),
        ("git commit -m x", False),
        ("tar tf a", True),
        ("tar xf a", False),
        ("sort f -o f", False),
        ("sqlite3 d 'select 1'", True),
        ("sqlite3 d 'insert into t values (1)'", False),
        ("some-unknown-tool", False),
        ("for f in *; do cat $f; done", True),
        ("for f in *; do rm $f; done", False),
        ("x=$(rm f)", False),
    ],
)
def test_observing_steps_are_told_from_working_ones(command: str, observes: bool) -> None:
    """A command that is not known to be harmless counts as work."""
    assert shape_of(command).observes is observes


def test_literals_and_names_are_listed() -> None:
    """What was taken out, and every command that runs, nested ones too."""
    shape = shape_of("find src -name '*.c' | xargs -0 wc -l > 'out file'")
    assert shape.names == ("find", "xargs", "wc")
    assert shape.literals == ("src", "*.c", "out file")


@pytest.mark.parametrize("form", ["f() {{ cp -r {0} b; }}; f {0}", "cp -r {0} b )", "Copy-Item -Recurse {0} b | Out-Null"])
def test_what_is_not_understood_is_one_statement_of_its_words(form: str) -> None:
    """A function, a syntax error, another shell: values go, names and options stay, and it counts as work."""
    one, other = shape_of(form.format("x.txt")), shape_of(form.format("'y z.md'"))
    assert (one.skeleton, one.names) == (other.skeleton, other.names)
    assert not one.observes
    assert "x.txt" in one.literals


def test_cd_is_a_move() -> None:
    """Neither work nor observation: it goes along with what follows."""
    assert shape_of("cd 'a b'").moves
    assert [s.moves for s in shapes_of("cd a && ls")] == [True, False]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cd 'a b' && find . -name '*.x' -delete", "find c -name '*.y' -delete"),
        ("cd a && sort -u b > c", "sort -u 'd/e f' > g"),
        ("(cd a; rm -r b)", "rm -r c"),
    ],
)
def test_where_it_is_done_does_not_matter(one: str, other: str) -> None:
    """A task is the same from another working directory."""
    assert [s.skeleton for s in shapes_of(one) if not s.moves] == [s.skeleton for s in shapes_of(other)]


def test_here_and_there_are_two_tasks() -> None:
    """Without a ``cd``, ``.`` is where the agent works."""
    assert shape_of("find . -type d").skeleton != shape_of("find a -type d").skeleton
    assert shapes_of("find . -type d", moved=True) == shapes_of("cd b; find . -type d")[1:]


@pytest.mark.parametrize(
    ("command", "statements"),
    [
        ("a; b && c\nd", 4),
        ("cd x && { a; b; }", 3),
        ("(cd x; a)", 2),
        ("a && b > c", 2),
        ("a || b", 1),
        ("a && b || c", 1),
        ("for f in *; do a; b; done; c", 2),
        ("# a note\na", 1),
        ("", 0),
    ],
)
def test_a_line_is_its_statements(command: str, statements: int) -> None:
    """What must all happen is told apart; alternatives and loops are one."""
    assert len(shapes_of(command)) == statements


@given(st.text())
def test_any_text_has_shapes(text: str) -> None:
    """Foreign text never breaks the reader; the same text has the same shapes."""
    shapes_of.cache_clear()
    first = shapes_of(text)
    shapes_of.cache_clear()
    assert shapes_of(text) == first


def test_a_long_script_is_told_by_its_beginning() -> None:
    """A script of nothing but delimiters would be read for hours."""
    assert program_shape("sed", "s" + "/" * 200_000) == "s" + "/" * 79


@given(st.sampled_from(["sed", "awk", "jq", "tr", "grep", "rename", "sqlite3", "perl"]), st.text())
def test_any_program_has_a_shape(command: str, text: str) -> None:
    """Programs of any text."""
    assert isinstance(program_shape(command, text), str)


@pytest.mark.parametrize(
    "command", ["(" * 3000 + "a" + ")" * 3000, "if a; then " * 3000 + "b;" + " fi;" * 3000, "a " + "&& a " * 3000]
)
def test_a_command_nested_too_deeply_is_like_itself_only(command: str) -> None:
    """Foreign text may be nested deeper than Python's stack; it counts as work that nothing is known of."""
    (shape,) = shapes_of(command)
    assert (shape.skeleton, shape.names, shape.observes) == (command, (), False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tar -xzf a/x.tar.gz -C b", "tar -xzf c.tgz -C d/e"),
        ("sqlite3 a.db \"SELECT x FROM t WHERE y = 'A' LIMIT 2;\"", "sqlite3 b/c.db \"SELECT x FROM t WHERE y = 'B' LIMIT 3;\""),
        ("sed -i 's/^A=.*/A=1/' f", "sed --in-place -e 's/^B=.*/B=2/' g"),
        ("git log --format=%s v1..v2 -- src", "git log --format=%s a..b -- docs"),
    ],
)
def test_one_task_in_other_words(one: str, other: str) -> None:
    """An archive's or a database's name is no program, and long flags say what short ones say."""
    assert shape_of(one).skeleton == shape_of(other).skeleton


def test_listing_tags_changes_nothing() -> None:
    """``git tag`` alone looks; with a name it makes one."""
    assert shape_of("git tag").observes
    assert not shape_of("git tag v1").observes
