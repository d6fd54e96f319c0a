"""What the transaction of a handler costs on each stack that users bring, one event at a time and in groups of 50.

Each stack is measured against the raw driver on the same database, receipt first as well, and against itself without
Landfast: the same session, the same writes, a plain commit. To add one, write a `Stack` and put it into `STACKS`.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench import stores
from bench.rows import Row
from bench.stage import Stage
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.domain.ids import HandlerName, ReceiptDigest
from landfast.domain.outcome import ReceiptKey
from landfast.drivers import ledger_driver, scheme_of
from landfast.ports.ledger import Ledger, LedgerTransaction, Scope
from landfast.processing.handlers.threads import Threads
from landfast.processing.trip import Trip, in_one_trip

GROUP = 50
ALONE, GROUPED = "one event a transaction", f"groups of {GROUP}"
RECEIPTED, PLAIN = "handler's transaction, {}, {}", "handler's transaction, {}, {}, without Landfast"
RAW = "raw asyncpg"

INSERT = "INSERT INTO stack_order (payment) VALUES ($1)"
CREATE = "CREATE TABLE stack_order (id bigserial PRIMARY KEY, payment text NOT NULL)"

DEADLINE_SECONDS = 30.0

_numbers = itertools.count()
_threads = Threads()
_WORK: Any = SimpleNamespace(handler=SimpleNamespace(is_async=False, deadline=DEADLINE_SECONDS))
"""As much of an event as a trip to a thread looks at."""

Handles = Callable[[Scope, str], Any]
"""What a handler does with what it is given, for one payment: one INSERT, in the way of its stack."""


@dataclass(frozen=True, slots=True)
class Stack:
    name: str
    given: Callable[[str], AbstractAsyncContextManager[Any]]
    """From the address of a database to what the user gives as the ledger, or the address itself."""
    handles: Handles
    plain: Callable[[Any, int], Awaitable[None]] | None = None
    """A transaction of so many writes on what is given, without Landfast."""
    limits: tuple[float, float] | None = None
    """How many times the raw driver's it may take: one event at a time, and in groups."""


async def rows(stage: Stage) -> list[Row]:
    measured: dict[str, Row] = {}
    events = max(GROUP, stage.sizes.claims * 10)
    async with stores.on_postgres(stage.postgres) as store:
        async with stores.connected(store.inbox) as connection:
            await connection.execute(CREATE)
        for number in range(stage.sizes.rounds):
            for stack in STACKS:
                stage.say(f"round {number + 1} of {stage.sizes.rounds}: {stack.name}")
                async with stack.given(store.inbox) as given:
                    found, stolen = await stage.undisturbed(partial(_round, stack, given, events))
                    for name, spent in found.items():
                        row = measured.setdefault(name, Row(name, "µs"))
                        row.values.append(spent.microseconds)
                        row.stolen.append(stolen)
                        row.detail["cpu_microseconds_each"] = {"worker": round(spent.cpu_microseconds, 1)}
    return list(measured.values())


class Spent(NamedTuple):
    """On an event."""

    microseconds: float
    cpu_microseconds: float
    """Of this process: it survives a busy machine better."""


async def _round(stack: Stack, given: Any, events: int) -> dict[str, Spent]:
    found: dict[str, Spent] = {}
    ledger = ledger_on(given)
    await ledger.open()
    try:
        await ledger.migrate()
        for kind, size in ((ALONE, 1), (GROUPED, GROUP)):
            await transaction(ledger, stack, size)  # connections are made, and statements prepared
            began = time.perf_counter(), time.process_time()
            for _ in range(events // size):
                await transaction(ledger, stack, size)
            found[RECEIPTED.format(stack.name, kind)] = _each(began, events)
            if stack.plain is not None:
                await stack.plain(given, size)
                began = time.perf_counter(), time.process_time()
                for _ in range(events // size):
                    await stack.plain(given, size)
                found[PLAIN.format(stack.name, kind)] = _each(began, events)
    finally:
        await ledger.close()
    return found


def _each(began: tuple[float, float], events: int) -> Spent:
    spent = time.perf_counter() - began[0], time.process_time() - began[1]
    return Spent(*(seconds / events * 1e6 for seconds in spent))


def ledger_on(given: Any) -> Ledger:
    clock, chance = SystemClock(), SystemChance()
    scheme = scheme_of(given) or urlsplit(given).scheme
    make = ledger_driver(scheme, given).make
    return make(given, clock=clock, chance=chance, seal=None, concurrency=4, named="ledger")


async def transaction(ledger: Ledger, stack: Stack, size: int) -> None:
    """As a worker runs a group: on the loop, or all of it in the thread of the transaction."""
    keys = [ReceiptKey(ReceiptDigest(os.urandom(32)), HandlerName("create_order"), 1) for _ in range(size)]
    tx = await ledger.begin(deadline=DEADLINE_SECONDS)
    if tx.lane is None:
        await _all_of_it(tx, keys, lambda scope: stack.handles(scope, f"pay_{next(_numbers)}"))
        return

    async def work(driven: LedgerTransaction, trip: Trip) -> None:
        async def handle(scope: Scope) -> None:
            trip.begins(_WORK)
            handler = partial(stack.handles, scope, f"pay_{next(_numbers)}")
            await trip.call(_WORK.handler, handler, scope, lambda: None)
            trip.ended()

        await _all_of_it(driven, keys, handle)

    await in_one_trip(tx, work, tx.lane, deadline=DEADLINE_SECONDS, threads=_threads, hung=lambda: None)


async def _all_of_it(
    tx: LedgerTransaction, keys: Sequence[ReceiptKey], handle: Callable[[Scope], Awaitable[None]]
) -> None:
    try:
        await tx.reserve(keys)
        for _ in keys:
            scope = await tx.scope()
            await handle(scope)
            await scope.close()
        await tx.commit(results=(), effects=())
    except BaseException:
        await tx.rollback()
        raise


async def _raw(scope: Scope, payment: str) -> None:
    await scope.handle.execute(INSERT, payment)


@asynccontextmanager
async def _address(dsn: str) -> AsyncIterator[str]:
    yield dsn


def _sqlalchemy(name: str, driver: str, *, is_async: bool, limits: tuple[float, float]) -> Stack:
    from bench.servers import sqlalchemy_orders as orders

    return Stack(
        f"SQLAlchemy, {name}",
        lambda dsn: orders.engine(dsn, driver, is_async=is_async),
        orders.waits if is_async else orders.blocks,
        orders.waits_alone if is_async else orders.blocks_alone,
        limits,
    )


def _psycopg(name: str, *, is_async: bool) -> Stack:
    from bench.servers import psycopg_orders as orders

    return Stack(
        f"psycopg, {name}",
        lambda dsn: orders.pool(dsn, is_async=is_async),
        orders.waits if is_async else orders.blocks,
        orders.waits_alone if is_async else orders.blocks_alone,
        (1.1, 1.5),
    )


def _django() -> Stack:
    from bench.servers import django_orders as orders

    return Stack("Django", orders.alias, orders.blocks, orders.blocks_alone, (1.6, 3.2))


STACKS: Sequence[Stack] = (
    Stack(RAW, _address, _raw),
    _psycopg("async", is_async=True),
    _psycopg("blocking", is_async=False),
    _django(),
    _sqlalchemy("asyncpg", "asyncpg", is_async=True, limits=(1.9, 3.8)),
    _sqlalchemy("psycopg", "psycopg", is_async=False, limits=(2.0, 5.0)),
    _sqlalchemy("psycopg2", "psycopg2", is_async=False, limits=(2.0, 5.0)),
)


def limits() -> list[tuple[str, str, float]]:
    """Which row, against which, and how much at most."""
    found = []
    for stack in STACKS:
        for kind, limit in zip((ALONE, GROUPED), stack.limits or (), strict=False):
            found.append((RECEIPTED.format(stack.name, kind), RECEIPTED.format(RAW, kind), limit))
        if stack.plain is not None:
            found += [
                (RECEIPTED.format(stack.name, kind), PLAIN.format(stack.name, kind), 1.5) for kind in (ALONE, GROUPED)
            ]
    return found
