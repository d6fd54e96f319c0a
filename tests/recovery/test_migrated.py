"""An inbox from before the counts: what is there is counted once, and lines that name no handlers are proven."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from landfast import sqlfiles
from landfast.domain.ids import receipt_digest
from landfast.domain.lifecycle import State
from landfast.inboxes.postgres import PostgresInbox, housekeeping
from landfast.inboxes.postgres.statements import MIGRATIONS
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers.sqlite import SqliteLedger
from landfast.testing.clock import ManualClock, SeededChance
from tests.recovery.scenes import proven, store

EVENTS = int(os.environ.get("LANDFAST_OLD_EVENTS", "2_000"))
"""100,000 were tried, too; that takes a minute for each store."""
BEFORE = 2
"""Migrations until the counts."""

SQLITE = """
WITH RECURSIVE made (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made WHERE n < {events})
INSERT INTO {table} SELECT {columns} FROM made
"""
ID = "CAST(printf('%016d', n) AS BLOB)"
DONE = '[{"handler":"create_order","number":1,"outcome":"done"}]'
SQLITE_ROWS = {
    "identity": f"{ID}, n, n",
    "body": f"n, {ID}, n, 'shop', 'evt_' || n, 'order.created', NULL, NULL, x'5b5d', x'7b7d'",
    "history": f"n, n, {ID}, n, 1, 'finish', 'done', '{DONE}', '', ''",
}
POSTGRES = f"""
WITH made AS (
    SELECT n, convert_to(lpad(n::text, 16, '0'), 'UTF8') AS id, now() + n * interval '1 ms' AS at
    FROM generate_series(1, {EVENTS}) AS n
),
identities AS (INSERT INTO landfast.identity (event_id, received_at) SELECT id, at FROM made),
bodies AS (
    INSERT INTO landfast.body (received_at, event_id, source, key, type, headers, body)
    SELECT at, id, 'shop', 'evt_' || n, 'order.created', '[]', '' FROM made
)
INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts)
SELECT at, id, at, 1, false, 'finish', 'done', convert_to('{DONE}', 'UTF8') FROM made
"""


@pytest.fixture(params=["sqlite", "postgres"])
async def old(
    request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Any]:
    """Open, with the schema and many done events of before."""
    with monkeypatch.context() as patch:
        inbox: Any
        if request.param == "sqlite":
            first = sqlfiles.migrations("landfast.inboxes.sqlite")[:BEFORE]
            patch.setattr(sqlfiles, "migrations", lambda _package: first)
            inbox = SqliteInbox(tmp_path / "old.db", clock=clock, chance=SeededChance())
        else:
            patch.setattr(housekeeping, "MIGRATIONS", MIGRATIONS[:BEFORE])
            inbox = PostgresInbox(request.getfixturevalue("database"), clock=clock, chance=SeededChance())
        await inbox.open()
        await inbox.migrate()
    if request.param == "sqlite":
        with closing(sqlite3.connect(tmp_path / "old.db")) as connection, connection:
            for table, columns in SQLITE_ROWS.items():
                connection.execute(SQLITE.format(events=EVENTS, table=table, columns=columns))
        connection.close()
    else:
        server = await asyncpg.connect(request.getfixturevalue("database"))
        await server.execute(POSTGRES)
        await server.close()
    yield inbox
    await inbox.close()


@pytest.mark.req("R61")
async def test_events_of_before_are_counted_once_and_proven_by_what_was_attempted(
    old: Any, ledger: SqliteLedger, tmp_path: Path
) -> None:
    identity = await old.identity()
    digests = [receipt_digest(identity, "shop", f"evt_{n}") for n in range(1, EVENTS + 1)]
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        receipts = "INSERT INTO landfast_receipt VALUES (?, ?, 1, 'done', NULL, 0)"
        connection.executemany(receipts, [(digest, "create_order") for digest in digests[1:]])
        connection.execute(receipts, (digests[0], "somebody_else"))
    connection.close()

    await old.migrate()
    await store(old, 3, prefix="new")

    census = await old.census()
    assert (census.events, census.states[State.DONE], census.states[State.READY]) == (EVENTS + 3, EVENTS, 3)
    proof = await proven(old, ledger)
    assert (proof.lost, proof.unproven, proof.audit.looked_at) == (1, ("shop/evt_1",), EVENTS)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute(receipts, (digests[0], "create_order"))
    connection.close()
    assert (await proven(old, ledger)).holds
    assert (await proven(old, ledger)).audit.looked_at == 0
