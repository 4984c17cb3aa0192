"""How many kinds of commits of real histories become edit programs, and what those do on commits that they were not learned from.

    python tests/study/states.py CORPUS [KIND ...]

CORPUS is a folder of ``NAME.bundle`` files with a ``kinds.jsonl``. Of the conforming commits of the newest layout the older half
is learned from; the newer half, all other commits with such a subject, and the odd ones are run.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from states_bind import bind

from synth.embedded.states.examples import Example
from synth.embedded.states.hunks import folder_of, hunks_of, kind_of, numbered
from synth.embedded.states.learn import Program, programs

MOST = 120
"""Commits of a kind that are read, the newest."""
MOST_TRAINING = 8
"""Recordings that one skill is learned from."""


@dataclass
class Repository:
    """A bare clone, read by objects."""

    path: Path
    _blobs: dict[str, str | None] = field(default_factory=dict)

    def git(self, *args: str) -> str:
        return subprocess.run(["git", "-C", str(self.path), *args], capture_output=True, check=True).stdout.decode(
            errors="replace"
        )

    def tree(self, commit: str) -> dict[str, str]:
        """Path -> text of the text files of a commit."""
        rows = [r.partition("\t") for r in self.git("ls-tree", "-r", "-z", commit).split("\0") if r]
        files = {path: head.split()[2] for head, _, path in rows if head.split()[1] == "blob" and not head.startswith("12")}
        self._load([b for b in files.values() if b not in self._blobs])
        return {p: t for p, b in files.items() if (t := self._blobs[b]) is not None}

    def _load(self, blobs: Sequence[str]) -> None:
        if not blobs:
            return
        data = subprocess.run(
            ["git", "-C", str(self.path), "cat-file", "--batch"],
            input="\n".join(blobs).encode() + b"\n",
            capture_output=True,
            check=True,
        ).stdout
        at = 0
        for blob in blobs:
            end = data.index(b"\n", at)
            size = int(data[at:end].split()[2])
            content = data[end + 1 : end + 1 + size]
            at = end + size + 2
            try:
                self._blobs[blob] = content.decode() if b"\0" not in content else None
            except UnicodeDecodeError:
                self._blobs[blob] = None

    def example(self, commit: str) -> Example:
        return Example(
            commit[:12], self.git("show", "-s", "--format=%s%n%b", commit).strip(), self.tree(f"{commit}^"), self.tree(commit)
        )

    def subjects(self) -> Iterator[tuple[str, str]]:
        """(commit, subject) of commits with one parent, oldest first."""
        for row in self.git("log", "--reverse", "--max-parents=1", "--min-parents=1", "--format=%H%x09%s").splitlines():
            commit, _, subject = row.partition("\t")
            yield commit, subject


def layout(example: Example) -> frozenset[object]:
    """Where and on which kinds of lines a commit writes: two commits of one era have the same."""
    hunks = {(h.path, kind_of(h.old)) if h.old else (h.path, "+") for h in hunks_of(0, example)}
    last = {(folder_of(p), numbered(example.end[p].splitlines()[-1:])) for p in example.created}
    return frozenset(hunks | last | {folder_of(p) for p in example.removed})


def newest_era(examples: Sequence[Example], known: Collection[frozenset[object]] = ()) -> list[Example]:
    """Of commits of one kind those with the layout that the newest have; ``known`` are layouts that the kind has at all."""
    layouts = [layout(x) for x in examples]
    usual = Counter([x for x in layouts if not known or x in known][-15:]).most_common(1)[0][0]
    return [x for x, own in zip(examples, layouts, strict=True) if own == usual]


def outcome(program: Program, example: Example) -> str:
    """``right``; ``refused``: it raises with every value that the commit has; ``rider``: all that it changes the commit
    changes too, and more; ``wrong``: it makes another end."""
    found = bind(program, example)
    if found.args is not None:
        return "right"
    recorded = _changes(example)
    rider = any(_changes(replace(example, end=end)) <= recorded for end in found.others)
    return "rider" if rider else "wrong" if found.others else "refused"


def _changes(example: Example) -> set[object]:
    hunks = {(h.path, h.line, h.old, h.new) for h in hunks_of(0, example)}
    return hunks | {(p, example.end[p]) for p in example.created} | set(example.removed)


def study(corpus: Path, clones: Path, row: dict[str, Any]) -> dict[str, Any]:
    name = row["repo"].replace("/", "+")
    clone = clones / name
    if not clone.exists():
        subprocess.run(["git", "clone", "-q", "--bare", str(corpus / f"{name}.bundle"), str(clone)], check=True)
    repository = Repository(clone)
    odd = {o["sha"] for o in row["odd"]}
    found_all = [c for c, s in repository.subjects() if re.search(row["subject_regex"], s) and c not in odd]
    every = [repository.example(c) for c in found_all[-MOST:]]
    era = newest_era(every, {layout(repository.example(c["sha"])) for c in row["commits"]})
    half = max(3, len(era) // 2)
    training, new = era[:half][-MOST_TRAINING:], era[half:]
    read = time.monotonic()
    found = next(programs(training), None)
    took = time.monotonic() - read
    result: dict[str, Any] = {
        "kind": f"{row['repo'].split('/')[1]} {row['kind']}", "deterministic": row["deterministic"], "era": len(era),
        "train": len(training),
        "learned": found is not None, "seconds": round(took, 1),
    }  # fmt: skip
    if found is None:
        return result
    result["parameters"] = [f"{p.name}{'' if p.in_request else '*'}" for p in found.parameters]
    result["new"] = Counter(outcome(found, x) for x in new)
    first = every.index(training[0])
    result["others"] = Counter(outcome(found, x) for x in every[first:] if x not in era)
    result["odd"] = Counter(outcome(found, repository.example(c)) for c in sorted(odd))
    result["program"] = [describe(e) for e in found.edits]
    return result


def describe(edit: object) -> str:
    from synth.embedded.code import Code

    code = Code(depth=0)
    edit.emit(code)  # type: ignore[attr-defined]
    return "\n".join(code.lines)


def main(argv: Sequence[str]) -> None:
    if not argv:
        sys.exit("usage: python tests/study/states.py CORPUS [KIND ...] [--clones DIR]")
    corpus = Path(argv[0])
    rows = [json.loads(line) for line in (corpus / "kinds.jsonl").read_text().splitlines()]
    with tempfile.TemporaryDirectory() as scratch:
        clones = Path(argv[argv.index("--clones") + 1]) if "--clones" in argv else Path(scratch)
        wanted = [a for a in argv[1:] if not a.startswith("--") and a != str(clones)]
        for row in rows:
            if wanted and f"{row['repo'].split('/')[1]}/{row['kind']}" not in wanted:
                continue
            result = study(corpus, clones, row)
            program = result.pop("program", [])
            print(json.dumps(result, default=dict), flush=True)
            for line in program:
                print("      ", line.replace("\n", "\n       "))


if __name__ == "__main__":
    main(sys.argv[1:])
