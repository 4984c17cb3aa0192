"""What this container can do, found out by trying it. Guest side."""

from __future__ import annotations

import os
import platform
import shutil
from typing import Any

from sandbox.guest import procs, tree
from sandbox.guest.parents import NORMAL_PATH


def all_probes(header: dict[str, Any], parent: dict[str, Any]) -> dict[str, Any]:
    """Facts about the container, and per ability either an empty string or why it is missing."""
    able = {
        "readdir_order": _readdir_order(header["workdirs"][0]),
        "workdir": "" if len(header["workdirs"]) > 1 else "the container has one workspace mount only",
        "nu": "" if shutil.which("nu", path=NORMAL_PATH) else "the image has no Nushell (nu)",
        "bash": "" if os.path.exists("/bin/bash") else "the image has no /bin/bash",
    }
    return {"able": able, "python": platform.python_version(), "kernel": os.uname().release, "machine": os.uname().machine,
            "hash": parent["hash"]}  # fmt: skip


def _readdir_order(place: str) -> str:
    """Whether the order of creation decides the order of a listing."""
    names = [f"n{i}" for i in range(12)]
    seen = set()
    for order in ("sorted", "reversed"):
        os.seteuid(procs.JOB_ID)
        try:
            tree.materialise(place, [tree.WireEntry(n, "dir", 0o755, "") for n in names], lambda _: b"", order)
            seen.add(tuple(os.listdir(place)))
        finally:
            os.seteuid(0)
        tree.wipe(place)
    return "" if len(seen) == 2 else "the order of a directory listing does not follow the order of creation here"
