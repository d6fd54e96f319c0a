"""The gate, where suspects have no process of their own: one alone now and then, and never at the cost of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from landfast.processing.control import gate as gate_module
from landfast.processing.control.gate import FIRST_HOLD_SECONDS, REST_RATIO, Gate
from landfast.testing.clock import ManualClock
from tests.patience import PATIENCE_SECONDS

HOLD = 0.05


@pytest.fixture
async def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Holds, and the loop's time, which passes only while everybody waits, and then at once: a machine that stands still
    ends no hold."""
    monkeypatch.setattr(gate_module, "FIRST_HOLD_SECONDS", HOLD)
    loop: Any = asyncio.get_running_loop()
    select, now = loop._selector.select, loop.time()

    def passes(timeout: float | None = None) -> Any:
        nonlocal now
        found = select(timeout if timeout is None else 0)
        now += timeout if timeout and not found else 0.0
        return found

    monkeypatch.setattr(loop, "time", lambda: now)
    monkeypatch.setattr(loop._selector, "select", passes)


def gate_of(clock: ManualClock, longest_hold: float = 60.0) -> Gate:
    return Gate(clock, lambda: longest_hold)


@asynccontextmanager
async def somebody_inside(gate: Gate) -> AsyncIterator[asyncio.Event]:
    """Until the event is set."""
    inside, leave = asyncio.Event(), asyncio.Event()

    async def stay() -> None:
        async with gate.shared():
            inside.set()
            await leave.wait()

    staying = asyncio.create_task(stay())
    await inside.wait()
    try:
        yield leave
    finally:
        leave.set()
        await staying


async def enter(gate: Gate) -> None:
    async with gate.shared():
        pass


async def test_newcomers_wait_while_a_suspect_is_alone() -> None:
    gate = gate_of(ManualClock())
    async with gate.alone() as is_alone:
        assert is_alone
        newcomer = asyncio.create_task(enter(gate))
        await asyncio.sleep(0)
        assert not newcomer.done()
    await newcomer


async def test_newcomers_wait_for_a_suspect_until_it_is_alone() -> None:
    gate, order = gate_of(ManualClock()), []

    async def suspect() -> None:
        async with gate.alone() as is_alone:
            order.append(("suspect", is_alone))

    async def newcomer() -> None:
        async with gate.shared():
            order.append(("newcomer", True))

    async with somebody_inside(gate) as leave, asyncio.TaskGroup() as tasks:
        tasks.create_task(suspect())
        await asyncio.sleep(0)
        tasks.create_task(newcomer())
        await asyncio.sleep(0)
        leave.set()
    assert order == [("suspect", True), ("newcomer", True)]


@pytest.mark.usefixtures("brief")
async def test_whoever_stays_inside_for_long_stops_nobody_for_long() -> None:
    clock = ManualClock()
    gate = gate_of(clock)
    async with somebody_inside(gate):
        async with asyncio.timeout(PATIENCE_SECONDS), gate.alone() as is_alone:
            assert not is_alone
            await enter(gate)
        clock.advance(REST_RATIO * HOLD - 0.01)
        holding = asyncio.create_task(is_alone_at_once(gate))
        await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await enter(gate)  # ten times as long as they were held back, nobody is held back again
        assert not await holding
        clock.advance(0.02)
        holding = asyncio.create_task(is_alone_at_once(gate))
        await asyncio.sleep(0)
        newcomer = asyncio.create_task(enter(gate))
        await asyncio.sleep(0)
        assert not newcomer.done(), "held back once more"
        assert not await holding
        await newcomer


@pytest.mark.usefixtures("brief")
async def test_in_the_end_a_suspect_is_alone_whatever_stays_inside() -> None:
    """Each hold is twice as long as the last: one of them outlasts whoever is inside, because that has a deadline."""
    clock, stays = ManualClock(), 6 * HOLD
    gate = gate_of(clock)
    for attempt in range(5):
        async with somebody_inside(gate) as leave:
            asyncio.get_running_loop().call_later(stays, leave.set)
            if await is_alone_at_once(gate):
                assert attempt == 3, "5, 10 and 20 were too short"
                return
        clock.advance(3600)
    raise AssertionError("never alone")


@pytest.mark.usefixtures("brief")
async def test_no_hold_is_longer_than_whoever_is_inside_may_stay() -> None:
    clock = ManualClock()
    gate = gate_of(clock, longest_hold=2 * HOLD)
    async with somebody_inside(gate):
        for _ in range(3):
            assert not await is_alone_at_once(gate)
            clock.advance(3600)
        began = asyncio.get_running_loop().time()
        assert not await is_alone_at_once(gate)
        assert asyncio.get_running_loop().time() - began < 4 * HOLD, "with no end it would be eight times the first"


async def test_after_suspects_were_alone_the_others_have_as_much_time() -> None:
    clock = ManualClock()
    gate = gate_of(clock)
    async with gate.alone():
        clock.advance(60)
    async with somebody_inside(gate):
        clock.advance(59)
        assert not await asyncio.wait_for(is_alone_at_once(gate), FIRST_HOLD_SECONDS / 2)
        await enter(gate)


async def test_whenever_nobody_is_inside_a_suspect_is_alone_at_once() -> None:
    gate = gate_of(ManualClock())
    for _ in range(2):
        async with gate.alone() as is_alone:
            assert is_alone


async def test_a_cancelled_wait_for_being_alone_lets_the_others_in_again() -> None:
    gate = gate_of(ManualClock())
    async with somebody_inside(gate):
        alone = asyncio.create_task(is_alone_at_once(gate))
        await asyncio.sleep(0.01)
        alone.cancel()
        await asyncio.gather(alone, return_exceptions=True)
        await enter(gate)


async def is_alone_at_once(gate: Gate) -> bool:
    async with gate.alone() as is_alone:
        return is_alone
