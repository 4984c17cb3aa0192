"""One call of a skill: which function is meant, what is said about its end."""

from __future__ import annotations

import json
import threading
import types
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest import job, private

HEAD = "from skill_api import Query, skill_command\n"


@pytest.fixture(autouse=True)
def _no_skill_module() -> Iterator[None]:
    """A skill's module does not stay."""
    import linecache
    import sys

    yield
    sys.modules.pop("skill", None)
    linecache.cache.pop(job.FILE, None)


def test_a_plain_and_a_coroutine_function() -> None:
    """Both kinds are called with their keyword arguments, Query defaults filled in."""
    source = HEAD + "@skill_command\n{}def f(a: int, b: str = Query('z', description='')):\n    return [a, b]\n"
    assert job.call(source.format(""), {"a": 1}, None) == [1, "z"]
    assert job.call(source.format("async "), {"a": 1, "b": "y"}, None) == [1, "y"]


@pytest.mark.parametrize(
    "body",
    ["x = 1\n", "@skill_command\ndef f(): ...\n@skill_command\ndef g(): ...\n", "def f(): ...\n"],
    ids=["none", "two", "undecorated"],
)
def test_not_exactly_one_function(body: str) -> None:
    """None and several are refused, with their number."""
    with pytest.raises(job.NoSuchSkill, match="the file must have one"):
        job.call(HEAD + body, {}, None)


def test_an_imported_skill_does_not_count() -> None:
    """A decorated function of another module, and an alias of the own one, are not second candidates."""
    module = types.ModuleType("skill")
    exec(HEAD + "@skill_command\ndef f(): ...\nalias = f\n", module.__dict__)
    module.__dict__["other"] = module.f.__wrapped__
    assert job.find(module, None) is module.f
    with pytest.raises(job.NoSuchSkill, match="no function 'g'"):
        job.find(module, "g")


def test_an_error_keeps_the_skills_frames_only() -> None:
    """Type, message, line and the source of the frames in the skill file."""
    source = HEAD + "def inner():\n    return 1 / 0\n@skill_command\ndef f():\n    import json\n    return inner()\n"
    with pytest.raises(ZeroDivisionError) as caught:
        job.call(source, {}, None)
    said = job.raised(caught.value, source)
    assert said["type"] == "ZeroDivisionError"
    assert said["line"] == 3
    assert said["traceback"].splitlines() == ["line 7: return inner()", "line 3: return 1 / 0"]


def test_a_syntax_error_has_its_line() -> None:
    """A file that does not compile raises like any other error."""
    with pytest.raises(SyntaxError) as caught:
        job.call("x = 1\ndef f(:\n", {}, None)
    assert job.raised(caught.value, "x = 1\ndef f(:\n")["line"] == 2


def test_an_error_that_cannot_be_printed() -> None:
    """A hostile ``__str__`` hides nothing."""

    class Sly(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert job.raised(Sly(), "")["message"] == "<RuntimeError while printing the error>"


def test_lines_on_every_thread() -> None:
    """Lines are noted for the skill's file alone, on its threads too."""
    body = "@skill_command\ndef f():\n    t = threading.Thread(target=g)\n    t.start(); t.join()\ndef g():\n    x = 1\n"
    source = f"{HEAD}import threading\n{body}"
    before = threading.gettrace()
    lines = job.Lines()
    lines.start()
    try:
        job.call(source, {}, None, lines)
    finally:
        lines.stop()
    threading.settrace(before)
    assert {5, 6, 8} <= lines.seen


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), {"a": b"x"}])
def test_values_that_are_not_json(value: object) -> None:
    """What JSON cannot hold is no value, and the reason is kept."""
    assert job.encoded(value)["not_json"].startswith("the value is not JSON")


def test_a_circle_is_not_json() -> None:
    """A list that holds itself is refused rather than followed."""
    circle: list[object] = []
    circle.append(circle)
    assert "not_json" in job.encoded(circle)


KEY = b"k" * private.KEY_BYTES


def frames(*messages: dict[str, str]) -> list[bytes]:
    """Numbered frames, one after another."""
    return [private.frame(KEY, n, m) for n, m in enumerate(messages)]


@given(st.lists(st.binary(max_size=30), max_size=3), st.binary(max_size=30))
def test_frames_and_what_is_none(messages: list[bytes], tail: bytes) -> None:
    """Frames are found one after another; what follows and is none is a finding."""
    data = b"".join(frames(*({"m": m.hex()} for m in messages)))
    found, notes = private.parse_frames(KEY, data)
    assert [json.loads(f) for f in found] == [{"m": m.hex()} for m in messages]
    assert notes == []
    found, notes = private.parse_frames(KEY, data + b"x" + tail)
    assert len(found) == len(messages)
    assert len(notes) == 1


def test_a_cut_frame() -> None:
    """A frame whose writer was killed is no frame."""
    found, notes = private.parse_frames(KEY, frames({"a": "1"})[0][:-1])
    assert found == []
    assert "cut short" in notes[0]


@pytest.mark.parametrize("order", [(0, 0), (1,), (0, 2), (1, 0), (0, 1, 1)], ids=str)
def test_a_frame_said_again_or_taken_away_shows(order: tuple[int, ...]) -> None:
    """Whoever catches frames can neither repeat them, nor leave one out, nor change their order."""
    made = frames({"a": "0"}, {"a": "1"}, {"a": "2"})
    found, notes = private.parse_frames(KEY, b"".join(made[n] for n in order))
    assert len(found) < len(order)
    assert notes


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_changed_frame_is_none(at: int, by: int) -> None:
    """Any byte."""
    data = bytearray(frames({"returned": "[1]"})[0])
    data[at % len(data)] ^= by
    found, notes = private.parse_frames(KEY, bytes(data))
    assert found == []
    assert notes
