"""What a peer loses or doubles: killed with -9 five times, under a sender that repeats what got no answer."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from bench.deliveries import requests
from bench.peers.running import STARTS_WITHIN, Running
from bench.stores import Store, connected

KILLS = 5
SENDERS = 16
EVERY_SECONDS = 2.0
MOST_EVENTS = 30_000
PER_SECOND = 300
QUIET_SECONDS = 75.0
"""So long without a new order: what has none by then stays without one. Every peer here takes over what a dead worker
had in hand within less, and the one that looks once a minute has looked."""
LOOK_EVERY = 0.2
ANSWERED_WITHIN = 10.0
AGAIN_AFTER = 0.1


@dataclass(frozen=True, slots=True)
class Survived:
    acknowledged: int
    lost: int
    """Acknowledged, and no order."""
    doubled: int
    """Orders beyond the first of their payment."""


async def survive(program: Running, store: Store) -> Survived:
    ends = asyncio.Event()
    acknowledged: list[str] = []
    waiting = enumerate(requests(MOST_EVENTS, name="kill"))
    began = time.monotonic()
    senders = [asyncio.create_task(_send(program.port, waiting, began, acknowledged, ends)) for _ in range(SENDERS)]
    try:
        for _ in range(KILLS):
            await _serves_for(EVERY_SECONDS, acknowledged)
            await program.kill()
            await program.start()
        await _serves_for(EVERY_SECONDS, acknowledged)
    finally:
        ends.set()
        await asyncio.gather(*senders)
    orders = await _settled(store)
    lost = sum(payment not in orders for payment in acknowledged)
    return Survived(len(acknowledged), lost, orders.total() - len(orders))


async def _serves_for(seconds: float, acknowledged: list[str]) -> None:
    """From its first answer on: how long it takes to start is not what is asked here."""
    before = len(acknowledged)
    async with asyncio.timeout(STARTS_WITHIN):
        while len(acknowledged) == before:  # noqa: ASYNC110 - another process is at work
            await asyncio.sleep(LOOK_EVERY)
    await asyncio.sleep(seconds)


async def _send(
    port: int, waiting: Iterator[tuple[int, bytes]], began: float, acknowledged: list[str], ends: asyncio.Event
) -> None:
    """One event after the other, each until it is acknowledged, as a provider would."""
    while not ends.is_set() and (following := next(waiting, None)) is not None:
        number, request = following
        await asyncio.sleep(max(0.0, began + number / PER_SECOND - time.monotonic()))
        while not await _is_acknowledged(port, request):  # noqa: ASYNC110 - another process is at work
            await asyncio.sleep(AGAIN_AFTER)
        acknowledged.append(f"pi_kill{number:09}")


async def _is_acknowledged(port: int, request: bytes) -> bool:
    try:
        async with asyncio.timeout(ANSWERED_WITHIN):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(request)
                status = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
    return status.split(b" ")[1:2] in ([b"200"], [b"202"])


async def _settled(store: Store) -> Counter[str]:
    """Orders for each payment, once nothing has come for long enough."""
    changed, before = time.monotonic(), -1
    async with connected(store.ledger) as connection:
        while time.monotonic() - changed < QUIET_SECONDS:
            count = await connection.fetchval("SELECT count(*) FROM orders")
            if count != before:
                changed, before = time.monotonic(), count
            await asyncio.sleep(LOOK_EVERY)
        return Counter(row[0] for row in await connection.fetch("SELECT payment_id FROM orders"))
