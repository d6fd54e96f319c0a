"""Opening the two halves of the path: everything wired, and everything closed again in the opposite order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from landfast.app.caching import seen_cache
from landfast.app.journaling import journaled
from landfast.app.sources import source_of
from landfast.app.stores import make_wakeup, open_inbox, open_stores
from landfast.config import Settings, SourceSettings
from landfast.domain.ids import BootId, InboxId, WorkerId
from landfast.intake.receive import Intake
from landfast.intake.record import GroupCommit
from landfast.intake.tally import Tally
from landfast.ports.clock import Chance, Clock
from landfast.ports.wakeup import Wakeup
from landfast.processing.registry import Registry
from landfast.processing.worker import Worker
from landfast.providers.catalogue import PROFILES


@asynccontextmanager
async def intake(
    settings: Settings, declared: Iterable[SourceSettings], clock: Clock, chance: Chance
) -> AsyncIterator[Intake]:
    sources = [source_of(source, settings) for source in declared]
    async with (
        open_inbox(settings, clock, chance, migrate=True) as inbox,
        _awake(settings, await inbox.identity()) as wakeup,
        seen_cache(settings, inbox, clock, chance) as seen,
    ):
        boot = BootId(chance.bytes(8))
        names = [source.name for source in sources]
        # While only duplicates come, nobody but the tally notices that the inbox was away, and may be an older one.
        tally = Tally(inbox, boot=boot, clock=clock, sources=names, on_outage=seen.clear, meters=seen.meters)
        async with journaled(settings, inbox, boot=boot, clock=clock, seen=seen, tally=tally) as journal:
            recorder = GroupCommit(journal, seen=seen, wakeup=wakeup)
            tally.start()
            try:
                yield Intake(sources, recorder=recorder, seen=seen, tally=tally, clock=clock, known=PROFILES.values)
            finally:
                # The tally last: what the recorder still has in hand is counted when it is answered.
                await recorder.close()
                await tally.close()


@asynccontextmanager
async def worker(
    settings: Settings,
    registry: Registry,
    lifespans: Sequence[Callable[[], AbstractAsyncContextManager[Any]]],
    worker_id: WorkerId,
    clock: Clock,
    chance: Chance,
) -> AsyncIterator[Worker]:
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(settings, clock, chance, migrate=True))
        wakeup = await stack.enter_async_context(_awake(settings, stores.identity))
        for lifespan in lifespans:
            await stack.enter_async_context(lifespan())
        yield Worker(
            registry=registry,
            bench=stores.inbox,
            ledger=stores.ledger,
            effects=stores.ledger,
            wakeup=wakeup,
            clock=clock,
            chance=chance,
            inbox=stores.identity,
            worker=worker_id,
            hands=settings.hands,
            lease=settings.lease,
        )


@asynccontextmanager
async def _awake(settings: Settings, inbox: InboxId) -> AsyncIterator[Wakeup]:
    wakeup = make_wakeup(settings.store, inbox)
    await wakeup.open()
    try:
        yield wakeup
    finally:
        await wakeup.close()
