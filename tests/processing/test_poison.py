"""A poison event kills every worker that runs it. Its neighbours must not suffer, and it must end."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from landfast.app.system_clock import SystemClock
from landfast.domain.ids import WorkerId
from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.req("R24")
async def test_a_poison_event_in_a_group_of_200_does_not_hurt_its_neighbours(shop: Shop) -> None:
    shop.clock = SystemClock()  # type: ignore[assignment]
    keys = [f"evt_{n:03}" for n in range(200)]
    await shop.deliver(*keys)
    deaths = 0
    for number in range(1, 12):
        worker = WorkerId(number.to_bytes(8, "big"))
        command = [
            sys.executable,
            "-m",
            "tests.processing.poison_worker",
            shop.store,
            shop.place,
            worker.hex(),
            "evt_117",
        ]
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
        code = await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
        if code == 0:
            break
        assert code == 9
        deaths += 1
        await shop.inbox.abandon(worker=worker)
    assert await shop.states() == {State.DONE: 199, State.DEAD: 1}
    assert await shop.orders() == [key for key in keys if key != "evt_117"]
    [dead] = await shop.dead()
    assert (dead.key, dead.reason) == ("evt_117", "crash_loop")
    assert deaths == 4  # once among its neighbours, then three times alone


async def test_an_event_is_not_buried_for_the_crash_of_its_neighbours(shop: Shop) -> None:
    """However often a worker dies with it in a group: only a crash while it runs alone is its own."""
    await shop.deliver("evt_1", "evt_2")
    from landfast.domain.ids import token

    worker = WorkerId(b"crashing")
    claims = await shop.inbox.claim(token=token(worker, 1), lease=30, limit=2)
    assert len(claims) == 2
    await shop.inbox.abandon(worker=worker)
    for number in range(2, 5):
        suspect = await shop.inbox.claim_suspect(token=token(worker, number), lease=30)
        assert suspect is not None and suspect.suspect and suspect.crashes == number - 2
        await shop.inbox.abandon(worker=worker)
    other = await shop.inbox.claim_suspect(token=token(worker, 9), lease=30)
    assert other is not None
