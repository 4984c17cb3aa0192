"""A local server that speaks the Messages API: scripted answers, and every way in which the real one fails."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from synth.llm import MessagesClient


@dataclass(frozen=True)
class Reply:
    """What the server does with one request."""

    status: int = 200
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: bool = False
    """Close the connection without an answer."""
    raw: bytes | None = None
    """Send this as the whole body, whatever it is."""
    cut_after: int | None = None
    """Close the connection after so many events of a streamed message."""
    pause_s: float = 0.0
    """Between two events."""


def message(content: Sequence[Mapping[str, Any]], stop_reason: str = "tool_use", **usage: int) -> Reply:
    """A whole message of the Messages API."""
    unused = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    counted = {"input_tokens": 1000, "output_tokens": 200, **unused, **usage}
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": list(content),
        "stop_reason": stop_reason, "stop_sequence": None, "usage": counted,
    }  # fmt: skip
    return Reply(200, body)


def events(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A whole message as the events of a stream."""
    empty = {**body, "content": [], "stop_reason": None, "usage": {**body["usage"], "output_tokens": 1}}
    out: list[dict[str, Any]] = [{"type": "message_start", "message": empty}, {"type": "ping"}]
    for index, block in enumerate(body["content"]):
        if block["type"] == "tool_use":
            whole = json.dumps(block["input"])
            start = {**block, "input": {}}
            parts = [whole[i : i + 4000] for i in range(0, len(whole), 4000)]
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        else:
            start, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        out.append({"type": "content_block_start", "index": index, "content_block": start})
        out += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        out.append({"type": "content_block_stop", "index": index})
    delta = {k: body[k] for k in ("stop_reason", "stop_sequence", "stop_details") if k in body}
    return [*out, {"type": "message_delta", "delta": delta, "usage": body["usage"]}, {"type": "message_stop"}]


def tool_use(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """One tool call, as a content block."""
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": dict(fields)}


def proposal(code: str, bindings: Mapping[str, Mapping[str, Any]], name: str = "do_it", description: str = "Does it.") -> Reply:
    """A proposed skill."""
    rows = [{"task_id": task_id, "args": dict(args)} for task_id, args in bindings.items()]
    fields = {"name": name, "description": description, "code": code, "bindings": rows}
    return message([tool_use("propose_skill", fields)])


def error(status: int, kind: str, **headers: str) -> Reply:
    """An error of the API."""
    body = {"type": "error", "error": {"type": kind, "message": "scripted"}, "request_id": "req_1"}
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def _is_message(reply: Reply) -> bool:
    return reply.status == 200 and reply.raw is None and not reply.cut and (reply.body or {}).get("type") == "message"


class MessagesServer:
    """Answers with the script, one reply a request, in order; the last one for ever. Use as a context manager."""

    client: ClassVar[Any] = MessagesClient
    """What speaks to it."""
    model: ClassVar[str] = "ANTHROPIC_MODEL"
    """The variable that names its model."""
    path: ClassVar[str] = "/v1/messages"

    def __init__(self, *script: Reply) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.counted = 0
        """Requests for the number of tokens; they are none of ``requests``."""
        self.batches: dict[str, list[dict[str, Any]]] = {}
        """Results by the batch's id; the requests of a batch are among ``requests``."""
        self.polls_until_ended = 1
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> MessagesServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def streamed(self, body: Mapping[str, Any]) -> list[bytes]:
        """A whole message as what is written of it, event by event."""
        return [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events(body)]

    def told(self, n: int) -> tuple[str, str]:
        """The recordings and the instruction that a request sent."""
        shown, instruction = self.requests[n]["body"]["messages"][0]["content"]
        return shown["text"], instruction["text"]

    def uncounted(self, n: int) -> int:
        """Input tokens that are on the bill of a request whose answer broke off. It tells them first."""
        return 1000

    def next(self, request: dict[str, Any]) -> Reply:
        with self._lock:
            self.requests.append(request)
            self.times.append(time.monotonic())
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                if self.path.endswith("/count_tokens"):
                    owner.counted += 1
                    self._send(json.dumps({"input_tokens": 1000}).encode(), "application/json")
                    return
                if self.path.endswith("/batches"):
                    self._batch(json.loads(body))
                    return
                asked = {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": json.loads(body)}
                reply = owner.next(asked)
                time.sleep(reply.delay_s)
                with suppress(BrokenPipeError, ConnectionResetError):
                    self._streamed(reply) if _is_message(reply) else self._answer(reply)

            def _batch(self, body: Mapping[str, Any]) -> None:
                rows = []
                for asked in body["requests"]:
                    reply = owner.next({"path": "batch", "headers": {}, "body": asked["params"]})
                    good = {"type": "succeeded", "message": reply.body}
                    result = good if reply.status == 200 else {"type": "errored", "error": reply.body}
                    rows.append({"custom_id": asked["custom_id"], "result": result})
                name = f"msgbatch_{len(owner.batches)}"
                owner.batches[name] = rows
                self._send(json.dumps(self._state(name)).encode(), "application/json")

            def _state(self, name: str) -> dict[str, Any]:
                ended = owner.polls_until_ended <= 0
                return {
                    "id": name, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
                    "results_url": f"{owner.url}/v1/messages/batches/{name}/results" if ended else None,
                }  # fmt: skip

            def do_GET(self) -> None:
                name = self.path.split("/batches/")[1].split("/")[0].split("?")[0]
                if name not in owner.batches:
                    self._answer(error(404, "not_found_error"))
                elif self.path.endswith("/results"):
                    text = "".join(json.dumps(row) + "\n" for row in owner.batches[name])
                    self._send(text.encode(), "application/x-jsonl")
                else:
                    owner.polls_until_ended -= 1
                    self._send(json.dumps(self._state(name)).encode(), "application/json")

            def _answer(self, reply: Reply) -> None:
                if reply.cut:
                    self.close_connection = True
                    self.connection.close()
                    return
                data = reply.raw if reply.raw is not None else json.dumps(reply.body).encode()
                self._send(data, status=reply.status, **{"content-type": "application/json", **reply.headers})

            def _send(self, data: bytes, kind: str = "", status: int = 200, **headers: str) -> None:
                self.send_response(status)
                for name, value in (headers or {"content-type": kind}).items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _streamed(self, reply: Reply) -> None:
                assert reply.body is not None
                self.close_connection = True
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                for event in owner.streamed(reply.body)[: reply.cut_after]:
                    self.wfile.write(event)
                    time.sleep(reply.pause_s)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
