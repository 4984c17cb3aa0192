"""The MCP server over a pipe, as a host starts it."""

from __future__ import annotations

import os
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
