"""Lanes where others write at the same time: who passes an event and who queues the next take turns, and neither is lost.
And what a lane that is long costs the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Claim
from landfast.inboxes.postgres import lanes, moves
from landfast.inboxes.postgres.statements import SQL
from landfast.testing.conformance.inbox.bench import claim, claim_one, state_of
from landfast.testing.conformance.inbox.lane_bench import SOURCE, keys, of_lane, queue, settled
from landfast.testing.factory import token
from tests.inboxes.postgres_bench import PostgresBench

pytestmark = pytest.mark.req("R29")

WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture
async def bench(migrated_database: str) -> AsyncIterator[PostgresBench]:
    async with PostgresBench(migrated_database).migrated() as made:
        await made.inbox.order([SOURCE])
        yield made


async def two_claims(bench: PostgresBench) -> tuple[Claim, Claim]:
    await bench.inbox.record(of_lane(1, 2))
    return await claim_one(bench.inbox, 1), await claim_one(bench.inbox, 2)


@pytest.mark.parametrize("knows_its_lane", [True, False])
@pytest.mark.parametrize("first_is_passed_first", [True, False])
async def test_one_who_passes_and_one_who_queues_take_turns(
    bench: PostgresBench, first_is_passed_first: bool, knows_its_lane: bool
) -> None:
    """One is stopped before its COMMIT. The other waits for it, sees what it did, and the lane goes on."""
    first, second = await two_claims(bench)
    both = [settled(first, Signal.FINISH), settled(second, Signal.QUEUE)]
    stopped, other = both if first_is_passed_first else both[::-1]
    if not knows_its_lane:  # as of an event that was claimed before its source was ordered
        other = settled(second if first_is_passed_first else first, other.signal, lane=None)
    async with bench.inbox._connections.transaction() as connection:
        await lanes.lock(connection, [(SOURCE, "cus_1")])
        assert await moves.settle(connection, [stopped], moves.groups([stopped])) == [True]
        going = asyncio.create_task((await bench.another()).settle([other]))
        await bench.until(WAITING, 1)
    assert list(await going) == [True]
    assert await state_of(bench.inbox, second.event_id) is State.READY


async def test_a_lane_that_its_worker_did_not_live_to_let_go_on_does_when_the_next_one_starts(
    bench: PostgresBench,
) -> None:
    """An event that was claimed before its source was ordered goes in a statement of its own, and its lane goes on in
    the next: its worker dies between the two."""
    first, second = await two_claims(bench)
    await queue(bench, [second])
    async with bench.inbox._connections.transaction() as connection:
        await connection.execute("DELETE FROM landfast.work WHERE event_id = $1", first.event_id)
    assert await claim(bench.inbox, 3) == []
    await (await bench.another()).order([SOURCE])
    assert await state_of(bench.inbox, second.event_id) is State.READY


async def test_a_worker_that_starts_lets_no_lane_go_on_that_is_held(bench: PostgresBench) -> None:
    _, second = await two_claims(bench)
    await queue(bench, [second])
    await bench.inbox.order([SOURCE])
    assert await state_of(bench.inbox, second.event_id) is State.QUEUED


async def test_who_erases_what_is_queued_and_who_passes_the_one_before_it_do_not_wait_in_a_circle(
    bench: PostgresBench,
) -> None:
    first, second = await two_claims(bench)
    await queue(bench, [second])
    passed = settled(first, Signal.FINISH)
    async with bench.inbox._connections.transaction() as connection:
        await lanes.lock(connection, [(SOURCE, "cus_1")])
        erasing = asyncio.create_task((await bench.another()).erase([second.event_id], who="ada"))
        await bench.until(WAITING, 1)
        assert await moves.settle(connection, [passed], moves.groups([passed])) == [True]
    assert list(await erasing) == [second.event_id]
    assert await state_of(bench.inbox, second.event_id) is State.DEAD


async def test_what_is_recorded_while_a_source_becomes_ordered_holds_its_lane(migrated_database: str) -> None:
    """It has not committed yet when the source is noted: that waits, and marks it."""
    async with PostgresBench(migrated_database).migrated() as bench:
        async with bench.inbox._connections.recording() as connection, connection.transaction():
            await bench.inbox._store(connection, of_lane(1, 2), 0)
            ordering = asyncio.create_task((await bench.another()).order([SOURCE]))
            await bench.until("SELECT count(*) FROM pg_locks WHERE NOT granted", 1)
        await ordering
        assert [each.holds for each in await claim(bench.inbox, 1, limit=9)] == [True, True]


async def test_a_lane_that_went_on_is_claimed_before_what_is_younger(bench: PostgresBench) -> None:
    """It is below the watermark, and found at once by whoever let it go on."""
    first, second = await two_claims(bench)
    await bench.inbox.record(of_lane(*range(3, 9), entity="cus_2"))
    await claim(bench.inbox, 3, limit=3)
    await queue(bench, [second])
    await bench.inbox.settle([settled(first, Signal.FINISH)])
    (oldest,) = await claim(bench.inbox, 4, limit=1)
    assert (oldest.entity, keys([oldest])) == ("cus_1", ["2"])


@pytest.mark.parametrize("statement", ["lane_fronts", "lane_advance"])
async def test_a_long_queue_is_found_by_its_index(bench: PostgresBench, statement: str) -> None:
    """However many are queued in this lane or in others, its first is one step away."""
    arguments = {
        "lane_fronts": f"('\\x{token(1).hex()}', ARRAY['shop'], ARRAY['cus_1'])",
        "lane_advance": "(ARRAY['shop'], ARRAY['cus_1'], 'queued')",
    }
    async with bench.connected() as connection:
        await connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        if statement == "lane_fronts":
            await connection.execute(f"PREPARE asked AS {SQL[statement]}")
            plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN EXECUTE asked {arguments[statement]}"))
            assert plan.count("Index Scan using work_lane") == 1
            assert plan.count("Index Scan using shelf_lane") + plan.count("Index Only Scan using shelf_lane") == 1
            assert "Sort" not in plan
        else:
            assert await connection.fetchval(f"SELECT landfast.advance{arguments[statement]}") is None
