"""`python -m bench.queued`: what `tx.write` gains, on PostgreSQL.

A worker inside this process drains a backlog by `tx.execute` and by `tx.write`, in turns. It prints the processor time
of worker and server for one event, which survives a busy machine better than a rate does.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import uvloop

from bench import machine, stores
from bench.stage import ROOT
from bench.stores import DiskPostgres, Store
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.domain.backoff import Backoff
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.event import Event
from landfast.domain.ids import HandlerName, WorkerId
from landfast.inboxes.postgres import PostgresInbox
from landfast.ledgers.postgres import PostgresLedger
from landfast.processing.handlers.registry import Handler, Registry
from landfast.processing.worker import Worker
from landfast.sealing import Seal
from landfast.wakeups.local import LocalWakeup

INSERT = "INSERT INTO orders (payment_id, amount) VALUES ($1, $2)"
BATCH = 200
PADDING = "x" * 1_100
"""A body has 1.3 KB, as Stripe's do."""


async def executes(event: Event, tx: Any) -> None:
    await tx.execute(INSERT, event.data["payment"], event.data["amount"])


async def writes(event: Event, tx: Any) -> None:
    tx.write(INSERT, event.data["payment"], event.data["amount"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.queued", description=__doc__)
    parser.add_argument("--events", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    server = DiskPostgres(machine.on_disk(ROOT))
    server.create()
    try:
        uvloop.run(_rounds(server, asked.events, asked.rounds))
    finally:
        server.destroy()


async def _rounds(server: DiskPostgres, events: int, rounds: int) -> None:
    for number in range(rounds):
        for name, function in (("tx.execute", executes), ("tx.write", writes)):
            async with stores.on_postgres(server) as store:
                told = await _drained(store, function, events)
            sys.stdout.write(f"round {number + 1}, {name}: {told}\n")
            sys.stdout.flush()


async def _drained(store: Store, function: Callable[..., Any], events: int) -> str:
    clock, chance = SystemClock(), SystemChance()
    inbox = PostgresInbox(store.inbox, clock=clock, chance=chance, seal=Seal([]))
    ledger = PostgresLedger(store.ledger, clock=clock, chance=chance, pool=4, seal=Seal([]))
    for each in (inbox, ledger):
        await each.open()
        await each.migrate()
    try:
        await _fill(inbox, clock, events)
        worker = Worker(
            registry=_registry(function),
            bench=inbox,
            ledger=ledger,
            clock=clock,
            chance=chance,
            inbox=await inbox.identity(),
            hands=1,
            lease=30.0,
            wakeup=LocalWakeup(),
            effects=ledger,
            worker=WorkerId(b"bench___"),
        )
        pids = store.pids()
        before = time.process_time(), machine.cpu_seconds(pids), time.monotonic()
        await worker.drain()
        after = time.process_time(), machine.cpu_seconds(pids), time.monotonic()
    finally:
        await ledger.close()
        await inbox.close()
    if (orders := await store.orders()) != events:
        raise RuntimeError(f"{events} events and {orders} orders: this is worse than slow")
    ours, server, seconds = (late - early for early, late in zip(before, after, strict=True))
    return f"worker {ours / events * 1e6:.0f} µs, server {server / events * 1e6:.0f} µs, {events / seconds:.0f} /s"


def _registry(function: Callable[..., Any]) -> Registry:
    found = Registry()
    found.add_handler(
        Handler(
            name=HandlerName("create_order"),
            source="stripe",
            pattern="*",
            function=function,
            attempts=3,
            backoff=Backoff(),
            deadline=30.0,
            isolation=None,
            group=True,
        )
    )
    return found


async def _fill(inbox: PostgresInbox, clock: SystemClock, events: int) -> None:
    for first in range(0, events, BATCH):
        deliveries = [_delivery(clock, number) for number in range(first, min(events, first + BATCH))]
        await inbox.record(sorted(deliveries, key=lambda delivery: delivery.event_id))


def _delivery(clock: SystemClock, number: int) -> Delivery:
    return Delivery.of(
        "stripe",
        Identity(f"evt_{number}", "payment_intent.succeeded", entity=f"cus_{number % 50}"),
        received_at=clock.now() + timedelta(microseconds=number % BATCH),
        headers=b'[["content-type","application/json"]]',
        body=msgspec.json.encode({"payment": f"pay_{number}", "amount": 8999, "padding": PADDING}),
    )


if __name__ == "__main__":
    main()
