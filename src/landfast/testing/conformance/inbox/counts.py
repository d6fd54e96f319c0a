"""Counts: what is stored is counted where it is stored, and the census is made of counters."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from landfast.domain.census import ADOPTED_FROM, SourceTally, StoredCount, TallyReport
from landfast.domain.errors import RowRefusedError
from landfast.domain.ids import BootId
from landfast.domain.lifecycle import Signal, State
from landfast.testing.conformance.inbox.bench import Bench, claim
from landfast.testing.factory import DAWN, deliveries, delivery, event_in, settlement

DAY = 86_400.0
ENDED = TallyReport(BootId(b"boot---1"), {}, {}, ended=True)


class CountConformance:
    async def test_what_is_stored_is_counted_once_under_the_boot_that_stored_it(self, bench: Bench) -> None:
        other = await bench.another()
        await bench.inbox.record([*deliveries(3), *deliveries(2, source="bank")])
        await other.record(deliveries(5))
        await bench.inbox.record([msgspec.structs.replace(delivery("held"), hold="late"), delivery("held")])
        census = await bench.inbox.census()
        assert census.events == 8
        assert sum(boot.stored.recorded for boot in census.boots) == 8
        assert {boot.boot for boot in census.boots} == {bench.inbox.boot, other.boot}

    async def test_a_batch_that_is_refused_counts_nothing(self, bench: Bench) -> None:
        with pytest.raises(RowRefusedError):
            await bench.inbox.record([*deliveries(2), delivery("k" * 513)])
        assert (await bench.inbox.census()).stored == StoredCount()

    async def test_a_drained_delivery_is_counted_once_however_often_it_is_drained(self, bench: Bench) -> None:
        batch = deliveries(3)
        await bench.inbox.record_drained(batch)
        again = await (await bench.another()).record_drained(batch)  # its drainer died before it let go of them
        assert not any(row.is_new for row in again)
        assert (await bench.inbox.census()).stored == StoredCount(0, 3, 3, again=3)

    async def test_a_drained_delivery_whose_event_is_known_is_counted_as_a_delivery(self, bench: Bench) -> None:
        await bench.inbox.record([delivery()])
        (row,) = await bench.inbox.record_drained([delivery(received_at=DAWN + timedelta(seconds=1))])
        assert not row.is_new
        assert (await bench.inbox.census()).stored == StoredCount(1, 0, 1)

    async def test_boots_that_ended_and_agree_are_folded_into_the_totals(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(4))
        await bench.inbox.record_drained(deliveries(2, prefix="spooled"))
        told = SourceTally(received=9, stored=5, duplicate=3, rejected=1, elsewhere=1, requests_elsewhere=1)
        await bench.inbox.tally(TallyReport(bench.inbox.boot, {"shop": told}, {}, ended=True))
        before = await bench.inbox.census()
        assert [boot.boot for boot in before.boots] == [bench.inbox.boot]
        await bench.advance(DAY)
        after = await bench.inbox.census()
        assert (after.boots, after.events, after.stored) == ((), 6, StoredCount(4, 2, 2))
        assert dict(after.tallies) == dict(before.tallies) == {"shop": told}
        await bench.inbox.record(deliveries(1, prefix="late"))  # it was in flight when its boot had ended
        assert (await bench.inbox.census()).events == 7

    @pytest.mark.parametrize(
        "told",
        [
            SourceTally(received=4, stored=4),
            SourceTally(received=2, stored=2),
            SourceTally(received=4, stored=3),
            SourceTally(received=4, stored=4, elsewhere=2, requests_elsewhere=2),
        ],
        ids=["lost", "untold", "unanswered", "untold_beside_a_spool"],
    )
    async def test_a_boot_whose_counts_disagree_is_never_folded(self, bench: Bench, told: SourceTally) -> None:
        await bench.inbox.record(deliveries(3))
        await bench.inbox.tally(replace(ENDED, boot=bench.inbox.boot, sources={"shop": told}))
        await bench.advance(DAY)
        (boot,) = (await bench.inbox.census()).boots
        assert (boot.stored.recorded, boot.total, boot.is_ended, boot.owes) == (3, told, True, True)

    async def test_a_boot_that_left_something_in_its_spool_is_not_folded(self, bench: Bench) -> None:
        told = {"shop": SourceTally(2, 2, elsewhere=2, requests_elsewhere=2)}
        await bench.inbox.tally(replace(ENDED, sources=told, meters={"spool_records": 2}))
        await bench.advance(DAY)
        (boot,) = (await bench.inbox.census()).boots
        assert (boot.boot, boot.waiting) == (ENDED.boot, 2)
        adopted = {"spool_records": 0, f"{ADOPTED_FROM}{ENDED.boot.hex()}": 1}
        await bench.inbox.tally(TallyReport(BootId(b"boot---2"), {}, {}, meters=adopted))
        census = await bench.inbox.census()
        assert [boot.waiting for boot in census.boots] == [0], "another one has taken it over, and says what is left"
        assert dict(census.meters) == {"spool_records": 0}

    async def test_done_is_a_sum_that_a_replay_and_a_recovery_take_back(self, bench: Bench) -> None:
        done = [await event_in(bench.inbox, State.DONE, delivery(f"evt_{n}"), number=n) for n in range(3)]
        await bench.inbox.replay([done[0].event_id], forced=False, who="ada")
        await bench.inbox.recover([done[1].event_id], who="ada")
        census = await bench.inbox.census()
        assert (census.states[State.DONE], census.states[State.READY], census.events) == (1, 2, 3)
        held = await claim(bench.inbox, 50, limit=5)
        assert all(await bench.inbox.settle([settlement(one, Signal.FINISH) for one in held]))
        assert (await bench.inbox.census()).states[State.DONE] == 3

    async def test_the_census_knows_when_each_running_boot_was_last_heard_of(self, bench: Bench) -> None:
        await bench.inbox.tally(replace(ENDED, ended=False))
        await bench.advance(3)
        await bench.inbox.tally(TallyReport(BootId(b"boot---2"), {}, {}))
        census = await bench.inbox.census()
        assert census.at is not None
        assert census.heard_since is not None
        assert timedelta(seconds=2) < census.at - census.heard_since < timedelta(seconds=9)
