"""Counters: kept, added up by several processes, shown to Prometheus."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from synth.metrics import METRICS, Metrics, MetricsError, render_prometheus


def test_the_seeds_five_are_there_from_the_start(tmp_path: Path) -> None:
    """Never counted is 0, not absent."""
    values = Metrics(tmp_path / "m.json").values()
    seeds = ["crystallization_triggers", "patterns_detected", "skills_crystallized", "success_rate_improvement"]
    assert [values[n] for n in [*seeds, "crystallization_latency_ms_count"]] == [0] * 5


def test_counts_survive_the_process(tmp_path: Path) -> None:
    """Another object on the same file goes on counting."""
    Metrics(tmp_path / "m.json").add("gate_pass")
    again = Metrics(tmp_path / "m.json")
    again.add("gate_pass", 2)
    again.add("crystallization_latency_ms", 120.5)
    again.set("success_rate_improvement", -0.25)
    values = again.values()
    assert values["gate_pass"] == 3
    assert (values["crystallization_latency_ms_sum"], values["crystallization_latency_ms_count"]) == (120.5, 1)
    assert values["success_rate_improvement"] == -0.25


def test_labels_tell_samples_apart(tmp_path: Path) -> None:
    """Seconds are counted by check, in one change of the file; a wrong step counts nothing."""
    metrics = Metrics(tmp_path / "m.json")
    metrics.add_all([("check_seconds", 0.5, "parses"), ("check_seconds", 1.5, "parses"), ("check_seconds", 2, "contained")])
    assert metrics.values()['check_seconds_sum{check="parses"}'] == 2
    text = metrics.prometheus()
    assert 'assay_check_seconds_count{check="parses"} 2\n' in text
    assert 'assay_check_seconds_sum{check="contained"} 2\n' in text
    assert text.count("# TYPE assay_check_seconds summary") == 1
    for name, label in (("check_seconds", ""), ("check_seconds", 'x"'), ("gate_pass", "x")):
        with pytest.raises(ValueError, match="no label"):
            metrics.add_all([("cache_hits", 1, ""), (name, 1, label)])
    assert metrics.values()["cache_hits"] == 0


def test_parallel_changes_all_count(tmp_path: Path) -> None:
    """Each change is locked."""

    def count() -> None:
        for _ in range(20):
            Metrics(tmp_path / "m.json").add("sandbox_runs")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert Metrics(tmp_path / "m.json").values()["sandbox_runs"] == 80


def test_misuse_is_loud(tmp_path: Path) -> None:
    """Unknown names, falling counters and added gauges."""
    metrics = Metrics(tmp_path / "m.json")
    with pytest.raises(KeyError):
        metrics.add("no_such_metric")
    with pytest.raises(ValueError, match="never decreases"):
        metrics.add("gate_pass", -1)
    with pytest.raises(ValueError, match="gauge"):
        metrics.add("success_rate_improvement")
    with pytest.raises(ValueError, match="no gauge"):
        metrics.set("gate_pass", 1)


@pytest.mark.parametrize("text", ["{", "[]", '{"gate_pass": "1"}', '{"gate_pass": true}'])
def test_a_damaged_file_is_one_clear_error(tmp_path: Path, text: str) -> None:
    """It says what to do, and is not overwritten."""
    path = tmp_path / "m.json"
    path.write_text(text, "utf-8")
    with pytest.raises(MetricsError) as caught:
        Metrics(path).add("gate_pass")
    assert "Remove the file" in caught.value.diagnostics()
    assert path.read_text("utf-8") == text


def test_the_prometheus_text_is_well_formed() -> None:
    """Help, type and at least one sample for every metric; counters end in _total."""
    text = render_prometheus({"gate_pass": 3})
    assert "# TYPE assay_gate_pass_total counter\nassay_gate_pass_total 3\n" in text
    assert text.count("# HELP ") == text.count("# TYPE ") == len(METRICS)
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"assay_[a-z_]+ -?[\d.e+]+", line) for line in samples)
