"""What a skill does besides its text is told at once, and cannot be told away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox import open_sandbox
from sandbox.interface import NoReturn, ReplayRecord, Returned, RunRequest, Session, SkillJob, Snapshot

pytestmark = pytest.mark.engine
HEAD = """import collections, dataclasses, enum, fcntl, functools, gc, logging, os, re, stat, sys
import threading, traceback, types, typing
from skill_api import Query, skill_command
@skill_command
def f():
"""
HONEST = """
T = collections.namedtuple("T", "a b")
@dataclasses.dataclass(frozen=True)
class D:
    a: "dict[str, list[int]] | None" = None
class E(enum.Enum):
    X = 1
class N(typing.NamedTuple):
    a: "int"
typing.get_type_hints(D)
re.compile("a+").match("aa")
logging.getLogger("x").warning("y")
try:
    1 / 0
except ZeroDivisionError:
    traceback.format_exc()
t = threading.Thread(target=str)
t.start()
t.join()
"""
TOLD = {
    "exec": ('exec("x = 1")', "exec of text"),
    "a stopwatch": ('import timeit\ntimeit.timeit("x", "x = 1", number=1)', "exec of text"),
    "another thread": ('t = threading.Timer(0, exec, ["x = 1"])\nt.start()\nt.join()', "exec of text"),
    "through map": ('list(map(eval, ["1"]))', "exec of text"),
    "an annotation that calls": ('class C:\n    a: "str(1)"\ntyping.get_type_hints(C)', "exec of text"),
    "code made by hand": ("types.FunctionType(f.__wrapped__.__code__.replace(co_name='g'), {})", "code.__new__"),
    "frames": ("sys._getframe(1).f_locals", "sys._getframe"),
    "frames by the library": ("list(traceback.walk_stack(None))", "sys._getframe"),
    "frames by an error": ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.__traceback__.tb_frame", "tb_frame"),
    "all objects": ("gc.get_objects()", "gc.get_objects"),
    "memory": ('open("/proc/self/mem", "rb").close()', "/proc/self/mem"),
    "native code": ("import ctypes\nctypes.CDLL(None)", "ctypes.dlopen"),
    "an answer of its own": ('sys.audit("assay.answer", {"returned": "[666]"})', "assay.answer"),
    "a hook of its own": ("sys.addaudithook(print)", "sys.addaudithook"),
}
PIPE = """
for fd in range(50, 1000):
    try:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            hidden = fd
    except OSError:
        pass
"""
CATCH = "old = os.dup(hidden)\nr, w = os.pipe()\nos.dup2(w, hidden)\nexec('x = 1')\nos.dup2(old, hidden)\n"
BLINDING = {
    "closes everything": "os.closerange(3, 1024)\nexec('x = 1')\n",
    "catches the report": PIPE + CATCH,
    "says the report again": PIPE + CATCH + "m = os.read(r, 4096)\nos.write(hidden, m)\nos.write(hidden, m)\n",
    "makes the report its answer": PIPE + CATCH + "m = os.read(r, 4096)\nos.write(hidden, m[:16] + bytes(4))\nos._exit(0)\n",
    "replaces what the hook may use": "exec('x = 1') if setattr(os, 'write', print) is None else 0\n",
    "throws while it is told": "sys.setrecursionlimit(60)\nexec('x = 1')\n",
    "makes a flood": "for _ in range(500):\n    exec('x = 1')\n",
}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_sandbox(workers=1) as sandbox, sandbox.session("audit") as opened:
        yield opened


def run(session: Session, body: str) -> ReplayRecord:
    """The record of a skill with this body."""
    text = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return session.run(RunRequest(SkillJob(HEAD + text + "    return 1\n", {}, trace_lines=True), Snapshot({})))


def test_what_the_library_does_for_honest_code_is_not_told(session: Session) -> None:
    """Named tuples, data classes, enumerations, type hints, logging and threads make code and look at frames themselves."""
    record = run(session, HONEST)
    assert record.outcome == Returned(1)
    assert record.audit == ()
    assert record.protocol_findings == ()


@pytest.mark.parametrize("title", TOLD)
def test_what_no_text_shows_is_told(session: Session, title: str) -> None:
    """Whoever does it for the skill."""
    body, said = TOLD[title]
    assert any(said in text for text in run(session, body).audit)


@pytest.mark.parametrize("title", BLINDING)
def test_it_cannot_be_blinded(session: Session, title: str) -> None:
    """A report that does not arrive shows; what was caught is of no use."""
    record = run(session, BLINDING[title])
    lost = isinstance(record.outcome, NoReturn) or record.protocol_findings
    assert any("exec" in text for text in record.audit) or lost
    assert not isinstance(record.outcome, Returned) or record.outcome.value == 1
    assert len(record.audit) <= 50


def test_the_frames_around_a_skill_hold_no_key(session: Session) -> None:
    """Nothing by which an answer could be forged is in the locals of any frame."""
    body = 'f = sys._getframe(0)\nwhile f:\n    print(sorted(f.f_locals), "key" in str(f.f_locals.get("spec")))\n    f = f.f_back'
    said = run(session, body).steps[0].stdout.decode()
    assert "'hidden'" not in said
    assert "'say'" not in said
    assert "True" not in said
