"""Retention on PostgreSQL: weeks are dropped whole, nobody waits for it, and whoever is killed is followed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Claim
from landfast.domain.retention import DAY_SECONDS, Ages, Count, Retention
from landfast.inboxes.postgres import expire, retention
from landfast.inboxes.postgres.statements import SQL
from landfast.testing.conformance.inbox.bench import claim, look, state_of
from landfast.testing.conformance.inbox.retention import is_exact, removed, run_through
from landfast.testing.factory import delivery, failure, settlement
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.test_postgres import migrated
from tests.servers import Postgres

DAYS = DAY_SECONDS
PARTS = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relname ~ '^(body|history)_\\d' AND relkind = 'r'"
DETACHING = "FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE % DETACH %' AND state = 'active' AND datname = current_database()"
pytestmark = pytest.mark.req("R43")


@pytest.fixture
async def bench(postgres: Postgres) -> AsyncIterator[PostgresBench]:
    name = postgres.new_database(template=await migrated(postgres))
    made = PostgresBench(postgres.dsn(name))
    try:
        await made.inbox.open()
        yield made
    finally:
        await made.close()
        postgres.drop_database(name)


async def week_of(bench: PostgresBench, number: int) -> dict[State, str]:
    """One event in each state, all of them received now; their keys by state."""
    now = (await bench.fetch("SELECT landfast.clock()"))[0]
    roads = {
        State.DONE: Signal.FINISH,
        State.DEAD: Signal.BURY,
        State.UNHANDLED: Signal.NO_HANDLER,
        State.DELAYED: Signal.RETRY,
        State.PAUSED: Signal.PAUSE,
        State.READY: Signal.RELEASE,
    }
    keys = {state: f"{state}-{number}" for state in (*roads, State.CLAIMED, State.HELD)}
    await bench.inbox.record([delivery(keys[State.HELD], received_at=now, hold="late")])
    made = [delivery(keys[state], received_at=now) for state in (*roads, State.CLAIMED)]
    await bench.inbox.record(made)
    by_id = {each.event_id: each.key for each in made}
    for each in await claim(bench.inbox, 10 * number + 1, limit=99, lease=9e9):
        state = State(by_id[each.event_id].partition("-")[0]) if each.event_id in by_id else State.READY
        if state in roads:
            details = failure(roads[state]) if state in {State.DELAYED, State.DEAD} else {}
            when = {"due_in": 9e8} if state is State.DELAYED else {}
            await bench.inbox.settle([settlement(each, roads[state], **when, **details)])
    return keys


async def test_a_week_is_dropped_and_what_must_outlive_it_is_found_as_before(bench: PostgresBench) -> None:
    keys = await week_of(bench, 1)
    (week,) = await bench.fetch("SELECT tableoid::regclass::text FROM landfast.body LIMIT 1")
    await bench.advance(98 * DAYS)
    await bench.inbox.prepare()
    steps = await run_through(bench.inbox, Retention())
    assert removed(steps) == removed(steps, State.UNHANDLED) == Count(events=1)
    (parts,) = await bench.fetch(PARTS)
    week = week.removeprefix("landfast.body_")
    assert f"body_{week}" not in parts
    assert f"history_{week}" not in parts
    assert sum(step.bytes_freed for step in steps) > 0
    # Each of the others is whole, and goes on.
    for state in set(keys) - {State.DONE, State.UNHANDLED}:
        (found,) = await bench.inbox.find(Filter(key=keys[state]), limit=9)
        assert found.state is state
        assert (await look(bench.inbox, found.event_id)).body == b'{"id":"%s"}' % keys[state].encode()
    dead = (await bench.inbox.find(Filter(state=State.DEAD), limit=9))[0]
    assert [line.state for line in (await look(bench.inbox, dead.event_id)).history] == [State.DEAD]
    assert await bench.inbox.replay([dead.event_id], forced=False, who="ada") == 1
    ready = await claim(bench.inbox, 99, limit=99)
    assert {each.key for each in ready} == {keys[State.DEAD], keys[State.READY]}
    assert all(await bench.inbox.settle([settlement(each, Signal.FINISH) for each in ready]))
    assert await is_exact(bench.inbox)
    # They leave from where they are kept, once their time has come.
    await bench.advance(91 * DAYS)
    assert removed(await run_through(bench.inbox, Retention())) == Count(events=2)
    assert await is_exact(bench.inbox)


async def test_what_ends_after_its_week_was_looked_through_leaves_all_the_same(bench: PostgresBench) -> None:
    """Where weeks are kept for ever, nothing but another walk removes it."""
    ages = Retention(Ages(bodies=9e9, dead=7 * DAYS, memory=7 * DAYS))
    (now,) = await bench.fetch("SELECT landfast.clock()")
    await bench.advance((7 - now.weekday()) * DAYS)
    await bench.inbox.prepare()
    (monday,) = await bench.fetch("SELECT landfast.clock()")
    await bench.inbox.record([delivery("early", received_at=monday), delivery("late", received_at=monday)])
    early, late = await claim(bench.inbox, 1, limit=2, lease=9e9)

    async def bury(taken: Claim, *, after: float, and_pass_after: float) -> int:
        await bench.advance(after * DAYS)
        await bench.inbox.settle([settlement(taken, Signal.BURY, **failure(Signal.BURY))])
        await bench.advance(and_pass_after * DAYS)
        return removed(await run_through(bench.inbox, ages), State.DEAD).events

    assert await bury(early, after=9, and_pass_after=6) == 0, "on the 15th day the week is looked through"
    assert await bury(late, after=1, and_pass_after=1) == 0, "and once a week at most"
    await bench.advance(5.5 * DAYS)
    assert removed(await run_through(bench.inbox, ages), State.DEAD).events == 1, "on the 22nd"
    await bench.advance(7.5 * DAYS)
    assert removed(await run_through(bench.inbox, ages), State.DEAD).events == 1, "on the 30th"
    assert await is_exact(bench.inbox)


async def test_killed_at_any_statement_it_is_continued_and_nothing_is_counted_twice(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 4):
        await week_of(bench, number)
        await bench.advance(number * 7 * DAYS)
    kept = Retention(Ages(7 * DAYS, 99 * DAYS, 14 * DAYS, 14 * DAYS), {"bank": Ages(*4 * (DAYS,))})
    await bench.advance(35 * DAYS)
    await bench.inbox.prepare()
    deadly = Deadly(SQL)
    for module in (retention, expire):
        monkeypatch.setattr(module, "SQL", deadly)
    while True:
        try:
            await run_through(bench.inbox, kept)
        except asyncio.CancelledError:  # its connection is gone, without a word
            assert await is_exact(bench.inbox), f"killed before {deadly.last}"
        else:
            break
    assert set(deadly.killed) > {"retain_hold", "retain_identity", "retain_keep", "retain_walk_end", "retain_count"}
    census = await bench.inbox.census()
    assert (census.events, census.expired) == (24, {State.DONE: 3, State.UNHANDLED: 3})
    unfinished = [state for state in State if state not in {State.DONE, State.DEAD, State.UNHANDLED}]
    assert sum(census.states.get(state, 0) for state in unfinished) == 15
    assert await is_exact(bench.inbox)
    assert await bench.fetch("SELECT count(*) FROM landfast.body") == [18]
    assert len(await claim(bench.inbox, 9, limit=99)) == 3


class Deadly(dict[str, str]):
    """Statements, each of which nobody lives to send the first two times."""

    def __init__(self, statements: dict[str, str]) -> None:
        super().__init__(statements)
        self.killed: Counter[str] = Counter()
        self.last = ""

    def __getitem__(self, name: str) -> str:
        self.last = name
        if self.killed[name] < 2 and not name.startswith("retain_turn"):
            self.killed[name] += 1
            raise asyncio.CancelledError(name)
        return super().__getitem__(name)


async def test_nobody_waits_for_a_week_that_a_backup_reads(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "DETACHES_WITHIN_SECONDS", 60.0)
    await week_of(bench, 1)
    await bench.advance(98 * DAYS)
    await bench.inbox.prepare()
    async with bench.connected() as backup, backup.transaction(isolation="repeatable_read"):
        seen = "SELECT (SELECT count(*) FROM landfast.body) + (SELECT count(*) FROM landfast.history)"
        before = await backup.fetchval(seen)
        passing = asyncio.create_task(run_through(bench.inbox, Retention()))
        for number in range(2):  # bodies, and lines
            await bench.until(f"SELECT count(*) {DETACHING}", 1)
            now = datetime.now(UTC) + timedelta(days=98)
            assert (await bench.inbox.record([delivery(f"meanwhile-{number}", received_at=now)]))[0].is_new
            found = await claim(bench.inbox, 1000 + number, limit=99)
            assert all(await bench.inbox.settle([settlement(each, Signal.FINISH) for each in found]))
            assert await bench.fetch(f"SELECT pg_cancel_backend(pid) {DETACHING}") == [True], "it still waited"
            await bench.until(f"SELECT count(*) {DETACHING} AND query LIKE '%{('body', 'history')[number]}_weekly%'", 0)
        steps = await passing
        assert sum(step.is_left for step in steps) == 2
        assert await backup.fetchval(seen) == before, "all that it saw when it began"
        assert await is_exact(bench.inbox)
    steps = await run_through(bench.inbox, Retention())
    assert not any(step.is_left for step in steps)
    assert sum(step.bytes_freed for step in steps) > 0
    assert await is_exact(bench.inbox)


async def test_a_delivery_for_a_week_that_has_left_is_kept_apart_and_processed(bench: PostgresBench) -> None:
    (then,) = await bench.fetch("SELECT landfast.clock()")
    await bench.advance(98 * DAYS)
    await bench.inbox.prepare()
    await run_through(bench.inbox, Retention())
    spooled = delivery("spooled", received_at=then)
    assert [one.is_new for one in await bench.inbox.record_drained([spooled])] == [True]
    (one,) = await claim(bench.inbox, 1)
    assert list(await bench.inbox.settle([settlement(one, Signal.FINISH)])) == [True]
    assert await state_of(bench.inbox, spooled.event_id) is State.DONE
    assert not any(step.counts for step in await run_through(bench.inbox, Retention()))
    assert await is_exact(bench.inbox)


async def test_a_source_with_shorter_ages_leaves_its_week_before_the_others(bench: PostgresBench) -> None:
    ages = Ages()
    kept = Retention(ages, {"bank": ages._replace(bodies=7 * DAYS, memory=20 * DAYS)})
    (now,) = await bench.fetch("SELECT landfast.clock()")
    await bench.inbox.record([delivery("a", received_at=now), delivery("b", source="bank", received_at=now)])
    await bench.inbox.settle([settlement(each, Signal.FINISH) for each in await claim(bench.inbox, 1, limit=9)])
    await bench.advance(14 * DAYS)  # a week ends at its Sunday
    steps = await run_through(bench.inbox, kept)
    assert removed(steps, source="bank") == Count(bodies=1)
    assert removed(steps) == Count()
    await bench.advance(14 * DAYS)
    assert removed(await run_through(bench.inbox, kept), source="bank") == Count(events=1)
    lines = await bench.fetch("SELECT count(*) FROM landfast.history")
    assert lines == [1]
    assert await is_exact(bench.inbox)


async def test_lines_go_into_their_week_and_those_of_kept_events_beside_it(bench: PostgresBench) -> None:
    keys = await week_of(bench, 1)
    places = "SELECT DISTINCT split_part(tableoid::regclass::text, '_', 2) ~ '^\\d' FROM landfast.{}"
    for table in ("body", "history"):
        assert await bench.fetch(places.format(table)) == [True]
    await bench.advance(98 * DAYS)
    await run_through(bench.inbox, Retention())
    for table in ("body", "history"):
        assert await bench.fetch(places.format(table)) == [False]
    (dead,) = await bench.inbox.find(Filter(key=keys[State.DEAD]), limit=9)
    await bench.inbox.replay([dead.event_id], forced=False, who="ada")
    assert await bench.fetch(places.format("history")) == [False]
