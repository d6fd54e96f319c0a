"""The stream of a dashboard: one look for all who listen, new events as they come, and a word when a look failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from starlette.requests import Request

from landfast.admin import pulse as pulses
from landfast.admin import stream as streams
from landfast.admin.access.guard import Access
from landfast.admin.desk import Desk
from landfast.admin.pulse import Pulse, TooManyListenersError
from landfast.admin.stream import Leave
from landfast.domain.errors import InboxUnavailableError
from landfast.testing.factory import deliveries, delivery
from tests.admin.conftest import shop
from tests.patience import PATIENCE_SECONDS


class StepClock:
    """Time that goes on when the test says so."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.slept: list[float] = []
        self.steps: asyncio.Queue[None] = asyncio.Queue()

    def now(self) -> Any:
        return self._real.now()

    def monotonic(self) -> float:
        return float(self._real.monotonic())

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self.steps.get()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    inbox = shop(store=f"sqlite:{tmp_path / 'inbox.db'}", ledger=f"sqlite:{tmp_path / 'ledger.db'}")
    await inbox.migrate()
    inbox.clock = StepClock(inbox.clock)
    desk = Desk(inbox)
    await desk.open()
    yield desk
    await desk.close()


def step(desk: Desk) -> None:
    clock: Any = desk.inbox.clock
    clock.steps.put_nowait(None)


async def heard(queue: asyncio.Queue[bytes | None]) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        message = await queue.get()
    assert message is not None
    parts = [part.split("\ndata: ", 1) for part in message.decode().strip().split("\n\n")]
    return {name.removeprefix("event: "): msgspec.json.decode(data) for name, data in parts}


async def test_all_listeners_hear_the_same_of_one_look(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    look = Pulse._look

    async def counted(self: Pulse) -> bytes:
        nonlocal looks
        looks += 1
        return await look(self)

    monkeypatch.setattr(Pulse, "_look", counted)
    pulse = Pulse(desk)
    async with pulse.listening() as first, pulse.listening() as second:
        assert await heard(first) == await heard(second)
        step(desk)
        assert (await heard(first))["overview"]["at"] == (await heard(second))["overview"]["at"]
        assert looks == 2
    await pulse.close()


async def test_what_came_since_the_last_look_is_told_and_nothing_older(desk: Desk) -> None:
    await desk.archive.record(deliveries(3))
    pulse = Pulse(desk)
    async with pulse.listening() as queue:
        assert (await heard(queue))["events"] == {"events": [], "is_more": False}
        await desk.archive.record([delivery("new", received_at=desk.now())])
        step(desk)
        assert [event["key"] for event in (await heard(queue))["events"]["events"]] == ["new"]
        step(desk)
        assert (await heard(queue))["events"]["events"] == []
    await pulse.close()


async def test_a_look_that_failed_is_told_and_the_next_one_goes_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object, **__: object) -> None:
        raise InboxUnavailableError("the inbox did not answer")

    pulse = Pulse(desk)
    with monkeypatch.context() as broken:
        broken.setattr(type(desk.archive), "rates", away)
        listening = pulse.listening()
        queue = await listening.__aenter__()
        assert (await heard(queue))["problem"]["detail"] == "the inbox did not answer"
    step(desk)
    assert "overview" in await heard(queue)
    await listening.__aexit__(None, None, None)
    await pulse.close()


async def test_who_does_not_read_is_let_go_and_there_is_room_for_so_many(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulses, "SUBSCRIBERS_AT_MOST", 1)
    pulse = Pulse(desk)
    async with pulse.listening() as slow:
        with pytest.raises(TooManyListenersError):
            await pulse.listening().__aenter__()
        for _ in range(pulses.BEHIND_AT_MOST + 1):
            step(desk)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while pulse._listeners:
                await asyncio.sleep(0.01)
        told = [slow.get_nowait() for _ in range(slow.qsize())]
        assert told[-1] is None
    await pulse.close()


async def test_one_token_has_some_streams_and_leaves_the_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulses, "STREAMS_OF_ONE", 2)
    pulse = Pulse(desk)
    async with pulse.listening("token ada"), pulse.listening("token ada"), pulse.listening("token grace"):
        with pytest.raises(TooManyListenersError, match="token ada has 2 streams open"):
            async with pulse.listening("token ada"):
                pass
    async with pulse.listening("token ada"):
        pass
    await pulse.close()


async def test_pages_hear_beats_alone_and_nothing_is_looked_up_for_them(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def looked(_: Pulse) -> bytes:
        raise AssertionError

    monkeypatch.setattr(Pulse, "_look", looked)
    pulse = Pulse(desk)
    async with pulse.listening(only_beats=True) as queue:
        assert await heard(queue) == {"beat": {"seconds": 2.0}}
        step(desk)
        assert await heard(queue) == {"beat": {"seconds": 2.0}}
    await pulse.close()


async def test_a_program_beside_pages_hears_everything(desk: Desk) -> None:
    pulse = Pulse(desk)
    async with pulse.listening(only_beats=True) as page, pulse.listening() as program:
        assert list(await heard(page)) == ["beat"]
        assert list(await heard(program)) == ["overview", "events"]
    await pulse.close()


async def test_a_program_that_comes_late_is_told_nothing_old_as_new(desk: Desk) -> None:
    await desk.archive.record(deliveries(3))
    pulse = Pulse(desk)
    async with pulse.listening(only_beats=True) as page:
        await heard(page)
        async with pulse.listening() as program:
            step(desk)
            assert (await heard(program))["events"]["events"] == []
            await heard(page)
        await desk.archive.record([delivery("while pages alone listened", received_at=desk.now())])
        step(desk)
        await heard(page)
        async with pulse.listening() as another:
            step(desk)
            assert (await heard(another))["events"]["events"] == []
    await pulse.close()


async def test_who_cannot_be_checked_listens_on_for_a_while_and_no_longer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Door:
        is_away = False

        async def operator(self, _request: object) -> object:
            if self.is_away:
                raise InboxUnavailableError("the inbox did not answer")
            return object()

    door = Door()
    leave = Leave(cast("Access", door), cast("Request", None))
    assert await leave.is_given()
    door.is_away = True
    assert await leave.is_given()
    monkeypatch.setattr(streams, "UNCHECKED_SECONDS", 0.0)
    assert not await leave.is_given()
    door.is_away = False
    assert await leave.is_given()


async def test_beats_come_less_often_where_many_listen(desk: Desk) -> None:
    clock: Any = desk.inbox.clock
    pulse = Pulse(desk)
    async with AsyncExitStack() as stack:
        queues = [
            await stack.enter_async_context(pulse.listening(f"{number}", only_beats=True)) for number in range(50)
        ]
        assert [await heard(queue) for queue in queues] == [{"beat": {"seconds": 5.0}}] * 50
        await asyncio.sleep(0)
        assert clock.slept == [5.0]
        for number in range(100):
            await stack.enter_async_context(pulse.listening(f"more {number}", only_beats=True))
        step(desk)
        assert await heard(queues[0]) == {"beat": {"seconds": 10.0}}
    assert desk.live.listeners == 0
    assert desk.live.beat_seconds == 2.0
    await pulse.close()
