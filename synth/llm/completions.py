"""The one module that talks to chat completions, through the ``openai`` SDK: vLLM, Ollama, llama.cpp, gateways, OpenAI itself.

What such servers agree on is used and no more. Few can count tokens before they are asked, and not all do afterwards: then bytes
are counted, of which no tokenizer makes more tokens than there are.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import httpx2
import openai
import tenacity
from pydantic_core import from_json

from synth.llm.errors import ModelError, ModelRejected
from synth.llm.exchange import Answer, Request
from synth.llm.service import FEWER, Broken, Connection, line, no_message, refused, together, told, unanswered, until_whole
from synth.llm.tools import tools
from synth.usage import Usage
from verifiers.interface import ConfigError

NO_KEY = ("the openai generator has no key", "Set OPENAI_API_KEY; a server of your own needs none: name it in OPENAI_BASE_URL")
NO_MODEL = ("the openai generator has no model", "Name one that the server has: --model or llm.model")
UNUSED = "unused"
"""The SDK wants a key where the server wants none."""
OWN_HOST = "api.openai.com"
"""There, and only there, the limit of an answer is called ``max_completion_tokens``."""
STOPS = {"length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use", "stop": "end_turn"}
"""``finish_reason`` -> what the rest of us calls it."""
CONTEXT = "context_length_exceeded"


@dataclass
class _Call:
    id: str
    name: str = ""
    arguments: str = ""


@dataclass
class _Heard:
    """What came of an answer so far."""

    sent: int
    """Bytes."""
    limit: int
    """Tokens of the answer."""
    begun: bool = False
    finish: str = ""
    text: str = ""
    refusal: str = ""
    calls: list[_Call] = field(default_factory=list)
    usage: Any = None
    size_bytes: int = 0
    _at: dict[int, _Call] = field(default_factory=dict)

    def take(self, chunk: Any) -> None:
        self.usage = chunk.usage or self.usage
        for choice in chunk.choices or ():
            self.finish = choice.finish_reason or self.finish
            if choice.delta is not None:
                self._add(choice.delta)
        # An object of other fields is no part of an answer: nothing was made of the request.
        self.begun |= chunk.choices is not None or chunk.usage is not None

    def _add(self, delta: Any) -> None:
        said = delta.model_dump()
        self.size_bytes += sum(_bytes(v) for k, v in said.items() if isinstance(v, str) and k != "role")
        self.text += said.get("content") or ""
        self.refusal += said.get("refusal") or ""
        for part in said.get("tool_calls") or ():
            self._call(part)

    def _call(self, part: dict[str, Any]) -> None:
        index, given = part.get("index") or 0, part.get("function") or {}
        call = self._at.get(index)
        if call is None or (part.get("id") and part["id"] != call.id):  # not every server numbers its calls
            call = self._at[index] = _Call(part.get("id") or "")
            self.calls.append(call)
        call.name += given.get("name") or ""
        call.arguments += given.get("arguments") or ""
        self.size_bytes += _bytes(given.get("name")) + _bytes(given.get("arguments"))

    @property
    def spent(self) -> Usage:
        """As the server counted, else the most that it can have been."""
        if not self.begun:
            return Usage()
        sent, made = _number(self.usage, "prompt_tokens"), _number(self.usage, "completion_tokens")
        if not sent:
            return Usage(self.sent, min(self.size_bytes, self.limit))
        cached = min(sent, _number(getattr(self.usage, "prompt_tokens_details", None), "cached_tokens"))
        thought = _number(getattr(self.usage, "completion_tokens_details", None), "reasoning_tokens")
        return Usage(sent - cached, made, cached, thinking_tokens=thought)


class CompletionsClient:
    """A ``Service``. Address and key come from the SDK's own environment variables.

    Args:
        sleep: Instead of really waiting between restarts, for tests.
    """

    name: ClassVar[str] = "openai"

    def __init__(self, connection: Connection | None = None, sleep: Callable[[float], None] | None = None) -> None:
        self.connection = connection or Connection()
        self.sleep = sleep or tenacity.nap.sleep

    def model(self, name: str | None) -> str:
        """As given, else OPENAI_MODEL."""
        found = name or os.environ.get("OPENAI_MODEL")
        if not found:
            raise ConfigError(*NO_MODEL)
        return found

    def ask(self, request: Request) -> Answer:
        """See ``Service``."""
        lost: list[Usage] = []
        try:
            with self._sdk() as sdk:
                heard, retries = until_whole(lambda: self._once(sdk, request), self.connection, self.sleep, lost)
        except (Broken, openai.OpenAIError, httpx2.HTTPError) as e:
            error = translated(e, request.model)
            error.spent = together(lost)
            raise error from e
        return _answer(heard, together(lost), retries + len(lost), len(lost) + 1)

    def count(self, request: Request) -> int | None:
        """The bytes that a request sends."""
        given = _parameters(request)
        said = json.dumps([given["messages"], given["tools"]], ensure_ascii=False)
        return _bytes(said)

    def submit(self, requests: Sequence[Request]) -> str:
        """Never: few of these servers know batches."""
        raise ModelRejected("servers that speak chat completions are not asked in batches", "Leave out --llm-batch")

    def collect(self, batch: str) -> Iterator[tuple[str, Answer | ModelError]]:
        """Never."""
        raise ModelRejected("servers that speak chat completions are not asked in batches", "Leave out --llm-batch")

    def _sdk(self) -> openai.OpenAI:
        """The SDK's client.

        Raises:
            ConfigError: there is no key and no server that needs none, or the address is none.
        """
        how = self.connection
        base = how.base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get("OPENAI_API_KEY") or (UNUSED if base else None)
        if key is None:
            raise ConfigError(*NO_KEY)
        try:
            return openai.OpenAI(api_key=key, base_url=base, max_retries=how.retries, timeout=how.timeout_s)
        except (openai.OpenAIError, httpx2.InvalidURL, ValueError) as e:
            what = f"the model's service cannot be addressed: {e}"
            raise ConfigError(what, "Look at llm.base_url and OPENAI_BASE_URL") from e

    def _once(self, sdk: openai.OpenAI, request: Request) -> tuple[_Heard, int]:
        """One whole streamed answer, and how often the SDK tried. Raises Broken where it does not come whole."""
        stream = sdk.chat.completions.create(**_parameters(request, sdk.base_url.host == OWN_HOST))
        heard = _Heard(self.count(request) or 0, request.max_output_tokens)
        ends = time.monotonic() + self.connection.most_s
        try:
            for chunk in stream:
                heard.take(chunk)
                if time.monotonic() > ends:
                    raise Broken(f"the answer took longer than {self.connection.most_s:g} s", heard.spent)
        except (httpx2.HTTPError, openai.APIConnectionError) as e:
            if not heard.finish:  # after that, only the count of tokens is missing
                raise Broken(f"the answer broke off ({_said(e)})", heard.spent) from e
        except openai.APIError as e:
            raise Broken(told(200, e.body), heard.spent) from e
        except (AttributeError, TypeError, LookupError, ValueError, RuntimeError) as e:
            raise Broken(no_message(stream.response.headers.get("content-type", "")), heard.spent) from e
        finally:
            stream.close()
        if not heard.begun:
            raise Broken(no_message(stream.response.headers.get("content-type", "")), heard.spent)
        if not heard.finish:
            raise Broken("the answer broke off", heard.spent)
        return heard, int(stream.response.request.headers.get("x-stainless-retry-count", "0"))


def translated(error: BaseException, model: str = "") -> ModelError:
    """Our error for one of the SDK's: what the service said, and what to do. Nothing in it holds a key."""
    if isinstance(error, openai.APIStatusError):
        room = f"{FEWER}, or lower llm.max_output_tokens"
        setting = "Look at what it said: it may not know a setting (llm.effort, llm.thinking, llm.strict)"
        advice = {
            400: room if error.code == CONTEXT else f"{setting}, or have less room than llm.max_output_tokens",
            401: "Set OPENAI_API_KEY to a valid key",
            404: f"Look at the model's name ({model}) and at llm.base_url: most servers want it to end in /v1",
            413: room,
        }
        return refused(error.status_code, _said(error), advice)
    return unanswered(_said(error))


def _said(error: BaseException) -> str:
    """What an error says, in one line."""
    if isinstance(error, openai.APIStatusError):
        return told(error.status_code, error.body)
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        return "it timed out"
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else None
    return line(str(cause or error) or type(error).__name__)


def _parameters(request: Request, own: bool = False) -> dict[str, Any]:
    """What is sent.

    Args:
        own: To OpenAI itself.
    """
    offered = [
        {"type": "function", "function": {"parameters" if k == "input_schema" else k: v for k, v in tool.items()}}
        for tool in tools(request.purpose, request.strict)
    ]
    given: dict[str, Any] = {
        "model": request.model,
        "max_completion_tokens" if own else "max_tokens": request.max_output_tokens,
        # One text: not every server takes content in parts. What stays the same comes first, for its cache.
        "messages": [
            {"role": "system", "content": request.system},
            {"role": "user", "content": f"{request.evidence}\n\n{request.instruction}"},
        ],
        "tools": offered,
        "tool_choice": "required",
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.strict:
        given["parallel_tool_calls"] = False
    if request.effort is not None:
        given["reasoning_effort"] = request.effort
    if request.thinking is not None:
        given["extra_body"] = {"chat_template_kwargs": {"enable_thinking": request.thinking != "disabled"}}
    return given


def _answer(heard: _Heard, lost: Usage, retries: int, requests: int) -> Answer:
    call = heard.calls[0] if heard.calls else None
    fields = _object(call.arguments) if call is not None else None
    broken = call.arguments if call is not None and fields is None else ""
    used = heard.spent
    return Answer(
        stop_reason="refusal" if heard.refusal else STOPS.get(heard.finish, heard.finish),
        tool=call.name if call is not None else None,
        input=fields,
        text=_clean("\n".join(filter(None, [heard.text, heard.refusal, broken]))),
        input_tokens=used.input_tokens + lost.input_tokens,
        output_tokens=used.output_tokens + lost.output_tokens,
        cache_read_tokens=used.cache_read_tokens + lost.cache_read_tokens,
        calls=len(heard.calls),
        retries=retries,
        thinking_tokens=used.thinking_tokens,
        requests=requests,
    )


def _object(arguments: str) -> dict[str, Any] | None:
    """The arguments of a call; None where they are no JSON object."""
    try:
        found = from_json(arguments)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _clean(text: str) -> str:
    """Without half characters, which could not be sent again."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _bytes(text: object) -> int:
    return len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else 0


def _number(of: object, name: str) -> int:
    value = getattr(of, name, None)
    return value if isinstance(value, int) else 0
