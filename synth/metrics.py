"""What the loop did, as counters: the seed's five and the gate's own. Kept in one JSON file, shown as Prometheus text."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from verifiers.interface import AssayError

Kind = Literal["counter", "gauge", "summary"]


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: Kind
    help: str
    label: str = ""
    """Name of the label that tells its samples apart."""


METRICS = (
    Metric("crystallization_triggers", "counter", "Number of times crystallization was triggered."),
    Metric("patterns_detected", "counter", "Patterns found."),
    Metric("skills_crystallized", "counter", "New skills registered."),
    Metric("crystallization_latency_ms", "summary", "Time to crystallize a skill, in milliseconds."),
    Metric(
        "success_rate_improvement",
        "gauge",
        "Success rate of registered skills on replays minus that of the traces they came from.",
    ),
    Metric("gate_pass", "counter", "Verifications that ended in PASS."),
    Metric("gate_fail", "counter", "Verifications that ended in FAIL."),
    Metric("gate_inconclusive", "counter", "Verifications that ended in INCONCLUSIVE."),
    Metric("sandbox_runs", "counter", "Runs in the sandbox."),
    Metric("verification_seconds", "summary", "Time a verification takes, in seconds."),
    Metric("check_seconds", "summary", "Time a check takes, in seconds.", "check"),
    Metric("cache_hits", "counter", "Verdicts that came from the cache."),
    Metric("traces_recorded", "counter", "Traces stored."),
    Metric("skills_demoted", "counter", "Skills that passed and no longer do."),
    Metric("llm_tokens", "counter", "Tokens sent to and received from a model."),
)
_LABEL = re.compile(r"[a-z0-9-]+")
_BY_NAME = {m.name: m for m in METRICS}


class MetricsError(AssayError, ValueError):
    """The metrics file is not one."""


class Metrics:
    """Counters in one file, safe for several processes: each change is a locked read, change and atomic replace."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def add(self, name: str, value: float = 1, label: str = "") -> None:
        """Adds to a counter, or one observation to a summary.

        Args:
            label: Lower-case letters, digits and hyphens; for a metric that has a label, and only for one.

        Raises:
            KeyError: no such metric.
            ValueError: a negative step of a counter, a gauge, or a label where there is none.
        """
        self.add_all([(name, value, label)])

    def add_all(self, steps: Iterable[tuple[str, float, str]]) -> None:
        """Many steps (name, value, label) as one change of the file. Raises as ``add`` does, and then nothing was counted."""
        changes = [change for name, value, label in steps for change in _changes(name, value, label)]
        with self._change() as values:
            for key, step in changes:
                values[key] = values.get(key, 0) + step

    def set(self, name: str, value: float) -> None:
        """Sets a gauge.

        Raises:
            KeyError: no such metric.
            ValueError: not a gauge.
        """
        if _BY_NAME[name].kind != "gauge":
            raise ValueError(f"{name} is no gauge: add to it")
        with self._change() as values:
            values[name] = value

    def values(self) -> dict[str, float]:
        """Everything counted so far; metrics never touched are 0.

        Raises:
            MetricsError: the file is damaged.
        """
        return {**_zeroes(), **self._load()}

    def prometheus(self, prefix: str = "assay_") -> str:
        """Prometheus text exposition format, version 0.0.4."""
        return render_prometheus(self.values(), prefix)

    @contextmanager
    def _change(self) -> Iterator[dict[str, float]]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(self.path.name + ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            values = self._load()
            yield values
            temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
            temporary.write_text(json.dumps(values, indent=1, sort_keys=True) + "\n", "utf-8")
            temporary.replace(self.path)

    def _load(self) -> dict[str, float]:
        try:
            data = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (ValueError, OSError, RecursionError) as e:
            raise MetricsError(f"cannot be read: {e}", "Remove the file to start counting anew", self.path) from e
        if not isinstance(data, dict) or not all(
            isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < 1e300 for v in data.values()
        ):
            raise MetricsError("is not an object of numbers", "Remove the file to start counting anew", self.path)
        return data


def _changes(name: str, value: float, label: str) -> list[tuple[str, float]]:
    """The samples that one step adds to."""
    metric = _BY_NAME[name]
    if metric.kind == "gauge":
        raise ValueError(f"{name} is a gauge: set it")
    if value < 0:
        raise ValueError(f"{name} never decreases")
    if bool(label) is not bool(metric.label) or (label and not _LABEL.fullmatch(label)):
        raise ValueError(f"{label!r} is no label of {name}")
    tag = f'{{{metric.label}="{label}"}}' if label else ""
    return [(f"{name}_sum{tag}", value), (f"{name}_count{tag}", 1)] if metric.kind == "summary" else [(name, value)]


def _zeroes() -> dict[str, float]:
    out: dict[str, float] = {}
    for m in METRICS:
        if m.label:
            continue
        out.update({f"{m.name}_sum": 0, f"{m.name}_count": 0} if m.kind == "summary" else {m.name: 0})
    return out


def render_prometheus(values: Mapping[str, float], prefix: str = "assay_") -> str:
    """The text that a Prometheus server scrapes: help, type and sample of every metric."""
    lines: list[str] = []
    for m in METRICS:
        suffix = "_total" if m.kind == "counter" else ""
        lines += [f"# HELP {prefix}{m.name}{suffix} {m.help}", f"# TYPE {prefix}{m.name}{suffix} {m.kind}"]
        samples = [f"{m.name}_sum", f"{m.name}_count"] if m.kind == "summary" else [m.name]
        if m.label:
            samples = sorted(v for v in values if v.startswith((f"{m.name}_sum{{", f"{m.name}_count{{")))
        lines += [f"{prefix}{s}{suffix} {values.get(s, 0):g}" for s in samples]
    return "\n".join(lines) + "\n"
