"""Ledgers whose handlers' transactions are on connections of the user's engine. The desk, which is everything else, has
a few of its own to the same database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from landfast.domain import isolation as levels
from landfast.domain.fault import Fault
from landfast.ledgers import limits
from landfast.ledgers.postgres import PostgresLedger
from landfast.ledgers.postgres.foreign_errors import diagnose
from landfast.ledgers.postgres.transaction import PostgresTransaction
from landfast.ledgers.sqlalchemy.driving import Driving
from landfast.ledgers.sqlalchemy.joining import Joining, Made
from landfast.ledgers.sqlalchemy.sqlite_transaction import SqlalchemySqliteTransaction
from landfast.ledgers.sqlalchemy.target import Target
from landfast.ledgers.sqlalchemy.wire import SqlalchemyWire
from landfast.ledgers.sqlite import SqliteLedger
from landfast.ledgers.sqlite import faults as sqlite_faults
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import LedgerTransaction
from landfast.sealing import Seal


class SqlalchemyPostgresLedger(PostgresLedger):
    def __init__(
        self, target: Target, *, clock: Clock, chance: Chance, seal: Seal | None, concurrency: int, named: str
    ) -> None:
        super().__init__(target.postgres_desk(), clock=clock, chance=chance, pool=1, named=named, seal=seal)
        self._target = target
        self._joining = Joining(target)
        self._concurrency = concurrency
        self._places = asyncio.Semaphore(target.places(concurrency))

    async def begin(self, *, deadline: float, isolation: str | None = None) -> LedgerTransaction:  # type: ignore[override]
        level, silence = levels.level(isolation), deadline + limits.STOPPED_GRACE
        await self._places.acquire()

        def made(driving: Driving, gone: Callable[[], None]) -> Made:
            wire = SqlalchemyWire(self._target, driving, gone, may_keep=not self._is_pooled)
            transaction = PostgresTransaction(wire, silence=silence, seal=self._seal)
            return Made(
                transaction, lambda: transaction.begin(level), wire.hang_up, wire.fence, begins_with_receipts=True
            )

        return await self._joining.begin(made, self._places.release)

    def diagnose(self, error: BaseException) -> Fault:
        return diagnose(error)

    async def open(self) -> None:
        await super().open()
        await self._handlers.close()  # of our own: handlers have the engine's
        self._joining.open()

    async def close(self) -> None:
        await self._joining.close()
        await super().close()

    async def cautions(self) -> Sequence[str]:
        return self._target.pool_cautions(self._concurrency)


class SqlalchemySqliteLedger(SqliteLedger):
    def __init__(self, target: Target, *, clock: Clock, chance: Chance, seal: Seal | None) -> None:
        super().__init__(target.sqlite_desk(), clock=clock, chance=chance, seal=seal)
        self._target = target
        self._joining = Joining(target)

    async def begin(self, *, deadline: float, isolation: str | None = None) -> LedgerTransaction:  # type: ignore[override]  # noqa: ARG002
        levels.level(isolation)  # whatever it asks for, SQLite serialises
        await self._lock.acquire()

        def made(driving: Driving, gone: Callable[[], None]) -> Made:
            transaction = SqlalchemySqliteTransaction(
                self._target, driving, self._writer, self._clock, self._seal, gone
            )
            return Made(transaction, transaction.begin, transaction.hang_up, transaction.fence)

        return await self._joining.begin(made, self._lock.release)

    def diagnose(self, error: BaseException) -> Fault:
        return sqlite_faults.diagnose(error)

    async def open(self) -> None:
        await super().open()
        self._joining.open()

    async def close(self) -> None:
        await self._joining.close()
        await super().close()
