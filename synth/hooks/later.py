"""What is done after a turn, in a process of its own that no agent waits for and whose priority is the lowest."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from synth.store.tasks import Store

PACKAGES = Path(__file__).resolve().parents[2]
"""Where our packages are."""
_FIRST = "import os, sys; os.nice(19); os.chdir('/'); sys.path.insert(0, sys.argv[1])"
_LOOK = f"{_FIRST}; from synth.hooks.moment import main; main(sys.argv[2])"
_COMMAND = "import sys; sys.path.insert(0, sys.argv.pop(1)); from synth.cli import main; main()"


def look_later(store: Store, task: Path) -> None:
    """Begins to look whether a task was done often enough, and returns at once. One in which nothing was done is none."""
    if not any(e.get("event") in ("after", "unseen") for e in store.events(task)):
        return
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    words = [sys.executable, "-I", "-c", _LOOK, str(PACKAGES), str(store.root)]
    with suppress(OSError):
        os.posix_spawn(sys.executable, words, os.environ, file_actions=nowhere, setsid=True)


def assay(*words: str) -> list[str]:
    """The command line of ``assay`` as it is installed here, whatever the path says."""
    return [sys.executable, "-I", "-c", _COMMAND, str(PACKAGES), *words]


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Ends what takes longer, with a TimeoutError. Only for the main thread of a program of ours."""

    def too_long(signum: int, frame: object) -> None:
        raise TimeoutError(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
