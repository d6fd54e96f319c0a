"""Memory and Switchboard: what the inbox remembers for caches, strict sources and all workers together."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import msgspec

from landfast.domain.census import SourceTally, TallyReport
from landfast.domain.delivery import Difference
from landfast.domain.ids import BootId
from landfast.domain.lifecycle import State
from landfast.domain.retention import DAY_SECONDS
from landfast.domain.switch import SwitchKind
from landfast.testing.conformance.inbox.bench import Bench
from landfast.testing.factory import DAWN, deliveries, delivery, event_in

BOOTS = [BootId(b"boot---1"), BootId(b"boot---2")]


class MemoryConformance:
    async def test_an_epoch_stays_until_it_is_renewed(self, bench: Bench) -> None:
        first = await bench.inbox.epoch()
        assert len(first) == 4
        await bench.inbox.migrate()
        assert await bench.inbox.epoch() == first
        second = await bench.inbox.renew_epoch(first)
        assert second != first
        assert len(second) == 4
        assert await (await bench.another()).epoch() == second

    async def test_an_epoch_that_is_over_is_not_renewed_again(self, bench: Bench) -> None:
        first = await bench.inbox.epoch()
        second = await bench.inbox.renew_epoch(first)
        assert await bench.inbox.renew_epoch(first) == second
        assert await bench.inbox.epoch() == second

    async def test_all_who_renew_an_epoch_at_once_get_the_same(self, bench: Bench) -> None:
        inboxes = [bench.inbox, await bench.another()]
        first = await bench.inbox.epoch()
        drawn = await asyncio.gather(*(inboxes[turn % 2].renew_epoch(first) for turn in range(8)))
        assert set(drawn) == {await bench.inbox.epoch()} != {first}

    async def test_a_mac_key_is_drawn_once_and_the_same_for_all(self, bench: Bench) -> None:
        key = await bench.inbox.mac_key()
        assert len(key) == 32
        assert len(set(key)) > 8, "it is not random"
        await bench.inbox.migrate()
        assert await bench.inbox.mac_key() == await (await bench.another()).mac_key() == key
        await bench.inbox.renew_epoch(await bench.inbox.epoch())
        assert await bench.inbox.mac_key() == key

    async def test_known_are_those_that_are_durable_in_whatever_state(self, bench: Bench) -> None:
        done = await event_in(bench.inbox, State.DONE, delivery("done"))
        dead = await event_in(bench.inbox, State.DEAD, delivery("dead"))
        await bench.inbox.record([delivery("ready")])
        here = {done.event_id, dead.event_id, delivery("ready").event_id}
        asked = [*here, delivery("nowhere").event_id, delivery("done", source="bank").event_id]
        assert await bench.inbox.known(asked) == here
        assert await bench.inbox.known([]) == frozenset()

    async def test_recent_are_those_received_since_newest_first(self, bench: Bench) -> None:
        batch = deliveries(6)
        await bench.inbox.record(batch)
        newest_first = [what.event_id for what in batch[::-1]]
        assert list(await bench.inbox.recent(DAWN + timedelta(seconds=2), 10)) == newest_first[:4]
        assert list(await bench.inbox.recent(DAWN, 3)) == newest_first[:3]
        assert list(await bench.inbox.recent(DAWN + timedelta(days=1), 10)) == []

    async def test_a_body_differs_from_the_one_that_is_stored_and_from_nothing_else(self, bench: Bench) -> None:
        await bench.inbox.record([delivery("a", body=b"first"), delivery("b", body=b"")])
        asked = [
            delivery("a", body=b"first"),
            delivery("a", body=b"second"),
            delivery("nowhere", body=b"second"),
            delivery("b", body=b"\x00"),
            delivery("a", source="bank", body=b"second"),
            delivery("a", body=b"third"),
        ]
        found = await bench.inbox.differing(asked)
        assert [each is not None and each.body for each in found] == [False, True, False, True, False, True]
        assert [each for each in found if each is not None and each.type] == []
        assert list(await bench.inbox.differing([])) == []

    async def test_a_type_differs_from_the_one_that_is_stored_and_the_first_arrival_is_told(self, bench: Bench) -> None:
        first = delivery("a")
        await bench.inbox.record([first])
        later = first.received_at + timedelta(hours=5)
        other = msgspec.structs.replace(first, type="another", received_at=later)
        both = msgspec.structs.replace(other, body=b"another")
        same = msgspec.structs.replace(first, received_at=later)
        assert list(await bench.inbox.differing([other, same, both])) == [
            Difference(body=False, type=True, first_at=first.received_at),
            None,
            Difference(body=True, type=True, first_at=first.received_at),
        ]

    async def test_a_thrown_switch_is_in_force_for_everybody_until_it_is_lifted(self, bench: Bench) -> None:
        other = await bench.another()
        assert list(await other.switches()) == []
        await bench.inbox.throw(SwitchKind.SOURCE, "shop", why="a fix is on its way", who="ada")
        (switch,) = await other.switches()
        assert (switch.kind, switch.name, switch.why, switch.who) == (
            SwitchKind.SOURCE,
            "shop",
            "a fix is on its way",
            "ada",
        )
        assert switch.until is None
        await bench.advance(10_000_000)
        assert len(await other.switches()) == 1
        assert await other.lift(SwitchKind.SOURCE, "shop")
        assert not await bench.inbox.lift(SwitchKind.SOURCE, "shop")
        assert list(await bench.inbox.switches()) == []

    async def test_a_switch_with_an_end_is_in_force_until_then(self, bench: Bench) -> None:
        await bench.inbox.throw(SwitchKind.BREAKER, "create_order", why="8 of 10 failed", who="worker", lasting=30)
        (switch,) = await bench.inbox.switches()
        assert switch.until is not None
        assert (switch.until - switch.at).total_seconds() == 30
        await bench.advance(29)
        assert len(await bench.inbox.switches()) == 1
        await bench.advance(2)
        assert list(await bench.inbox.switches()) == []

    async def test_a_switch_that_is_thrown_again_is_replaced_and_others_are_left(self, bench: Bench) -> None:
        await bench.inbox.throw(SwitchKind.HANDLER, "shop", why="first", who="ada", lasting=30)
        await bench.inbox.throw(SwitchKind.SOURCE, "shop", why="another kind", who="ada")
        await bench.inbox.throw(SwitchKind.HANDLER, "shop", why="second", who="grace")
        await bench.advance(60)
        assert [(one.kind, one.why, one.who) for one in await bench.inbox.switches()] == [
            (SwitchKind.HANDLER, "second", "grace"),
            (SwitchKind.SOURCE, "another kind", "ada"),
        ]

    async def test_a_breaker_whose_probes_fail_is_open_since_the_first_time(self, bench: Bench) -> None:
        named = SwitchKind.BREAKER, "handler:create_order"
        await bench.inbox.throw(*named, why="away", who="worker", lasting=30)
        (first,) = await bench.inbox.switches()
        for _ in range(2):
            await bench.advance(40)  # half open, and the probe failed
            await bench.inbox.throw(*named, why="away", who="another", lasting=30)
        (again,) = await bench.inbox.switches()
        assert (again.at, again.who) == (first.at, "another")
        await bench.advance(600)
        await bench.inbox.throw(*named, why="away", who="worker", lasting=30)
        (later,) = await bench.inbox.switches()
        assert later.at > first.at, "nobody has said for ten minutes that it is open"

    async def test_meters_are_totals_over_all_boots(self, bench: Bench) -> None:
        for boot, hits in zip(BOOTS, (3, 4), strict=True):
            for counted in (hits - 1, hits):
                await bench.inbox.tally(TallyReport(boot, {}, {}, meters={"seen_local_hits": counted}))
        await bench.inbox.tally(TallyReport(BOOTS[0], {}, {}, ended=True))
        await bench.advance(60)
        assert dict((await bench.inbox.census()).meters) == {"seen_local_hits": 7}

    async def test_a_boot_that_said_goodbye_is_forgotten_and_what_it_counted_is_not(self, bench: Bench) -> None:
        for boot, hits, largest, ended in zip(BOOTS, (3, 4), (8, 5), (True, False), strict=True):
            meters = {"seen_local_hits": hits, "largest_request": largest, "spool_bytes": 100}
            await bench.inbox.tally(TallyReport(boot, {}, {}, ended=ended, meters=meters))
        for _ in range(3):
            await bench.advance(2 * DAY_SECONDS)
            census = await bench.inbox.census()
            assert dict(census.meters) == {"seen_local_hits": 7, "largest_request": 8}
        assert (census.running_boots, census.unclean_boots) == (0, 1)
        await bench.advance(400 * DAY_SECONDS)
        for _ in range(2):
            census = await bench.inbox.census()
            assert dict(census.meters) == {"seen_local_hits": 7, "largest_request": 8}
        assert census.unclean_boots == 0, "nobody can speak for it any more, and nothing is owed"

    async def test_a_boot_that_owes_something_is_never_forgotten(self, bench: Bench) -> None:
        lost = {"shop": SourceTally(received=2, stored=1, duplicate=1)}
        await bench.inbox.tally(TallyReport(BOOTS[0], lost, {}, ended=True))
        await bench.inbox.tally(TallyReport(BOOTS[1], {}, {}, ended=True, meters={"spool_records": 3}))
        await bench.advance(2 * DAY_SECONDS)
        await bench.inbox.census()
        await bench.advance(800 * DAY_SECONDS)
        census = await bench.inbox.census()
        (named,) = census.boots
        assert (named.boot, named.missing) == (BOOTS[0], 1)

    async def test_of_the_largest_request_the_largest_over_all_boots_counts(self, bench: Bench) -> None:
        for boot, events, ended in zip(BOOTS, (8, 5), (True, False), strict=True):
            await bench.inbox.tally(TallyReport(boot, {}, {}, ended=ended, meters={"largest_request": events}))
        assert (await bench.inbox.census()).meters["largest_request"] == 8

    async def test_a_gauge_counts_while_its_boot_reports_and_may_come_down(self, bench: Bench) -> None:
        for records in (9, 5):
            await bench.inbox.tally(TallyReport(BOOTS[0], {}, {}, meters={"spool_records": records}))
        await bench.inbox.tally(TallyReport(BOOTS[1], {}, {}, meters={"spool_records": 2}))
        assert (await bench.inbox.census()).meters["spool_records"] == 7
        await bench.inbox.tally(TallyReport(BOOTS[1], {}, {}, ended=True, meters={"spool_records": 2}))
        assert (await bench.inbox.census()).meters["spool_records"] == 5
        await bench.advance(60)
        assert "spool_records" not in (await bench.inbox.census()).meters
