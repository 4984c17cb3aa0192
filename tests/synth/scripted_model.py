"""A model that says what its script says, behind the interfaces of three vendors: for running real agents without any service."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from transcripts import keep

Call = tuple[str, Mapping[str, Any]]
"""Name of a tool (``namespace/name`` where the client has namespaces) and what it is given."""


class ScriptedModel(ThreadingHTTPServer):
    """Answers the n-th turn of a conversation with the n-th call of the script, then with "done"."""

    daemon_threads = True

    def __init__(self, script: Sequence[Call]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script)
        self.asked: list[Mapping[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def scripted(script: Sequence[Call]) -> Iterator[ScriptedModel]:
    """A model that serves while the block runs."""
    with ScriptedModel(script) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
            keep(_conversation(server.asked[-1]) if server.asked else "the model was asked nothing\n")


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedModel
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        return

    def do_GET(self) -> None:
        self._send("application/json", b"{}")

    def do_HEAD(self) -> None:
        self._send("application/json", b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if "count_tokens" in self.path or "countTokens" in self.path:
            self._send("application/json", b'{"input_tokens": 9, "totalTokens": 9}')
            return
        self.server.asked.append(body)
        events = self._events(body)
        text = "".join((f"event: {e['type']}\n" if "type" in e else "") + f"data: {json.dumps(e)}\n\n" for e in events)
        self._send("text/event-stream", text.encode())

    def _events(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        if "/messages" in self.path:
            done = sum(_is(b, "tool_result") for m in body["messages"] for b in _blocks(m))
            return _anthropic(self._next(done) if body.get("tools") else None, done)
        if "/responses" in self.path:
            done = sum(str(i.get("type", "")).endswith("_output") for i in body["input"] if isinstance(i, dict))
            return _openai(self._next(done), done)
        done = sum("functionResponse" in p for c in body["contents"] for p in c.get("parts", []))
        return _google(self._next(done) if body.get("tools") else None)

    def _next(self, done: int) -> Call | None:
        return self.server.script[done] if done < len(self.server.script) else None

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _conversation(asked: Mapping[str, Any]) -> Any:
    """What was said so far, by whatever name a vendor has for it."""
    return asked.get("messages") or asked.get("input") or asked.get("contents")


def _blocks(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _is(block: object, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def _anthropic(call: Call | None, done: int) -> list[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{done}", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    if call is None:
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": "done"}
    else:
        block = {"type": "tool_use", "id": f"toolu_{done}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    ]


def _openai(call: Call | None, done: int) -> list[dict[str, Any]]:
    if call is None:
        item: dict[str, Any] = {
            "type": "message", "role": "assistant", "id": f"m{done}", "content": [{"type": "output_text", "text": "done"}],
        }  # fmt: skip
    elif "input" in call[1]:
        item = {
            "type": "custom_tool_call",
            "id": f"f{done}",
            "call_id": f"call_{done}",
            "name": call[0],
            "input": call[1]["input"],
        }
    else:
        arguments = json.dumps(call[1])
        space, _, name = call[0].rpartition("/")
        item = {"type": "function_call", "id": f"f{done}", "call_id": f"call_{done}", "name": name, "arguments": arguments}
        item |= {"namespace": space} if space else {}
    usage = {
        "input_tokens": 1,
        "output_tokens": 1,
        "total_tokens": 2,
        "input_tokens_details": None,
        "output_tokens_details": None,
    }
    return [
        {"type": "response.created", "response": {"id": f"r{done}"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": f"r{done}", "usage": usage}},
    ]


def _google(call: Call | None) -> list[dict[str, Any]]:
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call is not None else {"text": "done"}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return [
        {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
    ]
