"""The workers' part for what they call: at which rate they do so together."""

from __future__ import annotations

from landfast.domain.turnstile import (
    QUEUE_SECONDS_AT_MOST,
    ROUNDING_SECONDS,
    Passage,
    burst_and_refill,
    passage_of,
)
from landfast.inboxes.postgres import rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL


class LettingThrough:
    _connections: Connections

    async def let_through(self, name: str, *, wanted: int, behind: int, rate: float, spacing: float) -> Passage:
        # Crash before the COMMIT: nobody was let through. After it: so many places are used up, and nobody used them.
        burst, refill = burst_and_refill(rate)
        limits = (spacing, refill, burst, ROUNDING_SECONDS, QUEUE_SECONDS_AT_MOST)
        asked = (rows.text(name), wanted, behind, *limits)
        async with self._connections.working() as connection:
            row = await connection.fetchrow(SQL["turnstile"], *asked)
            if row is None:
                await connection.execute(SQL["turnstile_set"], rows.text(name), 0.0, 0.0)
                row = await connection.fetchrow(SQL["turnstile"], *asked)
        granted, queue = row  # type: ignore[misc]
        return passage_of(granted, queue, wanted=wanted, behind=behind, spacing=spacing)
