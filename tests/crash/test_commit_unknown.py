"""The network dies around COMMIT, and the whole worker goes on: nobody knows, until somebody looks at the receipt."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from landfast.app.system_clock import SystemClock
from landfast.domain.event import Event
from landfast.domain.lifecycle import Signal, State
from landfast.ledgers.postgres import PostgresLedger
from landfast.testing.clock import SeededChance
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.proxy import Fate, Proxy
from tests.servers import Postgres

EVENTS = 30
CUTS = 3
WITHIN = PATIENCE_SECONDS
"""Seconds; each cut costs a second or so of looking again, and the machine may be busy."""


@pytest.mark.req("R24")
@pytest.mark.parametrize("fate", [Fate.CUT_AFTER, Fate.CUT_BEFORE])
async def test_a_commit_that_nobody_answered_is_no_failure_and_never_runs_a_handler_twice(
    fate: Fate, postgres: Postgres, database: str, database_name: str
) -> None:
    shop = Shop("postgres", database, clock=SystemClock())  # type: ignore[arg-type]
    await shop.open()
    async with Proxy(postgres.port).running() as proxy:
        far = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name}"
        ledger = PostgresLedger(far, clock=shop.clock, chance=SeededChance(1), pool=4)
        near, shop.ledger = shop.ledger, ledger
        await ledger.open()

        @shop.on()
        async def create_order(event: Event, tx: Any) -> None:
            await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 1)", event.key)

        keys = [f"evt_{number:03}" for number in range(EVENTS)]
        worker = shop.worker(hands=2)
        running = asyncio.create_task(worker.run())
        struck = 0
        async with asyncio.timeout(WITHIN):
            for start in range(0, EVENTS, EVENTS // CUTS):
                proxy.strike(b"COMMIT", fate)
                await shop.deliver(*keys[start : start + EVENTS // CUTS])
                await proxy.struck.wait()
                struck += 1
            while (await shop.states()).get(State.DONE) != EVENTS:
                await asyncio.sleep(0.02)
        worker.stop()
        await running
        await ledger.close()
    shop.ledger = near
    assert struck == CUTS and await shop.orders() == keys
    histories = [(await shop.show(key)).history for key in keys]
    attempts = [attempt for lines in histories for line in lines for attempt in line.attempts]
    assert {attempt.outcome for attempt in attempts} == {"done"}, "an unknown COMMIT was judged a failure"
    heard = {(line.signal, line.reason) for lines in histories for line in lines}
    await shop.close()
    assert any(signal is Signal.POSTPONE for signal, _ in heard), heard
