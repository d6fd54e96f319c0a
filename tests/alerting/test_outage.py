"""An inbox that is away, told by intakes that do not live as long as the incident."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from landfast.alerting.loop import AlertLoop
from landfast.alerting.pagerduty import PagerDutySink
from landfast.alerting.plan import Plan
from landfast.alerting.slack import SlackSink
from tests.alerting.desk import Desk, desk
from tests.alerting.receivers import HttpReceiver

pytestmark = pytest.mark.req("R41")


class Paged:
    """Somebody has a pager, and a channel besides."""

    def __init__(self, at: Desk, pager: HttpReceiver, channel: HttpReceiver) -> None:
        self.at, self.pager, self.channel = at, pager, channel

    async def looks(self, loop: AlertLoop, *after: float) -> None:
        for seconds in after:
            self.at.clock.advance(seconds)
            await loop.look()

    @property
    def told(self) -> list[str]:
        return [one.json["event_action"] for one in self.pager.got]


@pytest.fixture
async def paged(tmp_path: Path) -> AsyncIterator[Paged]:
    async with HttpReceiver(status=202).listening() as pager, HttpReceiver().listening() as channel:
        sinks = PagerDutySink("pager", "R" * 32, pager.url), SlackSink("channel", channel.url)
        async with desk(tmp_path, Plan(sinks=sinks)) as made:
            yield Paged(made, pager, channel)


async def test_a_pager_hears_the_end_though_all_intakes_were_restarted_in_between(paged: Paged) -> None:
    first = paged.at.another(1, is_standby=True)
    await paged.at.inbox.close()
    await paged.looks(first, 0, 61)
    await first.close()
    await paged.at.inbox.open()
    second = paged.at.another(2, is_standby=True)
    await paged.looks(second, 0, 15)
    await second.close()
    assert paged.told == ["trigger", "resolve"]
    assert len({one.json["dedup_key"] for one in paged.pager.got}) == 1
    assert len(paged.channel.got) == 1, "a channel is told no end of what it may never have heard of"


async def test_whoever_still_misses_the_inbox_opens_the_incident_again(paged: Paged) -> None:
    cut_off = paged.at.another(1, is_standby=True)
    await paged.at.inbox.close()
    await paged.looks(cut_off, 0, 61, 200, 200)
    await cut_off.close()
    await paged.at.inbox.open()
    assert paged.told == ["trigger", "trigger"]
    assert len(paged.channel.got) == 1


async def test_a_worker_leaves_it_to_intakes(paged: Paged) -> None:
    await paged.looks(paged.at.loop, 0, 15)
    assert paged.told == []
