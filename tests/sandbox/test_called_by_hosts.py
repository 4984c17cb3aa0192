"""What hosts do with a skill that the usual run does not: another interpreter, a call that is given up, an input of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox import open_sandbox
from sandbox.image import ensure_image
from sandbox.interface import (
    CancelledAt,
    Entry,
    Raised,
    Returned,
    RunRequest,
    Session,
    ShellJob,
    SkillJob,
    Snapshot,
    Surroundings,
)

pytestmark = pytest.mark.engine

BASE = Snapshot({name: Entry("file", 0o644, b"x\n") for name in ("a.txt", "z")})
HEAD = """import os, subprocess
from pathlib import Path
from skill_api import skill_command
@skill_command
def f(v: str = ''):
"""


def skill(body: str, **args: str) -> SkillJob:
    return SkillJob(HEAD + "".join(f"    {line}\n" for line in body.splitlines()), args)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_sandbox(image=ensure_image(lambda _: None)) as sandbox, sandbox.session("hosts", 1) as opened:
        yield opened


def test_a_module_of_another_name(session: Session) -> None:
    """It has an absolute file, finds itself by its name, and its errors say their lines as ever."""
    body = "import sys, traceback\nif v:\n    return 1 / 0\nhere = sys.modules[__name__].f is not None\n"
    body += (
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    return [__name__, __file__, here, __file__ in traceback.format_exc()]"
    )
    for name, module, file in ((None, "skill", "skill.py"), ("tools", "tools", "/srv/skills/tools.py")):
        where = Surroundings(module=name)
        record = session.run(RunRequest(skill(body), BASE, surroundings=where))
        assert record.outcome == Returned([module, file, True, True])
        assert record.probe["module"] == module
        failed = session.run(RunRequest(skill(body, v="x"), BASE, surroundings=where)).outcome
        assert isinstance(failed, Raised)
        assert (failed.line, failed.traceback) == (8, "line 8: return 1 / 0")


def test_a_host_has_threads_of_its_own(session: Session) -> None:
    """And its user a terminal, which the usual run has not."""
    body = "import shutil, threading\nreturn [threading.active_count(), shutil.get_terminal_size((70, 9)).columns]"
    for where, seen in ((Surroundings(), [1, 70]), (Surroundings(module="tools", home="other"), [2, 7])):
        record = session.run(RunRequest(skill(body), BASE, surroundings=where))
        assert (record.outcome, record.leftovers) == (Returned(seen), ())


def test_an_optimised_interpreter_leaves_out_assertions(session: Session) -> None:
    """For the skill and for the programs that it starts; the next run has them again."""
    body = "import sys\nassert Path('n').touch() is None\n"
    body += "subprocess.run([sys.executable, '-c', 'assert not open(chr(109), chr(119))'])\nreturn __debug__"
    for optimised, made in ((True, set[str]()), (False, {"n", "m"})):
        record = session.run(RunRequest(skill(body), BASE, surroundings=Surroundings(optimised=optimised)))
        assert record.outcome == Returned(not optimised)
        assert record.post.keys() & {"n", "m"} == made


WAITS = """import asyncio, contextlib
async def go():
    for name in ("x", "y"):
        {0}
        open(name, "w").close()
    return 1
"""


@pytest.mark.parametrize(
    ("wait", "k", "made"),
    [
        ("await asyncio.sleep(0)", 0, []),
        ("await asyncio.sleep(9)", 0, []),
        ("await asyncio.sleep(0)", 1, ["x"]),
        ("await asyncio.gather(asyncio.sleep(0), asyncio.sleep(9))", 0, []),
    ],
)
def test_a_call_is_cancelled_where_it_waits(session: Session, wait: str, k: int, made: list[str]) -> None:
    """What comes after that wait is not done, and the caller gets the cancellation."""
    record = session.run(RunRequest(SkillJob(WAITS.format(wait), {}, function="go"), BASE, fault=CancelledAt(k)))
    assert isinstance(record.outcome, Raised)
    assert record.outcome.type == "CancelledError"
    assert record.fault_reached
    assert [n for n in "xy" if n in record.post] == made


def test_a_cancellation_that_is_swallowed(session: Session) -> None:
    """The skill goes on, waits as often as it does, and a wait that never comes changes nothing."""
    source = WAITS.format("with contextlib.suppress(asyncio.CancelledError): await asyncio.sleep(0)")
    for k, reached in ((0, True), (1, True), (2, False)):
        record = session.run(RunRequest(SkillJob(source, {}, function="go"), BASE, fault=CancelledAt(k)))
        assert record.outcome == Returned(1)
        assert (record.fault_reached, record.probe["waited"]) == (reached, "2")
    assert session.run(RunRequest(skill("return 1"), BASE)).probe["waited"] == "0"


@pytest.mark.parametrize(
    ("body", "taken"),
    [
        ("return 1", False),
        ("subprocess.run(['cat'], stdin=subprocess.DEVNULL, check=True)", False),
        ("subprocess.run(['cat'], input=b'x', check=True)", False),
        ("import sys\nsys.stdin.readline()", True),
        ("os.read(0, 1)", True),
        ("subprocess.run(['cat', 'z', '-'], check=True)", True),
        ("subprocess.run(['bash', '-c', 'read line'], check=True)", True),
        ("Path('/dev/stdin').read_bytes()", True),
        ("os.close(os.dup(0))", False),
    ],
)
def test_what_is_taken_from_the_host_is_told(session: Session, body: str, taken: bool) -> None:
    """Whoever reads it, and by which name: a host's next message would be lost. What does not read it, leaves it."""
    assert session.run(RunRequest(skill(body), BASE)).took_input == taken


def test_commands_find_nothing_on_their_input_unless_asked_for(session: Session) -> None:
    """As under the agents that they were recorded from."""
    job = ShellJob(("cat > n", "cat z"))
    plain, given = (session.run(RunRequest(job, BASE, host_input=wanted)) for wanted in (False, True))
    assert (plain.took_input, plain.post["n"].content) == (False, b"")
    assert (given.took_input, given.post["n"].content[:12]) == (True, b"of-the-host-")
    assert not session.run(RunRequest(ShellJob(("cat z",)), BASE, host_input=True)).took_input
