"""Rates, heartbeats and rejections: what the processes tell of themselves, and what flows through them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import asyncpg
import msgspec

from landfast.domain.flow import FLOWS_AT_MOST
from landfast.domain.ids import BootId
from landfast.domain.rates import (
    FOLDED_AT_ONCE,
    GONE_KEPT,
    HOUR_SECONDS,
    HOURS_KEPT,
    MINUTE_SECONDS,
    MINUTES_KEPT,
    REJECTIONS_KEPT,
    REJECTIONS_KEPT_OF_ONE,
    Heartbeat,
    Latest,
    Meter,
    Rate,
    Rejection,
    Waiting,
    by_the_hour,
    summed,
)
from landfast.inboxes.postgres import rows
from landfast.inboxes.postgres.connection import Connection, Connections
from landfast.inboxes.postgres.statements import SQL

SPANS = (MINUTE_SECONDS, HOUR_SECONDS)

METERS = {str(meter): meter for meter in Meter}
"""By name: `Meter(name)` is a quarter of what it takes to read a row, and a day has thousands of rows."""


class Rating:
    _connections: Connections
    boot: BootId

    async def add_rates(self, rates: Sequence[Rate], *, report: int | None = None) -> None:
        # Dead before the COMMIT: up to a second of counts is missing. Dead after it: the report comes again, and its
        # number is known.
        async with self._connections.working() as connection:
            await _add(connection, rates, self.boot, report)

    async def rates(
        self,
        since: datetime,
        until: datetime | None = None,
        *,
        meters: Collection[Meter] | None = None,
        source: str | None = None,
    ) -> Sequence[Rate]:
        wanted = None if meters is None else [*meters]
        async with self._connections.working() as connection:
            return [_rate(row) for row in await connection.fetch(SQL["rates"], SPANS, since, until, wanted, source)]

    async def latest_rates(self) -> Sequence[Latest]:
        async with self._connections.working() as connection:
            return [Latest(Meter(row[0]), *row[1:]) for row in await connection.fetch(SQL["rates_latest"])]

    async def fold_rates(self) -> bool:
        # Dead before the COMMIT: the minutes are still there.
        async with self._connections.transaction() as connection:
            minutes = await _take(connection, MINUTE_SECONDS, MINUTES_KEPT.total_seconds())
            if minutes:
                await _add(connection, by_the_hour(minutes), self.boot, None)
            hours = await _take(connection, HOUR_SECONDS, HOURS_KEPT.total_seconds())
            await connection.execute(SQL["heartbeats_drop"], GONE_KEPT.total_seconds())
            await connection.execute(SQL["rate_reports_drop"], GONE_KEPT.total_seconds())
            await connection.execute(SQL["rejections_drop"], HOURS_KEPT.total_seconds())
        return max(len(minutes), len(hours)) == FOLDED_AT_ONCE

    async def beat(self, heartbeat: Heartbeat) -> None:
        told = (heartbeat.role, rows.text(heartbeat.host), heartbeat.pid, heartbeat.started_at, heartbeat.seen_at)
        doing = rows.text(msgspec.json.encode(heartbeat.doing).decode())
        async with self._connections.working() as connection:
            await connection.execute(SQL["beat"], heartbeat.boot, *told, doing)

    async def heartbeats(self) -> Sequence[Heartbeat]:
        async with self._connections.working() as connection:
            return [_heartbeat(row) for row in await connection.fetch(SQL["heartbeats"])]

    async def leave(self, boot: BootId) -> None:
        async with self._connections.working() as connection:
            await connection.execute(SQL["leave"], boot)

    async def waiting(self) -> Sequence[Waiting]:
        async with self._connections.working() as connection:
            return [Waiting(*row) for row in await connection.fetch(SQL["waiting"], FLOWS_AT_MOST)]

    async def add_rejections(self, rejections: Sequence[Rejection]) -> None:
        if not rejections:
            return
        columns = zip(*[_rejected(one) for one in rejections], strict=True)
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["rejection_add"], self.boot, *map(list, columns))
            await connection.execute(SQL["rejections_trim"], REJECTIONS_KEPT, REJECTIONS_KEPT_OF_ONE)

    async def rejections(
        self, *, since: datetime | None = None, source: str | None = None, limit: int = 100
    ) -> Sequence[Rejection]:
        async with self._connections.working() as connection:
            found = await connection.fetch(SQL["rejections"], since, source, limit)
        return [_rejection(row) for row in found]


async def _add(connection: Connection, rates: Sequence[Rate], boot: BootId, report: int | None) -> None:
    columns = zip(*[_counted(rate) for rate in summed(rates)], strict=True)
    if rates:
        await connection.execute(SQL["rate_add"], boot, report, *map(list, columns))


async def _take(connection: Connection, span: int, kept: float) -> list[Rate]:
    return [_rate(row) for row in await connection.fetch(SQL["rates_take"], span, kept, FOLDED_AT_ONCE)]


def _counted(rate: Rate) -> tuple[object, ...]:
    texts = map(rows.text, rate.key)
    return (rate.seconds, rate.minute, *texts, rate.count, f"{{{','.join(map(str, rate.histogram))}}}")


def _rate(row: asyncpg.Record) -> Rate:
    minute, meter, source, type_, handler, detail, count, histogram, seconds = row
    return Rate(minute, METERS[meter], source, type_, handler, detail, count, tuple(histogram), seconds)


def _heartbeat(row: asyncpg.Record) -> Heartbeat:
    boot, role, host, pid, started_at, seen_at, doing, skew, age = row
    return Heartbeat(
        BootId(boot), role, host, pid, started_at, seen_at, msgspec.json.decode(doing), skew=skew, age=max(0.0, age)
    )


def _rejected(one: Rejection) -> tuple[object, ...]:
    keyed = (one.minute, rows.text(one.source), rows.text(one.cause), rows.text(one.address))
    return (*keyed, one.at, rows.text(one.path), one.status, rows.text(" ".join(one.headers)), one.count)


def _rejection(row: asyncpg.Record) -> Rejection:
    at, source, path, address, cause, status, headers, count = row
    return Rejection(at, source, path, address, cause, status, tuple(headers.split()), count)
