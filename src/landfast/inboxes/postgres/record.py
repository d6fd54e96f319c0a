"""Intake's part: record deliveries, and keep count of them."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.census import TOLD, TallyReport
from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.ids import BootId
from landfast.domain.lane import place_of
from landfast.domain.lifecycle import State
from landfast.domain.proofs import contradicted, first_bodies, have_proofs
from landfast.domain.summary import CAME_AGAIN_AT_MOST
from landfast.inboxes.postgres.connection import Connection, Connections
from landfast.inboxes.postgres.housekeeping import off
from landfast.inboxes.postgres.statements import SQL
from landfast.sealing import Seal

BATCHES_PER_SLOT = 1_000
"""Batches that are counted in one row. Under an open snapshot, a dump say, each leaves a version of the row behind, and
an update went from 244 to 723 microseconds after 15,000 of them; with a new row every 1,000 it stayed below 370."""

COLUMNS = 10
"""Of a batch, one value for each event in each."""


class Recording:
    _connections: Connections
    _seal: Seal
    boot: BootId
    _batches = 0

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        if not deliveries:
            return []
        slot = self._slot()
        # Dead before the COMMIT: nothing was acknowledged. Dead after it: the sender's retry is a duplicate.
        if have_proofs(deliveries):
            async with self._connections.recording() as connection, connection.transaction():
                return await self._store_proven(connection, deliveries, slot)
        async with self._connections.recording() as connection:
            return await self._store(connection, deliveries, slot)

    async def record_drained(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        if not deliveries:
            return []
        slot = -1 - self._slot()
        # A request may name one event twice, and is one delivery of it.
        once = {(one.event_id, one.received_at): one.source for one in deliveries}
        columns = list(once.values()), [event for event, _ in once], [received_at for _, received_at in once]
        # Dead after the COMMIT, before they are let go of: they are taken again, stored no more and counted no more.
        async with self._connections.recording() as connection, connection.transaction():
            await connection.execute(SQL["count_drained"], self.boot, slot, *columns)
            return await self._store_proven(connection, deliveries, slot)

    def _slot(self) -> int:
        self._batches += 1
        return self._batches // BATCHES_PER_SLOT

    async def _store_proven(
        self, connection: Connection, deliveries: Sequence[Delivery], slot: int
    ) -> Sequence[Recorded]:
        """As `_store`, but for those whose proof counts for another body. In one transaction with the rest: a proof
        that is not remembered together with its event would count for a second one."""
        disproven = await _disproven(connection, deliveries) if have_proofs(deliveries) else frozenset()
        kept = [delivery for place, delivery in enumerate(deliveries) if place not in disproven]
        stored = iter(await self._store(connection, kept, slot))
        return [
            Recorded(delivery.event_id, is_new=False, is_disproven=True) if place in disproven else next(stored)
            for place, delivery in enumerate(deliveries)
        ]

    async def _store(self, connection: Connection, deliveries: Sequence[Delivery], slot: int) -> Sequence[Recorded]:
        # Twins in one batch: the first of them is recorded.
        first = {delivery.event_id: place for place, delivery in reversed(list(enumerate(deliveries)))}
        placed = [(place, deliveries[place]) for place in sorted(first.values())]
        statement, columns = "record", _columns(placed, self._seal)
        if any(delivery.hold for delivery in deliveries):
            statement, columns = "record_held", [*columns, [delivery.hold for _, delivery in placed]]
        store_key = self._seal.store_key or (None, None, None)
        held = [State.HELD] if statement == "record_held" else []
        rows = await connection.fetch(SQL[statement], *columns, self.boot, slot, *store_key, *held)
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
                *([getattr(tally, name) for _, tally in sources] for name in TOLD),
            )
            if report.meters:
                names, values = zip(*sorted(report.meters.items()), strict=True)
                await connection.execute(SQL["tally_meter"], report.boot, names, values)
            if events:
                counts = [count for _, count in events]
                came = [event for event, _ in events]
                await connection.execute(SQL["tally_redelivery"], came, counts, CAME_AGAIN_AT_MOST - 1)


async def _disproven(connection: Connection, deliveries: Sequence[Delivery]) -> frozenset[int]:
    """The places of those whose proof counts for another body. A known event is a duplicate, whatever proves it."""
    columns = zip(*first_bodies(deliveries), strict=True)
    bound = {row["proof"]: row["digest"] for row in await connection.fetch(SQL["bind_proofs"], *map(list, columns))}
    others = contradicted(deliveries, bound)
    if not others:
        return frozenset()
    events = [deliveries[place].event_id for place in others]
    known = {event for (event,) in await connection.fetch(SQL["known"], events)}
    return frozenset(place for place in others if deliveries[place].event_id not in known)


def _columns(placed: Sequence[tuple[int, Delivery]], seal: Seal) -> list[Sequence[object] | None]:
    """In the order of arrival."""
    rows = [
        (what.event_id, what.received_at, what.source, what.key, what.type, what.entity, what.occurred_at,
         *seal.event(what.event_id, what.headers, what.body))
        for _, what in placed
    ]  # fmt: skip
    *columns, data_keys = zip(*rows, strict=True) if rows else [()] * COLUMNS
    places = b"".join([place_of(what.occurred_at, what.received_at, place) for place, what in placed])
    return [*columns, places, data_keys if seal.is_on else None]
