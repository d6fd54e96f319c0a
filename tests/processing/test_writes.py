"""`tx.write`: writes that need no answer, queued, and sent together."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import pytest

from landfast.domain.errors import UserError
from landfast.domain.event import Event
from landfast.domain.lifecycle import State
from landfast.ledgers.postgres.handle import PostgresHandle
from landfast.ledgers.sqlite.handle import SqliteHandle
from landfast.ports.ledger import Batch
from landfast.processing.handlers.writes import ApartError, Writes
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import INSERT

KEYS = [f"evt_{number}" for number in range(8)]


Sent = list[Sequence[Batch]]


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What goes to the database without an answer."""
    found: Sent = []
    for kind in (PostgresHandle, SqliteHandle):
        send_all = kind.send_all

        async def noting(handle: Any, batches: Sequence[Batch], send_all: Any = send_all) -> None:
            found.append(batches)
            await send_all(handle, batches)

        monkeypatch.setattr(kind, "send_all", noting)
    return found


async def keys(shop: Shop) -> list[str]:
    return sorted(row[0] for row in await shop.sql("SELECT key FROM orders"))


@pytest.mark.parametrize("kind", ["async def", "def"])
async def test_writes_of_a_group_are_there_with_their_receipts(shop: Shop, kind: str) -> None:
    if kind == "def":

        @shop.on()
        def create(event: Event, tx: Any) -> None:
            tx.write(INSERT, event.key, 1)
            tx.write("UPDATE orders SET amount = amount + 1 WHERE key = $1", event.key)
    else:

        @shop.on()
        async def create_too(event: Event, tx: Any) -> None:
            tx.write(INSERT, event.key, 1)
            tx.write("UPDATE orders SET amount = amount + 1 WHERE key = $1", event.key)

    await shop.deliver(*KEYS)
    await shop.drain()
    assert await shop.states() == {State.DONE: 8}
    assert await keys(shop) == KEYS
    assert {row[0] for row in await shop.sql("SELECT amount FROM orders")} == {2}


async def test_one_statement_of_many_events_is_one_batch(shop: Shop, batches: Sent) -> None:
    @shop.on()
    async def create(event: Event, tx: Any) -> None:
        tx.write(INSERT, event.key, 1)

    await shop.deliver(*KEYS)
    await shop.worker(hands=1).drain()
    assert await keys(shop) == KEYS
    assert max(len(rows) for batch in batches for _, rows in batch) > 1


async def test_a_refused_write_costs_its_own_event_and_no_other(shop: Shop) -> None:
    """A batch that fails says nothing of whose it was. The group runs again, and is cut around the event."""
    await shop.sql("CREATE UNIQUE INDEX one_order ON orders (key)")
    await shop.sql("INSERT INTO orders (key, amount) VALUES ('evt_3', 1)")
    attempts: list[str] = []

    @shop.on(attempts=1)
    async def create(event: Event, tx: Any) -> None:
        attempts.append(event.key)
        tx.write(INSERT, event.key, 2)

    await shop.deliver(*KEYS)
    await shop.drain()
    assert await shop.states() == {State.DONE: 7, State.DEAD: 1}
    assert await shop.state("evt_3") is State.DEAD
    assert await keys(shop) == KEYS
    (line,) = [line for line in (await shop.show("evt_3")).history if line.attempts]
    assert line.attempts[0].error in {"IntegrityError", "UniqueViolationError"}


async def test_a_batch_of_several_that_fails_is_nobodys(shop: Shop) -> None:
    await shop.sql("CREATE UNIQUE INDEX one_order ON orders (key)")
    tx = await shop.ledger.begin(deadline=PATIENCE_SECONDS)
    try:
        writes, scope = Writes(), await tx.scope()
        for writes.owner in ("evt_1", "evt_2"):
            writes.add(INSERT, ("the same", 1))
        with contextlib.suppress(Exception):
            await writes.send(scope.handle)
        with pytest.raises(ApartError):
            writes.check()
    finally:
        await tx.rollback()


async def test_an_earlier_events_write_that_fails_in_a_later_handler_is_the_earlier_ones(shop: Shop) -> None:
    await shop.sql("CREATE UNIQUE INDEX one_order ON orders (key)")
    await shop.sql("INSERT INTO orders (key, amount) VALUES ('evt_0', 1)")

    @shop.on(attempts=1)
    async def create(event: Event, tx: Any) -> None:
        if event.key == "evt_0":
            tx.write(INSERT, event.key, 2)
        else:
            with contextlib.suppress(Exception):
                await tx.execute(INSERT, event.key, 2)

    await shop.deliver(*KEYS)
    await shop.drain()
    assert await shop.state("evt_0") is State.DEAD
    assert await shop.states() == {State.DONE: 7, State.DEAD: 1}
    assert await keys(shop) == KEYS


async def test_what_is_queued_in_a_savepoint_is_undone_with_it(shop: Shop) -> None:
    @shop.on()
    async def create(event: Event, tx: Any) -> None:
        tx.write(INSERT, f"{event.key} before", 1)
        with contextlib.suppress(ZeroDivisionError):
            async with tx.savepoint():
                tx.write(INSERT, f"{event.key} undone", 1)
                raise ZeroDivisionError
        with contextlib.suppress(Exception):
            async with tx.savepoint():
                tx.write("INSERT INTO no_such_table VALUES ($1)", event.key)
        async with tx.savepoint():
            tx.write(INSERT, f"{event.key} inside", 1)
        tx.write(INSERT, f"{event.key} after", 1)

    await shop.deliver("evt_1")
    await shop.drain()
    assert await shop.states() == {State.DONE: 1}
    assert await keys(shop) == ["evt_1 after", "evt_1 before", "evt_1 inside"]


async def test_settings_of_one_event_do_not_reach_the_writes_of_the_next(postgres_shop: Shop) -> None:
    shop = postgres_shop
    await shop.sql("ALTER TABLE orders ADD COLUMN told TEXT DEFAULT current_setting('shop.told', true)")

    expected: dict[str, str] = {}

    @shop.on()
    async def create(event: Event, tx: Any) -> None:
        expected[event.key] = event.key if len(expected) % 2 else ""  # every other one, in whatever groups they run
        if expected[event.key]:
            await tx.execute(f"SET LOCAL shop.told = '{event.key}'")
        tx.write(INSERT, event.key, 1)

    await shop.deliver(*KEYS)
    await shop.worker(hands=1).drain()
    told = {row["key"]: row["told"] or "" for row in await shop.sql("SELECT key, told FROM orders")}
    assert told == expected


async def test_a_handler_that_takes_the_connection_is_told_so(shop: Shop) -> None:
    said: list[str] = []

    @shop.on()
    async def create(event: Event, tx: Any) -> None:
        if event.key == "evt_5":
            tx.connection  # noqa: B018 - the writes of the events before it are waiting
            with pytest.raises(UserError, match=r"tx\.execute") as caught:
                tx.write(INSERT, event.key, 1)
            said.append(str(caught.value))
            await tx.execute(INSERT, event.key, 1)
        else:
            tx.write(INSERT, event.key, 1)

    await shop.deliver(*KEYS)
    await shop.worker(hands=1).drain()
    assert await shop.states() == {State.DONE: 8}
    assert await keys(shop) == KEYS
    assert said


@pytest.mark.parametrize("query", ["SELECT 1", "COMMIT", "SET LOCAL lock_timeout = 1", ""])
async def test_only_writes_are_queued(shop: Shop, query: str) -> None:
    @shop.on(attempts=1)
    async def create(event: Event, tx: Any) -> None:
        with pytest.raises(UserError, match=r"tx\.write takes INSERT"):
            tx.write(query)
        tx.write(INSERT, event.key, 1)

    await shop.deliver("evt_1")
    await shop.drain()
    assert await keys(shop) == ["evt_1"]


async def test_a_write_alone_counts_as_use_and_a_leaked_tx_is_of_none(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    leaked: list[Any] = []

    @shop.on()
    async def create(event: Event, tx: Any) -> None:
        leaked.append(tx)
        tx.write(INSERT, event.key, 1)

    await shop.deliver(*KEYS)
    await shop.drain()
    assert [record for record in caplog.records if record.getMessage().startswith("no_writes")] == []
    assert {each.outcome for key in KEYS for line in (await shop.show(key)).history for each in line.attempts} == {
        "done"
    }
    with pytest.raises(UserError, match="has ended"):
        leaked[0].write(INSERT, "late", 1)
    assert await keys(shop) == KEYS
