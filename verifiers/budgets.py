"""How much a verification tries: counts, never seconds (docs/semantics.md, "Results and merging")."""

from __future__ import annotations

from dataclasses import dataclass

from verifiers.interface import Budget


@dataclass(frozen=True, slots=True)
class Counts:
    differential: int
    """Generated cases for the differential oracle."""
    renaming: int
    hostile: int
    """Hostile argument values, per parameter."""
    crash_points: int
    """Per trace; above it, a seeded sample."""
    fault_points: int
    """Over all traces."""
    mutants: int
    factor_traces: int
    """Traces on which each factor of the surroundings is tried."""
    shrink: int
    """Runs spent on making a counterexample smaller."""
    search: int
    """Runs on invented starts, spent only where some branch that acts or claims success never ran."""


COUNTS: dict[Budget, Counts] = {
    "fast": Counts(
        differential=24,
        renaming=16,
        hostile=4,
        crash_points=12,
        fault_points=12,
        mutants=8,
        factor_traces=1,
        shrink=40,
        search=160,
    ),
    "standard": Counts(
        differential=64,
        renaming=40,
        hostile=10,
        crash_points=32,
        fault_points=32,
        mutants=24,
        factor_traces=3,
        shrink=120,
        search=480,
    ),
    "thorough": Counts(
        differential=320,
        renaming=160,
        hostile=10,
        crash_points=200,
        fault_points=120,
        mutants=120,
        factor_traces=12,
        shrink=400,
        search=2000,
    ),
}
