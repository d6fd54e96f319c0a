"""What a handler writes on: asyncpg's own connection, without its way to commit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from landfast.domain.savepoints import OwnSavepoints
from landfast.domain.sql_text import sets_nothing
from landfast.ledgers import control
from landfast.ledgers.postgres import faults
from landfast.ledgers.postgres.lending import LentConnection
from landfast.ledgers.postgres.said_settings import names_set
from landfast.ledgers.savepoints import savepoint
from landfast.ports.ledger import Batch

if TYPE_CHECKING:
    from asyncpg import Connection, Record
    from asyncpg.pool import PoolConnectionProxy


class PostgresHandle:
    """A Transaction, and the Scope around it. It has no way to commit."""

    dialect = "postgresql"

    def __init__(self, connection: PoolConnectionProxy[Record]) -> None:
        self._connection = connection
        self._lent: LentConnection | None = None
        self._ended = False
        self._savepoints = 0
        self.may_have_set = False
        """Whether the handler may have changed a setting: anything but a plain write may, also by way of a function."""
        self.has_set = False
        """Whether one has said so, in this transaction."""
        self.used = False

    def next_event(self) -> None:
        self.used = False
        if self._lent is not None:
            self._lent.savepoints = OwnSavepoints()

    @property
    def handle(self) -> PostgresHandle:
        return self

    def given(self, kind: str) -> Any:
        if kind == "connection":
            return self.connection
        raise control.not_given(kind, "PostgreSQL")

    def before_others(self, _sending: object) -> bool:
        return False

    closes_at_once = True

    async def close(self) -> None:
        """Nothing is left unsent."""

    @property
    def connection(self) -> Connection[Record] | PoolConnectionProxy[Record]:
        if self._ended:
            raise control.ended()
        self.may_have_set = self.used = True
        if self._lent is None:
            lender: Connection[Record] | None = getattr(self._connection, "_con", None)
            if lender is None:
                return self._connection  # it is lost, and says so at each use
            self._lent = LentConnection(lender)
        return self._lent

    async def execute(self, query: str, *args: Any) -> str:
        return await self._checked(query, args).execute(query, *args)

    async def fetch(self, query: str, *args: Any) -> Sequence[Record]:
        return await self._checked(query, args).fetch(query, *args)

    async def fetchrow(self, query: str, *args: Any) -> Record | None:
        return await self._checked(query, args).fetchrow(query, *args)

    async def fetchval(self, query: str, *args: Any) -> Any:
        return await self._checked(query, args).fetchval(query, *args)

    async def send_all(self, batches: Sequence[Batch]) -> None:
        for query, rows in batches:
            connection = self._checked(query, rows[0])
            if len(rows) == 1:
                await connection.execute(query, *rows[0])
            else:
                await connection.executemany(query, rows)

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        self._savepoints += 1
        return savepoint(self._savepoints, self.execute, is_open=self._is_open)

    def end(self) -> None:
        """From now on nothing that the handler holds sends a statement. One that is under way already makes asyncpg
        refuse ours, and then the server rolls back for who hangs up."""
        self._ended = True
        if self._lent is not None:
            self._lent.end()

    def _is_open(self) -> bool:
        return bool(not self._ended and not faults.is_gone(self._connection) and self._connection.is_in_transaction())

    def _checked(self, query: str, args: Sequence[Any]) -> PoolConnectionProxy[Record]:
        control.refuse(query)
        if args and control.has_percent(query):
            raise control.percent_sign()
        if self._ended:
            raise control.ended()
        self.used = True
        if may_set(query):
            self.may_have_set = True
            self.has_set = self.has_set or bool(names_set(query))
        connection = self._connection
        if not faults.is_gone(connection) and not connection.is_in_transaction():
            # Outside of a transaction the server would commit this statement by itself.
            raise control.ended_by_handler()
        return connection


def may_set(query: str) -> bool:
    return not sets_nothing(query)
