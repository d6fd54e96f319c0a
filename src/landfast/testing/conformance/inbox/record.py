"""Recorder: record and tally."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from landfast.domain.census import SourceTally, TallyReport
from landfast.domain.errors import RowRefusedError
from landfast.domain.ids import BootId
from landfast.domain.lifecycle import State
from landfast.domain.summary import CAME_AGAIN_AT_MOST
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one, look, state_of
from landfast.testing.factory import DAWN, deliveries, delivery, event_in

BOOT = BootId(b"boot---1")


class RecordConformance:
    async def test_a_first_delivery_is_new_and_makes_its_event_ready(self, bench: Bench) -> None:
        what = delivery()
        (recorded,) = await bench.inbox.record([what])
        assert recorded.event_id == what.event_id
        assert recorded.is_new
        assert await state_of(bench.inbox, what.event_id) is State.READY

    async def test_a_later_delivery_of_the_event_is_not_new_and_the_first_body_stays(self, bench: Bench) -> None:
        first = delivery(body=b"first")
        await bench.inbox.record([first])
        again = delivery(body=b"second", received_at=DAWN + timedelta(hours=1))
        (recorded,) = await bench.inbox.record([again])
        assert not recorded.is_new
        assert recorded.event_id == first.event_id
        kept = await look(bench.inbox, first.event_id)
        assert kept.body == b"first"
        assert kept.summary.received_at == DAWN
        assert len(await claim(bench.inbox, 1, limit=10)) == 1

    @pytest.mark.parametrize("state", list(State))
    async def test_a_duplicate_changes_nothing_whatever_state_its_event_is_in(self, bench: Bench, state: State) -> None:
        held = await event_in(bench.inbox, state)
        before = await look(bench.inbox, held.event_id)
        (recorded,) = await bench.inbox.record([delivery(body=b"again")])
        assert not recorded.is_new
        assert await look(bench.inbox, held.event_id) == before
        assert (await bench.inbox.census()).events == 1

    async def test_the_same_key_of_another_source_is_another_event(self, bench: Bench) -> None:
        recorded = await bench.inbox.record([delivery(source="shop"), delivery(source="bank")])
        assert [one.is_new for one in recorded] == [True, True]
        assert recorded[0].event_id != recorded[1].event_id

    async def test_answers_come_in_the_order_of_the_deliveries(self, bench: Bench) -> None:
        batch = deliveries(20)
        await bench.inbox.record(batch[5:10])
        recorded = await bench.inbox.record(batch[::-1])
        assert [one.event_id for one in recorded] == [what.event_id for what in batch[::-1]]
        assert [one.is_new for one in recorded[::-1]] == [not 5 <= number < 10 for number in range(20)]

    async def test_a_duplicate_inside_a_batch_is_not_new(self, bench: Bench) -> None:
        first, other = delivery("a", body=b"first"), delivery("b")
        recorded = await bench.inbox.record([first, other, msgspec.structs.replace(first, body=b"second")])
        assert [one.is_new for one in recorded] == [True, True, False]
        assert (await look(bench.inbox, first.event_id)).body == b"first"

    async def test_of_concurrent_twins_exactly_one_is_new(self, bench: Bench) -> None:
        inboxes = [bench.inbox, await bench.another()]
        batch = deliveries(5)
        answers = await asyncio.gather(
            *(inboxes[turn % 2].record(batch[:: 1 if turn % 3 else -1]) for turn in range(20))
        )
        for what in batch:
            assert sum(one.is_new for answer in answers for one in answer if one.event_id == what.event_id) == 1
        assert (await bench.inbox.census()).events == 5
        assert len(await claim(bench.inbox, 1, limit=100)) == 5

    async def test_another_instance_sees_what_was_recorded(self, bench: Bench) -> None:
        await bench.inbox.record([delivery()])
        (recorded,) = await (await bench.another()).record([delivery()])
        assert not recorded.is_new

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"\x00",
            b"a\x00b\x00",
            bytes(range(256)),
            b"\xff\xfe\xed\xa0\x80",
            b'{"\xc3\xa9": 1}\r\n',
            b"x" * 2_000_000,
        ],
        ids=["empty", "nul", "nul inside", "every byte", "not utf-8", "line end", "two megabytes"],
    )
    async def test_bodies_and_headers_are_kept_byte_for_byte(self, bench: Bench, body: bytes) -> None:
        what = delivery(body=body, headers=body[:1000])
        await bench.inbox.record([what])
        kept = await look(bench.inbox, what.event_id)
        claimed = await claim_one(bench.inbox, 1)
        for stored in (kept.body, claimed.body):
            assert hashlib.sha256(stored).digest() == hashlib.sha256(body).digest()
        assert kept.headers == claimed.headers == body[:1000]

    async def test_everything_that_was_read_from_the_delivery_arrives_in_the_claim(self, bench: Bench) -> None:
        what = delivery(
            "évt \u2028 'quoted\"; --",
            type="order.☃",
            entity="cus_9 \U0001f600",
            occurred_at=datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            received_at=datetime(2026, 3, 2, 23, 59, 59, 999999, tzinfo=UTC),
        )
        await bench.inbox.record([what])
        claimed = await claim_one(bench.inbox, 1)
        for name in ("event_id", "source", "key", "type", "entity", "occurred_at", "received_at", "headers", "body"):
            assert getattr(claimed, name) == getattr(what, name), name
        assert (claimed.run, claimed.forced, claimed.suspect, claimed.crashes) == (1, False, False, 0)
        assert dict(claimed.tries) == {}

    @pytest.mark.parametrize(
        "bad",
        [
            delivery("bad", source="s" * 101),
            delivery("k" * 513),
            delivery("bad", type="t" * 513),
            delivery("bad", entity="e" * 513),
        ],
        ids=["source", "key", "type", "entity"],
    )
    async def test_a_row_that_the_database_refuses_raises_and_nothing_of_its_batch_is_stored(
        self, bench: Bench, bad: object
    ) -> None:
        good = deliveries(4)
        with pytest.raises(RowRefusedError):
            await bench.inbox.record([*good[:2], bad, *good[2:]])  # type: ignore[list-item]
        assert (await bench.inbox.census()).events == 0
        assert not await claim(bench.inbox, 1, limit=10)
        assert all(one.is_new for one in await bench.inbox.record(good))

    async def test_fields_at_their_limit_are_taken(self, bench: Bench) -> None:
        what = delivery("k" * 512, source="s" * 100, type="t" * 512, entity="é" * 512)
        assert (await bench.inbox.record([what]))[0].is_new

    async def test_an_empty_batch_stores_nothing(self, bench: Bench) -> None:
        assert list(await bench.inbox.record([])) == []

    async def test_a_tally_stores_totals_and_adds_up_redeliveries(self, bench: Bench) -> None:
        what = delivery()
        await bench.inbox.record([what])
        for received in (2, 5):
            sources = {"shop": SourceTally(received, 1, received - 1), "bank": SourceTally(1, rejected=1)}
            await bench.inbox.tally(TallyReport(BOOT, sources, {what.event_id: 2}))
        tallies = (await bench.inbox.census()).tallies
        assert dict(tallies) == {"shop": SourceTally(5, 1, 4), "bank": SourceTally(1, rejected=1)}
        assert (await look(bench.inbox, what.event_id)).summary.redelivered == 4

    async def test_the_first_times_at_which_an_event_came_again_are_kept_and_the_last(self, bench: Bench) -> None:
        what = delivery()
        await bench.inbox.record([what])
        assert (await look(bench.inbox, what.event_id)).came_again == ()
        seen: list[tuple[datetime, ...]] = []
        for _ in range(CAME_AGAIN_AT_MOST + 2):
            await bench.inbox.tally(TallyReport(BOOT, {}, {what.event_id: 3}))
            seen.append((await look(bench.inbox, what.event_id)).came_again)
            await bench.advance(60)
        full, last = seen[CAME_AGAIN_AT_MOST - 1], seen[-1]
        assert [len(each) for each in seen[:CAME_AGAIN_AT_MOST]] == list(range(1, CAME_AGAIN_AT_MOST + 1))
        assert (len(last), last[:-1]) == (CAME_AGAIN_AT_MOST, full[:-1])
        assert sorted(last) == list(last)
        assert last[-1] > full[-1]
        assert (await look(bench.inbox, what.event_id)).summary.redelivered == 3 * (CAME_AGAIN_AT_MOST + 2)

    async def test_a_repeated_tally_adds_nothing_to_the_totals(self, bench: Bench) -> None:
        report = TallyReport(BOOT, {"shop": SourceTally(3, 1, 1, 1)}, {})
        for _ in range(3):
            await bench.inbox.tally(report)
        assert (await bench.inbox.census()).tallies["shop"] == SourceTally(3, 1, 1, 1)

    async def test_a_report_that_arrives_after_a_later_one_takes_no_answer_back(self, bench: Bench) -> None:
        for told in (SourceTally(10, 9, 1), SourceTally(10, 8, 1)):
            await bench.inbox.tally(TallyReport(BOOT, {"shop": told}, {}))
        assert (await bench.inbox.census()).tallies["shop"] == SourceTally(10, 9, 1)

    async def test_the_totals_of_several_boots_are_added(self, bench: Bench) -> None:
        for boot in (b"boot---1", b"boot---2"):
            await bench.inbox.tally(TallyReport(BootId(boot), {"shop": SourceTally(3, 2, 1)}, {}))
        assert (await bench.inbox.census()).tallies["shop"] == SourceTally(6, 4, 2)

    async def test_a_boot_runs_until_its_last_report_and_is_unclean_when_it_fell_silent(self, bench: Bench) -> None:
        running = TallyReport(BOOT, {"shop": SourceTally(1, 1)}, {})
        await bench.inbox.tally(running)
        census = await bench.inbox.census()
        assert (census.running_boots, census.unclean_boots) == (1, 0)
        await bench.advance(60)
        census = await bench.inbox.census()
        assert (census.running_boots, census.unclean_boots) == (0, 1)
        await bench.inbox.tally(replace(running, ended=True))
        census = await bench.inbox.census()
        assert (census.running_boots, census.unclean_boots) == (0, 0)
