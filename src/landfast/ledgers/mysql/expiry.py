"""Forgetting on MySQL: a walk through each table in the order of its key, a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from landfast.domain.effect import WAITS, EffectState
from landfast.domain.expiry import CLOCKS_DIFFER_SECONDS, Expired, LedgerAges, Place
from landfast.domain.ids import InboxId, ReceiptDigest
from landfast.domain.micros import micros_in
from landfast.domain.retention import DAY_SECONDS
from landfast.ledgers.mysql import rows
from landfast.ledgers.mysql.statements import Statements, change_all
from landfast.ledgers.rows import Row

ROWS_AT_ONCE = 1_000
"""Rows that one step looks at, some 20 ms if all of them go. It locks no others."""

ENDLESS_SECONDS = 900 * 365 * DAY_SECONDS
"""What an infinite age is to a server whose calendar begins with the year 1000."""

RECEIPTS, EFFECTS, MARKS, STATES, ARRIVALS = "receipt", "effect", "mark", "state", "arrival"

_NEXT = {MARKS: Place(STATES, b""), STATES: Place(ARRIVALS, "")}


class MysqlExpiry:
    """An ExpiringLedger. Crash before the COMMIT of a step: the next walk finds the same rows."""

    _run: Callable[..., Coroutine[Any, Any, Any]]
    _fetch: Callable[..., Coroutine[Any, Any, Sequence[Row]]]

    async def keep(self, inbox: InboxId, digests: Sequence[ReceiptDigest]) -> None:
        named = [{"digest": digest, "inbox": inbox} for digest in sorted(set(digests))]
        await self._run(lambda statements: change_all(statements, "keep", named))

    async def set_kept_to(self, inbox: InboxId, moment: datetime, *, forget_after: float) -> None:
        at = moment.astimezone(UTC).replace(tzinfo=None)
        asked = {"inbox": inbox, "moment": at, "forget_after": micros_in(forget_after)}

        async def work(statements: Statements) -> None:
            for name in ("kept_to_set", "kept_forget"):
                await statements.execute(rows.SQL[name], asked)

        await self._run(work)

    async def kept_to(self) -> Mapping[InboxId, datetime | None]:
        found = await self._fetch("kept_to")
        return {InboxId(row["inbox"]): row["kept_to"] and row["kept_to"].replace(tzinfo=UTC) for row in found}

    async def expire(self, ages: LedgerAges, *, at: Place | None = None) -> Expired:
        place = at or Place(RECEIPTS, b"")
        asked: dict[str, Any] = {name: micros_in(min(age, ENDLESS_SECONDS)) for name, age in asdict(ages).items()}
        asked |= {"after": place.after, "rows": ROWS_AT_ONCE, "margin": micros_in(CLOCKS_DIFFER_SECONDS)}
        asked |= {"done": EffectState.DONE.value, "dead": EffectState.DEAD.value, "waiting": WAITS.value}

        async def work(statements: Statements) -> tuple[int, bytes | int | None]:
            found = await statements.fetch(rows.SQL[f"expire_{place.table}s_upto"], asked)
            upto = found[0]["upto"] if found else None
            gone = await statements.execute(rows.SQL[f"{place.table}s_expire"], asked | {"upto": upto})
            if place.table == EFFECTS and upto is None:
                await statements.execute(rows.SQL["waits_expire"])
                await statements.execute(rows.SQL["erased_expire"], asked)
            return gone, upto

        gone, upto = await self._run(work)
        rest = None if upto is None else Place(place.table, upto)
        if place.table == RECEIPTS:
            return Expired(receipts=gone, rest=rest or Place(EFFECTS, 0))
        if place.table == EFFECTS:
            return Expired(effects=gone, rest=rest or Place(MARKS, b""))
        return Expired(lanes=gone, rest=rest or _NEXT.get(place.table))

    async def unbind(self, inbox: InboxId) -> bool:
        async def work(statements: Statements) -> bool:
            await statements.execute(rows.SQL["kept_drop"], {"inbox": inbox})
            return bool(await statements.execute(rows.SQL["unbind"], {"inbox": inbox}))

        return bool(await self._run(work))
