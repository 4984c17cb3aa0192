"""What is done after a turn, in a process of its own that no agent waits for and whose priority is the lowest."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from synth.store.tasks import Store

PACKAGES = Path(__file__).resolve().parents[2]
"""Where our packages are."""
_LOOK = "import sys; sys.path.insert(0, sys.argv[1]); from synth.hooks.moment import main; main(sys.argv[2])"
_COMMAND = "import sys; sys.path.insert(0, sys.argv.pop(1)); from synth.cli import main; main()"


def look_later(store: Store) -> None:
    """Begins to look whether a task was done often enough, and returns at once."""
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    words = [sys.executable, "-I", "-c", _LOOK, str(PACKAGES), str(store.root)]
    with suppress(OSError):
        os.posix_spawn(sys.executable, words, os.environ, file_actions=nowhere, setsid=True)


def assay(*words: str) -> list[str]:
    """The command line of ``assay`` as it is installed here, whatever the path says."""
    return [sys.executable, "-I", "-c", _COMMAND, str(PACKAGES), *words]


def yield_to_others() -> None:
    """From now on, anybody's work comes before this process's and its children's."""
    with suppress(OSError):
        os.nice(19)
