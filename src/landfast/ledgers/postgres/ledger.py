"""The ledger in a PostgreSQL database of the user's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from landfast.domain import isolation as levels
from landfast.domain.audit import Mark
from landfast.domain.effect import EffectState
from landfast.domain.erasure import Erased
from landfast.domain.fault import Fault
from landfast.domain.ids import InboxId, ReceiptDigest
from landfast.domain.lane_memory import StateKey
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.domain.text import storable
from landfast.ledgers import boxes, limits, reserving
from landfast.ledgers import rows as shared
from landfast.ledgers.postgres import faults, rows, store
from landfast.ledgers.postgres.effects import PostgresEffects
from landfast.ledgers.postgres.expiry import PostgresExpiry
from landfast.ledgers.postgres.transaction import PostgresTransaction
from landfast.ledgers.postgres.wire import AsyncpgWire, Wire
from landfast.ports.audit import MARKS_KEPT
from landfast.ports.clock import Chance, Clock
from landfast.sealing import Seal, StoreKey

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.pool import Pool, PoolConnectionProxy

LOOK_EVERY_SECONDS = 0.05
WATCHED_LOOKS = 100
"""Looks whether a transaction may still see what was erased: five seconds for handlers that are at work."""

DESK_SIZE = 2
"""Connections for everything but handlers: tombstones, receipts and effects never wait for a slow handler."""


class PostgresLedger(PostgresEffects, PostgresExpiry):
    """A Ledger, an EffectStore and a Store."""

    def __init__(
        self,
        dsn: str,
        *,
        clock: Clock,  # noqa: ARG002 - the server has the clock
        chance: Chance,
        pool: int = 4,
        named: str = "ledger (LANDFAST_LEDGER)",
        seal: Seal | None = None,
    ) -> None:
        """`named` is the setting to correct when the address is wrong."""
        self._dsn = dsn
        self._named = named
        self._chance = chance
        self._size = pool
        self._seal = seal or Seal()
        self._handlers: Pool[Record]
        self._is_pooled = False
        """Behind a pooler, where a session keeps nothing for us."""

    async def begin(self, *, deadline: float, isolation: str | None = None) -> PostgresTransaction:
        return await self._begin(self._handlers, deadline=deadline, isolation=levels.level(isolation))

    async def bury(
        self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt]:
        transaction = await self._begin(self._desk, deadline=limits.ANSWER_WAIT, isolation=levels.level(None))
        return await reserving.bury_alone(transaction, tombstones, forced)

    async def receipts(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]:
        found = [shared.receipt(row) for row in await self._fetch("receipts_read", digests)]
        await self._learn(boxes.keys_of(found))
        return [boxes.open_receipt(self._seal, each) for each in found]

    async def states(self, keys: Sequence[StateKey]) -> Sequence[str | None]:
        return shared.states(keys, await self._fetch("states_read", *rows.columns(keys, width=2)))

    async def audit_marks(self, inbox: InboxId) -> Sequence[Mark]:
        return [Mark(row["seq"], row["nonce"]) for row in await self._fetch("audit_marks", inbox, MARKS_KEPT)]

    async def set_audit_mark(self, inbox: InboxId, mark: Mark) -> None:
        # Crash before it: the next audit begins at the mark before.
        await self._fetch("audit_mark_set", inbox, mark.seq, mark.nonce, MARKS_KEPT)

    async def bind(self, inbox: InboxId) -> str:
        await self._fetch("bind", inbox)
        (row,) = await self._fetch("name")
        return str(row["name"])

    async def store_keys(self) -> Sequence[StoreKey]:
        return [StoreKey(*row) for row in await self._fetch("store_keys")]

    async def rewrap(self, keys: Sequence[StoreKey]) -> None:
        async with self._connection() as connection, connection.transaction():
            await connection.executemany(rows.SQL["store_key_rewrap"], keys)

    async def erase(self, inbox: InboxId, events: Sequence[Erased], *, who: str) -> None:
        digests = [each.digest for each in events]
        # Dead before the COMMIT: nothing is erased, and asking again erases it.
        async with self._connection() as connection, connection.transaction():
            await connection.execute(rows.SQL["erase_effects"], digests, EffectState.DONE, EffectState.DEAD)
            await connection.execute(rows.SQL["erase_results"], digests, Outcome.DEAD)
            # A step that committed while the first of these waited for it may have staged others.
            await connection.execute(rows.SQL["erase_effects"], digests, EffectState.DONE, EffectState.DEAD)
            ids = [each.event_id for each in events]
            await connection.execute(rows.SQL["erase_note"], inbox, ids, digests, storable(who))

    async def erased(self, inbox: InboxId) -> Sequence[Erased]:
        return [Erased(*row) for row in await self._fetch("erased", inbox)]

    async def scrub(self) -> bool:
        async with self._connection() as connection:
            since = await connection.fetchval("SELECT clock_timestamp()")
            for _ in range(WATCHED_LOOKS):
                if not await connection.fetchval(rows.SQL["erase_watched"], since):
                    break
                await asyncio.sleep(LOOK_EVERY_SECONDS)
            else:
                return False
            for table in ("landfast_ledger.effect", "landfast_ledger.receipt"):
                await connection.execute(f"VACUUM (INDEX_CLEANUP OFF) {table}", timeout=limits.MIGRATION_WAIT)
        return True

    def diagnose(self, error: BaseException) -> Fault:
        return faults.diagnose(error)

    async def open(self) -> None:
        self._handlers, self._desk = await store.connect(
            self._dsn, handlers=self._size, desk=DESK_SIZE, named=self._named
        )
        self._is_pooled = store.is_pooled_by(self._desk)

    async def close(self) -> None:
        for pool in (self._handlers, self._desk):
            try:
                async with asyncio.timeout(limits.ANSWER_WAIT):
                    await pool.close()
            except TimeoutError:
                pool.terminate()

    async def migrate(self) -> Sequence[str]:
        async with self._connection() as connection:
            return await store.migrate(connection, self._chance.bytes(8).hex())

    async def problems(self) -> Sequence[str]:
        hazards, others = await self._examine()
        return [*hazards, *others]

    async def cautions(self) -> Sequence[str]:
        return []

    async def hazards(self) -> Sequence[str]:
        hazards, _ = await self._examine()
        return hazards

    async def _examine(self) -> tuple[list[str], list[str]]:
        async with self._connection() as connection:
            return await store.examine(connection)

    async def _begin(self, pool: Pool[Record], *, deadline: float, isolation: str) -> PostgresTransaction:
        try:
            connection = await pool.acquire()
        except faults.ANY as error:
            raise faults.unavailable(error) from error
        wire = AsyncpgWire(pool, connection, may_keep=not self._is_pooled)
        return await self._begun(wire, deadline=deadline, isolation=isolation)

    async def _begun(self, wire: Wire, *, deadline: float, isolation: str) -> PostgresTransaction:
        """A transaction of ours on the wire. Where it cannot begin, the wire is given back."""
        silence = deadline + limits.STOPPED_GRACE
        transaction = PostgresTransaction(wire, silence=silence, seal=self._seal)
        try:
            await transaction.begin(isolation)
        except BaseException:
            await transaction.rollback()
            raise
        return transaction

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[PoolConnectionProxy[Record]]:
        try:
            async with self._desk.acquire() as connection:
                yield connection
        except faults.ANY as error:
            raise faults.unavailable(error) from error
