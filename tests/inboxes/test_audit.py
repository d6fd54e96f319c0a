"""PostgreSQL: a line's number is drawn before its transaction ends, and no mark may pass it until then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.postgres import audit as audit_module
from landfast.inboxes.postgres import census as census_module
from landfast.testing.conformance.inbox.bench import claim
from landfast.testing.factory import deliveries, event_in, settlement
from tests.inboxes.postgres_bench import PostgresBench
from tests.patience import PATIENCE_SECONDS

LINE = """
INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state)
VALUES (now(), '\\x01', now(), 1, false, 'finish', 'done') RETURNING seq
"""


@pytest.fixture
async def bench(database: str) -> AsyncIterator[PostgresBench]:
    async with PostgresBench(database).migrated() as made:
        yield made


@pytest.mark.req("R61")
async def test_nothing_is_complete_beyond_a_line_whose_transaction_is_open(bench: PostgresBench) -> None:
    writer = await asyncpg.connect(bench.dsn)
    transaction = writer.transaction()
    await transaction.start()
    early = await writer.fetchval(LINE)
    await event_in(bench.inbox, State.DONE)
    newest = await bench.inbox.newest_line()
    assert newest > early
    waiting = asyncio.create_task(bench.inbox.complete_to())
    done, _ = await asyncio.wait([waiting], timeout=0.2)
    assert not done, "a smaller line may still appear"
    await transaction.rollback()
    assert await asyncio.wait_for(waiting, PATIENCE_SECONDS) == newest
    await writer.close()


async def test_a_writer_that_takes_too_long_holds_the_mark_back_and_a_reader_does_not(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "WRITERS_WITHIN", 0.1)
    other = await asyncpg.connect(bench.dsn)
    reading = other.transaction(isolation="repeatable_read")
    await reading.start()
    await other.fetchval("SELECT count(*) FROM landfast.history")
    await event_in(bench.inbox, State.DONE)
    assert await bench.inbox.complete_to() == await bench.inbox.newest_line() > 0
    await reading.rollback()
    writing = other.transaction()
    await writing.start()
    await other.fetchval(LINE)
    assert await bench.inbox.complete_to() == 0
    await writing.rollback()
    await other.close()


@pytest.mark.req("R61")
async def test_the_sum_of_what_is_done_is_carried_forward_and_misses_no_line_that_was_open(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(census_module, "CARRIED_FROM", 3)
    monkeypatch.setattr(census_module, "LINES_AT_ONCE", 4)
    monkeypatch.setattr(audit_module, "WRITERS_WITHIN", 0.1)
    writer = await asyncpg.connect(bench.dsn)
    transaction = writer.transaction()
    await transaction.start()
    await writer.fetchval(LINE)
    await bench.inbox.record(deliveries(11))
    held = await claim(bench.inbox, 1, limit=11)
    await bench.inbox.settle([settlement(one, Signal.FINISH) for one in held])
    assert (await bench.inbox.census()).states[State.DONE] == 11
    await transaction.commit()
    await writer.close()
    assert (await bench.inbox.census()).states[State.DONE] == 12
    [mark] = await bench.fetch("SELECT seq FROM landfast.mark WHERE name = 'done'")
    assert mark == await bench.inbox.newest_line()
    assert (await bench.inbox.census()).states[State.DONE] == 12
