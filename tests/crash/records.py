"""The databases of a crash test: the user's own table, the time, and what is in them in the end."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import msgspec

from landfast.domain.ids import InboxId, event_id, receipt_digest
from landfast.domain.lifecycle import State
from landfast.testing.factory import DAWN
from tests.crash.checker import Books, Staged, Stored
from tests.crash.handlers import handlers_of
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.crash.life import Life

ORDERS = "CREATE TABLE orders (key TEXT NOT NULL, handler TEXT NOT NULL, run INTEGER NOT NULL)"
# No unique key: a second row must be seen, not refused.

WALKED = "CREATE TABLE walked (n INTEGER %s, cycle INTEGER NOT NULL, number INTEGER NOT NULL, late INTEGER NOT NULL)"


async def create(life: Life) -> None:
    """The user's table, and, on PostgreSQL, a clock that a test can set."""
    if life.plan.store == "sqlite":
        with closing(sqlite3.connect(Path(life.plan.folder) / "ledger.db", isolation_level=None)) as connection:
            connection.execute(ORDERS)
            connection.execute(WALKED % "PRIMARY KEY")
        return
    session = await asyncpg.connect(life.plan.dsn)
    try:
        await session.execute(WALKED % "GENERATED ALWAYS AS IDENTITY")
        await session.execute(f"{ORDERS}; CREATE TABLE test_time (seconds double precision NOT NULL)")
        await session.execute("INSERT INTO test_time VALUES (0)")
        for name in ("landfast.clock", "landfast_ledger.clock"):
            await session.execute(
                f"CREATE OR REPLACE FUNCTION {name}() RETURNS timestamptz LANGUAGE sql STABLE AS "
                "'SELECT now() + make_interval(secs => (SELECT seconds FROM public.test_time))'"
            )
    finally:
        await session.close()


async def set_time(life: Life) -> None:
    """Tell PostgreSQL, which has a clock of its own."""
    if life.plan.store == "postgres":
        transaction = await life.ledger.begin(deadline=PATIENCE_SECONDS)
        seconds = (life.clock.now() - DAWN).total_seconds()
        await (await transaction.scope()).handle.execute("UPDATE test_time SET seconds = $1", seconds)
        await transaction.commit(results=(), effects=())


async def books(life: Life, keys: Sequence[str]) -> Books:
    found = Books()
    inbox: InboxId = await life.inbox.identity()
    digests = {receipt_digest(inbox, "stripe", key): key for key in keys}
    for key in keys:
        record = await life.inbox.show(event_id("stripe", key))
        if record is not None:
            found.events[key] = _stored(record)
    for receipt in await life.ledger.receipts(list(digests)):
        found.receipts[digests[receipt.key.digest], receipt.key.handler, receipt.key.run] = receipt.outcome
    effects = [_staged(row) for row in await life.ledger.list(limit=10 * len(keys))]
    found.effects = [staged for staged in effects if staged.key in keys]
    found.writes = Counter(row for row in await _orders(life) if row[0] in keys)
    return found


async def walked(life: Life) -> list[tuple[int, bool]]:
    """The numbers of this cycle's events, as an ordered handler committed them, and which it took for late."""
    transaction = await life.ledger.begin(deadline=5)
    try:
        handle = (await transaction.scope()).handle
        rows = await handle.fetch("SELECT number, late FROM walked WHERE cycle = $1 ORDER BY n", life.plan.cycle)
        return [(row["number"], bool(row["late"])) for row in rows]
    finally:
        await transaction.rollback()


async def _orders(life: Life) -> list[tuple[str, str, int]]:
    transaction = await life.ledger.begin(deadline=PATIENCE_SECONDS)
    try:
        rows = await (await transaction.scope()).handle.fetch("SELECT key, handler, run FROM orders")
        return [(row["key"], row["handler"], row["run"]) for row in rows]
    finally:
        await transaction.rollback()


def _stored(record: Any) -> Stored:
    from tests.crash.life import sha

    summary = record.summary
    return Stored(
        sha=sha(record.body),
        state=summary.state,
        run=summary.run,
        handlers=handlers_of(summary.type),
        history=tuple((line.signal, line.state, line.run) for line in record.history),
        reason=summary.reason,
        begins=State.HELD if summary.type == "order.late" else State.READY,
    )


def _staged(row: dict[str, Any]) -> Staged:
    if row["step"].arrival is not None:
        key = msgspec.json.decode(row["context"])["key"]
        return Staged(row["key"], key, row["handler"], row["name"], row["run"], row["state"], is_arrival=True)
    arguments = msgspec.json.decode(row["arguments"])
    name = f"{row['name']} ({arguments['label']})"
    told = row["message"] if row["error"] == "GiveUp" else ""
    return Staged(row["key"], arguments["order"], row["handler"], name, row["run"], row["state"], told=told)
