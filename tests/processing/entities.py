"""Events of entities, in any order, and what is left of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from landfast.domain.delivery import Delivery, Identity
from landfast.domain.event import Event
from landfast.domain.lane import lane_of
from landfast.domain.lane_memory import StateKey
from tests.processing.shop import Shop

BEFORE = datetime(2025, 1, 1, tzinfo=UTC)


async def send(
    shop: Shop, key: str, type_: str, entity: str | None, *, second: float | None = 0.0, **data: Any
) -> None:
    """It occurred so many seconds after a moment long before the shop opened."""
    occurred_at = None if second is None else BEFORE + timedelta(seconds=second)
    delivery = Delivery.of(
        "stripe",
        Identity(key, type_, entity=entity, occurred_at=occurred_at),
        received_at=shop.clock.now(),
        headers=b'[["content-type","application/json"]]',
        body=msgspec.json.encode({"id": key, **data}),
    )
    await shop.inbox.record([delivery])


async def write(event: Event, tx: Any) -> None:
    """A handler that leaves the key of its event as the entity's last one, and each run as an order."""
    await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, $2)", event.key, event.run)


async def state_in_ledger(shop: Shop, machine: str, entity: str) -> str | None:
    lane = lane_of(shop.inbox_id, "stripe", entity)
    states: list[str | None] = await shop.ledger.states([StateKey(lane, machine)])
    return states[0]


async def ran(shop: Shop) -> list[str]:
    """The keys of the events whose handlers ran, in that order."""
    return [row[0] for row in await shop.sql("SELECT key FROM orders ORDER BY id")]
