"""Intake's part: record deliveries, and keep count of them."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.census import TallyReport
from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.errors import InboxUnavailableError
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.housekeeping import off
from landfast.inboxes.postgres.statements import SQL


class Recording:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        if not deliveries:
            return []
        # Twins in one batch: the first of them is recorded.
        first = {delivery.event_id: place for place, delivery in reversed(list(enumerate(deliveries)))}
        placed = [(first[event], deliveries[first[event]]) for event in sorted(first)]
        statement, columns = "record", _columns(placed)
        if any(delivery.hold for delivery in deliveries):
            statement, columns = "record_held", [*columns, [delivery.hold for _, delivery in placed]]
        # Dead before the COMMIT: nothing was acknowledged. Dead after it: the sender's retry is a duplicate.
        async with self._connections.recording() as connection:
            rows = await connection.fetch(SQL[statement], *columns)
        if rows[0]["fsync"] != "on":  # somebody has switched it off since we looked; nothing was written
            raise InboxUnavailableError(off("fsync"))
        new = {first[row["event_id"]] for row in rows if row["event_id"] is not None}
        return [Recorded(delivery.event_id, place in new) for place, delivery in enumerate(deliveries)]

    async def tally(self, report: TallyReport) -> None:
        sources = sorted(report.sources.items())
        events = sorted(report.redelivered.items())
        # Dead before the COMMIT: the boot is unclean, and the counts of its last second are missing.
        async with self._connections.recording() as connection, connection.transaction():
            await connection.execute(SQL["tally_boot"], report.boot, report.ended)
            await connection.execute(
                SQL["tally_source"],
                report.boot,
                [name for name, _ in sources],
                [tally.received for _, tally in sources],
                [tally.stored for _, tally in sources],
                [tally.duplicate for _, tally in sources],
                [tally.rejected for _, tally in sources],
            )
            if report.meters:
                names, values = zip(*sorted(report.meters.items()), strict=True)
                await connection.execute(SQL["tally_meter"], report.boot, names, values)
            if events:
                counts = [count for _, count in events]
                await connection.execute(SQL["tally_redelivery"], [event for event, _ in events], counts)


def _columns(placed: Sequence[tuple[int, Delivery]]) -> list[list[object]]:
    return [
        [delivery.event_id for _, delivery in placed],
        [place for place, _ in placed],
        [delivery.received_at for _, delivery in placed],
        [delivery.source for _, delivery in placed],
        [delivery.key for _, delivery in placed],
        [delivery.type for _, delivery in placed],
        [delivery.entity for _, delivery in placed],
        [delivery.occurred_at for _, delivery in placed],
        [delivery.headers for _, delivery in placed],
        [delivery.body for _, delivery in placed],
    ]
