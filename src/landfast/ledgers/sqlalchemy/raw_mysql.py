"""PyMySQL's connection under SQLAlchemy's, and aiomysql's, with a transaction of ours on it.

It is an XA transaction: the server refuses COMMIT, ROLLBACK, BEGIN and every statement that would commit by itself,
such as CREATE TABLE, whoever sends it. Only XA END ends it, with a name that nobody else knows. We commit it in one
phase, so none is ever left prepared.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from typing import Any

from landfast.ledgers import control
from landfast.ledgers.mysql import faults
from landfast.ledgers.mysql.statements import BlockingStatements, Statements, WaitingStatements, quiet_cursor, written
from landfast.ledgers.sqlalchemy.fences import Fence
from landfast.ledgers.sqlalchemy.raw import Descriptor, NamedRow, as_pyformat, named_row, numbered

_ENDING = ("commit", "rollback", "begin", "autocommit")
_OUTSIDE = 1400
"""A transaction is open already: a hook of the user's has read from a table."""


class MysqlRaw:
    """What both have in common. While the transaction is ours, the connection's own ways to end it refuse to."""

    dialect = "mysql"

    def __init__(self, connection: Any, statements: Statements, fence: Fence) -> None:
        self.statements = statements
        self._connection = connection
        self._fence = fence
        self.thread: int = connection.thread_id()
        """The server's number of this connection."""
        self.was_cut = False
        """We hung up, perhaps in the middle of a statement, and the server may not know it yet."""
        self._lent: Any = None
        self._running: list[str] = []
        self._xid = f"landfast-{secrets.token_hex(12)}"
        self._is_open = False
        self._plain_rollback: Callable[[], Any] = connection.rollback
        self.charset: str = connection.charset

    def is_in_transaction(self) -> bool:
        """Nobody else can end it; but a driver may have connected anew."""
        return self._is_open and bool(self._connection.thread_id() == self.thread)

    async def start(self, isolation: str) -> None:
        try:
            await self._start(isolation)
        except faults.ANY as error:
            if faults.code(error) != _OUTSIDE:
                raise
            await self.statements.execute("ROLLBACK")
            await self._start(isolation)
        self._is_open = True
        for name in _ENDING:
            self._connection.__dict__[name] = self._refuse
        self._connection.__dict__["rollback"] = self._rollback

    async def end(self) -> None:
        """An error where the server has given the transaction up, at an error that the handler caught."""
        await self.statements.execute(f"XA END '{self._xid}'")

    async def commit(self) -> None:
        await self.statements.execute(f"XA COMMIT '{self._xid}' ONE PHASE")
        self._is_open = False

    async def roll_back(self) -> None:
        """Ours, if it is open."""
        if self._is_open:
            self._is_open = False
            with contextlib.suppress(*faults.ANY):  # it may have ended before, or be rolled back already
                await self.end()
            await self.statements.execute(f"XA ROLLBACK '{self._xid}'")

    def lend(self, _fence: Fence) -> Any:
        if self._lent is None:
            kind: Any = type(self._connection)
            self._lent = object.__new__(_lent_class(kind))
            self._lent.landfast_running = self._running
            self._lent.__dict__ = self._connection.__dict__
        return self._lent

    def cut_off(self) -> None:
        """From now on nothing that a handler holds sends a statement: not on this transaction, and not on the next one
        of this connection."""
        if self._lent is not None:
            self._lent.__dict__ = {}

    @property
    def is_left_running(self) -> bool:
        """A thread of the handler's waits for an answer, which we would take for that to a statement of ours."""
        return bool(self._running)

    def take_back(self) -> None:
        """The connection is the pool's again, with its ways to end a transaction."""
        for name in _ENDING:
            self._connection.__dict__.pop(name, None)

    async def _start(self, isolation: str) -> None:
        # Of the next transaction only, so nothing is to be put back.
        await self.statements.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
        await self.statements.execute(f"XA START '{self._xid}'")

    def _refuse(self, *_args: Any) -> Any:
        raise control.ended_by_handler()

    def _rollback(self) -> Any:
        """SQLAlchemy's own calls come through here: a rollback that its hooks have seen is ours to carry out."""
        if self._fence.is_up and not self._fence.is_lost:
            raise control.ended_by_handler()
        return self._carry_out(self.roll_back()) if self._is_open else self._plain_rollback()

    def _carry_out(self, work: Coroutine[Any, Any, None]) -> Any:
        return work


class BlockingMysqlRaw(MysqlRaw):
    """A Raw."""

    def __init__(self, connection: Any, fence: Fence) -> None:
        super().__init__(connection, BlockingStatements(connection), fence)
        self._descriptor = Descriptor(connection._sock.fileno())  # noqa: SLF001 - PyMySQL has no other way to it

    def is_gone(self) -> bool:
        return not self._connection.open

    async def execute(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> str:  # noqa: ARG002 - who waits on the loop has the patience
        with self._cursor() as cursor:
            return tag(query, cursor.execute(*_bound(query, values)))

    async def fetch(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> Sequence[Any]:  # noqa: ARG002
        with self._cursor() as cursor:
            cursor.execute(*_bound(query, values))
            return _named(cursor.description, cursor.fetchall())

    async def send_many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._cursor() as cursor:
            for values in rows:
                cursor.execute(*_bound(query, values))

    def hang_up(self) -> None:
        self.was_cut = True
        self._descriptor.hang_up()

    def close(self) -> None:
        self._descriptor.close()

    def _carry_out(self, work: Coroutine[Any, Any, None]) -> Any:
        from landfast.thread_calls import finish

        return finish(work)

    def _cursor(self) -> Any:
        from pymysql.cursors import Cursor

        return Cursor(self._connection)


class WaitingMysqlRaw(MysqlRaw):
    """A Raw."""

    def __init__(self, connection: Any, fence: Fence) -> None:
        super().__init__(connection, WaitingStatements(connection), fence)

    def is_gone(self) -> bool:
        if self._connection.closed and self._connection._close_reason:  # noqa: SLF001 - set when a statement is cancelled
            self.was_cut = True
        return bool(self._connection.closed)

    async def execute(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> str:  # noqa: ARG002 - a handler's statements have its deadline
        async with quiet_cursor(self._connection) as cursor:
            return tag(query, await cursor.execute(self._written(query, values)))

    async def fetch(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> Sequence[Any]:  # noqa: ARG002
        async with quiet_cursor(self._connection) as cursor:
            await cursor.execute(self._written(query, values))
            return _named(cursor.description, await cursor.fetchall())

    async def send_many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        async with quiet_cursor(self._connection) as cursor:
            for values in rows:
                await cursor.execute(self._written(query, values))

    def hang_up(self) -> None:
        self.was_cut = True
        self._connection.close()

    def _written(self, query: str, values: Sequence[Any]) -> str:
        return written(self._connection, as_pyformat(query), numbered(values)) if values else query

    def close(self) -> None:
        """There is nothing of ours."""


class _Lent:
    """In front of the driver's class: an object whose state is the connection's, so that whatever a handler keeps of it
    is of no use once that is taken away."""

    __slots__ = ("landfast_running",)

    def __getattr__(self, name: str) -> Any:
        if not self.__dict__:
            raise control.ended()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __del__(self) -> None:
        """Nothing: the drivers would close the connection, or warn of one that nobody closed."""


class _BlockingLent(_Lent):
    """aiomysql says itself that somebody else reads an answer; PyMySQL does not."""

    __slots__ = ()

    def query(self, sql: Any, *how: Any, **more: Any) -> Any:
        self.landfast_running.append(sql)
        try:
            return super().query(sql, *how, **more)  # type: ignore[misc]
        finally:
            self.landfast_running.pop()


@cache
def _lent_class(kind: type) -> type:
    from pymysql import Connection

    front = _BlockingLent if issubclass(kind, Connection) else _Lent
    return type(kind.__name__, (front, kind), {"__slots__": (), "__module__": kind.__module__})


def tag(query: str, count: int) -> str:
    """PostgreSQL's command tag, as far as MySQL tells."""
    verb = control.verb(query)
    if verb in {"INSERT", "REPLACE"}:
        return f"INSERT 0 {count}"
    if verb in {"UPDATE", "DELETE"}:
        return f"{verb} {count}"
    return f"SELECT {count}" if verb in {"SELECT", "VALUES", "WITH"} else verb


def _bound(query: str, values: Sequence[Any]) -> tuple[Any, ...]:
    return (as_pyformat(query), numbered(values)) if values else (query,)


def _named(description: Any, found: Sequence[Sequence[Any]]) -> Sequence[NamedRow]:
    names = [column[0] for column in description or ()]
    return [named_row(names, row) for row in found]
