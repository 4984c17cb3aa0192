"""Anti-unification: the template regenerates every program, values that follow from others are no parameters."""

from __future__ import annotations

import dataclasses
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.embedded.align import lifted, same_form, tokens, transferred
from synth.embedded.antiunify import Mismatch, unify
from synth.embedded.normal import normal
from synth.embedded.params import make_params
from synth.embedded.requested import said_runs
from synth.embedded.steps import Work
from synth.embedded.template import Program, Template
from verifiers.interface import Evidence
from verifiers.shell.parse import parse
from verifiers.shell.tree import Hole, Lit, Many, Word

NAME = st.text(st.sampled_from("abcdexyz019_-. é"), min_size=1, max_size=12).filter(lambda s: s.strip(" .-") == s)


def programs(*lines: str) -> list[Program]:
    return [normal((parse(line),)) for line in lines]


def rebuilt(template: Template, k: int) -> object:
    """The k-th program again."""
    return _fill(template.program, template, k)


def _fill(node: object, template: Template, k: int) -> object:
    if isinstance(node, Word):
        out: list[object] = []
        for part in node.parts:
            if isinstance(part, Hole):
                out.append(Lit(str(template.values[part.index][k])))
            elif isinstance(part, Many):
                raise AssertionError("lists are tested apart")
            else:
                out.append(_fill(part, template, k))
        text = [p for p in out if isinstance(p, Lit)]
        return Word((Lit("".join(p.text for p in text)),)) if len(text) == len(out) else Word(tuple(out))  # type: ignore[arg-type]
    if isinstance(node, tuple):
        return tuple(_fill(x, template, k) for x in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return dataclasses.replace(node, **{f.name: _fill(getattr(node, f.name), template, k) for f in dataclasses.fields(node)})
    return node


@given(st.lists(st.tuples(NAME, NAME), min_size=2, max_size=4, unique=True))
def test_the_template_regenerates_every_program(pairs: list[tuple[str, str]]) -> None:
    """Holes filled with the k-th values give the k-th program."""
    made = programs(*(f"cp {shlex.quote(a)} {shlex.quote(b)}; chmod 644 {shlex.quote(b)}" for a, b in pairs))
    template = unify(made)
    for k, program in enumerate(made):
        assert rebuilt(template, k) == program


@given(NAME)
def test_equal_programs_have_no_holes(name: str) -> None:
    """Nothing varies, nothing is a parameter."""
    assert unify(programs(*[f"touch {shlex.quote(name)}"] * 3)).values == ()


def values(*lines: str) -> dict[str, tuple[object, ...]]:
    template = unify(programs(*lines))
    return {p.name: p.values for p in make_params(template)}


def test_extensions_are_found_inside_words() -> None:
    """One parameter for both places of one value."""
    got = values(
        'for f in *.txt; do mv "$f" "${f%.txt}.md"; done',
        'for file in *.jpeg; do mv "$file" "${file%.jpeg}.jpg"; done',
    )
    assert got == {"old_ext": ("txt", "jpeg"), "new_ext": ("md", "jpg")}


def test_values_that_follow_are_derived() -> None:
    """``f.sort`` follows from ``f``, a release directory from name and version."""
    assert values("sort a > a.sort && mv a.sort a", "sort 'b c' > 'b c.sort' && mv 'b c.sort' 'b c'") == {"file": ("a", "b c")}
    got = values("cp tool/x dist/tool-1.4; cd tool; echo 1.4", "cp lib/x dist/lib-2.0; cd lib; echo 2.0")
    assert sorted(got.values()) == [("1.4", "2.0"), ("tool", "lib")]


def test_numbers_are_numbers() -> None:
    """Formats, counts and line numbers."""
    got = values('mkdir $(seq -f "a/x%03g" 3)', 'mkdir $(seq -f "b/y%02g" 5)')
    assert got == {"prefix": ("a/x", "b/y"), "width": (3, 2), "count": (3, 5)}
    assert values("sed -i 3d f", "sed -i 12d f") == {"line_number": (3, 12)}
    assert values("ls | head -n -3", "ls | head -n -2") == {"kept": (3, 2)}


def test_a_value_is_called_what_its_line_calls_it() -> None:
    """Where it names nothing that is there. Two words that are written as one are one name."""
    for label, name in (("HostName ", "hostname"), ("max-age: ", "max_age"), ("BEGIN ", "text")):
        template = unify(programs(*(f"echo '{label}{value}' >> f" for value in ("db1.org", "web.net"))))
        assert [p.name for p in make_params(template, said={0: ""})] == [name]


def test_what_is_looked_for_and_put_back_is_called_a_name_only_where_it_is_one() -> None:
    """``port=`` is the name of what is set; the last number of a version is not."""
    for values, name in ((("port", "host"), "key"), (("1", "2"), "kept")):
        template = unify(programs(*(f"sed -i s/^{value}=0/{value}=1/ f" for value in values)))
        assert [p.name for p in make_params(template)] == [name]


def test_another_number_of_operands_is_a_list() -> None:
    """``mkdir -p a`` and ``mkdir -p b c``."""
    assert values("mkdir -p a/b", "mkdir -p c d") == {"paths": (["a/b"], ["c", "d"])}


def test_scripts_split_at_their_delimiter() -> None:
    """Both sides of a substitution."""
    assert values("sed -i s/foo/bar/g x", "sed -i s/a.org/b.org/g x") == {"old": ("foo", "a.org"), "new": ("bar", "b.org")}


@pytest.mark.parametrize(
    ("one", "other"),
    [("rm a", "touch a"), ("sort -r a", "sort -u a"), ("ls | wc -l", "ls"), ("echo a > b", "echo a >> b"), ("rm *", "rm ?")],
)
def test_other_shapes_do_not_unify(one: str, other: str) -> None:
    """Commands, options, operators and globs are structure."""
    with pytest.raises(Mismatch):
        unify(programs(one, other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("""jq '.[] | select(.a=="x" and .b<"3") | .n' f""", """jq '.[] | select(.a=="y") | select(.b<"4") | .n' f"""),
        ("awk '$1 == \"x\" {print $2}' f", "awk '{if ($1 == \"x\") print $2}' f"),
        ("sqlite3 f 'select max(a) from t where b = 1'", "sqlite3 f 'select b from t where b = 2'"),
        ("perl -pi -e 's/a/b/' f", "perl -pi -e 's{c/d}{e}; s/f/g/' f"),
        ("find . -name a -exec sed -i '/x/,/y/d' {} +", "find . -name b -exec sed -i '/x/s/1/2/' {} +"),
        ("sed -i '/^A$/,/^B/s/1/2/' f", "sed -i '/^C /a D' f"),
        ("sed '/x=\"a\">/,/b/ s|1|2|' f", "sed '/x=\"c\"/s#1#2#' f"),
    ],
)
def test_programs_of_other_code_do_not_unify(one: str, other: str) -> None:
    """What stands between their literals is no value: a hole there would be filled with code."""
    with pytest.raises(Mismatch):
        unify(programs(one, other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("find -name '*.c' -type f", "find . -type f -name '*.c'"),
        ("find . -name x -print0 | xargs -0 cat", "find . -name x | xargs cat"),
        ("find . -exec chmod 644 {} \\;", "find . -exec chmod 644 {} +"),
        ('for a in *; do echo "$a"; done', "for b in *; do echo $b; done"),
        ("grep -r x d | wc -l", "grep -h -r x d | wc -l"),
    ],
)
def test_equal_meaning_has_one_form(one: str, other: str) -> None:
    """Spellings that do not matter."""
    first, second = programs(one, other)
    assert first == second


def work(description: str, line: str) -> Work:
    e = Evidence(description, description, (line,), ("",), None, (0,), None, None, True)
    return Work(e, (parse(line),), (0,), ())


def test_descriptions_say_what_varies() -> None:
    """Another pipeline, the same form of description."""
    works = [
        work('Count the lines of "a.txt" in docs', "wc -l docs/a.txt"),
        work('Count the lines of "b c.md" in src', "cat src/'b c.md' | wc -l"),
    ]
    alike = same_form(works, works[0])
    made = transferred(works[0], alike)
    assert made is not None
    assert made[1] == normal((parse("wc -l 'src/b c.md'"),))


@given(st.text(max_size=80))
def test_tokens_keep_all_letters(text: str) -> None:
    """Nothing but quotes and runs of white space is lost."""
    kept = "".join(tokens(text))
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]


def test_here_documents_are_unified_line_by_line() -> None:
    """Each line has values of its own, and one that the command names already is the same parameter."""
    values = (("clean", "rm -f x"), ("lint", "ruff"))
    lines = [f"grep -q '^{t}:' M || cat >> M <<'EOF'\n\n{t}:\n\t{c} now\nEOF" for t, c in values]
    template = unify(programs(*lines))
    assert sorted(template.values) == [("clean", "lint"), ("rm -f x", "ruff")]
    assert all(rebuilt(template, k) == program for k, program in enumerate(programs(*lines)))


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("sed -i '1i p=/a/,/b/' f", "sed -i '1i q=/c' f", {("p", "q"), ("a/,/b/", "c")}),
        ("sed -i 's|^d=.*|d=/a/,/b|' f", "sed -i 's|^d=.*|d=/c|' f", {("a/,/b", "c")}),
        ("awk '/a(b)/' f", "awk '/c[d]/' f", {("a(b)", "c[d]")}),
        (
            "sqlite3 f \"insert into t values (1, 'a')\"",
            "sqlite3 f \"insert into t values (2, 'b;')\"",
            {("1", "2"), ("a", "b;")},
        ),
        ("jq '.[] | select(.a == \"(x)\") | .n' f", "jq '.[] | select(.a == \"y|z\") | .n' f", {("(x)", "y|z")}),
    ],
)
def test_what_looks_like_code_is_a_value_in_a_literal(one: str, other: str, found: set[tuple[str, str]]) -> None:
    """Paths, patterns and texts have any marks."""
    assert set(unify(programs(one, other)).values) == found


def test_words_between_words_of_a_program_vary() -> None:
    """Two places of one program, with words between them, are two holes; marks around them stay."""
    sums = programs(*(f"awk '{{ n[${a}]++; s[${a}] += ${b} }} END {{ print s[1] }}' f" for a, b in (("2", "4"), ("1", "3"))))
    assert unify(sums).values == (("2", "1"), ("4", "3"))
    best = programs(*(f"sqlite3 d \"SELECT x FROM t WHERE c = '{c}' ORDER BY y LIMIT {n};\"" for c, n in (("DE", 2), ("FR", 3))))
    assert unify(best).values == (("DE", "FR"), ("2", "3"))


def test_one_trace_is_lifted_by_its_request() -> None:
    """What the request names may vary; what it does not is the task."""
    program = (parse("find scripts -type f -name '*.sh' -exec dos2unix -q {} +"),)
    w = Work(Evidence("t", "Convert all .sh files in scripts", (), (), None, None, None, None, True), program, (0,), ())
    assert lifted(w).values == (("scripts",), ("sh",))


@pytest.mark.parametrize(
    ("request_text", "line", "values"),
    [
        ("spring onions are scallions in menus", "sed -i 's/@spring onions{/@scallions{/' menus/*.cook",
         {"spring onions", "scallions", "menus"}),
        ("Bring the years of Blue Heron Ltd in src up to 2025",
         "sed -i -E 's/([0-9]+)(-[0-9]+)? Blue Heron Ltd/\\1-2025 Blue Heron Ltd/' src/a.c", {"Blue Heron Ltd", "src", "2025"}),
    ],
)  # fmt: skip
def test_words_that_stand_together_are_one_value(request_text: str, line: str, values: set[str]) -> None:
    """A name of several words, and a year behind a hyphen."""
    w = Work(Evidence("t", request_text, (line,), (), None, None, None, None, True), (parse(line),), (0,), ())
    assert {column[0] for column in lifted(w).values} == values


def test_jq_takes_a_name_and_a_text() -> None:
    """The text behind ``--arg NAME`` is data, not the program."""
    made = unify(programs(*(f"jq --arg n {n} --arg v {v} '.d[$n] = $v' f" for n, v in (("a", "1.0"), ("b", "2.0")))))
    assert {p.role for p in made.places} == {"text"}


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (
            ["ln -sfn releases/2.4 shop/current; echo 2.4 >> shop/log", "ln -sfn releases/v7 wiki/current; echo v7 >> wiki/log"],
            {("2.4", "v7"), ("shop", "wiki")},
        ),
        (["cp a/b/x d/y", "cp a/c/x e/y"], {("a/b/x", "a/c/x"), ("d/y", "e/y")}),
        (["cp in/x in/y", "cp in/v in/w"], {("in/x", "in/v"), ("in/y", "in/w")}),
        (["cp p/x p/y", "cp q/v q/w"], {("p/x", "q/v"), ("p/y", "q/w")}),
    ],
)
def test_a_folder_that_paths_share_is_a_value(lines: list[str], values: set[tuple[str, str]]) -> None:
    """Only where it and the others say more than one of them: else paths may lie anywhere."""
    template = unify(programs(*lines))
    assert set(template.values) == values
    for k, program in enumerate(programs(*lines)):
        assert rebuilt(template, k) == program


@pytest.mark.parametrize(
    ("request_text", "line", "values"),
    [
        ("total in of Parts in a.csv", "awk -F, '$3==\"Parts\" {total+=$4} END {print total}' a.csv", {"Parts", "a.csv"}),
        ("is Parts for r in a.csv", "python3 -c 'import sys; print([r for r in open(sys.argv[1])])' a.csv", {"a.csv"}),
        ("rows from 5 on of a.csv", "sed -n '5,$p' a.csv", {"5", "a.csv"}),
        ("import of Parts, path a.csv", "python3 - a.csv <<'X'\nimport sys\npath = 'Parts'\nX", {"Parts", "a.csv"}),
    ],
)
def test_words_of_a_program_are_lifted_from_its_literals_alone(request_text: str, line: str, values: set[str]) -> None:
    """``in``, ``for`` and ``total`` are the program's own, whoever says them; a number may stand anywhere."""
    w = Work(Evidence("t", request_text, (line,), (), None, None, None, None, True), (parse(line),), (0,), ())
    assert {column[0] for column in lifted(w).values} == values


def test_what_all_others_say_is_no_value() -> None:
    """``open`` is said by the request and by every command, ``kim`` by one."""
    others = ("jq '.[] | select(.open == \"pat\")' b.json", "grep open c.json")
    works = [
        Work(
            Evidence("t", "open issues of kim in a.json" if k == 0 else "other", (line,), (), None, None, None, None, True),
            (parse(line),),
            (0,),
            (),
        )
        for k, line in enumerate(("cat a.json | grep open | grep kim", *others))
    ]
    assert {column[0] for column in lifted(works[0], works).values} == {"a.json", "kim"}
    assert "open" in {column[0] for column in lifted(works[0]).values}


def test_a_list_for_xargs_and_names_behind_a_folder() -> None:
    """The list is a parameter; what begins a name is no part of its folder."""
    lists = unify(programs("xargs -a one.txt cp -t out", "xargs -a two/b cp -t dist"))
    assert lists.values == (("one.txt", "two/b"), ("out", "dist"))
    loops = unify(programs('for f in cam/IMG_*.jpg; do rm "$f"; done', 'for f in in/IMG_*.jpg; do rm "$f"; done'))
    assert loops.values == (("cam", "in"),)


RELEASES = (("1.4.0", "2026-11-28"), ("2.11.0", "2026-11-30"), ("0.8.0", "2026-12-05"))
SAID_WHOLE = [
    ("jq '.version = \"{0}\"' f", "to {0}", RELEASES, {("1.4.0", "2.11.0", "0.8.0")}),
    ("sed -i 's/^## new/## [{0}] - {1}/' f", "{0}, dated {1}", RELEASES, {*zip(*RELEASES, strict=True)}),
    ("sed -i 's/^## new/## [{0}] - {1}/' f", "release {0}", RELEASES, {*zip(*RELEASES, strict=True)}),
    ("sed -i 's/^## new/## [{0}] - {1}/' f", "{0} on {1}.", (*RELEASES, ("1.4.1", "2027-01-02")), None),
    ("sed -i 's/^host=.*/host={0}/' f", "use {0}", (("db1.shop.org",), ("db2.shop.org",)), {("db1.shop.org", "db2.shop.org")}),
    ("sed -i 's/{0}/{1}/' f", "{0} is {1}", (("foo bar", "x y"), ("no way", "z z")), {("foo bar", "no way"), ("x y", "z z")}),
]


@pytest.mark.parametrize(("line", "said", "rows", "values"), SAID_WHOLE)
def test_a_value_is_as_much_as_the_requests_say(
    line: str, said: str, rows: tuple[tuple[str, ...], ...], values: set[tuple[str, ...]] | None
) -> None:
    """No piece of a version that ends alike in all recordings, and no line with the marks between two values."""
    made = programs(*(line.format(*row) for row in rows))
    template = unify(made, [said.format(*row) for row in rows])
    assert set(template.values) == (values or {*zip(*rows, strict=True)})
    assert all(rebuilt(template, k) == program for k, program in enumerate(made))


def test_what_no_request_says_is_cut_as_the_commands_tell() -> None:
    """And so is what they say a piece of."""
    made = programs(*(f"sed -i 's/^host=.*/host={name}.shop.org/' f" for name in ("db1", "db2")))
    for requests in (["use the first", "use the second"], ["use db1", "use db2"]):
        assert unify(made, requests).values == (("db1", "db2"),)


MODULES = (("discounts", "orders"), ("stocktake", "inventory"), ("tokens", "auth"))


@pytest.mark.parametrize("said", ["{0} in src/{1}, please", "I need src/{1}/{0}.py"])
def test_a_value_is_no_piece_of_a_program_that_is_printed(said: str) -> None:
    """The words that the requests say are the values, and what is made of them follows."""
    line = "printf 'from {1} import {0}\\n\\ndef test_{0}():\\n    assert {0}\\n' > src/{1}/{0}.py"
    made = programs(*(line.format(*row) for row in MODULES))
    template = unify(made, [said.format(*row) for row in MODULES])
    assert set(template.values) == {*zip(*MODULES, strict=True)}
    assert all(rebuilt(template, k) == program for k, program in enumerate(made))


def test_lines_that_printf_ends_are_unified_one_by_one() -> None:
    """As those of a here-document are; no value holds an end of a line that every recording has."""
    made = programs(*(f"printf '{a} of it\\n\\nand\\n{b} now\\n' > f" for a, b in (("one b", "c"), ("two", "d e"))))
    assert set(unify(made).values) == {("one b", "two"), ("c", "d e")}


def test_a_value_that_requests_say_ends_with_its_line() -> None:
    """A request that holds the whole text has one value a line; it is not searched for ever longer pieces."""
    texts = [f"{a}\n{b}\n" for a, b in (("one b", "c"), ("two d", "e"))]
    assert said_runs(texts, texts) == [("one b", "two d"), ("\n", "\n"), ("c", "e"), ("\n", "\n")]


def test_what_a_path_is_made_of_and_all_requests_say_is_a_value() -> None:
    """A month as it is said, not the part of it that differs; a path that a request says whole stays one value."""
    rows = [("api", "2026-09"), ("cron", "2026-10"), ("worker", "2026-08")]
    requests = [f"pack the {who} logs of {month}" for who, month in rows]
    made = programs(*(f"tar -czf old/{month}.tgz logs/{who}-{month}.log" for who, month in rows))
    assert sorted(unify(made, requests).values) == sorted(zip(*rows, strict=True))
    whole = [f"pack the {who} logs of {month} into old/{month}.tgz" for who, month in rows]
    assert ("old/2026-09.tgz", "old/2026-10.tgz", "old/2026-08.tgz") in unify(made, whole).values
    assert unify(made).values == unify(made, ["a", "b", "c"]).values


@given(
    st.lists(st.tuples(st.sampled_from(["api", "shop", "mail"]), st.integers(10, 99)), min_size=2, max_size=4, unique=True),
    st.sampled_from(["log/{0}-{1}.txt", "{1}/{0}.log", "v{1}_{0}", "{0}{1}"]),
)
def test_with_said_parts_too_the_template_regenerates_every_program(rows: list[tuple[str, int]], form: str) -> None:
    """Whatever of a path the requests say."""
    made = programs(*(f"touch {form.format(*row)}; cp x {form.format(*row)}.bak" for row in rows))
    template = unify(made, [f"make it for {who} and {number}" for who, number in rows])
    for k, program in enumerate(made):
        assert rebuilt(template, k) == program
