"""Whether sessions are cut into the tasks that a reader finds in them.

python tests/study/cutting.py DIR

``cuts.tsv`` has the tasks of 72 public sessions, as read by hand: how many requests a person made, "yes" and "continue" counted
with the one before; a benchmark's run and a terminal's recording are one. Sessions are named by the beginning of their SHA-256,
because their contents are people's. 1 as exit code where fewer than nine in ten agree, or none is there.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from synth.importers import UnknownFormat, import_path
from verifiers.interface import EvidenceError

CUTS = Path(__file__).with_name("cuts.tsv")
BAR = 0.9


def read_by_hand() -> dict[str, int]:
    """Beginning of a session's SHA-256 -> tasks in it."""
    with CUTS.open(encoding="utf-8", newline="") as file:
        return {row["sha256"]: int(row["tasks"]) for row in csv.DictReader(file, delimiter="\t")}


def cut(path: Path) -> int | None:
    """The tasks that an importer finds in a session, whether they can be traces or not; None where no importer knows it."""
    try:
        report = import_path(path)
    except (UnknownFormat, EvidenceError):
        return None
    return len(report.traces) + sum(d.what == "trace" for d in report.dropped)


def compared(folder: Path, known: Mapping[str, int]) -> list[tuple[str, int, int | None]]:
    """Beginning of the SHA-256, tasks by hand and tasks cut, of each session of a folder that was read by hand."""
    digests = {p: hashlib.sha256(p.read_bytes()).hexdigest()[:16] for p in sorted(folder.rglob("*")) if p.is_file()}
    return [(digest, known[digest], cut(p)) for p, digest in digests.items() if digest in known]


def main(folder: Path) -> int:
    found = compared(folder, read_by_hand())
    wrong = [(digest, wanted, got) for digest, wanted, got in found if wanted != got]
    for digest, wanted, got in wrong:
        print(f"{digest}: {wanted} by hand, {got} cut")
    print(f"{len(found) - len(wrong)} of {len(found)} sessions are cut as a reader does")
    return 0 if found and len(found) - len(wrong) >= BAR * len(found) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
