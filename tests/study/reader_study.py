"""How the readers of our exports take skills that were really judged: category, flags, digest, visibility.

    python tests/study/reader_study.py REGISTRY

REGISTRY holds what was registered by ``assay crystallize fixtures/traces/traces.jsonl fixtures/heldout/traces.jsonl``.
Every active skill is exported in every format and read by its reader's own rules. Prints a line a format and what was misread;
exits 1 when something was, or when there are fewer than forty skills.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from figures import table

from synth.export import skill_of
from synth.registry import Registry

sys.path.insert(0, str(Path(__file__).parents[1] / "synth"))

from readers import misread

ENOUGH = 40


def read(root: Path, folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Skill, format, and what its reader takes otherwise than it is meant."""
    with Registry(root) as registry:
        for entry in registry.list():
            for name, problems in misread(skill_of(registry, entry.name), registry, folder).items():
                yield entry.name, name, problems


def main(root: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        found = list(read(root, Path(folder)))
    all_of, right = Counter(f for _, f, _ in found), Counter(f for _, f, problems in found if not problems)
    print(table(("format", "skills", "read as meant"), [(f, n, right[f]) for f, n in sorted(all_of.items())]))
    for skill, name, problems in found:
        for problem in problems:
            print(f"{skill} ({name}): {problem}")
    return 1 if all_of != right or min(all_of.values(), default=0) < ENOUGH else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
