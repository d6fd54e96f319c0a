"""`python -m bench.unhandled`: what a million unhandled events cost those who claim, requeue and look for work.

Two inboxes, one empty and one full, are asked in turns, so that a busy machine is as busy for both. On SQLite, which
works in our own process, it is processor time that counts, and on PostgreSQL the time until the answer. Only events of
the type that is requeued have bodies: nothing reads those of the others.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import apsw

from bench import machine, stores
from bench.stage import ROOT
from bench.stores import DiskPostgres
from landfast.app import Inbox
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.ids import Token, WorkerId, token
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Claim, Settlement
from landfast.ports import inbox as ports
from landfast.processing.control.requeue import REQUEUE_BATCH_EVENTS, Requeue
from landfast.processing.handlers.registry import Registry

TYPES = 40
ROUNDS = 60
CLAIMED = 100
WORKER = WorkerId(b"benching")

_POSTGRES = """
SET maintenance_work_mem = '512MB';
ALTER TABLE landfast.shelf DROP CONSTRAINT shelf_pkey;
DROP INDEX landfast.shelf_due, landfast.shelf_listing, landfast.shelf_unhandled;
INSERT INTO landfast.shelf (event_id, state, run, forced, suspect, crashes, tries, reason, received_at, source, type)
SELECT decode(md5('shelved' || n), 'hex'), 'unhandled', 1, false, false, 0, '{{}}', 'no_handler',
    now() - n * interval '10 ms', 'stripe', 'type.' || n % {types}
FROM generate_series(1, {count}) AS n;
ALTER TABLE landfast.shelf ADD PRIMARY KEY (event_id);
CREATE INDEX shelf_due ON landfast.shelf (due_at) WHERE state = 'delayed';
CREATE INDEX shelf_listing ON landfast.shelf (state, received_at, event_id);
CREATE INDEX shelf_unhandled ON landfast.shelf (source, type, received_at, event_id) WHERE state = 'unhandled'
"""
_SQLITE = """
INSERT INTO shelf (event_id, state, received_at, body_seq, source, type, run, forced, suspect, crashes, tries, handler,
                   reason, error, message)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
SELECT randomblob(16), 'unhandled', i, i, 'stripe', 'type.' || (i % {types}), 1, 0, 0, 0, '{{}}', '', 'no_handler',
       '', ''
FROM n
"""
_SQLITE_READY = """
INSERT INTO work (event_id, received_at, body_seq, source, type, run, forced, suspect, crashes, tries)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
SELECT randomblob(16), i, 0, 'stripe', 'type.' || (i % {types}), 1, 0, 0, 0, '{{}}' FROM n
"""

T = TypeVar("T")
Times = dict[str, list[float]]


class Subject:
    """One inbox that is timed."""

    def __init__(self, inbox: ports.Inbox, clock: Callable[[], float]) -> None:
        self._inbox = inbox
        self._clock = clock
        self._claims = 0
        self._born = 0
        self._requeue = Requeue(inbox, Registry())
        self.times: Times = defaultdict(list)

    async def round(self) -> None:
        if self._born:
            # Those of the round before: what their shelving left to be written is written by now.
            await self._timed("requeue 500", lambda: self._take("taken"))
            await self._settle(await self._claim(REQUEUE_BATCH_EVENTS), Signal.FINISH)
        await self._inbox.record(self._deliveries(CLAIMED, "fresh"))
        claims = await self._timed("claim 100", lambda: self._claim(CLAIMED))
        assert len(claims) == CLAIMED
        await self._settle(claims, Signal.FINISH)
        await self._timed("counts of all types", self._inbox.unhandled)
        await self._timed("a worker's look, nothing to take up", self._requeue.look)
        await self._timed("census, for status and proof", self._inbox.census)
        await self._timed("requeue of a type that has none", lambda: self._take("none"))
        await self._inbox.record(self._deliveries(REQUEUE_BATCH_EVENTS, "taken"))
        claims = await self._claim(REQUEUE_BATCH_EVENTS)
        await self._timed("shelve 500", lambda: self._settle(claims, Signal.NO_HANDLER))

    async def backlog(self) -> None:
        """What looks for leases and suspects, while 4 events are leased."""
        leased = self._token()
        assert len(await self._inbox.claim(token=leased, lease=600, limit=4)) >= 0
        for _ in range(ROUNDS):
            await self._timed("renew 4 leases", lambda: self._inbox.renew(tokens=[leased], lease=600))
            await self._timed("has_suspects", self._inbox.has_suspects)
            await self._timed("claim_suspect", lambda: self._inbox.claim_suspect(token=self._token(), lease=600))
            await self._timed("abandon", lambda: self._inbox.abandon(worker=WorkerId(b"nobody--")))

    def undisturbed(self, what: str) -> float:
        """The quarter of the rounds that was disturbed least took no longer."""
        return statistics.quantiles(self.times[what], n=4)[0]

    async def _timed(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        started = self._clock()
        answer = await ask()
        self.times[what].append((self._clock() - started) * 1000)
        return answer

    async def _claim(self, limit: int) -> list[Claim]:
        return list(await self._inbox.claim(token=self._token(), lease=600, limit=limit))

    async def _settle(self, claims: list[Claim], signal: Signal) -> None:
        await self._inbox.settle([Settlement(one.event_id, one.run, one.token, signal) for one in claims])

    async def _take(self, type_: str) -> int:
        return await self._inbox.requeue(source="stripe", type=type_, limit=REQUEUE_BATCH_EVENTS)

    def _deliveries(self, count: int, type_: str) -> list[Delivery]:
        self._born += count
        identities = [Identity(f"evt_{number}", type_) for number in range(self._born - count, self._born)]
        now = datetime.now(UTC)
        return [Delivery.of("stripe", one, received_at=now, headers=b"[]", body=b"x" * 1000) for one in identities]

    def _token(self) -> Token:
        self._claims += 1
        return token(WORKER, self._claims)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def compare(name: str, empty: Subject, full: Subject) -> None:
    for _ in range(ROUNDS):
        await empty.round()
        await full.round()
    show(name, empty, full)


def show(name: str, empty: Subject, full: Subject) -> None:
    say(f"\n{name}\n{'':38}{'empty':>10}{'full':>10}{'ratio':>8}")
    for what in full.times:
        one, other = empty.undisturbed(what), full.undisturbed(what)
        say(f"{what:38}{one:>7.3f} ms{other:>7.3f} ms{other / one:>8.2f}")


async def on_sqlite(parent: Path, count: int, ready: int) -> None:
    async with _sqlite(parent) as (_, empty), _sqlite(parent) as (path, full):
        _fill(path, _SQLITE.format(count=count, types=TYPES))
        await compare(
            f"SQLite, {count:,} unhandled events of {TYPES} types",
            Subject(empty, time.process_time),
            Subject(full, time.process_time),
        )
    async with _sqlite(parent) as (_, empty), _sqlite(parent) as (path, full):
        _fill(path, _SQLITE_READY.format(count=ready, types=TYPES))
        one, other = Subject(empty, time.process_time), Subject(full, time.process_time)
        await one.backlog()
        await other.backlog()
        show(f"SQLite, {ready:,} ready events", one, other)


async def on_postgres(parent: Path, count: int) -> None:
    server = DiskPostgres(parent)
    try:
        server.create()
        async with AsyncExitStack() as stack:
            subjects = []
            for number in (0, count):
                store = await stack.enter_async_context(stores.on_postgres(server))
                inbox = Inbox(store=store.inbox, ledger=store.ledger)
                await inbox.migrate()
                if number:
                    connection = await stack.enter_async_context(stores.connected(store.inbox))
                    started = time.perf_counter()
                    await connection.execute(_POSTGRES.format(count=number, types=TYPES), timeout=3600)
                    await connection.execute("VACUUM ANALYZE landfast.shelf", timeout=3600)
                    await connection.execute("CHECKPOINT", timeout=3600)  # or it goes on beside what is timed
                    say(f"{number:,} unhandled events were made in {time.perf_counter() - started:.0f} s")
                subjects.append(Subject(await stack.enter_async_context(inbox.archive()), time.perf_counter))
            await compare(f"PostgreSQL, {count:,} unhandled events of {TYPES} types", *subjects)
    finally:
        server.destroy()


@asynccontextmanager
async def _sqlite(parent: Path) -> AsyncIterator[tuple[str, ports.Inbox]]:
    async with stores.on_sqlite(parent) as store:
        inbox = Inbox(store=f"sqlite:{store.inbox}", ledger=f"sqlite:{store.ledger}")
        await inbox.migrate()
        async with inbox.archive() as archive:
            yield store.inbox, archive


def _fill(path: str, statement: str) -> None:
    connection = apsw.Connection(path)
    try:
        connection.execute(statement)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.unhandled", description=__doc__)
    parser.add_argument("--sqlite", type=int, default=1_000_000, help="unhandled events on SQLite; 0 leaves it out")
    parser.add_argument("--ready", type=int, default=200_000, help="ready events on SQLite, for leases and suspects")
    parser.add_argument(
        "--postgres", type=int, default=10_000_000, help="unhandled events on PostgreSQL; 0 leaves it out"
    )
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="landfast-bench-", dir=machine.on_disk(ROOT)))
    folder.chmod(0o755)
    try:
        if asked.sqlite:
            asyncio.run(on_sqlite(folder, asked.sqlite, asked.ready))
        if asked.postgres:
            asyncio.run(on_postgres(folder, asked.postgres))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
