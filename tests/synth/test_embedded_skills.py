"""Generated skills against bash: the same tree, nothing left to do for a second run, hostile names unharmed."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.interface import Entry, ExecResult, ReplayRecord, RunRequest, ShellJob, Snapshot
from synth.detect import detect
from synth.embedded import EmbeddedGenerator
from synth.embedded.idle import without_idle
from synth.embedded.pythoncode import lift
from synth.embedded.steps import work
from synth.interface import Candidate, TracePattern
from synth.tracing.traces import load_traces, to_evidence
from verifiers.interface import Evidence

Tree = Mapping[str, str]
"""Relative path -> content; a path ending in / is a folder."""


def write(root: Path, tree: Tree) -> None:
    for path, text in tree.items():
        target = root / path
        if path.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def picture(root: Path) -> Snapshot:
    entries: dict[str, Entry] = {}
    for path in sorted(root.rglob("*")):
        name, mode = str(path.relative_to(root)), path.lstat().st_mode & 0o7777
        if path.is_symlink():
            entries[name] = Entry("symlink", 0o777, target=str(path.readlink()))
        else:
            entries[name] = Entry("dir", mode) if path.is_dir() else Entry("file", mode, path.read_bytes())
    return Snapshot(entries)


def aged(root: Path) -> None:
    """An archive holds the times of files: they are the same in each run, whenever that is."""
    for path in root.rglob("*"):
        os.utime(path, (0, 0), follow_symlinks=False)


def record(root: Path, task: str, description: str, commands: Sequence[str], tree: Tree) -> Evidence:
    """Runs the commands with bash in a fresh folder."""
    root.mkdir()
    write(root, tree)
    aged(root)
    base = picture(root)
    done = [subprocess.run(["bash", "-c", c], cwd=root, capture_output=True, check=False) for c in commands]
    outputs = tuple((d.stdout + d.stderr).decode() for d in done)
    codes = tuple(d.returncode for d in done)
    return Evidence(task, description, tuple(commands), outputs, None, codes, base, picture(root), True)


@dataclass
class Replays:
    """Runs commands with bash in a fresh folder; counts."""

    folder: Path
    runs: int = 0

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        return [self.run(r) for r in requests]

    def run(self, request: RunRequest) -> ReplayRecord:
        assert isinstance(request.job, ShellJob)
        self.runs += 1
        root = materialised(self.folder / str(self.runs), request.base)
        done = [subprocess.run(["bash", "-c", c], cwd=root, capture_output=True, check=False) for c in request.job.commands]
        steps = tuple(ExecResult(d.returncode, None, d.stdout, d.stderr) for d in done)
        return ReplayRecord(None, steps, picture(root), "exited")


def generated(evidence: Sequence[Evidence], replays: Replays | None = None) -> list[Candidate]:
    pattern = TracePattern("repetitive", evidence[0].commands, len(evidence), 1.0, "some_task", "s", ())
    generator = EmbeddedGenerator()
    if replays is not None:
        generator.replays = lambda: nullcontext(replays)
    return list(generator.generate(pattern, evidence))


def run(candidate: Candidate, root: Path, args: Mapping[str, object]) -> object:
    """Calls the skill in a folder; skill_api is the real one."""
    space: dict[str, Any] = {"__name__": "skill"}
    exec(compile(candidate.source, "skill.py", "exec"), space)  # our own generated text, in a temporary folder
    before = Path.cwd()
    os.chdir(root)
    try:
        return asyncio.run(space[candidate.name](**args))
    finally:
        os.chdir(before)


def materialised(root: Path, snapshot: Snapshot) -> Path:
    root.mkdir()
    for path, entry in snapshot.items():
        target = root / path
        if entry.type == "dir":
            target.mkdir(exist_ok=True)
        elif entry.type == "symlink":
            target.symlink_to(entry.target)
        else:
            target.write_bytes(entry.content)
    for path, entry in snapshot.items():
        if entry.type != "symlink":
            (root / path).chmod(entry.mode)
    aged(root)
    return root


def check(tmp: Path, commands: Sequence[str], cases: Sequence[tuple[Mapping[str, str], Tree]]) -> Candidate:
    """The first candidate has every trace's effect or answer, and again none."""
    evidence = [
        record(tmp / f"r{k}", f"t{k}", " ".join(v.values()), [c.format(**v) for c in commands], tree)
        for k, (v, tree) in enumerate(cases)
    ]
    (tmp / "replays").mkdir()
    candidate = generated(evidence, Replays(tmp / "replays"))[0]
    for k, e in enumerate(evidence):
        assert e.base is not None
        root = materialised(tmp / f"s{k}", e.base)
        value = run(candidate, root, candidate.bindings[e.task_id])
        assert picture(root) == e.post
        again = run(candidate, root, candidate.bindings[e.task_id])
        assert picture(root) == e.post
        if isinstance(value, dict) and "output" in value:
            assert str(value["output"]).strip() == e.outputs[-1].strip()
            assert again == value
    return candidate


TREE_A: Tree = {"a.txt": "b\na\nfoo 1\n", "x y.txt": "foo\n", "d/c.txt": "", "d/e/f.txt": "foo\nq\n", "d/z.log": "l\n"}
TREE_B: Tree = {"p.log": "z\ny\n", "q.log": "bar\n", "s/r.log": "n\n", "s/t/u.log": "bar bar\n", "a.txt": "t\n", "s/v.txt": "\n"}
CASES = [({"e": "txt", "d": "d", "f": "a.txt", "w": "foo"}, TREE_A), ({"e": "log", "d": "s", "f": "p.log", "w": "bar"}, TREE_B)]

WRITES = [
    ['for i in *.{e}; do mv "$i" "${{i%.{e}}}.bak"; done'],
    ["find {d} -name '*.{e}' -exec chmod 600 {{}} +"],
    ["find . -name '*.{e}' -delete"],
    ["mkdir -p out/{d}", "cp {f} out/{d}/"],
    ["cp -r {d} {d}.copy"],
    ["sort {f} > {f}.tmp && mv {f}.tmp {f}"],
    ["echo {w} >> {f}"],
    ["sed -i 's/{w}/new/g' {f}"],
    ["sed -i '/{w}/d' {f}"],
    ["mv {f} {d}/"],
    ["rm {f}"],
    ["rm -rf {d}"],
    ["ln -s {f} current"],
    ["touch {d}/.keep", "chmod 700 {d}"],
    ["grep -r {w} {d} | sort > found.txt"],
    ['find {d} -type f | sort | while read -r p; do wc -c < "$p"; done > sizes'],
    ["for n in $(seq 1 3); do mkdir {d}/$n; done"],
    ["echo one > out; cat {f} >> out; echo two >> out"],
    ["find . -name '*.{e}' -exec cp {{}} {{}}.orig \\;"],
    ["cd {d} && mkdir sub && touch sub/x"],
    ["test -d {d}/new || mkdir {d}/new"],
    ["grep -q '^k=' {f} || echo k={w} >> {f}"],
    ["gzip -n {f} && gunzip {f}.gz", "touch done"],
    ["split -d -l 1 {f} part."],
    ["cat > conf <<EOF\nname={w}\nEOF"],
    ["sed -i '/{w}/s/^/# /' {f}"],
    ["sed -i 's/$/ {w}/' {f}"],
    ["sed -i '1,$s/^{w}.*/{w}: {e}/' {f}", "echo 1 >> {f}"],
    ["sed -i '/{w}/a {e} after' {f}"],
    ["sed -i '/{w}/i before {e}\\nmore' {f}"],
    ["sed -i '1a {w}' {f}"],
    ["sed -i '/^{w}/,/q/ s/o/0/' {f}"],
    ["sed -i.orig 's/{w}/new/' {f}"],
    ["sed -i 's/^/> /' {f}"],
    ["perl -pi -e 's/{w}\\b/new/g' {f}"],
    ["bash -lc 'tr a-z A-Z < {f} > {f}.up'"],
    ["ln -sfn {f} current"],
    ["echo {w} >> {f} && sort -o {f} {f}"],
    ["cat <<EOF > conf\nname={w}\nEOF"],
    ["cat <<'EOF' >> {f}\n# {w}\nEOF"],
    ["cat <<'EOF' >> {f}\n\n\n  {w}:\n\n\tx\nEOF"],
    ["grep -q '^{w}:' {f} || cat >> {f} <<'EOF'\n\n{w}:\n\techo {e}\nEOF"],
    ["cat <<EOF | sort > conf\n{w}\na\nEOF"],
    ["ls *.{e} | sed 's/\\.{e}$//' > names"],
    ["sed -n '/{w}/p' {f} > found"],
    ["awk '/{w}/ {{print NR\": \"$0}}' {f} > found"],
    ["awk -F' ' '$1 == \"{w}\" {{n++}} END {{print n+0}}' {f} > n"],
    ["jq -n --arg v {w} '{{name: $v}}' > j"],
    ["find . -type f -name '*.{e}' -exec grep -q '{w}' {{}} \\; -print | sort > hits"],
    ["comm -23 <(sort {f}) <(printf '%s\\n' b {w} zz | sort) > only"],
    ["cat <(head -1 {f}) <(echo {w}) > both"],
    ["sort -k1,1 -t' ' {f} > s1; cut -c1-2 {f} > c; head -1 {f} > h"],
    ["for f in $(find {d} -name '*.{e}'); do if ! grep -q {w} $f; then echo {w} >> $f; fi; done"],
    ["mkdir -p -m 700 {d}/k", "echo {w} > {d}/k/f", "chmod 600 {d}/k/f"],
    ["cat {f} | head -n -1 > {f}.most"],
    ["perl -0pi -e 's{{\\Q{w}\\E}}{{new}}g' {f}"],
    ["touch {d}/l", "grep -qxF {w} {d}/l || echo {w} >> {d}/l"],
    ["cd {d} && find . -type f ! -name S -print0 | LC_ALL=C sort -z | xargs -0 -r md5sum > S"],
    ["mv -n {f} {f}.old", "grep -rlF --include='*.txt' -e {w} {d} | xargs -r -d '\n' sed -i 's/{w}/{e}/g'"],
    ["cp {f} {d}/same", "cmp -s {f} {d}/same && touch {d}/equal"],
    ['for p in {d}/*; do if [ -f "$p" ] && head -n 1 "$p" | grep -q {w}; then echo x >> "$p"; fi; done'],
    ['for p in *.{e}; do if head -n 1 "$p" | grep -q {w}; then rm "$p"; fi; done'],
    ["echo {w} > {d}/seen; exit 0"],
    ["if grep -q {w} {f}; then exit 0; fi; echo {w} >> {f}", "echo {e} > {d}/seen"],
    ["if sort -c {f} > /dev/null 2>&1; then touch {d}/sorted; else touch {d}/mixed; fi"],
    ["if [ -f {f} ]; then cp {f} keep; elif [ -d {d} ]; then touch other; else touch third; fi"],
]
ONCE = [
    ["awk '{{print}} NR == 1 {{print \"{w}: {e}\"}}' {f} > t && mv t {f}"],
    ['awk \'{{print}} END {{print ""; print "{w}"}}\' {f} > t && mv t {f}', "echo {w} > {d}/new"],
    ["mkdir -p {d}/in", "mv {f} {d}/in/{e}.x", "grep -rlF {w} . | xargs -r -d '\n' perl -pi -e 's{{\\Q{w}\\E}}{{{e}}}g'"],
]
"""Run again, these do more or fail."""
READS = [
    ["wc -l {f}"],
    ["find {d} -name '*.{e}' | wc -l"],
    ["grep -c {w} {f}"],
    ["sort {f} | uniq -c | sort -rn | head -n 1"],
    ["ls {d}"],
    ["find . -type f -name '*.{e}' -exec cat {{}} + | wc -l"],
    ["awk 'NR==1' {f}"],
    ["cat {f} | tr a-z A-Z | tac"],
    ["find . -type f -name '*.{e}' -print0 | sort -z | xargs -0 md5sum"],
    ["python3 -c \"print(open('{f}').read().count('{w}'))\""],
    ["python3 - <<'EOF'\nimport os\nfor n in sorted(os.listdir('{d}')):\n    print(f'{{n}}: {w}')\nEOF"],
    ["bash -c 'sort {f} | head -1'"],
    ["echo '{{\"{w}\": {{\"{e}\": [1, 2]}}}}' | jq '.{w}.{e} | length'"],
]


@pytest.mark.parametrize("commands", WRITES + ONCE + READS, ids=lambda c: " ; ".join(c)[:50])
def test_the_skill_does_what_bash_does(commands: list[str], tmp_path: Path) -> None:
    """Effect, answer, second run."""
    check(tmp_path, commands, CASES)


@pytest.mark.parametrize("commands", [["make -s -f {f}"], ["git init -q {d}"]])
def test_unknown_commands_become_a_constant_program(commands: list[str], tmp_path: Path) -> None:
    """The values are positional parameters."""
    tree = {"a.txt": "all:\n\ttouch made\n", "d/": "", "s/": "", "p.log": "all:\n\ttouch made\n"}
    evidence = [
        record(tmp_path / f"r{k}", f"t{k}", "x", [c.format(**v) for c in commands], tree) for k, (v, _) in enumerate(CASES)
    ]
    for candidate in generated(evidence):
        assert "PROGRAM = " in candidate.source
        assert "${1}" in candidate.source


NAME = st.text(st.sampled_from("ab '\"$`*?[]\\\n;&|-é()"), min_size=1, max_size=8).filter(lambda s: s not in (".", ".."))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=NAME)
def test_hostile_names_are_names(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Spaces, quotes, newlines, globs and leading dashes in names that the skill lists."""
    tmp = tmp_path_factory.mktemp("names")
    candidate = check(tmp, ['for i in *.{e}; do mv "$i" "${{i%.{e}}}.bak"; done'], CASES)
    root = tmp / "hostile"
    root.mkdir()
    (root / f"{name}.txt").write_text("1")
    run(candidate, root, {"old_ext": "txt", "ext": "txt"} if "old_ext" in candidate.source else {"ext": "txt"})
    left = [p.name for p in root.iterdir()]
    assert left == ([f"{name}.txt"] if name.startswith(".") else [f"{name}.bak"])


UNSEEN = detect(load_traces(Path(__file__).parents[2] / "fixtures" / "unseen" / "traces.jsonl"))


@pytest.mark.parametrize("pattern", UNSEEN, ids=lambda p: p.traces[0].task_id.rpartition("-")[0])
def test_recorded_tasks_become_skills(pattern: TracePattern, tmp_path: Path) -> None:
    """One pattern a task; a candidate for all of its traces that ends, here too, where the recording did, twice."""
    assert len({t.task_id.rpartition("-")[0] for t in pattern.traces}) == 1
    assert len(pattern.traces) == 4
    evidence = [to_evidence(t) for t in pattern.traces]
    candidate = next(iter(EmbeddedGenerator().generate(pattern, evidence)))
    for e in evidence:
        assert e.base is not None
        root = materialised(tmp_path / e.task_id, e.base)
        value = run(candidate, root, candidate.bindings[e.task_id])
        assert picture(root) == e.post
        if isinstance(value, dict) and "output" in value:
            assert str(value["output"]).strip() == e.outputs[-1].strip()
        run(candidate, root, candidate.bindings[e.task_id])
        assert picture(root) == e.post


SPECIAL = st.text(st.sampled_from("ab .*[]^$\\\\/&+?(){}|#,;'\"%\\té"), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=SPECIAL, new=SPECIAL, extended=st.booleans())
def test_values_in_sed_scripts_are_text(old: str, new: str, extended: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever a value holds, it is looked for and put in as it is; none is read as a part of the script."""
    tmp = tmp_path_factory.mktemp("sed")
    option = "-i -E" if extended else "-i"
    cases = [(values, {**tree, values["f"]: "@\n<foo> <bar>\n=\n"}) for values, tree in CASES]
    candidate = check(tmp, [f"sed {option} '/^@/,/^=/ s/<{{w}}>/<{{e}}>/' {{f}}"], cases)
    assert "_quoted(" in candidate.source
    root = tmp / "hostile"
    root.mkdir()
    (root / "x").write_text(f"@\na<{old}>b\n=\n<{old}>\n")
    meant = {"foo": old, "txt": new, "a.txt": "x"}
    run(candidate, root, {name: meant[str(value)] for name, value in candidate.bindings["t0"].items()})
    assert (root / "x").read_text() == f"@\na<{new}>b\n=\n<{old}>\n"


def test_constants_of_a_python_program_become_arguments(tmp_path: Path) -> None:
    """The program is one constant text; what differs between the traces is handed over, never put into it."""
    candidate = check(tmp_path, ["python3 -c \"print(len('{w}') + 1, f'{d}/{e}')\" > out"], CASES)
    assert "sys.argv[1]" in candidate.source
    assert "foo" not in candidate.source
    assert "bar" not in candidate.source


def test_unknown_steps_that_change_nothing_are_dropped(tmp_path: Path) -> None:
    """The replay without them says so, and the candidate says what was left out; unknown steps that matter stay."""
    commands = ["make -s -n {e}", "echo {w} >> {f}", "make -s {e}"]
    cases = [(values, {**tree, "Makefile": f"{values['e']}:\n\t@touch made\n"}) for values, tree in CASES]
    evidence = [
        record(tmp_path / f"r{k}", f"t{k}", "x", [c.format(**v) for c in commands], tree) for k, (v, tree) in enumerate(cases)
    ]
    works = [w for e in evidence if (w := work(e, writes=True)) is not None]
    (tmp_path / "replays").mkdir()
    kept = without_idle(Replays(tmp_path / "replays"), works)
    assert [w.kept for w in kept] == [(1, 2), (1, 2)]
    assert kept[0].dropped[-1] == "step 1 changes nothing: make -s -n txt"


ALIASES = (("shop.conf", "blog.org", "shop.org"), ("foo.conf", "www.foo.net", "foo.net"), ("bar.conf", "cdn.io", "bar.io b.io"))
POSTS = (("post.md", "A\ndate: 2024"), ("b.md", "B"), ("news.md", "N\ntags: x"))
LOGS = (("jan", ("a.log", "b.log")), ("feb", ("x.log",)), ("mar", ("p.log", "q.log", "r.log")))
SETTINGS = (
    ("sshd", "Root", "no", "Port 22\nRoot yes\n"), ("smb", "browse", "off", "browse on\nx y\n"), ("a", "Debug", "0", "Debug 1\n"),
)  # fmt: skip
DONE: dict[str, tuple[list[str], list[tuple[Mapping[str, str], Tree]]]] = {
    "a word beside one that stays": (
        [r"sed -i 's/server_name \(.*\);/server_name \1 {alias};/' {file}"],
        [({"file": f, "alias": a}, {f: f"server {{\n  server_name {n};\n}}\n"}) for f, a, n in ALIASES],
    ),
    "the same line each time": (
        ["sed -i '2i draft: true' {file}"],
        [({"file": f}, {f: f"---\ntitle: {title}\n---\ntext\n", "o.md": "---\n"}) for f, title in POSTS],
    ),
    "what a pattern named is gone": (
        ["tar czf {name}.tar.gz *.log", "rm *.log"],
        [({"name": n}, {**{f: f"{f}\n" for f in files}, "keep.txt": "k\n"}) for n, files in LOGS],
    ),
    "a copy beside what was changed": (
        ["cp {file} {file}.orig", "sed -i 's/^{key}.*/{key} {value}/' {file}"],
        [({"file": f, "key": k, "value": v}, {f: text}) for f, k, v, text in SETTINGS],
    ),
}


@pytest.mark.parametrize("name", DONE)
def test_that_all_is_done_is_seen_in_the_recordings(name: str, tmp_path: Path) -> None:
    """Commands that do more each time: some candidate does once what they did, and then nothing."""
    commands, cases = DONE[name]
    evidence = [
        record(tmp_path / f"r{k}", f"t{k}", " ".join(v.values()), [c.format(**v) for c in commands], tree)
        for k, (v, tree) in enumerate(cases)
    ]
    assert all(e.base != e.post for e in evidence)
    (tmp_path / "replays").mkdir()

    def once(candidate: Candidate, at: Path) -> bool:
        at.mkdir()
        for e in evidence:
            assert e.base is not None
            root = materialised(at / e.task_id, e.base)
            for _ in range(2):
                run(candidate, root, candidate.bindings[e.task_id])
                if picture(root) != e.post:
                    return False
        return True

    found = generated(evidence, Replays(tmp_path / "replays"))
    assert any(once(candidate, tmp_path / f"c{n}") for n, candidate in enumerate(found) if len(candidate.bindings) == len(cases))


def test_text_that_stands_there_is_put_in_where_it_is_not_beside_itself(tmp_path: Path) -> None:
    """The same alias of another server, or as a part of a longer word, is none of this one."""
    commands, cases = DONE["a word beside one that stays"]
    candidate = check(tmp_path, commands, cases)
    root = tmp_path / "other"
    write(root, {"x.conf": "# blog.org\nserver_name a.org myblog.org;\n"})
    run(candidate, root, {"file": "x.conf", "text": "blog.org"})
    assert (root / "x.conf").read_text() == "# blog.org\nserver_name a.org myblog.org blog.org;\n"


def test_a_patch_is_applied_once(tmp_path: Path) -> None:
    """What is there already is told by taking it back, on trial."""
    diff = "--- a/{f}\n+++ b/{f}\n@@ -1 +1,2 @@\n {old}\n+{new}\n"
    cases: list[tuple[Mapping[str, str], Tree]] = [
        ({"p": "one.diff"}, {"a": "1\n", "one.diff": diff.format(f="a", old="1", new="2")}),
        ({"p": "d/two.diff"}, {"b": "x\n", "d/two.diff": diff.format(f="b", old="x", new="y")}),
    ]
    check(tmp_path, ["patch -s -p1 < {p}"], cases)


def test_columns_of_sort_keys_and_attached_options_are_parameters(tmp_path: Path) -> None:
    """``-k2,2n`` and ``-k 1,1n`` are one command with another column, ``-f1`` and ``-f 2`` too."""
    cases: list[tuple[Mapping[str, str], Tree]] = [
        ({"k": "-k2,2n", "c": "-f1"}, {"f": "b 2 x\na 10 y\nc 1 z\n"}),
        ({"k": "-k 3,3n", "c": "-f 2"}, {"f": "b 2 7\na 10 5\nc 1 30\n"}),
    ]
    candidate = check(tmp_path, ["sort {k} f | cut -d' ' {c} > out"], cases)
    assert candidate.bindings["t0"] == {"column": 2, "column2": "1"}


def test_texts_in_brackets_of_jq_are_values(tmp_path: Path) -> None:
    """An index and an element."""
    cases: list[tuple[Mapping[str, str], Tree]] = [
        ({"k": "a", "v": "x"}, {"f": '{"p": {"a": ["q"], "b": []}}'}),
        ({"k": "b", "v": "y"}, {"f": '{"p": {"a": ["q"], "b": []}}'}),
    ]
    candidate = check(tmp_path, ['jq \'.p["{k}"] |= (. + ["{v}"] | unique)\' f > f.tmp && mv f.tmp f'], cases)
    assert "--arg" in candidate.source


def test_numbers_in_jq_programs_are_values(tmp_path: Path) -> None:
    """``.key = 5``: the key and the number are handed over as jq's own variables."""
    cases: list[tuple[Mapping[str, str], Tree]] = [
        ({"k": "a", "v": "5"}, {"f": '{"a": 1, "b": 2}'}),
        ({"k": "b", "v": "70"}, {"f": '{"a": 1, "b": 2}'}),
    ]
    candidate = check(tmp_path, ["jq '.{k} = {v}' f > f.tmp && mv f.tmp f"], cases)
    assert "--argjson" in candidate.source


def test_programs_that_differ_in_more_than_constants_stay_apart() -> None:
    """Other names, other calls, other numbers of elements: nothing is lifted."""
    assert lift(["print(a)", "print(b)"]) is None
    assert lift(["print(1, 2)", "print(1)"]) is None
    assert lift(["x = 1.5", "x = 2.5"]) is None
    assert lift(["def", "x"]) is None
    assert lift(["import sys\nprint(sys.argv, 'a')", "import sys\nprint(sys.argv, 'b')"]) is None
    assert lift(["print('a', 2)", "print('b', 3)"]) == (
        "import sys\nprint(sys.argv[1], int(sys.argv[2]))", [("a", "2"), ("b", "3")],
    )  # fmt: skip


def test_a_task_without_shape_says_why() -> None:
    """No candidate, one sentence."""
    generator = EmbeddedGenerator()
    post = Snapshot({"f": Entry("file")})
    evidence = [Evidence("t", "x", ("f() { ls; }; f > f",), ("",), None, (0,), Snapshot(), post, True)]
    pattern = TracePattern("repetitive", (), 1, 1.0, "x", "s", ())
    assert list(generator.generate(pattern, evidence)) == []
    assert generator.why_none()


SETTING = [({"k": "level", "v": "debug", "f": "a.env"}, {"a.env": "level=info\nx=1\n"}),
           ({"k": "size", "v": "20", "f": "b.env"}, {"b.env": "level=info\nsize=5\n"})]  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        "sed -i 's/^{k}=.*/{k}={v}/' {f} && grep {k} {f}",
        "grep -n '^{k}=' {f} && sed -i 's/^{k}=.*/{k}={v}/' {f}",
        "[ -f {f} ] && grep -q '^{k}=' {f} && sed -i 's/^{k}=.*/{k}={v}/' {f}",
    ],
)
def test_a_check_that_does_not_hold_ends_with_an_error(command: str, tmp_path: Path) -> None:
    """As the command does, wherever in the list the check stands; in plain Python."""
    candidate = check(tmp_path, [command], SETTING)
    assert "copytree" not in candidate.source
    root = tmp_path / "other"
    write(root, {"c.env": "x=1\n"})
    args = {p: {"level": "none", "debug": "y", "a.env": "c.env"}[str(v)] for p, v in candidate.bindings["t0"].items()}
    with pytest.raises((ValueError, LookupError), match=r"nothing matches|no line has"):
        run(candidate, root, args)
    assert (root / "c.env").read_text() == "x=1\n"


ENTRIES = [({"t": "fix zeta", "f": "a.md"}, {"a.md": "# Log\n## [Unreleased]\n- one\n## 1.0\n"}),
           ({"t": "add eta", "f": "b.md"}, {"b.md": "## [Unreleased]\n"})]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "cases"),
    [
        ("sed -i 's/^{k}=.*/{k}={v}/' {f}", SETTING),
        ("sed -i '/^## \\[Unreleased\\]/a - {t}' {f}", ENTRIES),
    ],
)
def test_what_an_edit_goes_by_must_be_there(
    command: str, cases: Sequence[tuple[Mapping[str, str], Tree]], tmp_path: Path
) -> None:
    """sed says nothing where no line matches; that all is well would be a lie where every recording has the line and keeps it."""
    candidate = check(tmp_path, [command], cases)
    root = tmp_path / "other"
    write(root, {"a.env": "x=1\n", "a.md": "# Log\n"})
    before = picture(root)
    with pytest.raises(LookupError, match="no line has"):
        run(candidate, root, candidate.bindings["t0"])
    assert picture(root) == before


def test_awk_compares_texts_as_texts(tmp_path: Path) -> None:
    """An account ``0100`` is not 100, though a variable of awk that looks like a number is one."""
    cases = [
        ({"w": "100", "f": "a.csv"}, {"a.csv": "100,2\n200,3\n"}),
        ({"w": "200", "f": "b.csv"}, {"b.csv": "200,5\n100,1\n200,2\n"}),
    ]
    candidate = check(tmp_path, ["awk -F, '$1 == \"{w}\" {{s += $2}} END {{print s+0}}' {f}"], cases)
    root = tmp_path / "other"
    write(root, {"a.csv": "0100,7\n1e2,20\n100,4\n"})
    value = run(candidate, root, candidate.bindings["t0"])
    assert isinstance(value, dict)
    assert value["output"] == "4\n"


def test_a_check_that_the_task_itself_makes_untrue_is_no_error(tmp_path: Path) -> None:
    """A second run finds nothing to do and succeeds."""
    check(tmp_path, ["grep -q {w} {f} && sed -i '/{w}/d' {f}"], CASES)
