"""Ledgers on psycopg's pools, beside a small shop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
import psycopg_pool

from landfast.ledgers.psycopg import AsyncPsycopgLedger, BlockingPsycopgLedger
from landfast.sealing import Seal
from landfast.testing.clock import ManualClock, SeededChance
from tests.ledgers.conftest import PostgresDesk

SIZE = 4


class PsycopgDesk(PostgresDesk):
    """On an AsyncConnectionPool."""

    is_async = True
    pool_options: Mapping[str, Any] = {}

    def __init__(self, dsn: str, **how: Any) -> None:
        self.pools: list[Any] = []
        super().__init__(dsn, **how)

    def new_pool(self) -> Any:
        kind: Any = psycopg_pool.AsyncConnectionPool if self.is_async else psycopg_pool.ConnectionPool
        pool = kind(self._ledger_dsn, min_size=1, max_size=SIZE, open=False, kwargs=dict(self.pool_options))
        self.pools.append(pool)
        return pool

    @property
    def pool(self) -> Any:
        return self.pools[0]

    async def borrow(self) -> Any:
        return await self.pool.getconn() if self.is_async else self.pool.getconn()

    async def give_back(self, connection: Any) -> None:
        given = self.pool.putconn(connection)
        if self.is_async:
            await given

    async def raw(self, connection: Any, statement: str) -> None:
        """Below psycopg's own calls, which look at what they send."""
        result = connection.pgconn.exec_(statement.encode())
        if result.status == psycopg.pq.ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result)

    async def used(self) -> int:
        """Connections that are not back in the pool."""
        stats = self.pool.get_stats()
        return int(stats.get("pool_size", 0) - stats.get("pool_available", 0))

    def _new(self, seed: int) -> Any:
        return AsyncPsycopgLedger(
            self.new_pool(), clock=ManualClock(), chance=SeededChance(seed), seal=Seal(self.masters)
        )


class BlockingPsycopgDesk(PsycopgDesk):
    """On a ConnectionPool."""

    is_async = False

    def _new(self, seed: int) -> Any:
        return BlockingPsycopgLedger(
            self.new_pool(), clock=ManualClock(), chance=SeededChance(seed), seal=Seal(self.masters)
        )
