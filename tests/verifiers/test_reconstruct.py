"""Bases rebuilt from commands and outputs: only what the replay bears out is accepted."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox.interface import Entry, ExecResult, ReplayRecord, RunRequest, ShellJob, Snapshot, effects
from verifiers.interface import Evidence
from verifiers.reconstruction.clues import clues, json_for, matching_name, mode_bits, sightings
from verifiers.reconstruction.compare import Gap, Step, gap, normal
from verifiers.reconstruction.reconstruct import Hypothesis, accept, alternative_bases, rebuild, rebuild_all, reconstruct
from verifiers.reconstruction.repairs import absent_path, clean, guesses


class HostSession:
    """A fake session that runs the commands of these tests (nothing else) in a temporary directory of this machine."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self, request: RunRequest) -> ReplayRecord:
        assert isinstance(request.job, ShellJob)
        self.runs += 1
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            for path, entry in request.base.items():
                place(root / path, entry)
            steps, here = [], root
            for command in request.job.commands:
                script = f"{command}\nx=$?; pwd > {root}.cwd; exit $x"
                env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": name}
                done = subprocess.run(
                    ["bash", "-c", script], cwd=here, capture_output=True, env=env, stdin=subprocess.DEVNULL, timeout=20
                )
                steps.append(ExecResult(done.returncode, None, done.stdout, done.stderr, cwd=str(here.relative_to(root))))
                here = Path(Path(f"{root}.cwd").read_text("utf-8").strip())
            Path(f"{root}.cwd").unlink(missing_ok=True)
            return ReplayRecord(None, tuple(steps), scan(root), "exited")

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        return [self.run(r) for r in requests]

    def close(self) -> None:
        return

    def __enter__(self) -> HostSession:
        return self

    def __exit__(self, *exc: object) -> None:
        return


def place(path: Path, entry: Entry) -> None:
    if entry.type == "dir":
        path.mkdir(parents=True, exist_ok=True)
    elif entry.type == "symlink":
        path.symlink_to(entry.target)
        return
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.content)
    path.chmod(entry.mode)


def scan(root: Path) -> Snapshot:
    out: dict[str, Entry] = {}
    for path in root.rglob("*"):
        name, mode = str(path.relative_to(root)), path.lstat().st_mode & 0o7777
        if path.is_symlink():
            out[name] = Entry("symlink", 0o777, target=str(path.readlink()))
        else:
            out[name] = Entry("dir", mode) if path.is_dir() else Entry("file", mode, path.read_bytes())
    return Snapshot(out)


def recorded(commands: tuple[str, ...], base: Snapshot, task_id: str = "t") -> Evidence:
    """What a recorder without snapshots would have kept of running the commands on ``base``."""
    record = HostSession().run(RunRequest(ShellJob(commands), base))
    outputs = tuple((s.stdout + s.stderr).decode() for s in record.steps)
    return Evidence(task_id, "x", commands, outputs, None, None, None, None, True)


def files(**contents: str) -> Snapshot:
    return Snapshot(
        {name.replace("__", "/").replace("_", "."): Entry("file", 0o644, text.encode()) for name, text in contents.items()}
    )


CASES: dict[str, tuple[tuple[str, ...], Snapshot]] = {
    "a listing before a rename": (
        ("ls", 'for f in *.txt; do mv "$f" "${f%.txt}.md"; done', "ls -A"), files(a_txt="1", b_txt="2", c_css="3"),
    ),
    "a listing after a prefix was added": (('for f in *; do mv "$f" "old-$f"; done', "ls"), files(a_txt="1", b="2")),
    "a listing after a move": (("mkdir -p docs", "mv *.md docs", "ls docs"), files(a_md="1", b_md="2")),
    "a recursive listing": (("ls -R", "rm -r src"), files(src__a_c="1", src__lib__b_c="2", top="3")),
    "a find": (("find . -name '*.tmp'", "find . -name '*.tmp' -delete"), files(a_tmp="", x__b_tmp="")),
    "a long listing": (("ls -l", "chmod 600 a.sh"), files(a_sh="echo hi\n")),
    "a count of lines": (("cat *.log | wc -l",), files(a_log="1\n2\n3\n4\n", b_log="5\n")),
    "a counted file": (("wc -l data.csv", "split -l 2 data.csv p-"), files(data_csv="a\nb\nc\nd\ne\n")),
    "a count of matching files": (
        ("grep -rl foo . | wc -l", "sed -i s/foo/bar/ *.conf"), files(a_conf="foo\n", b_conf="a foo\n"),
    ),
    "a file that is shown": (("cat names", "sort names > sorted"), files(names="pear\nfig\n")),
    "a file that is shown sorted": (("sort names > t && mv t names", "cat names"), files(names="pear\nfig\napple\n")),
    "a file that is shown backwards": (("tac notes.txt",), files(notes_txt="one\ntwo\nthree\n")),
    "lines that were found": (("grep -rn TODO src",), files(src__a_py="x = 1\n# TODO one\n", src__b_py="# TODO two\n")),
    "nothing but a new file": (("mkdir -p a/b", "echo hi > a/b/c", "cat a/b/c"), Snapshot()),
    "an operand that must be there": (("cp -r conf conf.bak", "ls"), files(conf__x="1")),
    "operands of a silent glob": (("rm tmp/*.cache", "ls tmp"), files(tmp__a_cache="1", tmp__keep="2")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_base_is_rebuilt_from(name: str) -> None:
    """The replay on the rebuilt base prints what was recorded, and every path of it is needed for that."""
    evidence = recorded(*CASES[name])
    session = HostSession()
    found = rebuild(evidence, session)
    assert not isinstance(found, str), found
    assert found.reconstructed
    assert found.base is not None
    assert found.post is not None
    assert not gap(evidence, session.run(RunRequest(ShellJob(evidence.commands), found.base))).lines
    for path in found.base:
        smaller = found.base.replace({path: None})
        assert gap(evidence, session.run(RunRequest(ShellJob(evidence.commands), smaller))).lines, path


def test_a_rename_is_rebuilt_with_its_names_and_effect() -> None:
    """The names before the rename, bystander included, and the end state of the replay."""
    evidence = recorded(*CASES["a listing before a rename"])
    found = rebuild(evidence, HostSession())
    assert not isinstance(found, str)
    assert set(found.base or ()) == {"a.txt", "b.txt", "c.css"}
    assert set(found.post or ()) == {"a.md", "b.md", "c.css"}
    assert found.exit_codes == (0, 0, 0)


@pytest.mark.parametrize(
    ("commands", "outputs", "needle"),
    [
        (("find . -name '*~' -delete",), ("",), "do not tell what was there"),
        (("md5sum a",), ("0123456789abcdef0123456789abcdef  a\n",), "no base gives back the recorded outputs"),
        (("date +%N",), ("123\n",), "no base gives back"),
        ((), (), "no commands"),
    ],
)
def test_what_cannot_be_borne_out_is_refused(commands: tuple[str, ...], outputs: tuple[str, ...], needle: str) -> None:
    """Silence, digests and clocks: a reason in one sentence, never a guess."""
    evidence = Evidence("t", "x", commands, outputs, None, None, None, None, True)
    found = rebuild(evidence, HostSession(), budget=30)
    assert isinstance(found, str)
    assert needle in found


def test_a_failed_trace_is_never_an_oracle() -> None:
    """Negative evidence stays without a base."""
    evidence = Evidence("t", "x", ("ls",), ("a\n",), None, None, None, None, False)
    assert "failed" in str(rebuild(evidence, HostSession()))


def test_accept_takes_out_what_nothing_depends_on() -> None:
    """A path that no output shows is not part of the base."""
    evidence = recorded(("cat a",), files(a="1\n"))
    found = accept(evidence, Hypothesis(files(a="1\n", unseen="2\n")), HostSession())
    assert not isinstance(found, str)
    assert set(found.base or ()) == {"a"}


def test_accept_refuses_a_base_that_prints_something_else() -> None:
    """The reason names the command and the line."""
    evidence = recorded(("cat a",), files(a="1\n"))
    assert accept(evidence, Hypothesis(files(a="2\n")), HostSession()) == "at command 1, recorded '1'"


def test_earlier_content_of_a_written_file_is_tried_too() -> None:
    """A file that is appended to, and whose earlier content nothing shows: absent in the base, with a sentinel beside it."""
    found = rebuild(recorded(("echo hi | tee -a notes",), Snapshot()), HostSession())
    assert not isinstance(found, str)
    assert found.base == Snapshot()
    (other,) = alternative_bases(found)
    assert set(other) == {"notes"}
    assert other["notes"].content


def test_evidence_with_a_base_is_left_alone() -> None:
    """And the rest of a batch is rebuilt where it can be."""
    whole = Evidence("w", "x", ("ls",), ("",), None, None, Snapshot(), None, True)
    bare = recorded(("ls",), files(a=""), "b")
    lost = Evidence("l", "x", ("date +%N",), ("1\n",), None, None, None, None, True)
    first, second, third = rebuild_all([whole, bare, lost], HostSession(), budget=20)
    assert first is whole
    assert second.reconstructed
    assert third.base is None


def test_hypotheses_come_from_the_text_alone() -> None:
    """Without a sandbox: what the first output lists, and the empty workspace."""
    evidence = Evidence("t", "x", ("ls",), ("a b\nc\n",), None, None, None, None, True)
    bases = [set(h.base) for h in reconstruct(evidence)]
    assert {"a b", "c"} in bases
    assert bases[-1] == set()


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("cat: a b.txt: No such file or directory", "a b.txt"),
        ("ls: cannot access 'x y': No such file or directory", "x y"),
        ("find: ‘test’: No such file or directory", "test"),
        ("head: cannot open 'f' for reading: No such file or directory", "f"),
        ("bash: line 1: in/a.txt: No such file or directory", "in/a.txt"),
        ("sed: can't read x: No such file or directory", "x"),
        ("jq: error: Could not open package.json: No such file or directory", "package.json"),
        ("awk: fatal: cannot open file `a b' for reading: No such file or directory", "a b"),
        ("all is well", None),
    ],
)
def test_error_lines_name_what_is_absent(line: str, path: str | None) -> None:
    """As coreutils, bash and others word it."""
    assert absent_path(line) == path


@pytest.mark.parametrize(
    ("command", "lines", "paths"),
    [
        ("ls", ["a", "b c"], {"a": False, "b c": False}),
        ("ls -R", [".:", "d", "", "./d:", "x"], {"d": True, "d/x": False}),
        ("ls -l", ["-rw-r--r-- 3 a", "drwxr-xr-x  d"], {"a": False, "d": True}),
        ("find x -printf '%m %P\\n'", ["664 a/b", "775 "], {"a/b": False, ".": False}),
        ("find . -type d", ["./a"], {"a": True}),
        ("md5sum *", ["d41d8cd98f00b204e9800998ecf8427e  e"], {"e": False}),
        ("wc -l *", ["  3 a", "  3 total"], {"a": False}),
    ],
)
def test_outputs_are_read_as_their_command_prints(command: str, lines: list[str], paths: dict[str, bool]) -> None:
    """Names and whether they are directories."""
    evidence = Evidence("t", "x", (command,), ("",), None, None, None, None, True)
    assert {s.path: s.directory for s in sightings(evidence, 0, lines)} == paths


def test_long_listings_are_compared_without_owner_and_time() -> None:
    """What no base can bring back does not count; mode, size and name do."""
    one = normal("-rw-r--r-- 1 root root 12 Jan  2 03:04 a b")
    assert one == normal("-rw-r--r-- 2 agent users 12 2024-05-06 07:08 a b")
    assert one != normal("-rw-r--r-- 1 root root 13 Jan  2 03:04 a b")
    assert normal("total 8") is None


@pytest.mark.parametrize(("pattern", "name"), [("*.txt", "item1.txt"), ("a?c", "aqc"), ("[xy]*", "xitem1"), ("plain", "plain")])
def test_a_name_is_made_for_a_pattern(pattern: str, name: str) -> None:
    """Something that the glob matches."""
    assert matching_name(pattern, 1) == name


def test_modes_and_documents() -> None:
    """``rwx`` strings as bits; a JSON document for a path query."""
    assert mode_bits("rwxr-x--T") == 0o1750
    assert json_for('."a".b', "3\n") == '{"a": {"b": 3}}\n'
    assert json_for(".a | length", "3") is None


@given(st.text())
def test_no_path_leads_out_of_the_workspace(path: str) -> None:
    """Whatever an output says, a guess stays inside."""
    found = clean(path)
    assert found is None or not (found.startswith("/") or found.split("/")[0] == "..")


text = st.text(st.characters(exclude_characters="\0"), max_size=60)
command = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=60)


@given(st.lists(st.tuples(command, text), min_size=1, max_size=3))
@example([("", "0\x1f")])
@example([("wc -l a", "9" * 5000 + " a\n")])
@example([("wc -l a", "9" * 14 + " a\n")])
@example([("find . -printf '%s %m %p\\n'", "9" * 14 + " 77777 a\n")])
@example([("ls -l", "-rw-r--r-- 1 a b " + "9" * 5000 + " Jan 1 00:00 f\n")])
def test_any_trace_text_gives_guesses_and_no_crash(steps: list[tuple[str, str]]) -> None:
    """Commands and outputs are foreign data: every hypothesis is a snapshot whose paths are clean."""
    evidence = Evidence("t", "x", tuple(c for c, _ in steps), tuple(o for _, o in steps), None, None, None, None, True)
    for hypothesis in reconstruct(evidence):
        assert Snapshot.from_json(hypothesis.base.to_json()) == hypothesis.base


@given(text, text, st.lists(st.sampled_from(["a", "b/c", "b"]), max_size=3))
def test_guesses_on_any_difference(out: str, err: str, there: list[str]) -> None:
    """Guessing survives any replay output, on any base."""
    evidence = Evidence("t", "x", ("cat a | sort",), (out,), None, None, None, None, True)
    base = Snapshot({p: Entry("file") for p in there if p != "b" or "b/c" not in there})
    record = ReplayRecord(None, (ExecResult(0, None, err.encode("utf-8", "surrogatepass"), b""),), base, "exited")
    for guess in guesses(evidence, clues(evidence), base, gap(evidence, record)):
        assert guess.base != base


@pytest.mark.engine
def test_a_real_sandbox_bears_out_a_rename() -> None:
    """The same search against containers."""
    from sandbox import open_sandbox

    evidence = recorded(*CASES["a listing before a rename"])
    with open_sandbox(workers=1) as sandbox, sandbox.session("reconstruct") as session:
        found = rebuild(evidence, session)
    assert not isinstance(found, str)
    assert found.base is not None
    assert found.post is not None
    assert {e.kind for e in effects(found.base, found.post)} == {"created", "removed"}


def test_the_fake_session_is_one() -> None:
    """The fake of these tests runs commands and scans what they leave."""
    record: Any = HostSession().run(RunRequest(ShellJob(("echo x > f", "mkdir d", "cd d", "pwd | grep -c /d$")), Snapshot()))
    assert record.steps[3].stdout == b"1\n"
    assert set(record.post) == {"f", "d"}


def test_absolute_paths_below_the_workspaces_root_count() -> None:
    """An agent that names its files from the root of the file system."""
    evidence = Evidence(
        "t",
        "x",
        ("wc -l /home/me/w/a.txt",),
        ("2 /home/me/w/a.txt\n",),
        None,
        None,
        None,
        None,
        True,
        workspace_root="/home/me/w",
    )
    step = Step(0, ".", (), ("wc: /home/me/w/a.txt: No such file or directory",))
    found = guesses(evidence, clues(evidence), Snapshot(), Gap((step,), 0, 0))
    assert any(set(g.base) == {"a.txt"} for g in found)
    assert clean("/home/me/w/b/c", "x", "/home/me/w") == "b/c"
    assert clean("/home/me/other", ".", "/home/me/w") is None
