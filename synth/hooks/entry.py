"""What agents run: ``python -I -S entry.py assay-hook --agent NAME --store DIR``, with one event on standard input, and shells.

A program of its own, without ``site`` and the command line's imports: it is started several times a turn.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    # Packages of these names that stand before ours would be another distribution's: ours comes first.
    from synth.hooks.later import look_later
    from synth.hooks.receive import receive
    from synth.store.tasks import Store

    words = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=False))
    store, agent = Store(Path(words.get("--store", "."))), words.get("--agent", "")
    if agent == "shell":
        from synth.hooks.typed import typed

        sys.stdout.write(typed(words, store))
    else:
        sys.stdout.write(receive(agent, sys.stdin.buffer.read(), store, lambda task: look_later(store, task)))
