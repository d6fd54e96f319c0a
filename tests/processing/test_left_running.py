"""A handler that runs on after its transaction, in a thread or in a task, writes nothing outside of it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from landfast.domain.event import Event
from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop

WRITE = "INSERT INTO orders (key) VALUES ('x')"
AT_MOST_SECONDS = PATIENCE_SECONDS
"""For a writer that nobody stops, so that a test which fails ends."""


@pytest.mark.req("R20")
async def test_a_def_handler_past_its_deadline_writes_no_more_and_crashes_nothing(shop: Shop) -> None:
    stopped_by, ended = list[Exception](), threading.Event()

    @shop.on(deadline=0.2, attempts=1)
    def writes_on(event: Event, tx: Any) -> None:
        write = tx.connection.execute if shop.store == "sqlite" else tx.execute
        until = time.monotonic() + AT_MOST_SECONDS
        try:
            while time.monotonic() < until:
                write(WRITE)
        except Exception as error:  # noqa: BLE001 - whatever stops it
            stopped_by.append(error)
        finally:
            ended.set()

    await shop.deliver("a")
    await shop.worker(hung=lambda: None).drain()
    assert await asyncio.to_thread(ended.wait, PATIENCE_SECONDS)
    assert stopped_by
    assert (await shop.orders(), await shop.state("a")) == ([], State.DEAD)
    # The ledger is as good as new for the next one.
    shop.registry.handlers.clear()

    @shop.on(name="another")
    def another(event: Event, tx: Any) -> None:
        tx.execute("INSERT INTO orders (key) VALUES ($1)", event.key)

    await shop.deliver("b")
    await shop.drain()
    assert await shop.orders() == ["b"]


@pytest.mark.req("R20")
@pytest.mark.parametrize("outcome", ["returns", "raises"])
@pytest.mark.parametrize("over", ["tx", "connection"])
async def test_a_task_that_a_handler_left_running_writes_nothing_after_the_end(
    shop: Shop, outcome: str, over: str
) -> None:
    stopped_by, tasks, begun = list[Exception](), list[asyncio.Task[None]](), asyncio.Event()

    async def write_on(write: Callable[[str], Awaitable[Any]]) -> None:
        until = time.monotonic() + AT_MOST_SECONDS
        try:
            while time.monotonic() < until:
                result = write(WRITE)
                if asyncio.iscoroutine(result):
                    await result
                begun.set()
                await asyncio.sleep(0)
        except Exception as error:  # noqa: BLE001 - whatever stops it
            stopped_by.append(error)

    @shop.on(attempts=1)
    async def leaves_a_task(event: Event, tx: Any) -> None:
        begun.clear()
        tasks.append(asyncio.create_task(write_on((tx if over == "tx" else tx.connection).execute)))
        await begun.wait()
        if outcome == "raises":
            raise ValueError("no")

    await shop.deliver("a")
    await shop.drain()
    written = await shop.orders()
    await asyncio.wait(tasks)
    assert len(stopped_by) == len(tasks)
    assert await shop.orders() == written
    # In the transaction or not at all: without its receipt nothing is there.
    assert bool(written) == (await shop.state("a") is State.DONE)
