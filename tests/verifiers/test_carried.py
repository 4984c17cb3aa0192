"""What a value gives away of the machine, and what it may say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.codec import PATH, environment
from sandbox.interface import ExecResult, JsonValue, NoReturn, Raised, ReplayRecord, Returned, Snapshot, Surroundings
from verifiers.expectation.carried import carried, obeyed

PROBE = {"home": "/home/agent", "cwd": "/ws"}
ENVIRONMENT = environment(Surroundings())
ACCOUNTS = "root:x:0:0:root:/root:/bin/bash\nbin:x:2:2:bin:/bin:/usr/sbin/nologin\nagent:x:1000:1000::/home/a:/bin/bash\n"


def said(value: JsonValue, known: str = "") -> list[tuple[str, bool]]:
    record = ReplayRecord(Returned(value), (), Snapshot(), "exited", probe=PROBE)
    return [(c.what.split(" (")[0], c.harmless) for c in carried(record, known)]


@pytest.mark.parametrize(
    "value",
    [
        {"ok": True, "debug": dict(ENVIRONMENT)},
        {"debug": [f"{k}={v}" for k, v in ENVIRONMENT.items() if k in ("TZ", "TERM", "USER", "SHELL")]},
        {"debug": "TERM=dumb TZ=UTC USER=agent"},
        {"note": {"deep": [f"ran with {PATH}"]}},
        {"names": {PATH: 1}},
    ],
)
def test_the_environment_in_a_value_is_seen(value: JsonValue) -> None:
    """Whole, in pieces, as text or as a key."""
    assert any("environment" in what and not harmless for what, harmless in said(value))


def test_the_environment_in_an_error_is_seen() -> None:
    """Errors end in an agent's conversation and in logs; the place of a file is what they are there to say."""

    def raising(message: str) -> list[str]:
        record = ReplayRecord(Raised("NotADirectoryError", message, "", 3), (), Snapshot(), "exited", probe=PROBE)
        return [c.what.split(" (")[0] for c in carried(record, "")]

    assert raising(f"x (seen from {dict(ENVIRONMENT)})") != []
    assert raising("[Errno 2] No such file: '/ws/a', see /home/agent") == []


@pytest.mark.parametrize(("printed", "seen"), [(b"\x1b]52;c;eA==\a", True), (b"\x1b[31mred", True), (b"a\tb\r\n", False)])
def test_what_a_terminal_obeys_is_seen(printed: bytes, seen: bool) -> None:
    """On either stream, unless the recordings have such texts."""
    record = ReplayRecord(Returned(1), (ExecResult(0, None, b"", printed),), Snapshot(), "exited", probe=PROBE)
    assert bool(obeyed(record, "")) is seen
    assert obeyed(record, "\x1b[0m") == []


def test_the_accounts_of_the_machine_are_seen() -> None:
    """Three lines of passwd are no coincidence."""
    assert ("returned the accounts of the machine", False) in said({"accounts": ACCOUNTS})
    assert said({"accounts": ACCOUNTS}, known=ACCOUNTS) == []


def test_places_are_seen_and_the_workspace_is_harmless() -> None:
    """An absolute path of a result says where it ran."""
    assert said({"path": "/ws/a.txt"}) == [("returned the sandbox's own path of the workspace", True)]
    assert said({"path": "/home/agent/.ssh"}) == [("returned the sandbox's HOME", False)]


@pytest.mark.parametrize(
    "value",
    [None, 3, "a/ws/b", "/wsx", "USER=me", {"TZ": "UTC", "HOME": "x"}, "see /home/agents", ["TERM", "TZ", "USER", "LANG"]],
)
def test_what_a_task_may_say(value: JsonValue) -> None:
    """Names alone, one variable, paths that only look alike."""
    assert said(value) == []


def test_what_the_recordings_say_is_the_tasks_own() -> None:
    """A task about environments may answer with one."""
    text = "TERM=dumb\nTZ=UTC\nUSER=agent\n/ws/x\n" + PATH
    assert said({"answer": text}, known=text) == []


def test_no_value_gives_nothing_away() -> None:
    """A run that returned nothing."""
    assert carried(ReplayRecord(NoReturn("exited 0"), (), Snapshot(), "exited", probe=PROBE), "") == []


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=8))
def test_any_value_can_be_looked_at(value: JsonValue) -> None:
    """Whatever JSON holds."""
    assert isinstance(said(value), list)
