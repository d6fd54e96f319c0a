"""What all dashboards share of a lookup: those who wait together take one, and none outlives a change."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest

from landfast.admin import live as lives
from landfast.admin.live import Live
from landfast.ports.inbox import Inbox
from landfast.testing.clock import ManualClock
from landfast.testing.factory import DAWN
from tests.patience import PATIENCE_SECONDS


class SlowInbox:
    """Every lookup takes seconds, and waits for the test."""

    def __init__(self, clock: ManualClock, seconds: float) -> None:
        self.clock = clock
        self.seconds = seconds
        self.lookups = 0
        self.may_go_on = asyncio.Semaphore(0)

    async def standing(self) -> int:
        self.lookups += 1
        number = self.lookups
        await self.may_go_on.acquire()
        self.clock.advance(self.seconds)
        return number

    async def rates(self, _since: object) -> list[int]:
        return [await self.standing()]


@pytest.fixture
def inbox(monkeypatch: pytest.MonkeyPatch) -> SlowInbox:
    async def standing_of(archive: SlowInbox) -> int:
        return await archive.standing()

    monkeypatch.setattr(lives, "standing_of", standing_of)
    return SlowInbox(ManualClock(DAWN), seconds=1.6)


async def _ask(live: Live, inbox: SlowInbox, name: str, seconds: float) -> Any:
    archive = cast("Inbox", inbox)
    async with asyncio.timeout(PATIENCE_SECONDS):
        if name == "standing":
            return await live.standing(archive, seconds=seconds)
        (number,) = await live.rates(archive, DAWN - timedelta(hours=1), seconds=seconds)
        return number


async def _waiting(*asked: asyncio.Task[Any]) -> None:
    for _ in asked:
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", ["standing", "rates"])
async def test_a_lookup_that_takes_longer_than_it_is_fresh_is_shared_by_all_who_waited(
    inbox: SlowInbox, name: str
) -> None:
    live = Live(inbox.clock)
    asked = [asyncio.create_task(_ask(live, inbox, name, 1.5)) for _ in range(4)]
    await _waiting(*asked)
    inbox.may_go_on.release()
    assert await asyncio.gather(*asked) == [1, 1, 1, 1]
    inbox.may_go_on.release()
    assert await _ask(live, inbox, name, 1.5) == 2, "who comes later finds it too old"


@pytest.mark.parametrize("name", ["standing", "rates"])
async def test_who_wants_nothing_old_shares_what_was_begun_since(inbox: SlowInbox, name: str) -> None:
    live = Live(inbox.clock)
    first = asyncio.create_task(_ask(live, inbox, name, 0.0))
    await _waiting(first)
    inbox.clock.advance(0.1)
    others = [asyncio.create_task(_ask(live, inbox, name, 0.0)) for _ in range(40)]
    await _waiting(*others)
    inbox.may_go_on.release()
    inbox.may_go_on.release()
    assert await first == 1, "what was begun before they asked is no answer to them"
    assert set(await asyncio.gather(*others)) == {2}


@pytest.mark.parametrize("name", ["standing", "rates"])
async def test_what_was_looked_up_during_a_change_is_not_kept(inbox: SlowInbox, name: str) -> None:
    live = Live(inbox.clock)
    asked = asyncio.create_task(_ask(live, inbox, name, 60.0))
    await _waiting(asked)
    live.forget()
    inbox.may_go_on.release()
    assert await asked == 1
    inbox.may_go_on.release()
    assert await _ask(live, inbox, name, 60.0) == 2
