"""An inbox for `bench.pages`: millions of events as they are once they were processed, and the rates of a day."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench import stores
from bench.beside import say
from bench.retention_fill import CLOCKS, FILL, INDEXED_AGAIN, UNINDEXED
from bench.retention_sqlite import WEEK_SECONDS, Months
from bench.stores import DiskPostgres, Store
from landfast.app import Inbox
from landfast.domain.ids import InboxId, receipt_digest
from landfast.domain.rates import LATENCY_BUCKETS, Meter, Rate, minute_of

WEEKS = 13
"""On PostgreSQL."""
WEEKS_ON_SQLITE = 5

# What a dead letter has besides its state, with as many groups as a bad week has.
_ERRORS = """
UPDATE {prefix}shelf SET handler = 'create_order', reason = 'attempts_exhausted', message = 'receipt_email',
    error = {error}, line = 'shop.py:48'
WHERE state = 'dead'
"""


async def fill_postgres(server: DiskPostgres, dsn: str, events: int) -> None:
    """This week and those after it: an inbox makes no room for what is past."""
    app = Inbox(store=dsn, ledger=dsn)
    await app.migrate()
    async with app.stores() as opened, stores.connected(dsn) as filling:
        await filling.execute("SET synchronous_commit = off")
        for statement in UNINDEXED:
            await filling.execute(statement)
        for week in range(WEEKS):
            for clock in CLOCKS:
                await filling.execute(clock.format(days=7 * week))
            await opened.inbox.prepare()  # type: ignore[attr-defined]  # of PostgreSQL
            for statement in FILL:
                text = statement.format(week=week, count=events // WEEKS, size=400, inbox=opened.identity.hex())
                await filling.execute(text, timeout=3600)
            say(f"filled week {week + 1}")
        for clock in CLOCKS:
            await filling.execute(clock.format(days=0))
        for statement in (
            *INDEXED_AGAIN,
            _ERRORS.format(prefix="landfast.", error="'Error' || get_byte(event_id, 3) % 40"),
        ):
            await filling.execute(statement, timeout=3600)
        await filling.execute("VACUUM ANALYZE", timeout=3600)
        await opened.inbox.add_rates(rates())
    server.execute("CHECKPOINT")


async def fill_sqlite(store: Store, events: int) -> None:
    """Whole weeks, of which the last ends now."""
    app = Inbox(store=store.inbox, ledger=store.ledger)
    await app.migrate()
    months = Months(Path(store.inbox), events // WEEKS_ON_SQLITE, 1_300)
    months.clock.advance((datetime.now(UTC) - months.clock.now()).total_seconds() - WEEKS_ON_SQLITE * WEEK_SECONDS)
    await months.inbox.open()
    for _ in range(WEEKS_ON_SQLITE):
        await asyncio.to_thread(months.fill)
        say(f"filled week {months.weeks}")
    await months.inbox.add_rates(rates())
    await months.inbox.close()
    async with app.stores() as opened:
        await asyncio.to_thread(_receipts, store, opened.identity)


def _receipts(store: Store, inbox: InboxId) -> None:
    """One for each that is done, or the proof would go through all of them again and again."""
    made_at = int(datetime.now(UTC).timestamp() * 1e6)
    with closing(sqlite3.connect(store.inbox)) as source, closing(sqlite3.connect(store.ledger)) as ledger, ledger:
        source.execute(_ERRORS.format(prefix="", error="'Error' || (body_seq % 40)"))
        source.commit()
        keys = source.execute("SELECT key FROM body WHERE event_id NOT IN (SELECT event_id FROM shelf)")
        ledger.executemany(
            "INSERT INTO landfast_receipt (digest, handler, run, outcome, created_at) VALUES (?, 'book', 1, 'done', ?)",
            ((receipt_digest(inbox, "stripe", key), made_at) for (key,) in keys),
        )


def rates() -> list[Rate]:
    """A day of them."""
    now, took = minute_of(datetime.now(UTC)), (5,) * LATENCY_BUCKETS
    payment = ("stripe", "payment_intent.succeeded")
    return [
        rate
        for ago in range(24 * 60)
        for at in [now - timedelta(minutes=ago)]
        for rate in (
            Rate(at, Meter.RECEIVED, "stripe", count=600),
            Rate(at, Meter.STORED, *payment, count=580, histogram=took),
            Rate(at, Meter.DUPLICATE, "stripe", detail="memory", count=20),
            Rate(at, Meter.DONE, *payment, "create_order", count=570, histogram=took),
            Rate(at, Meter.FAILED, *payment, "create_order", "KeyError", count=3),
        )
    ]
