"""What order per entity costs: a backlog with and without it, the wait of others beside a hot lane, and claims beside a
million events that wait, or beside a transaction that stays open.

Costs are processor time, of the worker and of the server: a busy machine says nothing about seconds.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from bench import machine, stores
from bench.rows import Row
from bench.rows.fairness import percentile, working
from bench.stage import Stage
from bench.stores import Store
from landfast import Event, Inbox, Transaction
from landfast.app.stores import make_wakeup
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.ids import Token, WorkerId, token
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Settlement
from landfast.ports import inbox as ports

PLAIN = "processor time of an event of a backlog, without order, {}"
ORDERED = "processor time of an event of a backlog, 1,000 entities in order, {}"
HOT = "processor time of an event of a backlog, one entity with half of it, {}"
DATABASE = "database time that order adds to an event, 1,000 entities"
EVEN = "receipt to done, p99, 1,000 lanes alike"
BESIDE_HOT = "receipt to done, p99, of the other lanes beside one with half of the events"
NONE_WAIT = "database time of a claim and settle of 100 events of as many lanes, nothing waits"
WAITING = "database time of a claim and settle of 100 events of as many lanes, {:,} parked or queued"
FRESH = "database time of a claim and settle of 100 events of one lane"
PINNED = "database time of a claim and settle of 100 events of one lane, an open transaction beside it"

LANES = 1_000
CLAIMED = 100
BATCH = 500
RATE = 200
"""Events a second of those whose wait is measured."""
SETTLES_WITHIN = 600.0
SECRET = "whsec_bGFuZGZhc3Q="
WORKER = WorkerId(b"benching")

_WAITING = """
INSERT INTO landfast.shelf (event_id, state, run, forced, suspect, crashes, tries, reason, received_at, source, type,
    lane, place, holds, seq, due_at)
SELECT decode(md5('waiting' || n), 'hex'), CASE WHEN n % 2 = 0 THEN 'queued' ELSE 'parked' END, 1, false, false, 0,
    '{{}}', CASE WHEN n % 2 = 0 THEN 'behind' ELSE 'lifecycle:order:' || n END, now(), 'stripe', 'changed',
    'other_' || n % 500, int8send(n) || int8send(n), n % 2 = 0, n, CASE WHEN n % 2 = 1 THEN now() + interval '1 day' END
FROM generate_series(1, {count}) AS n
"""

Opened = Callable[[], AbstractAsyncContextManager[Store]]


async def rows(stage: Stage) -> list[Row]:
    return [
        *await _backlogs(stage),
        *await _beside_a_hot_lane(stage),
        *await _beside_a_crowd(stage),
        *await _pinned(stage),
    ]


async def _backlogs(stage: Stage) -> list[Row]:
    made: list[Row] = []
    added = Row(DATABASE, "us")
    for kind, opened in {
        "PostgreSQL": partial(stores.on_postgres, stage.postgres),
        "SQLite": partial(stores.on_sqlite, stage.folder),
    }.items():
        found = {how: Row(how.format(kind), "us") for how in (PLAIN, ORDERED, HOT)}
        for number in range(stage.sizes.rounds):
            spent = {}
            for how, row in found.items():
                stage.say(f"round {number + 1} of {stage.sizes.rounds}: {row.name}")
                spent[how] = await _backlog(stage, opened, how)
                row.values.append(sum(spent[how][:2]))
                worker, server, seconds = spent[how]
                each = {"worker": round(worker, 1), "store": round(server, 1)}
                row.detail = {"cpu_microseconds_each": each, "per_second": round(stage.sizes.backlog / seconds)}
            if kind == "PostgreSQL":
                added.values.append(spent[ORDERED][1] - spent[PLAIN][1])
        made += found.values()
    return [*made, added]


async def _backlog(stage: Stage, opened: Opened, how: str) -> tuple[float, float, float]:
    """Microseconds of processor time for each event, of the worker and of the server; and the seconds of all."""
    count = stage.sizes.backlog
    async with opened() as store:
        inbox = _inbox(store, stage.folder, ordered=how != PLAIN)
        await inbox.migrate()
        async with inbox.archive() as archive:
            if how != PLAIN:
                await archive.order(["stripe"])
            waiting = _deliveries("evt", _entities(count, is_hot=how == HOT))
            for at in range(0, count, BATCH):
                await archive.record(waiting[at : at + BATCH])
        own, theirs, began = time.process_time(), machine.server_seconds(store.pids()), time.monotonic()
        async with working(inbox), asyncio.timeout(SETTLES_WITHIN):
            while await store.orders() < count or not await store.is_settled():  # noqa: ASYNC110 - a worker is at it
                await asyncio.sleep(0.05)
            seconds = time.monotonic() - began
            later = machine.server_seconds(store.pids())
            spent = time.process_time() - own, machine.spent_between(theirs, later)
        if await store.orders() != count:
            raise RuntimeError("there are not as many orders as events: this is worse than slow")
    return spent[0] / count * 1e6, spent[1] / count * 1e6, seconds


async def _beside_a_hot_lane(stage: Stage) -> list[Row]:
    even, beside = Row(EVEN, "ms"), Row(BESIDE_HOT, "ms")
    for number in range(stage.sizes.rounds):
        for row, is_hot in ((even, False), (beside, True)):
            stage.say(f"round {number + 1} of {stage.sizes.rounds}: {row.name}")
            async with stores.on_postgres(stage.postgres) as store:
                waits = await _waits(stage, store, is_hot=is_hot)
            row.values.append(percentile(waits, 99))
            row.detail = {"p50_ms": round(percentile(waits, 50), 1), "events": len(waits)}
    return [even, beside]


async def _waits(stage: Stage, store: Store, *, is_hot: bool) -> list[float]:
    """Milliseconds from receipt to done of the events of all lanes, or of all but the hot one, which has as many."""
    inbox = _inbox(store, stage.folder, ordered=True)
    await inbox.migrate()
    count = int(RATE * stage.sizes.paced_seconds)
    async with inbox.archive() as archive, working(inbox):
        wakeup = make_wakeup(inbox.settings.store, await archive.identity())
        await wakeup.open()
        await asyncio.sleep(1.0)  # for the worker to listen
        for number in range(count):
            other = "hot" if is_hot else f"cus_{(number + 500) % LANES}"
            await archive.record(_deliveries(f"evt_{number}", [f"cus_{number % LANES}"], type_="measured"))
            await archive.record(_deliveries(f"hot_{number}", [other], type_="beside"))
            wakeup.nudge()
            await asyncio.sleep(1 / RATE)
        async with asyncio.timeout(SETTLES_WITHIN):
            while len(waits := await store.waits_until_done("measured")) < count:  # noqa: ASYNC110 - others are at work
                await asyncio.sleep(0.1)
        await wakeup.close()
    return waits


async def _beside_a_crowd(stage: Stage) -> list[Row]:
    """In turns: a claim of an empty inbox, and one of an inbox in which so many events wait in lanes of their own."""
    sizes = stage.sizes
    made = {0: Row(NONE_WAIT, "ms"), sizes.finished: Row(WAITING.format(sizes.finished), "ms")}
    times: dict[int, list[float]] = {waiting: [] for waiting in made}
    async with AsyncExitStack() as stack:
        found: dict[int, _Claims] = {}
        for waiting in made:
            store = await stack.enter_async_context(stores.on_postgres(stage.postgres))
            inbox = _inbox(store, stage.folder, ordered=True)
            await inbox.migrate()
            archive = await stack.enter_async_context(inbox.archive())
            await archive.order(["stripe"])
            if waiting:  # after that: it would have their lanes go on, because nothing is before them
                stage.say(f"claims in order: {waiting:,} events wait")
                connection = await stack.enter_async_context(stores.connected(store.inbox))
                await connection.execute(_WAITING.format(count=waiting), timeout=3600)
                await connection.execute("VACUUM ANALYZE landfast.shelf", timeout=3600)
                await connection.execute("CHECKPOINT", timeout=3600)
            found[waiting] = _Claims(archive, store)
        for _ in range(sizes.claims):
            for waiting, claims in found.items():
                times[waiting].append(await claims.take(_entities(CLAIMED)))
    for waiting, row in made.items():
        row.values.append(_least_disturbed(times[waiting]))
    return [*made.values()]


async def _pinned(stage: Stage) -> list[Row]:
    """What is finished in a lane stays in its index while a transaction is open that began before."""
    fresh, pinned = Row(FRESH, "ms"), Row(PINNED, "ms")
    async with stores.on_postgres(stage.postgres) as store:
        inbox = _inbox(store, stage.folder, ordered=True)
        await inbox.migrate()
        async with inbox.archive() as archive, stores.connected(store.inbox) as other:
            await archive.order(["stripe"])
            stage.say("claims in order, beside an open transaction")
            claims, hot = _Claims(archive, store), ["hot"] * CLAIMED
            fresh.values.append(_least_disturbed([await claims.take(hot) for _ in range(stage.sizes.claims)]))
            before = max(stage.sizes.finished // 100 // CLAIMED, 1)
            async with other.transaction(isolation="repeatable_read"):
                await other.fetchval("SELECT count(*) FROM landfast.meta")  # from here on nothing can be vacuumed
                for _ in range(before):
                    await claims.take(hot)
                after = [await claims.take(hot) for _ in range(stage.sizes.claims // 3 + 1)]
                pinned.values.append(_least_disturbed(after))
            pinned.notes.append(f"{before * CLAIMED:,} events of it finished since it was opened")
    return [fresh, pinned]


class _Claims:
    """Each claim and its settlement, as one worker after the other would make them."""

    def __init__(self, inbox: ports.Inbox, store: Store) -> None:
        self._inbox = inbox
        self._store = store
        self._number = 0

    async def take(self, entities: Sequence[str]) -> float:
        """Milliseconds of the server's processor time."""
        self._number += 1
        await self._inbox.record(_deliveries(f"evt_{self._number}", entities))
        mine: Token = token(WORKER, self._number)
        before = machine.server_seconds(self._store.pids())
        taken = await self._inbox.claim(token=mine, lease=600, limit=len(entities))
        ends = [Settlement(one.event_id, one.run, one.token, Signal.FINISH, lane=one.lane) for one in taken]
        await self._inbox.settle(ends)
        if len(taken) != len(entities):
            raise RuntimeError(f"{len(taken)} of {len(entities)} were claimed")
        return machine.spent_between(before, machine.server_seconds(self._store.pids())) * 1000


def _least_disturbed(times: Sequence[float]) -> float:
    """What a quarter of them did not exceed: others on this machine make the rest slower, and none faster."""
    return statistics.quantiles(times, n=4)[0] if len(times) > 1 else times[0]


def _inbox(store: Store, folder: Path, *, ordered: bool) -> Inbox:
    nothing = folder / "none.toml"
    nothing.touch()
    inbox = Inbox(nothing, store=store.inbox, ledger=store.ledger)
    inbox.source("stripe", provider="stripe", secrets=[SECRET])

    @inbox.on("stripe", "*", name="create_order", ordered=ordered)
    async def create_order(event: Event, tx: Transaction) -> None:
        await tx.execute("INSERT INTO orders (payment_id, amount, waited) VALUES ($1, $2, $3)", event.key, 1, 0)

    return inbox


def _entities(count: int, *, is_hot: bool = False) -> list[str]:
    """Of so many events: one in a thousand the same, or every second one."""
    return ["hot" if is_hot and number % 2 else f"cus_{number % LANES}" for number in range(count)]


def _deliveries(prefix: str, entities: Sequence[str], *, type_: str = "changed") -> list[Delivery]:
    now = datetime.now(UTC)
    moments = [now + timedelta(microseconds=number) for number in range(len(entities))]
    return [
        Delivery.of(
            "stripe",
            Identity(f"{prefix}_{number}", type_, entity, moments[number]),
            received_at=moments[number],
            headers=b'[["content-type","application/json"]]',
            body=b'{"id": 1, "padding": "' + b"x" * 1_000 + b'"}',
        )
        for number, entity in enumerate(entities)
    ]
