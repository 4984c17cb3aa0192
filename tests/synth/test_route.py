"""Routing: seeds exact, words understood, records learned from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from factories import draft, report, trace
from hypothesis import given
from hypothesis import strategies as st

from synth.registry import Registry, UnknownSkill
from synth.registry.indexing import concepts, mentions_extension, words
from synth.registry.vocabulary import synonyms
from synth.route import Arm, RouteIndex, head_start, hydrate, question, seed_successes
from verifiers.interface import ConfigError

VECTORS = Path(__file__).parents[2] / "fixtures" / "wayland" / "wayland_seed_pairs.jsonl"

TASKS = {
    "batch_rename": (
        "Rename every file with one extension to another.",
        "Rename all .txt files to .md",
        'for f in *.txt; do mv "$f" x; done',
    ),
    "count_lines": ("Count the lines of a file.", "How many lines does notes.txt have?", "wc -l notes.txt"),
    "dedupe_lines": (
        "Remove repeated lines from a file, keeping the first of each.",
        "Delete duplicate lines in list.txt",
        "sort -u list.txt",
    ),
    "make_executable": ("Make every script executable.", "chmod all the .sh scripts so they can be run", "chmod +x *.sh"),
    "pack_logs": ("Put the logs into a compressed archive.", "tar up the logs directory", "tar czf logs.tgz logs"),
}


def fill(registry: Registry, generated: int = 160) -> None:
    for name, (summary, task, command) in TASKS.items():
        evidence = tuple(replace(trace(n, task, (command,)), task_id=f"{name}-{n}") for n in range(3))
        made = replace(draft(name, summary=summary), evidence=evidence, bindings={t.task_id: {} for t in evidence})
        registry.register(made, report(made, generated=generated))


@pytest.fixture
def index(tmp_path: Path) -> Iterator[RouteIndex]:
    with Registry(tmp_path) as registry:
        fill(registry)
        yield RouteIndex(registry)


# ------------------------------------------------------------ seeds


@pytest.mark.parametrize("vector", [json.loads(line) for line in VECTORS.read_text().splitlines()])
def test_seeds_are_those_of_the_vectors(vector: dict[str, float]) -> None:
    """Successes, skipped or not, and the mean of the prior, exactly."""
    k = seed_successes(vector["score"])
    assert k == vector["seed_successes"]
    assert (k == 0) == vector["skipped"]
    assert [Arm(k).alpha, Arm(k).beta] == vector["prior"]
    assert Arm(k).mean == pytest.approx(vector["prior_mean"], abs=1e-6)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_more_score_never_seeds_less(a: float, b: float) -> None:
    """Monotone, between 0 and 5, whatever the number."""
    low, high = sorted((a, b))
    assert 0 <= seed_successes(low) <= seed_successes(high) <= 5


def test_hydration_layers_in_the_order_of_the_seeds() -> None:
    """Bench winners, then verified drafts, then the head start; an earlier layer's name is skipped by the later ones."""
    order = list("abcdefgh")
    seeds = hydrate({"a": 0.2, "h": 1.0, "x": 0.9}, {"a": 0.9, "b": 0.05, "h": 0.5, "g": 0.7}, order)
    assert seeds == {"a": 1, "h": 5, "g": 4, "b": 3, "c": 2, "d": 2, "e": 1, "f": 1}


@given(st.integers(1, 60))
def test_a_head_start_goes_by_quarters(count: int) -> None:
    """3, 2, 1, 0 in order of preference, by integer division."""
    given_out = [head_start(i, count) for i in range(count)]
    assert given_out == sorted(given_out, reverse=True)
    assert given_out.count(3) == count // 4


# ------------------------------------------------------------ words


@pytest.mark.parametrize(
    ("task", "skill"),
    [
        ("rename all txt files to md", "batch_rename"),
        ("change the suffix of every .jpeg picture to .jpg", "batch_rename"),
        ("renaming htm pages as html", "batch_rename"),
        ("number of lines in a file", "count_lines"),
        ("get rid of duplicated lines", "dedupe_lines"),
        ("make my scripts runnable: give them execute permission", "make_executable"),
        ("compress the log folder into a tarball archive", "pack_logs"),
    ],
)
def test_a_paraphrase_finds_the_skill(index: RouteIndex, task: str, skill: str) -> None:
    """Other word forms, other extensions, and words for what the commands do."""
    found = index.route(task)
    assert found[0].skill == skill
    assert sum(m.probability for m in found) == pytest.approx(1.0)
    assert found[0].probability == max(m.probability for m in found)
    assert "shares" in found[0].explanation


@pytest.mark.parametrize("task", ["", "   ", "the of and", "make me a sandwich", "translate this poem into French", "🙂", '"'])
def test_what_no_skill_does_finds_nothing(index: RouteIndex, task: str) -> None:
    """No skill is offered for want of a better one."""
    assert index.route(task) == []
    assert index.pick(task) is None


@given(st.text(max_size=200))
def test_no_text_is_a_syntax_error(tmp_path_factory: pytest.TempPathFactory, task: str) -> None:
    """Quotes, operators, NEAR, columns, stars and NULs of the search syntax are only characters."""
    with Registry(tmp_path_factory.getbasetemp() / "any") as registry:
        if not registry.list():
            fill(registry)
        assert len(RouteIndex(registry).route(task)) <= 5


@pytest.mark.parametrize(
    "task", ["rename AND NOT (txt", 'rename" OR "', "rename*", "name:rename NEAR(txt)", "rename - txt ^ {md}", "rename\0txt"]
)
def test_search_syntax_is_only_words(index: RouteIndex, task: str) -> None:
    """Operators do not change what is found."""
    assert index.route(task)[0].skill == "batch_rename"


def test_words_of_a_question() -> None:
    """Stop words go, camelCase and snake_case come apart, an extension adds the token for any."""
    assert list(words("fixFoo snake_case ÄÖ x2")) == ["fix", "foo", "snake", "case", "äö", "x2"]
    assert question("please rename the *.foo files") == ["rename", "foo", "files", "extensiontoken"]
    assert not mentions_extension("version 1.2 of the plan")
    assert mentions_extension("a.md")
    assert concepts(["cd x && wc -l y", "wc -c"]).split()[0] == "count"


# ------------------------------------------------------------ record


def test_equal_seeds_give_equal_rankings(index: RouteIndex) -> None:
    """A ranking can be repeated; a pick with a seed too."""
    assert index.route("lines of a file", seed=3) == index.route("lines of a file", seed=3)
    assert index.pick("lines of a file", seed=3) == index.pick("lines of a file", seed=3)


def test_outcomes_move_the_ranking(index: RouteIndex) -> None:
    """Of two skills that fit as well, the one that keeps failing falls behind."""
    task = "remove or count lines of a file"
    best = index.route(task)[0].skill
    other = next(m.skill for m in index.route(task) if m.skill != best)
    for _ in range(30):
        index.feedback(best, False)
        index.feedback(other, True)
    assert index.route(task)[0].skill == other


def test_a_new_version_starts_with_a_record_of_its_own(index: RouteIndex) -> None:
    """Outcomes belong to the bytes that had them."""
    for _ in range(3):
        index.feedback("batch_rename", False)
    old = index.registry.draft("batch_rename")
    changed = replace(old, skill_md="# changed\n")
    index.registry.register(changed, report(changed), supersedes="batch_rename")
    assert index.arms(["batch_rename"])["batch_rename"].failed == 0
    index.registry.rollback("batch_rename")
    assert index.arms(["batch_rename"])["batch_rename"].failed == 3


def test_a_skill_that_is_not_active_is_not_offered(index: RouteIndex) -> None:
    """Archived, drifted and revoked skills leave the index with the same commit."""
    registry = index.registry
    registry.archive("batch_rename")
    registry.demote("count_lines", registry.show("count_lines").version, "drifted")
    registry.revoke("dedupe_lines")
    assert index.route("rename all txt files to md") == []
    assert {m.skill for m in index.route("lines of a file", limit=10)} <= {"make_executable", "pack_logs"}
    registry.restore("batch_rename")
    assert index.route("rename all txt files to md")[0].skill == "batch_rename"


def test_a_bench_score_seeds_before_the_measured_one(index: RouteIndex) -> None:
    """First layer first; forgetting it brings the measured one back."""
    measured = index.arms(["batch_rename"])["batch_rename"].seeds
    index.set_bench("batch_rename", 1.0)
    assert index.arms(["batch_rename"])["batch_rename"].seeds == 5
    index.set_bench("batch_rename", None)
    assert index.arms(["batch_rename"])["batch_rename"].seeds == measured == 3
    with pytest.raises(ConfigError):
        index.set_bench("batch_rename", 1.5)


def test_success_before_and_after(tmp_path: Path) -> None:
    """Before: the share of successful traces given at registration. After: the reported outcomes. Unknown stays unknown."""
    with Registry(tmp_path) as registry:
        made = draft()
        registry.register(made, report(made), metadata={"success_rate": 0.5})
        index = RouteIndex(registry)
        assert index.success_rates("batch_rename").improvement is None
        for ok in (True, True, True, False):
            index.feedback("batch_rename", ok)
        rates = index.success_rates("batch_rename")
        assert (rates.before, rates.after, rates.outcomes, rates.improvement) == (0.5, 0.75, 4, 0.25)
        with pytest.raises(UnknownSkill):
            index.feedback("nobody", True)


def test_seeds_for_another_router(index: RouteIndex) -> None:
    """Every active skill with its seeds, in the layers' order."""
    assert index.seeds() == dict.fromkeys(TASKS, 3)


@given(st.sampled_from(["rename", "delete", "folder", "count", "compress", "sort"]), st.sampled_from(["", "s", "d", "ing"]))
def test_synonyms_go_both_ways_and_know_word_forms(word: str, ending: str) -> None:
    """A synonym's synonyms include the word; no word is its own."""
    form = word.removesuffix("e") + ending if ending == "ing" else word + ending
    assert word not in synonyms(word)
    assert all(word in synonyms(other) for other in synonyms(word))
    assert synonyms(form) - {word} == synonyms(word) or (ending == "d" and not word.endswith("e"))
