"""Archive: find, count, show and walk_done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from landfast.domain.delivery import Delivery
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State
from landfast.domain.summary import Cursor, EventSummary
from landfast.ports.inbox import Inbox
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one, look
from landfast.testing.factory import DAWN, deliveries, delivery, event_in, settlement

STATES = [*(state for state in State if state is not State.READY), State.READY]
"""Ready last: each event is claimed on its way, and one that was ready before would be claimed instead."""


class FindConformance:
    async def test_events_are_found_newest_first(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(5))
        assert _keys(await bench.inbox.find(Filter(), limit=10)) == [f"evt_{n:04}" for n in (4, 3, 2, 1, 0)]
        assert _keys(await bench.inbox.find(Filter(), limit=2)) == ["evt_0004", "evt_0003"]

    async def test_a_cursor_continues_where_a_page_ended_even_among_equal_times(self, bench: Bench) -> None:
        await bench.inbox.record([delivery(f"evt_{n}") for n in range(7)])
        pages: list[str] = []
        cursor = None
        for size in (3, 3, 1, 0):
            page = await bench.inbox.find(Filter(), limit=3, after=cursor)
            assert len(page) == size
            pages += _keys(page)
            cursor = Cursor(page[-1].received_at, page[-1].event_id) if page else None
        assert sorted(pages) == [f"evt_{n}" for n in range(7)]

    async def test_an_event_that_comes_later_does_not_shift_the_next_page(self, bench: Bench) -> None:
        batch = deliveries(5)
        await bench.inbox.record(batch[:4])
        page = await bench.inbox.find(Filter(), limit=2)
        await bench.inbox.record(batch[4:])
        cursor = Cursor(page[-1].received_at, page[-1].event_id)
        assert _keys(await bench.inbox.find(Filter(), limit=9, after=cursor)) == ["evt_0001", "evt_0000"]

    async def test_an_id_is_found_by_the_digits_that_it_begins_with(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(40))
        ids = sorted(event.event_id.hex() for event in await bench.inbox.find(Filter(), limit=40))
        for digits in (1, 2, 3, 9, 31, 32):
            for one in ids:
                like = [other for other in ids if other.startswith(one[:digits])]
                found = [event.hex() for event in await bench.inbox.expand(one[:digits])]
                assert len(found) == min(2, len(like))
                assert set(found) <= set(like)
        assert list(await bench.inbox.expand("0" * 32)) == []

    @pytest.mark.parametrize("state", STATES)
    async def test_each_state_finds_its_own_events(self, bench: Bench, state: State) -> None:
        await _one_in_each_state(bench.inbox)
        (found,) = await bench.inbox.find(Filter(state=state), limit=10)
        assert found.state is state
        assert found.key == f"evt_{STATES.index(state):04}"
        assert found == (await look(bench.inbox, found.event_id)).summary
        assert await bench.inbox.count(Filter(state=state), at_most=10) == 1

    async def test_without_a_state_every_event_is_found_with_the_state_it_is_in(self, bench: Bench) -> None:
        await _one_in_each_state(bench.inbox)
        found = await bench.inbox.find(Filter(), limit=10)
        assert [one.state for one in found] == STATES[::-1]
        for one in found:
            assert one == (await look(bench.inbox, one.event_id)).summary

    @pytest.mark.parametrize(
        ("wanted", "keys"),
        [
            (Filter(source="shop"), "abc"),
            (Filter(source="nowhere"), ""),
            (Filter(type="invoice.paid"), "ad"),
            (Filter(type="invoice.*"), "abd"),
            (Filter(type="*.paid"), "ad"),
            (Filter(type="invoice_paid"), ""),
            (Filter(type="invoice%"), ""),
            (Filter(type="INVOICE.PAID"), ""),
            (Filter(type="100%_*"), "c"),
            (Filter(entity="cus_1"), "ac"),
            (Filter(key="b"), "b"),
            (Filter(since=DAWN + timedelta(seconds=2)), "cd"),
            (Filter(before=DAWN + timedelta(seconds=2)), "ab"),
            (Filter(since=DAWN + timedelta(seconds=1), before=DAWN + timedelta(seconds=2)), "b"),
            (Filter(source="shop", type="invoice.*", entity="cus_1", state=State.READY), "a"),
            (Filter(source="shop", state=State.DONE), ""),
        ],
    )
    async def test_every_term_of_a_filter_narrows(self, bench: Bench, wanted: Filter, keys: str) -> None:
        rows = [
            ("a", "shop", "invoice.paid", "cus_1"),
            ("b", "shop", "invoice.sent", None),
            ("c", "shop", "100%_off\\[x]", "cus_1"),
            ("d", "bank", "invoice.paid", "cus_2"),
        ]
        for second, (key, source, kind, entity) in enumerate(rows):
            what = delivery(key, source=source, type=kind, entity=entity, received_at=DAWN + timedelta(seconds=second))
            await bench.inbox.record([what])
        found = await bench.inbox.find(wanted, limit=10)
        assert sorted(one.key for one in found) == list(keys)
        assert await bench.inbox.count(wanted, at_most=10) == len(keys)

    @pytest.mark.parametrize("error", ["IntegrityError", "Integrity*", "*Error"])
    async def test_errors_are_found_by_name_and_pattern(self, bench: Bench, error: str) -> None:
        await _one_in_each_state(bench.inbox)
        dead, delayed = (f"evt_{STATES.index(state):04d}" for state in (State.DEAD, State.DELAYED))
        assert set(_keys(await bench.inbox.find(Filter(error=error), limit=10))) == {delayed, dead}
        assert _keys(await bench.inbox.find(Filter(error=error, state=State.DEAD), limit=10)) == [dead]
        assert not await bench.inbox.find(Filter(error="integrityerror"), limit=10)

    @pytest.mark.parametrize("state", [None, *STATES])
    async def test_a_star_stands_for_any_type_and_any_error_and_for_itself_elsewhere(
        self, bench: Bench, state: State | None
    ) -> None:
        await _one_in_each_state(bench.inbox)
        everything = _keys(await bench.inbox.find(Filter(state=state), limit=10))
        failed = [one.key for one in await bench.inbox.find(Filter(state=state), limit=10) if one.error]
        expected = {"type": everything, "error": failed, "source": [], "entity": [], "key": []}
        for name, keys in expected.items():
            wanted = replace(Filter(state=state), **{name: "*"})  # type: ignore[arg-type]
            assert _keys(await bench.inbox.find(wanted, limit=10)) == keys, name
            assert await bench.inbox.count(wanted, at_most=10) == len(keys), name

    async def test_a_star_may_stand_for_nothing_but_an_error_has_a_name(self, bench: Bench) -> None:
        """What was discarded is dead without an error."""
        held = await event_in(bench.inbox, State.HELD)
        await bench.inbox.discard([held.event_id], who="ada")
        assert len(await bench.inbox.find(Filter(type="order.created*"), limit=10)) == 1
        assert not await bench.inbox.find(Filter(error="*"), limit=10)
        assert not await bench.inbox.find(Filter(error="*", state=State.DEAD), limit=10)

    async def test_counting_goes_no_further_than_at_most(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(10))
        assert await bench.inbox.count(Filter(), at_most=4) == 4
        assert await bench.inbox.count(Filter(), at_most=100) == 10

    async def test_an_event_that_is_not_there_shows_nothing(self, bench: Bench) -> None:
        assert await bench.inbox.show(delivery("nowhere").event_id) is None

    async def test_showing_an_event_shows_its_bytes_and_history(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DONE, delivery(entity="cus_1", occurred_at=DAWN, body=b"\x00\xff"))
        record = await look(bench.inbox, held.event_id)
        assert (record.body, record.headers) == (b"\x00\xff", held.headers)
        assert (record.summary.entity, record.summary.occurred_at) == ("cus_1", DAWN)
        assert [line.state for line in record.history] == [State.DONE]

    async def test_a_done_event_shows_its_last_run(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DONE)
        await bench.inbox.replay([held.event_id], forced=False, who="ada")
        (ready,) = await bench.inbox.find(Filter(), limit=1)
        assert (ready.state, ready.run) == (State.READY, 2)
        await bench.inbox.settle([settlement(await claim_one(bench.inbox, 2), Signal.FINISH)])
        (done,) = await bench.inbox.find(Filter(state=State.DONE), limit=10)
        assert (done.state, done.run) == (State.DONE, 2)

    async def test_walking_what_is_done_visits_each_once_oldest_first_in_chunks(self, bench: Bench) -> None:
        await _finish(bench.inbox, deliveries(7))
        await _one_in_each_state(bench.inbox, prefix="other", source="bank")
        chunks = [chunk async for chunk in bench.inbox.walk_done(Filter(source="shop"), chunk=3)]
        assert [len(chunk) for chunk in chunks] == [3, 3, 1]
        assert [one.key for chunk in chunks for one in chunk] == [f"evt_{n:04}" for n in range(7)]

    async def test_walking_what_is_done_keeps_to_the_filter(self, bench: Bench) -> None:
        await _finish(bench.inbox, deliveries(4))
        wanted = Filter(since=DAWN + timedelta(seconds=2))
        walked = [one.key async for chunk in bench.inbox.walk_done(wanted, chunk=10) for one in chunk]
        assert walked == ["evt_0002", "evt_0003"]
        assert [chunk async for chunk in bench.inbox.walk_done(Filter(source="nowhere"), chunk=10)] == []

    async def test_what_is_recovered_on_the_way_does_not_disturb_the_walk(self, bench: Bench) -> None:
        await _finish(bench.inbox, deliveries(6))
        walked: list[str] = []
        async for chunk in bench.inbox.walk_done(Filter(), chunk=2):
            walked += [one.key for one in chunk]
            await bench.inbox.recover([one.event_id for one in chunk], who="ada")
        assert walked == [f"evt_{n:04}" for n in range(6)]


async def _one_in_each_state(inbox: Inbox, *, prefix: str = "evt", source: str = "shop") -> None:
    batch = deliveries(len(STATES), prefix=prefix, source=source)
    for number, (state, what) in enumerate(zip(STATES, batch, strict=True)):
        await event_in(inbox, state, what, number=number)


async def _finish(inbox: Inbox, batch: Sequence[Delivery]) -> None:
    await inbox.record(batch)
    held = await claim(inbox, 1, limit=len(batch))
    assert all(await inbox.settle([settlement(one, Signal.FINISH) for one in held]))


def _keys(found: Sequence[EventSummary]) -> list[str]:
    return [one.key for one in found]
