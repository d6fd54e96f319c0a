"""The shop's writes on psycopg's own pools: as a handler, and in a plain transaction without Landfast."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import psycopg_pool

from landfast.ports.ledger import Scope

INSERT = "INSERT INTO stack_order (payment) VALUES (%s)"
SIZE = 4

_numbers = itertools.count()
_thread = ThreadPoolExecutor(1)
"""For what runs without Landfast: a worker's loop cannot wait for a blocking driver either."""


@asynccontextmanager
async def pool(dsn: str, *, is_async: bool) -> AsyncIterator[Any]:
    kind: Any = psycopg_pool.AsyncConnectionPool if is_async else psycopg_pool.ConnectionPool
    made = kind(dsn, min_size=SIZE, max_size=SIZE, open=False)
    opened = made.open()
    if is_async:
        await opened
    try:
        yield made
    finally:
        closed = made.close()
        if is_async:
            await closed


async def waits(scope: Scope, payment: str) -> None:
    await scope.given("connection").execute(INSERT, (payment,))


def blocks(scope: Scope, payment: str) -> None:
    scope.given("connection").execute(INSERT, (payment,))


async def waits_alone(given: Any, size: int) -> None:
    async with given.connection() as conn:
        for _ in range(size):
            await conn.execute(INSERT, (f"plain_{next(_numbers)}",))


async def blocks_alone(given: Any, size: int) -> None:
    """In a thread, as a handler is, but all of it in one go."""

    def work() -> None:
        with given.connection() as conn:
            for _ in range(size):
                conn.execute(INSERT, (f"plain_{next(_numbers)}",))

    await asyncio.get_running_loop().run_in_executor(_thread, work)
