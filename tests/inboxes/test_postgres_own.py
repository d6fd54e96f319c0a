"""What is PostgreSQL's own: durability, outages, partitions, watermark."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from landfast.domain.audit import Mark
from landfast.domain.census import SourceTally, TallyReport
from landfast.domain.errors import InboxUnavailableError, RowRefusedError
from landfast.domain.flow import FLOWS_AT_MOST
from landfast.domain.ids import BootId, WorkerId
from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.postgres import census, flows, work
from landfast.inboxes.postgres.audit import complete_to
from landfast.inboxes.postgres.statements import SQL
from landfast.testing.conformance.inbox.bench import claim, claim_flows, claim_one, look, state_of
from landfast.testing.factory import LEASE, deliveries, delivery, event_in, settlement, token
from tests.inboxes.postgres_bench import PostgresBench
from tests.patience import PATIENCE_SECONDS
from tests.servers import Postgres

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.fixture
def database_name(migrated_database: str) -> str:
    """With the tables of an inbox: to migrate takes longer than the test."""
    return migrated_database.rpartition("/")[2]


@pytest.fixture
async def bench(database: str) -> AsyncIterator[PostgresBench]:
    async with PostgresBench(database).migrated() as made:
        yield made


@pytest.mark.req("R3")
async def test_a_record_is_flushed_at_its_commit_and_what_workers_do_is_not(
    bench: PostgresBench, database_name: str
) -> None:
    # The sessions default to the opposite for recording; a deferred trigger sees what holds at COMMIT.
    await bench.fetch(f"ALTER DATABASE {database_name} SET synchronous_commit = off")
    await bench.disconnect()
    await _note_at_commit(bench, "identity", "INSERT")
    await bench.inbox.record([delivery()])
    assert await bench.fetch("SELECT noted FROM noted") == ["on"]

    await bench.fetch(f"ALTER DATABASE {database_name} SET synchronous_commit = on")
    await bench.disconnect()
    await _note_at_commit(bench, "work", "UPDATE OR DELETE")
    held = await claim_one(bench.inbox, 1)
    await bench.inbox.settle([settlement(held, Signal.FINISH)])
    assert await bench.fetch("SELECT noted FROM noted") == ["off", "off"]

    await event_in(bench.inbox, State.UNHANDLED, delivery("unhandled"), number=2)
    await _note_at_commit(bench, "shelf", "DELETE")
    assert await bench.inbox.requeue(source="shop", type="order.created", limit=10) == 1
    assert await bench.fetch("SELECT noted FROM noted") == ["off"]


async def test_a_mark_is_flushed_at_its_commit_whatever_the_role_asks_for(
    bench: PostgresBench, database_name: str
) -> None:
    """The proof believes the audit's mark, and the sum of what is done stands beside the other."""
    held = await event_in(bench.inbox, State.CLAIMED)
    await bench.inbox.settle([settlement(held, Signal.FINISH)])
    await bench.fetch(f"ALTER DATABASE {database_name} SET synchronous_commit = off")
    await bench.disconnect()
    await _note_at_commit(bench, "mark", "INSERT OR UPDATE")
    await bench.inbox.set_audit_mark(await bench.inbox.identity(), Mark(1, b"nonce"))
    assert await bench.fetch("SELECT noted FROM noted") == ["on"]
    async with bench.inbox._connections.working() as connection:
        upto = await complete_to(connection)
    assert await census._carry_done(bench.inbox._connections, upto)
    assert await bench.fetch("SELECT noted FROM noted") == ["on", "on"]


@pytest.mark.req("R3")
async def test_what_was_recorded_survives_a_crash_of_the_server(bench: PostgresBench, postgres: Postgres) -> None:
    batch = deliveries(20)
    await bench.inbox.record(batch)
    postgres.restart(immediate=True)
    await bench.reconnected()
    again = await bench.inbox.record(batch)
    assert not any(one.is_new for one in again)
    assert len(await claim(bench.inbox, 1, limit=50)) == 20


async def test_without_a_server_every_part_is_unavailable_and_afterwards_each_works(
    bench: PostgresBench, postgres: Postgres
) -> None:
    held = await event_in(bench.inbox, State.CLAIMED)
    report = TallyReport(BootId(b"boot---1"), {"shop": SourceTally(1, 1)}, {})
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: bench.inbox.record([delivery("late")]),
        lambda: bench.inbox.tally(report),
        lambda: bench.inbox.claim(token=token(2), lease=LEASE, limit=1),
        lambda: bench.inbox.claim_suspect(token=token(3), lease=LEASE),
        bench.inbox.has_suspects,
        lambda: bench.inbox.renew(tokens=[held.token], lease=LEASE),
        lambda: bench.inbox.settle([settlement(held, Signal.RELEASE)]),
        bench.inbox.census,
        lambda: bench.inbox.replay([held.event_id], forced=False, who="ada"),
        bench.inbox.problems,
    ]
    postgres.stop()
    try:
        for call in calls:
            with pytest.raises(InboxUnavailableError):
                await call()
        with pytest.raises(InboxUnavailableError):
            await bench.new().open()
    finally:
        postgres.start()
    await bench.reconnected()
    for call in calls:
        await call()


@pytest.mark.parametrize(
    "damage",
    [
        "ALTER TABLE landfast.work RENAME COLUMN token TO tokn",
        "ALTER TABLE landfast.work RENAME TO labour",
        "DROP FUNCTION landfast.clock() CASCADE",
        "ALTER SCHEMA landfast RENAME TO seafast",
    ],
)
async def test_a_broken_schema_is_an_outage_and_no_crash(bench: PostgresBench, damage: str) -> None:
    await bench.inbox.record([delivery()])
    await bench.fetch(damage)
    with pytest.raises(InboxUnavailableError):
        await claim(bench.inbox, 1)
    assert await bench.inbox.problems()


async def test_a_demoted_server_is_an_outage(bench: PostgresBench, database_name: str) -> None:
    await bench.fetch(f"ALTER DATABASE {database_name} SET default_transaction_read_only = on")
    await bench.inbox.close()
    await bench.inbox.open()
    with pytest.raises(InboxUnavailableError, match="read-only"):
        await bench.inbox.record([delivery()])


@pytest.mark.parametrize("key", ["nul \0", "half a pair \ud800"])
async def test_text_that_no_column_takes_is_a_refused_row(bench: PostgresBench, key: str) -> None:
    with pytest.raises(RowRefusedError):
        await bench.inbox.record([delivery("good"), delivery(key)])
    assert (await bench.inbox.census()).events == 0


async def test_an_inbox_that_is_not_open_is_unavailable(bench: PostgresBench) -> None:
    with pytest.raises(InboxUnavailableError):
        await bench.new().record([delivery()])


@pytest.mark.req("R3")
async def test_workers_that_hang_leave_intake_its_connection(bench: PostgresBench) -> None:
    blocker = await asyncpg.connect(bench.dsn)
    async with blocker.transaction():
        await blocker.execute("LOCK TABLE landfast.shelf")
        stuck = [asyncio.create_task(claim(bench.inbox, number)) for number in range(8)]
        await bench.until(WAITING, 4)
        assert (await bench.inbox.record([delivery()]))[0].is_new
    await asyncio.gather(*stuck)
    await blocker.close()


@pytest.mark.req("R6")
async def test_a_twin_waits_for_the_first_and_is_new_only_if_that_rolled_back(bench: PostgresBench) -> None:
    what = delivery()
    rival = await asyncpg.connect(bench.dsn)
    transaction = rival.transaction()
    await transaction.start()
    await rival.execute("INSERT INTO landfast.identity VALUES ($1, now())", what.event_id)
    twin = asyncio.create_task(bench.inbox.record([what]))
    await bench.until(WAITING, 1)
    assert not twin.done()
    await transaction.rollback()
    assert (await twin)[0].is_new
    await rival.close()


async def test_claims_are_hot_updates(bench: PostgresBench) -> None:
    await bench.inbox.record(deliveries(500))
    for number in range(10):
        await claim(bench.inbox, number, limit=50)
    await bench.inbox.close()  # a backend reports its counts when it goes
    await bench.until("SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'work'", 500)
    (share,) = await bench.fetch(
        "SELECT n_tup_hot_upd::float / n_tup_upd FROM pg_stat_user_tables WHERE relname = 'work'"
    )
    assert share > 0.9


async def test_what_was_released_below_the_watermark_waits_no_longer_than_a_second(bench: PostgresBench) -> None:
    await bench.inbox.record(deliveries(20))
    first, second = await claim(bench.inbox, 1, limit=2)
    await bench.inbox.settle([settlement(first, Signal.RELEASE)])
    assert [one.key for one in await claim(bench.inbox, 2, limit=2)] == ["evt_0002", "evt_0003"]
    bench.clock.advance(1)
    assert [one.key for one in await claim(bench.inbox, 3, limit=2)] == ["evt_0000", "evt_0004"]
    assert second.key == "evt_0001"


async def test_without_a_backlog_what_was_released_is_claimed_at_once(bench: PostgresBench) -> None:
    await bench.inbox.record(deliveries(5))
    held = await claim(bench.inbox, 1, limit=4)
    await bench.inbox.settle([settlement(held[2], Signal.RELEASE)])
    assert [one.key for one in await claim(bench.inbox, 2, limit=10)] == ["evt_0002", "evt_0004"]


async def test_a_suspect_far_behind_the_front_is_found_when_everything_is_searched(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "FRONT", 3)
    assert not await bench.inbox.has_suspects()  # searches everything once, and then the front only
    await bench.inbox.record(deliveries(6))
    await bench.fetch("UPDATE landfast.work SET suspect = true WHERE seq >= 5")
    assert not await bench.inbox.has_suspects()
    assert await bench.inbox.claim_suspect(token=token(1), lease=LEASE) is None
    bench.clock.advance(work.SEARCH_ALL_EVERY)
    assert await bench.inbox.has_suspects()
    found = [await bench.inbox.claim_suspect(token=token(number), lease=LEASE) for number in (2, 3, 4)]
    assert [one and one.key for one in found] == ["evt_0004", "evt_0005", None]


async def test_one_search_of_everything_is_enough_for_all_the_suspects_that_it_finds(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a million waiting it walks for most of a second: 800 events of a dead worker must not wait for 800 walks."""
    walks: list[str] = []

    class Noted(dict[str, str]):
        def __getitem__(self, name: str) -> str:
            walks.extend([name] * (name == "find_suspects"))
            return super().__getitem__(name)

    monkeypatch.setattr(work, "FRONT", 3)
    monkeypatch.setattr(work, "SQL", Noted(SQL))
    await bench.inbox.record(deliveries(30))
    await bench.fetch("UPDATE landfast.work SET suspect = true WHERE seq > 10")
    assert await bench.inbox.has_suspects()
    found = [await bench.inbox.claim_suspect(token=token(number), lease=LEASE) for number in range(2, 23)]
    assert [one and one.key for one in found] == [f"evt_{number:04}" for number in range(10, 30)] + [None]
    assert len(walks) == 1


async def test_bodies_and_history_lie_in_the_week_of_their_arrival(bench: PostgresBench) -> None:
    now = datetime.now(UTC)
    held = await event_in(bench.inbox, State.DONE, delivery("now", received_at=now))
    await event_in(bench.inbox, State.DONE, delivery("long ago", received_at=datetime(1999, 1, 1, tzinfo=UTC)))
    week = f"{now:%Gw%V}"
    for table in ("body", "history"):
        places = await bench.fetch(f"SELECT DISTINCT tableoid::regclass::text FROM landfast.{table} ORDER BY 1")
        assert set(places) == {f"landfast.{table}_{week}", f"landfast.{table}_kept"}
    assert (await look(bench.inbox, held.event_id)).summary.received_at == now


async def test_partitions_are_made_ahead_whenever_an_inbox_opens(bench: PostgresBench) -> None:
    count = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'landfast.body_weekly'::regclass"
    (before,) = await bench.fetch(count)
    await bench.advance(3 * 7 * 86_400)
    await bench.another()
    assert await bench.fetch(count) == [before + 3]


async def test_an_inbox_that_runs_for_weeks_makes_partitions_every_day(bench: PostgresBench) -> None:
    count = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'landfast.body_weekly'::regclass"
    (before,) = await bench.fetch(count)
    report = TallyReport(BootId(b"boot-one"), {}, {})
    await bench.advance(3 * 7 * 86_400)
    await bench.inbox.tally(report)
    assert await bench.fetch(count) == [before]
    bench.clock.advance(86_400)
    await bench.inbox.tally(report)
    assert await bench.fetch(count) == [before + 3]


async def test_intake_does_not_wait_for_partitions_to_be_made(bench: PostgresBench) -> None:
    """Not even for as long as whoever makes them holds every lock that it took."""
    await bench.inbox.record([delivery("before", received_at=datetime.now(UTC))])
    async with bench.connected() as maker, maker.transaction():
        assert await maker.fetchval("SELECT landfast.prepare(8)") == 8
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert [
                row.is_new for row in await bench.inbox.record([delivery("meanwhile", received_at=datetime.now(UTC))])
            ] == [True]


async def test_partitions_are_made_while_somebody_reads_and_wait_for_nobody(
    bench: PostgresBench, caplog: pytest.LogCaptureFixture
) -> None:
    count = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'landfast.body_weekly'::regclass"
    (before,) = await bench.fetch(count)
    await bench.advance(7 * 86_400)
    async with bench.connected() as reader, reader.transaction(isolation="repeatable_read"):
        await reader.fetch("SELECT count(*) FROM landfast.body")
        await bench.inbox.prepare()
        assert await bench.fetch(count) == [before + 1]
    await bench.advance(14 * 86_400)
    async with bench.connected() as other, other.transaction():
        await other.execute("LOCK TABLE landfast.body_weekly IN SHARE UPDATE EXCLUSIVE MODE")
        await bench.inbox.prepare()
        assert "partitions_not_made" in caplog.text
        assert "LockNotAvailable" in caplog.text
        assert await bench.fetch(count) == [before + 1]
    await bench.inbox.prepare()
    assert await bench.fetch(count) == [before + 3]


async def test_what_came_before_its_week_was_made_is_kept_apart_and_stays_there(bench: PostgresBench) -> None:
    later = 60 * 86_400
    future = datetime.fromtimestamp(datetime.now(UTC).timestamp() + later, UTC)
    held = await event_in(bench.inbox, State.DONE, delivery(received_at=future))
    await bench.advance(later)
    other = await bench.another()
    await event_in(other, State.DONE, delivery("more", received_at=future), number=2)
    places = await bench.fetch("SELECT DISTINCT tableoid::regclass::text FROM landfast.body ORDER BY 1")
    assert places == [f"landfast.body_{future:%Gw%V}", "landfast.body_kept"]
    assert await state_of(other, held.event_id) is State.DONE


async def test_an_operator_waits_for_another_who_replays_the_same_event(bench: PostgresBench) -> None:
    held = await event_in(bench.inbox, State.DONE)
    rival = await asyncpg.connect(bench.dsn)
    async with rival.transaction():
        await rival.execute(SQL["lock"], [held.event_id])
        replayed = Signal.REPLAY, State.READY, "grace", "", True, False, b"{}", True
        assert await rival.fetchval(SQL["history_to_work"], [held.event_id], [State.DONE], *replayed) == 1
        second = asyncio.create_task(bench.inbox.replay([held.event_id], forced=True, who="ada"))
        await bench.until(WAITING, 1)
    assert await second == 0
    lines = (await look(bench.inbox, held.event_id)).history
    assert [(line.run, line.who) for line in lines if line.signal is Signal.REPLAY] == [(2, "grace")]
    await rival.close()


async def test_the_proof_would_miss_an_event_that_is_nowhere(bench: PostgresBench) -> None:
    await bench.inbox.record(deliveries(3))
    await bench.fetch("DELETE FROM landfast.work WHERE seq = 1")
    census = await bench.inbox.census()
    assert (census.events, sum(census.states.values())) == (3, 2)


async def test_a_backlog_is_claimed_and_settled_whole(bench: PostgresBench) -> None:
    await bench.inbox.record(deliveries(1000))
    done = 0
    while held := await claim(bench.inbox, done, limit=300):
        assert all(await bench.inbox.settle([settlement(one, Signal.FINISH) for one in held]))
        done += len(held)
    assert (await bench.inbox.census()).states[State.DONE] == done == 1000


async def _note_at_commit(bench: PostgresBench, table: str, events: str) -> None:
    await bench.fetch("DROP TABLE IF EXISTS noted")
    await bench.fetch("CREATE TABLE noted (noted text)")
    await bench.fetch(
        "CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO public.noted VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$"
    )
    await bench.fetch(
        f"CREATE CONSTRAINT TRIGGER note AFTER {events} ON landfast.{table}"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()"
    )


async def test_a_released_event_is_in_its_flow_again_after_a_second(bench: PostgresBench) -> None:
    held = await event_in(bench.inbox, State.CLAIMED, delivery("early"))
    await bench.inbox.record([delivery("late")])
    await bench.inbox.flows()
    await bench.inbox.settle([settlement(held, Signal.RELEASE)])
    bench.clock.advance(flows.RESCAN_EVERY)
    assert [one.key for one in await claim_flows(bench.inbox, 2, (await bench.inbox.flows()).flows)] == ["early"]


@pytest.mark.parametrize("count", [FLOWS_AT_MOST + 1, 2 * FLOWS_AT_MOST])
async def test_a_look_goes_around_all_types_although_what_it_knew_was_forgotten(
    bench: PostgresBench, count: int
) -> None:
    """Flows that are known are found without a search; here each look has to begin again where the last one ended."""
    await bench.inbox.record([delivery(f"{n}", type=f"made.up.{n:04}") for n in range(count)])
    seen = set[str]()
    for _ in range(5):
        bench.clock.advance(flows.RESCAN_EVERY)
        found = (await bench.inbox.flows()).flows
        assert len(found) >= FLOWS_AT_MOST
        seen |= {flow.type for flow in found}
    assert len(seen) == count


@pytest.mark.parametrize(
    ("seconds", "plain", "thorough"),
    [(0.0, True, True), (flows.QUICK_SCAN, False, True), (flows.SLOW_SCAN, False, False)],
)
async def test_a_search_that_is_slow_is_put_off_until_there_is_nothing_else_to_do(
    bench: PostgresBench, seconds: float, plain: bool, thorough: bool
) -> None:
    await bench.inbox.record([delivery("known", type="known")])
    await bench.inbox.flows()
    await bench.inbox.record([delivery("new", type="new")])
    for is_thorough, is_searched in ((False, plain), (True, thorough)):
        bench.inbox._flows._search_took = seconds
        found = await bench.inbox.flows(is_thorough=is_thorough)
        assert found.is_all is is_searched
        if is_searched or not plain:
            assert ("new" in {flow.type for flow in found.flows}) is is_searched
    bench.clock.advance(flows.RESCAN_EVERY)
    found = await bench.inbox.flows()
    assert found.is_all
    assert {flow.type for flow in found.flows} == {"known", "new"}


async def test_a_backlog_of_one_flow_costs_the_claims_of_the_others_nothing(bench: PostgresBench) -> None:
    """A few steps in the index for each flow, before and after the planner knows how many rows there are."""
    await bench.fetch(
        "INSERT INTO landfast.work (event_id, received_at, source, type)"
        " SELECT decode(md5(n::text), 'hex'), now(), 'shop', CASE WHEN n > 50000 THEN 'rare' ELSE 'many' END"
        " FROM generate_series(1, 50010) AS n"
    )
    asked: dict[str, tuple[object, ...]] = {"flows": ([], [], [], [], True, "", "", False, 200)}
    asked |= {"claim_flows": (token(1), 30.0, 100, ["shop"], ["rare"], [False], [0])}
    for is_analyzed in (False, True):
        if is_analyzed:
            await bench.fetch("ANALYZE landfast.work")
        for name, given in asked.items():
            pages, passed_over = await _costs(bench, SQL[name], given)
            assert passed_over < 100, name
            assert pages < 300, name


async def test_a_statement_that_was_cancelled_half_way_is_no_part_of_the_next(bench: PostgresBench) -> None:
    async def cancelled() -> None:
        async with bench.inbox._connections.working() as connection:
            await connection.prepare("SELECT FROM landfast.work")
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await cancelled()
    assert await bench.inbox.show(delivery("none").event_id) is None


async def test_a_proof_that_asks_for_some_lines_reads_no_others(bench: PostgresBench) -> None:
    """Lines in two partitions, of which one was never vacuumed: neither is looked through for what the other has."""
    await bench.fetch(
        "INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, handlers, kept)"
        " SELECT now() - CASE WHEN n <= 30000 THEN interval '90 days' ELSE interval '0' END,"
        " decode(md5(n::text), 'hex'), now(), 1, false, 'finish', 'done', 'pay', n <= 30000"
        " FROM generate_series(1, 40000) AS n"
    )
    for is_analyzed in (False, True):
        if is_analyzed:
            await bench.fetch("ANALYZE landfast.history")
        for after in (1_000, 35_000):
            pages, passed_over = await _costs(bench, SQL["finished"], (after, after + 5, State.DONE))
            assert passed_over < 10, after
            assert pages < 100, after


async def test_the_newest_events_are_listed_without_a_look_at_all_others(bench: PostgresBench) -> None:
    """The server expected one row of a join over two columns, and walked through everything that ever came."""
    await bench.fetch(
        "CREATE TABLE made AS SELECT decode(md5(n::text), 'hex') AS event_id,"
        " now() + n * interval '1 microsecond' AS received_at FROM generate_series(1, 20000) AS n"
    )
    await bench.fetch("INSERT INTO landfast.identity (event_id, received_at) SELECT event_id, received_at FROM made")
    await bench.fetch(
        "INSERT INTO landfast.body (received_at, event_id, source, key, type, headers, body)"
        " SELECT received_at, event_id, 'stripe', event_id::text, 'paid', '[]', '' FROM made"
    )
    await bench.fetch(
        "INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, handlers)"
        " SELECT received_at, event_id, now(), 1, false, 'finish', 'done', 'pay' FROM made"
    )
    await bench.fetch("ANALYZE")
    pages, _ = await _costs(bench, SQL["find_any"], (*[None] * 7, 50, None, None, None, None, False))
    assert pages < 2_000


async def _costs(bench: PostgresBench, statement: str, given: tuple[Any, ...]) -> tuple[int, int]:
    """How many pages it looked at, and how many rows it read in vain."""
    connection = await asyncpg.connect(bench.dsn)
    try:
        explained = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", *given)
    finally:
        await connection.close()
    top = json.loads(explained)[0]["Plan"]
    return top["Shared Hit Blocks"] + top["Shared Read Blocks"], _passed_over(top)


def _passed_over(node: dict[str, Any]) -> int:
    below = sum(map(_passed_over, node.get("Plans", ())))
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return below + int(removed * node.get("Actual Loops", 1))


@pytest.mark.req("R24")
async def test_a_renewal_waits_for_nobody_and_so_deadlocks_with_nobody(bench: PostgresBench) -> None:
    """Who settles takes rows in the order of their ids, and a renewal as it finds them: each could hold what the other
    wants. What somebody else has in hand is about to be settled, and needs no renewal."""
    await bench.inbox.record(deliveries(3))
    claims = await claim(bench.inbox, 1, limit=3)
    ends = "SELECT leased_until::text FROM landfast.work ORDER BY seq"
    before = await bench.fetch(ends)
    async with bench.connected() as settling, settling.transaction():
        await settling.execute("SELECT FROM landfast.work WHERE event_id = $1 FOR UPDATE", claims[1].event_id)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await bench.inbox.renew(tokens=[claims[0].token], lease=2 * LEASE)
        after = await bench.fetch(ends)
        assert [old != new for old, new in zip(before, after, strict=True)] == [True, False, True]
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await bench.inbox.abandon(worker=WorkerId(claims[0].token[:8])) == 2


async def test_the_ballast_is_laid_where_it_is_worth_it_and_makes_room_for_who_is_alone(bench: PostgresBench) -> None:
    laid = "SELECT coalesce(pg_relation_size(to_regclass('landfast.ballast_laid')), 0)"
    megabyte = 1024 * 1024
    await bench.inbox.lay_ballast(1000 * megabyte)
    assert await bench.fetch(laid) == [0], "an inbox that is smaller needs none"
    used = (await bench.inbox.room()).used
    await bench.inbox.lay_ballast(used // 2)
    (first,) = await bench.fetch(laid)
    assert 0.9 * used / 2 < first < 1.2 * used / 2
    assert (await bench.inbox.room()).used == used, "it is no part of what is stored"
    assert await bench.inbox.problems() == []
    async with bench.inbox.alone():
        assert await bench.fetch(laid) == [0]
    assert await bench.fetch(laid) == [first]
    await bench.inbox.lay_ballast(0)
    assert await bench.fetch(laid) == [0]
