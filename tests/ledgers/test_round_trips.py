"""How often a transaction waits for the server: BEGIN with its receipts once, and what is last with COMMIT once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from landfast.domain.errors import HandlerEndedTransactionError
from landfast.ledgers.django.ledger import DjangoPostgresLedger
from landfast.ledgers.postgres import PostgresLedger
from landfast.ledgers.postgres.literals import literal
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.conformance.ledger.desk import key, receipt_count, transaction
from tests.django_shop import project
from tests.ledgers.conftest import PostgresDesk
from tests.ledgers.stacks import engine_on, ledger_on
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Proxy

READY_FOR_QUERY = b"Z\0\0\0\5"
STACKS = ("tx", "asyncpg", "psycopg", "sync psycopg", "Django")
HARD = ["plain", "it's", 'say "x"', "back\\slash", "$1 %s {a,b}", "neue Zeile\n", "E'\\x00'"]


@asynccontextmanager
async def counted(desk: PostgresDesk, stack: str) -> AsyncIterator[tuple[Any, list[int]]]:
    """A ledger on that stack, and what the server has answered so far."""
    answers = [0]

    def count(said: bytes) -> bytes:
        answers[0] += said.count(READY_FOR_QUERY)
        return said

    address = urlsplit(desk.dsn)
    assert address.port
    async with Proxy(address.port, alter=count).running() as proxy:
        dsn = f"postgresql://postgres@127.0.0.1:{proxy.port}{address.path}"
        with made(stack, dsn) as ledger:
            await ledger.open()
            try:
                yield ledger, answers
            finally:
                await ledger.close()


@contextmanager
def made(stack: str, dsn: str) -> Iterator[Any]:
    how: Any = {"clock": ManualClock(), "chance": SeededChance(3)}
    if stack == "tx":
        yield PostgresLedger(dsn, pool=1, **how)
    elif stack == "Django":
        with project.database(project.for_postgres(dsn, OPTIONS={"sslmode": "disable"})) as alias:
            yield DjangoPostgresLedger(alias, named="ledger", **how)
    else:
        yield ledger_on(engine_on(stack, dsn, pool_size=1, max_overflow=0), seed=3)


@pytest.mark.parametrize("stack", STACKS)
async def test_begin_and_receipts_are_one_round_trip_and_so_is_all_that_ends_it(
    postgres_desk: PostgresDesk, stack: str
) -> None:
    async with counted(postgres_desk, stack) as (ledger, answers):
        for number in range(3):  # at first a connection is made, and statements are prepared
            tx = await ledger.begin(deadline=PATIENCE_SECONDS)
            before = answers[0]
            await tx.reserve([key(f"evt_{number}_{each}") for each in range(5)])
            reserved = answers[0] - before
            await tx.commit(results=[(key(f"evt_{number}_0"), b"1")] if number == 1 else (), effects=())
            committed = answers[0] - before - reserved
            await tx.rollback()
        assert (reserved, committed) == (1, 1)
    assert await receipt_count(postgres_desk) == 15


async def test_psycopg2_sends_its_begin_apart_and_nothing_else(postgres_desk: PostgresDesk) -> None:
    """It has to know of the transaction, or its `rollback` would do nothing: so BEGIN and COMMIT are its own."""
    async with counted(postgres_desk, "sync psycopg2") as (ledger, answers):
        for number in range(3):
            tx = await ledger.begin(deadline=PATIENCE_SECONDS)
            before = answers[0]
            await tx.reserve([key(f"evt_{number}")])
            reserved = answers[0] - before
            await tx.commit(results=(), effects=())
            committed = answers[0] - before - reserved
            await tx.rollback()
        assert (reserved, committed) == (2, 2)
    assert await receipt_count(postgres_desk) == 3


async def test_some_receipts_of_others_are_told_from_our_own(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key("evt_2")])
        await tx.commit(results=(), effects=())
    async with transaction(desk.ledger) as tx:
        found = await tx.reserve([key("evt_1"), key("evt_2"), key("evt_3")])
        assert [each is None for each in found] == [True, False, True]
        await tx.commit(results=(), effects=())
    assert await receipt_count(desk) == 3


@pytest.mark.parametrize("said", ["RESET ALL", "SELECT set_config('landfast.guard', '', true)"])
async def test_the_guard_row_is_found_where_a_handler_has_reset_every_setting(
    postgres_desk: PostgresDesk, said: str
) -> None:
    async with transaction(postgres_desk.ledger) as tx:
        await tx.reserve([key()])
        await (await tx.scope()).handle.execute(said)
        await tx.commit(results=(), effects=())
    assert await receipt_count(postgres_desk) == 1


async def test_who_makes_the_server_forget_our_statements_pays_once(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    async with counted(desk, "tx") as (ledger, _):
        for number in range(3):
            tx = await ledger.begin(deadline=PATIENCE_SECONDS)
            await tx.reserve([key(f"evt_{number}")])
            await tx.commit(results=(), effects=())
            await tx.rollback()
            async with ledger._handlers.acquire() as connection:
                await connection.execute("DEALLOCATE ALL")
                await connection.reload_schema_state()
    assert await receipt_count(desk) == 3


async def test_a_guard_row_that_is_gone_lets_no_commit_through(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        await (await tx.scope()).handle.execute("DELETE FROM landfast_ledger.guard WHERE xmin::text <> '0'")
        with pytest.raises(HandlerEndedTransactionError):
            await tx.commit(results=(), effects=())
    assert await receipt_count(desk) == 0


@pytest.mark.parametrize("conforming", ["on", "off"])
async def test_values_mean_what_they_say_whatever_is_in_them(postgres_desk: PostgresDesk, conforming: str) -> None:
    raw = [b"", b"\x00\xff", b"'; DROP TABLE x; --", None]
    told = [f"({literal(HARD)}::text[])::text", *(f"{literal(text)}::text" for text in HARD)]
    told += [
        f"({literal(raw)}::bytea[])::text",
        f"encode({literal(raw[2])}::bytea, 'hex')",
        f"{literal([1, -2])}::text",
    ]
    async with transaction(postgres_desk.ledger) as tx:
        handle = (await tx.scope()).handle
        await handle.execute(f"SET LOCAL standard_conforming_strings = {conforming}")
        await handle.execute("SET LOCAL escape_string_warning = off")
        assert (await handle.fetchrow("SELECT $1::text[]::text", HARD))[0] == await handle.fetchval(f"SELECT {told[0]}")
        for text, expression in zip(HARD, told[1:], strict=False):
            assert await handle.fetchval(f"SELECT {expression}") == text
        bytes_, hex_, numbers = [await handle.fetchval(f"SELECT {each}") for each in told[-3:]]
        assert bytes_ == await handle.fetchval("SELECT $1::bytea[]::text", raw)
        assert (bytes.fromhex(hex_), numbers) == (raw[2], "{1,-2}")
