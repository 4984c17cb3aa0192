"""What generated workspaces vary beyond names: contents, sizes and numbers that the skill itself mentions, odd bystanders."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.checks.crash_convergent import unlocked
from verifiers.checks.deterministic_replay import masked
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Args
from verifiers.source.statements import statements
from verifiers.worlds.constants import LARGEST, constants, texts
from verifiers.worlds.draw import draw
from verifiers.worlds.grammar import Grammar, grammar
from verifiers.worlds.noticed import unnoticed
from verifiers.worlds.plans import Plan, plans, systematic
from verifiers.worlds.template import templates
from verifiers.worlds.variation import Choice, Rule, Step
from verifiers.worlds.variations.bystanders import EMPTY, HIDDEN, LINK, NAMESAKES
from verifiers.worlds.variations.deep import DEPTH
from verifiers.worlds.variations.grown import grown
from verifiers.worlds.variations.near import CASE, LETTERS
from verifiers.worlds.variations.other_names import DOT_WITHIN, ENDING_TWICE, IN_DIRECTORY, MARK_TWICE
from verifiers.worlds.variations.spelling import CASES as CASES_OF_WORDS
from verifiers.worlds.variations.value_larger import dated
from verifiers.worlds.world import realise

TABLE = b"id,state\nk1,new\nk2,old\nk3,new\n"
SKILL = '''
"""Module words."""

async def f(file: str = Query(..., description="said in a description")) -> dict:
    """Docstring words."""
    lines = open(file).readlines()[:40]
    return {"ok": "password" not in lines, "big": 1 << 40, "flag": True}
'''


def tree(**files: bytes) -> Snapshot:
    return Snapshot({p.replace("_", "."): Entry("file", 0o644, c) for p, c in files.items()})


def table_grammar() -> Grammar:
    x = Expectation(tree(a_csv=TABLE), tree(a_csv=TABLE.replace(b"k2,old", b"k2,off")), frozenset(), "", True, (0,), (True,))
    traces = [(("fix a.csv",), {"file": "a.csv"}), (("fix b.csv",), {"file": "b.csv"})]
    return grammar("t", {"file": "a.csv"}, templates(traces)[0], x, constants(SKILL))


def test_constants_are_those_of_the_code() -> None:
    """Numbers and words of the statements, none of docstrings and parameters."""
    found = constants(SKILL)
    assert found.numbers == (40,)
    assert "password" in found.words
    assert not {"Docstring", "words", "said", "Module"} & set(found.words)


def test_names_of_encodings_are_no_texts_and_others_do_not_pass_for_one() -> None:
    """Whatever the argument is called that hands them on."""
    given = "g(encoding='a.lock', errors='note.txt')"
    source = f"def f(b, g):\n    {given}\n    return b.decode('latin-1', 'surrogateescape').encode('odd')\n"
    assert texts(source) == ["a.lock", "note.txt", "odd"]


@given(st.text(max_size=80))
def test_any_text_has_constants(source: str) -> None:
    """Whatever the text, reading it gives numbers in range."""
    assert all(2 <= n <= LARGEST for n in constants(source).numbers)


@pytest.mark.parametrize(("text", "number"), [("20", 20), ("-n20", 20), ("--max-count=20", 20), ("v20", 0), ("20 a", 0)])
def test_numbers_that_programs_are_told_count(text: str, number: int) -> None:
    """As those of the skill itself."""
    assert constants(f"def f():\n    return run([{text!r}])\n").numbers == ((number,) if number else ())


def test_the_lines_of_a_named_file_vary_and_its_first_stays() -> None:
    """A file that an argument names is varied as well; it may begin with a header."""
    g = table_grammar()
    assert (g.files, g.contents) == ((), ("a.csv",))
    worlds = [w for p in draw(plans(g), 40, 1) if (w := realise(g, p)) is not None and not p.has(Rule.BARE)]
    tables = {e.content for w in worlds for p, e in w.base.items() if p.endswith(".csv") and e.type == "file"}
    contents = tables - {b"a bystander\n"}
    assert len(contents) > 4
    assert len({c.split(b"\n")[0].count(b",") for c in contents}) == 1


@pytest.mark.parametrize(
    ("value", "token", "part"),
    [("2026-10", "10", True), ("10:30", "10", True), ("1/10/2026", "10", True), ("v10", "10", False), ("1.10", "10", False),
     ("a-10", "10", False), ("2026-104", "10", False), ("2-10", "10", False), ("a/1/10", "10", False), ("10:3", "10", False)],
)  # fmt: skip
def test_a_part_of_a_date_grows_no_larger(value: str, token: str, part: bool) -> None:
    """There is no fortieth month; a version may well have a fortieth release."""
    x = Expectation(tree(), tree(), frozenset(), "", True, (0,), (True,))
    g = grammar("t", {"day": value}, templates([((f"echo {value}",), {"day": value})])[0], x)
    assert dated(token, g) is part


def test_words_of_the_format_keep_their_case() -> None:
    """Words that are not free: those that every recording has, here all but one."""
    g = replace(table_grammar(), free_words=("new",))
    worlds = [realise(g, of("spelling", ("a.csv", CASES_OF_WORDS, turn))) for turn in range(2)]
    contents = {world.base["a.csv"].content for world in worlds if world is not None}
    assert contents - {TABLE}
    assert {re.sub(b"new", b"new", content, flags=re.IGNORECASE) for content in contents} == {TABLE}


def test_a_file_grows_beyond_the_skills_numbers() -> None:
    """Forty lines are not enough for a skill that reads forty."""
    g = table_grammar()
    longer = grown(TABLE, g.constants.numbers, named=True)
    assert longer.count(b"\n") > 40
    assert longer.startswith(b"id,state\n")
    assert len(set(longer.splitlines())) > 40


def test_a_plan_makes_options_decoys_depth_and_the_skills_words() -> None:
    """Values that start with a dash, files that are named nearly so, a copy of a directory deep in it, words of the skill."""
    post = tree(a_md=b"1")
    x = Expectation(tree(a_txt=b"1"), post, frozenset(), "", True, (0,), (True,))
    traces = [(("mv a.txt a.md",), {"old": "txt", "new": "md"}), (("mv a.log a.cfg",), {"old": "log", "new": "cfg"})]
    g = grammar("t", {"old": "txt", "new": "md"}, templates(traces)[0], x, constants(SKILL))
    dashed = realise(g, of("value-looks", *((token, "option") for token, _ in g.bound)))
    assert dashed is not None
    assert all(str(v).startswith("-") for v in dashed.args.values())
    assert {p.rpartition(".")[2] for p in dashed.base} == {dashed.args["old"]}
    decoys = realise(g, of("near-names", ("a.txt", LETTERS)))
    assert decoys is not None
    assert {"a.txt", "a.txtx", "atxt"} <= set(decoys.base)
    other_case = realise(g, of("near-names", ("a.txt", CASE)))
    assert other_case is not None
    assert {"a.txt", "a.TXT"} == set(other_case.base) - {ROOT}
    deep = realise(g, of("deep", ("",)))
    assert deep is not None
    assert max(p.count("/") for p in deep.base) == DEPTH
    voiced = realise(g, of("skill-word-in-value", (g.bound[0][0], g.constants.words[0])))
    assert voiced is not None
    assert g.constants.words[0] in {str(v) for v in voiced.args.values()}
    tried = {s for p in systematic(g) for s in p.steps}
    assert {"value-looks", "near-names", "deep", "skill-word-in-value"} <= {s.variation for s in tried}
    assert {"number", "option", "ending", "digit first", "long"} == {s.choice[1] for s in tried if s.variation == "value-looks"}


def replace_base(g: Grammar, more: dict[str, Entry]) -> Grammar:
    """The grammar of a trace with more in its base."""
    base = g.base.replace(dict(more))
    return replace(g, expectation=replace(g.expectation, base=base))


def of(variation: str, *choices: Choice) -> Plan:
    return Plan(tuple(Step(variation, c) for c in choices))


DIRECTORY_NAMESAKE = [*NAMESAKES][-1]


def only(*kinds: str) -> Plan:
    return of("odd", *(("", kind) for kind in kinds))


FILE, ODD_LINK = Entry("file", 0o644), Entry("symlink", 0o777, target="a.csv")
ODD = only(HIDDEN, LINK, EMPTY, *NAMESAKES)


def test_many_copies_and_odd_bystanders_are_made() -> None:
    """More files than recorded, a hidden file, a dangling link, an empty directory."""
    x = Expectation(tree(one_txt=b"1", keep_md=b"m"), tree(keep_md=b"m"), frozenset(), "", True, (0,), (True,))
    g = grammar("t", {}, templates([(("rm *.txt",), {})])[0], x)
    world = realise(g, Plan((Step("crowd", ("one.txt",)), *ODD.steps)))
    assert world is not None
    assert sum(p.endswith(".txt") for p in world.base) > 10
    assert {"symlink", "dir"} < {e.type for e in world.base.values()}
    assert any(p.startswith(".") and p != ROOT for p in world.base)


def test_taking_no_notice_is_doing_the_same_beside_it() -> None:
    """An odd bystander is judged only where the commands leave it and do all else as without it."""
    plain = Expectation(tree(a=b"1"), tree(b=b"1"), frozenset(), "", True, (0,), (True,))
    odd = Entry("dir", 0o755)
    more = replace(plain, base=plain.base.replace({"x": odd}), tree=plain.tree.replace({"x": odd}))
    assert unnoticed(plain, more)
    assert not unnoticed(plain, replace(more, tree=plain.tree))
    assert not unnoticed(plain, replace(more, answer="x"))
    assert not unnoticed(plain, replace(more, tree=more.tree.replace({"b": Entry("file", 0o600, b"1")})))


def test_near_misses_count_where_the_commands_pass_them_over() -> None:
    """Lines and files that are nearly meant: left alone by the commands, or nothing is said."""
    plain = Expectation(tree(a=b"k,1\nz,2\n"), tree(a=b"k,9\nz,2\n"), frozenset(), "", True, (0,), (True,))
    near_base = tree(a=b"k,1\nK,1\nz,2\n")
    assert unnoticed(plain, replace(plain, base=near_base, tree=tree(a=b"k,9\nK,1\nz,2\n")))
    assert not unnoticed(plain, replace(plain, base=near_base, tree=tree(a=b"k,9\nK,9\nz,2\n")))
    assert not unnoticed(plain, replace(plain, base=near_base, tree=tree(a=b"k,9\nK,1\nz,2\n"), answer="2"))
    emptied = Step("emptied", ("b",))
    steps = (Step("near-names", ("a", LETTERS)), Step("near-lines", ("a", LETTERS)), emptied, Step("odd", ("", LINK)))
    plan = Plan(steps, salt=2)
    assert plan.has(Rule.BYSTANDER)
    assert plan.without(Rule.BYSTANDER) == Plan((emptied,), salt=2)
    assert not plan.without(Rule.BYSTANDER).has(Rule.BYSTANDER)


def test_lines_that_hold_what_is_written_are_tried() -> None:
    """A line that is to be added, with a letter behind it or before it, stands in the file already."""
    x = Expectation(tree(a=b"1\n2\n"), tree(a=b"1\n2\nmilk\n"), frozenset(), "", True, (0,), (True,))
    g = grammar("t", {"line": "milk"}, templates([(("echo milk >> a",), {"line": "milk"})])[0], x)
    assert g.added("a") == ("milk",)
    tried = [w.base["a"].content for p in systematic(g) if (w := realise(g, p)) is not None]
    assert b"1\n2\nmilkx\n" in tried
    assert b"1\n2\nMILK\nxmilk\nmikl\n" in tried
    assert b"milkx\n1\n2\n" in tried
    assert all(Plan((Step(name, ("a",)),)).has(Rule.BYSTANDER) for name in ("holding-lines", "near-lines", "said-lines"))


def test_a_line_that_is_put_together_may_replace_an_older_one() -> None:
    """``KEY=valuex`` is another value of the key, not a line that holds the wanted one."""
    x = Expectation(tree(a=b"1\n"), tree(a=b"1\nKEY=v1\n"), frozenset(), "", True, (0,), (True,))
    args: Args = {"key": "KEY", "value": "v1"}
    assert grammar("t", args, templates([(("echo KEY=v1 >> a",), args)])[0], x).added("a") == ()
    copied = replace(x, base=tree(a=b"1\n", b=b"KEY=v1\n"))
    assert grammar("t", args, templates([(("cat b >> a",), args)])[0], copied).added("a") == ("KEY=v1",)


def test_numbers_and_names_around_what_is_said_are_tried() -> None:
    """Larger numbers, a name with the argument in its middle, a directory that is nearly meant."""
    traces = [(("cut 12 log",), {"count": 12, "tag": "log"}), (("cut 5 txt",), {"count": 5, "tag": "txt"})]
    x = Expectation(tree(ab_log=b"1"), tree(ab_log=b"1", d=b""), frozenset(), "", True, (0,), (True,))
    g = grammar("t", {"count": 12, "tag": "log"}, templates(traces)[0], x)
    worlds = [w for p in systematic(g) if (w := realise(g, p)) is not None]
    assert 46 in {w.args["count"] for w in worlds}
    assert any("loglog" not in p and p.count("log") == 2 for w in worlds for p in w.base)
    made = realise(replace_base(g, {"log": Entry("dir", 0o755)}), of("near-names", ("ab.log", LETTERS)))
    assert made is not None
    assert made.base["logx"].type == "dir"


def test_gits_locks_of_a_killed_run_go() -> None:
    """New locks in a repository are taken away, everything else stays."""
    git = {p: Entry("dir", 0o755) for p in (".git", ".git/refs", ".git/objects")} | {
        ".git/HEAD": Entry("file", 0o644, b"ref: refs/heads/m\n")
    }
    base = Snapshot(git)
    killed = Snapshot(git | {".git/index.lock": Entry("file", 0o644), "own.lock": Entry("file", 0o644)})
    assert set(unlocked(base, killed)) == {*git, "own.lock"}
    assert unlocked(killed, killed) == killed
    lone = Snapshot({"a.cfg": Entry("file"), "a.cfg.lock": Entry("file"), "b.lock": Entry("file")})
    assert set(unlocked(Snapshot({"a.cfg": Entry("file")}), lone, by_git=True)) == {"a.cfg", "b.lock"}
    assert set(unlocked(Snapshot({"a.cfg": Entry("file")}), lone)) == {"a.cfg", "a.cfg.lock", "b.lock"}


@pytest.mark.parametrize(("path", "mode"), [("new", 0o700), ("new/file", 0o600), ("changed", 0o600), ("still", 0o755)])
def test_only_what_the_task_writes_is_masked(path: str, mode: int) -> None:
    """Nobody promised its modes; what is only there keeps its own under any umask."""
    before = tree(changed=b"1").replace({"still": Entry("dir", 0o755)})
    after = tree(changed=b"2").replace(
        {"still": Entry("dir", 0o755), "new": Entry("dir", 0o755), "new/file": Entry("file", 0o644, b"n")}
    )
    assert masked(Expectation(before, after, frozenset(), "", True, (0,), (True,))).tree[path].mode == mode


def test_a_method_of_ones_own_depends_on_what_it_does() -> None:
    """`p.is_dir()` in a raise is a question, unless the file defines what it does: then it must be known whose it is."""
    body = "def f(p):\n    p = P()\n    if p:\n        raise ValueError(p.is_dir())\n".replace("(p)", "(q)")
    computes = "class P:\n    def is_dir(self):\n        return 1\n"
    acts = "class P:\n    def is_dir(self):\n        open('x', 'w')\n"
    anybody = body.replace("    p = P()\n", "").replace("(q)", "(p)")

    def only_raises(source: str) -> list[bool]:
        return [s.kind == "raises" for s in statements(source) if "raise" in s.text]

    assert only_raises(anybody) == [True]
    assert only_raises(computes + body) == [True]
    assert only_raises(acts + body) == [False]
    assert only_raises(computes + anybody) == [False]
    assert only_raises(computes + body + "def g(q):\n    q.is_dir = 2\n") == [False]
    assert only_raises(computes + body + "def g(q):\n    return dict(is_dir=q)\n") == [False]
    assert only_raises(computes + body + "def g(q):\n    for p in q:\n        pass\n") == [False]


def test_a_property_of_ones_own_depends_on_what_it_does() -> None:
    """``p.place`` only computes where its body does, and where no other decorator makes something of it."""
    head = "from datetime import date\n"
    body = "def f(p):\n    if p:\n        raise ValueError(p.place)\n"

    def of(decorator: str, does: str) -> list[bool]:
        plain = "class P:\n    @property\n    def other(self):\n        return open('x', 'w')\n"
        source = f"{head}{plain}    @{decorator}\n    def place(self):\n        return {does}\n{body}"
        return [s.kind == "raises" for s in statements(source) if "raise" in s.text]

    assert of("property", "self.name.upper()") == [True]
    assert of("property", "self.other") == [False]
    assert of("property", "open('x', 'w')") == [False]
    assert of("made", "1") == [False]
    body = "def f(place, p):\n    if p:\n        raise ValueError(p.place)\n"
    assert of("property", "date.fromisoformat(self.name)") == [True]
    assert of("property", "self.name.upper()") == [True]  # a variable of that name is another thing
    body += "    p.place = open\n"
    assert of("property", "self.name.upper()") == [False]


def test_a_refusal_is_one_wherever_it_stands() -> None:
    """What acts before it has to be seen to run for itself."""
    source = "def f(files):\n    for p in files:\n        p.unlink()\n    raise ValueError(files)\n"
    assert [(s.text, s.kind == "raises") for s in statements(source)[1:]] == [
        ("p.unlink()", False),
        ("raise ValueError(files)", True),
    ]


def test_the_width_of_a_message_may_act() -> None:
    """A format inside a format is evaluated as well as what it formats."""
    plain = "def f(p, w):\n    if p:\n        raise ValueError(f'{p:{w}}')\n"
    acts = plain.replace("{w}", "{p.unlink()}")
    assert [s.kind == "raises" for s in statements(plain) if "raise" in s.text] == [True]
    assert [s.kind == "raises" for s in statements(acts) if "raise" in s.text] == [False]


@pytest.mark.parametrize(
    ("line", "expected"), [("log.error('no %s', p)", True), ("log.error(p.unlink())", False), ("p.unlink()", False)]
)
def test_a_line_for_the_log_is_part_of_a_report(line: str, expected: bool) -> None:
    """Logging before raising reports; anything else there is something nobody ran."""
    found = statements(f"def f(p):\n    if p:\n        {line}\n        raise ValueError(p)\n")
    assert [s.kind == "raises" for s in found if s.text == line] == [expected]


def test_what_no_recording_has_is_unusual() -> None:
    """A dangling link says something where the recordings have links; hidden files and empty directories always do."""
    g = table_grammar()
    base = tree(a_csv=TABLE).replace({"odd": Entry("symlink", 0o777, target="gone")})
    knowing = replace(g, expectation=replace(g.expectation, base=base))
    assert ODD.usual([g]) == only(HIDDEN, EMPTY, DIRECTORY_NAMESAKE)
    like_file = replace(g, expectation=replace(g.expectation, base=base.replace({".b.csv": FILE, "l.csv": ODD_LINK})))
    assert ODD.usual([g, like_file]) == ODD
    assert ODD.usual([g, knowing]) == only(HIDDEN, LINK, EMPTY, DIRECTORY_NAMESAKE)
    less = Step("lines", ("a.csv", "less"))
    assert Plan((Step("emptied", ("a.csv",)), less), salt=3).usual([g]) == Plan((less,), salt=3)


def listing(commands: tuple[str, ...], base: Snapshot, after: Snapshot, **args: str) -> Grammar:
    x = Expectation(base, after, frozenset(), "", True, (0,), (True,))
    return grammar("t", args, templates([(commands, args)])[0], x)


@pytest.mark.parametrize(
    ("how", "made"),
    [
        (DOT_WITHIN, r"[a-z]+\.[a-z]{3}\.tar\.gz"),
        (ENDING_TWICE, r"[a-z]+\.tar\.gz\.gz"),
        (IN_DIRECTORY, r"[a-z]+\.tar\.gz/[a-z]+\.tar\.gz"),
        (MARK_TWICE, r"[a-z]+  x\.tar\.gz"),
        ("hidden", r"\.[a-z]+ x\.tar\.gz"),
    ],
)
def test_names_of_another_build(how: str, made: str) -> None:
    """A dot more, the last ending twice, or below a directory that is called like a file."""
    name = "data x.tar.gz" if how in (MARK_TWICE, "hidden") else "data.tar.gz"
    base = Snapshot({name: Entry("file", 0o644, b"z"), "keep": Entry("file", 0o644, b"k")})
    g = listing(("ls *.tar.gz",), base, base)
    plan = of("hidden-item", (name,)) if how == "hidden" else of("other-name", (name, how))
    world = realise(g, plan)
    assert world is not None
    new = [p for p in world.base if p not in g.base and p != ROOT]
    assert any(re.fullmatch(made, p) for p in new), new
    assert list(world.stays) == [p for p in new if world.base[p].type == "dir"]
    assert plan.has(Rule.BYSTANDER, Rule.ITEM) == (how == "hidden")


def test_a_value_gets_a_dot_within() -> None:
    """As the ending ``tar.gz`` has; files that are called after it go along."""
    g = listing(("rm *.txt",), tree(one_txt=b"1"), tree(), ext="txt")
    world = realise(g, of("value-looks", ("txt", "ending")))
    assert world is not None
    assert re.fullmatch(r"[a-z]+\.[a-z]{2}", str(world.args["ext"]))
    assert f"one.{world.args['ext']}" in world.base


def test_an_older_result_may_be_there() -> None:
    """A file in the place of what the trace makes, with the directories that it needs; never held against a skill."""
    after = tree(a=b"1").replace({"out": Entry("dir", 0o755), "out/b": Entry("file", 0o644, b"1")})
    g = listing(("mkdir out; cp a out/b",), tree(a=b"1"), after)
    assert g.made == ("out", "out/b")
    plan = of("stale", ("out/b",))
    world = realise(g, plan)
    assert world is not None
    assert world.base["out"].type == "dir"
    assert world.base["out/b"].content == b"an older one\n"
    assert plan.held([g]) == Plan()


def test_links_and_hidden_files_that_look_like_items() -> None:
    """Held against a skill only where a recording has such things."""
    g = table_grammar()
    less = ODD.held([g])
    assert less == only(HIDDEN, LINK, EMPTY, DIRECTORY_NAMESAKE)
    for hidden, link, expected in ((".x.csv", "l.csv", ODD), (".x", "l.txt", less), (".x/a.csv", "d/l.csv", less)):
        more = g.base.replace({hidden: Entry("file", 0o644), link: Entry("symlink", 0o777, target="a.csv")})
        knowing = replace(g, expectation=replace(g.expectation, base=more))
        assert ODD.held([g, knowing]) == expected


def test_a_series_goes_on() -> None:
    """Where all of a name means something but its number, that counts up, past ten."""
    parts = tree(**{f"film_part{n}": b"p" for n in (1, 2)})
    g = listing(("cat film.part? > film",), parts, parts)
    world = realise(g, of("crowd", (g.files[0],)))
    assert world is not None
    assert {f"film.part{n}" for n in range(1, 12)} <= set(world.base)


def test_a_last_line_without_its_end() -> None:
    """Only harm counts there: what comes after it goes to the same line in some shells' commands."""
    g = table_grammar()
    unended, emptied = of("unended", ("a.csv",)), of("emptied", ("a.csv",))
    world = realise(g, unended)
    assert world is not None
    assert world.base["a.csv"].content == TABLE[:-1]
    assert Plan((*unended.steps, *emptied.steps)).usual([g]) == Plan()
    assert unended.held([g]) == unended
