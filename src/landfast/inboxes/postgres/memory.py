"""What the inbox remembers for others: for caches, for strict sources, and for all workers together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime

from landfast.domain.delivery import Delivery, Difference
from landfast.domain.ids import EventId
from landfast.domain.micros import LONGEST_DELAY
from landfast.domain.switch import Switch, SwitchKind
from landfast.inboxes.postgres import boxes, rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.ports.clock import Chance
from landfast.sealing import Seal


class Remembering:
    _connections: Connections
    _chance: Chance
    _seal: Seal

    async def epoch(self) -> bytes:
        async with self._connections.recording() as connection:
            epoch: bytes = await connection.fetchval(SQL["epoch"])
        return epoch

    async def renew_epoch(self, old: bytes) -> bytes:
        # Dead before the COMMIT: the old epoch is still there, and whoever notices next renews it.
        async with self._connections.recording() as connection:
            epoch: bytes = await connection.fetchval(SQL["renew_epoch"], old, self._chance.bytes(4))
        return epoch

    async def mac_key(self) -> bytes:
        async with self._connections.recording() as connection:
            key: bytes = await connection.fetchval(SQL["mac_key"])
        return key

    async def known(self, events: Sequence[EventId]) -> frozenset[EventId]:
        async with self._connections.recording() as connection:
            return frozenset(EventId(event) for (event,) in await connection.fetch(SQL["known"], events))

    async def recent(self, since: datetime, limit: int) -> Sequence[EventId]:
        async with self._connections.working() as connection:
            return [EventId(event) for (event,) in await connection.fetch(SQL["recent"], since, limit)]

    async def differing(self, deliveries: Sequence[Delivery]) -> Sequence[Difference | None]:
        events = [delivery.event_id for delivery in deliveries]
        digests = [hashlib.sha256(delivery.body).digest() for delivery in deliveries]
        types = [rows.text(delivery.type) for delivery in deliveries]
        async with self._connections.recording() as connection:
            found = {row[0]: row[1:] for row in await connection.fetch(SQL["differing"], events, digests, types)}
            differences = {place: Difference(*row) for place, row in found.items()}
            differences |= await boxes.differing(connection, self._seal, deliveries)
        return [differences.get(place) for place in range(1, len(deliveries) + 1)]

    async def switches(self) -> Sequence[Switch]:
        async with self._connections.working() as connection:
            return [Switch(SwitchKind(row[0]), *row[1:]) for row in await connection.fetch(SQL["switches"])]

    async def throw(
        self, kind: SwitchKind, name: str, *, why: str, who: str, lasting: float | None = None, at_once: bool = False
    ) -> None:
        # Dead before the COMMIT: not thrown, and whoever wanted it does it again.
        told = (rows.text(name), rows.text(why), rows.text(who))
        async with self._connections.working() as connection:
            seconds = None if lasting is None else min(lasting, LONGEST_DELAY)
            await connection.execute(SQL["throw"], kind, *told, seconds, at_once)

    async def lift(self, kind: SwitchKind, name: str) -> bool:
        # Dead after the COMMIT: `resume` finds what it had paused without being told.
        async with self._connections.working() as connection:
            return await connection.fetchval(SQL["lift"], kind, rows.text(name)) is not None
