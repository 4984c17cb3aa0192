"""The one module that talks to the Messages API through the ``anthropic`` SDK. Its exceptions end here.

The SDK repeats what fails before an answer begins (429, 5xx, no connection) and obeys ``retry-after``. An answer that begins and
does not come whole is repeated here, and what it cost is counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import tenacity

from synth.claude.errors import ModelError, ModelRejected, ModelUnavailable
from synth.claude.exchange import Answer, Request
from synth.claude.tools import tools
from synth.usage import Usage
from verifiers.interface import ConfigError

if TYPE_CHECKING:
    from anthropic.types import Message

MODEL = "claude-sonnet-5-5"
"""Where neither the command line, the configuration nor ANTHROPIC_MODEL names one."""
COUNT_TIMEOUT_S = 20.0
NO_KEY = ("the anthropic generator has no key", "Set ANTHROPIC_API_KEY, or use --generator embedded")
MOST_S = 1_800.0
"""An answer that still comes after so long is none."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How the service is reached, and how often."""

    base_url: str | None = None
    """None = ANTHROPIC_BASE_URL, else the service's own."""
    timeout_s: float = 120.0
    """Of silence: answers come as streams, and a long one never pauses for so long."""
    retries: int = 8
    """Of a request that got no answer: about 40 s in all."""
    restarts: int = 2
    """Of an answer that broke off."""
    first_wait_s: float = 1.0
    """Before the first restart; doubled for each further one."""
    most_s: float = MOST_S


class _Broken(Exception):
    """An answer that began, or should have, and did not come whole."""

    def __init__(self, what: str, spent: Usage) -> None:
        super().__init__(what)
        self.spent = spent


class Client:
    """Messages of one service. The key comes from the SDK's own environment variables.

    Args:
        sleep: Instead of really waiting between restarts, for tests.
    """

    def __init__(self, connection: Connection = Connection(), sleep: Callable[[float], None] | None = None) -> None:
        self.connection = connection
        self.sleep = sleep or tenacity.nap.sleep

    def ask(self, request: Request) -> Answer:
        """The answer to one request.

        Raises:
            ModelUnavailable: rate limit, overload, time-out, no connection or no whole answer, after all retries.
            ModelRejected: the service refused the request.
            ConfigError: there is no key.
        """
        lost: list[Usage] = []

        def noted(state: tenacity.RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome is not None else None
            if isinstance(error, _Broken):
                lost.append(error.spent)

        how = self.connection
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Broken), stop=tenacity.stop_after_attempt(how.restarts + 1), after=noted,
            wait=tenacity.wait_random_exponential(multiplier=how.first_wait_s, max=30.0), sleep=self.sleep, reraise=True,
        )  # fmt: skip
        try:
            with self._sdk() as sdk:
                message, retries = attempts(lambda: self._once(sdk, request))
        except (_Broken, anthropic.AnthropicError, httpx2.HTTPError) as e:
            error = translated(e, request.model)
            if isinstance(error, ModelError):
                error.spent = _together(lost)
            raise error from e
        return _answer(message, _together(lost), retries + len(lost), len(lost) + 1)

    def submit(self, requests: Sequence[Request]) -> str:
        """Hands in requests as one batch, at half the price; its id.

        Raises: as ``ask``.
        """
        rows: Any = [{"custom_id": r.digest, "params": _parameters(r)} for r in requests]
        return str(self._called(lambda sdk: sdk.messages.batches.create(requests=rows).id))

    def collect(self, batch: str) -> Iterator[tuple[str, Answer]]:
        """The answers of a batch, with the digests of their requests, once it has ended. What failed is left out.

        Raises: as ``ask``.
        """
        pause_s = 1.0
        while self._called(lambda sdk: sdk.messages.batches.retrieve(batch).processing_status) != "ended":
            self.sleep(pause_s)
            pause_s = min(2 * pause_s, 60.0)
        for row in self._called(lambda sdk: list(sdk.messages.batches.results(batch))):
            if row.result.type == "succeeded":
                yield row.custom_id, _answer(row.result.message, Usage(), 0, 1)

    def _called(self, what: Callable[[anthropic.Anthropic], Any]) -> Any:
        try:
            with self._sdk() as sdk:
                return what(sdk)
        except (anthropic.AnthropicError, httpx2.HTTPError) as e:
            raise translated(e) from e
        except TypeError as e:
            raise ConfigError(*NO_KEY) from e

    def count(self, request: Request) -> int | None:
        """The tokens that a request sends, as the service counts them; None where it does not tell."""
        given = {k: v for k, v in _parameters(request).items() if k not in ("max_tokens",)}
        try:
            with self._sdk() as sdk:
                counted = sdk.with_options(max_retries=0, timeout=COUNT_TIMEOUT_S).messages.count_tokens(**given).input_tokens
        except (anthropic.AnthropicError, httpx2.HTTPError, TypeError, ValueError, AttributeError):
            return None
        return counted if isinstance(counted, int) and counted > 0 else None

    def _sdk(self) -> anthropic.Anthropic:
        """The SDK's client.

        Raises:
            ConfigError: there is no key, or the address is none.
        """
        how = self.connection
        try:
            sdk = anthropic.Anthropic(max_retries=how.retries, timeout=how.timeout_s, base_url=how.base_url)
        except (anthropic.AnthropicError, httpx2.InvalidURL, ValueError) as e:
            raise ConfigError(
                f"the model's service cannot be addressed: {e}", "Look at llm.base_url and ANTHROPIC_BASE_URL"
            ) from e
        return sdk

    def _once(self, sdk: anthropic.Anthropic, request: Request) -> tuple[Message, int]:
        """One whole streamed message, and how often the SDK tried. Raises _Broken where it does not come whole."""
        opened = sdk.messages.stream(**_parameters(request))
        try:
            stream = opened.__enter__()
        except TypeError as e:
            # What the SDK raises where it finds no credentials.
            raise ConfigError(*NO_KEY) from e
        message: Message | None = None
        ends = time.monotonic() + self.connection.most_s
        try:
            for _ in stream:
                message = stream.current_message_snapshot
                if time.monotonic() > ends:
                    raise _Broken(f"the answer took longer than {self.connection.most_s:g} s", _spent(message))
            tries = int(stream.response.request.headers.get("x-stainless-retry-count", "0"))
        except anthropic.APIStatusError as e:
            if e.status_code == 200:  # the stream itself told of an error
                raise _Broken(_said(e), _spent(message)) from e
            raise
        except (httpx2.HTTPError, anthropic.APIConnectionError) as e:
            raise _Broken(f"the answer broke off ({_said(e)})", _spent(message)) from e
        except (AssertionError, AttributeError, TypeError, LookupError, ValueError, RuntimeError, anthropic.APIError) as e:
            raise _Broken(_no_message(stream.response), _spent(message)) from e
        finally:
            opened.__exit__(None, None, None)
        if message is None:
            raise _Broken(_no_message(stream.response), Usage())
        if not message.stop_reason:
            raise _Broken("the answer broke off", _spent(message))
        return message, tries


def _no_message(response: httpx2.Response) -> str:
    kind = response.headers.get("content-type", "").partition(";")[0] or "nothing"
    return f"it answered with {kind} instead of a message"


def translated(error: BaseException, model: str = "") -> ModelError | ConfigError:
    """Our error for one of the SDK's: what the service said, and what to do. Nothing in it holds a key."""
    if isinstance(error, anthropic.APIStatusError) and error.status_code != 200:
        return _refused(error, model)
    what = f"the model's service gave no answer: {_said(error)}"
    return ModelUnavailable(what, "Look at the network and at llm.base_url, or try again later: answers so far are kept")


def _refused(error: anthropic.APIStatusError, model: str) -> ModelError:
    status = error.status_code
    if status >= 500 or status in (408, 409, 429):
        what = f"the model's service gave no answer: {_said(error)}"
        advice = "Try again later: answers so far are kept" + (", or look at the quota of the key" if status == 429 else "")
        return ModelUnavailable(what, advice)
    advice = {
        401: "Set ANTHROPIC_API_KEY to a valid key",
        402: "Look at the credit of the account",
        403: "Look at what the key may do",
        404: f"Look at the model's name ({model}) and at llm.base_url",
        413: "Crystallize fewer or shorter traces at a time",
    }.get(status, "Look at what it said: the model may not know a setting (llm.effort, llm.thinking, llm.strict)")
    return ModelRejected(f"the model's service refused the request: {_said(error)}", advice)


def _said(error: BaseException) -> str:
    """What an error says, in one line."""
    if isinstance(error, anthropic.APIStatusError):
        body = error.body
        inner = body.get("error") if isinstance(body, dict) else None
        fields = inner if isinstance(inner, dict) else {}
        text = fields.get("message") or (body if isinstance(body, str) else "")
        status = f"HTTP {error.status_code}" if error.status_code != 200 else "an error within the answer,"
        return _line(f"{status} {fields.get('type', '')}".strip() + (f": {text}" if text else ""))
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
        return "it timed out"
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else None
    return _line(str(cause or error) or type(error).__name__)


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def _parameters(request: Request) -> dict[str, Any]:
    cached = {"cache_control": {"type": "ephemeral"}}
    content = [{"type": "text", "text": request.evidence, **cached}, {"type": "text", "text": request.instruction}]
    given: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_output_tokens,
        "system": [{"type": "text", "text": request.system, **cached}],
        "messages": [{"role": "user", "content": content}],
        "tools": tools(request.purpose, request.strict),
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    }
    if request.thinking is not None:
        given["thinking"] = {"type": request.thinking}
    if request.effort is not None:
        given["output_config"] = {"effort": request.effort}
    return given


def _spent(message: Message | None) -> Usage:
    """What an answer cost so far, as far as it told."""
    usage = getattr(message, "usage", None)

    def number(name: str, of: object = usage) -> int:
        value = getattr(of, name, None)
        return value if isinstance(value, int) else 0

    return Usage(
        number("input_tokens"), number("output_tokens"), number("cache_read_input_tokens"), number("cache_creation_input_tokens"),
        number("thinking_tokens", getattr(usage, "output_tokens_details", None)),
    )  # fmt: skip


def _together(lost: list[Usage]) -> Usage:
    out = Usage()
    for u in lost:
        out = replace(
            out, input_tokens=out.input_tokens + u.input_tokens, output_tokens=out.output_tokens + u.output_tokens,
            cache_read_tokens=out.cache_read_tokens + u.cache_read_tokens,
            cache_write_tokens=out.cache_write_tokens + u.cache_write_tokens, requests=out.requests + 1,
        )  # fmt: skip
    return out


def _answer(message: Message, lost: Usage, retries: int, requests: int) -> Answer:
    calls = [block for block in message.content if block.type == "tool_use"]
    texts = [block.text for block in message.content if block.type == "text"]
    details = getattr(message, "stop_details", None)
    explained = getattr(details, "explanation", None) or getattr(details, "category", None)
    used = _spent(message)
    fields = calls[0].input if calls else None
    return Answer(
        stop_reason=message.stop_reason or "",
        tool=calls[0].name if calls else None,
        input=dict(fields) if isinstance(fields, dict) else None,
        text="\n".join([*texts, *([str(explained)] if explained else [])]),
        input_tokens=used.input_tokens + lost.input_tokens,
        output_tokens=used.output_tokens + lost.output_tokens,
        cache_read_tokens=used.cache_read_tokens + lost.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens + lost.cache_write_tokens,
        calls=len(calls),
        retries=retries,
        thinking_tokens=used.thinking_tokens,
        requests=requests,
    )


def chosen_model(name: str | None) -> str:
    """The model to ask: as given, else ANTHROPIC_MODEL, else ours."""
    return name or os.environ.get("ANTHROPIC_MODEL") or MODEL
