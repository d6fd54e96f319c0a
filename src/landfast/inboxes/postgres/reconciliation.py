"""The operators' part for comparisons with a provider's list: whose turn it is, and how far it has come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from landfast.domain.reconciliation import Reconciliation
from landfast.inboxes.postgres import rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL


class NotingReconciliations:
    _connections: Connections

    async def begin_reconciliation(
        self, source: str, *, token: bytes, lease: float, since: datetime
    ) -> Reconciliation | None:
        # Dead after it: the lease ends, and the next one goes on at the last place that was noted.
        async with self._connections.working() as connection:
            row = await connection.fetchrow(SQL["reconciliation_begin"], rows.text(source), token, lease, since)
        return None if row is None else Reconciliation(*row)

    async def note_reconciliation(
        self, source: str, *, token: bytes, lease: float, place: str | None, listed: int, missing: int, taken: int
    ) -> bool:
        # Dead before it: the page is read once more, and what was taken from it is known by then.
        values = (rows.text(source), token, lease, None if place is None else rows.text(place), listed, missing, taken)
        async with self._connections.working() as connection:
            return await connection.fetchval(SQL["reconciliation_note"], *values) is not None

    async def end_reconciliation(
        self, source: str, *, token: bytes, error: str = "", retry: float = 0.0, compared_until: datetime | None = None
    ) -> None:
        # Dead before it: the lease ends by itself.
        told = (rows.text(source), token, rows.text(error), retry, compared_until)
        async with self._connections.working() as connection:
            await connection.execute(SQL["reconciliation_end"], *told)

    async def reconciliations(self) -> Sequence[Reconciliation]:
        async with self._connections.working() as connection:
            return [Reconciliation(*row) for row in await connection.fetch(SQL["reconciliations"])]
