"""The floor of ``bench_sandbox``: the same run on the bare host, without any sandbox.

Serves ``count size`` lines on stdin: a tmpfs copy of that workspace, a fork of this warm interpreter that calls the empty
skill, the same scan, the same wipe. Loads what a warm parent in the sandbox loads, and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path

HERE = Path(__file__).resolve().parents[2] / "sandbox"
EMPTY = "from skill_api import skill_command\n\n\n@skill_command\ndef nothing():\n    return {'ok': True}\n"


def content(index: int, size: int) -> bytes:
    """What file ``index`` of a made workspace holds."""
    return (f"{index:04}" * (size // 4 + 1)).encode()[:size]


def serve() -> None:
    package = types.ModuleType("sandbox")  # without its own imports, which would make every fork dearer
    package.__path__ = [str(HERE)]
    sys.modules["sandbox"] = package
    sys.path.insert(0, str(HERE / "guest"))
    from sandbox.guest import job, preload, private, tree

    preload.everything()
    trees: dict[str, tuple[list[tree.WireEntry], dict[str, bytes]]] = {}
    root = tempfile.mkdtemp(dir="/dev/shm")
    os.umask(0)

    def run(entries: list[tree.WireEntry], contents: dict[str, bytes]) -> None:
        tree.materialise(root, entries, contents.__getitem__)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.chdir(root)
            private.write_all(writing, private.frame(b"n" * 16, 0, job.perform(EMPTY, {}, None, False)))
            os._exit(0)
        os.close(writing)
        while os.read(reading, 1 << 16):
            continue
        os.close(reading)
        os.waitpid(pid, 0)
        tree.Scan(root, {e.path: e for e in entries}, contents.get)
        tree.wipe(root)

    try:
        for line in sys.stdin:
            if line not in trees:
                count, size = map(int, line.split())
                held = {hashlib.sha256(content(i, size)).hexdigest(): content(i, size) for i in range(count)}
                refs = [hashlib.sha256(content(i, size)).hexdigest() for i in range(count)]
                trees[line] = [tree.WireEntry(f"f{i:04}.txt", "file", 0o644, refs[i]) for i in range(count)], held
            run(*trees[line])
            sys.stdout.write("done\n")
            sys.stdout.flush()
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    serve()
