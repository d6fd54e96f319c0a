"""What alerts keep in the inbox: duties, incidents, silences, volumes, and messages that wait for a receiver."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import apsw

from landfast.domain.alerts.alert import Alert, NoticeKind, Silence
from landfast.domain.alerts.volumes import Volume
from landfast.domain.ids import BootId
from landfast.domain.message import DEADLY, Death, Message, WaitingMessage
from landfast.domain.rates import Meter
from landfast.inboxes.alert_rows import alert_of, alert_row, message_of
from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import SQL, ask
from landfast.ports.alerts import RESOLVED_KEPT_SECONDS
from landfast.ports.clock import Clock

VOLUMES_KEPT_SECONDS = 36 * 86_400.0
"""Five weeks, and a day to spare."""


class Alerting:
    _file: SqliteFile
    _clock: Clock

    @in_thread
    def lead(self, task: str, *, who: BootId, lasting: float, patience: float = 0.0) -> datetime | None:
        # Crash after the COMMIT: nobody does it until it has run out.
        now = self._clock.now()
        until, patient = rows.micros(now) + rows.micros_in(lasting), rows.micros_in(patience)
        held = {"task": task, "holder": who, "until": until, "patience": patient, "now": rows.micros(now)}
        with self._file.writing(durable=False) as connection:
            return now if ask(connection, "duty_take", held) else None

    @in_thread
    def resign(self, task: str, *, who: BootId) -> None:
        with self._file.writing(durable=False) as connection:
            ask(connection, "duty_resign", {"task": task, "holder": who})

    @in_thread
    def firing(self) -> Sequence[Alert]:
        with self._file.reading() as connection:
            return [alert_of(row, rows.moment) for row in ask(connection, "alerts_firing")]

    @in_thread
    def resolved(self, *, limit: int) -> Sequence[Alert]:
        with self._file.reading() as connection:
            return [alert_of(row, rows.moment) for row in ask(connection, "alerts_resolved", (limit,))]

    @in_thread
    def save_alerts(self, alerts: Sequence[Alert], messages: Sequence[Message], *, task: str, who: BootId) -> bool:
        # Crash before the COMMIT: the next look finds the same, and tells it. After it: the next sends the messages.
        now = rows.micros(self._clock.now())
        with self._file.writing(durable=True) as connection:
            if not ask(connection, "duty_check", {"task": task, "holder": who, "now": now}):
                return False
            connection.executemany(SQL["alert_save"], [alert_row(alert, rows.micros) for alert in alerts])
            _add(connection, messages, now)
            for statement in ("alerts_forget", "messages_forget"):
                ask(connection, statement, (now - rows.micros_in(RESOLVED_KEPT_SECONDS),))
        return True

    @in_thread
    def silences(self) -> Sequence[Silence]:
        with self._file.reading() as connection:
            found = ask(connection, "silences", (rows.micros(self._clock.now()),))
        return [
            Silence(name, subject, rows.moment(until), who, why, rows.moment(at))
            for name, subject, until, who, why, at in found
        ]

    @in_thread
    def silence(self, name: str, subject: str, *, lasting: float, who: str, why: str) -> datetime:
        now = rows.micros(self._clock.now())
        told = {"name": rows.text(name), "subject": rows.text(subject), "who": rows.text(who), "why": rows.text(why)}
        with self._file.writing(durable=True) as connection:
            ((until,),) = ask(connection, "silence", told | {"now": now, "until": now + rows.micros_in(lasting)})
        return rows.moment(until)

    @in_thread
    def unsilence(self, name: str, subject: str) -> bool:
        meant = {"name": rows.text(name), "subject": rows.text(subject), "now": rows.micros(self._clock.now())}
        with self._file.writing(durable=True) as connection:
            return ask(connection, "unsilence", meant) == [(1,)]

    @in_thread
    def untried_since(self) -> datetime | None:
        with self._file.reading() as connection:
            ((since,),) = ask(connection, "untried_since")
        return rows.moment_or_none(since)

    @in_thread
    def last_quarter(self) -> datetime | None:
        with self._file.reading() as connection:
            found = ask(connection, "last_quarter")
        return rows.moment(found[0][0]) if found else None

    @in_thread
    def add_volumes(self, quarters: Sequence[datetime], volumes: Sequence[Volume]) -> None:
        # Crash before the COMMIT: the quarters are added again.
        added = [rows.micros(quarter) for quarter in quarters]
        oldest = rows.micros(self._clock.now()) - rows.micros_in(VOLUMES_KEPT_SECONDS)
        found = [(rows.micros(one.quarter), one.meter, rows.text(one.name), one.count) for one in volumes]
        with self._file.writing(durable=False) as connection:
            connection.executemany(SQL["volumes_clear"], [{"quarter": one, "oldest": oldest} for one in added])
            connection.executemany(SQL["volumes_add"], [*((one, "", "", 0) for one in added), *found])

    @in_thread
    def volumes(self, quarters: Sequence[datetime]) -> tuple[Sequence[datetime], Sequence[Volume]]:
        with self._file.reading() as connection:
            asked = [(rows.micros(quarter),) for quarter in quarters]
            found = list(connection.executemany(SQL["volumes"], asked))
        counted = [rows.moment(quarter) for quarter, meter, _, _ in found if not meter]
        return counted, [Volume(rows.moment(row[0]), Meter(row[1]), row[2], row[3]) for row in found if row[1]]

    @in_thread
    def take_messages(self, sinks: Sequence[str], *, limit: int, lease: float) -> Sequence[WaitingMessage]:
        # Crash after the COMMIT: they are taken again once the lease is over.
        now = rows.micros(self._clock.now())
        asked = {"now": now, "until": now + rows.micros_in(lease)}
        found: list[tuple[object, ...]] = []
        with self._file.writing(durable=False) as connection:
            for sink in sinks:
                found += ask(connection, "messages_take", {**asked, "sink": sink, "limit": limit - len(found)})
        return [message_of(row, rows.moment) for row in sorted(found, key=lambda row: row[-1])]  # type: ignore[arg-type, return-value]

    @in_thread
    def drop_message(self, message: Message) -> None:
        # Crash before the COMMIT: it is sent again, under the same id.
        with self._file.writing(durable=False) as connection:
            ask(connection, "message_drop", (message.id, message.sink))

    @in_thread
    def put_off_message(self, message: Message, *, due_in: float | None, error: str) -> None:
        now = rows.micros(self._clock.now())
        due_at = None if due_in is None else now + rows.micros_in(due_in)
        told = {"id": message.id, "sink": message.sink, "error": rows.text(error), "due_at": due_at, "now": now}
        with self._file.writing(durable=False) as connection:
            ask(connection, "message_put_off", told)

    @in_thread
    def waiting_messages(self, *, limit: int) -> Sequence[WaitingMessage]:
        with self._file.reading() as connection:
            return [message_of(row, rows.moment) for row in ask(connection, "messages_waiting", (limit,))]

    @in_thread
    def walked_to(self, name: str) -> int | None:
        with self._file.reading() as connection:
            found = ask(connection, "walked_to", (name,))
        return found[0][0] if found else None

    @in_thread
    def deaths(self, *, after: int, upto: int, limit: int) -> Sequence[Death]:
        asked = {"after": after, "upto": upto, "limit": limit, "signals": json.dumps(DEADLY)}
        with self._file.reading() as connection:
            return [Death(*row) for row in ask(connection, "deaths", asked)]

    @in_thread
    def walk_on(self, name: str, *, seen: int | None, upto: int, messages: Sequence[Message]) -> bool:
        # Crash before the COMMIT: the walk goes over the same lines again.
        now = rows.micros(self._clock.now())
        with self._file.writing(durable=True) as connection:
            if not ask(connection, "walk_on", {"name": name, "seen": seen, "upto": upto}):
                return False
            _add(connection, messages, now)
        return True


def _add(connection: apsw.Connection, messages: Sequence[Message], now: int) -> None:
    for one in messages:
        told = {"id": one.id, "sink": one.sink, "incident": one.incident, "kind": one.kind, "now": now}
        repeats = one.kind == NoticeKind.REPEATED
        ask(connection, "message_add", told | {"content": rows.text(one.content), "repeats": int(repeats)})
