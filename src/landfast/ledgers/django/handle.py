"""What a handler writes on with `tx`: asyncpg's shape on Django's own connection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, Self, TypeVar

from landfast.ledgers import control
from landfast.ledgers.django.connection import DjangoConnection
from landfast.ledgers.django.placeholders import with_names
from landfast.ledgers.postgres.dbapi import named
from landfast.ports.ledger import Batch

T = TypeVar("T")


class InThread(Protocol):
    """Runs a function in the thread of the connection, inside of the transaction."""

    def __call__(self, function: Callable[[], T], /) -> Awaitable[T]: ...


@asynccontextmanager
async def django_savepoint(connection: DjangoConnection, in_thread: InThread) -> AsyncIterator[None]:
    """A block of Django's, so that Django too knows that an error in it was undone."""
    from django.db import transaction

    block = transaction.atomic(connection.alias)
    await in_thread(block.__enter__)
    try:
        yield
    except BaseException as error:
        given = error
        await in_thread(lambda: block.__exit__(type(given), given, None))
        raise
    await in_thread(lambda: block.__exit__(None, None, None))


class PostgresDjangoHandle:
    """A Transaction. It has no way to commit."""

    dialect = "postgresql"

    def __init__(self, connection: DjangoConnection, in_thread: InThread) -> None:
        self._connection = connection
        self._in_thread = in_thread
        self.has_ended = False

    @property
    def connection(self) -> Any:
        if self.has_ended:
            raise control.ended()
        self._connection.fence.used = True
        return self._connection.raw

    async def execute(self, query: str, *args: Any) -> str:
        return await self._run(query, args, lambda cursor: str(cursor.statusmessage))

    async def fetch(self, query: str, *args: Any) -> Sequence[NamedRow]:
        return await self._run(query, args, _rows)

    async def fetchrow(self, query: str, *args: Any) -> NamedRow | None:
        found = await self._run(query, args, _rows)
        return found[0] if found else None

    async def fetchval(self, query: str, *args: Any) -> Any:
        found = await self._run(query, args, _rows)
        return found[0][0] if found else None

    async def send_all(self, batches: Sequence[Batch]) -> None:
        for query, _ in batches:
            control.refuse(query)

        def work() -> None:
            for query, rows in batches:
                self._connection.fence.pass_through(query)
                with self._connection.wrapper.cursor() as cursor:
                    cursor.executemany(with_names(query), list(map(named, rows)))

        await self._checked(work)

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        return django_savepoint(self._connection, self._checked)

    async def _run(self, query: str, args: tuple[Any, ...], read: Callable[[Any], T]) -> T:
        control.refuse(query)

        def work() -> T:
            self._connection.fence.pass_through(query)
            with self._connection.wrapper.cursor() as cursor:
                if args:
                    cursor.execute(with_names(query), named(args))
                else:
                    cursor.execute(query)
                return read(cursor)

        return await self._checked(work)

    async def _checked(self, work: Callable[[], T]) -> T:
        def unless_ended() -> T:
            if self.has_ended:
                raise control.ended()
            return work()

        if self.has_ended:
            raise control.ended()
        return await self._in_thread(unless_ended)


class NamedRow(tuple[Any, ...]):  # noqa: SLOT001 - it has its names
    """A row whose columns have names and numbers, as asyncpg's."""

    names: tuple[str, ...]

    def __new__(cls, names: tuple[str, ...], values: Sequence[Any]) -> Self:
        row = super().__new__(cls, values)
        row.names = names
        return row

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)

    def keys(self) -> Sequence[str]:
        return self.names


def _rows(cursor: Any) -> list[NamedRow]:
    if cursor.description is None:
        return []
    names = tuple(column[0] for column in cursor.description)
    return [NamedRow(names, row) for row in cursor.fetchall()]
