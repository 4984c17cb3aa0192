"""Requests and answers: what the runner is told, and what is believed of what a job says."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import codec
from sandbox.guest.belongings import TOKEN
from sandbox.interface import (
    CrashAt,
    Entry,
    ErrnoAt,
    Fault,
    KillAfter,
    NoReturn,
    OvertakenAt,
    Raised,
    ReadOnlySubtree,
    ReplayRecord,
    Returned,
    RunRequest,
    SandboxError,
    ShellJob,
    SkillJob,
    Snapshot,
    Surroundings,
)

BASE = Snapshot({"a/b": Entry("file", 0o600, b"x"), "l": Entry("symlink", 0o777, target="a"), "p": Entry("fifo", 0o644)})


def answer(*frames: bytes, status: int = 0, ended: str = "exited", notes: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "steps": [{"status": status, "out": 5, "err": 0, "cwd": ".", "frames": len(frames), "notes": list(notes)}],
        "ended": ended, "leftovers": [["file", "/tmp/x"]], "network": ["1 packets"], "seen_network": ["connect"], "outside": [],
        "missing": [],
        "calls": [], "fault_reached": False, "scan_findings": [], "took_input": False, "duration_s": 0.1,
    }  # fmt: skip


def read(*frames: bytes, **more: Any) -> ReplayRecord:
    request = RunRequest(SkillJob("", {}), BASE)
    return codec.record(request, answer(*frames, **more), [b"abc", b"", *frames], BASE, 20.0)


def test_a_snapshot_survives_the_wire() -> None:
    """Manifest and contents give the same snapshot again."""
    text, contents = codec.tree_of(BASE)
    assert codec.snapshot_of(text, contents) == BASE
    assert codec.refs_of(text) == list(contents)


def test_no_job_could_make_a_device() -> None:
    """A base with a device is refused before anything runs."""
    with pytest.raises(SandboxError, match="device"):
        codec.tree_of(Snapshot({"d": Entry("device")}))


def test_outcomes() -> None:
    """A value, an exception and their absence are told apart."""
    assert read(b'{"returned": "[1, null]"}').outcome == Returned([1, None])
    raised = read(b'{"raised": {"type": "E", "message": "m", "traceback": "t", "line": 3}}').outcome
    assert raised == Raised("E", "m", "t", 3)
    assert read().outcome == NoReturn("exited 0 without a return value")
    assert read(status=3 << 8).outcome == NoReturn("exited 3 without a return value")
    assert read(status=9).outcome == NoReturn("killed by signal 9")
    assert read(status=9, ended="timeout").outcome == NoReturn("timed out after 20 s")
    assert read(b'{"returned": "1"}', status=70 << 8).outcome == NoReturn("exited 70 after its answer")
    assert read(b'{"returned": "1"}', status=9, ended="killed").outcome == Returned(1)
    assert read(b'{"not_json": "the value is not JSON: set"}').outcome == NoReturn("the value is not JSON: set")


def test_an_end_after_the_answer_and_what_was_seen_meanwhile() -> None:
    """A status that is not 0 is a finding, and reports of the interpreter are no second answer."""
    record = read(b'{"audit": "exec"}', b'{"audit": "exec"}', b'{"returned": "1"}', status=70 << 8)
    assert record.audit == ("exec",)
    assert record.protocol_findings == ("its process exited 70 after its answer",)


def test_the_facts_around_it() -> None:
    """Leftovers, network and truncation come through; a second frame is a finding."""
    record = read(b'{"returned": "1"}', b'{"returned": "2"}', notes=("3 bytes that are no frame",))
    assert record.outcome == Returned(1)
    assert record.network == ("connect", "1 packets")
    assert record.leftovers[0].detail == "/tmp/x"
    assert record.steps[0].truncated
    assert record.protocol_findings == ("3 bytes that are no frame", "a second frame came over the job's private pipe")


@given(st.binary(max_size=60) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["returned", "raised", "lines", "probe", "type"]), inner),
).map(lambda v: json.dumps(v).encode()))  # fmt: skip
def test_a_forged_frame_is_data(frame: bytes) -> None:
    """Whatever a job writes into its frame, a record comes out of it."""
    assert isinstance(read(frame).outcome, Returned | Raised | NoReturn)


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", "1" * 10_000, "{"])
def test_values_that_are_no_json(text: str) -> None:
    """A value that Python's own JSON cannot hold is no value."""
    assert isinstance(read(json.dumps({"returned": text}).encode()).outcome, NoReturn)


def test_a_job_that_could_not_be_set_up_is_our_fault() -> None:
    """A failure before the job's own code is the sandbox's."""
    with pytest.raises(SandboxError, match="no seccomp"):
        read(b'{"failed": "no seccomp"}')


@pytest.mark.parametrize(
    ("fault", "classes", "kind"),
    [
        (CrashAt(3), [], "crash"), (CrashAt(3, torn=True), ["write"], "crash"), (ErrnoAt(0, "EIO", "read"), ["read"], "errno"),
        (ErrnoAt(0, "EIO", "change"), [], "errno"), (ReadOnlySubtree("d"), [], "read-only"), (OvertakenAt(1), [], "overtake"),
    ],
)  # fmt: skip
def test_the_supervisor_is_told_as_little_as_it_needs(fault: Fault, classes: list[str], kind: str) -> None:
    """Only the calls that a fault counts are announced."""
    told = codec.watch(RunRequest(ShellJob(()), BASE, fault=fault))
    assert told is not None
    assert told["classes"] == classes
    assert told["fault"]["type"] == kind


def test_plain_runs_are_not_supervised() -> None:
    """Nothing is announced where nothing asks for it."""
    assert codec.watch(RunRequest(ShellJob(()), BASE, fault=KillAfter(1.0))) is None
    observed = codec.watch(RunRequest(ShellJob(()), BASE, observe=True))
    assert observed is not None
    assert observed["reads"]


def test_the_environment_is_ours_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the client's environment gets in; what is asked to differ does."""
    monkeypatch.setenv("SECRET", "x")
    env = codec.environment(Surroundings(tz="Asia/Tokyo", locale="sv_SE.UTF-8", hash_seed=7, home="alt"))
    assert "SECRET" not in env
    assert (env["TZ"], env["LANG"], env["LC_ALL"], env["PYTHONHASHSEED"]) == ("Asia/Tokyo", "sv_SE.UTF-8", "sv_SE.UTF-8", "7")
    assert env["HOME"] == "/home/agent/alt"
    assert env["GIT_COMMITTER_DATE"] == "1600000000 +0000"


def test_who_lives_there_has_secrets() -> None:
    """A value that carries them differs from the one of a bare environment."""
    bare, lived_in = codec.environment(Surroundings()), codec.environment(Surroundings(home="alt"))
    assert {k for k in lived_in if k not in bare} >= {"GITHUB_TOKEN", "DATABASE_URL"}
    assert TOKEN in lived_in["DATABASE_URL"]


@pytest.mark.parametrize("author", ["Ada", "Ada <a@b>", "A <a@b> x +0000", "A\nB <a@b> 1 +0000", " <a@b> 1 +0000"])
def test_an_author_is_named_as_git_names_one(author: str) -> None:
    """For both parts of a commit; anything else is refused."""
    env = codec.environment(Surroundings(author="Ada L <a@b.org> 1732412412 +0100"))
    assert (env["GIT_AUTHOR_NAME"], env["GIT_COMMITTER_EMAIL"], env["GIT_AUTHOR_DATE"]) == (
        "Ada L",
        "a@b.org",
        "1732412412 +0100",
    )
    with pytest.raises(SandboxError, match="author"):
        codec.environment(Surroundings(author=author))


@pytest.mark.parametrize("home", ["/etc", "../x", "/home/agent2"])
def test_a_home_elsewhere_is_refused(home: str) -> None:
    """HOME must lie where it is emptied after the run."""
    with pytest.raises(SandboxError):
        codec.home(Surroundings(home=home))


COMMANDS = [
    "true", "echo 'a\\", "echo a\\", "cat <<EOF\nx\nEOF", "cat <<EOF\nx", "cat <<-'E'\n\tx\n\tE", "echo x # note", "if",
    "x=1; echo $x", "echo 1 >&2; exit 3", "cat <<A; cat <<B\n1\nA\n2\nB\necho z", "echo $((1<<2))", "(exit 4)", "echo a |",
    "exec sh -c 'exit 5'", "echo a && false",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_added_to_a_command_changes_nothing(command: str) -> None:
    """Output and exit code of the text given to Bash are those of the recorded command."""

    def outcome(text: str) -> tuple[int, bytes]:
        done = subprocess.run(["bash", "-c", text], capture_output=True, check=False, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout

    assert outcome(codec.whole(command)) == outcome(command)
