"""The ledgers on Django's databases. Handlers' transactions are on Django's connections; the desk, which is everything
else, has a few of its own to the same database."""

from __future__ import annotations

from landfast.domain import isolation as levels
from landfast.domain.fault import Fault
from landfast.ledgers import limits
from landfast.ledgers.django.databases import postgres_address, sqlite_file, wrapper_of
from landfast.ledgers.django.lanes import DjangoLanes
from landfast.ledgers.django.postgres import PostgresConnection
from landfast.ledgers.django.sqlite import SqliteConnection
from landfast.ledgers.django.sqlite_transaction import LoopLock, begin_sqlite
from landfast.ledgers.django.transaction import DjangoTransaction
from landfast.ledgers.django.wire import begin_postgres
from landfast.ledgers.postgres import PostgresLedger, foreign_errors
from landfast.ledgers.sqlite import SqliteLedger
from landfast.ports.clock import Chance, Clock
from landfast.sealing import Seal


class DjangoPostgresLedger(PostgresLedger):
    def __init__(self, alias: str, *, clock: Clock, chance: Chance, named: str, seal: Seal | None = None) -> None:
        address = postgres_address(wrapper_of(alias, named))
        super().__init__(address, clock=clock, chance=chance, pool=1, named=named, seal=seal)
        self._lanes = DjangoLanes(lambda: PostgresConnection(alias))

    async def begin(self, *, deadline: float, isolation: str | None = None) -> DjangoTransaction:  # type: ignore[override]
        silence = deadline + limits.STOPPED_GRACE
        level, may_keep = levels.level(isolation), not self._is_pooled
        return begin_postgres(self._lanes, level, silence=silence, seal=self._seal, may_keep=may_keep)

    def diagnose(self, error: BaseException) -> Fault:
        return foreign_errors.diagnose(error)

    async def close(self) -> None:
        await self._lanes.close_all()
        await super().close()


class DjangoSqliteLedger(SqliteLedger):
    def __init__(self, alias: str, *, clock: Clock, chance: Chance, named: str, seal: Seal | None = None) -> None:
        super().__init__(sqlite_file(wrapper_of(alias, named), named), clock=clock, chance=chance, seal=seal)
        self._lanes = DjangoLanes(lambda: SqliteConnection(alias))

    async def begin(self, *, deadline: float, isolation: str | None = None) -> DjangoTransaction:  # type: ignore[override]  # noqa: ARG002 - there is no server that could end a transaction for us
        levels.level(isolation)  # whatever it asks for, SQLite serialises
        await self._lock.acquire()
        return begin_sqlite(self._lanes, self._path, LoopLock(self._lock), self._clock, self._seal)

    async def close(self) -> None:
        await self._lanes.close_all()
        await super().close()
