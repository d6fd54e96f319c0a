"""Where handlers are proven: a copy of the database, the real ledger on it, and the real path of an event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from landfast.config import Settings
from landfast.domain.errors import ConfigError, UserError
from landfast.domain.ids import InboxId
from landfast.drivers import ledger_driver
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import Ledger
from landfast.processing.handlers.error_text import line_of
from landfast.processing.handlers.registry import Handler, Registry
from landfast.processing.handlers.threads import Threads
from landfast.processing.invoke import Watch
from landfast.processing.prepare import Preparation
from landfast.processing.transact import StumbledError, Transactor
from landfast.processing.work import Work
from landfast.providers import Profile
from landfast.proving.copies import Copies
from landfast.proving.hooks.psycopg_pools import is_pool, like
from landfast.proving.hooks.redirect import set_redirect
from landfast.proving.hooks.sqlalchemy_driver import close_stale
from landfast.proving.report import Report
from landfast.proving.samples import Sample
from landfast.proving.tables import Snapshot
from landfast.proving.user_code import place_of_error
from landfast.proving.watched import WatchedLedger, watched
from landfast.proving.watching import KilledError, Plan, Run, on_this_thread

INBOX = InboxId(b"landfast-prover!")
"""Of no inbox that there is."""

AT_ONCE = 2
"""Handlers that run at the same time: two are enough to lose a write."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the user's Inbox is made of, as far as a proof needs it."""

    settings: Settings
    registry: Registry
    lifespans: Sequence[Callable[[], AbstractAsyncContextManager[Any]]]
    clock: Clock
    chance: Chance
    profile_of: Callable[[str], Profile]
    """By the name of a source."""


@dataclass(slots=True)
class Attempt:
    """What one run of a handler came to."""

    run: Run
    error: BaseException | None = None
    """What it raised, or what was wrong at its end. None: it was committed, or its receipt was there."""

    @property
    def went_well(self) -> bool:
        return self.error is None


@dataclass(slots=True)
class Station:
    """A fresh copy with its ledger open."""

    ledger: Ledger
    registry: Registry
    clock: Clock
    threads: Threads
    watch: Watch
    report: Report
    runs: list[Run] = field(default_factory=list)

    async def attempt(
        self, handler: Handler, sample: Sample, plan: Plan | None = None, *, run: Run | None = None
    ) -> Attempt:
        """The handler at this event, in a transaction of its own, from the receipt to the COMMIT."""
        run = run or self.new_run(handler, plan or Plan())
        self.report.runs += 1
        known = Registry()
        known.effects = self.registry.effects
        proven = replace(handler, function=watched(handler.function, run))
        known.add_handler(proven)
        claimed = Preparation(INBOX, known, self.clock).prepare(sample.claim())
        if not claimed.works:
            raise UserError(f"prove: the sample of {handler.name} cannot be decoded; give another with --sample FILE")
        (work,) = claimed.works
        transactor = Transactor(WatchedLedger(self.ledger, run), known, self.clock, self.threads, self.watch)
        return await _outcome(transactor, proven, work, run)

    def new_run(self, handler: Handler, plan: Plan) -> Run:
        run = Run(handler.function, plan, self.report.add, loop=asyncio.get_running_loop())
        self.runs.append(run)
        return run


async def _outcome(transactor: Transactor, handler: Handler, work: Work, run: Run) -> Attempt:
    try:
        await transactor.transact(handler, [work])
    except StumbledError as stumbled:
        return Attempt(run, stumbled.error)
    except asyncio.CancelledError:
        raise
    except (Exception, KilledError) as error:  # noqa: BLE001 - whatever it is, it is the outcome
        return Attempt(run, error)
    return Attempt(run)


class Bench:
    """Makes fresh copies of the user's database, for one run or a few each."""

    def __init__(self, subject: Subject, *, schema: str | None = None) -> None:
        self.subject = subject
        self._driver = ledger_driver(subject.settings.ledger.scheme, subject.settings.ledger.for_driver)
        self.copies: Copies = _copies_of(self._made(None), schema)
        self.before = Snapshot()
        """What is in the tables before a handler has run."""

    @property
    def has_one_writer(self) -> bool:
        return self._driver.has_one_writer

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Landfast's tables are made in the copy, and what the user's lifespans make."""
        on_this_thread()
        try:
            await self.copies.open()
            set_redirect(self.copies.redirect)
            async with self._running(migrate=True):
                pass
            await self.copies.seal()
            self.before = await self.copies.snapshot()
            yield
        finally:
            set_redirect(None)
            await asyncio.shield(self.copies.close())

    @asynccontextmanager
    async def station(self, report: Report) -> AsyncIterator[Station]:
        """On a fresh copy."""
        await self.copies.fresh()
        set_redirect(self.copies.redirect)
        async with self._running(migrate=False) as ledger:
            threads = Threads()
            try:
                yield Station(ledger, self.subject.registry, self.subject.clock, threads, Watch(lambda: None), report)
            finally:
                threads.close()

    @asynccontextmanager
    async def _running(self, *, migrate: bool) -> AsyncIterator[Ledger]:
        ledger = self._made(self.copies.address())
        await ledger.open()
        try:
            if migrate:
                await ledger.migrate()
            async with AsyncExitStack() as stack:
                for lifespan in self.subject.lifespans:
                    await _enter(stack, lifespan)
                yield ledger
        finally:
            await ledger.close()
            close_stale()

    def _made(self, address: str | None) -> Ledger:
        """The user's own ledger; where it has an address of its own, the one that is given in its place."""
        given = self.subject.settings.ledger
        target = (
            given.for_driver if address is None or given.given is not None or not self._has_plain_address else address
        )
        if is_pool(target):
            target = like(target)
        return self._driver.make(
            target,
            clock=self.subject.clock,
            chance=self.subject.chance,
            seal=None,
            concurrency=1 if self.has_one_writer else AT_ONCE,
            named=f"ledger ({given.origin})",
        )

    @property
    def _has_plain_address(self) -> bool:
        return self._driver.is_file or self._driver.is_url


async def _enter(stack: AsyncExitStack, lifespan: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
    try:
        await stack.enter_async_context(lifespan())
    except Exception as error:
        where = place_of_error(error)
        raise UserError(f"prove: a lifespan failed with {line_of(error)}{f' at {where}' if where else ''}") from error


def _copies_of(ledger: Ledger, schema: str | None) -> Copies:
    from landfast.ledgers.postgres import PostgresLedger
    from landfast.ledgers.sqlite import SqliteLedger

    if isinstance(ledger, PostgresLedger):
        from landfast.proving.copies.postgres import PostgresCopies

        return PostgresCopies(ledger._dsn, schema=schema)  # noqa: SLF001 - whatever it was derived from
    if isinstance(ledger, SqliteLedger):
        from landfast.proving.copies.sqlite import SqliteCopies

        return SqliteCopies(Path(ledger._path))  # noqa: SLF001 - same
    raise ConfigError(
        f"prove: a {type(ledger).__name__} cannot be copied; handlers are proven on PostgreSQL and SQLite"
    )
