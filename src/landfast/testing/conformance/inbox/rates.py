"""Rates, heartbeats and rejections."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from landfast.domain.flow import Flow
from landfast.domain.ids import BootId, HandlerName
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Tries
from landfast.domain.rates import (
    HOUR_SECONDS,
    LATENCY_BUCKETS,
    REJECTIONS_KEPT,
    REJECTIONS_KEPT_OF_ONE,
    Heartbeat,
    Meter,
    Rate,
    Rejection,
    hour_of,
    minute_of,
)
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_flows
from landfast.testing.factory import deliveries, delivery, settlement

DAY = 86_400.0
BOOT = BootId(b"boot---1")


class RatesConformance:
    async def test_rates_add_up_by_minute_and_by_all_that_names_them(self, bench: Bench) -> None:
        now = await _now(bench)
        quick, slow = _histogram(0), _histogram(3)
        stored = Rate(now, Meter.STORED, "shop", "order.paid", count=2, histogram=quick)
        refused = Rate(now, Meter.REJECTED, "shop", detail="unverified", count=7)
        later = replace(refused, minute=now + timedelta(minutes=1), count=1)
        await bench.inbox.add_rates([stored, refused, later, stored])
        await (await bench.another()).add_rates([replace(stored, count=3, histogram=slow)])
        both = tuple(2 * one + other for one, other in zip(quick, slow, strict=True))
        found = await bench.inbox.rates(now)
        assert list(found) == [refused, replace(stored, count=7, histogram=both), later]
        assert list(await bench.inbox.rates(now, now + timedelta(minutes=1), meters=[Meter.REJECTED])) == [refused]
        assert list(await bench.inbox.rates(now, source="bank")) == []
        assert list(await bench.inbox.rates(now + timedelta(minutes=1), source="shop")) == [later]

    async def test_of_two_processes_that_add_to_the_same_row_at_once_nothing_is_lost(self, bench: Bench) -> None:
        now, other = await _now(bench), await bench.another()
        one = [Rate(now, meter, "shop", count=1, histogram=_histogram(1)) for meter in Meter]
        await asyncio.gather(*[inbox.add_rates(one[::turn]) for inbox, turn in ((bench.inbox, 1), (other, -1)) * 5])
        found = await bench.inbox.rates(now)
        assert {(rate.count, sum(rate.histogram)) for rate in found} == {(10, 10 * sum(_histogram(1)))}

    async def test_a_report_that_comes_again_adds_nothing(self, bench: Bench) -> None:
        done = Rate(await _now(bench), Meter.DONE, "shop", "order.paid", "create_order", count=1)
        for number in (1, 1, 2, 1, 2):
            await bench.inbox.add_rates([done], report=number)
        (found,) = await bench.inbox.rates(done.minute)
        assert found.count == 2

    async def test_it_is_known_when_each_meter_last_counted_anything(self, bench: Bench) -> None:
        now = await _now(bench)
        done = Rate(now, Meter.DONE, "shop", "order.paid", "create_order", count=1)
        before = replace(done, minute=now - timedelta(hours=1))
        await bench.inbox.add_rates([done, replace(before, source="bank", handler="book")])
        await bench.inbox.add_rates([before, replace(before, meter=Meter.STORED, handler="")])
        found = {(str(one.meter), one.source, one.handler): one.at for one in await bench.inbox.latest_rates()}
        assert found.keys() == {("done", "shop", "create_order"), ("done", "bank", "book"), ("stored", "shop", "")}
        over = timedelta(minutes=1)
        assert found["done", "bank", "book"] == found["stored", "shop", ""] == before.minute + over
        assert now <= found["done", "shop", "create_order"] <= now + over

    async def test_old_minutes_become_hours_and_old_hours_go(self, bench: Bench) -> None:
        begin = hour_of(await _now(bench)) - timedelta(hours=2)
        done = Rate(begin, Meter.DONE, "shop", handler="create_order", count=1, histogram=_histogram(2))
        minutes = [replace(done, minute=begin + timedelta(minutes=one)) for one in range(0, 120, 10)]
        await bench.inbox.add_rates(minutes)
        assert not await bench.inbox.fold_rates()
        assert len(await bench.inbox.rates(begin)) == 12
        await bench.advance(2 * DAY)
        assert not await bench.inbox.fold_rates()
        six = replace(done, count=6, histogram=tuple(6 * one for one in done.histogram), seconds=HOUR_SECONDS)
        hours = [six, replace(six, minute=begin + timedelta(hours=1))]
        assert list(await bench.inbox.rates(begin)) == hours
        await bench.inbox.add_rates([done])  # late, from a process that could not tell it before
        await bench.inbox.fold_rates()
        assert [rate.count for rate in await bench.inbox.rates(begin)] == [7, 6]
        await bench.inbox.add_rejections([Rejection(begin, "shop", "/in/shop", "192.0.2.7", "unverified", 401)])
        await bench.inbox.fold_rates()
        assert len(await bench.inbox.rejections()) == 1
        await bench.advance(33 * DAY)
        await bench.inbox.fold_rates()
        assert list(await bench.inbox.rates(begin)) == []
        assert list(await bench.inbox.rejections()) == []

    async def test_a_text_that_a_database_refuses_is_repaired(self, bench: Bench) -> None:
        now = await _now(bench)
        await bench.inbox.add_rates([Rate(now, Meter.FAILED, "shop", detail="a\0b\ud800", count=1)])
        (found,) = await bench.inbox.rates(now)
        assert found.detail.startswith("a\ufffdb")

    async def test_the_last_heartbeat_of_a_process_is_known_with_its_age_and_its_clock(self, bench: Bench) -> None:
        now = await _now(bench)
        heartbeat = Heartbeat(BOOT, "worker", "shop-1", 4711, now, now + timedelta(hours=1), {"in_hand": [1]})
        await bench.inbox.beat(heartbeat)
        await bench.inbox.beat(replace(heartbeat, doing={"in_hand": []}))
        await bench.inbox.beat(replace(heartbeat, boot=BootId(b"boot---2"), role="intake"))
        await bench.advance(4)
        intake, worker = await bench.inbox.heartbeats()
        assert (worker.boot, worker.host, worker.pid, worker.doing) == (BOOT, "shop-1", 4711, {"in_hand": []})
        assert (intake.role, worker.started_at) == ("intake", now)
        assert 3400 < worker.skew <= 3600
        assert (3 < worker.age < 9, worker.is_alive) == (True, True)
        await bench.advance(20)
        assert not any(one.is_alive for one in await bench.inbox.heartbeats())

    async def test_a_process_that_leaves_is_forgotten_and_one_that_fell_silent_a_day_later(self, bench: Bench) -> None:
        now = await _now(bench)
        left = Heartbeat(BOOT, "worker", "shop-1", 1, now, now)
        await bench.inbox.beat(left)
        await bench.inbox.beat(replace(left, boot=BootId(b"boot---2"), pid=2))
        await bench.inbox.leave(BOOT)
        await bench.advance(DAY / 2)
        await bench.inbox.fold_rates()
        assert [one.pid for one in await bench.inbox.heartbeats()] == [2]
        await bench.advance(DAY)
        await bench.inbox.fold_rates()
        assert list(await bench.inbox.heartbeats()) == []

    async def test_it_is_known_which_flows_wait_and_since_when(self, bench: Bench) -> None:
        assert list(await bench.inbox.waiting()) == []
        await bench.inbox.record([*deliveries(3, source="bank"), *deliveries(2), delivery("late", source="tea")])
        (claimed,) = await claim_flows(bench.inbox, 1, [Flow("tea", delivery().type)])
        found = await bench.inbox.waiting()
        assert [(one.source, one.type) for one in found] == [("bank", delivery().type), ("shop", delivery().type)]
        assert {one.since for one in found} == {delivery().received_at}
        await bench.inbox.settle([settlement(claimed, Signal.RETRY, due_in=1, tries={HandlerName("h"): Tries(1)})])
        await bench.advance(2)
        await claim(bench.inbox, 2, limit=5)  # and wakes it: it was tried, so nobody knows since when it is ready
        assert [(one.source, one.since) for one in await bench.inbox.waiting()] == [("tea", None)]

    async def test_rejections_are_kept_by_minute_newest_first_with_the_larger_count(self, bench: Bench) -> None:
        now = await _now(bench)
        first = Rejection(now, "shop", "/in/shop", "192.0.2.7", "no-secret-matches", 401, ("host", "x-signature"), 3)
        unknown = Rejection(now + timedelta(minutes=2), "", "/in/shpo", "192.0.2.7", "unknown_source", 404)
        await bench.inbox.add_rejections([first, unknown])
        await bench.inbox.add_rejections(
            [replace(first, at=now + timedelta(seconds=9), count=5), replace(unknown, count=1)]
        )
        assert list(await bench.inbox.rejections()) == [unknown, replace(first, count=5)]
        assert list(await bench.inbox.rejections(source="shop")) == [replace(first, count=5)]
        assert list(await bench.inbox.rejections(since=now + timedelta(minutes=1))) == [unknown]
        assert len(await bench.inbox.rejections(limit=1)) == 1

    async def test_rejections_are_bounded_and_a_flood_of_one_source_pushes_no_other_out(self, bench: Bench) -> None:
        now = await _now(bench)
        quiet = Rejection(now, "bank", "/in/bank", "192.0.2.7", "unverified", 401)
        await bench.inbox.add_rejections([quiet])
        one = replace(quiet, source="shop", at=now + timedelta(seconds=1))
        flood = [replace(one, address=f"10.0.{n // 250}.{n % 250}") for n in range(REJECTIONS_KEPT_OF_ONE + 100)]
        await bench.inbox.add_rejections(flood)
        kept = await bench.inbox.rejections(limit=2 * REJECTIONS_KEPT)
        assert len(kept) == REJECTIONS_KEPT_OF_ONE + 1
        assert kept[-1] == quiet
        await bench.inbox.add_rejections([replace(one, source=f"s{n}") for n in range(REJECTIONS_KEPT)])
        assert len(await bench.inbox.rejections(limit=2 * REJECTIONS_KEPT)) == REJECTIONS_KEPT


async def _now(bench: Bench) -> datetime:
    """A minute that the store takes for the present: by its own clock."""
    await bench.inbox.beat(Heartbeat(BootId(b"clock---"), "intake", "", 0, _EPOCH, _EPOCH))
    (told,) = [one for one in await bench.inbox.heartbeats() if one.boot == b"clock---"]
    await bench.inbox.leave(told.boot)
    return minute_of(told.seen_at)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _histogram(place: int) -> tuple[int, ...]:
    return tuple(2 if one == place else 0 for one in range(LATENCY_BUCKETS))
