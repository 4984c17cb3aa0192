"""Hosts are told when the skills are others than those that they were shown: one was approved, or withdrawn, by somebody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from mcp.server import Server
from mcp.server.lowlevel import NotificationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ToolsListChanged

from synth.registry import Registry, RegistryError
from synth.registry.database import FILE

EVERY_S = 2.0
_MOST_SESSIONS = 256


class Watch:
    """Looks at a registry while a server runs, and tells those that listen, by either way that the protocol has."""

    def __init__(self, registry: Path) -> None:
        self._registry = registry
        self._bus = InMemorySubscriptionBus()
        self._sessions: dict[int, ServerSession] = {}
        self.listen = ListenHandler(self._bus)
        """For clients of the protocol of 2026-07-28 and later, who ask to be told."""

    def shown(self, session: ServerSession) -> None:
        """A client of an earlier protocol was shown the list, and wants to know when it changes."""
        self._sessions[id(session.client_params)] = session
        if len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]

    @asynccontextmanager
    async def running(self, server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        """The server's lifespan."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watched)
            yield {}
            tasks.cancel_scope.cancel()

    async def _watched(self) -> None:
        known, stamp = await anyio.to_thread.run_sync(self._skills), self._stamp()
        while True:
            await anyio.sleep(EVERY_S)
            if (seen := self._stamp()) != stamp:
                stamp, before = seen, known
                known = await anyio.to_thread.run_sync(self._skills)
                if known != before:
                    await self._tell()

    async def _tell(self) -> None:
        await self._bus.publish(ToolsListChanged())
        await self._bus.publish(ResourcesListChanged())
        for session in list(self._sessions.values()):
            await session.send_tool_list_changed()
            await session.send_resource_list_changed()

    def _stamp(self) -> tuple[tuple[int, int], ...]:
        """What the files of the database look like; anything that is written to it changes that."""
        found = []
        for end in ("", "-wal"):
            with suppress(FileNotFoundError):  # whoever closes the database takes the log away
                state = (self._registry / f"{FILE}{end}").stat()
                found.append((state.st_mtime_ns, state.st_size))
        return tuple(found)

    def _skills(self) -> tuple[tuple[str, str], ...]:
        """Active skills by name and version; none where there is no registry that can be read."""
        try:
            with Registry.existing(self._registry) as registry:
                return tuple((entry.name, entry.version) for entry in registry.list())
        except RegistryError:
            return ()


class WatchingServer(Server[Any]):
    """Says in its capabilities that its lists change."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any
    ) -> Any:
        changing = notification_options or NotificationOptions(tools_changed=True, resources_changed=True)
        return super().create_initialization_options(changing, *more, **named)
