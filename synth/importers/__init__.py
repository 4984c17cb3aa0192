"""Importers: recordings of other tools as execution traces. Each import says what was dropped and why."""

from __future__ import annotations

from synth.importers.common import Dropped, ImportReport, UnknownFormat
from synth.importers.reader import KINDS, import_path

__all__ = ["KINDS", "Dropped", "ImportReport", "UnknownFormat", "import_path"]
