"""What ``bench_sandbox`` measures the sandbox against: the bare host, other ways to use containers, other tools."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from floor import EMPTY

from sandbox.codec import tree_of
from sandbox.engine import Engine, run_script
from sandbox.guest import tree
from sandbox.interface import Snapshot

HERE = Path(__file__).parent
ROOT = "/dev/shm"

# ---------------------------------------------------------------- the floor: the same work, forked on the host


@lru_cache
def _as_entries(base: Snapshot) -> tuple[list[tree.WireEntry], dict[str, bytes]]:
    text, contents = tree_of(base)
    return [tree.WireEntry(*e) for e in json.loads(text)], contents


Run = Callable[[int, int], None]
"""Takes the number and the size of the workspace's files."""


@contextmanager
def line_server(command: list[str]) -> Iterator[tuple[Run, Callable[[], str]]]:
    """A program that serves runs over stdin and stdout, and how to read one more line from it. A run raises RuntimeError."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        ask, answers = child.stdin, child.stdout

        def run(count: int, size: int) -> None:
            ask.write(f"{count} {size}\n")
            if (said := answers.readline()) != "done\n":
                raise RuntimeError(said)

        yield run, answers.readline
        ask.close()


@contextmanager
def floor() -> Iterator[Run]:
    with line_server([sys.executable, str(HERE / "floor.py")]) as (run, _):
        yield run


# ---------------------------------------------------------------- other ways to use containers


@contextmanager
def host_directory() -> Iterator[str]:
    place = tempfile.mkdtemp(dir=ROOT)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def around(place: str, base: Snapshot, run: Callable[[], object]) -> None:
    """What a bind mount costs besides: the host copies the workspace in and reads it back."""
    entries, contents = _as_entries(base)
    tree.materialise(place, entries, contents.__getitem__)
    run()
    tree.Scan(place, {e.path: e for e in entries}, contents.get)
    tree.wipe(place)


NOTHING = ["python3", "-c", "print('{}')"]
SKILL = ["python3", "/skill/call.py"]
CALL = "import json, skill\n\nprint(json.dumps(skill.nothing()))\n"


def skill_files() -> dict[str, bytes]:
    """The same empty skill as a program of its own: the skill, its ``skill_api``, and three lines that call it."""
    api = (HERE.parents[1] / "sandbox" / "guest" / "skill_api.py").read_bytes()
    return {"call.py": CALL.encode(), "skill.py": EMPTY.encode(), "skill_api.py": api}


@contextmanager
def mounted() -> Iterator[tuple[str, dict[str, Any]]]:
    """A host directory for the workspace, and what to tell the engine: that one as /ws, the skill's files read-only as /skill."""
    with host_directory() as place, host_directory() as skill:
        for name, data in skill_files().items():
            (Path(skill) / name).write_bytes(data)
        volumes = {place: {"bind": "/ws", "mode": "rw"}, skill: {"bind": "/skill", "mode": "ro"}}
        yield place, {"network_mode": "none", "volumes": volumes, "working_dir": "/ws"}


@contextmanager
def warm_exec(engine: Engine, image: str, program: list[str]) -> Iterator[Callable[[Snapshot], None]]:
    with mounted() as (place, options):
        container = engine.client.containers.run(image, ["sleep", "3600"], detach=True, auto_remove=True, **options)
        try:
            yield lambda base: around(place, base, lambda: worked(*container.exec_run(program)))
        finally:
            engine.remove(str(container.id))


def worked(code: int | None, said: bytes) -> None:
    """Raises RuntimeError where the program did not run: a failure is fast, and would be measured as speed."""
    if code:
        raise RuntimeError(f"exit {code}: {said[-300:]!r}")


@contextmanager
def fresh_container(engine: Engine, image: str) -> Iterator[Callable[[Snapshot], None]]:
    with mounted() as (place, options):
        yield lambda base: around(place, base, lambda: engine.client.containers.run(image, SKILL, remove=True, **options))


@contextmanager
def fresh_by_archive(engine: Engine, image: str) -> Iterator[Callable[[Snapshot], None]]:
    """A fresh container with nothing mounted from the host, as ours: the workspace goes in and comes back through the engine."""

    def run(base: Snapshot) -> None:
        container = engine.client.containers.create(image, SKILL, network_mode="none", working_dir="/ws")
        try:
            container.put_archive("/", packed(base))
            container.start()
            worked(container.wait()["StatusCode"], b"")
            with tarfile.open(fileobj=io.BytesIO(b"".join(container.get_archive("/ws")[0]))) as found:
                for member in found:
                    if member.isfile() and (handle := found.extractfile(member)) is not None:
                        hashlib.sha256(handle.read()).digest()
        finally:
            container.remove(force=True)

    yield run


def packed(base: Snapshot) -> bytes:
    """The workspace as a tar that unpacks to /ws, with the skill's files below /skill."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, entry in base.items():
            info = tarfile.TarInfo(f"ws/{path}")
            info.size, info.mode = len(entry.content), entry.mode
            tar.addfile(info, io.BytesIO(entry.content))
        for name, data in skill_files().items():
            info = tarfile.TarInfo(f"skill/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


# ---------------------------------------------------------------- other tools


@contextmanager
def other_tool(python: str, tool: str, image: str) -> Iterator[Run | str]:
    """Runs of a tool that the interpreter ``python`` has, or why there can be none."""
    with line_server([python, str(HERE / "other_tools.py"), tool, image]) as (run, line):
        said = line().strip()
        if said == "ready":
            try:
                run(2, 100)
            except RuntimeError as error:
                said = str(error).strip()
        yield run if said == "ready" else said.removeprefix("cannot: ") or "it did not start"


@contextmanager
def image_for_others(engine: Engine, image: str, python: str) -> Iterator[str]:
    """The same image with SWE-ReX's server in it, and with a ``python``, as llm-sandbox wants. Removed afterwards.

    Raises:
        subprocess.CalledProcessError: its packages cannot be had for the image's Python.
    """
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    version = run_script(engine.client, image, f'python3 -c "{script}"').decode().strip()
    with tempfile.TemporaryDirectory() as place:
        command = [python, "-m", "pip", "install", "-q", "--target", place, "--only-binary=:all:", f"--python-version={version}"]
        subprocess.run([*command, "--constraint", str(HERE / "others.txt"), "swe-rex"], check=True, capture_output=True)
        packages = io.BytesIO()
        with tarfile.open(fileobj=packages, mode="w") as tar:
            tar.add(place, "opt/swe-rex")
            start = b'#!/bin/sh\nPYTHONPATH=/opt/swe-rex exec python3 -m swerex.server "$@"\n'
            info = tarfile.TarInfo("usr/local/bin/swerex-remote")
            info.size, info.mode = len(start), 0o755
            tar.addfile(info, io.BytesIO(start))
            link = tarfile.TarInfo("usr/local/bin/python")
            link.type, link.linkname = tarfile.SYMTYPE, "/usr/bin/python3"
            tar.addfile(link)
    container = engine.client.containers.create(image, ["true"])
    try:
        container.put_archive("/", packages.getvalue())
        made = container.commit("assay-bench-others", "latest", changes='CMD ["bash"]')
    finally:
        container.remove(force=True)
    try:
        yield "assay-bench-others:latest"
    finally:
        engine.client.images.remove(made.id, force=True)
