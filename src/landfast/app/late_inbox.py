"""The inbox as an intake has it: there from the start, or opened later, if deliveries can wait elsewhere. The journal
is opened in the same way, because its subjects carry the inbox's name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Protocol

from landfast import telemetry
from landfast.app import stores
from landfast.app.stores import check_seal, make_wakeup, prepare
from landfast.config import Settings
from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.errors import ConfigError, InboxUnavailableError, JournalUnavailableError, UnavailableError
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.ports.journal import Journal
from landfast.ports.wakeup import Wakeup
from landfast.sealing import Seal

REOPEN_SECONDS = 1.0
"""Seconds between two attempts to open an inbox that is away."""


class LateWakeup:
    """Nobody is told anything until the inbox is there: the workers poll."""

    def __init__(self) -> None:
        self._wakeup: Wakeup | None = None

    async def become(self, wakeup: Wakeup) -> None:
        await wakeup.open()
        self._wakeup = wakeup
        wakeup.nudge()

    def nudge(self) -> None:
        if self._wakeup is not None:
            self._wakeup.nudge()

    async def wait(self, seconds: float) -> None:
        if self._wakeup is not None:
            await self._wakeup.wait(seconds)
        else:
            await asyncio.sleep(seconds)

    async def open(self) -> None: ...

    async def close(self) -> None:
        if self._wakeup is not None:
            await self._wakeup.close()


@asynccontextmanager
async def open_late_inbox(
    settings: Settings, clock: Clock, chance: Chance, seal: Seal
) -> AsyncIterator[tuple[Inbox, LateWakeup]]:
    """Opened and brought up to date. Where there is a spool or a journal, an inbox that does not answer is opened as
    soon as it does; whoever uses it before is told that it is unavailable."""
    prepare("store", settings.store, migrate=True)
    inbox, wakeup = stores.make_inbox(settings.store, clock, chance, seal), LateWakeup()
    arriving: asyncio.Task[None] | None = None
    try:
        try:
            await _arrive(settings, inbox, wakeup, seal)
        except InboxUnavailableError as error:
            if settings.spool is None and settings.journal is None:
                raise
            telemetry.warn("started_without_inbox", error=error)
            apart = stores.make_inbox(settings.store, clock, chance, seal)
            arriving = asyncio.create_task(_arrive_later(settings, inbox, apart, wakeup, seal, clock))
        yield inbox, wakeup
    finally:
        if arriving is not None:
            arriving.cancel()
            await asyncio.wait([arriving])
        await wakeup.close()
        await inbox.close()


async def _arrive(settings: Settings, inbox: Inbox, wakeup: LateWakeup, seal: Seal) -> None:
    try:
        await _open_checked(inbox, seal)
        await wakeup.become(make_wakeup(settings.store, await inbox.identity()))
    except BaseException:
        await inbox.close()
        raise


async def _open_checked(inbox: Inbox, seal: Seal) -> None:
    await inbox.open()
    await inbox.migrate()
    await _check_seal(inbox, seal)


async def _check_seal(inbox: Inbox, seal: Seal) -> None:
    """At the start it ends the process. Later nobody is left to end it: but the spool takes nothing more."""
    try:
        await check_seal("the inbox", inbox, seal)
    except ConfigError as error:
        seal.refusal = str(error)
        raise
    seal.refusal = ""


async def _arrive_later(
    settings: Settings, inbox: Inbox, apart: Inbox, wakeup: LateWakeup, seal: Seal, clock: Clock
) -> None:
    """Senders, drainer and tally use `inbox` from the moment that it is open: with a wrong seal they would write in
    clear, or under a key that others refuse. So the seal is checked `apart`, on one that nobody has."""

    async def arrive() -> None:
        try:
            await _open_checked(apart, seal)
        finally:
            await apart.close()
        await _arrive(settings, inbox, wakeup, seal)

    await _persist("inbox", arrive, clock)


class BrokerJournal(Journal, Protocol):
    async def hazards(self) -> Sequence[str]:
        """As `Store.hazards`."""
        ...


class LateJournal:
    """Unavailable until it is there."""

    def __init__(self) -> None:
        self.journal: BrokerJournal | None = None

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        return await self._opened().record(deliveries)

    async def hazards(self) -> Sequence[str]:
        return await self._opened().hazards()

    def _opened(self) -> BrokerJournal:
        if self.journal is None:
            raise JournalUnavailableError("the journal is not open, because the inbox has not answered yet")
        return self.journal


@asynccontextmanager
async def open_late_journal(
    opening: Callable[[], AbstractAsyncContextManager[BrokerJournal]], clock: Clock
) -> AsyncIterator[LateJournal]:
    """Opened now; or, while the inbox is away, as soon as it has said who it is."""
    late = LateJournal()
    arriving: asyncio.Task[None] | None = None
    async with AsyncExitStack() as stack:

        async def arrive() -> None:
            late.journal = await stack.enter_async_context(opening())

        try:
            await arrive()
        except InboxUnavailableError:
            arriving = asyncio.create_task(_persist("journal", arrive, clock))
        try:
            yield late
        finally:
            if arriving is not None:
                arriving.cancel()
                await asyncio.wait([arriving])


async def _persist(what: str, arrive: Callable[[], Awaitable[None]], clock: Clock) -> None:
    """Try until it works."""
    told = ""
    while True:
        await clock.sleep(REOPEN_SECONDS)
        try:
            await arrive()
        except UnavailableError:
            continue
        except Exception as error:  # noqa: BLE001 - whatever it was, deliveries wait until it is there
            # It answers, and cannot be used as it is: nobody at the terminal reads an exit code any more.
            if told != str(error):
                telemetry.error("store_not_opened", store=what, error=error)
            told = str(error)
            continue
        telemetry.info("store_opened", store=what)
        return
