"""Imported before anything else of ours: says whose packages these are, before an import fails for what they lack."""

from __future__ import annotations

from synth.shadow import shadowed

_problem = shadowed()
if _problem:
    raise ImportError(_problem)
