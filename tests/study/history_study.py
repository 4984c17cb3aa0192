"""How well commits of real histories are grouped without labels.

    python tests/study/history_study.py CORPUS

CORPUS has ``NAME.bundle`` files and ``kinds.jsonl``, a labelled kind of commit a line (``repo``, ``kind``, ``subject_regex``, and
``commits`` and ``odd`` with their ``sha``). Prints a line a kind. Others in a group are commits whose subject is not the label's,
also those that do the very same under another subject; ``do something else`` leaves these out. A kind is found when one group has
90 % of its conforming commits and at most 5 % do something else, and purely so with at most 5 % of others. ``odd told`` are
labelled odd commits of the newest era that are told to be odd. Exits 1 where a kind is not found.
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
HEAD = ("repository", "kind", "conforming found", "group", "others", "do something else", "era", "odd told", "found")


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled kind and the group that has most of it."""

    name: tuple[str, str]
    got: int
    labelled: int
    size: int
    others: int
    strange: int
    """Of these, those that do what no commit with such a subject does in the group."""
    era: int
    odd: tuple[int, int]
    """Told, and there, in the newest era."""

    @property
    def found(self) -> bool:
        return self.got >= ENOUGH * self.labelled and self.strange <= TOO_MANY * self.size

    @property
    def pure(self) -> bool:
        return self.others <= TOO_MANY * self.size

    def cells(self) -> tuple[object, ...]:
        others, strange = (f"{n} ({n / self.size:.1%})" for n in (self.others, self.strange))
        told = f"{self.odd[0]}/{self.odd[1]}"
        word = "purely" if self.found and self.pure else "yes" if self.found else "no"
        return *self.name, f"{self.got}/{self.labelled}", self.size, others, strange, self.era, told, word


def row(label: Mapping[str, Any], labels: Sequence[Mapping[str, Any]], kinds: Sequence[Kind]) -> Row:
    """What became of one labelled kind."""
    wanted, odd = ({c["sha"] for c in label[key]} for key in ("commits", "odd"))
    elsewhere = {c["sha"] for other in labels if other is not label for c in other["commits"]} - wanted
    subject = re.compile(label["subject_regex"])

    def is_other(one: Facts) -> bool:
        return one.commit.oid in elsewhere or not subject.search(one.commit.subject)

    best = max(kinds, key=lambda k: sum(f.commit.oid in wanted for f in k.found))
    others = [f for f in best.found if is_other(f)]
    deeds = {f.features for f in best.found if not is_other(f)}
    era = {f.commit.oid for f in best.era}
    return Row(
        (label["repo"], label["kind"]),
        sum(f.commit.oid in wanted for f in best.found), len(wanted), len(best.found),
        len(others), sum(f.features not in deeds for f in others), len(best.era),
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
        yield from (row(label, own, kinds) for label in own)


def main(corpus: Path) -> int:
    labels = [json.loads(line) for line in (corpus / "kinds.jsonl").read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as scratch:
        found = list(rows(corpus, labels, Path(scratch)))
    print(table(HEAD, [r.cells() for r in found]))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    good, pure = sum(r.found for r in found), sum(r.found and r.pure for r in found)
    print(f"\n{good} of {len(found)} kinds found, {pure} of them purely; {memory} MiB of memory at most")
    return 0 if found and good == len(found) else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/study/history_study.py CORPUS")
    sys.exit(main(Path(sys.argv[1])))
