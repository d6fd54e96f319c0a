"""What a handler writes on: asyncpg's own connection, without its way to commit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from landfast.ledgers import control
from landfast.ledgers.postgres import faults
from landfast.ledgers.postgres.lending import LentConnection

if TYPE_CHECKING:
    from asyncpg import Connection, Record
    from asyncpg.pool import PoolConnectionProxy


_WRITES = frozenset({"INSERT", "UPDATE", "DELETE"})


class PostgresHandle:
    """A Transaction. It has no way to commit."""

    def __init__(self, connection: PoolConnectionProxy[Record]) -> None:
        self._connection = connection
        self._lent: LentConnection | None = None
        self._ended = False
        self._savepoints = 0
        self.may_have_set = False
        """Whether the handler may have changed a setting: anything but a plain write may, also by way of a function."""

    @property
    def connection(self) -> Connection[Record] | PoolConnectionProxy[Record]:
        if self._ended:
            raise control.ended()
        self.may_have_set = True
        if self._lent is None:
            lender: Connection[Record] | None = getattr(self._connection, "_con", None)
            if lender is None:
                return self._connection  # it is lost, and says so at each use
            self._lent = LentConnection(lender)
        return self._lent

    async def execute(self, query: str, *args: Any) -> str:
        return await self._checked(query).execute(query, *args)

    async def fetch(self, query: str, *args: Any) -> Sequence[Record]:
        return await self._checked(query).fetch(query, *args)

    async def fetchrow(self, query: str, *args: Any) -> Record | None:
        return await self._checked(query).fetchrow(query, *args)

    async def fetchval(self, query: str, *args: Any) -> Any:
        return await self._checked(query).fetchval(query, *args)

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        return self._savepoint()

    def end(self) -> None:
        """From now on nothing that the handler holds sends a statement. One that is under way already makes asyncpg
        refuse ours, and then the server rolls back for who hangs up."""
        self._ended = True
        if self._lent is not None:
            self._lent.end()

    @asynccontextmanager
    async def _savepoint(self) -> AsyncIterator[None]:
        self._savepoints += 1
        name = f"landfast_{self._savepoints}"
        await self.execute(f"SAVEPOINT {name}")
        try:
            yield
        except BaseException:
            if not self._ended and not faults.is_gone(self._connection) and self._connection.is_in_transaction():
                await self.execute(f"ROLLBACK TO {name}; RELEASE {name}")
            raise
        await self.execute(f"RELEASE {name}")

    def _checked(self, query: str) -> PoolConnectionProxy[Record]:
        control.refuse(query)
        if self._ended:
            raise control.ended()
        if _may_set(query):
            self.may_have_set = True
        connection = self._connection
        if not faults.is_gone(connection) and not connection.is_in_transaction():
            # Outside of a transaction the server would commit this statement by itself.
            raise control.ended_by_handler()
        return connection


@lru_cache(control.QUERIES)
def _may_set(query: str) -> bool:
    return control.verb(query) not in _WRITES or "set_config" in query.lower()
