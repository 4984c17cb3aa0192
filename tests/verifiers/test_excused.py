"""What is excused for good skills, and the bad ones that must not hide behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from judging import generalised, told

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.interface import Args, Verdict

pytestmark = pytest.mark.engine
HEAD = '''
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
def work(PARAMETERS) -> dict:
    """Do it.

    Args:
        first: One.
        second: Another.

    Returns:
        ok
    """
'''
PARAMETERS = 'first: str = Query(..., description="One"), second: str = Query(..., description="Another")'
SET = """
    path = Path(first)
    rows = path.read_bytes().decode("utf-8", "surrogateescape").split("\\n")
    key, value = second.split("=")
    new = [f"{key}={value}" if row.startswith(f"{key}=") else KEPT for row in rows]
    if not any(row.startswith(f"{key}=") for row in rows):
        raise LookupError(key)
    path.write_bytes("\\n".join(new).encode("utf-8", "surrogateescape"))
    return {"ok": True}
"""
MOVE = """
    found = sorted(Path(".").glob(f"*.{first}"))
    LIMIT
    for path in found:
        target = path.with_suffix(f".{second}")
        if target.exists():
            raise FileExistsError(str(target))
        path.rename(target)
    return {"ok": True}
"""
SETTINGS = {
    "a.conf": ("host=north", "port=80\nhost=south\nowner=mara of the quay\n"),
    "b.conf": ("level=9", "level=4\nplace=harbour\nowner=tom\n"),
    "c.conf": ("mode=fast", "owner=ida\nmode=slow\nplace=mill\n"),
}
ENDINGS = {"t1": ("log", "old", "one two"), "t2": ("txt", "bak", "six"), "t3": ("csv", "dat", "nine ten zero")}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as box:
        yield box


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("row", ""),
        ('row.split("#")[0]', "differs from the trace's commands"),
        ("row.split('\"')[0]", "a double quote at"),
    ],
)
def test_who_knows_a_sign_may_not_throw_away_what_follows_it(kept: str, said: str, tmp_path: Path, sandbox: Sandbox) -> None:
    """A remark of the user's is his, whatever the skill takes it for."""
    rows, args = [], dict[str, Args]()
    for path, (setting, text) in SETTINGS.items():
        key = setting.partition("=")[0]
        after = "\n".join(setting if row.startswith(f"{key}=") else row for row in text.split("\n"))
        rows.append(told(path, f"sed -i 's/^{key}=.*/{setting}/' {path}", "", {path: text}, {path: after}))
        args[path] = {"first": path, "second": setting}
    source = (HEAD + SET).replace("PARAMETERS", PARAMETERS).replace("KEPT", kept)
    report = generalised(tmp_path, sandbox, source, args, rows)
    assert (report.verdict is Verdict.FAIL) is bool(said), report.why
    assert said in report.why


@pytest.mark.parametrize(
    ("limit", "verdict", "asked"),
    [
        ("", Verdict.PASS, False),
        ('if len(found) > 5:\n        raise ValueError("too many")', Verdict.PASS, True),
        ('if first not in ("log", "txt", "csv"):\n        raise ValueError("unknown")', Verdict.FAIL, False),
        ("if len(found) > 5:\n        len(5)", Verdict.FAIL, False),
        ('if len(found) > 5:\n        found.pop().unlink()\n        raise ValueError("too many")', Verdict.FAIL, False),
    ],
)
def test_who_refuses_some_of_what_the_commands_take_is_asked_about(
    limit: str, verdict: Verdict, asked: bool, tmp_path: Path, sandbox: Sandbox
) -> None:
    """Nothing was changed, and somebody said why. Not who refuses all else, stumbles, or changes something."""
    rows, args = [], dict[str, Args]()
    for task, (old, new, names) in ENDINGS.items():
        before = {f"{name}.{old}": f"{name} {task}\n" for name in names.split()}
        after = {f"{name}.{new}": f"{name} {task}\n" for name in names.split()}
        command = f'for f in *.{old}; do mv -n "$f" "${{f%.{old}}}.{new}"; done'
        rows.append(told(task, command, "", {**before, "keep.md": "x\n"}, {**after, "keep.md": "x\n"}))
        args[task] = {"first": old, "second": new}
    source = (HEAD + MOVE).replace("PARAMETERS", PARAMETERS).replace("LIMIT", limit)
    report = generalised(tmp_path, sandbox, source, args, rows)
    assert report.verdict is verdict, report.why
    assert ("refused-starts" in [q.invariant for q in report.questions]) is asked


TOTAL = """
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE rows (who TEXT, amount TEXT)")
    for row in Path(first).read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        who, amount = row.split(",")
        db.execute(INSERT)
    names = [who for (who,) in db.execute("SELECT who FROM rows WHERE amount = ? ORDER BY rowid", (second,))]
    db.close()
    return {"ok": True, "output": "\\n".join(names)}
"""
PLACED, WRITTEN = "'INSERT INTO rows VALUES (?, ?)', (who, amount)", "f\"INSERT INTO rows VALUES ('{who}', '{amount}')\""


@pytest.mark.parametrize(("insert", "asked"), [(PLACED, False), (WRITTEN, True)])
def test_what_a_file_says_is_no_part_of_a_query(insert: str, asked: bool, tmp_path: Path, sandbox: Sandbox) -> None:
    """The linter's word on SQL put together as text is a note: a word with quotes around it shows what it is worth."""
    rows, args = [], dict[str, Args]()
    for task, amount, names in (("a", "41", "mara tom"), ("b", "52", "ida"), ("c", "63", "jon ulla eva")):
        text = "".join(f"{n},{amount}\n{n}x,7\n" for n in names.split())
        tree = {f"{task}.csv": text}
        rows.append(told(task, f"awk -F, '$2 == {amount} {{print $1}}' {task}.csv", "\n".join(names.split()) + "\n", tree, tree))
        args[task] = {"first": f"{task}.csv", "second": amount}
    source = (HEAD.replace("from pathlib", "import sqlite3\nfrom pathlib") + TOTAL).replace("PARAMETERS", PARAMETERS)
    report = generalised(tmp_path, sandbox, source.replace("INSERT)", f"{insert})"), args, rows)
    assert (report.verdict is Verdict.FAIL) is asked


CLOSED = """
    if second not in ("ro", "rw"):
        raise ValueError(f"{second} is no access")
    path = Path(first)
    rows = path.read_bytes().split(b"\\n")
    path.write_bytes(b"\\n".join(b"access=" + second.encode() if r.startswith(b"access=") else r for r in rows))
    return {"ok": True}
"""


@pytest.mark.parametrize(
    ("values", "verdict"), [("ro rw ro rw", Verdict.PASS), ("ro rw rx", Verdict.FAIL), ("ro rw rx rw", Verdict.FAIL)]
)
def test_what_was_said_again_may_be_all_that_can_be_said(values: str, verdict: Verdict, tmp_path: Path, sandbox: Sandbox) -> None:
    """An argument whose recorded values come again is one of a few; who knows each recorded one and no other is a memoriser."""
    rows, args = [], dict[str, Args]()
    for n, value in enumerate(values.split()):
        name = f"share{n}.conf"
        before = f"path=/srv/a{n}\naccess=none\nowner=o{n}\n"
        after = before.replace("access=none", f"access={value}")
        rows.append(told(name, f"sed -i 's/^access=.*/access={value}/' {name}", "", {name: before}, {name: after}))
        args[name] = {"first": name, "second": value}
    source = (HEAD + CLOSED).replace("PARAMETERS", PARAMETERS)
    source = source if verdict is Verdict.PASS else source.replace('("ro", "rw")', '("ro", "rw", "rx")')
    report = generalised(tmp_path, sandbox, source, args, rows)
    assert report.verdict is verdict, report.why
    assert verdict is Verdict.FAIL or "refused-starts" in [q.invariant for q in report.questions]
