"""Rates, heartbeats and rejections: what the processes tell of themselves, and what flows through them.

None of it is worth an fsync: what a power loss takes is a few seconds of counts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

import apsw
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
from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import SQL, ask
from landfast.ports.clock import Clock

SPANS = json.dumps([MINUTE_SECONDS, HOUR_SECONDS])

LAST_MOMENT = 2**62
"""Later than any time: for a reader that names no end."""


class Rating:
    _file: SqliteFile
    _clock: Clock
    boot: BootId

    @in_thread
    def add_rates(self, rates: Sequence[Rate], *, report: int | None = None) -> None:
        # Crash before the COMMIT: up to a second of counts is missing. After it: the report comes again, and its number
        # is known.
        with self._file.writing(durable=False) as connection:
            now = rows.micros(self._clock.now())
            told = {"boot": self.boot, "number": report, "now": now}
            if rates and (report is None or ask(connection, "rate_report", told)):
                _add(connection, rates)
                connection.executemany(SQL["rate_latest"], [_last(rate, now) for rate in rates])

    @in_thread
    def rates(
        self,
        since: datetime,
        until: datetime | None = None,
        *,
        meters: Collection[Meter] | None = None,
        source: str | None = None,
    ) -> Sequence[Rate]:
        asked = {
            "seconds": SPANS,
            "since": rows.micros(since),
            "until": LAST_MOMENT if until is None else rows.micros(until),
            "meters": None if meters is None else json.dumps([*meters]),
            "source": source,
        }
        with self._file.reading() as connection:
            return [_rate(row) for row in ask(connection, "rates", asked)]

    @in_thread
    def latest_rates(self) -> Sequence[Latest]:
        with self._file.reading() as connection:
            found = ask(connection, "rates_latest")
        return [Latest(Meter(meter), source, handler, rows.moment(at)) for meter, source, handler, at in found]

    @in_thread
    def fold_rates(self) -> bool:
        now = self._clock.now()
        # Crash before the COMMIT: the minutes are still there.
        with self._file.writing(durable=False) as connection:
            minutes = _take(connection, MINUTE_SECONDS, now - MINUTES_KEPT)
            _add(connection, by_the_hour(minutes))
            hours = _take(connection, HOUR_SECONDS, now - HOURS_KEPT)
            gone = {"before": _before(now, GONE_KEPT)}
            ask(connection, "heartbeats_drop", gone)
            ask(connection, "rate_reports_drop", gone)
            ask(connection, "rejections_drop", {"before": _before(now, HOURS_KEPT)})
        return max(len(minutes), len(hours)) == FOLDED_AT_ONCE

    @in_thread
    def beat(self, heartbeat: Heartbeat) -> None:
        now = self._clock.now()
        told = {
            "boot": heartbeat.boot,
            "role": heartbeat.role,
            "host": rows.text(heartbeat.host),
            "pid": heartbeat.pid,
            "started_at": rows.micros(heartbeat.started_at),
            "now": rows.micros(now),
            "skew": (heartbeat.seen_at - now).total_seconds(),
            "doing": rows.text(msgspec.json.encode(heartbeat.doing).decode()),
        }
        with self._file.writing(durable=False) as connection:
            ask(connection, "beat", told)

    @in_thread
    def heartbeats(self) -> Sequence[Heartbeat]:
        with self._file.reading() as connection:
            return [_heartbeat(row) for row in ask(connection, "heartbeats", {"now": rows.micros(self._clock.now())})]

    @in_thread
    def leave(self, boot: BootId) -> None:
        with self._file.writing(durable=False) as connection:
            ask(connection, "leave", (boot,))

    @in_thread
    def waiting(self) -> Sequence[Waiting]:
        with self._file.reading() as connection:
            found = ask(connection, "waiting", {"limit": FLOWS_AT_MOST})
        return [Waiting(source, type_, rows.moment_or_none(since)) for source, type_, since in found]

    @in_thread
    def add_rejections(self, rejections: Sequence[Rejection]) -> None:
        if not rejections:
            return
        with self._file.writing(durable=False) as connection:
            connection.executemany(SQL["rejection_add"], [_rejected(self.boot, one) for one in rejections])
            ask(connection, "rejections_trim", {"kept": REJECTIONS_KEPT, "kept_of_one": REJECTIONS_KEPT_OF_ONE})

    @in_thread
    def rejections(
        self, *, since: datetime | None = None, source: str | None = None, limit: int = 100
    ) -> Sequence[Rejection]:
        asked = {"since": rows.micros_or_none(since), "source": source, "limit": limit}
        with self._file.reading() as connection:
            found = ask(connection, "rejections", asked)
        return [_rejection((rows.moment(at), *told)) for at, *told in found]


def _add(connection: apsw.Connection, rates: Sequence[Rate]) -> None:
    connection.executemany(SQL["rate_add"], [_counted(rate) for rate in summed(rates)])


def _take(connection: apsw.Connection, span: int, before: datetime) -> list[Rate]:
    asked = {"seconds": span, "before": rows.micros(before), "limit": FOLDED_AT_ONCE}
    return [_rate(row) for row in ask(connection, "rates_take", asked)]


def _before(now: datetime, kept: timedelta) -> int:
    return rows.micros(now - kept)


def _counted(rate: Rate) -> tuple[object, ...]:
    texts = map(rows.text, rate.key)
    return (rate.seconds, rows.micros(rate.minute), *texts, rate.count, json.dumps(rate.histogram))


def _last(rate: Rate, now: int) -> tuple[object, ...]:
    over = rows.micros(rate.minute) + rows.micros_in(MINUTE_SECONDS)
    return (rate.meter, rows.text(rate.source), rows.text(rate.handler), min(now, over))


def _rate(row: Sequence[Any]) -> Rate:
    minute, meter, source, type_, handler, detail, count, histogram, seconds = row
    buckets = tuple(json.loads(histogram))
    return Rate(rows.moment(minute), Meter(meter), source, type_, handler, detail, count, buckets, seconds)


def _heartbeat(row: Sequence[Any]) -> Heartbeat:
    boot, role, host, pid, started_at, seen_at, doing, skew, age = row
    times = rows.moment(started_at), rows.moment(seen_at)
    return Heartbeat(BootId(boot), role, host, pid, *times, msgspec.json.decode(doing), skew=skew, age=max(0.0, age))


def _rejected(boot: BootId, one: Rejection) -> tuple[object, ...]:
    keyed = (rows.micros(one.minute), boot, rows.text(one.source), rows.text(one.cause), rows.text(one.address))
    told = (rows.micros(one.at), rows.text(one.path), one.status, rows.text(" ".join(one.headers)), one.count)
    return (*keyed, *told)


def _rejection(row: Sequence[Any]) -> Rejection:
    at, source, path, address, cause, status, headers, count = row
    return Rejection(at, source, path, address, cause, status, tuple(headers.split()), count)
