"""The receipt-first transaction on PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import asyncpg

from landfast.domain.effect import StagedEffect
from landfast.domain.errors import CommitUnknownError, LedgerUnavailableError
from landfast.domain.ids import ReceiptDigest
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ledgers import boxes, control, limits, reserving
from landfast.ledgers import rows as shared
from landfast.ledgers.postgres import faults, rows, settings
from landfast.ledgers.postgres.handle import PostgresHandle
from landfast.sealing import Seal, StoreKey

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.pool import Pool, PoolConnectionProxy


class PostgresTransaction:
    """A LedgerTransaction. It owns a connection of the pool until it was committed or rolled back."""

    def __init__(
        self, pool: Pool[Record], connection: PoolConnectionProxy[Record], *, silence: float, seal: Seal
    ) -> None:
        self._pool = pool
        self._seal = seal
        self._connection = connection
        self._handle = PostgresHandle(connection)
        self._silence = silence
        self._guards: list[object] = []
        """Where our guard rows are, one for each insert of receipts."""
        self._ours: set[ReceiptKey] = set()
        self._unanswered = False
        """COMMIT was sent and nothing came back: the connection is not to be used again."""
        self._ending: asyncio.Task[None] | None = None

    @property
    def handle(self) -> PostgresHandle:
        return self._handle

    async def begin(self, isolation: str) -> None:
        with _own_statement():
            await self._send(*settings.begin(isolation, silence=self._silence))

    async def reserve(
        self, keys: Sequence[ReceiptKey], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt | None]:
        with _own_statement():
            answer = await reserving.reserve(self, keys, forced)
            await self._send(settings.RELAX)
        return answer

    async def bury(
        self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt]:
        with _own_statement():
            return await reserving.bury(self, tombstones, forced)

    async def insert(self, receipts: Sequence[Receipt]) -> Collection[ReceiptKey]:
        sealed = boxes.seal_receipts(self._seal, receipts)
        if sealed is not receipts and self._seal.store_key is not None:
            await self._connection.execute(rows.SQL["store_key_add"], *self._seal.store_key, timeout=limits.ANSWER_WAIT)
        columns = rows.receipt_columns(sealed)
        found = await self._connection.fetch(rows.SQL["receipts_insert"], *columns, timeout=limits.ANSWER_WAIT)
        self._guards.append(found[0]["place"])
        inserted = {shared.receipt_key(row) for row in found if row["digest"] is not None}
        self._ours |= inserted
        return inserted

    async def read(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]:
        found = await self._connection.fetch(rows.SQL["receipts_read"], digests, timeout=limits.ANSWER_WAIT)
        receipts = [shared.receipt(row) for row in found]
        if self._seal.lacks(boxes.keys_of(receipts)):
            keys = await self._connection.fetch(rows.SQL["store_keys"], timeout=limits.ANSWER_WAIT)
            self._seal.learn(StoreKey(*key) for key in keys)
        return [boxes.open_receipt(self._seal, each) for each in receipts]

    async def reset(self) -> None:
        if not self._handle.may_have_set:
            return  # a round trip for each event of a group is a good part of what it costs
        self._handle.may_have_set = False
        with _own_statement():
            await self._send(*settings.RESET, *settings.local(silence=self._silence))

    async def withdraw(self, keys: Sequence[ReceiptKey]) -> None:
        # Outside of our transaction this would delete what somebody else has committed meanwhile.
        await self.check()
        columns = rows.key_columns([key for key in keys if key in self._ours])
        with _own_statement():
            await self._connection.execute(rows.SQL["receipts_withdraw"], *columns, timeout=limits.ANSWER_WAIT)

    async def check(self) -> None:
        self._examine()
        with _own_statement():
            guards = await self._connection.fetchval(rows.SQL["guard_check"], self._guards, timeout=limits.ANSWER_WAIT)
        self._compare(guards)

    async def commit(self, *, results: Sequence[tuple[ReceiptKey, bytes]], effects: Sequence[StagedEffect]) -> None:
        self._examine()
        self._handle.end()
        sealed = boxes.seal_results(self._seal, results), boxes.seal_effects(self._seal, effects)
        store_key = (self._seal.store_key if results or effects else None) or (None, None, None)
        columns = (*rows.result_columns(sealed[0]), *rows.effect_columns(sealed[1]), *store_key)
        try:
            tag = await self._connection.execute(rows.SQL["commit"], self._guards, *columns, timeout=limits.ANSWER_WAIT)
        except faults.ANY as error:
            raise faults.before_commit(error) from error
        self._compare(int(tag.removeprefix("DELETE ")))
        # Crash before the server has the COMMIT on its disk: nothing happened, the event is claimed again. After it:
        # everything did, and the next claim finds the receipt.
        if await self._answer_to_commit() != "COMMIT":
            raise control.swallowed()
        self._end()

    async def rollback(self) -> None:
        # A cancelled caller goes, the rollback goes on: the connection must be given back.
        await asyncio.shield(self._end())

    async def _send(self, *statements: str) -> None:
        await self._connection.execute("; ".join(statements), timeout=limits.ANSWER_WAIT)

    def _examine(self) -> None:
        if self._ending is not None:
            raise control.ended()
        if faults.is_gone(self._connection):
            raise LedgerUnavailableError("ledger: the server closed the connection of an open transaction")
        if not self._connection.is_in_transaction():
            raise control.ended_by_handler()

    def _compare(self, guards: int) -> None:
        if guards != len(self._guards):
            raise control.ended_by_handler()

    async def _answer_to_commit(self) -> str:
        try:
            return await self._connection.execute("COMMIT", timeout=limits.ANSWER_WAIT)
        except faults.ANY as error:
            self._unanswered = not faults.is_answer(error)
            raise faults.at_commit(error) from error
        except asyncio.CancelledError as error:
            self._unanswered = True
            raise CommitUnknownError("ledger: cancelled while COMMIT was under way") from error

    def _end(self) -> asyncio.Task[None]:
        if self._ending is None:
            self._handle.end()
            self._ending = asyncio.create_task(self._give_back())
        return self._ending

    async def _give_back(self) -> None:
        try:
            if self._unanswered:
                self._connection.terminate()
            elif not faults.is_gone(self._connection) and self._connection.is_in_transaction():
                await self._connection.execute("ROLLBACK", timeout=limits.ANSWER_WAIT)
        except faults.ANY:
            # It does not answer, or the handler left a statement running on it: the server rolls back for who hangs up.
            with contextlib.suppress(asyncpg.InterfaceError):
                self._connection.terminate()
        with contextlib.suppress(*faults.ANY):
            await self._pool.release(self._connection, timeout=limits.ANSWER_WAIT)


@contextmanager
def _own_statement() -> Iterator[None]:
    """Whatever is wrong with a statement of Landfast's own is not the handler's fault."""
    try:
        yield
    except faults.ANY as error:
        if faults.is_conflict(error):
            raise
        raise faults.own(error) from error
