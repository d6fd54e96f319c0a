"""The operators' side: identity, show, replay, recover. Listings are in `find`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import apsw

from landfast.domain.ids import EventId, InboxId, ids_from
from landfast.domain.lifecycle import Signal, State
from landfast.domain.summary import EventRecord, in_hand_of
from landfast.inboxes.sqlite import boxes, history, rows
from landfast.inboxes.sqlite.connection import SqliteFile
from landfast.inboxes.sqlite.statements import SQL, ask
from landfast.ports.clock import Clock
from landfast.sealing import Seal, StoreKey

_WAYS_BACK: dict[Signal, tuple[tuple[str, State | None], ...]] = {
    Signal.REPLAY: (("replay", None), ("replay_done", State.DONE)),
    Signal.RECOVER: (("recover", State.DONE),),
}
"""The statements that may find the event, and whether it was done then."""


class Operating:
    _file: SqliteFile
    _clock: Clock
    _seal: Seal

    async def identity(self) -> InboxId:
        return InboxId(await self._file.run(partial(self._meta, "identity")))

    async def bound_ledger(self) -> str | None:
        name: str | None = await self._file.run(partial(self._meta, "bound_ledger"))
        return name

    async def bind_ledger(self, ledger: str) -> str:
        return await self._file.run(partial(self._bind, ledger))

    async def show(self, event: EventId) -> EventRecord | None:
        return await self._file.run(partial(self._show, event))

    async def expand(self, prefix: str) -> Sequence[EventId]:
        return await self._file.run(partial(self._expand, prefix))

    async def replay(self, events: Sequence[EventId], *, forced: bool, who: str) -> int:
        return await self._file.run(partial(self._replay, events, forced, who))

    async def recover(self, events: Sequence[EventId], *, who: str) -> int:
        return await self._file.run(partial(self._recover, events, who))

    async def store_keys(self) -> Sequence[StoreKey]:
        return await self._file.run(self._store_keys)

    async def rewrap(self, keys: Sequence[StoreKey]) -> None:
        await self._file.run(partial(self._rewrap, keys))

    def _store_keys(self) -> list[StoreKey]:
        with self._file.reading() as connection:
            return boxes.store_keys(connection)

    def _rewrap(self, keys: Sequence[StoreKey]) -> None:
        """Crash before the COMMIT: all of them are under the old master key, and the operator asks again."""
        with self._file.writing(durable=True) as connection:
            connection.executemany(SQL["store_key_rewrap"], [key._asdict() for key in keys])

    def _meta(self, statement: str) -> Any:
        with self._file.reading() as connection:
            return ask(connection, statement)[0][0]

    def _bind(self, ledger: str) -> str:
        """Crash before: bound to none, and the next start binds. After: bound for good."""
        if already := self._meta("bound_ledger"):
            return str(already)
        with self._file.writing(durable=True) as connection:
            ask(connection, "bind_ledger", {"ledger": ledger})
            bound: str = ask(connection, "bound_ledger")[0][0]
            return bound

    def _show(self, event: EventId) -> EventRecord | None:
        with self._file.reading() as connection:
            for seq, headers, body, tries, token, since in ask(connection, "show", (event,)):
                found = ask(connection, "find_summaries", (seq,)) or ask(connection, "find_bodiless", (seq, event))
                if not found:
                    break
                summary = rows.summary(found[0])
                lines = ask(connection, "history", (rows.micros(summary.received_at), event))
                history = tuple(rows.line(line) for line in lines)
                in_hand = in_hand_of(token, rows.moment_or_none(since))
                record = EventRecord(summary, headers, body, history, rows.tries(tries), in_hand)
                return boxes.open_record(connection, self._seal, record)
        return None

    def _expand(self, prefix: str) -> list[EventId]:
        with self._file.reading() as connection:
            return [EventId(event) for (event,) in ask(connection, "expand", ids_from(prefix))]

    def _replay(self, events: Sequence[EventId], forced: bool, who: str) -> int:  # noqa: FBT001 - through partial
        """Crash before the COMMIT: none of them; the operator asks again. After: run + 1 is ready, and asking again
        changes nothing, because what is ready is not replayed."""
        at = rows.micros(self._clock.now())
        back = partial(_make_ready, signal=Signal.REPLAY, at=at, who=who, forced=forced)
        with self._file.writing(durable=True) as connection:
            return sum(back(connection, event) for event in events)

    def _recover(self, events: Sequence[EventId], who: str) -> int:
        """Crash before the COMMIT: none of them; the operator asks again."""
        back = partial(_make_ready, signal=Signal.RECOVER, at=rows.micros(self._clock.now()), who=who)
        with self._file.writing(durable=True) as connection:
            return sum(back(connection, event) for event in events)


def _make_ready(
    connection: apsw.Connection, event: EventId, *, signal: Signal, at: int, who: str, forced: bool = False
) -> bool:
    """Back to work, from the shelf or from what is done; whether it was there."""
    for statement, was in _WAYS_BACK[signal]:
        for body_seq, received_at, run in ask(connection, statement, {"event_id": event, "forced": forced}):
            ask(connection, "unshelve", (body_seq, event))
            reason = "forced" if forced else ""
            history.add(connection, event, received_at, at=at, run=run, signal=signal, reason=reason, who=who, was=was)
            return True
    return False
