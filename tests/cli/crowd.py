"""An inbox with events in it, for commands to look at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from landfast import Inbox
from landfast.app.stores import Stores
from landfast.domain.census import SourceTally, TallyReport
from landfast.domain.delivery import Delivery
from landfast.domain.lifecycle import Signal
from landfast.testing.factory import deliveries, delivery
from tests.recovery.scenes import receive, settle_all

HOSTILE = "\x1b[2Jboo\u202e"


def fill(work: Callable[[Stores], Coroutine[Any, Any, None]]) -> None:
    """Migrate the databases of the current directory, and put something in."""

    async def run() -> None:
        inbox = Inbox()
        await inbox.migrate()
        async with inbox.stores() as stores:
            await work(stores)

    asyncio.run(run())


async def three_dead_two_done(stores: Stores) -> None:
    done = deliveries(2, prefix="done")
    await stores.inbox.record(done)
    await settle_all(stores.inbox, Signal.FINISH)
    await receive(stores.inbox, stores.ledger, done)
    await stores.inbox.record(deliveries(3, prefix="dead"))
    await settle_all(stores.inbox, Signal.BURY)
    counted = {"shop": SourceTally(received=7, stored=5, duplicate=1, rejected=1)}
    await stores.inbox.tally(TallyReport(stores.inbox.boot, counted, {}, ended=True))


async def finish_all(stores: Stores) -> None:
    await settle_all(stores.inbox, Signal.FINISH)


async def one_hostile(stores: Stores) -> None:
    body = f'{{"note":"{HOSTILE}[bold]x[/bold]"}}'.encode()
    event: Delivery = delivery("evil", type=f"t{HOSTILE}", body=body)
    await stores.inbox.record([event])
    await settle_all(stores.inbox, Signal.BURY)
