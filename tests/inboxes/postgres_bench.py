"""An inbox on PostgreSQL that a test can look into, and whose time it moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from landfast.domain.census import TallyReport
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.ids import BootId
from landfast.inboxes.postgres import PostgresInbox
from landfast.sealing import Seal
from landfast.testing.clock import ManualClock, SeededChance
from tests.patience import PATIENCE_SECONDS


class PostgresBench:
    def __init__(self, dsn: str, *, master: bytes | None = None, pooled: str | None = None) -> None:
        """`pooled` is the same database behind a pooler, for the inbox; the test itself looks at it directly."""
        self.dsn = dsn
        self._inbox_dsn = pooled or dsn
        self.masters = [] if master is None else [master]
        self.clock = ManualClock()
        self.inbox = self.new()
        self._others: list[PostgresInbox] = []
        self._advanced = 0.0

    def new(self) -> PostgresInbox:
        """One more instance, not open; who asks for it closes it."""
        return PostgresInbox(self._inbox_dsn, clock=self.clock, chance=SeededChance(), seal=Seal(self.masters))

    async def another(self) -> PostgresInbox:
        other = self.new()
        await other.open()
        self._others.append(other)
        return other

    async def advance(self, seconds: float) -> None:
        self._advanced += seconds
        await self.fetch(
            "CREATE OR REPLACE FUNCTION landfast.clock() RETURNS timestamptz LANGUAGE sql STABLE"
            f" AS 'SELECT now() + make_interval(secs => {self._advanced})'"
        )

    async def fetch(self, statement: str) -> list[Any]:
        """The first column of what a statement returns, on a connection of its own."""
        connection = await asyncpg.connect(self.dsn)
        try:
            return [row[0] for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
        """A connection of the test's own."""
        connection = await asyncpg.connect(self.dsn)
        try:
            yield connection
        finally:
            await connection.close()

    async def until(self, statement: str, expected: object) -> None:
        """Ask until the answer is as expected: what changes it is another process."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.fetch(statement) != [expected]:
                await asyncio.sleep(0.02)

    async def disconnect(self) -> None:
        """Kill every other backend of this database, and come back with new ones."""
        await self.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await self.reconnected()

    async def reconnected(self) -> None:
        """After a restart, the first call on each old connection finds that it is gone."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    await self.inbox.tally(TallyReport(BootId(b"bench---"), {}, {}))
                    await self.inbox.identity()
                except InboxUnavailableError:
                    await asyncio.sleep(0.01)
                else:
                    return

    async def close(self) -> None:
        for inbox in (self.inbox, *self._others):
            await inbox.close()

    @asynccontextmanager
    async def migrated(self) -> AsyncIterator[PostgresBench]:
        try:
            await self.inbox.open()
            await self.inbox.migrate()
            yield self
        finally:
            await self.close()
