"""Detection: which traces are one task, and which tasks are due."""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.config import Evolution
from synth.detect import detect, match_existing
from synth.detect.deeds import effect_kinds
from synth.detect.features import template
from synth.detect.match import evidence_keys
from synth.detect.naming import distinct
from synth.interface import ExecutionTrace, RegistryEntry
from synth.tracing.traces import load_traces

TRACES = Path(__file__).parents[2] / "fixtures" / "traces"
START = datetime(2026, 1, 1, tzinfo=UTC)


def trace(n: int, description: str, *commands: str, success: bool = True, **more: Any) -> ExecutionTrace:
    return ExecutionTrace(
        f"t{n}", description, commands, ("",) * len(commands), success, 1.0, START + timedelta(minutes=n), {}, **more
    )


def rename(n: int, old: str, new: str, success: bool = True) -> ExecutionTrace:
    words = [f"Rename all .{old} files to .{new}", f"change the extension of .{old} files to .{new}", f"{old} to {new} please"]
    return trace(n, words[n % 3], "ls", f'for f in *.{old}; do mv "$f" "${{f%.{old}}}.{new}"; done', success=success)


RENAMES = [rename(0, "txt", "md"), rename(1, "htm", "html"), rename(2, "jpeg", "jpg")]


def test_paraphrases_with_one_command_shape_are_one_pattern() -> None:
    """The seed's own example: two commands, three times, worded differently."""
    (pattern,) = detect(RENAMES)
    assert pattern.pattern_type == "repetitive"
    assert (pattern.frequency, pattern.success_rate) == (3, 1.0)
    assert pattern.task_category == "rename_files"
    assert pattern.command_sequence[0] == "ls"


def test_one_wording_with_many_approaches_is_one_pattern() -> None:
    """An agent that answers one question by other pipelines each time."""
    ways = [
        "find {d} -name '*.py' | xargs cat | wc -l",
        "cat {d}/*.py | wc -l",
        "grep -c '' {d}/*.py | awk -F: '{{s+=$2}} END{{print s}}'",
    ]
    dirs = ["src", "lib", "app"]
    traces = [
        trace(n, f'Count the number of lines in all ".py" files in the {d} directory', way.format(d=d))
        for n, (d, way) in enumerate(zip(dirs, ways, strict=True))
    ]
    assert [len(p.traces) for p in detect(traces)] == [3]


def test_tasks_that_share_a_signature_are_split() -> None:
    """Sum and maximum of a column are near in words and apart in what is done."""
    sums = [
        trace(n, f"compute the sum of column price in {f}", f"awk -F, '{{s+=$3}} END{{print s}}' {f}")
        for n, f in enumerate("abc")
    ]
    tops = [
        trace(9 + n, f"compute the max of column price in {f}", f"awk -F, '$3>m{{m=$3}} END{{print m}}' {f}")
        for n, f in enumerate("abc")
    ]
    patterns = detect(sums + tops)
    assert {frozenset(t.task_id for t in p.traces) for p in patterns} == {
        frozenset({"t0", "t1", "t2"}),
        frozenset({"t9", "t10", "t11"}),
    }
    assert patterns[0].signature == patterns[1].signature
    assert patterns[0].task_category != patterns[1].task_category


def test_one_different_word_is_another_task() -> None:
    """Same command, nearly the same request: prefix and suffix stay apart; an extra step does not."""
    prefix = [trace(n, f"remove the prefix from all {x} names", f"rename 's/^{x}//' *") for n, x in enumerate(["aa", "bb"])]
    suffix = [trace(5 + n, f"remove the suffix from all {x} names", f"rename 's/{x}$//' *") for n, x in enumerate(["aa", "bb"])]
    assert detect(prefix + suffix) == []
    moves = [trace(n, f"collect the {x} files in {x}s", f"mkdir -p {x}s", f"mv *.{x} {x}s") for n, x in enumerate(["png", "gif"])]
    late = trace(7, "collect the pdf files in docs", "mv *.pdf docs")
    assert [len(p.traces) for p in detect([*moves, late])] == [3]


def test_failures_are_kept_and_lower_the_rate() -> None:
    """A failed attempt is negative evidence, not a vote."""
    (pattern,) = detect([*RENAMES, rename(3, "log", "old", success=False)])
    assert (pattern.frequency, pattern.success_rate, len(pattern.failures)) == (3, 0.75, 1)


def test_mostly_failing_tasks_are_left_alone() -> None:
    """``min_success_rate`` is a floor."""
    bad = [rename(3 + n, "log", "old", success=False) for n in range(3)]
    assert detect([*RENAMES, *bad], Evolution(min_success_rate=0.6)) == []


def test_two_traces_are_not_a_pattern() -> None:
    """Below ``min_frequency`` and short: nothing is due."""
    assert detect(RENAMES[:2]) == []


def test_traces_without_commands_are_no_pattern() -> None:
    """There is nothing to make a skill of."""
    assert detect([trace(n, "say hello to the whole world") for n in range(5)]) == []


def test_long_traces_are_due_alone_and_together() -> None:
    """``trigger: any``: complex is enough; ``all`` wants both."""
    commands = ("mkdir a", "cd a", "touch x", "chmod 755 x", "ls")
    once = trace(0, "scaffold a project", *commands)
    assert [p.pattern_type for p in detect([once])] == ["novel"]
    twice = [once, trace(1, "scaffold another project", *commands)]
    assert [p.pattern_type for p in detect(twice)] == ["complex"]
    every = Evolution(trigger="all")
    assert detect(twice, every) == []
    assert detect(RENAMES, every) == []
    assert [p.pattern_type for p in detect([*twice, trace(2, "scaffold it", *commands)], every)] == ["complex"]


def test_a_complete_streak_is_due_below_a_higher_frequency() -> None:
    """The second way in: three in a row of one signature, unless one of them failed."""
    same = [trace(n, "rename all .txt files to .md", 'for f in *.txt; do mv "$f" "${f%.txt}.md"; done') for n in range(3)]
    rare = Evolution(min_frequency=5)
    assert len(detect(same, rare)) == 1
    failed = ExecutionTrace("f", same[0].task_description, ("ls",), ("",), False, 1.0, START + timedelta(seconds=90), {})
    assert detect([*same, failed], rare) == []


def test_secrets_reach_neither_names_nor_traces() -> None:
    """A key in a request is in nothing that a pattern carries."""
    key = "Zx81Qp0aLm3Tr7Uv2Kd9"
    traces = [trace(n, f"deploy with {key} to host{n}", f"echo {key} > host{n}.key") for n in range(3)]
    (pattern,) = detect(traces)
    assert "REDACTED" in pattern.command_sequence[0]
    assert key.lower() not in repr(pattern).lower()


def test_metadata_and_family_labels_play_no_part() -> None:
    """What a source says about its traces changes nothing."""
    labelled = [
        ExecutionTrace(
            t.task_id, t.task_description, t.commands, t.outputs, t.success, t.duration_ms, t.timestamp, {"source_id": str(n)},
            task_family=f"family {n}", labels={"family": n},
        )
        for n, t in enumerate(RENAMES)
    ]  # fmt: skip
    assert [len(p.traces) for p in detect(labelled)] == [3]


def test_the_corpus_groups_by_task() -> None:
    """On the 175 real traces: pairwise precision and recall, and one pattern for every kind of task that is repeated."""
    labels = {r["task_id"]: r for r in map(json.loads, (TRACES / "labels.jsonl").read_text("utf-8").splitlines())}
    traces = load_traces(TRACES / "traces.jsonl")
    family = {t.task_id: labels[t.task_id]["task_family"] for t in traces}
    patterns = detect(traces)
    pairs = [(family[a.task_id], family[b.task_id]) for p in patterns for a, b in combinations(p.traces, 2)]
    frequent = Counter(family[t.task_id] for t in traces if t.success)
    wanted = {f for f, n in frequent.items() if n >= 3}
    assert sum(a == b for a, b in pairs) / len(pairs) >= 0.98
    possible = sum(n * (n - 1) // 2 for f, n in frequent.items() if f in wanted)
    assert sum(a == b for a, b in pairs) / possible >= 0.95
    assert sorted(family[p.traces[0].task_id] for p in patterns) == sorted(wanted)


def test_names_are_distinct_identifiers() -> None:
    """Every pattern of the corpus gets a name of its own that can be a function."""
    names = [p.task_category for p in detect(load_traces(TRACES / "traces.jsonl"))]
    assert len(set(names)) == len(names)
    assert all(n.isidentifier() and n == n.lower() and len(n) <= 60 for n in names)


def test_a_name_holds_no_value_of_some_recordings() -> None:
    """Two of three made a page of png files: that is a value, though most descriptions have it."""
    loop = 'for f in *.{e}; do echo "<li>$f</li>"; done > index.html'
    found = detect([trace(n, f"Generate {e} gallery", loop.format(e=e)) for n, e in enumerate(("png", "png", "gif"))])
    assert [p.task_category for p in found] == ["generate_gallery"]


@pytest.mark.parametrize(("kind", "wanted"), [("add-definition", "add_definition"), ("licence-year", "update_licence_year")])
def test_commits_that_say_only_a_value_are_called_as_their_kind(kind: str, wanted: str) -> None:
    """``v1.2.0`` is no name. What edits do is no looking, so it is never called ``show``."""
    found = []
    for n in range(3):
        sides = [
            {"type": "file", "mode": "0644", "content_b64": base64.b64encode(f"v{m}\n".encode()).decode()} for m in (n, n + 1)
        ]
        steps = ({"edit": {"path": "VERSION", "before": sides[0], "after": sides[1]}},)
        history = {"source": "git", "repository": "r", "kind": kind}
        found.append(replace(trace(n, f"v1.{n}.0", steps=steps, workspace={"VERSION": sides[0]}), metadata=history))
    (pattern,) = detect(found)
    assert pattern.task_category == wanted


def entry(pattern_traces: list[ExecutionTrace], **more: Any) -> RegistryEntry:
    fields: dict[str, Any] = {"status": "active", "metadata": {"evidence": evidence_keys(pattern_traces)}, **more}
    return RegistryEntry(
        name="rename_file", version="v", score=0.5, estimate=0.6, description="Rename files.",
        registered_at=START, report_sha256="r", path="p", **fields,
    )  # fmt: skip


def test_more_of_a_registered_task_is_recognised() -> None:
    """New traces of an old task belong to the old skill; other tasks and archived skills do not match."""
    known = entry(RENAMES)
    (again,) = detect([rename(4, "yaml", "yml"), rename(5, "log", "txt"), rename(6, "c", "cpp")])
    (other,) = detect([trace(n, f"count lines of {f}", f"wc -l {f}") for n, f in enumerate("abc")])
    assert match_existing(again, [known]) is known
    assert match_existing(other, [known]) is None
    assert match_existing(again, [entry(RENAMES, status="archived")]) is None


def test_an_entry_without_kept_evidence_is_matched_by_its_words() -> None:
    """A foreign skill of the same description."""
    (again,) = detect(RENAMES)
    same = RegistryEntry(again.task_category, "v", "active", 0.5, 0.6, "x", START, "r", "p")
    assert match_existing(again, [same]) is same


@pytest.mark.parametrize(
    ("text", "literals", "words"),
    [
        ("Rename all .html files to .txt", {"html"}, ("rename", "all", "file")),
        ('Count lines in ".php" files under testbed', {"testbed"}, ("count", "line", "file", "under")),
        ("copy 'my proj' to backup", {"backup"}, ("copy",)),
        ("", set(), ()),
    ],
)
def test_templates_hold_the_task_and_not_its_values(text: str, literals: set[str], words: tuple[str, ...]) -> None:
    """Quoted text, extensions, paths and the commands' own literals are values."""
    assert template(text, frozenset(literals)) == words


def test_effect_kinds_compare_snapshots() -> None:
    """Kinds of change, sorted; nothing known is nothing said."""
    before = {"a": {"type": "file", "mode": "0644"}, "b": {"type": "dir", "mode": "0755"}}
    after = {"a": {"type": "file", "mode": "0600"}, "c": {"type": "dir", "mode": "0755"}}
    assert effect_kinds(before, after) == ("created", "mode", "removed")
    assert effect_kinds(None, after) == ()


@given(st.lists(st.sampled_from(["a", "b", "a_x"]), max_size=8), st.lists(st.sampled_from(["x", "y"]), max_size=2))
def test_names_become_distinct(names: list[str], extra: list[str]) -> None:
    """Never two equal names."""
    assert len(set(distinct(names, [extra] * len(names)))) == len(names)


@given(
    st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30).map(lambda s: s.replace("\0", "")), st.booleans()), max_size=12)
)
def test_detection_survives_any_traces_and_loses_none(items: list[tuple[str, str, bool]]) -> None:
    """Foreign text in, patterns of distinct traces out."""
    traces = [trace(n, text, command, success=ok) for n, (text, command, ok) in enumerate(items)]
    ids = [t.task_id for p in detect(traces) for t in (*p.traces, *p.failures)]
    assert len(ids) == len(set(ids)) <= len(traces)


@given(st.permutations(RENAMES + [rename(n, "a", "b") for n in (3, 4)]))
def test_the_order_of_traces_does_not_matter(traces: list[ExecutionTrace]) -> None:
    """Same traces, same patterns."""
    assert detect(traces) == detect([*RENAMES, rename(3, "a", "b"), rename(4, "a", "b")])


DELETE = "find {n} -name '*.bak' -delete"
SET = "sed -i 's/A{n}=.*/A{n}=1/' d{n}/x.env"


@pytest.mark.parametrize(
    ("wanted", "command", "said"),
    [
        (
            "set_env",
            SET,
            ["Set LEVEL to debug in .env please", "config/prod.env: PORT should be 80", "change DB to x in a/web.env"],
        ),
        (
            "count_lines",
            "grep -c x{n} a",
            ["How many ERROR lines did job-17 write?", "count the WARN lines", "number of lines of x"],
        ),
        ("delete_backups", DELETE, ["Find all backups and delete them", "delete the backups below b", "erase every backup in c"]),
        (
            "show_best_customers",
            "head -{n} a",
            ["Show the 2 best customers", "3 best customers in FR", "best customers (5), show them"],
        ),
        ("delete_bak", DELETE, ["delete, please", "now build", "once more for dist"]),
        ("remove_bak", DELETE, ["tmp, please", "now in 4", "do it once more"]),
    ],
)
def test_names_say_what_is_done_and_to_what(wanted: str, command: str, said: list[str]) -> None:
    """However the requests are worded; where they say too little, what the commands do and have in common stands in."""
    start: dict[str, Any] = {"a": {"type": "file"}}
    end = {} if command == DELETE else start
    ran = [trace(n, text, command.format(n=n), workspace=start, post_workspace=end) for n, text in enumerate(said, 1)]
    (found,) = detect(ran, together=[{t.task_id for t in ran}])
    assert found.task_category == wanted
