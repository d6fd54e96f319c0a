"""Handlers that write on connections of the user's psycopg pool, waiting and blocking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import psycopg_pool
import pytest

from landfast import Event, Inbox
from landfast.proving import Kind
from tests.proving.planted import line_of
from tests.servers import Postgres

TABLES = """
CREATE TABLE orders (id SERIAL PRIMARY KEY, payment TEXT, number INTEGER);
CREATE TABLE account (id TEXT PRIMARY KEY, balance INTEGER); INSERT INTO account VALUES ('shop', 100)
"""
DSN: list[str] = []
"""For handlers that open a connection of their own."""


async def numbers(event: Event, conn: psycopg.AsyncConnection[Any]) -> None:
    cursor = await conn.execute("INSERT INTO orders (payment) VALUES (%s) RETURNING id", [event.key])
    (number,) = await cursor.fetchone() or (0,)
    async with conn.transaction():
        await conn.execute("UPDATE orders SET number = %s WHERE id = %s", (number, number))


async def commits(event: Event, conn: psycopg.AsyncConnection[Any]) -> None:
    await conn.execute("INSERT INTO orders (payment) VALUES (%s)", [event.key])
    # mistake: commits
    await conn.commit()


async def reads_and_writes(event: Event, conn: psycopg.AsyncConnection[Any]) -> None:
    (balance,) = await (await conn.execute("SELECT balance FROM account")).fetchone() or (0,)
    # mistake: reads_and_writes
    await conn.execute("UPDATE account SET balance = %s", [balance + 1])


def adds_blocking(event: Event, conn: psycopg.Connection[Any]) -> None:
    conn.execute("INSERT INTO orders (payment) VALUES (%s)", [event.key])
    conn.execute("UPDATE account SET balance = balance + 1")


def autocommits_blocking(event: Event, conn: psycopg.Connection[Any]) -> None:
    with psycopg.connect(DSN[0], autocommit=True) as mine:
        # mistake: autocommits_blocking
        mine.execute("UPDATE account SET balance = balance + 1")
    conn.execute("SELECT 1")


def swallows_blocking(event: Event, conn: psycopg.Connection[Any]) -> None:
    try:
        # mistake: swallows_blocking
        conn.execute("INSERT INTO orders (payment) VALUES (%s)", [event.key])
    except psycopg.Error:
        print("never mind")


HANDLERS: dict[Callable[..., Any], Kind | None] = {
    numbers: None,
    commits: Kind.ENDS_TRANSACTION,
    reads_and_writes: Kind.LOST_UPDATE,
    adds_blocking: None,
    autocommits_blocking: Kind.OUTSIDE_WRITE,
    swallows_blocking: Kind.SWALLOWED_ERROR,
}


@pytest.mark.req("R64")
@pytest.mark.parametrize("function", HANDLERS, ids=lambda function: function.__name__)
def test_a_connection_of_the_users_pool_is_followed(
    postgres: Postgres, database: str, database_name: str, function: Callable[..., Any]
) -> None:
    postgres.execute(TABLES, database=database_name)
    DSN[:] = [database]
    kind = psycopg_pool.ConnectionPool if "blocking" in function.__name__ else psycopg_pool.AsyncConnectionPool
    inbox = Inbox(store="nothing-is-stored.db", ledger=kind(database, open=False))
    inbox.source("stripe", provider="stripe", secrets=["whsec_test"])
    inbox.on("stripe", "payment_intent.succeeded")(function)
    report = inbox.prove(function)
    found = {each.kind: each.place.line for each in report.findings}
    expected = HANDLERS[function]
    assert found == ({expected: line_of(function.__name__, __file__)} if expected else {}), str(report)
    assert postgres.execute("SELECT balance FROM account", database=database_name) == "100"
    assert postgres.execute("SELECT count(*) FROM orders", database=database_name) == "0"
