"""Which events still need their receipts, for the ledger: what is old and known, and whatever is unfinished."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.retention_plan import EARLIEST
from landfast.inboxes.postgres.statements import SQL


class Living:
    _connections: Connections

    async def living(self, *, older_than: float, chunk: int) -> AsyncIterator[Sequence[tuple[str, str]]]:
        at: tuple[datetime, bytes] = EARLIEST, b""
        while True:
            async with self._connections.working() as connection:
                found = await connection.fetch(SQL["retain_living"], older_than, *at, chunk)
            if not found:
                break
            yield [(row["source"], row["key"]) for row in found]
            at = found[-1]["received_at"], found[-1]["event_id"]
        after = b""
        while True:
            async with self._connections.working() as connection:
                found = await connection.fetch(SQL["retain_waiting"], older_than, after, chunk)
            if not found:
                return
            # Those that are older were among the first.
            if fresh := [(row["source"], row["key"]) for row in found if row["source"] is not None]:
                yield fresh
            after = found[-1]["event_id"]
