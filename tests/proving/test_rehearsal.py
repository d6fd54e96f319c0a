"""A dry run of a replay, on each kind of ledger: what would be written is counted, and nothing is."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import psycopg_pool
import pytest

from landfast import Effect, Event, Inbox
from landfast.app.rehearse import rehearse
from landfast.domain.filter import Filter
from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import NextRun
from landfast.proving.rehearsal import Rehearsed
from landfast.proving.row_counts import TableRows
from landfast.testing.factory import deliveries
from tests.ledgers.stacks import engine_on
from tests.recovery.scenes import settle_all

TABLES = (
    "CREATE TABLE orders (payment TEXT PRIMARY KEY, wish TEXT)",
    "CREATE TABLE account (id TEXT PRIMARY KEY, balance INTEGER)",
    "INSERT INTO account VALUES ('shop', 100), ('old', 0), ('older', 0)",
)
WAITING = ("postgresql", "sqlite", "psycopg pool", "asyncpg", "aiosqlite")
BLOCKING = ("blocking psycopg pool", "sync psycopg", "sync sqlite")


async def waits(event: Event, tx: Any) -> dict[str, str]:
    await tx.execute("INSERT INTO orders VALUES ($1, 'a'), ($2, 'b')", event.key, f"{event.key} again")
    await tx.execute("UPDATE account SET balance = balance + 1 WHERE id = 'shop'")
    tx.write("DELETE FROM account WHERE id LIKE 'old%'")
    tx.stage("send_mail", address="ada@example.org")
    return {"order": event.key}


def blocks(event: Event, tx: Any) -> dict[str, str]:
    tx.execute("INSERT INTO orders VALUES ($1, 'a'), ($2, 'b')", event.key, f"{event.key} again")
    tx.execute("UPDATE account SET balance = balance + 1 WHERE id = 'shop'")
    tx.write("DELETE FROM account WHERE id LIKE 'old%'")
    tx.stage("send_mail", address="ada@example.org")
    return {"order": event.key}


@dataclass
class Stage:
    inbox: Inbox
    ask: Callable[[str], Any]
    """What is in the tables, past the ledger."""

    async def rehearse(self, how: NextRun = NextRun()) -> list[Rehearsed]:  # noqa: B008 - a tuple
        ((_, told),) = await rehearse(self.inbox, Filter(state=State.DEAD), how, sample=1)
        return told


@pytest.fixture(params=[*WAITING, *BLOCKING])
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    kind: str = request.param
    is_sqlite = "sqlite" in kind
    where = str(tmp_path / "shop.db") if is_sqlite else request.getfixturevalue("database")

    async def ask(query: str) -> Any:
        if is_sqlite:
            with closing(sqlite3.connect(where, isolation_level=None)) as db:
                return db.execute(query).fetchall()
        connection = await asyncpg.connect(where)
        try:
            return [tuple(row) for row in await connection.fetch(query)]
        finally:
            await connection.close()

    async with AsyncExitStack() as stack:
        ledger: Any = where
        if kind == "psycopg pool":
            ledger = await stack.enter_async_context(psycopg_pool.AsyncConnectionPool(where, open=False))
        elif kind == "blocking psycopg pool":
            ledger = stack.enter_context(psycopg_pool.ConnectionPool(where, open=False))
        elif kind not in {"postgresql", "sqlite"}:
            ledger = engine_on(kind, where)
        inbox = Inbox(store=str(tmp_path / "inbox.db"), ledger=ledger)
        inbox.source("shop", provider="stripe", secrets=["whsec_x"], allow_short_secret=True)
        inbox.on("shop", "order.*", name="create_order")(waits if kind in WAITING else blocks)
        inbox.effect(name="send_mail")(_send_mail)
        for statement in TABLES:
            await ask(statement)
        await inbox.migrate()
        async with inbox.archive() as archive:
            await archive.record(deliveries(1))
            await settle_all(archive, Signal.BURY)
        yield Stage(inbox, ask)


async def _send_mail(effect: Effect, address: str) -> None:
    raise AssertionError("an effect of a rehearsal was performed")


@pytest.mark.req("R62")
async def test_rows_effects_and_result_are_told_and_all_is_rolled_back(stage: Stage) -> None:
    (told,) = await stage.rehearse()
    assert (told.outcome, told.error, told.message) == ("done", "", "")
    assert told.rows == (TableRows("account", updated=1, deleted=2), TableRows("orders", inserted=2))
    assert [(effect.name, effect.arguments) for effect in told.effects] == [
        ("send_mail", {"address": "text of 15 characters"})
    ]
    assert told.result == {"order": "evt_0000"}
    assert await stage.ask("SELECT count(*) FROM orders") == [(0,)]
    assert await stage.ask("SELECT sum(balance), count(*) FROM account") == [(100, 3)]
    async with stage.inbox.stores() as stores:
        (event,) = await stores.inbox.find(Filter(), limit=10)
        assert (event.state, event.run) == (State.DEAD, 1)
        assert sum((await stores.ledger.counts()).values()) == 0
    again = await stage.rehearse()  # nothing is in its way: no receipt, no trigger, no lock
    assert again[0].rows == told.rows


@pytest.mark.req("R62")
@pytest.mark.parametrize("stage", ["postgresql", "sqlite"], indirect=True)
async def test_a_failure_is_told_with_its_line(stage: Stage) -> None:
    await stage.ask("INSERT INTO orders VALUES ('evt_0000 again', 'taken')")
    (told,) = await stage.rehearse()
    assert told.outcome == "failed"
    assert told.error in {"UniqueViolationError", "IntegrityError"}
    assert told.line.startswith("test_rehearsal.py:")
    assert "Traceback" in told.trace
    (other,) = await stage.rehearse(NextRun(only=HandlerName("nobody")))
    assert (other.outcome, other.error) == ("not run", "no_handler")


@pytest.mark.parametrize("stage", ["postgresql"], indirect=True)
async def test_what_would_fail_at_the_commit_fails_in_a_rehearsal(stage: Stage) -> None:
    await stage.ask("ALTER TABLE orders ADD FOREIGN KEY (wish) REFERENCES account DEFERRABLE INITIALLY DEFERRED")
    (told,) = await stage.rehearse()
    assert (told.outcome, told.error) == ("failed", "ForeignKeyViolationError")
