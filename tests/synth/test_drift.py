"""Drift: what came after the commits that a skill was learned from, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repositories import Repository, make, released

from sandbox.interface import Entry, Snapshot
from synth.history.commits import Commit
from synth.history.drift import MOST_SHORT, Case, Drift, Outcome, is_part
from synth.history.learning import learn
from synth.history.since import MOST, Since, learned_from, since
from synth.interface import ExecutionTrace
from synth.tracing.traces import to_evidence
from verifiers.binding.readings import readings
from verifiers.interface import Evidence
from verifiers.subject import parse_subject

COMMIT = Commit("0" * 40, (), "Ada", datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), "Release 1.0.0")
OUTCOMES: tuple[Outcome, ...] = ("right", "in part", "refused", "another end", "unread")


def newer(repository: Repository, learned: frozenset[str]) -> Since | str:
    return since(repository.path, {"it": learned})["it"]


def subjects(found: Since | str) -> list[str]:
    assert isinstance(found, Since)
    return [commit.subject for commit, _ in found.traces]


@given(st.lists(st.sampled_from(OUTCOMES)), st.integers(0, 3))
def test_the_rule(outcomes: list[Outcome], odd: int) -> None:
    """One other end, or too many that fall short, is drift; without a commit that was tried nothing conforms; odd ones never
    count."""
    found = Drift("release", tuple(Case(COMMIT, o) for o in outcomes), ((Case(COMMIT, "another end"), "leaves out a"),) * odd)
    tried = [o for o in outcomes if o != "unread"]
    short = tried.count("refused") + tried.count("in part")
    drifted = "another end" in tried or short > MOST_SHORT * len(tried)
    expected = "drifted" if drifted else "conforms" if tried else "unsettled" if outcomes else "nothing new"
    assert found.state == expected
    assert found.tried == len(tried)


def tree(**files: str) -> Snapshot:
    return Snapshot({path: Entry("file", 0o644, text.encode()) for path, text in files.items()})


START = tree(a="v = 1\nw = 1\n", b="1\n")


@pytest.mark.parametrize(
    ("skill", "commit", "wanted"),
    [
        (tree(a="v = 2\nw = 1\n", b="1\n"), tree(a="v = 2\nw = 1\n", b="2\n"), True),
        (tree(a="v = 2\nw = 1\n", b="1\n"), tree(a="v = 2\nw = 1\nrider\n", b="1\n"), True),
        (tree(a="v = 2\nw = 1\n", b="1\n"), tree(a="v = 3\nw = 1\n", b="1\n"), False),
        (tree(a="v = 2\nw = 2\n", b="1\n"), tree(a="v = 2\nw = 1\n", b="2\n"), False),
        (tree(a="v = 1\nw = 1\n"), tree(a="v = 2\nw = 1\n", b="1\n"), False),
        (tree(a="v = 1\nw = 1\n"), tree(a="v = 2\nw = 1\n"), True),
        (START, tree(a="v = 2\nw = 1\n", b="1\n"), False),
        (START.replace({"c": Entry("file", 0o755, b"x")}), START.replace({"c": Entry("file", 0o644, b"x")}), False),
    ],
)
def test_a_part_is_nothing_else(skill: Snapshot, commit: Snapshot, wanted: bool) -> None:
    """A file or line that the commit changes too is a rider; what the commit does not do, or nothing at all, is no part of it."""
    assert is_part(START, skill, commit) is wanted


def test_only_what_came_after_what_was_learned(tmp_path: Path) -> None:
    """Held out ones are among them; an older one that was left out is not."""
    made = released(tmp_path / "r", 9)
    learned = learn(made.path, kind="release")
    first = learned_from(learned.traces)
    assert len(first) == 6
    assert subjects(newer(made, first)) == ["Release 0.7.0", "Release 0.8.0", "Release 0.9.0"]
    assert subjects(newer(made, frozenset(sorted(first)[1:]) | learned_from(learned.held_out))) == []


def test_odd_ones_are_told_apart(tmp_path: Path) -> None:
    """With how they part; one from before what was learned is of no interest."""
    made = released(tmp_path / "r")
    learned = learned_from(learn(made.path, kind="release", hold_out=0).traces)
    made.commit("Release 0.7.0", {"app.toml": 'name = "app"\nversion = "0.7.0"\n'})
    found = newer(made, learned)
    assert isinstance(found, Since)
    ((commit, how, trace),) = found.odd
    assert (commit.subject, how) == ("Release 0.7.0", "leaves out app.py")
    assert isinstance(trace, ExecutionTrace)
    assert found.traces == ()


def test_the_newest_are_enough(tmp_path: Path) -> None:
    """Of many newer ones it is said how many were left out."""
    made = released(tmp_path / "r", MOST + 5)
    oldest = min(learn(made.path, kind="release", hold_out=0).traces, key=lambda t: t.timestamp)
    found = newer(made, learned_from([oldest]))
    assert isinstance(found, Since)
    assert (len(found.traces), found.older) == (MOST, 4)


def test_another_history_says_so(tmp_path: Path) -> None:
    """And a shallow clone says that it is one; a bare one is as good as any."""
    made = released(tmp_path / "r", 9)
    learned = learned_from(learn(made.path, kind="release").traces)
    other = make(tmp_path / "other")
    other.commit("Begin", {"a": "1"})
    assert newer(other, learned) == "none of the 6 commits that it was learned from is in this history"
    made.git("clone", "-q", "--depth", "4", f"file://{made.path}", str(tmp_path / "shallow"))
    said = newer(Repository(tmp_path / "shallow"), learned)
    assert isinstance(said, str)
    assert said.endswith("it is shallow (git fetch --unshallow)")
    made.git("clone", "-q", "--bare", str(made.path), str(tmp_path / "bare.git"))
    assert len(subjects(newer(Repository(tmp_path / "bare.git"), learned))) == 3


def test_a_kind_that_is_none_here(tmp_path: Path) -> None:
    """What was learned from is in the history, and comes less than three times."""
    made = make(tmp_path / "r")
    made.commit("Begin", {"a": "1\n"})
    only = made.commit("Set a to 2", {"a": "2\n"})
    assert newer(made, frozenset({only})) == "the commits that it was learned from are of no kind that comes three times here"


MORE = "more\n" * 9

SKILL = '''
@skill_command(autowire=True)
async def bump(version: str = Query(..., description="The version"), digest: str = Query(..., description="The digest")) -> dict:
    """Bump.

    Args:
        version: The version.
        digest: The digest.
    """
'''


def pinned(path: Path) -> tuple[list[Evidence], list[str]]:
    """Four commits that write a version and a digest, and the digests."""
    made = make(path)
    digests = [f"{n}a{n}b" * 8 for n in range(5)]
    for n, digest in enumerate(digests):
        made.commit(f"Bump to 1.{n}.0", {"f.rb": f'url "x-1.{n}.0.tgz"\nsha "{digest}"\n{MORE}'})
    traces = learn(made.path, hold_out=0).traces
    assert len(traces) == 4
    return [to_evidence(t) for t in traces], digests[1:]


def test_a_digest_is_read_where_it_was_written(tmp_path: Path) -> None:
    """The version is told by the request; what no request tells stands in the same line as before."""
    evidence, digests = pinned(tmp_path / "r")
    known = {e.task_id: {"version": f"1.{n}.0", "digest": digests[n - 1]} for n, e in enumerate(evidence[:3], 1)}
    found = list(readings(parse_subject(SKILL, "bump/skill.py"), known, evidence[:3], evidence[3]))
    assert found[0] == {"version": "1.4.0", "digest": digests[3]}


def test_the_request_goes_before_what_was_written(tmp_path: Path) -> None:
    """A commit that writes another version than it tells is not read as telling that one."""
    evidence, digests = pinned(tmp_path / "r")
    known = {e.task_id: {"version": f"1.{n}.0", "digest": digests[n - 1]} for n, e in enumerate(evidence[:3], 1)}
    other = replace(evidence[3], description="Bump to 1.4.1")
    found = list(readings(parse_subject(SKILL, "bump/skill.py"), known, evidence[:3], other))
    assert found[0] == {"version": "1.4.1", "digest": digests[3]}
