"""Configuration: defaults, both files, and errors that name the key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.config import Config, load_config
from synth.trust import trust
from verifiers.interface import ConfigError


def test_the_seeds_block_has_the_seeds_defaults(tmp_path: Path) -> None:
    """The seven keys of the seed, with its numbers and places."""
    config = load_config(start=tmp_path)
    e = config.evolution
    assert (e.enabled, e.min_frequency, e.min_complexity) == (True, 3, 5)
    assert (e.max_traces_stored, e.crystallization_interval) == (1000, 3600)
    assert e.trigger == "any"
    assert config.trace_dir == tmp_path / ".assay/evolution/traces"
    assert config.learned_skills_dir == config.registry_dir == tmp_path / "assets/skills/learned_skills"
    assert config.patterns_file == tmp_path / ".assay/evolution/patterns.json"


def test_the_seeds_own_yaml_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed's example, comments and placeholders included; the environment fills the placeholders."""
    monkeypatch.setenv("PRJ_DATA", str(tmp_path / "data"))
    (tmp_path / "assay.yaml").write_text(
        "evolution:\n  enabled: true\n  trace_dir: '{PRJ_DATA}/evolution/traces'\n  min_frequency: 4 # often\n", "utf-8"
    )
    config = load_config(start=tmp_path)
    assert config.evolution.min_frequency == 4
    assert config.trace_dir == tmp_path / "data/evolution/traces"
    assert config.source == tmp_path / "assay.yaml"


def test_pyproject_is_found_from_below(tmp_path: Path) -> None:
    """The nearest file that configures assay wins; paths are relative to it."""
    (tmp_path / "pyproject.toml").write_text("[tool.assay.verify]\nbudget = 'fast'\n", "utf-8")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n", "utf-8")
    config = load_config(start=inner)
    assert config.verify.budget == "fast"
    assert config.root == tmp_path


@pytest.mark.parametrize(
    ("text", "needles"),
    [
        ("evolution:\n  min_freqency: 3\n", ["'evolution.min_freqency'", "'min_frequency'"]),
        ("evolutoin: {}\n", ["'evolutoin'", "'evolution'"]),
        ("evolution:\n  min_frequency: '3'\n", ["evolution.min_frequency", "integer"]),
        ("evolution:\n  min_frequency: 0\n", ["evolution.min_frequency", "greater"]),
        ("evolution:\n  trigger: some\n", ["evolution.trigger", "any"]),
        ("- a\n", ["the file"]),
        ("evolution: [\n", ["cannot be parsed"]),
        ("verify: {}\nverify: {}\n", ["'verify' appears twice"]),
    ],
)
def test_an_error_names_the_key(tmp_path: Path, text: str, needles: list[str]) -> None:
    """One sentence with the file, the key, and the nearest known key."""
    path = tmp_path / "assay.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert all(n in caught.value.diagnostics() for n in [str(path), *needles])


def test_two_files_in_one_place_are_refused(tmp_path: Path) -> None:
    """Neither silently wins."""
    (tmp_path / "assay.yaml").write_text("{}", "utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.assay]\n", "utf-8")
    with pytest.raises(ConfigError, match="both configure assay"):
        load_config(start=tmp_path)


def test_a_missing_file_and_a_strange_placeholder_are_errors(tmp_path: Path) -> None:
    """A named file must be there; a placeholder must be known."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="unknown placeholder"):
        Config.default(tmp_path).path("{HOME}/x")


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever the file holds, the answer is a configuration or a ConfigError."""
    path = tmp_path_factory.getbasetemp() / "reader" / "assay.yaml"  # not where other tests would find it above them
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    try:
        config = load_config(path)
    except ConfigError:
        config = Config.default()
    assert config.evolution.min_frequency == 3


def test_hooks_are_made_from_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands and a URL where they are asked for and trusted, the Wayland one unless it is switched off."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = tmp_path / "assay.yaml"
    path.write_text("hooks:\n  command: ['true', 'cat']\n  url: http://127.0.0.1:1/\n  wayland: true\n", "utf-8")
    config = load_config(path)
    assert (len(config.reindex_hooks()), config.untrusted) == (1, path)
    trust(path, config.sha256)
    assert (len(config.reindex_hooks()), config.untrusted) == (4, None)
    assert len(Config.default(tmp_path).reindex_hooks()) == 1
    path.write_text("hooks:\n  wayland: false\n", "utf-8")
    assert load_config(path).reindex_hooks() == ()
