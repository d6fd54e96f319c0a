"""Each alert fires and is resolved: real rows in a real inbox, a signed webhook to a real receiver, a clock in hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from landfast.alerting.loop import AlertLoop
from landfast.alerting.plan import Plan
from landfast.alerting.slack import SlackSink
from landfast.alerting.webhook import WebhookSink
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.domain.alerts.alert import AlertName
from landfast.domain.alerts.rules import RULES
from landfast.domain.rates import Meter, Rate, minute_of
from landfast.domain.switch import SwitchKind
from landfast.testing.factory import delivery, token
from tests.alerting.desk import SECRET, Desk, desk
from tests.alerting.receivers import HttpReceiver
from tests.inboxes.postgres_bench import PostgresBench
from tests.patience import PATIENCE_SECONDS

Act = Callable[[Desk], Awaitable[object]]


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk(tmp_path) as made:
        yield made


async def nothing(_: Desk) -> None: ...


async def dead(at: Desk) -> None:
    await at.count(Meter.DEAD, 6, source="stripe", handler="create_order", detail="KeyError")


async def failing(at: Desk) -> None:
    await at.count(Meter.FAILED, 40, source="stripe", handler="create_order", detail="KeyError")


async def storm(at: Desk) -> None:
    await at.count(Meter.DUPLICATE, 11_246, source="stripe", detail="seen")
    await at.count(Meter.STORED, 1, source="stripe")


async def gone(at: Desk) -> None:
    await at.usual((Meter.DUPLICATE, "stripe", 20), (Meter.STORED, "stripe", 100))
    await at.count(Meter.STORED, 100, source="stripe")


async def one_again(at: Desk) -> None:
    await at.count(Meter.DUPLICATE, 1, source="stripe", detail="inbox")


async def orders(at: Desk) -> None:
    await at.usual((Meter.DONE, "create_order", 12))
    await at.count(Meter.DONE, 11_247, source="stripe", handler="create_order")


async def few(at: Desk) -> None:
    await at.usual((Meter.STORED, "stripe", 400))
    await at.count(Meter.STORED, 10, source="stripe")


async def many_again(at: Desk) -> None:
    for ago in range(15):
        await at.count(Meter.STORED, 27, ago=ago, source="stripe")


async def silent(at: Desk) -> None:
    await at.count(Meter.STORED, 20, ago=45, source="stripe")
    await at.usual((Meter.STORED, "stripe", 20), silent=timedelta(minutes=45))


async def heard(at: Desk) -> None:
    await at.count(Meter.STORED, 1, source="stripe")


async def waiting(at: Desk) -> None:
    await at.beat("worker")
    await at.inbox.record([delivery(received_at=at.now - timedelta(minutes=6))])


async def processed(at: Desk) -> None:
    await at.inbox.claim(token=token(1), lease=10_000, limit=1)


async def spooling(at: Desk) -> None:
    await at.beat("intake", spool_records=12)


async def well(at: Desk) -> None:
    await at.beat("intake", disks=[{"what": "store", "free": 10**11}])
    await at.beat("worker")


async def breaker(at: Desk) -> None:
    await at.inbox.throw(SwitchKind.BREAKER, "handler:create_order", why="no such table", who="w")


async def closed(at: Desk) -> None:
    await at.inbox.lift(SwitchKind.BREAKER, "handler:create_order")


async def late_clock(at: Desk) -> None:
    await at.beat("intake", late=90)


async def full_disk(at: Desk) -> None:
    await at.beat("intake", disks=[{"what": "store", "free": 10**8}, {"what": "spool", "free": 10**11}])


async def flood(at: Desk) -> None:
    await at.count(Meter.STORED, 5, source="stripe")
    await at.count(Meter.REJECTED, 400, source="stripe", detail="unverified")


async def refusals(at: Desk) -> None:
    await at.count(Meter.REJECTED, 200, source="stripe", detail="unverified")


async def worker_gone(at: Desk) -> None:
    await at.beat("worker")
    for _ in range(3):
        await at.loop.look()
        at.clock.advance(40)
        await at.beat("intake")
        await at.beat("worker", boot=b"suspects", suspects_only=True)


CASES: dict[AlertName, tuple[str, Act, Act]] = {
    AlertName.DEAD_LETTERS: ("stripe", dead, nothing),
    AlertName.FAILING_HANDLER: ("create_order", failing, nothing),
    AlertName.DUPLICATE_STORM: ("stripe", storm, nothing),
    AlertName.DUPLICATES_GONE: ("stripe", gone, one_again),
    AlertName.VOLUME_HIGH: ("create_order", orders, nothing),
    AlertName.VOLUME_LOW: ("stripe", few, many_again),
    AlertName.SOURCE_SILENT: ("stripe", silent, heard),
    AlertName.OLDEST_WAITING: ("", waiting, processed),
    AlertName.SPOOL_IN_USE: ("host-a", spooling, well),
    AlertName.BREAKER_OPEN: ("handler:create_order", breaker, closed),
    AlertName.CLOCK_SKEW: ("host-a", late_clock, well),
    AlertName.UNVERIFIED_FLOOD: ("stripe", flood, nothing),
    AlertName.ONLY_REFUSALS: ("stripe", refusals, nothing),
    AlertName.NOBODY_ALIVE: ("worker", worker_gone, well),
    AlertName.DISK_LOW: ("host-a", full_disk, well),
}
"""What it is about, what makes it fire, and what mends it."""


@pytest.mark.req("R41")
@pytest.mark.parametrize("name", RULES)
async def test_an_alert_fires_within_a_look_and_is_resolved_once_it_is_mended(name: AlertName, at: Desk) -> None:
    subject, begin, mend = CASES[name]
    label = f"{name}/{subject}"
    await begin(at)
    assert ("firing", label) in await at.look()
    first = next(one.json for one in at.receiver.got if one.json["alert"] == name)
    assert first["sentence"].endswith(".") or name is AlertName.BREAKER_OPEN
    assert first["fix"]
    assert first["runbook"] == f"docs/runbooks/{name}.md"
    assert at.told.count(("firing", label)) == 1
    await mend(at)
    assert ("resolved", label) not in await at.look(after=60), "not before it was quiet for a while"
    at.clock.advance(20 * 60)
    await mend(at)
    assert ("resolved", label) in await at.look()
    last = next(one.json for one in at.receiver.got if one.json["kind"] == "resolved" and one.json["alert"] == name)
    assert last["incident"] == first["incident"]
    assert last["id"] != first["id"]


async def test_nobody_is_missed_whose_heartbeats_had_nowhere_to_go(at: Desk) -> None:
    await at.beat("worker")
    await at.beat("intake")
    assert await at.look() == []
    assert await at.look(after=600) == [], "the inbox was away, and at this look it is back"
    await at.beat("intake")
    assert await at.look(after=15) == [("firing", "nobody-alive/worker")]


@pytest.mark.req("R41")
async def test_what_is_usual_is_learnt_from_the_rates_alone(at: Desk) -> None:
    """A source that sent for a day, by the minute, and stops: nobody said what is usual."""
    for ago in range(24 * 60, 0, -5):
        await at.count(Meter.STORED, 2, ago=ago, source="stripe")
    for _ in range(14):
        assert await at.look(after=15) == []
    at.clock.advance(90 * 60)
    assert await at.look() == [("firing", "source-silent/stripe")]
    await at.count(Meter.STORED, 1, source="stripe")
    await at.look()
    assert await at.look(after=301) == [("firing", "source-silent/stripe"), ("resolved", "source-silent/stripe")]


async def test_two_evaluators_send_once_and_the_second_takes_over_when_the_first_is_gone(at: Desk) -> None:
    other = at.another(1)
    await dead(at)
    made = await asyncio.gather(at.loop.look(), other.look())
    assert [step is None for step in made].count(True) == 1
    for loop in (at.loop, other):
        await loop.courier.finish()
    assert at.told == [("firing", "dead-letters/stripe")]
    at.clock.advance(61)  # the first says nothing any more
    await other.look()
    await other.courier.finish()
    assert at.told == [("firing", "dead-letters/stripe")], "the other knows what was told"
    assert await at.loop.look() is None
    await other.close()
    assert await at.loop.look() is not None, "whoever ends lets go"


async def test_whoever_lost_the_duty_in_the_middle_of_a_look_keeps_and_sends_nothing(at: Desk) -> None:
    other = at.another(1)
    now = await lead(at)
    await dead(at)
    at.clock.advance(61)
    await other.look()
    _, step = await at.loop._evaluator.look(now)
    assert step is None
    assert len(await at.inbox.firing()) == 1
    await other.courier.finish()
    assert at.told == [("firing", "dead-letters/stripe")]


async def test_an_intake_stands_by_until_no_worker_does_it_and_hands_back(at: Desk) -> None:
    standby = at.another(1, is_standby=True)
    await at.beat("worker")
    assert await at.loop.look() is not None
    at.clock.advance(75)
    assert await standby.look() is None, "a worker may still take over"
    at.clock.advance(20)
    assert await standby.look() is not None
    assert await at.loop.look() is None
    await at.beat("worker")
    assert await standby.look() is not None
    assert await at.loop.look() is not None, "a worker lives, so the intake has let go"


async def test_a_sink_that_fails_is_tried_again_under_the_same_id_and_holds_up_no_other(at: Desk) -> None:
    async with HttpReceiver(status=503).listening() as broken:
        sinks = (WebhookSink("team", at.receiver.url, SECRET), SlackSink("chat", broken.url))
        at.plan = Plan(sinks=sinks)
        at.loop = at.another(2)
        await dead(at)
        assert await at.look() == [("firing", "dead-letters/stripe")]
        assert len(broken.got) == 1
        (waiting,) = await at.inbox.waiting_messages(limit=9)
        assert (waiting.message.sink, waiting.error) == ("chat", "503 ok")
        await at.look(after=14)
        assert len(broken.got) == 1, "not yet"
        broken.status = 200
        await at.look(after=2)
        assert len(broken.got) == 2
        assert broken.got[0].body == broken.got[1].body
        assert await at.inbox.waiting_messages(limit=9) == []
    assert len(at.receiver.got) == 1


async def test_a_sink_that_hangs_holds_up_neither_the_looks_nor_the_others(at: Desk) -> None:
    async with HttpReceiver(hangs=asyncio.Event()).listening() as hanging:
        at.plan = Plan(sinks=(SlackSink("chat", hanging.url), WebhookSink("team", at.receiver.url, SECRET)))
        at.loop = at.another(2)
        await dead(at)
        await at.loop.look()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not at.told:
                await asyncio.sleep(0.01)
        await failing(at)
        assert await at.loop.look() is not None
        assert hanging.hangs is not None
        hanging.hangs.set()
        await at.loop.courier.finish()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(at.told) < 2:
                await at.loop.look()
                await asyncio.sleep(0.01)


async def test_a_notice_that_was_not_sent_survives_a_restart(at: Desk) -> None:
    at.receiver.status = 500
    await dead(at)
    await at.look()
    await at.loop.close()
    at.receiver.status = 200
    at.loop = at.another(3)
    at.clock.advance(16)
    await at.look()
    ids = [one.json["id"] for one in at.receiver.got]
    assert len(ids) == 2
    assert ids[0] == ids[1]


async def test_a_notice_that_somebody_took_and_died_with_is_sent_by_the_next(at: Desk) -> None:
    await dead(at)
    await at.loop._evaluator.look(await lead(at))
    (taken,) = await at.inbox.take_messages(["team"], limit=9, lease=120)
    assert await at.look(after=60) == [], "it may still be on its way"
    assert await at.look(after=61) == [("firing", "dead-letters/stripe")]
    assert at.receiver.got[0].json["id"] == taken.message.id


async def lead(at: Desk) -> datetime:
    now = await at.inbox.lead("alerts", who=at.loop._who, lasting=60)
    assert now is not None
    return now


async def test_two_machines_on_postgres_send_once(at: Desk, migrated_database: str) -> None:
    """At the same moment, again and again, each with a connection of its own."""
    bench = PostgresBench(migrated_database)
    other = await bench.another()
    await bench.inbox.open()
    clock = SystemClock()
    loops = [
        AlertLoop(inbox, at.plan, clock, SystemChance(), is_standby=False, store="")
        for inbox in (bench.inbox, other, other, bench.inbox)
    ]
    rate = Rate(minute_of(clock.now()), Meter.DEAD, "stripe", detail="KeyError", count=9)
    await bench.inbox.add_rates([rate])
    try:
        for _ in range(3):
            await asyncio.gather(*(loop.look() for loop in loops))
            await asyncio.gather(*(loop.courier.finish() for loop in loops))
            await bench.inbox.resign("alerts", who=next(loop._who for loop in loops if loop._leads))
        assert at.told == [("firing", "dead-letters/stripe")]
        assert len(await other.firing()) == 1
    finally:
        await asyncio.gather(*(loop.close() for loop in loops))
        await bench.close()


async def test_a_silenced_alert_is_listed_and_nobody_is_told(at: Desk) -> None:
    await at.inbox.silence("dead-letters", "stripe", lasting=600, who="ada", why="known")
    await dead(at)
    assert await at.look() == []
    (alert,) = await at.inbox.firing()
    assert (alert.label, alert.told) == ("dead-letters/stripe", 0)
    await dead(at)
    at.clock.advance(601)
    await dead(at)
    assert await at.look() == [("firing", "dead-letters/stripe")]


async def test_an_inbox_that_is_away_is_told_by_intakes_and_so_is_its_return(at: Desk) -> None:
    standby = at.another(1, is_standby=True)
    await at.inbox.close()
    for seconds in (0, 30):
        at.clock.advance(seconds)
        await standby.look()
    assert at.told == []
    at.clock.advance(31)
    await standby.look()
    await standby.look()
    assert at.told == [("firing", "inbox-away/")]
    await at.inbox.open()
    await standby.look()
    assert at.told == [("firing", "inbox-away/"), ("resolved", "inbox-away/")]
    assert at.receiver.got[0].json["incident"] == at.receiver.got[1].json["incident"]


async def test_a_look_reads_again_only_what_may_have_changed(at: Desk) -> None:
    await at.look()
    asked: list[datetime] = []
    rates = at.inbox.rates

    async def counted(since: datetime, *more: Any, **most: Any) -> object:
        asked.extend([since] if not more else [])
        return await rates(since, *more, **most)

    at.inbox.rates = counted  # type: ignore[assignment, method-assign]
    await at.look(after=15)
    assert asked == [(at.now - timedelta(minutes=3)).replace(second=0, microsecond=0)]
    await at.look(after=600)
    assert at.now - asked[1] > timedelta(minutes=59), "whoever has not looked for a while has read nothing"
