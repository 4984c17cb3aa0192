"""What hooks start: ``python -I -S entry.py assay-hook --agent NAME --store DIR``, with one event on standard input, and shells.

With ``--spool`` nobody waits: what was put aside is taken in. A program of its own, without the command line's imports.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    # Packages of these names that stand before ours would be another distribution's: ours comes first.
    from synth.hooks.later import look_later
    from synth.hooks.spool import take_in
    from synth.store.tasks import Store

    words = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=False))
    store, agent = Store(Path(words.get("--store", "."))), words.get("--agent", "")
    if agent == "shell":
        from synth.hooks.typed import typed

        sys.stdout.write(typed(words, store))
    elif "--spool" in words:
        if os.getpgrp() != os.getpid():
            os.setsid()  # whatever becomes of the agent and its terminal
        take_in(store, lambda task: look_later(store, task))
    else:
        pid, data = words.get("--pid", ""), sys.stdin.buffer.read()
        sys.stdout.write(take_in(store, lambda task: look_later(store, task), agent, data, pid))
