"""The embedded generator: skills from traces by parsing, anti-unification and a table of command meanings."""

from __future__ import annotations

from synth.embedded.generator import EmbeddedGenerator

__all__ = ["EmbeddedGenerator"]
