"""The operators' side: look at an event, and send events through again. Listings are in `find`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from landfast.domain.ids import EventId, HandlerName, InboxId, ids_from
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import NextRun
from landfast.domain.summary import EventRecord, HistoryLine, in_hand_of
from landfast.inboxes.sqlite import boxes, moves, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import SQL, ask
from landfast.ports.clock import Clock
from landfast.sealing import Seal, StoreKey


class Archiving:
    _file: SqliteFile
    _clock: Clock
    _seal: Seal

    async def identity(self) -> InboxId:
        return InboxId(await self._meta("identity"))

    async def bound_ledger(self) -> str | None:
        name: str | None = await self._meta("bound_ledger")
        return name

    async def bind_ledger(self, ledger: str) -> str:
        return await self.bound_ledger() or await self._bind(ledger)

    @in_thread
    def show(self, event: EventId) -> EventRecord | None:
        with self._file.reading() as connection:
            for seq, headers, body, tries, token, since, came_again in ask(connection, "show", (event,)):
                found = ask(connection, "find_summaries", (seq,)) or ask(connection, "find_bodiless", (seq, event))
                if not found:
                    break
                summary = rows.summary(found[0])
                lines = ask(connection, "history", (rows.micros(summary.received_at), event))
                history = tuple(rows.line(line) for line in lines)
                in_hand = in_hand_of(token, rows.moment_or_none(since))
                again = rows.moments_of(came_again)
                record = EventRecord(summary, headers, body, history, rows.tries(tries), in_hand, again)
                return boxes.open_record(connection, self._seal, record)
        return None

    @in_thread
    def lately(self, *, limit: int) -> Sequence[HistoryLine]:
        with self._file.reading() as connection:
            return [rows.line(line).without_texts() for line in ask(connection, "lately", (limit,))]

    @in_thread
    def expand(self, prefix: str) -> Sequence[EventId]:
        with self._file.reading() as connection:
            return [EventId(event) for (event,) in ask(connection, "expand", ids_from(prefix))]

    @in_thread
    def replay(self, events: Sequence[EventId], *, forced: bool, who: str, only: HandlerName | None = None) -> int:
        """Crash before the COMMIT: none of them; the operator asks again. After: run + 1 is ready, and asking again
        changes nothing, because what is ready is not replayed."""
        back = partial(moves.make_ready, signal=Signal.REPLAY, at=rows.micros(self._clock.now()), who=who)
        with self._file.writing(durable=True) as connection:
            return sum(back(connection, event=event, how=NextRun(forced, only)) for event in events)

    @in_thread
    def recover(self, events: Sequence[EventId], *, who: str) -> int:
        """Crash before the COMMIT: none of them; the operator asks again."""
        back = partial(moves.make_ready, signal=Signal.RECOVER, at=rows.micros(self._clock.now()), who=who)
        with self._file.writing(durable=True) as connection:
            return sum(back(connection, event=event) for event in events)

    @in_thread
    def store_keys(self) -> Sequence[StoreKey]:
        with self._file.reading() as connection:
            return boxes.store_keys(connection)

    @in_thread
    def rewrap(self, keys: Sequence[StoreKey]) -> None:
        """Crash before the COMMIT: all of them are under the old master key, and the operator asks again."""
        with self._file.writing(durable=True) as connection:
            connection.executemany(SQL["store_key_rewrap"], [key._asdict() for key in keys])

    @in_thread
    def _meta(self, statement: str) -> Any:
        with self._file.reading() as connection:
            return ask(connection, statement)[0][0]

    @in_thread
    def _bind(self, ledger: str) -> str:
        """Crash before: bound to none, and the next start binds. After: bound for good."""
        with self._file.writing(durable=True) as connection:
            ask(connection, "bind_ledger", {"ledger": ledger})
            bound: str = ask(connection, "bound_ledger")[0][0]
            return bound
