"""The one module that talks to the Messages API through the ``anthropic`` SDK. Its exceptions end here."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anthropic
import tenacity

from synth.claude.errors import ModelError, ModelRejected, ModelUnavailable
from synth.claude.exchange import Answer, Request
from synth.claude.tools import TOOLS
from verifiers.interface import ConfigError

if TYPE_CHECKING:
    from anthropic.types import Message

MODEL = "claude-sonnet-5-5"
"""Where neither the command line, the configuration nor ANTHROPIC_MODEL names one."""

RETRIABLE_STATUS = frozenset({408, 429, 504, 529})
"""Request time-out, rate limit, gateway time-out, overloaded. Source: the Messages API's error page."""
RETRIABLE_TYPES = frozenset({"rate_limit_error", "overloaded_error", "timeout_error"})
MAX_WAIT_S = 60.0
"""Longest single wait, whatever ``retry-after`` asks for: more than that is an outage."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """How often and how long to try again."""

    attempts: int = 5
    first_wait_s: float = 1.0
    sleep: Callable[[float], None] | None = None
    """Instead of really sleeping, for tests."""


class Client:
    """Messages of one model. Key and address come from the SDK's own environment variables.

    Args:
        timeout_s: Of one attempt.
    """

    def __init__(self, timeout_s: float = 180.0, retrying: Retrying = Retrying()) -> None:
        self.timeout_s = timeout_s
        self.retrying = retrying

    def ask(self, request: Request) -> Answer:
        """The answer to one request.

        Raises:
            ModelUnavailable: rate limit, overload, time-out or no connection, after all retries.
            ModelRejected: the service refused the request.
            ConfigError: there is no key.
        """
        with anthropic.Anthropic(max_retries=0, timeout=self.timeout_s) as sdk:
            attempts = tenacity.Retrying(**self._policy(), sleep=self.retrying.sleep or tenacity.nap.sleep)
            try:
                message = attempts(lambda: sdk.messages.create(**_parameters(request)))
            except (anthropic.AnthropicError, TypeError) as e:
                raise translated(e) from e
        return _answer(message, attempts.statistics.get("attempt_number", 1) - 1)

    async def ask_async(self, request: Request) -> Answer:
        """As ``ask``, without blocking the event loop."""
        async with anthropic.AsyncAnthropic(max_retries=0, timeout=self.timeout_s) as sdk:
            attempts = tenacity.AsyncRetrying(**self._policy())

            async def once() -> Message:
                found: Message = await sdk.messages.create(**_parameters(request))
                return found

            try:
                message: Message = await attempts(once)
            except (anthropic.AnthropicError, TypeError) as e:
                raise translated(e) from e
        return _answer(message, attempts.statistics.get("attempt_number", 1) - 1)

    def _policy(self) -> dict[str, Any]:
        return {
            "retry": tenacity.retry_if_exception(retriable),
            "stop": tenacity.stop_after_attempt(self.retrying.attempts),
            "wait": Wait(self.retrying.first_wait_s),
            "reraise": True,
        }


def retriable(error: BaseException) -> bool:
    """Rate limit, overload, time-out and connection errors, and nothing else."""
    if isinstance(error, anthropic.APIStatusError):
        return error.status_code in RETRIABLE_STATUS or _error_type(error) in RETRIABLE_TYPES
    return isinstance(error, anthropic.APIConnectionError)


class Wait(tenacity.wait.wait_base):
    """What ``retry-after`` asks for, else exponential with jitter; never above ``MAX_WAIT_S``."""

    def __init__(self, first_s: float) -> None:
        self._otherwise = tenacity.wait_random_exponential(multiplier=first_s, max=MAX_WAIT_S)

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome is not None else None
        asked = _retry_after(error)
        return min(asked, MAX_WAIT_S) if asked is not None else self._otherwise(retry_state)


def _retry_after(error: BaseException | None) -> float | None:
    """Seconds that the service asks to wait; None where it does not say (or says it as a date)."""
    if not isinstance(error, anthropic.APIStatusError):
        return None
    headers = error.response.headers
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0.0 <= seconds < float("inf"):
            return seconds
    return None


def _error_type(error: anthropic.APIStatusError) -> str:
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    return str(inner.get("type", "")) if isinstance(inner, dict) else ""


def translated(error: BaseException) -> ModelError | ConfigError:
    """Our error for one of the SDK's. Nothing in it holds a key."""
    if isinstance(error, TypeError):
        # What the SDK raises where it finds no credentials.
        return ConfigError("the anthropic generator has no key", "Set ANTHROPIC_API_KEY, or use --generator embedded")
    if retriable(error):
        what = f"the model's service did not answer ({_said(error)})"
        return ModelUnavailable(what, "Try again later; --llm-record keeps what was answered")
    what = f"the model's service refused the request ({_said(error)})"
    return ModelRejected(what, "Look at the key, the model's name and the quota")


def _said(error: BaseException) -> str:
    if isinstance(error, anthropic.APIStatusError):
        return f"HTTP {error.status_code} {_error_type(error)}".strip()
    if isinstance(error, anthropic.APITimeoutError):
        return "it timed out"
    return type(error).__name__


def _parameters(request: Request) -> dict[str, Any]:
    cached = {"cache_control": {"type": "ephemeral"}}
    content = [{"type": "text", "text": request.evidence, **cached}, {"type": "text", "text": request.instruction}]
    return {
        "model": request.model,
        "max_tokens": request.max_output_tokens,
        "system": [{"type": "text", "text": request.system, **cached}],
        "messages": [{"role": "user", "content": content}],
        "tools": TOOLS,
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    }


def _answer(message: Message, retries: int) -> Answer:
    calls = [block for block in message.content if block.type == "tool_use"]
    text = "\n".join(block.text for block in message.content if block.type == "text")
    usage = message.usage
    fields = calls[0].input if calls else None
    return Answer(
        stop_reason=message.stop_reason or "",
        tool=calls[0].name if calls else None,
        input=dict(fields) if isinstance(fields, dict) else None,
        text=text,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_input_tokens or 0,
        cache_write_tokens=usage.cache_creation_input_tokens or 0,
        calls=len(calls),
        retries=retries,
    )


def chosen_model(name: str | None) -> str:
    """The model to ask: as given, else ANTHROPIC_MODEL, else ours."""
    return name or os.environ.get("ANTHROPIC_MODEL") or MODEL
