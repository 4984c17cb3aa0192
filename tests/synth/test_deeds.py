"""What recordings did to their files, and how that brings other ways to do one task together."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from factories import trace
from hypothesis import given
from hypothesis import strategies as st

from synth.detect import detect
from synth.detect.deeds import NOTHING, deed
from synth.interface import ExecutionTrace


def held(content: str, mode: str = "0644") -> dict[str, str]:
    return {"type": "file", "mode": mode, "content_b64": base64.b64encode(content.encode()).decode()}


def tree(files: dict[str, str]) -> dict[str, Any]:
    return {path: held(content) for path, content in files.items()}


KINDS = (
    ({}, {"a.md": "x\n"}, "create"),
    ({"a.md": "x\n"}, {}, "remove"),
    ({"a.md": "x\n"}, {"b.md": "x\n"}, "move"),
    ({"a": "x\ny\n"}, {"a": "x\nz\n"}, "change a line"),
    ({"a": "x\ny\n"}, {"a": "w\nz\n"}, "change lines"),
    ({"a": "x\ny\n"}, {"a": "x\n"}, "remove lines"),
    ({"a": "x\n"}, {"a": "x\ny\n"}, "add lines"),
    ({"a": "x\ny\n"}, {"a": "y\nx\n"}, "order lines"),
    ({"a": "x\ny\n"}, {"a": "z\n"}, "rewrite"),
)


@pytest.mark.parametrize(("before", "after", "kind"), KINDS)
def test_a_deed_is_told_by_its_kind(before: dict[str, str], after: dict[str, str], kind: str) -> None:
    """Whatever commands did it."""
    assert deed(tree(before), tree(after)).kinds == (kind,)


def test_a_mode_is_told_with_its_value() -> None:
    """And only files with changed ends count."""
    done = deed({"k.key": held("x"), "b": held("y")}, {"k.key": held("x", "0600"), "b": held("y")})
    assert (done.kinds, done.files, done.endings, done.words) == (("mode 0600",), ("k.key",), (".key",), ())


ENTRIES = st.fixed_dictionaries(
    {"type": st.sampled_from(["file", "dir", "symlink"])},
    optional={"mode": st.text(), "content_b64": st.text(), "target": st.text()},
)
TREES = st.dictionaries(st.text(min_size=1), ENTRIES, max_size=4)


@given(TREES, TREES)
def test_any_two_snapshots_have_a_deed(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Nothing where nothing changed or nothing is known; foreign contents are only others."""
    assert deed(before, before) == NOTHING
    assert deed(None, after) == NOTHING
    assert bool(deed(before, after).kinds) == (before != after) or ".git" in repr((before, after))


def done(n: int, task: str, command: str, before: dict[str, str], after: dict[str, str]) -> ExecutionTrace:
    made = trace(n, task=task, commands=(command,))
    return replace(made, task_id=f"{task}-{n}", workspace=tree(before), post_workspace=tree(after))


WAYS = (
    ("forbid root to log in", "sed -i 's/^#Root.*/Root no/' etc/sshd_config", "etc/sshd_config"),
    ("no passwords there please", "perl -pi -e 's/^#Root.*/Root no/' a/sshd_config", "a/sshd_config"),
    ("Root soll nicht hinein", "f=sshd_config; grep -v Root $f > n; echo 'Root no' >> n; mv n $f", "sshd_config"),
)


def test_three_ways_to_do_one_thing_are_one_pattern() -> None:
    """Of other commands and words: the same kind of change to files of one name."""
    traces = [done(n, task, how, {p: "#Root yes\nPort 22\n"}, {p: "Root no\nPort 22\n"}) for n, (task, how, p) in enumerate(WAYS)]
    assert [len(p.traces) for p in detect(traces)] == [3]


def test_other_deeds_stay_apart() -> None:
    """A line is changed in two, and taken away in the third."""
    first, second, third = (
        done(n, task, how, {p: "#Root yes\nPort 22\n"}, {p: "Root no\nPort 22\n"}) for n, (task, how, p) in enumerate(WAYS)
    )
    assert detect([first, second, replace(third, post_workspace=tree({"sshd_config": "Port 22\n"}))]) == []


def test_texts_that_have_nothing_in_common_are_two_tasks() -> None:
    """Each written by the same kind of command."""
    unit, post = "[Unit]\nDescription=d\n[Service]\nUser=u\n", "---\ntitle: t\ndraft: true\n---\n"
    made = [
        done(n, f"{what} number {n} anew", f"cat > {n}{end} <<'EOF'\n{text}EOF", {}, {f"{n}{end}": text})
        for what, end, text in (("unit", ".service", unit), ("post", ".md", post))
        for n in range(3)
    ]
    assert sorted(len(p.traces) for p in detect(made)) == [3, 3]


def test_by_its_deed_alone_nothing_joins_a_task_that_stands_by_itself() -> None:
    """Three of one form are enough; a fourth that only came to the same stays out."""
    path, before, after = "sshd_config", "#Root yes\nPort 22\n", "Root no\nPort 22\n"
    alike = [done(n, WAYS[0][0], WAYS[0][1], {path: before}, {path: after}) for n in range(3)]
    other = done(3, WAYS[1][0], WAYS[1][1], {path: before}, {path: after})
    assert [len(p.traces) for p in detect([*alike, other])] == [3]
