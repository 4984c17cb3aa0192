"""The gate measures itself: every study, one after the other (``nox -s study``).

    python tests/study [--quick] [--only gate,heldout,mutants,stability,calibration,time,detection,reconstruct] [--write DIR]

Prints the tables as they are made. ``--write docs`` keeps them in ``docs/study.md`` with the reliability plot beside it. Exits 1
when a part measured nothing or missed a bar; every missed bar is named at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import calibration
import gate_study
import mutant_study
import stability_study
import time_study
from figures import Part
from labelled import open_bench
from page import PICTURE, keep

HERE = Path(__file__).parent


def script(name: str, title: str, quick: bool) -> Iterator[Part]:
    """A study that is a script of its own: its last lines, and whether it was content."""
    del quick
    done = subprocess.run([sys.executable, str(HERE / name)], stdout=subprocess.PIPE, text=True, check=False)
    last = "\n".join(done.stdout.splitlines()[-6:])
    yield Part(title, f"```\n{last}\n```", (f"{name} is not content",) if done.returncode else ())


def with_bench(part: Callable[..., Iterator[Part]], quick: bool, **more: Any) -> Iterator[Part]:
    with open_bench(workers=1) as bench:
        yield from part(bench, quick, **more)


def chosen(only: Sequence[str], quick: bool, where: Path | None) -> Iterator[tuple[str, Iterator[Part]]]:
    """The parts to run, by name, in order."""
    picture = where / PICTURE if where is not None else None
    every: dict[str, Callable[[], Iterator[Part]]] = {
        "detection": partial(script, "detection_study.py", "Are traces of one task found together?", quick),
        "time": partial(time_study.parts, quick),
        "gate": partial(with_bench, gate_study.parts, quick, folder="gate"),
        "heldout": partial(with_bench, gate_study.parts, quick, folder="heldout"),
        "mutants": partial(with_bench, mutant_study.parts, quick),
        "stability": partial(with_bench, stability_study.parts, quick),
        "calibration": partial(with_bench, calibration.parts, quick, picture=picture),
        "reconstruct": partial(script, "reconstruct_study.py", "How much evidence survives without snapshots?", quick),
    }
    unknown = set(only) - set(every)
    if unknown:
        raise SystemExit(f"no such part: {', '.join(sorted(unknown))}")
    for name, begin in every.items():
        if name in only or (not only and not (quick and name == "reconstruct")):
            yield name, begin()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a sample of everything, in about 20 minutes on two cores")
    parser.add_argument("--only", default="", help="parts, with commas between")
    parser.add_argument("--write", type=Path, default=None, metavar="DIR", help="keep tables and plot there")
    a = parser.parse_args()
    found: list[Part] = []
    for name, parts in chosen([x for x in a.only.split(",") if x], a.quick, a.write):
        before = len(found)
        started = time.monotonic()
        for part in parts:
            found.append(part)
            print(f"\n## {part.title}\n\n{part.text}\n", flush=True)
            if a.write is not None:
                keep(a.write, part, time.monotonic() - started)
        if len(found) == before:
            found.append(Part(name, "nothing ran", (f"{name}: nothing ran",)))
        print(f"({name}: {time.monotonic() - started:.0f} s)", flush=True)
    missed = [m for p in found for m in p.missed] + ([] if found else ["nothing ran"])
    print("\n".join(f"missed: {m}" for m in missed) or "every bar is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
