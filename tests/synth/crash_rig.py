"""Run as a program by ``test_registry_crash``: forks writers, kills them, fills the disk, and prints what was found as JSON."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import factories

from synth.interface import Draft
from synth.registry import Registry, RegistryUnusable, UnknownSkill, WrongState
from synth.route import RouteIndex


def numbered(number: int) -> Draft:
    name = f"skill_{number:05}"
    return replace(factories.draft(name, summary=f"Rename files in way number {number}."), name=name)


def write_for_ever(root: Path, start: int, acknowledge: int) -> None:
    """Registers, supersedes, archives and restores without end; each finished registration is said on the pipe."""
    registry = Registry(root)
    number = start
    os.write(acknowledge, b"ready -\n")
    while True:
        chosen = numbered(number)
        entry = registry.register(chosen, factories.report(chosen))
        os.write(acknowledge, f"{entry.name} {entry.version}\n".encode())
        changed = replace(chosen, skill_md=f"# {chosen.name}, second edition\n")
        registry.register(changed, factories.report(changed), supersedes=entry.name)
        try:
            registry.archive(entry.name)
            registry.restore(entry.name)
        except (UnknownSkill, WrongState) as e:
            os.write(acknowledge, f"wrong {e}\n".encode())
        number += 1


def kill(root: Path, times: int, seed: int) -> dict[str, object]:
    """Kills a writer at a random moment, ``times`` times, and looks at the registry each time."""
    chance = random.Random(seed)
    promised: dict[str, str] = {}
    problems: list[str] = []
    cleaned = 0
    a_while = cycle_s(root)
    for turn in range(times):
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read_end)
            write_for_ever(root, turn * 1000, write_end)
        os.close(write_end)
        said = os.read(read_end, 8)
        time.sleep(chance.uniform(0.0, a_while))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(read_end, "rb") as f:
            said += f.read()
        lines = [line.split() for line in said.decode().splitlines(keepends=True)[1:] if line.endswith("\n")]
        cleaned += any((root / "staging").iterdir())
        problems += [" ".join(words) for words in lines if words[0] == "wrong"]
        promised.update((words[0], words[1]) for words in lines if words[0] != "wrong")
        problems += look(root, promised, turn)
    return {"promised": len(promised), "problems": problems[:5], "cleaned": cleaned}


def cycle_s(root: Path) -> float:
    """How long a writer needs for one round on this machine, now."""
    began = time.monotonic()
    with Registry(root) as registry:
        for number in range(3):
            chosen = numbered(90_000 + number)
            registry.register(chosen, factories.report(chosen))
    return (time.monotonic() - began) / 3 * 4


def look(root: Path, promised: dict[str, str], turn: int) -> list[str]:
    """What is wrong with the registry after a kill."""
    found: list[str] = []
    with Registry(root) as registry:
        (checked,) = registry.database.read("PRAGMA integrity_check")[0]
        everything = registry.list(None)
        shown = {(e.name, e.version) for e in everything}
        active = {e.name for e in everything if e.status == "active"}
        found += [f"turn {turn}: database {checked}"] if checked != "ok" else []
        found += [
            f"turn {turn}: {name} was promised and is gone" for name, version in promised.items() if (name, version) not in shown
        ]
        found += [f"turn {turn}: {e.name} is half there" for e in everything if not registry.versions.intact(e.version)]
        found += [f"turn {turn}: {d} belongs to nothing" for d in registry.versions.unnamed()]
        found += [f"turn {turn}: {p.name} was left over" for p in (root / "staging").iterdir()]
        linked = {p.name for p in (root / "skills").iterdir()}
        found += [f"turn {turn}: links {sorted(linked ^ active)}"] if linked != active else []
        indexed = {r["name"] for r in registry.database.read("SELECT name FROM indexed")}
        found += [f"turn {turn}: index {sorted(indexed ^ active)}"] if indexed != active else []
    return found


def race(root: Path, each: int) -> dict[str, object]:
    """Two processes register skills of one name, and also the very same skills, at once."""
    children = []
    for who in range(2):
        child = os.fork()
        if child == 0:
            registry = Registry(root)
            for number in range(each):
                for chosen in (factories.draft(summary=f"Own {who} {number}."), numbered(number)):
                    registry.register(chosen, factories.report(chosen))
            os._exit(0)
        children.append(child)
    codes = [os.waitpid(child, 0)[1] for child in children]
    with Registry(root) as registry:
        everything = registry.list()
        intact = all(registry.versions.intact(e.version) for e in everything)
        return {
            "codes": codes,
            "names": len({e.name for e in everything}),
            "versions": len({e.version for e in everything}),
            "intact": intact,
        }


def full(root: Path, how: str) -> dict[str, object]:
    """Registers until the disk is full, then looks, routes, makes room and goes on."""
    if how == "tmpfs":
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", str(root)], check=True)
        (root / "filler").touch()
    else:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    home = root / "registry"
    done: dict[str, str] = {}
    refused = ""
    registry = Registry(home)
    for number in range(500):
        chosen = numbered(number)
        try:
            entry = registry.register(chosen, factories.report(chosen))
        except RegistryUnusable as e:
            refused = e.diagnostics()
            break
        done[entry.name] = entry.version
    shown_while_full = len(registry.list())
    registry.close()
    if how == "tmpfs":
        fill(root / "filler")
    with Registry(home) as again:
        reopened = {e.name: e.version for e in again.list()}
        intact = all(again.versions.intact(v) for v in reopened.values())
        routed = bool(RouteIndex(again).route("rename files"))
    if how == "tmpfs":
        (root / "filler").unlink()
        subprocess.run(["mount", "-o", "remount,size=4m", str(root)], check=True)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with Registry(home) as after:
        chosen = numbered(900)
        after.register(chosen, factories.report(chosen))
        final = {e.name for e in after.list()}
        unnamed = after.versions.unnamed()
    read_only = look_only(root, home) if how == "tmpfs" else len(final)
    return {
        "done": len(done),
        "refused": refused,
        "shown_while_full": shown_while_full,
        "lost": sorted(set(done) - set(reopened)),
        "extra": sorted(set(reopened) - set(done)),
        "intact": intact,
        "routed": routed,
        "final": len(final),
        "unnamed": unnamed,
        "read_only": read_only,
    }


def look_only(root: Path, home: Path) -> int:
    """How many skills are shown once nothing at all can be written, not even the files that SQLite shares."""
    subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
    with Registry(home) as registry:
        shown = len(registry.list())
        assert RouteIndex(registry).route("rename files")
        try:
            registry.archive(registry.list()[0].name)
        except OSError:
            return shown
    return 0


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as f:
        try:
            while True:
                f.write(b"x" * 4096)
        except OSError:
            return


if __name__ == "__main__":
    mode, where, amount = sys.argv[1:]
    base = Path(where)
    found = kill(base, int(amount), 4711) if mode == "kill" else race(base, int(amount)) if mode == "race" else full(base, amount)
    sys.stdout.write(json.dumps(found))
