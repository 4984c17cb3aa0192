"""Other tools that run code in containers, for ``bench_sandbox``: ``other_tools.py TOOL IMAGE``, run by a Python of their own.

Serves ``count size`` lines on stdin like ``floor.py``: that workspace goes into a warm container, an empty Python program runs
there, every file's content is read back (llm-sandbox) or hashed over there (SWE-ReX), and the workspace is removed. The first
line of the answer is ``ready``, or ``cannot: `` and why. Nothing here is a dependency of the product.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from floor import content

ROOT = "/dev/shm"
PROGRAM = "print('{}')"
Run = Callable[[Path], None]


@contextlib.contextmanager
def llm_sandbox(image: str) -> Iterator[Run]:
    """One session kept open; its network is switched off, the rest is as it comes."""
    import docker.errors
    from llm_sandbox import SandboxSession

    def run(files: Path) -> None:
        session.copy_to_runtime(str(files), "/ws")
        if session.run(PROGRAM).exit_code:
            raise RuntimeError("the program failed")
        with tempfile.TemporaryDirectory(dir=ROOT) as back:
            session.copy_from_runtime("/ws", back)
            found = [hashlib.sha256(p.read_bytes()).digest() for p in Path(back).rglob("*.txt")]
        if len(found) != len(list(files.iterdir())):
            raise RuntimeError(f"{len(found)} files came back")
        session.execute_command("rm -rf /ws")

    options: dict[str, Any] = {"skip_environment_setup": True, "runtime_configs": {"network_mode": "none"}}
    session = SandboxSession(lang="python", image=image, **options)
    session.open()
    try:
        yield run
    finally:
        with contextlib.suppress(docker.errors.APIError):  # it has ended already
            session.container.kill()  # its own close would wait 10 s for a shell that does not listen
        session.close()


@contextlib.contextmanager
def swe_rex(image: str) -> Iterator[Run]:
    """Its server in a container of an image that holds it (``bench_sandbox`` makes that one)."""
    from swerex.deployment.docker import DockerDeployment
    from swerex.runtime.abstract import Command, UploadRequest

    loop = asyncio.new_event_loop()
    deployment = DockerDeployment(image=image, pull="never", startup_timeout=60.0, logger=logging.getLogger("quiet"))
    script = f'cd /ws && python3 -c "{PROGRAM}" && sha256sum * | wc -l; cd / && rm -rf /ws'

    async def once(files: Path) -> str:
        await deployment.runtime.upload(UploadRequest(source_path=str(files), target_path="/ws"))
        return (await deployment.runtime.execute(Command(command=script, shell=True))).stdout

    def run(files: Path) -> None:
        said = loop.run_until_complete(once(files))
        if said.split() != ["{}", str(len(list(files.iterdir())))]:
            raise RuntimeError(f"it said {said[:200]!r}")

    loop.run_until_complete(deployment.start())
    try:
        yield run
    finally:
        loop.run_until_complete(deployment.stop())
        loop.close()


TOOLS = {"llm-sandbox": llm_sandbox, "swe-rex": swe_rex}


def serve(run: Run, answers: TextIO) -> None:
    """Until stdin ends. The files lie ready on the host, which is in these tools' favour."""
    with tempfile.TemporaryDirectory(dir=ROOT) as place:
        for line in sys.stdin:
            count, size = map(int, line.split())
            files = Path(place) / f"{count}x{size}"
            if not files.exists():
                files.mkdir()
                for index in range(count):
                    (files / f"f{index:04}.txt").write_bytes(content(index, size))
            run(files)
            answers.write("done\n")
            answers.flush()


def main() -> None:
    answers = sys.stdout
    sys.stdout = sys.stderr  # these tools print
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.ExitStack() as stack:
            run = stack.enter_context(TOOLS[sys.argv[1]](sys.argv[2]))
            answers.write("ready\n")
            answers.flush()
            serve(run, answers)
    except Exception as error:  # noqa: BLE001 - whatever another tool raises is why it is not measured
        answers.write(f"cannot: {type(error).__name__}: {' '.join(str(error).split())[:200]}\n")
        answers.flush()


if __name__ == "__main__":
    main()
