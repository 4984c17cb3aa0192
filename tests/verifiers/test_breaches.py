"""What a run must not do, and what no comparison sees, from its record alone."""

from __future__ import annotations

from dataclasses import replace

from sandbox.interface import Entry, ExecResult, Leftover, ReplayRecord, Returned, Snapshot
from verifiers.context import breaches
from verifiers.expectation.oracle import expect
from verifiers.interface import Evidence

CLEAN = ReplayRecord(Returned(1), (ExecResult(0, None, b"", b""),), Snapshot({"a": Entry("file")}), "exited")


def with_(**more: object) -> ReplayRecord:
    return replace(CLEAN, **more)  # type: ignore[arg-type]  # field names and types are ReplayRecord's own


def test_a_clean_run_breaches_nothing() -> None:
    """No finding without a fact."""
    assert breaches(CLEAN) == []


def test_every_kind_of_breach_is_a_sentence() -> None:
    """One each, in plain words."""
    facts: list[dict[str, object]] = [
        {"leftovers": (Leftover("file", "/tmp/x"),)}, {"network": ("connect",)}, {"outside": ("mkdir /etc/x",)},
        {"protocol_findings": ("a second frame",)}, {"scan_findings": ("an access list",)}, {"ended": "timeout"},
        {"ended": "oom"},
    ]  # fmt: skip
    said = [breaches(with_(**fact)) for fact in facts]
    assert all(len(s) == 1 for s in said)
    assert said[4] == ["left what is not compared: an access list"]


def test_a_killed_run_may_leave_what_it_had_begun() -> None:
    """Files, but no process."""
    assert not breaches(with_(ended="killed", leftovers=(Leftover("file", "/tmp/x"),)))
    assert breaches(with_(ended="killed", leftovers=(Leftover("process", "sleep"),)))


def test_a_trace_whose_effect_no_snapshot_holds_is_no_oracle() -> None:
    """A skill could not be compared with it."""
    evidence = Evidence("t", "", ("setfacl x",), ("",), None, None, Snapshot(), None, True)
    why = expect(evidence, [with_(scan_findings=("1 access list",))])[1]
    assert why == "its own commands leave what is not compared: 1 access list"


def test_what_an_injected_error_kept_open_is_no_breach() -> None:
    """A library does not tell that a file could not be closed."""
    kept = {"changed": "its open files"}
    assert breaches(with_(probe=kept)) == ["leaves the process that called it changed: its open files"]
    assert not breaches(with_(probe=kept, fault_reached=True))
    assert breaches(with_(probe={"changed": "its open files, its timers"}, fault_reached=True))
