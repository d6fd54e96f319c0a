"""Wakeups over PostgreSQL's LISTEN and NOTIFY: across processes and machines, on one connection of its own.

Behind a pooler nobody can listen: what the server says to a session reaches nobody between two transactions. There the
processes of one machine wake each other, and those of others find new events at the next poll.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import asyncpg

from landfast import telemetry
from landfast.domain.ids import InboxId
from landfast.postgres_pooling import is_pooled
from landfast.wakeups.datagram import DatagramWakeup
from landfast.wakeups.debounce import Debounce
from landfast.wakeups.local import LocalWakeup

CHANNEL = "landfast"
"""One for each database, as there is one inbox in it."""

LISTEN_RETRY_SECONDS = 0.5
"""Seconds between two tries to connect. The poll of a second goes on meanwhile."""

LISTEN_ANSWER_SECONDS = 5.0
"""Seconds for connecting, and for one NOTIFY."""

LISTEN_PROBE_SECONDS = 30.0
"""Seconds of silence until we ask whether anybody is still there: a cut cable says nothing."""

_LOST = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, ValueError)


class NotifyWakeup:
    """Connects in the background, and again whenever the server went away. A nudge meanwhile is sent afterwards."""

    def __init__(self, dsn: str, inbox: InboxId) -> None:
        self._dsn = dsn
        self._bell = LocalWakeup()
        self._nearby = DatagramWakeup(inbox, bell=self._bell)
        self._is_pooled = False
        self._pending = asyncio.Event()
        self._debounce: Debounce | None = None
        self._task: asyncio.Task[None] | None = None

    def nudge(self) -> None:
        if self._debounce is not None:
            self._debounce.ask()
        if self._is_pooled:
            self._nearby.nudge()

    async def wait(self, seconds: float) -> None:
        await self._bell.wait(seconds)

    async def open(self) -> None:
        self._debounce = Debounce(self._pending.set)
        self._task = asyncio.create_task(self._keep_connected(), name="landfast notify")

    async def close(self) -> None:
        task, debounce = self._task, self._debounce
        self._task = self._debounce = None
        if debounce is not None:
            debounce.stop()
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._is_pooled:
            self._is_pooled = False
            await self._nearby.close()

    async def _keep_connected(self) -> None:
        while True:
            with suppress(*_LOST):
                connection = await asyncpg.connect(
                    self._dsn,
                    timeout=LISTEN_ANSWER_SECONDS,
                    command_timeout=LISTEN_ANSWER_SECONDS,
                    statement_cache_size=0,
                    server_settings={"application_name": "landfast wakeup"},
                )
                try:
                    await self._converse(connection)
                finally:
                    connection.terminate()
            await asyncio.sleep(LISTEN_RETRY_SECONDS)

    async def _converse(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        if await is_pooled(connection):
            await self._stay_nearby()
        else:
            await connection.add_listener(CHANNEL, lambda *_: self._bell.nudge())
        # A lost connection looks like something to send, and the attempt to send it fails at once.
        connection.add_termination_listener(lambda _: self._pending.set())
        # What was notified while nobody listened is lost: look once.
        self._bell.nudge()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LISTEN_PROBE_SECONDS):
                    await self._pending.wait()
            is_nudge = self._pending.is_set()
            self._pending.clear()
            try:
                await connection.execute(f"NOTIFY {CHANNEL}" if is_nudge else "SELECT 1")
            except _LOST:
                self._pending.set()
                raise

    async def _stay_nearby(self) -> None:
        """Others may still listen, at a direct address: we go on to notify."""
        if not self._is_pooled:
            telemetry.warn("pooled", fix="give store (LANDFAST_STORE) a direct address, if there is one")
            await self._nearby.open()
            self._is_pooled = True
