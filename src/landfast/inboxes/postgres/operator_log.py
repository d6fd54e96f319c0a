"""The operators' part: the log of what they changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from landfast.domain.operator_log import End, Entry, Line, Step, end_at, line_after, mac_of
from landfast.inboxes import operator_log_key as keys
from landfast.inboxes.postgres import boxes
from landfast.inboxes.postgres.connection import Connection, Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.ports.clock import Chance
from landfast.sealing import Seal


class LoggingOperators:
    _connections: Connections
    _chance: Chance
    _seal: Seal

    async def add_to_operator_log(self, entry: Entry) -> Line:
        said = entry.storable()
        # Dead before the COMMIT: no line, and whoever wanted to change something has not begun.
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["operator_log_lock"])
            (found,) = await connection.fetch(SQL["operator_log_end"])
            key, box = await self._operator_log_key(connection, found["key"])
            mac = mac_of(key)
            end = None if found["seq"] is None else End(found["seq"], found["digest"], found["tag"])
            line = line_after(mac, end, found["at"], said)
            texts = (said.action, said.step, said.who, said.host, said.why, said.what)
            await connection.execute(SQL["operator_log_add"], line.seq, line.at, *texts, said.of, line.digest)
            new = end_at(mac, line)
            await connection.execute(SQL["operator_log_move"], new.seq, new.digest, new.tag, box)
        return line

    async def operator_log(self, *, after: int, upto: int, limit: int) -> Sequence[Line]:
        async with self._connections.working() as connection:
            return [_line(row) for row in await connection.fetch(SQL["operator_log"], after, upto, limit)]

    async def latest_operations(
        self, *, limit: int, before: int | None = None, since: datetime | None = None
    ) -> Sequence[Line]:
        async with self._connections.working() as connection:
            return [_line(row) for row in await connection.fetch(SQL["operator_log_latest"], before, since, limit)]

    async def operator_log_end(self) -> End | None:
        async with self._connections.working() as connection:
            (found,) = await connection.fetch(SQL["operator_log_end"])
        return None if found["seq"] is None else End(found["seq"], found["digest"], found["tag"])

    async def operator_log_key(self) -> bytes | None:
        async with self._connections.working() as connection:
            (found,) = await connection.fetch(SQL["operator_log_end"])
            return None if found["key"] is None else (await self._operator_log_key(connection, found["key"]))[0]

    async def _operator_log_key(self, connection: Connection, box: bytes | None) -> tuple[bytes, bytes]:
        if keys.lacks(self._seal, box):
            self._seal.learn(await boxes.store_keys(connection))
        key, kept = keys.opened(self._seal, box, self._chance)
        if kept != box and self._seal.store_key is not None:
            await connection.execute(SQL["record_store_key"], *self._seal.store_key)
        return key, kept


def _line(row: Any) -> Line:
    entry = Entry(row["action"], Step(row["step"]), row["who"], row["host"], row["why"], row["what"], row["asked_by"])
    return Line(row["seq"], row["at"], entry, row["digest"])
