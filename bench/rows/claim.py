"""What a claim costs: with nothing behind it, with a million finished events, and beside an open transaction."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import stores
from bench.rows import Row
from bench.stage import Stage
from landfast.app import Inbox
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.ids import Token, WorkerId, token
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Claim, Settlement
from landfast.ports import inbox as ports

EMPTY = "claim of 100 events, nothing behind it"
FINISHED = "claim of 100 events, {:,} finished behind it"
OPEN = "claim of 100 events, an open transaction beside it"
CLAIMED = 100
WORKER = WorkerId(b"benching")

_HISTORY = """
CREATE TEMPORARY TABLE finished AS
SELECT decode(md5('finished' || n), 'hex') AS event_id, now() - n * interval '10 ms' AS received_at
FROM generate_series(1, {count}) AS n;
INSERT INTO landfast.identity (event_id, received_at) SELECT event_id, received_at FROM finished;
INSERT INTO landfast.body (received_at, event_id, source, key, type, headers, body)
SELECT
    received_at, event_id, 'stripe', encode(event_id, 'hex'), 'payment_intent.succeeded', '[]', repeat('x', 200)::bytea
FROM finished;
INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state)
SELECT received_at, event_id, received_at, 1, false, 'finish', 'done' FROM finished;
INSERT INTO landfast.work (event_id, received_at, source, type)
SELECT event_id, received_at, 'stripe', 'payment_intent.succeeded' FROM finished;
DELETE FROM landfast.work
"""


async def rows(stage: Stage) -> list[Row]:
    stage.say("claim cost")
    sizes = stage.sizes
    empty, finished, beside = Row(EMPTY, "ms"), Row(FINISHED.format(sizes.finished), "ms"), Row(OPEN, "ms")
    async with stores.on_postgres(stage.postgres) as store:
        inbox = _inbox(store, stage.folder)
        await inbox.migrate()
        async with inbox.archive() as archive, stores.connected(store.inbox) as connection:
            bench = _Bench(archive)
            empty.values.append(await bench.claims(sizes.claims))
            stage.say(f"claim cost: finishing {sizes.finished:,} events")
            await connection.execute(_HISTORY.format(count=sizes.finished), timeout=900)
            await connection.execute("VACUUM ANALYZE", timeout=900)
            finished.values.append(await bench.claims(sizes.claims))
        async with inbox.archive() as archive, stores.connected(store.inbox) as other:
            bench = _Bench(archive, born="beside")
            async with other.transaction(isolation="repeatable_read"):
                await other.fetchval("SELECT count(*) FROM landfast.meta")  # from here on nothing can be vacuumed
                beside.values.append(await bench.claims(sizes.claims))
                beside.notes.append(f"{sizes.claims * CLAIMED:,} events finished since it was opened")
    return [empty, finished, beside]


class _Bench:
    def __init__(self, inbox: ports.Inbox, *, born: str = "first") -> None:
        self._inbox = inbox
        self._born = born
        self._recorded = 0
        self._claims = 0

    async def claims(self, count: int) -> float:
        """Milliseconds of a claim: the middle of `count`, with the events before it settled, as a worker does."""
        took = []
        for _ in range(count):
            await self._inbox.record(self._deliveries())
            began = time.perf_counter()
            claims = await self._inbox.claim(token=self._token(), lease=30, limit=CLAIMED)
            took.append(time.perf_counter() - began)
            await self._inbox.settle([_done(claim) for claim in claims])
            if len(claims) != CLAIMED:
                raise RuntimeError(f"{CLAIMED} events are ready and {len(claims)} were claimed")
        return statistics.median(took) * 1000

    def _deliveries(self) -> Sequence[Delivery]:
        now = datetime.now(UTC)
        names = [f"{self._born}{self._recorded + number}" for number in range(CLAIMED)]
        self._recorded += CLAIMED
        made = [
            Delivery.of("stripe", Identity(name, "paid"), received_at=now, headers=b"[]", body=b"x" * 1300)
            for name in names
        ]
        return sorted(made, key=lambda delivery: delivery.event_id)

    def _token(self) -> Token:
        self._claims += 1
        return token(WORKER, self._claims)


def _done(claim: Claim) -> Settlement:
    return Settlement(event_id=claim.event_id, run=claim.run, token=claim.token, signal=Signal.FINISH)


def _inbox(store: stores.Store, folder: Path) -> Inbox:
    nothing = folder / "none.toml"
    nothing.touch()
    return Inbox(nothing, store=store.inbox, ledger=store.ledger)
