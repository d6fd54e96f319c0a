"""A function that outlives its transaction writes nothing, whatever it kept and however the transaction ended."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from typing import Any, cast

import asyncpg
import pytest

from landfast.domain.errors import UserError
from landfast.ledgers.postgres.transaction import PostgresTransaction
from landfast.ledgers.postgres.wire import AsyncpgWire
from landfast.ledgers.sqlite.transaction import SqliteTransaction
from landfast.testing.conformance.ledger.desk import key, order, orders, receipt_count, tombstone, transaction
from tests.ledgers.conftest import PostgresDesk, SqliteDesk
from tests.patience import PATIENCE_SECONDS

LATE = "INSERT INTO shop_order VALUES ('late')"
MANY = "INSERT INTO shop_order VALUES (hex(randomblob(16)))"
AT_MOST = 200_000
"""Writes of a thread that nobody stops: some seconds, so that a test which fails ends."""


async def end(tx: Any, how: str) -> None:
    await (tx.commit(results=(), effects=()) if how == "commit" else tx.rollback())


@pytest.mark.req("R20")
@pytest.mark.parametrize("how", ["commit", "rollback"])
async def test_a_thread_that_writes_on_is_stopped_by_the_end_of_its_transaction(
    sqlite_desk: SqliteDesk, how: str
) -> None:
    """It writes all the time, also between our last statement and the one that it would do harm after."""
    desk, well_under_way, stopped_by = sqlite_desk, threading.Event(), list[Exception]()

    def write_on(connection: sqlite3.Connection) -> None:
        for count in range(AT_MOST):
            if count == 100:
                well_under_way.set()
            try:
                connection.execute(MANY)
            except sqlite3.Error as error:
                stopped_by.append(error)
                return

    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        thread = threading.Thread(target=write_on, args=(tx.handle.connection,))
        thread.start()
        await asyncio.to_thread(well_under_way.wait)
        await end(tx, how)
    kept = await orders(desk)
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key("evt_2")])
        await asyncio.to_thread(thread.join)
        await tx.commit(results=(), effects=())
    assert "readonly" in str(stopped_by)
    assert await orders(desk) == kept
    assert (len(kept) >= 100) == (how == "commit")


def keep(connection: sqlite3.Connection, kept: str) -> Callable[[], object]:
    """What a handler may keep, as a way to write with it later."""
    cursor, execute = connection.cursor(), connection.execute
    ways: dict[str, Callable[[], object]] = {
        "connection": lambda: connection.execute(LATE),
        "method": lambda: execute(LATE),
        "cursor": lambda: cursor.execute(LATE),
        "many": lambda: connection.executemany("INSERT INTO shop_order VALUES (?)", [("late",)]),
        "script": lambda: connection.executescript(LATE),
    }
    return ways[kept]


@pytest.mark.parametrize("how", ["commit", "rollback"])
@pytest.mark.parametrize("kept", ["connection", "method", "cursor", "many", "script"])
async def test_nothing_that_came_from_a_lent_sqlite_connection_writes_later(
    sqlite_desk: SqliteDesk, kept: str, how: str
) -> None:
    desk = sqlite_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        write = keep(tx.handle.connection, kept)
        await end(tx, how)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        write()
    async with transaction(desk.ledger) as tx:  # nor in the next event's transaction
        await tx.reserve([key("evt_2")])
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            write()
        await order(tx, "pay_2")
        await tx.commit(results=(), effects=())
    assert await orders(desk) == ["pay_2"]
    assert await receipt_count(desk) == (2 if how == "commit" else 1)


async def test_a_sqlite_connection_that_nobody_kept_is_used_again(sqlite_desk: SqliteDesk) -> None:
    """To open another takes half as long as an event."""
    desk = sqlite_desk
    writer = desk.ledger._writer
    before = writer._current
    for number, how in enumerate(["commit", "rollback", "commit"]):
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key(f"evt_{number}")])
            tx.handle.connection.execute(MANY).close()
            await end(tx, how)
    assert writer._current is before
    assert len(await orders(desk)) == 2


async def test_a_connection_that_was_kept_is_closed_once_it_is_let_go_of(sqlite_desk: SqliteDesk) -> None:
    desk = sqlite_desk
    for number in range(3):
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key(f"evt_{number}")])
            kept = tx.handle.connection  # and with it the one before is let go of
            await tx.rollback()
    assert len(desk.ledger._writer._retired) == 1
    assert kept.execute("SELECT count(*) FROM shop_order").fetchone()[0] == 0


class Window:
    """A pool that lets us act after the answer to COMMIT or ROLLBACK, and before it has its connection back."""

    def __init__(self, pool: Any, act: Callable[[], Awaitable[None]]) -> None:
        self._pool = pool
        self._act = act

    async def release(self, connection: Any, **options: Any) -> None:
        await self._act()
        await self._pool.release(connection, **options)


async def keep_all(connection: asyncpg.Connection[Any]) -> dict[str, Callable[[], Awaitable[Any]]]:
    """All that a handler may keep, each as a way to write with it later."""
    unsent = connection.fetch(LATE)
    statement = await connection.prepare(f"{LATE} RETURNING payment")
    unsent_statement = statement.fetchval()
    cursor = await connection.cursor("SELECT n FROM generate_series(1, 9) AS n")
    return {
        "connection": lambda: connection.execute(LATE),
        "arguments": lambda: connection.execute("INSERT INTO shop_order VALUES ($1)", "late"),
        "transaction": lambda: connection.transaction().start(),
        "coroutine": lambda: unsent,
        "statement": statement.fetchval,
        "statement's coroutine": lambda: unsent_statement,
        "cursor": lambda: cursor.fetch(2),
    }


@pytest.mark.req("R20")
@pytest.mark.parametrize("how", ["commit", "rollback"])
async def test_nothing_that_came_from_a_lent_postgres_connection_writes_before_it_is_back_in_the_pool(
    postgres_desk: PostgresDesk, how: str
) -> None:
    desk, heard, is_back = postgres_desk, dict[str, str](), asyncio.Event()
    async with transaction(desk.ledger) as tx:
        wire = cast(AsyncpgWire, cast(PostgresTransaction, tx.tx)._wire)
        await tx.reserve([key()])
        await order(tx, "pay_1")
        kept = await keep_all(cast(Any, tx.handle.connection))

        async def write_late() -> None:
            for name, write in kept.items():
                try:
                    heard[name] = str(await write())
                except (UserError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                    heard[name] = str(error)
            is_back.set()

        wire._pool = cast(Any, Window(wire._pool, write_late))
        await end(tx, how)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await is_back.wait()
    assert {name for name, said in heard.items() if "has ended" in said} == kept.keys()
    assert await orders(desk) == (["pay_1"] if how == "commit" else [])


async def test_what_a_lent_connection_can_do_is_what_asyncpgs_own_can(postgres_desk: PostgresDesk) -> None:
    async with transaction(postgres_desk.ledger) as tx:
        await tx.reserve([key()])
        connection = tx.handle.connection
        assert isinstance(connection, asyncpg.Connection)
        await connection.executemany("INSERT INTO shop_order VALUES ($1)", [("a",), ("b",)])
        await connection.execute(f"SAVEPOINT mine; {LATE}; ROLLBACK TO mine")
        await connection.copy_records_to_table("shop_order", records=[("c",)])
        statement = await connection.prepare("SELECT payment FROM shop_order ORDER BY payment")
        assert [row[0] async for row in statement.cursor()] == ["a", "b", "c"]
        await tx.commit(results=(), effects=())
    del statement  # after the end, as one in the frames of an error is
    assert await orders(postgres_desk) == ["a", "b", "c"]


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(f"{request.param}_desk")


async def test_a_cancellation_inside_the_commit_of_a_tombstone_is_the_callers(
    desk: SqliteDesk | PostgresDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_sqlite = isinstance(desk, SqliteDesk)
    owner: Any = SqliteTransaction if on_sqlite else AsyncpgWire
    name = "_finish" if on_sqlite else "tell_last"
    send, is_first = getattr(owner, name), [True]

    async def cancelled_meanwhile(*arguments: Any) -> Any:
        if is_first:  # in the COMMIT, and not in the rollback after it
            is_first.clear()
            asyncio.get_running_loop().call_soon(burying.cancel)
        return await send(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, cancelled_meanwhile)
        burying = asyncio.create_task(desk.ledger.bury([tombstone(key())]))
        with pytest.raises(asyncio.CancelledError):
            await burying
    [there] = await desk.ledger.bury([tombstone(key())])
    assert there == tombstone(key())
