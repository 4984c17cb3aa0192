"""Holes that only runs can show: the same task by sed, by awk and by Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import generalised, told

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.context import Context
from verifiers.interface import Args, Verdict
from verifiers.shell.characters import characters
from verifiers.worlds.judged import grammars
from verifiers.worlds.template import Template, bounded_places, places, with_holes

SET = '''
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
def set_level(
    file: str = Query(..., description="The file"),
    level: str = Query(..., description="The level"),
    port: str = Query("80", description="Said in no command"),
) -> dict:
    """Set the level.

    Args:
        file: The file.
        level: The level.
        port: Said in no command.

    Returns:
        ok
    """
    path = Path(file)
    rows = path.read_bytes().split(b"\\n")
    new = [b"level=" + CUT.encode() if row.startswith(b"level=") else row for row in rows]
    path.write_bytes(b"\\n".join(new))
    return {"ok": True}
'''
COMMANDS = {
    "sed": ("0", "sed -i 's/^level=.*/level=0/' sed.conf"),
    "awk": ("7", "awk '/^level=/{print \"level=7\"; next} {print}' awk.conf > /tmp/x && cat /tmp/x > awk.conf"),
    "py": (
        "12",
        "python3 - <<'E'\nrows = open('py.conf').read().split('\\n')\n"
        "open('py.conf', 'w').write('\\n'.join('level=12' if r.startswith('level=') else r for r in rows))\nE",
    ),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as box:
        yield box


def evidence() -> tuple[list[object], dict[str, Args]]:
    rows: list[object] = []
    args: dict[str, Args] = {}
    for n, (task, (level, command)) in enumerate(COMMANDS.items()):
        before = f"port=80\nlevel=3\nlevels={n}7012\nowner=o{task}\n"
        after = before.replace("level=3", f"level={level}")
        rows.append(told(task, command, "", {f"{task}.conf": before}, {f"{task}.conf": after}))
        args[task] = {"file": f"{task}.conf", "level": level, "port": f"{n}7012"}
    return rows, args


@pytest.mark.engine
def test_a_short_value_has_its_place_where_other_recordings_prove_it(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``0`` is the level in each form of the commands, and what no command says has no place."""
    seen: list[frozenset[str]] = []

    def looked(context: Context) -> list[object]:
        found = grammars(context)
        seen.extend(g.template.parameters for g in found)
        return list(found)

    monkeypatch.setattr("verifiers.checks.generalises.grammars", looked)
    report = generalised(tmp_path, sandbox, SET.replace("CUT", "level"), *reversed(evidence()))
    assert report.verdict is Verdict.PASS, report.why
    assert seen == [frozenset({"file", "level"})] * 3


@pytest.mark.engine
def test_a_value_that_was_found_so_is_varied(tmp_path: Path, sandbox: Sandbox) -> None:
    """A skill that knows the recorded levels is right in every recording."""
    known = SET.replace("CUT", "{'0': '0', '7': '7'}.get(level, '12')")
    report = generalised(tmp_path, sandbox, known, *reversed(evidence()))
    assert report.verdict is Verdict.FAIL, report.why


@given(
    st.lists(st.sampled_from(["a", "ab", "0", " ", "'", "x=", "/", "\\."]), max_size=8).map("".join),
    st.sampled_from(["a", "0", "x"]),
)
def test_places_are_where_the_value_stands(text: str, value: str) -> None:
    """As the shell reads the text, each of them once, and whole words among them."""
    template = Template((text,), {"p": value}, ())
    found = places(template, "p")
    read = "".join(c.value for c in characters(text))
    assert [read[h.first : h.last] for h in found] == [value] * read.count(value)
    assert set(bounded_places(template, "p")) <= set(found)
    way = with_holes(template, found)
    assert way is None or way.fill({"p": value}) == (text,)
