"""The drainer: everything arrives once, nothing is let go of before it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.errors import InboxUnavailableError
from landfast.intake.durability import drain
from landfast.intake.durability.drain import DRAIN_DELIVERIES_PER_SECOND, IDLE_POLL_SECONDS, Drainer
from landfast.intake.durability.outage import AWAY_AFTER_SECONDS, Outage
from landfast.intake.durability.strict import StrictJournal
from landfast.testing.clock import ManualClock
from landfast.testing.factory import DAWN, deliveries, delivery
from tests.inboxes.sqlite_bench import SqliteBench
from tests.intake.desk import MemoryRecorder
from tests.journals.spools import aside, opened, segments
from tests.patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.req("R9")]


async def drained(drainer: Drainer, clock: ManualClock, steps: int = 50) -> None:
    for _ in range(steps):
        clock.advance(await drainer.step())


async def test_everything_arrives_oldest_first_in_batches_sorted_by_event(tmp_path: Path) -> None:
    inbox, clock = MemoryRecorder(), ManualClock()
    wanted = deliveries(1200)
    async with opened(tmp_path) as spool:
        for start in range(0, 1200, 100):
            await spool.record(wanted[start : start + 100])
        await drained(Drainer(spool, inbox, clock=clock), clock)
        assert list(inbox.events) and {id_: each.body for id_, each in inbox.events.items()} == {
            each.event_id: each.body for each in wanted
        }
        assert [len(batch) for batch in inbox.batches] == [500, 500, 200]
        oldest = {each.event_id for each in wanted[:500]}
        assert {each.event_id for each in inbox.batches[0]} == oldest
        for batch in inbox.batches:
            assert [each.event_id for each in batch] == sorted(each.event_id for each in batch)
        assert segments(tmp_path) == []


async def test_a_record_is_on_the_disk_until_the_inbox_has_committed_it(tmp_path: Path) -> None:
    clock = ManualClock()

    class Watching(MemoryRecorder):
        waiting = 0

        async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
            recorded = await super().record(deliveries)
            # The very last moment before the answer: who dies now must be able to take them again.
            self.waiting = spool.waiting
            assert sum(path.stat().st_size for path in segments(tmp_path)) == size
            return recorded

    inbox = Watching()
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(3))
        size = segments(tmp_path)[0].stat().st_size
        await Drainer(spool, inbox, clock=clock).step()
        assert inbox.waiting == 3 and len(inbox.events) == 3
        assert spool.waiting == 0 and segments(tmp_path) == []


async def test_one_that_the_inbox_refuses_is_set_aside_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    inbox, clock = MemoryRecorder(), ManualClock()
    inbox.poison = b'"evt_0007"'
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(21))
        await drained(Drainer(spool, inbox, clock=clock), clock)
        assert len(inbox.events) == 20
        assert spool.waiting == 0 and segments(tmp_path) == []
    (kept,) = aside(tmp_path)
    assert b'"evt_0007"' in kept.read_bytes()
    assert caplog.text.count("delivery_set_aside") == 1
    # Not looped on: the next process does not meet it either.
    async with opened(tmp_path, boot=b"boot-two") as spool:  # type: ignore[arg-type]
        assert list(await spool.take(500)) == []


async def test_of_a_request_of_many_only_what_the_inbox_refuses_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its sender was told that all of them are safe: the good ones are processed, whatever the bad one is."""
    inbox, clock = MemoryRecorder(), ManualClock()
    inbox.poison = b'"evt_0003"'
    request = one_request(7)
    new: list[int] = []
    async with opened(tmp_path) as spool:
        await spool.record([*request, delivery("evt_neighbour")])
        await drained(Drainer(spool, inbox, clock=clock, drained=new.append), clock)
        assert sorted(each.key for each in inbox.events.values()) == sorted(
            ["evt_neighbour", *(each.key for each in request if each.key != "evt_0003")]
        )
        assert sum(new) == 7 and spool.waiting == 0 and segments(tmp_path) == []
    (kept,) = aside(tmp_path)
    assert b'"evt_0003"' in kept.read_bytes() and b'"evt_0002"' not in kept.read_bytes()
    (told,) = [record for record in caplog.records if "delivery_set_aside" in record.message]
    assert request[3].event_id.hex()[:8] in told.getMessage()
    # What was set aside is one delivery: mended and renamed, it is read again, and its neighbours are not.
    kept.rename(kept.with_suffix(".seg"))
    inbox.poison = b"nothing"
    async with opened(tmp_path, boot=b"boot-two") as spool:  # type: ignore[arg-type]
        assert [each.key for taken in await spool.take(500) for each in taken.deliveries] == ["evt_0003"]


async def test_what_a_crash_left_of_a_request_that_was_split_is_found_again(tmp_path: Path) -> None:
    """The good ones are in the inbox, and the record is neither forgotten nor set aside yet."""
    inbox, clock = MemoryRecorder(), ManualClock()
    inbox.poison = b'"evt_0003"'

    async with opened(tmp_path) as spool:
        await spool.record(one_request(7))

        async def die(_taken: object, _why: str) -> None:
            raise ZeroDivisionError

        with pytest.MonkeyPatch.context() as crash:
            crash.setattr(spool, "set_aside", die)
            await Drainer(spool, inbox, clock=clock).step()
        assert len(inbox.events) == 6 and spool.waiting == 1 and aside(tmp_path) == []
        await drained(Drainer(spool, inbox, clock=clock), clock)
        assert len(inbox.events) == 6 and spool.waiting == 0 and len(aside(tmp_path)) == 1


def one_request(count: int) -> list[Delivery]:
    """They came together: one time, one set of headers."""
    together = {"received_at": DAWN, "headers": b"[]"}
    return [msgspec.structs.replace(each, **together) for each in deliveries(count)]


async def test_while_the_inbox_is_away_everything_stays_and_one_line_each_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "landfast")
    inbox, clock = MemoryRecorder(), ManualClock()
    inbox.is_down = True
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(10))
        drainer = Drainer(spool, inbox, clock=clock, outage=Outage(clock, waiting=lambda: spool.waiting))
        waits = [await drainer.step() for _ in range(1)]
        for _ in range(8):
            clock.advance(waits[-1])
            waits.append(await drainer.step())
        assert len(inbox.batches) == 9, "each wait ends in one attempt"
        assert waits == sorted(waits) and waits[-1] == 5.0, "and each is longer than the last, up to five seconds"
        assert spool.waiting == 10 and not inbox.events
        inbox.is_down = False
        await drained(drainer, clock)
        assert len(inbox.events) == 10 and segments(tmp_path) == []
    assert caplog.text.count("store_unavailable store=inbox") == 1
    assert caplog.text.count("store_available store=inbox") == 1


async def test_it_never_goes_faster_than_its_rate_and_rests_as_long_as_it_worked(tmp_path: Path) -> None:
    clock = ManualClock()

    class Slow(MemoryRecorder):
        async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
            clock.advance(0.7)
            return await super().record(deliveries)

    async with opened(tmp_path) as spool:
        await spool.record(deliveries(500))
        assert await Drainer(spool, MemoryRecorder(), clock=clock).step() == pytest.approx(
            500 / DRAIN_DELIVERIES_PER_SECOND
        )
        await spool.record(deliveries(500, prefix="more"))
        assert await Drainer(spool, Slow(), clock=clock).step() == pytest.approx(0.7)
        assert await Drainer(spool, Slow(), clock=clock).step() == IDLE_POLL_SECONDS


async def test_an_inbox_that_answers_too_late_for_senders_is_drained_into_and_stays_away_for_them(
    tmp_path: Path,
) -> None:
    clock = ManualClock()

    class Slow(MemoryRecorder):
        async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
            clock.advance(AWAY_AFTER_SECONDS + 1)
            return await super().record(deliveries)

    outage, inbox = Outage(clock), Slow()
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(5))
        await Drainer(spool, inbox, clock=clock, outage=outage).step()
        assert len(inbox.events) == 5 and spool.waiting == 0
        assert outage.is_on


async def test_an_error_that_nobody_expected_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    inbox, clock = MemoryRecorder(), ManualClock()
    inbox.bug = ZeroDivisionError("inside")
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(3))
        drainer = Drainer(spool, inbox, clock=clock)
        waits = [await drainer.step() for _ in range(6)]
        assert waits[0] == IDLE_POLL_SECONDS and waits[-1] == drain.LONGEST_RETRY_SECONDS
        assert caplog.text.count("drain_failed") == 1
        inbox.bug = None
        await drained(drainer, clock)
        assert len(inbox.events) == 3


async def test_stopping_gives_a_batch_a_moment_and_then_gives_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain, "STOP_SECONDS", 0.05)
    inbox, clock = MemoryRecorder(), ManualClock()
    inbox.gate.clear()
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(3))
        drainer = Drainer(spool, inbox, clock=clock)
        drainer.start()
        await asyncio.wait_for(inbox.entered.wait(), PATIENCE_SECONDS)
        await asyncio.wait_for(drainer.close(), PATIENCE_SECONDS)
        assert len(await spool.take(500)) == 3, "what did not arrive was not given back"


async def test_half_of_a_batch_that_arrived_is_forgotten_and_the_other_half_given_back(tmp_path: Path) -> None:
    """The inbox refuses a row, and goes away while the halves are brought."""
    clock = ManualClock()

    class Fading(MemoryRecorder):
        async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
            if self.events:
                raise InboxUnavailableError("away")
            return await super().record(deliveries)

    inbox = Fading()
    inbox.poison = b'"evt_0009"'
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(10))
        await Drainer(spool, inbox, clock=clock).step()
        assert len(inbox.events) == 5
        assert [one.key for each in await spool.take(500) for one in each.deliveries] == [
            f"evt_{number:04}" for number in range(5, 10)
        ]


async def test_what_a_strict_journal_drains_is_counted_as_drained_and_a_variant_once(tmp_path: Path) -> None:
    """Of two bodies under one key the second is an event of its own, and still one delivery."""
    bench = SqliteBench(tmp_path / "inbox.db")
    await bench.inbox.open()
    await bench.inbox.migrate()
    first, other = (
        msgspec.structs.replace(each, event_id=delivery().event_id, key="evt_1", is_strict=True)
        for each in deliveries(2)
    )
    async with opened(tmp_path / "spool") as spool:
        await spool.record([first, other])
        drainer = Drainer(spool, StrictJournal(bench.inbox, clock=bench.clock, drains=True), clock=ManualClock())
        await drainer.step()
        assert spool.waiting == 0
    stored = (await bench.inbox.census()).stored
    await bench.close()
    assert (stored.events, stored.deliveries_drained) == (2, 2)


async def test_what_a_broker_will_not_give_out_again_is_told(tmp_path: Path) -> None:
    """It had two of them already, and recorded a third, which no message could hold, in the inbox itself."""

    class Broker:
        async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
            new = [Recorded(each.event_id, is_new=True, in_inbox=False) for each in deliveries]
            known = [msgspec.structs.replace(each, is_new=False) for each in new[:2]]
            return [*known, msgspec.structs.replace(new[2], in_inbox=True), *new[3:]]

    told: list[int] = []
    async with opened(tmp_path / "spool") as spool:
        for each in deliveries(5):
            await spool.record([each])
        await Drainer(spool, Broker(), clock=ManualClock(), absorbed=told.append).step()
        assert spool.waiting == 0
    assert told == [3]


async def test_stopping_twice_waits_for_nothing_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain, "STOP_SECONDS", 60.0)
    async with opened(tmp_path) as spool:
        drainer = Drainer(spool, MemoryRecorder(), clock=ManualClock())
        drainer.start()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await drainer.close()
            await drainer.close()
