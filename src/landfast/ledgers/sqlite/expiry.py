"""Forgetting on SQLite: a walk through each table in the order of its key, a few rows at a time."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any

from landfast.domain.effect import WAITS, EffectState
from landfast.domain.expiry import CLOCKS_DIFFER_SECONDS, Expired, LedgerAges, Place
from landfast.domain.ids import InboxId, ReceiptDigest
from landfast.domain.micros import micros, micros_in, moment
from landfast.domain.retention import DAY_SECONDS
from landfast.ledgers.sqlite import rows

ROWS_AT_ONCE = 500
"""Rows that one step looks at, about 2 ms if all of them go: handlers wait for it."""

RECEIPTS, EFFECTS, MARKS, STATES, ARRIVALS = "receipt", "effect", "mark", "state", "arrival"

_NEXT = {MARKS: Place(STATES, b""), STATES: Place(ARRIVALS, "")}


class SqliteExpiry:
    """An ExpiringLedger. Crash before the COMMIT of a step: the next walk finds the same rows."""

    _now: Callable[[], int]
    _write: Callable[..., Coroutine[Any, Any, Any]]
    _read: Callable[..., Coroutine[Any, Any, Sequence[sqlite3.Row]]]

    async def keep(self, inbox: InboxId, digests: Sequence[ReceiptDigest]) -> None:
        now = self._now()
        named = [{"digest": digest, "inbox": inbox, "now": now} for digest in digests]
        await self._write(lambda connection: connection.executemany(rows.SQL["keep"], named))

    async def set_kept_to(self, inbox: InboxId, moment: datetime, *, forget_after: float) -> None:
        asked = {
            "inbox": inbox,
            "moment": micros(moment),
            "before": self._now() - micros_in(forget_after + DAY_SECONDS),
        }

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(rows.SQL["kept_to_set"], asked)
            connection.execute(rows.SQL["kept_forget"], asked)

        await self._write(work)

    async def kept_to(self) -> Mapping[InboxId, datetime | None]:
        found = await self._read("kept_to", {})
        return {InboxId(row["inbox"]): None if row["kept_to"] is None else moment(row["kept_to"]) for row in found}

    async def expire(self, ages: LedgerAges, *, at: Place | None = None) -> Expired:
        place = at or Place(RECEIPTS, b"")
        now = self._now()
        asked: dict[str, Any] = {
            "after": place.after,
            "rows": ROWS_AT_ONCE,
            "before": _before(now, ages.receipts),
            "margin": micros_in(CLOCKS_DIFFER_SECONDS),
            "done": EffectState.DONE,
            "done_before": _before(now, ages.done_effects),
            "dead": EffectState.DEAD,
            "dead_before": _before(now, ages.dead_effects),
            "waiting": WAITS,
        }
        # The end of the step is looked up without the writer's lock: what is added meanwhile is young.
        found = await self._read(f"expire_{place.table}s_upto", asked)
        asked["upto"] = found[0][0] if found else None
        rest = Place(place.table, asked["upto"]) if found else None
        gone = await self._write(lambda connection: _expire(connection, place.table, asked, is_last=not found))
        if place.table == RECEIPTS:
            return Expired(receipts=gone, rest=rest or Place(EFFECTS, 0))
        if place.table == EFFECTS:
            return Expired(effects=gone, rest=rest or Place(MARKS, b""))
        return Expired(lanes=gone, rest=rest or _NEXT.get(place.table))

    async def unbind(self, inbox: InboxId) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            connection.execute(rows.SQL["kept_drop"], {"inbox": inbox})
            return bool(connection.execute(rows.SQL["unbind"], {"inbox": inbox}).rowcount)

        return bool(await self._write(work))


def _before(now: int, age: float) -> int:
    return now - micros_in(age) if math.isfinite(age) else 0


def _expire(connection: sqlite3.Connection, table: str, asked: dict[str, Any], *, is_last: bool) -> int:
    gone = connection.execute(rows.SQL[f"{table}s_expire"], asked).rowcount
    if table == EFFECTS and is_last:
        connection.execute(rows.SQL["waits_expire"])
        connection.execute(rows.SQL["erased_expire"], asked)
    return gone
