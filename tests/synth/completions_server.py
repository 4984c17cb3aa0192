"""The server of ``messages_server`` with another tongue: its messages as chat completions, in chunks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from messages_server import MessagesServer

from synth.llm.completions import CompletionsClient

REASONS = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}


def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One event of a stream; without a delta, the last one, which only counts tokens."""
    choices = [] if delta is None else [{"index": 0, "delta": dict(delta), "finish_reason": finish}]
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": choices, **more}


def written(*chunks: Mapping[str, Any]) -> list[bytes]:
    """Events as they stand on the wire, the end mark too."""
    return [*(f"data: {json.dumps(c)}\n\n".encode() for c in chunks), b"data: [DONE]\n\n"]


def call(index: int, name: str, arguments: str, parts: int = 4000) -> list[dict[str, Any]]:
    """One tool call, in pieces."""
    first = {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [{"index": index, "function": {"arguments": arguments[i : i + parts]}} for i in range(0, len(arguments), parts)]
    return [chunk({"tool_calls": [c]}) for c in (first, *pieces)]


class CompletionsServer(MessagesServer):
    """Scripts of ``MessagesServer``, read as chat completions."""

    client: ClassVar[Any] = CompletionsClient
    model: ClassVar[str] = "OPENAI_MODEL"
    path: ClassVar[str] = "/v1/chat/completions"

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def streamed(self, body: Mapping[str, Any]) -> list[bytes]:
        made = [chunk({"role": "assistant", "content": ""})]
        for index, block in enumerate(body["content"]):
            if block["type"] == "tool_use":
                made += call(index, block["name"], json.dumps(block["input"]))
            else:
                made.append(chunk({"content": block["text"]}))
        reason = body["stop_reason"]
        made.append(chunk({}, REASONS.get(reason, reason)))
        used, cached = body["usage"], body["usage"]["cache_read_input_tokens"]
        counted = {
            "prompt_tokens": used["input_tokens"] + cached, "completion_tokens": used["output_tokens"],
            "total_tokens": used["input_tokens"] + cached + used["output_tokens"],
            "prompt_tokens_details": {"cached_tokens": cached}, "completion_tokens_details": {"reasoning_tokens": 0},
        }  # fmt: skip
        return written(*made, chunk(None, usage=counted))

    def told(self, n: int) -> tuple[str, str]:
        said = self.requests[n]["body"]["messages"][1]["content"]
        shown, _, instruction = said.partition("</recordings>")
        return f"{shown}</recordings>", instruction

    def uncounted(self, n: int) -> int:
        """It tells them last: as many as there are bytes."""
        body = self.requests[n]["body"]
        return len(json.dumps([body["messages"], body["tools"]], ensure_ascii=False).encode())


BOTH = pytest.mark.parametrize("speaks", [MessagesServer, CompletionsServer], ids=["messages", "completions"])
"""For a test that holds with every service."""
