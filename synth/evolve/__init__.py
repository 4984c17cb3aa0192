"""Better versions of a skill: an optimiser asks a model for them, recordings that it never sees decide."""

from synth.evolve.evolution import Base, Evolution, Outcome, to_json

__all__ = ["Base", "Evolution", "Outcome", "to_json"]
