"""The policy file."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from verifiers.gating.policy import CAPABILITIES, Policy, Waiver, known_checks, load_policy, policy_from_data
from verifiers.interface import ConfigError

FULL = """\
required: [mutants-killed]
minimum_score: 0.5
min_usable: 4
waivers:
  - skill: rotate_logs
    check: deterministic-replay
    reason: writes the date into the name, ticket 12
    expires: 2027-01-31
evidence: pinned
approval: required
forbid: [follows-outside-paths, deletes]
seed_salt: {env: ASSAY_SALT}
cache: trusted
torn_writes: fail
questions: at-most 2
"""


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    return file


def test_everything(tmp_path: Path) -> None:
    """Every key arrives."""
    policy = load_policy(write(tmp_path, FULL), {"ASSAY_SALT": "pepper"})
    waiver = Waiver("rotate_logs", "deterministic-replay", "writes the date into the name, ticket 12", date(2027, 1, 31))
    assert policy == Policy(
        required=("mutants-killed",), minimum_score=0.5, min_usable=4, waivers=(waiver,), evidence="pinned", approval=True,
        forbid=("follows-outside-paths", "deletes"), seed_salt="pepper", cache="trusted", torn_writes="fail",
        questions=2,
    )  # fmt: skip


@pytest.mark.parametrize(("value", "allowed"), [("report", None), ("refuse", 0), ("at-most 0", 0), ("at-most 3", 3)])
def test_questions(value: str, allowed: int | None) -> None:
    """Any number, none, or so many."""
    assert policy_from_data({"questions": value}).questions == allowed


@pytest.mark.parametrize("value", ["at-most", "at-most -1", "at-most many", "some", 2, None, True, ["refuse"]])
def test_other_words_about_questions(value: object) -> None:
    """The error says what there is."""
    with pytest.raises(ConfigError, match="not one of report, refuse, at-most N"):
        policy_from_data({"questions": value})


def test_empty_is_the_default(tmp_path: Path) -> None:
    """An empty file asks for what no file asks for."""
    assert load_policy(write(tmp_path, "# nothing yet\n")) == Policy()


def test_the_salt_is_never_shown() -> None:
    """Neither a repr nor a digest of full length gives the secret away."""
    policy = Policy(seed_salt="pepper")
    assert "pepper" not in repr(policy)
    assert len(policy.salt_digest) == 16
    assert Policy().salt_digest == ""


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("minimun_score: 1", "unknown key 'minimun_score' (did you mean minimum_score?)"),
        ("minimum_score: high", "minimum_score: 'high' is not a number between 0 and 1"),
        ("minimum_score: 1.5", "not a number between 0 and 1"),
        ("min_usable: 0", "min_usable: 0 is not a count of at least 1"),
        ("min_usable: true", "not a count"),
        ("required: ruff-clean", "required: expected a list, found str"),
        ("required: [1]", "required[0]: expected text"),
        ("waivers: [{skill: a, check: contained, reason: c}]", "waivers[0]: has no expires"),
        ("waivers: [{skill: a, check: contained, reason: ' ', expires: 2027-01-01}]", "waivers[0]: reason: expected text"),
        ("waivers: [{skill: a, check: contained, reason: c, expires: soon}]", "'soon' is not a date"),
        ("waivers: [{skill: a, check: contained, reason: c, expires: '2027-02-30'}]", "not a day of the calendar"),
        ("waivers: [{skill: a, check: contained, reason: c, expires: 2027-01-01, until: x}]", "unknown key 'until'"),
        ("evidence: signed", "evidence: 'signed' is not one of any, pinned"),
        ("required: [idempotent_replay]", "required: no check 'idempotent_replay' (did you mean idempotent-replay?)"),
        ("waivers: [{skill: a, check: scores, reason: c, expires: 2027-01-01}]", "no check 'scores' (did you mean score?)"),
        ("forbid: [delete]", "no capability 'delete' (did you mean deletes?)"),
        ("seed_salt: {env: NOT_SET}", "the environment variable NOT_SET is not set"),
        ("seed_salt: 3", "expected keys and values"),
        ("- a", "expected keys and values, found list"),
        ("a: [", "policy.yaml:2: is not YAML"),
        ("a: b: c", "policy.yaml:1: is not YAML"),
        ("x: !!python/object:os.system a", "is not YAML"),
        ("approval: maybe", "approval: 'maybe' is not one of required, none"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, part: str) -> None:
    """One clear error that names file, key and value."""
    file = write(tmp_path, text + "\n")
    with pytest.raises(ConfigError) as caught:
        load_policy(file, {})
    assert part in caught.value.diagnostics()
    assert str(file) in caught.value.diagnostics()


def test_unreadable_files(tmp_path: Path) -> None:
    """No file, or no text: a ConfigError too."""
    with pytest.raises(ConfigError, match="No such file"):
        load_policy(tmp_path / "none.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConfigError, match="UTF-8"):
        load_policy(tmp_path / "b.yaml")


keys = st.sampled_from(["required", "minimum_score", "waivers", "forbid", "seed_salt", "evidence", "other"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text() | st.sampled_from(["skill", "env"]), inner, max_size=2),
    max_leaves=5,
)


@given(st.dictionaries(keys, values, max_size=3) | values)
def test_any_data_is_read_or_refused(data: object) -> None:
    """Foreign YAML gives a policy or a ConfigError, never anything else."""
    with contextlib.suppress(ConfigError):
        assert isinstance(policy_from_data(data, environ={}), Policy)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """So does any text."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(ConfigError):
        file = Path(folder) / "p.yaml"
        file.write_text(text, encoding="utf-8")
        assert isinstance(load_policy(file), Policy)


def test_waivers_hold_through_their_last_day() -> None:
    """Expiry is the day after."""
    waiver = Waiver("s", "c", "r", date(2026, 11, 21))
    assert not waiver.expired(date(2026, 11, 21))
    assert waiver.expired(date(2026, 11, 22))


def test_the_manual_s_policy_is_one(tmp_path: Path) -> None:
    """The example of docs/gate.md loads, has every key, and names every capability."""
    page = (Path(__file__).parent.parent.parent / "docs" / "gate.md").read_text()
    example = page.partition("```yaml\n")[2].partition("```")[0]
    policy = load_policy(write(tmp_path, example), {"ASSAY_SALT": "pepper"})
    assert policy.waivers[0].expires == date(2027, 1, 31)
    assert set(yaml.safe_load(example)) == {f.name for f in dataclasses.fields(Policy)}
    assert " ".join(CAPABILITIES) in example


def test_known_checks_are_the_catalogs() -> None:
    """What the files' names say without loading them is what the catalog finds."""
    from verifiers.catalog import CATALOG

    assert sorted(known_checks()) == sorted(check.id for check in CATALOG)


def test_a_rule_that_appears_twice_is_refused(tmp_path: Path) -> None:
    """YAML would keep the last: a rule less."""
    with pytest.raises(ConfigError, match="appears twice"):
        load_policy(write(tmp_path, "minimum_score: 0.9\nminimum_score: 0.0\n"))


def test_what_a_policy_does_not_say_is_as_configured(tmp_path: Path) -> None:
    """The configuration's number of usable traces holds until the policy names one."""
    assert load_policy(write(tmp_path, "minimum_score: 0.5\n"), defaults=Policy(min_usable=7)).min_usable == 7
    assert load_policy(write(tmp_path, "min_usable: 2\n"), defaults=Policy(min_usable=7)).min_usable == 2
