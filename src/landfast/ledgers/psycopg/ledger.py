"""The ledger in the database of the user's psycopg pool: handlers get its connections, everything else has its own."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import psycopg

from landfast.domain import isolation as levels
from landfast.domain.errors import ConfigError
from landfast.domain.fault import Fault
from landfast.ledgers import limits
from landfast.ledgers.lane import Lane, Lanes
from landfast.ledgers.laned import LanedTransaction
from landfast.ledgers.postgres import faults, store
from landfast.ledgers.postgres.foreign_errors import diagnose, translating
from landfast.ledgers.postgres.ledger import DESK_SIZE, PostgresLedger
from landfast.ledgers.postgres.transaction import PostgresTransaction
from landfast.ledgers.psycopg.address import address_of
from landfast.ledgers.psycopg.wire import AsyncPsycopgWire, BlockingPsycopgWire
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import LedgerTransaction, Scope
from landfast.postgres_pooling import is_pooled
from landfast.sealing import Seal
from landfast.thread_calls import finish


class PsycopgLedger(PostgresLedger):
    """What both kinds of pools have in common."""

    def __init__(
        self,
        pool: Any,
        *,
        clock: Clock,
        chance: Chance,
        named: str = "ledger (Inbox())",
        seal: Seal | None = None,
    ) -> None:
        super().__init__(address_of(pool, named), clock=clock, chance=chance, named=named, seal=seal)
        self._pool = pool
        self._places = asyncio.Semaphore(int(pool.max_size))
        """Handlers that have a connection. Whoever waits behind a slow one waits here: the pool would give up after a
        while, which is also what a database does that is away."""
        self._has_opened = False
        """The pool was not open, as in a worker process: then it is ours to close."""

    def diagnose(self, error: BaseException) -> Fault:
        return diagnose(error)

    async def open(self) -> None:
        (self._desk,) = await store.connect(self._dsn, handlers=0, desk=DESK_SIZE, named=self._named)
        self._handlers = self._desk
        async with self._desk.acquire() as connection:
            self._is_pooled = await is_pooled(connection)  # type: ignore[arg-type]
        if self._is_pooled and (self._pool.kwargs or {}).get("prepare_threshold", 5) is not None:
            await super().close()
            raise ConfigError(
                f"{self._named}: a pooler such as PgBouncer is in between, where prepared statements are lost;"
                ' give your pool kwargs={"prepare_threshold": None}'
            )

    def _check_usable(self) -> None:
        if self._pool.closed and self._pool._opened:  # noqa: SLF001 - it says so only when it is opened again
            raise ConfigError(f"{self._named}: the pool was closed, and cannot be opened again; make a new one")


class AsyncPsycopgLedger(PsycopgLedger):
    """On an AsyncConnectionPool."""

    async def begin(self, *, deadline: float, isolation: str | None = None) -> PostgresTransaction:
        await self._be_open()
        await self._places.acquire()
        try:
            wire, transaction = await self._begin_now(deadline=deadline, isolation=levels.level(isolation))
        except BaseException:
            self._places.release()
            raise
        wire.gone = self._places.release
        return transaction

    async def close(self) -> None:
        if self._has_opened:
            await self._pool.close()
        await super().close()

    async def _begin_now(self, *, deadline: float, isolation: str) -> tuple[AsyncPsycopgWire, PostgresTransaction]:
        wire = AsyncPsycopgWire(self._pool, await self._borrow(), may_keep=not self._is_pooled)
        return wire, await self._begun(wire, deadline=deadline, isolation=isolation)

    async def _be_open(self) -> None:
        if self._pool.closed:
            self._check_usable()
            self._has_opened = True
            await self._pool.open()

    async def _borrow(self) -> Any:
        try:
            with translating():
                return await self._pool.getconn(timeout=limits.ANSWER_WAIT)
        except faults.ANY as error:
            raise faults.unavailable(error) from error


class PsycopgLaned(LanedTransaction):
    """To give a handler its connection, and to look at what it left, sends nothing: that needs no trip to the thread,
    and a trip costs as much as a statement."""

    def __init__(
        self, wire: BlockingPsycopgWire, inner: PostgresTransaction, lane: Lane, lanes: Lanes, **how: Any
    ) -> None:
        super().__init__(inner, lane, lanes, hang_up=wire.hang_up, **how)
        self._wire = wire
        self._transaction = inner

    async def scope(self) -> Scope:
        if self._wire.settings_may_differ or not self._wire.is_connected:
            return await super().scope()
        return finish(self._transaction.scope())


class BlockingPsycopgLedger(PsycopgLedger):
    """On a ConnectionPool: each transaction has a thread, and its handlers run there."""

    def __init__(self, pool: Any, **how: Any) -> None:
        super().__init__(pool, **how)
        self._lanes = Lanes("landfast psycopg")

    async def begin(  # type: ignore[override]  # as the port has it, in a lane
        self, *, deadline: float, isolation: str | None = None
    ) -> LedgerTransaction:
        """Nothing is asked of the pool before the receipts are: that is the first thing that needs the thread."""
        level = levels.level(isolation)
        await self._places.acquire()
        lane = self._lanes.take()
        wire = BlockingPsycopgWire(self._pool, self._borrow, may_keep=not self._is_pooled)
        inner = PostgresTransaction(wire, silence=deadline + limits.STOPPED_GRACE, seal=self._seal)
        begin = partial(inner.begin, level)
        return PsycopgLaned(wire, inner, lane, self._lanes, begin=begin, gone=self._places.release)

    async def open(self) -> None:
        _check_is_of_this_process(self._pool, self._named)
        await super().open()

    async def close(self) -> None:
        self._lanes.close()
        if self._has_opened:
            await asyncio.to_thread(self._pool.close)
        await super().close()

    def _borrow(self) -> psycopg.Connection[Any]:
        """In the lane."""
        if self._pool.closed:
            self._check_usable()
            self._has_opened = True
            self._pool.open()
        try:
            with translating():
                connection: psycopg.Connection[Any] = self._pool.getconn(timeout=limits.ANSWER_WAIT)
                return connection
        except faults.ANY as error:
            raise faults.unavailable(error) from error


def _check_is_of_this_process(pool: Any, named: str) -> None:
    """A fork copies a pool's connections and none of its threads. Two processes that write on one socket would be in
    each other's transactions."""
    threads = getattr(pool, "_workers", ())
    if not pool.closed and threads and not any(thread.is_alive() for thread in threads):
        raise ConfigError(
            f"{named}: the pool was opened before this process was forked, as with gunicorn's preload_app, and its"
            " connections are the parent's; make it with open=False, and Landfast opens it in each process"
        )
