"""The one module that talks to the Messages API through the ``anthropic`` SDK. Its exceptions end here.

The SDK repeats what fails before an answer begins (429, 5xx, no connection) and obeys ``retry-after``. An answer that begins and
does not come whole is repeated here, and what it cost is counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import anthropic
import httpx2
import tenacity

from synth.llm.errors import ModelError, ModelUnavailable
from synth.llm.exchange import Answer, Request
from synth.llm.service import Broken, Connection, line, no_message, refused, together, told, unanswered, until_whole
from synth.llm.tools import tools
from synth.usage import Usage
from verifiers.interface import ConfigError

if TYPE_CHECKING:
    from anthropic.types import Message

MODEL = "claude-sonnet-5-5"
"""Where neither the command line, the configuration nor ANTHROPIC_MODEL names one."""
COUNT_TIMEOUT_S = 20.0
NO_KEY = ("the anthropic generator has no key", "Set ANTHROPIC_API_KEY, or use --generator embedded")


class MessagesClient:
    """A ``Service``. The key comes from the SDK's own environment variables.

    Args:
        sleep: Instead of really waiting between restarts, for tests.
    """

    name: ClassVar[str] = "anthropic"

    def __init__(self, connection: Connection | None = None, sleep: Callable[[float], None] | None = None) -> None:
        self.connection = connection or Connection()
        self.sleep = sleep or tenacity.nap.sleep

    def model(self, name: str | None) -> str:
        """As given, else ANTHROPIC_MODEL, else ours."""
        return name or os.environ.get("ANTHROPIC_MODEL") or MODEL

    def ask(self, request: Request) -> Answer:
        """See ``Service``."""
        lost: list[Usage] = []
        try:
            with self._sdk() as sdk:
                message, retries = until_whole(lambda: self._once(sdk, request), self.connection, self.sleep, lost)
        except (Broken, anthropic.AnthropicError, httpx2.HTTPError) as e:
            error = translated(e, request.model)
            if isinstance(error, ModelError):
                error.spent = together(lost)
            raise error from e
        return _answer(message, together(lost), retries + len(lost), len(lost) + 1)

    def submit(self, requests: Sequence[Request]) -> str:
        """See ``Service``."""
        rows: Any = [{"custom_id": r.digest, "params": _parameters(r)} for r in requests]
        return str(self._called(lambda sdk: sdk.messages.batches.create(requests=rows).id, requests[0].model))

    def collect(self, batch: str) -> Iterator[tuple[str, Answer | ModelError]]:
        """See ``Service``."""
        pause_s = 1.0
        while self._called(lambda sdk: sdk.messages.batches.retrieve(batch).processing_status) != "ended":
            self.sleep(pause_s)
            pause_s = min(2 * pause_s, 60.0)
        for row in self._called(lambda sdk: list(sdk.messages.batches.results(batch))):
            result = row.result
            if result.type == "succeeded":
                yield row.custom_id, _answer(result.message, Usage(), 0, 1)
            else:
                said = f": {result.error.error.type}: {result.error.error.message}" if result.type == "errored" else ""
                yield row.custom_id, ModelUnavailable(line(f"the batch has no answer to it: {result.type}{said}"))

    def _called(self, what: Callable[[anthropic.Anthropic], Any], model: str = "") -> Any:
        try:
            with self._sdk() as sdk:
                return what(sdk)
        except (anthropic.AnthropicError, httpx2.HTTPError) as e:
            raise translated(e, model) from e
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
        """One whole streamed message, and how often the SDK tried. Raises Broken where it does not come whole."""
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
                    raise Broken(f"the answer took longer than {self.connection.most_s:g} s", _spent(message))
            tries = int(stream.response.request.headers.get("x-stainless-retry-count", "0"))
        except anthropic.APIStatusError as e:
            if e.status_code == 200:  # the stream itself told of an error
                raise Broken(_said(e), _spent(message)) from e
            raise
        except (httpx2.HTTPError, anthropic.APIConnectionError) as e:
            raise Broken(f"the answer broke off ({_said(e)})", _spent(message)) from e
        except (AssertionError, AttributeError, TypeError, LookupError, ValueError, RuntimeError, anthropic.APIError) as e:
            raise Broken(no_message(stream.response.headers.get("content-type", "")), _spent(message)) from e
        finally:
            opened.__exit__(None, None, None)
        if message is None:
            raise Broken(no_message(stream.response.headers.get("content-type", "")), Usage())
        if not message.stop_reason:
            raise Broken("the answer broke off", _spent(message))
        return message, tries


def translated(error: BaseException, model: str = "") -> ModelError | ConfigError:
    """Our error for one of the SDK's: what the service said, and what to do. Nothing in it holds a key."""
    if isinstance(error, anthropic.APIStatusError) and error.status_code != 200:
        advice = {
            401: "Set ANTHROPIC_API_KEY to a valid key",
            404: f"Look at the model's name ({model}) and at llm.base_url",
        }
        return refused(error.status_code, _said(error), advice)
    return unanswered(_said(error))


def _said(error: BaseException) -> str:
    """What an error says, in one line."""
    if isinstance(error, anthropic.APIStatusError):
        return told(error.status_code, error.body)
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
        return "it timed out"
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else None
    return line(str(cause or error) or type(error).__name__)


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
