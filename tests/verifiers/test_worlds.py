"""Templates, tokens and plans: generated situations from the grammar of the evidence."""

from __future__ import annotations

import random
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.expectation.oracle import Expectation
from verifiers.shell.characters import characters, meaning, splice
from verifiers.worlds.draw import draw, shrink
from verifiers.worlds.grammar import grammar
from verifiers.worlds.hostile import missing_inputs, need_not_exist
from verifiers.worlds.plans import Plan, plans
from verifiers.worlds.renaming import expected_under, renamable, renamings, unsafe_characters
from verifiers.worlds.template import templates
from verifiers.worlds.tokens import fresh_words, substitute
from verifiers.worlds.variation import Step
from verifiers.worlds.world import realise

words = st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1, max_size=8).filter(lambda s: "\n" not in s)


@given(words, st.sampled_from(["bare", "single", "double"]))
def test_a_spliced_value_means_itself(value: str, context: str) -> None:
    """A value put into any quoting context reaches the command unchanged (asked of a real shell)."""
    text = {"bare": "printf %s XX", "single": "printf %s 'XX'", "double": 'printf %s "XX"'}[context]
    at = next(i for i, c in enumerate(characters(text)) if c.value == "X")
    command = splice(text, [(at, at + 2, value)])
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert done.stdout.decode() == value


LINES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1).filter(lambda s: "END" not in s)


@given(LINES, st.sampled_from(["END", "'END'", '"END"', "\\END"]))
def test_a_value_in_a_here_document_means_itself(value: str, delimiter: str) -> None:
    """Whatever the delimiter's quoting, and with an apostrophe before it, as running text has."""
    text = f"cat <<{delimiter}\nit's XX\nEND\necho 'XX'"
    at = next(i for i, c in enumerate(characters(text)) if c.value == "X")
    done = subprocess.run(["bash", "-c", splice(text, [(at, at + 2, value)])], capture_output=True, check=True)
    assert done.stdout.decode() == f"it's {value}\nXX\n"
    assert [c.context for c in characters(text) if c.value == "X"][2:] == ["single"] * 2


def test_a_delimiter_may_be_indented() -> None:
    """``<<-`` ends at the first line that is the delimiter behind tabs."""
    found = [c.context for c in characters("cat <<- 'END'\n\tit's X\n\tEND\necho 'X'") if c.value == "X"]
    assert found == ["verbatim", "single"]


@pytest.mark.parametrize("text", ["echo $((1 << 2))\n'XX'", "cat <<< 'a'\n'XX'", "cat << E\n'XX'"])
def test_what_is_no_here_document_keeps_its_quotes(text: str) -> None:
    """A shift, a here-string, and one without its end."""
    assert {c.context for c in characters(text) if c.value == "X"} == {"single"}


@pytest.mark.parametrize(("a", "b"), [("cat 'x y'", 'cat "x y"'), ("cat x\\ y", "cat 'x y'"), ("echo a.b", "echo 'a.b'")])
def test_quoting_does_not_change_meaning(a: str, b: str) -> None:
    """Texts that differ only in how they quote mean the same."""
    assert meaning(a) == meaning(b)


@pytest.mark.parametrize(("a", "b"), [("ls *.x", "ls '*.x'"), ('echo "$a"', "echo '$a'"), ("a b", "'a b'")])
def test_active_characters_differ_from_quoted_ones(a: str, b: str) -> None:
    """A glob, an expansion and a word break are not their quoted selves."""
    assert meaning(a) != meaning(b)


def test_holes_are_found_by_reading_traces_side_by_side() -> None:
    """A value is a hole where it varies with its parameter; the same letters elsewhere are literals."""
    found = templates([(("cat *.c | wc -c",), {"ext": "c"}), (("cat *.html | wc -c",), {"ext": "html"})])
    assert found[0].fill({"ext": "zz"}) == ("cat *.zz | wc -c",)
    assert found[1].fill({"ext": "c"}) == ("cat *.c | wc -c",)


def test_a_value_that_spans_quotings_is_one_hole() -> None:
    """A value written as 'it'"'"'s' is replaced whole, and what follows keeps its quoting."""
    found = templates(
        [
            (("echo 'it'\"'\"'s' | tee -a 'x y'",), {"line": "it's", "file": "x y"}),
            (("echo b | tee -a c",), {"line": "b", "file": "c"}),
        ]
    )
    assert meaning(found[0].fill({"line": "q", "file": "z"})[0]) == meaning("echo q | tee -a z")


def test_equal_parameters_are_ambiguous() -> None:
    """Two parameters that always have the same value leave no single reading."""
    found = templates([(("ls a",), {"x": "a", "y": "a"}), (("ls b",), {"x": "b", "y": "b"})])
    assert not found[0].parameters


def test_a_trace_alone_gets_holes_at_whole_words_only() -> None:
    """Without a companion only unmistakable places are holes."""
    one = templates([(("find testbed -name '*.php'",), {"root": "testbed", "ext": "php", "n": "1"})])[0]
    assert one.fill({"root": "k", "ext": "c", "n": "2"}) == ("find k -name '*.c'",)
    assert templates([(("cat cat.txt",), {"name": "cat"})])[0].parameters == frozenset()


@given(st.lists(st.sampled_from(["mv a b", "cp 'x y' z", "sed s/q/r/ f", "echo $HOME; ls"]), min_size=1, max_size=3))
def test_filling_with_the_own_arguments_gives_the_own_commands(commands: list[str]) -> None:
    """Template and binding regenerate a trace's own commands."""
    args = {"a": "x y", "b": "f"}
    for t in templates([(tuple(commands), args)]):
        assert tuple(meaning(c) for c in t.fill(args)) == tuple(meaning(c) for c in commands)


def expectation(base: dict[str, bytes], post: dict[str, bytes]) -> Expectation:
    def tree(files: dict[str, bytes]) -> Snapshot:
        return Snapshot({p: Entry("file", 0o644, c) for p, c in files.items()})

    whole = tree(post).replace({ROOT: Entry("dir", 0o755)})
    return Expectation(tree(base), whole, frozenset(), "", True, (0,), (True,))


def rename_grammar():  # type: ignore[no-untyped-def]  # a fixture's shape
    base = {"a.txt": b"1\n2\n", "sub/b c.txt": b"x", "keep.md": b"m"}
    post = {"a.md2": b"1\n2\n", "sub/b c.txt": b"x", "keep.md": b"m"}
    commands = ('for f in *.txt; do mv "$f" "${f%.txt}.md2"; done',)
    t = templates(
        [
            (commands, {"old": "txt", "new": "md2"}),
            ((commands[0].replace("txt", "log").replace("md2", "cfg"),), {"old": "log", "new": "cfg"}),
        ]
    )
    return grammar("t-1", {"old": "txt", "new": "md2"}, t[0], expectation(base, post))


def named_file(post: dict[str, bytes]):  # type: ignore[no-untyped-def]  # a fixture's shape
    base = {"old.log": b"1", "keep": b"k"}
    t = templates([(("rm old.log",), {"file": "old.log"}), (("rm x",), {"file": "x"})])
    return grammar("t-1", {"file": "old.log"}, t[0], expectation(base, post))


def test_what_a_recorded_task_makes_may_be_missing() -> None:
    """One recording makes the folder that it puts a file into; another has one."""
    t = templates([(("mkdir -p d; cp a d",), {"to": "d"}), (("cp a e",), {"to": "e"})])
    there = {"e/b": b"2", "a": b"1"}
    makes = grammar("t-1", {"to": "d"}, t[0], expectation({"a": b"1"}, {"a": b"1", "d/a": b"1"}))
    has = grammar("t-2", {"to": "e"}, t[1], expectation(there, {**there, "e/a": b"1"}))
    assert (need_not_exist([makes, has]), need_not_exist([has])) == ({"to"}, set())


@pytest.mark.parametrize(
    ("post", "removed"),
    [
        ({"keep": b"k"}, {"file"}),
        ({"keep": b"k", "new.log": b"1"}, set()),
        ({"keep": b"k", "old.log": b"2"}, set()),
    ],
    ids=["removed", "moved", "changed"],
)
def test_what_the_task_removes_may_be_missing(post: dict[str, bytes], removed: set[str]) -> None:
    """After ``rm x`` nothing but the missing x tells that it is done; after ``mv x y`` there is y."""
    g = named_file(post)
    assert [h.parameter for h in missing_inputs(g)] == ["file"]
    assert need_not_exist([g]) == removed


def test_the_empty_plan_is_the_recorded_trace() -> None:
    """Nothing varied gives the recorded base, arguments and commands."""
    g = rename_grammar()
    world = realise(g, Plan())
    assert world is not None
    assert (world.base, dict(world.args), world.commands, world.varied) == (
        g.base,
        dict(g.args),
        g.template.commands,
        frozenset(),
    )


def test_plans_keep_base_arguments_and_commands_together() -> None:
    """Renaming an extension renames it in the base, in the argument and in the commands, and nowhere else."""
    g = rename_grammar()
    world = realise(g, Plan((Step("rename", ("txt",)),)))
    assert world is not None
    new = world.args["old"]
    assert {p.rpartition(".")[2] for p in world.base if world.base[p].type == "file"} == {new, "md"}
    assert str(new) in world.commands[0]
    assert "txt" not in world.commands[0]
    assert world.varied == {"old"}


def test_drawing_is_repeatable() -> None:
    """The same seed draws the same plans, and more than a few different ones."""
    g = rename_grammar()
    assert draw(plans(g), 30, 5) == draw(plans(g), 30, 5)
    assert len(draw(plans(g), 30, 5)) > 10


def test_shrinking_keeps_only_what_matters() -> None:
    """A plan that fails because of one copy shrinks to that copy."""
    copies = Step("copy", ("a", "")), Step("copy", ("b", ""))
    plan = Plan((Step("rename-name", ("a",)), Step("rename-name", ("b",)), *copies, Step("drop", ("a",))), salt=2)
    small = shrink(plan, lambda p: copies[1] in p.steps, budget=50)
    assert small == Plan(copies[1:], salt=2)


def test_renaming_renames_the_result_too() -> None:
    """The expected tree of a hostile renaming is the renamed recorded one."""
    g = rename_grammar()
    r = renamable(g)
    assert "a" in r.free
    for n in draw(renamings(g, r), 20, 3):
        x = expected_under(g.expectation, n.names)
        if x is not None and "a" in n.names:
            assert n.names["a"] + ".txt" in x.base
            assert n.names["a"] + ".md2" in x.tree


@given(st.integers(0, 10_000))
def test_fresh_words_are_fresh(seed: int) -> None:
    """New words occur nowhere in what is taken, nor in each other."""
    out = fresh_words(random.Random(seed), "bad dog BADEN", 8)
    assert not any(w in "bad dog baden" for w in out)
    assert not any(a != b and a in b for a in out for b in out)


def test_substitution_is_by_whole_token() -> None:
    """A short token is not renamed inside longer words unless told."""
    assert substitute("c cat a.c", {"c": "zz"}) == "zz cat a.zz"
    assert substitute("8277e0910d750195  d.sql", {"d": "dx"}) == "8277e0910d750195  dx.sql"
    assert substitute("xbazx baz", {"baz": "qq"}, inside=frozenset({"baz"})) == "xqqx qq"


def test_what_a_line_is_made_of_says_nothing_of_names() -> None:
    """A line to add may have spaces, and names may have them too; a separator that names are cut at may not be put into one."""
    lines = templates([((f"echo '{line}' | tee -a hosts",), {"line": line}) for line in ("1.2 a host", "x y")])
    adds = grammar("t", {"line": "1.2 a host"}, lines[0], expectation({"hosts": b"l\n"}, {"hosts": b"l\n1.2 a host\n"}))
    assert " " not in unsafe_characters(adds)
    pairs = ((" b", "_b"), ("-b", "=b"))
    cuts = templates([((f"mv 'a{old}.txt' 'a{new}.txt'",), {"old": old, "new": new}) for old, new in pairs])
    moves = grammar("t", {"old": " b", "new": "_b"}, cuts[0], expectation({"a b.txt": b"a b"}, {"a_b.txt": b"a b"}))
    assert {" ", "_"} <= unsafe_characters(moves)
