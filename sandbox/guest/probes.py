"""What this container can do, found out by trying it. Guest side."""

from __future__ import annotations

import json
import locale
import os
import platform
import shutil
from typing import Any

from sandbox.guest import procs, tree
from sandbox.guest.parents import NORMAL_PATH, Key, Parents
from sandbox.guest.reads import Reads
from sandbox.guest.run import Run

OTHER_LOCALES = ("en_US.UTF-8", "sv_SE.UTF-8", "de_DE.UTF-8")


def facts(parents: Parents, reads: Reads, workdirs: list[str]) -> dict[str, Any]:
    """Facts about the container, and per ability either an empty string or why it is missing."""
    able = {
        "readdir_order": _readdir_order(workdirs[0]),
        "supervise": _supervise(parents, reads, workdirs[0]),
        "lock": str(parents.get(Key("skill")).hello["unlocked"]),
        "hash_seed": _hash_seed(parents),
        "locale": "" if other_locale() else "the image has no locale with another collation",
        "workdir": "" if len(workdirs) > 1 else "the container has one workspace mount only",
        "nu": "" if shutil.which("nu", path=NORMAL_PATH) else "the image has no Nushell (nu)",
        "bash": "" if os.path.exists("/bin/bash") else "the image has no /bin/bash",
    }
    system = os.uname()
    return {"able": able, "python": platform.python_version(), "kernel": system.release, "machine": system.machine}


def _readdir_order(place: str) -> str:
    """Whether the order of creation decides the order of a listing."""
    seen = set()
    for order in ("sorted", "reversed"):
        os.seteuid(procs.JOB_ID)
        try:
            tree.materialise(place, [tree.WireEntry(f"n{i}", "dir", 0o755, "") for i in range(12)], lambda _: b"", order)
            seen.add(tuple(os.listdir(place)))
        finally:
            os.seteuid(0)
        tree.wipe(place)
    return "" if len(seen) == 2 else "the order of a directory listing does not follow the order of creation here"


def other_locale() -> str:
    """A locale that is there and sorts otherwise than C; empty where there is none."""
    words = ["a", "B", "b", "A"]
    for name in OTHER_LOCALES:
        try:
            locale.setlocale(locale.LC_COLLATE, name)
        except locale.Error:
            continue
        differs = sorted(words, key=locale.strxfrm) != sorted(words)
        locale.setlocale(locale.LC_COLLATE, "C")
        if differs:
            return name
    return ""


def _hash_seed(parents: Parents) -> str:
    hashes = {parents.get(Key("shell", hash_seed=seed)).hello["hash"] for seed in (0, 1)}
    return "" if len(hashes) == 2 else "PYTHONHASHSEED does not change the interpreter's hashes here"


def _supervise(parents: Parents, reads: Reads, place: str) -> str:
    """Whether a call of a supervised process is announced with its path."""
    spec = {
        "kind": "shell", "input": False, "commands": ["mkdir seen"], "workdir": place, "wall": 20.0, "kill_after": None,
        "output": 1000, "watch": {"classes": [], "fault": None, "reads": False}, "function": None, "trace": False, "umask": 0o022,
        "env": {"PATH": NORMAL_PATH, "HOME": place}, "cpus": None, "file_bytes": 1 << 20, "hash_seed": 0, "locale": "C.UTF-8",
        "cancel": None, "module": None,
    }  # fmt: skip
    run = Run(spec, [], parents, reads, ())
    try:
        run.perform()
    finally:
        run.kill()
        run.close()
        tree.wipe(place)
    for frames, _ in run.messages():
        for frame in frames:
            if failed := json.loads(frame).get("failed"):
                return str(failed)
    seen = run.supervisor.log if run.supervisor else []
    if any(call["kind"] == "mkdir" and call["path"] == f"{place}/seen" for call in seen):
        return ""
    return "the kernel announces no system calls to the sandbox"
