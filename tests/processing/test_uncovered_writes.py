"""A handler that is done and never used its transaction: it writes somewhere else, and nobody would notice."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from landfast.domain.effect import EffectState
from landfast.domain.errors import OwnConnectionError
from landfast.domain.event import Effect, Event
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import NO_WRITES
from landfast.recovery.doctor import Check, Level, examine_inbox
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import INSERT, insert


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith("no_writes")]


async def examined(shop: Shop, meant: frozenset[str] = frozenset()) -> Check:
    found = await examine_inbox(shop.inbox, now=shop.clock.now(), meant=meant)
    (check,) = [one for one in found if one.name == "uncovered writes"]
    return check


@pytest.mark.parametrize("kind", ["async def", "def"])
async def test_a_handler_that_never_uses_its_transaction_is_warned_of_once(
    shop: Shop, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    if kind == "def":

        @shop.on(name="create_order")
        def forgets(event: Event, tx: Any) -> None: ...
    else:

        @shop.on(name="create_order")
        async def forgets_too(event: Event, tx: Any) -> None: ...

    await shop.deliver("evt_1", "evt_2", "evt_3")
    await shop.drain()
    assert await shop.states() == {State.DONE: 3}
    (line,) = warnings_in(caplog)
    assert line.startswith("no_writes handler=create_order fix=")
    (finish,) = (await shop.show("evt_1")).history
    assert (finish.signal, finish.reason) == (Signal.FINISH, NO_WRITES)
    assert [attempt.outcome for attempt in finish.attempts] == [NO_WRITES]
    check = await examined(shop)
    assert check.level is Level.WARN
    assert check.found.endswith("may happen twice: create_order (3)")
    assert "writes=False" in check.fix


async def test_a_handler_that_says_that_it_writes_nothing_is_left_in_peace(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    @shop.on(writes=False)
    async def look(event: Event, tx: Any) -> None: ...

    await shop.deliver("evt_1")
    await shop.drain()
    assert warnings_in(caplog) == []
    (finish,) = (await shop.show("evt_1")).history
    assert (finish.reason, finish.attempts[0].outcome) == ("", "done")
    assert (await examined(shop)).level is Level.OK


async def test_a_write_a_read_an_effect_and_the_connection_itself_count_as_use(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    @shop.effect
    async def send_mail(effect: Effect) -> None: ...

    @shop.on()
    async def reads(event: Event, tx: Any) -> None:
        await tx.fetchval("SELECT 1")

    @shop.on()
    async def stages(event: Event, tx: Any) -> None:
        tx.stage(send_mail)

    @shop.on()
    async def takes_the_connection(event: Event, tx: Any) -> None:
        assert tx.connection is not None

    shop.on(name="writes")(insert)
    await shop.deliver("evt_1")
    await shop.drain()
    assert warnings_in(caplog) == []
    assert {each.outcome for line in (await shop.show("evt_1")).history for each in line.attempts} == {"done"}
    assert (await shop.ledger.counts())[EffectState.DONE] == 1


async def test_each_event_of_a_group_is_looked_at_by_itself(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    """One transaction has many events: what one wrote does not cover its neighbours."""

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        if event.key in {"evt_0", "evt_3"}:
            await tx.execute(INSERT, event.key, 1)

    await shop.deliver(*[f"evt_{number}" for number in range(6)])
    await shop.drain()
    outcomes = {}
    for number in range(6):
        (finish,) = (await shop.show(f"evt_{number}")).history
        outcomes[f"evt_{number}"] = finish.attempts[0].outcome
    assert [key for key, outcome in outcomes.items() if outcome == "done"] == ["evt_0", "evt_3"]
    assert (await examined(shop)).level is Level.OK, "it writes for some, and so it knows how"


async def test_the_doctor_is_quiet_about_a_handler_that_says_so_now(shop: Shop) -> None:
    @shop.on()
    async def look(event: Event, tx: Any) -> None: ...

    await shop.deliver("evt_1")
    await shop.drain()
    assert (await examined(shop)).level is Level.WARN
    assert (await examined(shop, frozenset({"look"}))).level is Level.OK


@pytest.fixture
async def sqlite_shop(tmp_path: Path) -> Any:
    opened = Shop("sqlite", str(tmp_path))
    await opened.open()
    yield opened
    await opened.close()


def by_sqlite3(file: Path, key: str) -> None:
    with closing(sqlite3.connect(file, timeout=0.05)) as own:
        own.execute("INSERT INTO orders (key, amount) VALUES (?, 1)", (key,))


def by_sqlalchemy(file: Path, key: str) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{file}", connect_args={"timeout": 0.05})
    try:
        with engine.begin() as own:
            own.execute(sqlalchemy.text("INSERT INTO orders (key, amount) VALUES (:key, 1)"), {"key": key})
    finally:
        engine.dispose()


@pytest.mark.parametrize(("group", "write"), [(1, by_sqlite3), (4, by_sqlite3), (1, by_sqlalchemy)])
async def test_a_handler_that_waits_for_its_own_transaction_is_told_so_at_its_first_attempt(
    sqlite_shop: Shop, caplog: pytest.LogCaptureFixture, group: int, write: Callable[[Path, str], None]
) -> None:
    shop = sqlite_shop
    is_mended = False

    @shop.on()
    def create_order(event: Event, tx: Any) -> None:
        if is_mended:
            tx.execute(INSERT, event.key, 1)
            return
        write(Path(shop.place) / "ledger.db", event.key)

    keys = [f"evt_{number}" for number in range(group)]
    await shop.deliver(*keys)
    await shop.drain()
    ours = [record for record in caplog.records if record.name == "landfast"]
    told = [record.getMessage() for record in ours if record.levelno >= logging.WARNING]
    (failed,) = [line for line in told if line.startswith("handler_failed")]
    assert "OwnConnectionError at " in failed
    (opened,) = [line for line in told if line.startswith("handler_breaker_opened")]
    assert "wrote to SQLite on a connection of its own" in opened
    records = [await shop.show(key) for key in keys]
    (attempt,) = [each for record in records for line in record.history for each in line.attempts]
    assert (attempt.error, attempt.outcome) == ("OwnConnectionError", "postpone")
    assert attempt.message == str(OwnConnectionError())
    assert "database is locked" in attempt.trace
    check = [one for one in await examine_inbox(shop.inbox, now=shop.clock.now()) if one.name == "breakers"]
    assert (
        "create_order is open" in check[0].found or check[0].level is Level.OK
    )  # told to the inbox by a worker's loop
    # No attempt was burnt, so that it goes on by itself once the code is mended.
    assert not any(made.count for record in records for made in record.tries.values())
    is_mended = True
    await shop.settle_down()
    assert await shop.orders() == keys
