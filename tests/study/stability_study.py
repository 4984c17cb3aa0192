"""Does the same skill always get the same report? Twenty times over, with one and two workers, after a restart of the engine, on
another day's clock.

    python tests/study/stability_study.py [--quick] [--times N] [--write docs]

Whole reports are compared, byte for byte, without their durations. The engine that is restarted is a private one (root and
``dockerd`` are needed), never the machine's. Another day's clock is a small library (``shifted_clock.c``, compiled here) that is
loaded into the judge's own process and, through ``/etc/ld.so.preload`` of an image made for it, into those of the sandbox.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from figures import Part, table
from labelled import DYNAMIC, Bench, Label, load_labels, open_bench
from page import keep

from sandbox.image_store import open_images
from sandbox.interface import RunRequest, SandboxError, ShellJob, Snapshot
from verifiers.formats.json_report import dump, report_to_json, without_times
from verifiers.interface import Budget
from verifiers.verify import Options

sys.path.append(str(Path(__file__).parents[1] / "sandbox"))
from private_engine import PrivateEngine  # the tests' own daemon; its folder is not on the path of a script

AGAIN = 20
DAYS = 401
"""How far the other day is."""
QUICK = "pub_rename_ext"
CLOCK = Path(__file__).with_name("shifted_clock.c")

Reports = dict[str, str]
"""Path of a skill -> its report as JSON, without durations."""


def sample(quick: bool) -> list[Label]:
    """The good skills and one faulty skill of each fault; for a quick study one good one and two faulty ones."""
    labels = load_labels()
    good = [x for x in labels if x.good]
    bad = sorted({x.fault: x for x in reversed(labels) if not x.good}.values(), key=lambda x: x.fault)
    if not quick:
        return [*good, *bad]
    return [*[x for x in good if x.family == QUICK], *[x for x in bad if x.fault in ("not_idempotent", "wrong_effect")]]


def reports(bench: Bench, labels: Sequence[Label], budget: Budget, workers: int = 1) -> Reports:
    """Judges anew: nothing is remembered from before."""
    out = {}
    for label in labels:
        options = Options(checks=DYNAMIC, budget=budget, workers=workers, memory={})
        out[label.path] = dump(without_times(report_to_json(bench.judge(label, options).report)))
    return out


def differing(a: Reports, b: Reports) -> tuple[int, list[str]]:
    """How many verdicts differ, and where reports do: path and the first line that is not the same."""
    flips, places = 0, []
    for path in a:
        flips += json.loads(a[path])["verdict"] != json.loads(b[path])["verdict"]
        if a[path] != b[path]:
            pairs = zip(a[path].splitlines(), b[path].splitlines(), strict=False)
            first = next(((x.strip(), y.strip()) for x, y in pairs if x != y), ("one is longer", ""))
            places.append(f"{path}: {first[0][:160]} / {first[1][:160]}")
    return flips, places


# ---------------------------------------------------------------- other engines, other days


@contextmanager
def private_engine(tag: str) -> Iterator[PrivateEngine]:
    """An engine of our own that holds the image."""
    with tempfile.TemporaryDirectory(prefix="assay-study-") as folder:
        engine = PrivateEngine(Path(folder))
        try:
            engine.start()
            engine.load(tag)
            yield engine
        finally:
            engine.destroy()


def compile_clock(folder: Path) -> Path:
    """The library that sets every clock of a process ``DAYS`` ahead."""
    library = folder / "shifted_clock.so"
    flags = ["-shared", "-fPIC", "-O2", f"-DSHIFT_S={DAYS * 86400}"]
    subprocess.run(["cc", *flags, "-o", str(library), str(CLOCK)], check=True)
    return library


def shift_image(host: str, tag: str, library: Path) -> None:
    """Replaces the image of a private engine by one in which every process lives on another day; name and labels stay."""
    with tempfile.NamedTemporaryFile(suffix=".tar") as context:
        with tarfile.open(context.name, "w") as tar:
            dockerfile = f"FROM {tag}\nCOPY shifted_clock.so /usr/lib/shifted_clock.so\nCOPY preload /etc/ld.so.preload\n"
            _add(tar, "Dockerfile", dockerfile.encode())
            _add(tar, "shifted_clock.so", library.read_bytes(), 0o755)
            _add(tar, "preload", b"/usr/lib/shifted_clock.so\n")
        with open_images(host) as store:
            store.build(Path(context.name), tag, lambda _: None)


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    tar.addfile(info, io.BytesIO(data))


def on_another_day(host: str, library: Path, budget: Budget, labels: Sequence[Label]) -> tuple[Reports, list[str]]:
    """The reports of a judge that runs on another day, and the days that it and its sandbox saw."""
    command = [sys.executable, __file__, "--emit", "--host", host, "--budget", budget, *[f"--skill={x.path}" for x in labels]]
    env = {**os.environ, "LD_PRELOAD": str(library)}
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    return found["reports"], found["days"]


def elsewhere(tag: str, labels: Sequence[Label], budget: Budget) -> Iterator[tuple[str, Reports, str]]:
    """The reports of another engine, of that one after a restart, and of another day.

    Raises:
        SandboxError: the private engine cannot be started.
        OSError: there is no C compiler, or the clock could not be shifted.
    """
    with private_engine(tag) as engine, tempfile.TemporaryDirectory(prefix="assay-clock-") as folder:
        with open_bench(host=engine.host, workers=1) as other:
            yield "another engine", reports(other, labels, budget), "a private dockerd"
        engine.stop()
        engine.start()
        with open_bench(host=engine.host, workers=1) as other:
            yield "after its restart", reports(other, labels, budget), ""
        library = compile_clock(Path(folder))
        shift_image(engine.host, tag, library)
        found, days = on_another_day(engine.host, library, budget, labels)
        today = time.strftime("%Y-%m-%d")
        if today in days:
            raise OSError(f"the clock was not shifted: judge and sandbox saw {days}, today is {today}")
        yield "another day", found, f"judge on {days[0]}, sandbox on {days[1]}, today {today}"


def emit(host: str, budget: Budget, paths: Sequence[str]) -> int:
    """What ``on_another_day`` reads."""
    labels = [x for x in load_labels() if x.path in paths]
    with open_bench(host=host, workers=1) as bench:
        with bench.sandbox.session("day") as session:
            day = session.run(RunRequest(ShellJob(("date +%F",)), Snapshot({}))).steps[0].stdout.decode().strip()
        found = {"days": [time.strftime("%Y-%m-%d"), day], "reports": reports(bench, labels, budget)}
    print(json.dumps(found))
    return 0


# ---------------------------------------------------------------- the part


@dataclass
class Comparison:
    """Reports of one sample under several circumstances against the first ones."""

    first: Reports
    rows: list[list[object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)

    def add(self, what: str, other: Reports, note: str = "") -> None:
        flips, places = differing(self.first, other)
        print(f"{what}: {len(other)} skills, {flips} flips, {len(places)} reports differ", flush=True)
        self.rows.append([what, len(other), flips, len(places), note])
        self.notes += [f"{what}: {place}" for place in places]
        if flips or places or not other:
            self.bad.append(f"{what}: {flips} verdicts and {len(places)} reports of {len(other)} differ")

    def part(self, title: str, head: str) -> Part:
        text = table(("circumstance", "reports", "verdicts that flipped", "reports that differ", "note"), self.rows)
        return Part(title, "\n".join([f"{head}\n", text, "", *[f"* {note}" for note in self.notes[:20]]]), tuple(self.bad))


def parts(bench: Bench, quick: bool, times: int = AGAIN) -> Iterator[Part]:
    """How often reports differed, under each circumstance. ``times`` 0: only elsewhere."""
    budget: Budget = "fast" if quick else "standard"
    labels = sample(quick)
    first = reports(bench, labels, budget)
    good = sum(x.good for x in labels)
    head = f"{good} good and {len(labels) - good} faulty skills, budget {budget}, whole reports compared without durations."
    here, there = Comparison(first), Comparison(first)
    if times:
        for n in range(1, times + 1):
            here.add(f"again, {n}", reports(bench, labels, budget))
        here.rows[:] = [_summed("the same again", here.rows, times)]
        with open_bench(workers=2) as wider:
            here.add("two workers", reports(wider, labels, budget, workers=2))
        yield here.part("The same skill, the same report", head)
    try:
        for what, other, note in elsewhere(bench.sandbox.info.image, labels, budget):
            there.add(what, other, note)
    except (SandboxError, OSError) as error:  # no root, no dockerd, no compiler: a part that did not run is a bar missed
        there.bad.append(f"restart or clock not measured: {error}")
    yield there.part("The same report elsewhere: another engine, after a restart, on another day", head)


def _summed(what: str, rows: Sequence[Sequence[object]], times: int) -> list[object]:
    """One row for all repetitions."""
    numbers = [sum(int(str(row[column])) for row in rows) for column in (1, 2, 3)]
    return [what, *numbers, f"{times} times"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--times", type=int, default=AGAIN)
    parser.add_argument("--write", type=Path, default=None, metavar="DIR", help="keep the tables there")
    parser.add_argument("--emit", action="store_true", help="print reports as JSON, for the part about the clock")
    parser.add_argument("--host", default=None)
    parser.add_argument("--budget", default="fast")
    parser.add_argument("--skill", action="append", default=[])
    a = parser.parse_args()
    if a.emit:
        return emit(a.host, a.budget, a.skill)
    began = time.monotonic()
    with open_bench(workers=1) as bench:
        found = list(parts(bench, a.quick, a.times))
    for part in found:
        print(part.text)
        if a.write:
            keep(a.write, part, time.monotonic() - began)
        for sentence in part.missed:
            print(f"missed: {sentence}")
    return 1 if not found or any(p.missed for p in found) else 0


if __name__ == "__main__":
    sys.exit(main())
