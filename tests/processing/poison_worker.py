"""A worker in a process of its own, for tests that kill it: one event's handler ends the process.

python -m tests.processing.poison_worker STORE PLACE WORKER_ID POISON_KEY
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from landfast.app.system_clock import SystemClock
from landfast.domain.event import Event
from landfast.domain.ids import WorkerId
from landfast.domain.lifecycle import State
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert


async def main(store: str, place: str, worker_id: str, poison: str) -> None:
    shop = Shop(store, place, clock=SystemClock())  # type: ignore[arg-type]
    await shop.open(create=False)

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        if event.key == poison:
            os._exit(9)

    worker = shop.worker(worker=WorkerId(bytes.fromhex(worker_id)), hands=1)
    running = asyncio.create_task(worker.run())
    while not running.done() and await unfinished(shop):
        await asyncio.sleep(0.02)
    worker.stop()
    await running
    await shop.close()


async def unfinished(shop: Shop) -> int:
    states = await shop.states()
    return sum(states.get(state, 0) for state in (State.READY, State.CLAIMED, State.DELAYED))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:5]))
