"""The generator never fails on foreign traces: candidates that parse and conform, or a sentence."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot
from synth.embedded import EmbeddedGenerator
from synth.embedded.align import template_of
from synth.embedded.generator import case_of
from synth.embedded.naming import fixed_words, skill_name, summary_of
from synth.embedded.steps import work
from synth.interface import TracePattern
from verifiers.interface import Evidence, Verdict
from verifiers.shell.commands import TABLE
from verifiers.source.static import run_static
from verifiers.subject import parse_subject

ARGUMENT = st.sampled_from(
    """a.txt b -r -n 5 -l -i *.txt d/ 'x' s/a/b/g "$f" {} -exec \\; + -name '*.c' -type f -o ! -delete 755 '{print$1}' - -- -d,
    $(ls) `ls` ${f%.*} -c -1 -i.bak s/^/#/ '/a/i\\ b' 2,3d '/x/,/y/s/a.txt/&/' -k2,2n -f1,3 <(ls) $((i+1)) --lines=3 -pi 'a.txt'
    "import\tos" "open('a.txt')" 'ls|wc' .a.txt.b""".split()  # noqa: SIM905  (reads better as text)
)
SIMPLE = st.builds(
    lambda name, args: " ".join([name, *args]),
    st.sampled_from([*sorted(TABLE), "git", "python3", "sed -i", "perl -pi -e", "python3 -c"]),
    st.lists(ARGUMENT, max_size=6),
)
LINE = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(lambda a, op, b: f"{a} {op} {b}", inner, st.sampled_from(["|", "&&", ";", "||"]), inner),
        st.builds(lambda a, op: f"{a} {op} out.txt", inner, st.sampled_from([">", ">>", "<"])),
        st.builds(lambda a: f"for f in *.txt; do {a}; done", inner),
        st.builds(lambda a: f"find . -type f | while read -r f; do {a}; done", inner),
        st.builds(lambda a: f"if [ -f a ]; then {a}; fi", inner),
        st.builds(lambda a: f"({a})", inner),
        st.builds(lambda a: f"if ! {a}; then ls; elif [ -d d ]; then rm g; else ls; fi", inner),
        st.builds(lambda a: f"bash -lc {shlex.quote(a)}", inner),
        st.builds(lambda a: f"i=1; while read -r x; do {a}; i=$((i+1)); done < a.txt", inner),
    ),
    max_leaves=4,
).filter(lambda line: len(line) < 400)  # quotes inside quotes inside quotes grow beyond what anybody writes
BASE = Snapshot({"a.txt": Entry("file", 0o644, b"x\n"), "d": Entry("dir", 0o755)})


def evidence(lines: list[str], writes: bool, task: str = "t") -> Evidence:
    post = BASE.replace({"out.txt": Entry("file", 0o644, b"y")}) if writes else BASE
    return Evidence(task, f"do it with {task}", tuple(lines), ("",) * len(lines), None, (0,) * len(lines), BASE, post, True)


def pattern(traces: list[Evidence]) -> TracePattern:
    return TracePattern("repetitive", traces[0].commands, len(traces), 1.0, "some_task", "s", ())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lines=st.lists(LINE, min_size=1, max_size=3), writes=st.booleans(), name=st.text("ab '\"$", min_size=1, max_size=4))
@example(["xargs -n"], False, "a")
def test_any_commands_give_candidates_or_a_reason(lines: list[str], writes: bool, name: str) -> None:
    """Two traces that differ in one name; what comes out is Python."""
    other = [line.replace("a.txt", shlex.quote(name)) for line in lines]
    traces = [evidence(lines, writes, "t1"), evidence(other, writes, "t2")]
    embedded = EmbeddedGenerator()
    candidates = list(embedded.generate(pattern(traces), traces))
    for candidate in candidates:
        ast.parse(candidate.source)
        assert candidate.bindings
    assert candidates or embedded.why_none()


# fmt: off
CONFORMING = [
    (["for f in *.txt; do mv \"$f\" \"${f%.txt}.md\"; done"], ["for g in *.log; do mv \"$g\" \"${g%.log}.old\"; done"], True),
    (["find d -name '*.c' -exec chmod 644 {} +"], ["find e -name '*.h' -exec chmod 600 {} +"], True),
    (["sort a | uniq -c | sort -rn > b"], ["sort c | uniq -c | sort -rn > d"], True),
    (["sed -i 's/a/b/g' *.txt", "echo x >> log"], ["sed -i 's/c/d/g' *.txt", "echo y >> log"], True),
    (["grep -rl foo d | xargs sed -i '/foo/d'"], ["grep -rl bar e | xargs sed -i '/bar/d'"], True),
    (["cat a | tr a b | wc -l"], ["cat c | tr a b | wc -l"], False),
    (["tar czf a.tgz d"], ["tar czf b.tgz e"], True),
    (["git init -q d"], ["git init -q e"], True),
    (["bzip2 a"], ["bzip2 b"], True),
    (["sed -i '/a/s/^/# /' f", "sed -i.bak 's/$/ a/' g"], ["sed -i '/b/s/^/# /' h", "sed -i.bak 's/$/ b/' k"], True),
    (["sed -i '2a one' f", "sed -i '/a/i two' g"], ["sed -i '2a three' f", "sed -i '/b/i four' g"], True),
    (["python3 -c 'open(\"a\").read()' > x"], ["python3 -c 'open(\"b\").read()' > y"], True),
    (["comm -23 <(sort a) <(sort b) > c"], ["comm -23 <(sort d) <(sort e) > f"], True),
    (["ln -sfn a b", "perl -pi -e 's/x/y/g' f"], ["ln -sfn c d", "perl -pi -e 's/z/y/g' g"], True),
    (["echo a >> f && sort -o f f", "git -C d commit -qm x"], ["echo b >> g && sort -o g g", "git -C e commit -qm x"], True),
    (["i=1; for f in *.a; do mv $f n$i; i=$((i+1)); done"], ["i=1; for f in *.b; do mv $f m$i; i=$((i+1)); done"], True),
    (["jq '.a = 1' f > t && mv t f"], ["jq '.b = 2' g > t && mv t g"], True),
    (["if ! grep -q a f; then echo a >> f; elif [ -d d ]; then rm g; fi"],
     ["if ! grep -q b f; then echo b >> f; elif [ -d e ]; then rm g; fi"], True),
    (["find d -type f -print0 | sort -z | xargs -0 md5sum >> sums"], ["find e -type f | sort | xargs md5sum >> all"], True),
]
# fmt: on


@pytest.mark.parametrize(("one", "other", "writes"), CONFORMING, ids=lambda c: str(c)[:40])
def test_candidates_pass_the_static_checks(one: list[str], other: list[str], writes: bool) -> None:
    """Conventions, ruff and mypy strict."""
    traces = [evidence(one, writes, "t1"), evidence(other, writes, "t2")]
    candidates = list(EmbeddedGenerator().generate(pattern(traces), traces))
    assert candidates
    for results in run_static([parse_subject(c.source, f"{c.name}.py") for c in candidates]):
        for r in results:
            assert r.verdict is Verdict.PASS, [f.message for f in r.findings]


INCOMPLETE = [
    "sort --lines=3 -i.bak", "sort -o", "cut -d", "find . -exec", "xargs -I", "sed -i -e",
    "find . | while read -r f; do xargs {}; done",
]  # fmt: skip


@pytest.mark.parametrize("line", INCOMPLETE)
def test_options_without_their_values_are_no_crash(line: str) -> None:
    """A trace may hold commands that failed."""
    embedded = EmbeddedGenerator()
    traces = [evidence([line, f"touch {t}"], True, t) for t in ("t1", "t2")]
    assert list(embedded.generate(pattern(traces), traces)) or embedded.why_none()


def test_candidates_are_the_same_every_time() -> None:
    """No randomness, no order of sets."""
    traces = [evidence(c, True, t) for c, t in ((CONFORMING[0][0], "t1"), (CONFORMING[0][1], "t2"))]
    first, second = (list(EmbeddedGenerator().generate(pattern(traces), traces)) for _ in range(2))
    assert first == second


def test_failed_traces_are_no_examples() -> None:
    """success: false never shapes a candidate."""
    good = [evidence(["touch a"], True, "t1"), evidence(["touch b"], True, "t2")]
    bad = Evidence("t3", "x", ("rm -rf d",), ("",), None, (1,), BASE, BASE, False)
    assert all("t3" not in c.bindings for c in EmbeddedGenerator().generate(pattern(good), [*good, bad]))


@given(st.text(max_size=40), st.text(max_size=40))
def test_names_are_identifiers(category: str, summary: str) -> None:
    """Whatever the category and description say."""
    name = skill_name(category, summary)
    assert name.isidentifier()
    assert name == name.lower()
    assert name.isascii()


def test_summaries_name_the_parameters() -> None:
    """Values give way to names."""
    assert summary_of([("Rename .txt to .md", {"old": "txt", "new": "md"})]) == "Rename .<old> to .<new>"
    assert summary_of([("", {})]) == "Repeat a recorded task"
    told = [("in a.conf make PORT 1", {"key": "PORT"}), ("Set TIMEOUT to 60 in b.conf", {"key": "TIMEOUT"})]
    assert summary_of(told, "set_key").startswith("Set <key> to ")


def test_parameters_are_called_what_they_are() -> None:
    """A hidden file keeps its dot, what stands before a loop's name is a prefix, and a file that is changed is not only read."""
    assert parameters("grep -qxF '{}' {} || echo '{}' >> {}", ("a", ".gitignore", "a", ".gitignore"), ("b", ".x", "b", ".x")) == {
        "text": ("a", "Text to look for, and to put in"),
        "file": (".gitignore", "File to work on, relative to the workspace"),
    }
    moved = parameters('for f in *.{}; do mv -- "$f" "{}$f"; done', ("pdf", "q3_"), ("csv", "old-"))
    assert moved["prefix"] == ("q3_", "Text to put in front of the name")
    moved = parameters('for f in *.{}; do mv -- "$f" "${{f}}{}"; done', ("pdf", "_1"), ("csv", "-old"))
    assert moved["suffix"] == ("_1", "Text to put behind the name")
    kept = parameters("cp {0} {0}.orig; sed -i s/a/b/ {0}", ("a.csv",), ("b.csv",))
    assert kept == {"file": ("a.csv", "File to work on, relative to the workspace")}
    read = parameters("python3 -c \"open('out.txt', 'w').write(open('{}').read())\"", ("a.csv",), ("b.csv",), changed=False)
    assert read == {"file": ("a.csv", "File to read, relative to the workspace")}
    made = parameters("python3 -c \"open('{}', 'w').write('x')\"", ("a.csv",), ("b.csv",), there=False)
    assert made == {"output_file": ("a.csv", "File to write, relative to the workspace")}


PLACES = [
    ("jq -r '.[] | [.{}, .{}]' a.json > out.txt", ("id", "n"), ("k", "t"), [
        ("field", "Name of the first field in the JSON document"), ("field2", "Name of the second field in the JSON document")]),
    ("cut -d, -f{} a.csv > out.txt", ("1",), ("3",), [("column", "Number of the column, from 1")]),
    ("cut -d, --complement -f{} a.csv > out.txt", ("1,2",), ("3",), [("fields", "Fields, such as 1,3 or 2-4")]),
    ("jq '.[] | select(.status == \"{}\")' a.json > out.txt", ("up",), ("down",), [("status", "The status")]),
    ("echo '{} db' >> hosts", ("10.0.0.7",), ("10.0.4.9",), [("address", "IP address, such as 10.0.0.7")]),
    ("tar -tzf a.tgz | grep '\\.{}$' > out.txt", ("py",), ("md",), [("ext", "File name extension, without the dot")]),
    ("sort a.txt | head -n {} > out.txt", ("3",), ("5",), [("count", "How many of them, from the top")]),
    ("head -n {} a.txt > out.txt", ("3",), ("5",), [("lines", "Number of lines")]),
    ("awk -v p={} '$1 == p' a.txt > out.txt", ("al",), ("bo",), [("value", "Value that the program works with")]),
    ("expand -t {} a.c > out.txt", ("4",), ("8",), [("number", "Number for -t of expand")]),
    ("sed -i 's/^{}/#&/' f", ("Port",), ("Host",), [("text", "Text to look for")]),
    ("sed -i 's/^{}//' f", ("Port",), ("Host",), [("old", "Text to replace")]),
    ("find d -type d -exec chmod {} {{}} +; find d -type f -exec chmod {} {{}} +", ("755", "644"), ("750", "640"), [
        ("dir_mode", "Octal mode of the directories, such as 755"), ("file_mode", "Octal mode of the files, such as 644")]),
    ("mv app/{0}.py app/{1}.py; grep -rlw {0} d | xargs sed -i 's/{0}/{1}/'", ("one", "two"), ("three", "four"), [
        ("old_text", "The text to replace"), ("new_text", "The text to put in its place")]),
    ("cat > sites/{0}.conf <<'E'\nserver_name {0};\nE\nln -s ../sites/{0}.conf on/{0}.conf", ("a",), ("x",), [
        ("name", "What stands for * in sites/*.conf")]),
    ("jq '.name = \"{}\"' a.json > out.txt", ("x",), ("y",), [("value", "Value to put in")]),
    ("awk '$9 == {}' a.log > out.txt", ("500",), ("404",), [("value", "Value to compare with")]),
    ("find . -name '*.{}' -delete", ("orig",), ("bak",), [("ext", "File name extension, without the dot")]),
    ("mv {}*.png d/", ("a_",), ("b-",), [("prefix", "Beginning of the names")]),
    ("mv {}*.png d/", ("x/a_",), ("y/b",), [("prefix", "Beginning of the names, with the directory")]),
    ("find . -name {} -delete", ("core",), ("tmp",), [("name", "Name of a file or folder")]),
    ("find . -name '{}' -delete", ("*.o",), ("a*",), [("pattern", "Shell pattern for the name, such as *.txt")]),
    ("find . -name '{}*.log' -delete", ("a_",), ("b-",), [("prefix", "Beginning of the names")]),
    ("grep -c '{}*' a.txt > out.txt", ("ab",), ("cd",), [("text", "Text to look for")]),
    ("tar -czf {} d", ("a.tgz",), ("b.tgz",), [("archive", "Archive file, relative to the workspace")]),
    ("tar -czf logs/{0}.tgz -C logs {0}", ("05",), ("06",), [("log", "What stands for * in logs/*.tgz")]),
    ("cat a.txt > src/{0}/a.py; echo {0} >> out.txt", ("one",), ("two",), [("folder", "Name of the folder in the path")]),
    ("grep -rlw {0} d | xargs sed -i 's/{0}/{1}/'", ("a", "b"), ("x", "y"), [
        ("old_text", "The text to replace"), ("new_text", "The text to put in its place")]),
    ("sed -i 's/^new/{} - {}/' f", ("1.2", "2026-01-02"), ("2.0", "2026-03-04"), [
        ("version", "Version, such as 1.2.0"), ("date", "Date, such as 2026-01-31")]),
]  # fmt: skip


@pytest.mark.parametrize(("line", "one", "other", "names"), PLACES, ids=lambda c: str(c)[:40])
def test_parameters_are_described_by_where_they_stand(
    line: str, one: tuple[str, ...], other: tuple[str, ...], names: list[tuple[str, str]]
) -> None:
    """A dot makes no extension outside of names, and what is alike is told apart from the first on."""
    works = []
    for k, row in enumerate((one, other)):
        e = replace(evidence([line.format(*row)], True, f"t{k}"), description=f"do {' and '.join(row)}")
        works.append(work(e, writes=True))
    made = case_of(template_of([w.program for w in works], requests=[w.evidence.description for w in works]), works)
    assert {(p.name, p.description) for p in made.params} == set(names)


@pytest.mark.parametrize(
    ("line", "values", "name"),
    [
        ("awk '$9 == {}' a.txt > out.txt", ("2024", "2019"), "year"),
        ("awk '$9 == {}' a.txt > out.txt", ("2024", "404"), "value"),
        ("sort -u {} > out.txt", ("1.2.log", "2.10.log"), "file"),  # a name is no version
    ],
)
def test_a_value_without_a_name_is_called_as_its_form(line: str, values: tuple[str, str], name: str) -> None:
    told = [evidence([line.format(v)], True, f"t{v}") for v in values]
    logs = {v: Entry("file", content=b"x\n") for v in values if v.endswith(".log")}
    traces = [replace(e, base=BASE.replace(logs), post=e.post.replace(logs) if e.post else None) for e in told]
    candidate = next(EmbeddedGenerator().generate(pattern(traces), traces))
    assert set(candidate.bindings[f"t{values[0]}"]) == {name}


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        ("the most {} responses", "the most {} responses", "value"),
        ("Show responses with status {}", "who got {}?", "status"),
        ("Show the {} responses", "status of {}?", "value"),
        ("Show responses filtered {}", "who got {}?", "value"),
    ],
)
def test_a_value_is_called_by_the_word_before_it_in_the_description(one: str, other: str, name: str) -> None:
    """Where its place says nothing more. ``most`` does not say what a number is, nor does a verb."""
    lines = {v: evidence([f"awk '$9 == {v}' a.txt > out.txt"], True, f"t{v}") for v in ("500", "404")}
    traces = [replace(e, description=said.format(v)) for said, (v, e) in zip((one, other), lines.items(), strict=True)]
    candidate = next(EmbeddedGenerator().generate(pattern(traces), traces))
    assert set(candidate.bindings["t500"]) == {name}
    assert f'description="{name.capitalize()} to compare with"' in candidate.source
    assert f"<{name}>" in candidate.description


def parameters(command: str, *values: Sequence[str], there: bool = True, changed: bool = True) -> dict[str, tuple[object, str]]:
    """Name -> first value and description, of recordings of one command that changes every file, or makes or reads it."""
    works = []
    for k, row in enumerate(values):
        base, post = (Snapshot({v: Entry("file", 0o644, content) for v in row}) for content in (b"1\n", b"2\n"))
        line = command.format(*row)
        start = base if there else Snapshot()
        e = replace(evidence([line], writes=False, task=f"t{k}"), base=start, post=post if changed else start)
        works.append(work(e, writes=True))
    case = case_of(template_of([w.program for w in works]), works)
    return {p.name: (p.values[0], p.description) for p in case.params}


def test_two_parameters_of_one_value_are_told_apart() -> None:
    """By the word beside the value; where nobody can say which is meant, neither is named."""
    told = 'Make 3 directories named "a/b" followed by a 3 width zero padded number from 1 to 3'
    values = {"prefix": "a/b", "width": "3", "count": "3"}
    padded = 'Make <count> directories named "<prefix>" followed by a <width> width zero padded number from 1 to <count>'
    assert summary_of([(told, values)]) == padded
    assert summary_of([("Set 3 and 3", {"low": "3", "high": "3"})]) == "Set … and …"
    marked = ["Count 5xx answers in {}", "which of {} are 5xx? count them", "Make a list (5xx) of {}"]
    cases = [(text.format(f), {"file": f}) for text, f in zip(marked, ("a.log", "b.log", "c.log"), strict=True)]
    assert summary_of(cases) == "Count 5xx answers in <file>"  # whatever marks stand around it
    assert summary_of([("Keep 2 lines of notes-1.2.2", {"count": "2"})]) == "Keep <count> lines of notes-1.2.2"
    assert summary_of([("Keep old as old2", {"old": "old", "new": "old2"})]) == "Keep <old> as <new>"


def test_a_summary_keeps_its_verb() -> None:
    """Also where a value is the same word: its other places are named. A path or a word before a colon is no verb."""
    told = "archive the old files into archive"
    assert summary_of([(told, {"folder": "archive", "source": "old"})]) == "archive the <source> files into <folder>"
    assert summary_of([("a.txt goes to b.txt", {"old": "a.txt"})]) == "<old> goes to b.txt"
    assert summary_of([("logs: rotate them", {"folder": "logs"})]) == "<folder>: rotate them"


def test_a_value_beside_a_word_called_as_its_parameter_is_told_from_it() -> None:
    """In brackets: the word before it is no second one."""
    assert summary_of([("Set mode 755 on every .sh", {"mode": "755", "ext": "sh"})]) == "Set mode <mode> on every .<ext>"


def test_a_long_summary_ends_with_a_word_that_says_something() -> None:
    """And shows that it goes on."""
    told = f"Count {'very ' * 20}long lines of the file, then print the sum of them"
    assert summary_of([(told, {})]).endswith("long lines …")


def test_summaries_name_no_value_of_one_recording() -> None:
    """Where no parameter holds it; requests in other words say nothing of each other."""
    told = [
        (f"{verb} the version of {name} to {v}", {"version": v})
        for verb, name, v in (("Set", "auth", "2.0"), ("Put", "billing", "1.4"), ("Bump", "search", "3.1"))
    ]
    assert summary_of(told) == "Set the version of … to <version>"
    assert summary_of([*told, ("please raise mail, thanks", {})]) == "Set the version of … to <version>"
    assert summary_of(told[:2]) == "Set the version of auth to <version>"
    assert summary_of([(f"Prepare 1.{n}", {}) for n in range(4)]) == "Prepare …"
    bumps = [(f"Bump {what} to {n}", {"new": str(n)}) for n, what in enumerate(("a/b", "c/d", "a/b", "e-f"), 3)]
    assert summary_of(bumps) == "Bump … to <new>"
    paths = ("Sort the lines of notes/a.txt", "In data/b.txt the lines are to be sorted", "Please sort all of the lines of c.txt")
    assert summary_of([(path, {}) for path in paths]) == "Sort the lines of …"
    assert summary_of([(f"Bump a/b to {n}", {"new": str(n)}) for n in range(3, 7)]) == "Bump a/b to <new>"
    assert summary_of([("Count words here", {}), ("How many lines", {}), ("Tell the length", {})]) == "Tell the length"


def test_a_file_that_all_commands_name_stays_in_the_summary() -> None:
    """Though one request alone writes it in full; what commands differ in does not stay."""
    told = [
        (f"{before} {key} {behind}", {"key": key})
        for before, key, behind in (("Point", "host", "in etc/app.ini to it"), ("The", "port", "of app has to be set right"))
    ]
    lines = [[f"sed -i s/{values['key']}/x/ etc/app.ini", "touch a/b"] for _, values in told]
    fixed = fixed_words(lines)
    assert {"etc/app.ini", "a/b"} <= fixed
    assert not {"host", "port"} & fixed
    assert summary_of(told, "point_app", fixed) == "Point <key> in etc/app.ini to it"
    assert summary_of([*told[:1], ("x", {}), ("y", {})], "point_app") == "Point <key> in … to it"


def test_a_whole_statement_is_the_summary() -> None:
    """A question is not, nor is a sentence without the words that a value of its own stood for, while there is another."""
    asked = [("How many birds are in {file}?", "a.csv"), ("Sum the third column of the table {file}", "b.csv")]
    assert summary_of([(t.format(file=v), {"file": v}) for t, v in asked]) == "Sum the third column of the table <file>"
    assert summary_of([(asked[0][0].format(file="a.csv"), {"file": "a.csv"})]) == "How many birds are in <file>?"
    told = [("Sum x/1 in {file}", "a.csv"), ("Add up the numbers in {file}", "b.csv"), ("Please have the sum of {file}", "c.csv")]
    assert summary_of([(t.format(file=v), {"file": v}) for t, v in told]) == "Add up the numbers in <file>"


def test_a_summary_tells_no_occasion_of_one_request() -> None:
    """And not whose the things are; what another request or the commands speak of too is the task."""
    told = [("Delete .{e} files of my folder after the merge", "orig"), ("Drop all of the .{e} files of this repository", "rej")]
    cases = [(text.format(e=e), {"ext": e}) for text, e in told]
    assert summary_of(cases, "delete_files") == "Delete .<ext> files of folder"
    kept = "Delete .<ext> files of folder after the merge"
    assert summary_of([*cases, ("merge it, then remove backups, as many as there are", {})], "delete_files") == kept
    assert summary_of(cases, "delete_files", {"git", "merge"}) == kept
    for place in ("after each title", "after the title"):
        puts = [(f"Put a line {place}", {}), ("a line is to be put below what a heading says", {})]
        assert summary_of(puts, "put_line") == f"Put a line {place}"


def test_secrets_stay_out_of_summaries() -> None:
    """A key in a description is masked."""
    key = "AKIAIOSFODNN7EXAMPLE"
    assert key not in summary_of([(f"upload with {key}", {})])


def test_a_failed_attempt_is_left_out_with_a_reason() -> None:
    """What worked afterwards is the task."""
    traces = [evidence([f"cp {n}", f"cp {n} out.txt"], True, n) for n in ("a", "b")]
    failed = [Evidence(e.task_id, e.description, e.commands, e.outputs, None, (1, 0), e.base, e.post, True) for e in traces]
    candidates = list(EmbeddedGenerator().generate(pattern(failed), failed))
    assert any("step 1 failed: cp a" in c.notes for c in candidates)


SED_SCRIPTS = [
    ("sed -i 's/{a}/{b}/' f", ("old_text", "new_text")),
    ('sed -i \'s/^version = "{a}"/version = "{b}"/\' f', ("old_version", "new_version")),
    ("sed -i '/^v/s|x {a}|x {b}|g' f", ("old_text", "new_text")),
    ("sed -i 's/q\\/z/w/; s/v {a}/v {b}/' f", ("old_text", "new_text")),
    ("sed -i 's/^version = .*/version = \"{b}\"/' f", ("version",)),
    ("sed -i 's/^{a}=.*/{a}={b}/' f", ("key", "value")),
    ("sed -i '/{a}/s/x/y/' f", ("text",)),
    ("echo '# {a}' > out.txt; grep -rn '{a}' d >> out.txt", ("text",)),
    ("echo '# {a}' > out.txt", ("text",)),
    ("echo {a} > out.txt", ("line",)),
]


@pytest.mark.parametrize(("line", "names"), SED_SCRIPTS)
def test_parameters_are_named_by_what_is_done_with_them(line: str, names: tuple[str, ...]) -> None:
    """Whatever stands around a value in a script, the first half of `s` is the old text and the second the new one."""
    values = [("TODO", "DONE"), ("FIX.ME", "FIXED.IT")]
    traces = [evidence([line.format(a=a, b=b)], True, f"t{k}") for k, (a, b) in enumerate(values)]
    candidate = next(EmbeddedGenerator().generate(pattern(traces), traces))
    known = {"old": "TODO", "new": "DONE", "text": "TODO", "line": "TODO", "version": "DONE", "key": "TODO", "value": "DONE"}
    assert dict(candidate.bindings["t0"]) == {name: known[name.partition("_")[0]] for name in names}


def test_what_is_exchanged_is_called_as_the_requests_call_it() -> None:
    """The noun before "from", before the value, or none: never the verb that a request begins with."""
    for said, word in (
        ("Bump the version from {a} to {b}", "version"),
        ("Point the host {a} at {b}", "host"),
        ("Replace {a} with {b}", "text"),
        ("Turn all {a} entries into {b}", "text"),
    ):
        values = [("1.2", "1.3"), ("2.0", "2.1")]
        commands = [f"sed -i 's/{a}/{b}/' f" for a, b in values]
        traces = [
            replace(evidence([command], True, f"t{k}"), description=said.format(a=a, b=b))
            for k, (command, (a, b)) in enumerate(zip(commands, values, strict=True))
        ]
        candidate = next(EmbeddedGenerator().generate(pattern(traces), traces))
        assert set(candidate.bindings["t0"]) == {f"old_{word}", f"new_{word}"}


def test_awk_that_writes_files_itself_is_work() -> None:
    """`print > FILE` inside a program changes files, though no redirection of the shell does."""
    traces = [evidence(["awk '{print > ($1 \".log\")}' a.txt"], True, name) for name in ("a", "b")]
    assert list(EmbeddedGenerator().generate(pattern(traces), traces))


def test_what_cannot_be_taken_up_says_why() -> None:
    """A command outside the shell that is understood is named; one that is understood is not called unreadable."""
    for line, says in (
        ("f() { cat a.txt; }; f > out.txt", "a function is not understood"),
        ("cat a.txt", "known to change"),
    ):
        generator = EmbeddedGenerator()
        traces = [evidence([line], True, name) for name in ("a", "b")]
        assert not list(generator.generate(pattern(traces), traces))
        assert says in generator.why_none()


@pytest.mark.parametrize(
    ("line", "raises"),
    [
        ("if [ -d {0} ]; then touch {0}/done; else echo 'no {0} here' >&2; exit 1; fi", 'raise RuntimeError(f"no {'),
        ("if [ -d {0} ]; then touch {0}/done; else exit 3; fi", 'raise RuntimeError("exit status 3")'),
    ],
)
def test_a_program_that_says_no_raises(line: str, raises: str) -> None:
    """With what it complained of; it is no empty branch."""
    traces = [evidence([line.format(name)], True, name) for name in ("a", "b")]
    candidate = next(EmbeddedGenerator().generate(pattern(traces), traces))
    assert raises in candidate.source


def test_a_program_that_ends_as_its_last_command_did_raises_nothing() -> None:
    """``exit $?`` and ``exit 0`` say no by themselves."""
    for end in ("exit $?", "exit 0", "exit"):
        traces = [evidence([f"touch {name}; {end}"], True, name) for name in ("a", "b")]
        for candidate in EmbeddedGenerator().generate(pattern(traces), traces):
            assert "exit status" not in candidate.source.partition("@skill_command")[2]


@pytest.mark.parametrize(
    ("line", "said", "names"),
    [
        ("mytool --author={} x", "", ("author",)),
        ("mytool --from={} x", "", ("value",)),
        ("mytool --json={} x", "", ("value",)),
        ("mytool {} x", "on branch {}", ("branch",)),
        ("mytool {} x", "a list {}", ("name",)),
        ("mytool {} x", "only {}", ("name",)),
        ("mytool {} x", "whose {}", ("name",)),
        ("mytool {} x", "", ("name",)),
    ],
)
def test_a_value_that_names_nothing_is_called_as_requests_call_it(line: str, said: str, names: tuple[str, ...]) -> None:
    """Or as its option; never by a word that Python means something by."""
    traces = [replace(evidence([line.format(v)], True, f"t{v}"), description=f"do it {said.format(v)}") for v in ("one", "two")]
    candidate = next(EmbeddedGenerator().generate(pattern(traces), traces))
    assert tuple(candidate.bindings["tone"]) == names


def test_a_form_that_was_given_up_leaves_no_helper_behind() -> None:
    """Nobody calls it: a check would ask for it to run."""
    lines = [
        f"sed -i -E 's|^(FROM {name}):[^ ]+|\\1:{tag}|' {file}" for name, tag, file in (("go", "1", "a"), ("node", "2", "b"))
    ]
    traces = [evidence([line], True, f"t{n}") for n, line in enumerate(lines)]
    sources = [c.source for c in EmbeddedGenerator().generate(pattern(traces), traces)]
    defined = [{n.name for n in ast.parse(s).body if isinstance(n, ast.FunctionDef)} for s in sources]
    assert any("_quoted" in names for names in defined)
    assert all(s.count(f"{name}(") > 1 for s, names in zip(sources, defined, strict=True) for name in names)


def test_what_complains_where_nobody_asks_for_its_status_has_failed() -> None:
    """In ``<(…)``; elsewhere the status tells."""
    for line, asked in (("comm -13 <(tar -tf {} | sort) <(ls)", True), ("tar -tf {} | sort | awk '{{print $1}}'", False)):
        traces = [evidence([line.format(name)], False, name) for name in ("a.tar", "b.tar")]
        sources = [c.source for c in EmbeddedGenerator().generate(pattern(traces), traces)]
        assert any("!= 0 or said" in s for s in sources) is asked


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("sed -i '/^{}:/d' people.txt", "str"),
        ("sed -i 's/id={};/id=new;/' people.txt", "str"),
        ("sed -i '{}d' people.txt", "int"),
        ("sed -i '2,{}d' people.txt", "int"),
        ("awk -F: '$1 == \"{}\"' people.txt > out.txt", "str"),
        ("awk -F: '/:{}:/' people.txt > out.txt", "str"),
        ("awk -F: '$2 > {}' people.txt > out.txt", "int"),
        ("head -n {} people.txt > out.txt", "int"),
    ],
)
def test_digits_that_are_text_keep_their_zeros(line: str, kind: str) -> None:
    """A number of a member (``00417``) that is looked for is no number to count with, though none recorded begins so."""
    values = ("412", "731", "978")
    traces = [evidence([line.format(v)], True, f"t{v}") for v in values]
    case = case_of(template_of([work(e, writes=True).program for e in traces]), [work(e, writes=True) for e in traces])
    assert [p.kind for p in case.params] == [kind]
