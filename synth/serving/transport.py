"""How the server is reached: standard input and output, or streamable HTTP for who knows the token."""

from __future__ import annotations

import hmac
import socket
from typing import Any

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from starlette.types import ASGIApp, Receive, Scope, Send

from verifiers.interface import ConfigError

PATH = "/mcp"


def serve_stdio(server: Server[Any]) -> None:
    """Serves on standard input and output until the host hangs up."""

    async def serve() -> None:
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())

    anyio.run(serve)


def serve_http(server: Server[Any], host: str, port: int, token: str) -> None:
    """Serves at ``http://HOST:PORT/mcp`` until interrupted, to requests with ``Authorization: Bearer TOKEN``.

    Raises:
        ConfigError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as e:
        what = f"cannot be listened on ({e.strerror or e})"
        raise ConfigError(what, "Give another address with --http", f"{host}:{port}") from e
    with listening:
        config = uvicorn.Config(guarded(server, token, host), log_level="warning", lifespan="on")
        uvicorn.Server(config).run(sockets=[listening])


def guarded(server: Server[Any], token: str, host: str = "127.0.0.1") -> ASGIApp:
    """The server as an ASGI application that answers only to the token."""
    app = server.streamable_http_app(streamable_http_path=PATH, host=host)
    wanted = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, wanted):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await app(scope, receive, send)

    return checked
