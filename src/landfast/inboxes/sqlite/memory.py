"""What the inbox remembers for others: for caches, for strict sources, and for all workers together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from landfast.domain.delivery import Delivery, Difference
from landfast.domain.ids import EventId
from landfast.domain.switch import Switch, SwitchKind
from landfast.inboxes.sqlite import boxes, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import SQL, ask
from landfast.ports.clock import Chance, Clock
from landfast.sealing import Seal


class Remembering:
    _file: SqliteFile
    _clock: Clock
    _chance: Chance
    _seal: Seal

    async def epoch(self) -> bytes:
        ((epoch,),) = await self._read("epoch", {})
        return bytes(epoch)

    async def renew_epoch(self, old: bytes) -> bytes:
        # Crash before the COMMIT: the old epoch is still there, and whoever notices next renews it.
        drawn = {"old": old, "drawn": self._chance.bytes(4)}
        ((epoch,),) = await self._write("renew_epoch", drawn)
        return bytes(epoch)

    async def mac_key(self) -> bytes:
        ((key,),) = await self._read("mac_key", {})
        return bytes(key)

    @in_thread
    def known(self, events: Sequence[EventId]) -> frozenset[EventId]:
        with self._file.reading() as connection:
            found = connection.executemany(SQL["known"], [(event,) for event in events])
            return frozenset(EventId(event) for (event,) in found)

    async def recent(self, since: datetime, limit: int) -> Sequence[EventId]:
        asked = {"since": rows.micros(since), "limit": limit}
        return [EventId(event) for (event,) in await self._read("recent", asked)]

    @in_thread
    def differing(self, deliveries: Sequence[Delivery]) -> Sequence[Difference | None]:
        asked = [{"event_id": one.event_id, "body": one.body, "type": rows.text(one.type)} for one in deliveries]
        with self._file.reading() as connection:
            found = [next(iter(ask(connection, "differing", one)), None) for one in asked]
            sealed = [boxes.difference(connection, self._seal, one) for one in deliveries]
        plain = [None if row is None else Difference(bool(row[0]), bool(row[1]), rows.moment(row[2])) for row in found]
        return [one or other for one, other in zip(plain, sealed, strict=True)]

    async def switches(self) -> Sequence[Switch]:
        found = await self._read("switches", {"now": rows.micros(self._clock.now())})
        return [rows.switch(row) for row in found]

    async def throw(
        self, kind: SwitchKind, name: str, *, why: str, who: str, lasting: float | None = None, at_once: bool = False
    ) -> None:
        # Crash before the COMMIT: not thrown, and whoever wanted it does it again.
        now = rows.micros(self._clock.now())
        told = {"kind": kind, "name": rows.text(name), "why": rows.text(why), "who": rows.text(who)}
        until = None if lasting is None else now + rows.micros_in(lasting)
        await self._write("throw", {**told, "now": now, "until": until, "at_once": int(at_once)})

    async def lift(self, kind: SwitchKind, name: str) -> bool:
        # Crash after the COMMIT: `resume` finds what it had paused without being told.
        return bool(await self._write("lift", {"kind": kind, "name": rows.text(name)}))

    @in_thread
    def _read(self, statement: str, values: dict[str, Any]) -> list[Any]:
        with self._file.reading() as connection:
            return ask(connection, statement, values)

    @in_thread
    def _write(self, statement: str, values: dict[str, Any]) -> list[Any]:
        with self._file.writing(durable=True) as connection:
            return ask(connection, statement, values)
