"""The first question of many patterns at once: side by side, or as one batch at half the price. What comes is kept on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from synth.files import write_atomic
from synth.llm.asking import Asker
from synth.llm.errors import ModelError, ModelRejected, ModelUnavailable
from synth.llm.exchange import Answer, Request

BATCH_SHARE = 0.5
"""Of the price. Source: the Message Batches page of the service, November 2026."""
PENDING = "batch.pending"
"""In the folder of answers: a batch that was handed in and not collected. A run that was killed goes on with it."""


def side_by_side(asker: Asker, requests: Sequence[Request], workers: int) -> int:
    """Asks what is not answered yet, ``workers`` at a time. What fails is asked again in its turn; what it cost is counted. An
    interrupt waits for the answers that are under way, and keeps them: they are paid for.

    Returns:
        How many were answered.
    """
    waiting = asker.affordable(requests)

    def ask(request: Request) -> Answer | ModelError:
        try:
            return asker.client.ask(request)
        except ModelError as e:
            return e

    asked: dict[Future[Answer | ModelError], Request] = {}
    ended: set[Future[Answer | ModelError]] = set()
    answered = 0
    with ThreadPoolExecutor(max(1, workers)) as pool:

        def keep(futures: Iterable[Future[Answer | ModelError]]) -> None:
            nonlocal answered
            for done in as_completed(futures):
                answered += _kept(asker, asked[done], done.result())
                ended.add(done)

        try:
            for request in waiting:
                asked[pool.submit(ask, request)] = request
            keep(asked)
        except KeyboardInterrupt:
            keep([f for f in asked if f not in ended and not f.cancel()])
            raise
    return answered


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
        for digest, outcome in asker.client.collect(batch):
            if digest in asked:
                answered += _kept(asker, asked.pop(digest), outcome, BATCH_SHARE)
    except ModelRejected:
        pending.unlink()  # the service does not have it any more
        raise
    pending.unlink()
    for request in asked.values():
        asker.failed_ahead(request, ModelUnavailable("the batch has no result of it"))
    return answered


def _kept(asker: Asker, request: Request, outcome: Answer | ModelError, share: float = 1.0) -> bool:
    """Whether it is an answer; what it cost is counted either way."""
    if isinstance(outcome, Answer):
        asker.answered_ahead(request, outcome, share)
        return True
    asker.failed_ahead(request, outcome)
    return False
