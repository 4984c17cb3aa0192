"""How well commits of real histories are grouped without labels.

    python tests/study/history_study.py CORPUS

CORPUS has ``NAME.bundle`` files and ``kinds.jsonl``, a labelled kind of commit a line (``repo``, ``kind``, ``subject_regex``, and
``commits`` and ``odd`` with their ``sha``). Prints a line a kind. A kind is found when one group holds 90 % of its conforming
commits and at most 5 % of the other commits of the history; ``in it`` is the share of the group that is no such commit: other
subjects, also where they do the very same. ``odd told`` are labelled odd commits of the newest era that are told to be odd.
Exits 1 where a kind is not found.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import table

from synth.history.commits import read_history
from synth.history.eras import Kind, kinds_of
from synth.history.facts import Facts, facts_of
from synth.history.kinds import groups_of
from synth.history.objects import Objects

ENOUGH, TOO_MANY = 0.9, 0.05
HEAD = ("repository", "kind", "conforming found", "group", "others in it", "of all others", "era", "odd told", "found")


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled kind and the group that has most of it."""

    name: tuple[str, str]
    got: int
    labelled: int
    size: int
    others: int
    every_other: int
    """Commits of the history with one parent that are not of the kind."""
    era: int
    odd: tuple[int, int]
    """Told, and there, in the newest era."""

    @property
    def found(self) -> bool:
        return self.got >= ENOUGH * self.labelled and self.others <= TOO_MANY * max(1, self.every_other)

    @property
    def pure(self) -> bool:
        return self.others <= TOO_MANY * self.size

    def cells(self) -> tuple[object, ...]:
        inside, outside = self.others / max(1, self.size), self.others / max(1, self.every_other)
        told = f"{self.odd[0]}/{self.odd[1]}"
        word = "yes" if self.found and self.pure else "mixed" if self.found else "no"
        return *self.name, f"{self.got}/{self.labelled}", self.size, f"{inside:.1%}", f"{outside:.1%}", self.era, told, word


def row(label: Mapping[str, Any], labels: Sequence[Mapping[str, Any]], kinds: Sequence[Kind], facts: Sequence[Facts]) -> Row:
    """What became of one labelled kind."""
    wanted, odd = ({c["sha"] for c in label[key]} for key in ("commits", "odd"))
    elsewhere = {c["sha"] for other in labels if other is not label for c in other["commits"]} - wanted
    subject = re.compile(label["subject_regex"])

    def is_other(one: Facts) -> bool:
        return one.commit.oid in elsewhere or not subject.search(one.commit.subject)

    best = max(kinds, key=lambda k: sum(f.commit.oid in wanted for f in k.found))
    era = {f.commit.oid for f in best.era}
    return Row(
        (label["repo"], label["kind"]),
        sum(f.commit.oid in wanted for f in best.found), len(wanted), len(best.found),
        sum(map(is_other, best.found)), sum(is_other(f) for f in facts if f.kind == "plain"), len(best.era),
        (len({f.commit.oid for f, _ in best.odd} & odd), len(odd & era)),
    )  # fmt: skip


def rows(corpus: Path, labels: Sequence[Mapping[str, Any]], scratch: Path) -> Iterator[Row]:
    """Each repository cloned, read and grouped once."""
    for repository in dict.fromkeys(label["repo"] for label in labels):
        name = repository.replace("/", "+")
        subprocess.run(["git", "clone", "-q", "--bare", str(corpus / f"{name}.bundle"), str(scratch / name)], check=True)
        began = time.monotonic()
        with Objects(scratch / name) as objects:
            facts = facts_of(read_history(objects).commits, objects)
        kinds = kinds_of(groups_of(facts))
        sys.stderr.write(f"{repository}: {len(facts)} commits, {len(kinds)} kinds, {time.monotonic() - began:.1f} s\n")
        own = [label for label in labels if label["repo"] == repository]
        yield from (row(label, own, kinds, facts) for label in own)


def main(corpus: Path) -> int:
    labels = [json.loads(line) for line in (corpus / "kinds.jsonl").read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as scratch:
        found = list(rows(corpus, labels, Path(scratch)))
    print(table(HEAD, [r.cells() for r in found]))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    good, pure = sum(r.found for r in found), sum(r.found and r.pure for r in found)
    print(
        f"\n{good} of {len(found)} kinds found, {pure} of them with at most {TOO_MANY:.0%} of others in the group; {memory} MiB at most"
    )
    return 0 if found and good == len(found) else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/study/history_study.py CORPUS")
    sys.exit(main(Path(sys.argv[1])))
