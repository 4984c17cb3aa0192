"""What a service of models is to the rest: one interface, one way to try again, the same sentences for the same failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import tenacity

from synth.llm.errors import ModelError, ModelRejected, ModelUnavailable
from synth.llm.exchange import Answer, Request
from synth.usage import Usage

MOST_S = 1_800.0
"""An answer that still comes after so long is none."""
LATER = "Try again later: answers so far are kept"
FEWER = "Crystallize fewer or shorter traces at a time"

T = TypeVar("T")


class Service(Protocol):
    """What answers requests: one of the SDKs' clients, or a fake."""

    @property
    def name(self) -> str:
        """As ``--generator`` names it."""
        ...

    def model(self, name: str | None) -> str:
        """The model to ask where ``name`` was chosen.

        Raises:
            ConfigError: none was, and there is no default.
        """
        ...

    def ask(self, request: Request) -> Answer:
        """The answer to one request.

        Raises:
            ModelUnavailable: rate limit, overload, time-out, no connection or no whole answer, after all retries.
            ModelRejected: the service refused the request.
            ConfigError: there is no key.
        """
        ...

    def count(self, request: Request) -> int | None:
        """The tokens that a request sends, never fewer; None where nobody can tell."""
        ...

    def submit(self, requests: Sequence[Request]) -> str:
        """Hands in requests as one batch, at half the price; its id.

        Raises: as ``ask``.
        """
        ...

    def collect(self, batch: str) -> Iterator[tuple[str, Answer | ModelError]]:
        """The answers of a batch, or why there is none, with the digests of their requests, once it has ended.

        Raises: as ``ask``.
        """
        ...


@dataclass(frozen=True, slots=True)
class Connection:
    """How a service is reached, and how often."""

    base_url: str | None = None
    """None = what the SDK's environment variable says, else the service's own."""
    timeout_s: float = 120.0
    """Of silence: answers come as streams, and a long one never pauses for so long."""
    retries: int = 8
    """Of a request that got no answer: about 40 s in all."""
    restarts: int = 2
    """Of an answer that broke off."""
    first_wait_s: float = 1.0
    """Before the first restart; doubled for each further one."""
    most_s: float = MOST_S


class Broken(Exception):
    """An answer that began, or should have, and did not come whole."""

    def __init__(self, what: str, spent: Usage) -> None:
        super().__init__(what)
        self.spent = spent


def until_whole(once: Callable[[], T], how: Connection, sleep: Callable[[float], None], lost: list[Usage]) -> T:
    """What ``once`` gives, asked for again where it breaks off.

    Args:
        lost: Gets what each broken answer cost.

    Raises:
        Broken: the last try was one too.
    """

    def noted(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, Broken):
            lost.append(error.spent)

    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(Broken), stop=tenacity.stop_after_attempt(how.restarts + 1), after=noted,
        wait=tenacity.wait_random_exponential(multiplier=how.first_wait_s, max=30.0), sleep=sleep, reraise=True,
    )  # fmt: skip
    return attempts(once)


def together(lost: Sequence[Usage]) -> Usage:
    """All of them, each as one request."""
    out = Usage()
    for u in lost:
        out = replace(
            out, input_tokens=out.input_tokens + u.input_tokens, output_tokens=out.output_tokens + u.output_tokens,
            cache_read_tokens=out.cache_read_tokens + u.cache_read_tokens,
            cache_write_tokens=out.cache_write_tokens + u.cache_write_tokens, requests=out.requests + 1,
        )  # fmt: skip
    return out


def no_message(content_type: str) -> str:
    kind = content_type.partition(";")[0] or "nothing"
    return f"it answered with {kind} instead of a message"


def unanswered(said: str) -> ModelUnavailable:
    """Nothing came, or nothing whole."""
    advice = "Look at the network and at llm.base_url, or try again later: answers so far are kept"
    return ModelUnavailable(f"the model's service gave no answer: {said}", advice)


def refused(status: int, said: str, advice: Mapping[int, str]) -> ModelError:
    """Our error for a status that is none of success.

    Args:
        advice: What to do about it, where one service knows better than all.
    """
    if status >= 500 or status in (408, 409, 429):
        quota = ", or look at the quota of the key" if status == 429 else ""
        return ModelUnavailable(f"the model's service gave no answer: {said}", f"{LATER}{quota}")
    known = {402: "Look at the credit of the account", 403: "Look at what the key may do", 413: FEWER, **advice}
    setting = "Look at what it said: the model may not know a setting (llm.effort, llm.thinking, llm.strict)"
    return ModelRejected(f"the model's service refused the request: {said}", known.get(status, setting))


def told(status: int, body: object) -> str:
    """What the body of an error says, in one line. ``status`` 200: within an answer that had begun."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    fields = inner if isinstance(inner, dict) else {}
    text = fields.get("message") or fields.get("detail") or (inner if isinstance(inner, str) else "")
    said = f"HTTP {status}" if status != 200 else "an error within the answer,"
    return line(f"{said} {fields.get('type') or ''}".strip() + (f": {text}" if text else ""))


def line(text: str) -> str:
    return " ".join(text.split())[:300]
