"""A worker in a test: it runs what is due and ends. If it is killed on the way, another one takes its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from landfast.app import Inbox
from landfast.app.inbox import Lifespan
from landfast.app.sources import wants_of
from landfast.app.stores import Stores, open_stores
from landfast.domain.filter import Filter
from landfast.domain.ids import ReceiptDigest, WorkerId, receipt_digest
from landfast.domain.lifecycle import State
from landfast.domain.summary import Cursor, EventSummary
from landfast.processing.handlers.registry import Registry
from landfast.processing.worker import Worker
from landfast.testing.crash import Crash
from landfast.testing.crash_places import watch
from landfast.testing.own_effects import OwnEffects, OwnLedger
from landfast.testing.reports import WorkerKilledError
from landfast.testing.witness import Watched, Witness
from landfast.wakeups.local import LocalWakeup

PAGE_EVENTS = 1_000

Effects = bool | Collection[str]
"""Whether effects are performed; or the names of those that are."""


class Draining:
    def __init__(self, inbox: Inbox, witness: Witness, lifespans: Sequence[Lifespan]) -> None:
        self._inbox = inbox
        self._witness = witness
        self._lifespans = lifespans
        self._due: dict[str, datetime] = {}
        """When each effect is tried again."""

    @asynccontextmanager
    async def stores(self, *, concurrency: int = 1) -> AsyncIterator[Stores]:
        """Both databases, made and brought up to date if need be."""
        inbox = self._inbox
        settings = replace(inbox.settings, concurrency=concurrency)
        async with open_stores(settings, inbox.clock, inbox.chance, migrate=True) as opened:
            yield opened

    async def drain(self, stores: Stores, *, effects: Effects = False, crashes: Sequence[Crash] = ()) -> None:
        """Until nothing is due. What a worker that was killed had in hand is free at once, as it is where a supervisor
        sees it die. With crashes planned each event has a transaction of its own, so that they can be counted."""
        while True:
            worker = WorkerId(self._inbox.chance.bytes(8))
            try:
                await self._one_worker(stores, worker, effects, crashes)
            except WorkerKilledError:
                await stores.inbox.abandon(worker=worker)
                await stores.ledger.abandon(worker=worker)
            else:
                return

    async def next_due(self, stores: Stores, effects: Effects) -> datetime | None:
        """When the first thing falls due that waits now."""
        delayed = [each.due_at async for each in all_events(stores, Filter(state=State.DELAYED)) if each.due_at]
        waiting = [at for at in self._due.values() if at > self._inbox.clock.now()] if effects else []
        return min([*delayed, *waiting], default=None)

    async def _one_worker(self, stores: Stores, worker: WorkerId, effects: Effects, crashes: Sequence[Crash]) -> None:
        own = OwnEffects(
            stores.ledger,
            lambda: own_digests(stores),
            clock=self._inbox.clock,
            witness=self._witness,
            due=self._due,
        )
        own.wanted = _wanted(effects)
        bench, ledger, staged = watch(
            [crash for crash in crashes if not crash.fired],
            bench=self._witness.bench(stores.inbox),
            ledger=OwnLedger(stores.ledger, clock=self._inbox.clock, due=self._due),
            effects=own,
        )
        async with AsyncExitStack() as stack:
            for lifespan in self._lifespans:
                await stack.enter_async_context(lifespan())
            registry = _ungrouped(self._inbox.registry) if crashes else self._inbox.registry
            registry.wants = {name: wants_of(source) for name, source in self._inbox.sources.items()}
            await _drained(lambda watched: self._worker(stores, worker, registry, watched, ledger, staged), bench)

    def _worker(
        self, stores: Stores, worker: WorkerId, registry: Registry, bench: Any, ledger: Any, effects: Any
    ) -> Worker:
        inbox = self._inbox
        return Worker(
            registry=registry,
            bench=bench,
            ledger=ledger,
            effects=effects,
            wakeup=LocalWakeup(),
            clock=inbox.clock,
            chance=inbox.chance,
            inbox=stores.identity,
            worker=worker,
            hands=1,
            lease=inbox.settings.lease,
            hung=_leave_behind,
        )


async def _drained(make: Callable[[Any], Worker], bench: Any) -> None:
    """A worker settles in a task of its own: when that is killed, the rest of it must not wait for ever."""
    draining: asyncio.Task[None] | None = None

    async def settle(settlements: Any) -> Any:
        try:
            return await bench.settle(settlements)
        except WorkerKilledError:
            if draining is not None:
                draining.cancel()
            raise

    worker = make(Watched(bench, settle=settle))
    draining = asyncio.ensure_future(worker.drain())
    try:
        await draining
    finally:
        draining.cancel()


async def all_events(stores: Stores, wanted: Filter) -> AsyncIterator[EventSummary]:
    """Newest first."""
    after: Cursor | None = None
    while page := await stores.inbox.find(wanted, limit=PAGE_EVENTS, after=after):
        for each in page:
            yield each
        after = Cursor(page[-1].received_at, page[-1].event_id)


async def own_digests(stores: Stores) -> frozenset[ReceiptDigest]:
    """By which the ledger knows the events of this inbox."""
    return frozenset(
        [receipt_digest(stores.identity, each.source, each.key) async for each in all_events(stores, Filter())]
    )


def _ungrouped(registry: Registry) -> Registry:
    copied = registry.wrapped(handler=lambda handler: handler.function, effect=lambda effect: effect.function)
    copied.handlers = [replace(handler, group=False) for handler in copied.handlers]
    return copied


def _wanted(effects: Effects) -> Callable[[str], bool] | None:
    if isinstance(effects, bool):
        return (lambda _name: True) if effects else None
    names = {effects} if isinstance(effects, str) else set(effects)
    return lambda name: name in names


def _leave_behind() -> None:
    """A handler that will not end fails its attempt. To kill this process would end the whole test run."""
