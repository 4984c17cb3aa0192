"""Long work off the event loop, which can be watched and cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Step = Callable[[str], None]
T = TypeVar("T")


class Cancelled(Exception):
    """Work was asked to end. Raised where it says its next step, so that everything opened is closed on the way out."""


async def off_the_loop(work: Callable[[Step], T], progress: Step | None = None) -> T:
    """Runs ``work`` in a thread and returns what it returns.

    Args:
        work: Calls what it is given with one line for each of its steps.
        progress: Hears these lines, in that thread.

    Raises:
        asyncio.CancelledError: the awaiting task was cancelled; ``work`` has ended by then.
    """
    stop = threading.Event()

    def step(text: str) -> None:
        if stop.is_set():
            raise Cancelled(text)
        if progress is not None:
            progress(text)

    running = asyncio.ensure_future(asyncio.to_thread(work, step))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        with suppress(Cancelled):
            await running
        raise
