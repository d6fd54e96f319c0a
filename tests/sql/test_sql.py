"""`landfast.sql` with everything that a handler may be given: sessions and connections, awaited or not."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from django.db import connections
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

from landfast import BlockingTransaction, Event, Inbox, Transaction, sql
from landfast.domain.errors import UserError
from landfast.testing import TestInbox
from landfast.thread_calls import finish
from tests.django_shop import project
from tests.ledgers.stacks import STACKS, engine_on, is_sqlite

TABLE = "CREATE TABLE stock (sku VARCHAR(50) PRIMARY KEY, state VARCHAR(20), amount INTEGER)"
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="


async def do(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


async def all_outcomes(tx: Any) -> list[str]:
    row, where = {"sku": "a", "state": "paid", "amount": 1}, {"sku": "a"}
    shipped: dict[str, Any] = {"where": where, "to": "shipped", "allowed_from": ["paid"]}
    done = [
        await do(sql.insert_once(tx, "stock", row, key="sku")),
        await do(sql.insert_once(tx, "stock", row, key=["sku"])),
        await do(sql.set_if_different(tx, "stock", {"amount": 2}, where=where)),
        await do(sql.set_if_different(tx, "stock", {"amount": 2}, where=where)),
        await do(sql.transition(tx, "stock", **shipped)),
        await do(sql.transition(tx, "stock", **shipped)),
        await do(sql.transition(tx, "stock", where=where, to="returned", allowed_from=["sold"])),
    ]
    return [str(one) for one in done]


ALL = ["inserted", "was there", "changed", "same", "moved", "same", "illegal from state shipped"]


@asynccontextmanager
async def of_sqlalchemy(stack: str, where: str | Path, *, as_session: bool) -> AsyncIterator[Any]:
    engine = engine_on(stack, where)
    if isinstance(engine, AsyncEngine):
        async with AsyncSession(engine) if as_session else engine.connect() as tx:
            yield tx
        await engine.dispose()
    else:
        with Session(engine) if as_session else engine.connect() as tx:
            yield tx
        engine.dispose()


@pytest.mark.req("R32")
@pytest.mark.parametrize("as_session", [True, False], ids=["session", "connection"])
@pytest.mark.parametrize("stack", STACKS)
async def test_sqlalchemy(stack: str, as_session: bool, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    where = tmp_path / "shop.db" if is_sqlite(stack) else request.getfixturevalue("database")
    from sqlalchemy import text

    async with of_sqlalchemy(stack, where, as_session=as_session) as tx:
        await do(tx.execute(text(TABLE)))
        assert await all_outcomes(tx) == ALL


@pytest.mark.req("R32")
async def test_connections_of_postgres_drivers(database: str) -> None:
    with psycopg.connect(database) as blocking:
        blocking.execute(TABLE)
        assert await all_outcomes(blocking) == ALL
        blocking.rollback()
    async with await psycopg.AsyncConnection.connect(database) as waiting:
        await waiting.execute(TABLE)
        assert await all_outcomes(waiting) == ALL
        await waiting.rollback()
    connection = await asyncpg.connect(database)
    try:
        await connection.execute(TABLE)
        assert await all_outcomes(connection) == ALL
    finally:
        await connection.close()


@pytest.mark.req("R32")
async def test_sqlite3() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(TABLE)
        assert await all_outcomes(connection) == ALL


@pytest.mark.req("R32")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_django(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if kind == "sqlite":
        given = project.for_sqlite(tmp_path / "shop.db")
    else:
        given = project.for_postgres(request.getfixturevalue("database"))

    def work(alias: str) -> list[str]:
        connection = connections[alias]
        try:
            with connection.cursor() as cursor:
                cursor.execute(TABLE)
            return finish(all_outcomes(connection))
        finally:
            connection.close()

    with project.database(given) as alias, ThreadPoolExecutor(1) as thread:
        assert await asyncio.get_running_loop().run_in_executor(thread, work, alias) == ALL


@pytest.mark.req("R32")
async def test_handlers_of_both_kinds_are_told_what_came_of_it() -> None:
    inbox = Inbox()
    inbox.source("shop", provider="standard-webhooks", secrets=[SECRET])
    told = dict[str, list[str]]()

    @inbox.on("shop", "order.async")
    async def waits(event: Event, tx: Transaction) -> None:
        told["async"] = await all_outcomes(tx)

    @inbox.on("shop", "order.sync")
    def blocks(event: Event, tx: BlockingTransaction) -> None:
        once = sql.insert_once(tx, "stock", {"sku": "b", "state": "paid"}, key="sku")
        told["sync"] = [str(once), str(sql.transition(tx, "stock", where={"sku": "b"}, to="x", allowed_from=["paid"]))]

    async with TestInbox(inbox) as test:
        test.ledger.execute(TABLE)
        for kind in ("async", "sync"):
            await test.deliver("shop", {"type": f"order.{kind}"}, id=kind)
        await test.drain()
    assert told == {"async": ALL, "sync": ["inserted", "moved"]}


async def test_a_forgotten_await_fails_the_attempt() -> None:
    inbox = Inbox()
    inbox.source("shop", provider="standard-webhooks", secrets=[SECRET])

    @inbox.on("shop", "*")
    async def forgets(event: Event, tx: Transaction) -> None:
        sql.insert_once(tx, "stock", {"sku": "a"}, key="sku")

    async with TestInbox(inbox) as test:
        await test.deliver("shop", {"type": "order.created"}, id="1")
        await test.drain(raises=False)
        assert "insert_once(...) was not awaited" in str(test.errors[0].error)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (lambda tx: sql.insert_once(tx, "stock", {"amount": 1}, key="sku"), "the key sku has no value"),
        (lambda tx: sql.set_if_different(tx, "stock", {}, where={"sku": "a"}), "nothing to set"),
        (lambda tx: sql.set_if_different(tx, "stock", {"amount": 1}, where={}), "every row"),
        (lambda tx: sql.set_if_different(tx, "stock", {"amount": 1}, where={"sku": None}), "NULL is never equal"),
        (lambda tx: sql.transition(tx, "stock", where={"sku": "a"}, to="x", allowed_from=[]), "at least one"),
        (lambda tx: sql.transition(tx, "stock", where={"sku": "a"}, to="x", allowed_from=["x"]), "not itself"),
        (lambda _tx: sql.insert_once(object(), "stock", {"sku": "a"}, key="sku"), "no transaction that it knows"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(asked: Any, sentence: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(UserError, match=sentence):
        asked(connection)
