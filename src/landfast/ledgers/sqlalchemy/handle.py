"""`tx` on a driver's connection under SQLAlchemy: asyncpg's shape, whatever the driver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from landfast.ledgers import control
from landfast.ledgers.savepoints import savepoint
from landfast.ledgers.sqlalchemy.fences import Fence
from landfast.ledgers.sqlalchemy.raw import Raw
from landfast.ports.ledger import Batch


class RawHandle:
    """A Transaction. It has no way to commit."""

    def __init__(self, raw: Raw, fence: Fence, before_statement: Callable[[str], Awaitable[None]]) -> None:
        self._raw = raw
        self._fence = fence
        self._before_statement = before_statement
        self._savepoints = 0
        self.dialect = raw.dialect

    @property
    def connection(self) -> Any:
        if self._fence.has_ended:
            raise control.ended()
        self._fence.used = True
        return self._raw.lend(self._fence)

    async def execute(self, query: str, *args: Any) -> str:
        await self._check(query)
        return await self._raw.execute(query, args)

    async def fetch(self, query: str, *args: Any) -> Sequence[Any]:
        await self._check(query)
        return await self._raw.fetch(query, args)

    async def fetchrow(self, query: str, *args: Any) -> Any:
        rows = await self.fetch(query, *args)
        return rows[0] if rows else None

    async def fetchval(self, query: str, *args: Any) -> Any:
        row = await self.fetchrow(query, *args)
        return None if row is None else row[0]

    async def send_all(self, batches: Sequence[Batch]) -> None:
        for query, rows in batches:
            await self._check(query)
            await self._raw.send_many(query, rows)

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        self._savepoints += 1
        return savepoint(self._savepoints, self.execute, is_open=self._is_open)

    def _is_open(self) -> bool:
        return bool(not self._fence.has_ended and not self._raw.is_gone() and self._raw.is_in_transaction())

    async def _check(self, query: str) -> None:
        control.refuse(query)
        if self._fence.has_ended:
            raise control.ended()
        self._fence.used = True
        self._fence.check()
        self._fence.savepoints.saw(query)
        if not self._raw.is_gone() and not self._raw.is_in_transaction():
            # Outside of a transaction the server would commit this statement by itself.
            raise self._fence.lose(control.ended_by_handler())
        await self._before_statement(query)
