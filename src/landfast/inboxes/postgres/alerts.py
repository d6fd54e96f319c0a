"""What alerts keep in the inbox: duties, incidents, silences, volumes, and messages that wait for a receiver."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from landfast.domain.alerts.alert import Alert, NoticeKind, Silence
from landfast.domain.alerts.volumes import Volume
from landfast.domain.ids import BootId, EventId
from landfast.domain.message import DEADLY, Death, Message, WaitingMessage
from landfast.domain.micros import LONGEST_DELAY
from landfast.domain.rates import Meter
from landfast.inboxes.alert_rows import alert_of, alert_row, message_of
from landfast.inboxes.postgres import rows
from landfast.inboxes.postgres.connection import Connection, Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.ports.alerts import RESOLVED_KEPT_SECONDS


class Alerting:
    _connections: Connections

    async def lead(self, task: str, *, who: BootId, lasting: float, patience: float = 0.0) -> datetime | None:
        # Dead after the COMMIT: nobody does it until it has run out.
        async with self._connections.working() as connection:
            now: datetime | None = await connection.fetchval(SQL["duty_take"], task, who, lasting, patience)
        return now

    async def resign(self, task: str, *, who: BootId) -> None:
        async with self._connections.working() as connection:
            await connection.execute(SQL["duty_resign"], task, who)

    async def firing(self) -> Sequence[Alert]:
        async with self._connections.working() as connection:
            return [alert_of(row) for row in await connection.fetch(SQL["alerts_firing"])]

    async def resolved(self, *, limit: int) -> Sequence[Alert]:
        async with self._connections.working() as connection:
            return [alert_of(row) for row in await connection.fetch(SQL["alerts_resolved"], limit)]

    async def save_alerts(
        self, alerts: Sequence[Alert], messages: Sequence[Message], *, task: str, who: BootId
    ) -> bool:
        # Dead before the COMMIT: the next look finds the same, and tells it. After it: the next one sends the messages.
        async with self._connections.transaction() as connection:
            if await connection.fetchval(SQL["duty_check"], task, who) is None:
                return False
            await connection.executemany(SQL["alert_save"], [alert_row(alert) for alert in alerts])
            await _add(connection, messages)
            await connection.execute(SQL["alerts_forget"], RESOLVED_KEPT_SECONDS)
            await connection.execute(SQL["messages_forget"], RESOLVED_KEPT_SECONDS)
        return True

    async def silences(self) -> Sequence[Silence]:
        async with self._connections.working() as connection:
            return [Silence(*row) for row in await connection.fetch(SQL["silences"])]

    async def silence(self, name: str, subject: str, *, lasting: float, who: str, why: str) -> datetime:
        told = (rows.text(name), rows.text(subject), min(lasting, LONGEST_DELAY), rows.text(who), rows.text(why))
        async with self._connections.working() as connection:
            until: datetime = await connection.fetchval(SQL["silence"], *told)
        return until

    async def unsilence(self, name: str, subject: str) -> bool:
        async with self._connections.working() as connection:
            return bool(await connection.fetchval(SQL["unsilence"], rows.text(name), rows.text(subject)))

    async def untried_since(self) -> datetime | None:
        async with self._connections.working() as connection:
            since: datetime | None = await connection.fetchval(SQL["untried_since"])
        return since

    async def last_quarter(self) -> datetime | None:
        async with self._connections.working() as connection:
            last: datetime | None = await connection.fetchval(SQL["last_quarter"])
        return last

    async def add_volumes(self, quarters: Sequence[datetime], volumes: Sequence[Volume]) -> None:
        # Dead before the COMMIT: the quarters are added again.
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["volumes_clear"], quarters)
            counted = [(quarter, "", "", 0) for quarter in quarters]
            found = [(one.quarter, one.meter, rows.text(one.name), one.count) for one in volumes]
            await connection.executemany(SQL["volumes_add"], [*counted, *found])

    async def volumes(self, quarters: Sequence[datetime]) -> tuple[Sequence[datetime], Sequence[Volume]]:
        async with self._connections.working() as connection:
            found = await connection.fetch(SQL["volumes"], quarters)
        counted = [row["quarter"] for row in found if not row["meter"]]
        return counted, [Volume(row[0], Meter(row[1]), row[2], row[3]) for row in found if row["meter"]]

    async def take_messages(self, sinks: Sequence[str], *, limit: int, lease: float) -> Sequence[WaitingMessage]:
        # Dead after the COMMIT: they are taken again once the lease is over.
        async with self._connections.working() as connection:
            return [message_of(row) for row in await connection.fetch(SQL["messages_take"], sinks, limit, lease)]

    async def drop_message(self, message: Message) -> None:
        # Dead before the COMMIT: it is sent again, under the same id.
        async with self._connections.working() as connection:
            await connection.execute(SQL["message_drop"], message.id, message.sink)

    async def put_off_message(self, message: Message, *, due_in: float | None, error: str) -> None:
        async with self._connections.working() as connection:
            await connection.execute(SQL["message_put_off"], message.id, message.sink, due_in, rows.text(error))

    async def waiting_messages(self, *, limit: int) -> Sequence[WaitingMessage]:
        async with self._connections.working() as connection:
            return [message_of(row) for row in await connection.fetch(SQL["messages_waiting"], limit)]

    async def walked_to(self, name: str) -> int | None:
        async with self._connections.working() as connection:
            line: int | None = await connection.fetchval(SQL["walked_to"], name)
        return line

    async def deaths(self, *, after: int, upto: int, limit: int) -> Sequence[Death]:
        async with self._connections.working() as connection:
            found = await connection.fetch(SQL["deaths"], after, upto, limit, DEADLY)
        return [Death(row["seq"], EventId(row["event_id"]), row["run"]) for row in found]

    async def walk_on(self, name: str, *, seen: int | None, upto: int, messages: Sequence[Message]) -> bool:
        # Dead before the COMMIT: the walk goes over the same lines again.
        async with self._connections.transaction() as connection:
            if await connection.fetchval(SQL["walk_on"], name, seen, upto) is None:
                return False
            await _add(connection, messages)
        return True


async def _add(connection: Connection, messages: Sequence[Message]) -> None:
    for one in messages:
        content, repeats = rows.text(one.content), one.kind == NoticeKind.REPEATED
        await connection.execute(SQL["message_add"], one.id, one.sink, one.incident, one.kind, content, repeats)
