"""The MCP server over streamable HTTP: for who knows the token."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from factories import draft, report
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from test_mcp_server import Fake

from synth.mcp_server import Services, build
from synth.registry import Registry
from synth.serving.transport import guarded


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def services(tmp_path: Path, fake: Fake) -> Services:
    with Registry(tmp_path) as registry:
        registry.register(draft(), report(draft()))
    return Services(tmp_path, fake.verify, fake.gate, fake.run)


TOKEN = "0123456789abcdef"


@contextmanager
def listening(services: Services) -> Iterator[int]:
    """The port of a server in a thread of this process."""
    with socket.create_server(("127.0.0.1", 0)) as place:
        config = uvicorn.Config(guarded(build(services), TOKEN), log_level="error", lifespan="on")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
        thread.start()
        try:
            yield place.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(10)


def test_over_http_the_token_is_asked_for(services: Services) -> None:
    """The SDK's own client with it; nothing at all without it, or with another."""
    with listening(services) as port:
        url = f"http://127.0.0.1:{port}/mcp"

        async def session(token: str) -> Any:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                return await client.call_tool("assay_route", {"task": "rename files"})

        assert anyio.run(session, TOKEN).structured_content["matches"][0]["skill"] == "batch_rename"
        for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": TOKEN}):
            request = urllib.request.Request(url, b"{}", headers, method="POST")
            with pytest.raises(urllib.error.HTTPError) as told:
                urllib.request.urlopen(request, timeout=5)
            with told.value as answer:
                assert (answer.code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_over_http_what_is_cancelled_stops(services: Services, fake: Fake) -> None:
    """The work ends at its next step, and the next call is answered."""
    with listening(services) as port:

        async def session() -> Any:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
                Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)) as client,
            ):
                with anyio.move_on_after(1):
                    await client.call_tool("assay_verify", {"path": "slow"})
                await anyio.sleep(1)
                ended = list(fake.asked)
                return ended, await client.call_tool("assay_verify", {"path": "x"})

        ended, after = anyio.run(session)
    assert ended == [("verify", Path("slow")), ("ended", "cancelled")]
    assert not after.is_error


CUT = 0
"""No status: the server hung up before it had read all of the body."""


def posted(port: int, body: bytes, **headers: str) -> int:
    """The status of a request that no client of the protocol would make, or ``CUT``."""
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", body, given, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as e:
        with e:
            return e.code
    except urllib.error.URLError as e:
        if not isinstance(e.reason, ConnectionError):
            raise
        return CUT


def test_who_knows_the_token_breaks_nothing_either(services: Services) -> None:
    """What is no message is the caller's mistake, not the server's; without the token the body is not even looked at."""
    with listening(services) as port:
        for body in (b"", b"garbage", b"[]", b"\xff", b"[" * 100_000, b"x" * 3_000_000):
            # The answer to who is not let in may come before a long body is sent, and be lost with the connection.
            assert posted(port, body) in ({401, CUT} if len(body) > 1_000_000 else {401})
            assert 400 <= posted(port, body, Authorization=f"Bearer {TOKEN}") < 500, body[:20]
        for wrong in ("Bearer ", "Bearer \xe9", f"bearer {TOKEN}x", f"Basic {TOKEN}", f"Bearer {TOKEN} "[:-2]):
            assert posted(port, b"{}", Authorization=wrong) == 401
