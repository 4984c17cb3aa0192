"""The MCP server over a pipe, as a host starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
from factories import draft, report
from mcp import Client, StdioServerParameters

from synth.registry import Registry

ROOT = Path(__file__).parents[2]
HOST = """
import sys
from pathlib import Path
from synth.mcp_server import Services, build
from synth.serving.transport import serve_stdio
def told(path, say):
    say(str(path))
    return {"schema": "assay-report/1", "path": str(path)}
serve_stdio(build(Services(Path(sys.argv[1]), lambda p, say: told(Path("a\\udcff"), say), lambda p, say: {})))
"""


def test_a_host_can_start_it_and_talk_over_a_pipe(tmp_path: Path) -> None:
    """Standard input and output, as hosts do it."""
    with Registry(tmp_path) as registry:
        registry.register(draft(), report(draft()))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parameters = StdioServerParameters(command=sys.executable, args=["-c", HOST, str(tmp_path)], env=environment)

    heard: list[str | None] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def session() -> list[Any]:
        async with Client(parameters) as client:
            named = await client.call_tool("assay_verify", {"path": "x"}, progress_callback=listen)
            return [
                named.structured_content,
                (await client.call_tool("assay_route", {"task": "rename files"})).structured_content,
            ]

    named, routed = anyio.run(session)
    assert (named["path"], heard) == ("a\\udcff", ["a\\udcff"])  # a name that is no UTF-8 does not end the connection
    assert routed["matches"][0]["skill"] == "batch_rename"


FRAMES = [b"garbage", b"{", b"[]", b"[1]", b"null", b"\xff\xfe", b"", b"[" * 100_000, b'{"jsonrpc": "2.0"}']
FRAMES += [b'{"jsonrpc": "1.0", "id": 9, "method": "ping"}', b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}']
FRAMES += [b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "assay_route", "arguments": "x"}}']


def test_what_is_no_message_ends_no_connection(tmp_path: Path) -> None:
    """The next request is answered, and nothing that is no JSON comes out."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "ping", "params": {}},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in asked]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HOST, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        host.stdin.write(b"\n".join([*lines[:2], *FRAMES, lines[2], b""]))
        host.stdin.flush()
        answers = []
        while not answers or answers[-1].get("id") != 2:
            answers.append(json.loads(host.stdout.readline()))
        host.stdin.close()
        assert host.wait(20) == 0
    assert answers[-1]["result"] == {}
