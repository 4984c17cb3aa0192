"""What hosts and our programs said to each other, kept in the directory that ``ASSAY_TRANSCRIPTS`` names: one file a test."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

FOLDER = os.environ.get("ASSAY_TRANSCRIPTS", "")


def keep(said: object) -> None:
    """Adds to the running test's transcript: text as it is, anything else as JSON."""
    if not FOLDER:
        return
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].partition(" ")[0]
    path = Path(FOLDER) / (re.sub(r"[^\w.-]+", "_", test).strip("_") + ".txt")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(said if isinstance(said, str) else json.dumps(said, indent=1) + "\n")
