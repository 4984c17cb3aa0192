"""The first question of many patterns at once: side by side, or as one batch at half the price. What comes is kept on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from synth.files import write_atomic
from synth.llm.asking import Asker
from synth.llm.errors import ModelError, ModelRejected
from synth.llm.exchange import Answer, Request

BATCH_SHARE = 0.5
"""Of the price. Source: the Message Batches page of the service, November 2026."""
PENDING = "batch.pending"
"""In the folder of answers: a batch that was handed in and not collected. A run that was killed goes on with it."""


def side_by_side(asker: Asker, requests: Sequence[Request], workers: int) -> int:
    """Asks what is not answered yet, ``workers`` at a time. What fails is asked again in its turn. An interrupt waits for the
    answers that are under way, and keeps them: they are paid for.

    Returns:
        How many were answered.
    """
    waiting = asker.affordable(requests)

    def ask(request: Request) -> Answer | None:
        try:
            return asker.client.ask(request)
        except ModelError:
            return None

    kept: set[Future[Answer | None]] = set()
    with ThreadPoolExecutor(max(1, workers)) as pool:
        asked = {pool.submit(ask, request): request for request in waiting}

        def keep(futures: Iterable[Future[Answer | None]]) -> None:
            for done in as_completed(futures):
                answer = done.result()
                if answer is not None:
                    asker.answered_ahead(asked[done], answer)
                    kept.add(done)

        try:
            keep(asked)
        except KeyboardInterrupt:
            keep([f for f in asked if f not in kept and not f.cancel()])
            raise
    return len(kept)


def batched(asker: Asker, requests: Sequence[Request]) -> int:
    """Hands in what is not answered yet as one batch, and waits for it: up to a day. A pending one is collected first.

    Returns:
        How many were answered.

    Raises:
        ModelError: the service did not take it or does not give it out.
    """
    folder = asker.settings.cache
    if folder is None:
        return 0
    pending = folder / PENDING
    answered = _collected(asker, pending) if pending.is_file() else 0
    waiting = asker.affordable(requests)
    if not waiting:
        return answered
    document = {"id": asker.client.submit(waiting), "requests": [asdict(r) for r in waiting]}
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(pending, json.dumps(document).encode(), 0o600)
    return answered + _collected(asker, pending)


def _collected(asker: Asker, pending: Path) -> int:
    try:
        document = json.loads(pending.read_text(encoding="utf-8"))
        asked = {r.digest: r for r in (Request(**row) for row in document["requests"])}
        batch = str(document["id"])
    except (OSError, ValueError, KeyError, TypeError):
        pending.unlink(missing_ok=True)
        return 0
    answered = 0
    try:
        for digest, answer in asker.client.collect(batch):
            if digest in asked:
                asker.answered_ahead(asked[digest], answer, BATCH_SHARE)
                answered += 1
    except ModelRejected:
        pending.unlink()  # the service does not have it any more
        raise
    pending.unlink()
    return answered
