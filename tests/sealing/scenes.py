"""A shop in which every place that may hold something of an event holds the canary."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from landfast.domain.delivery import Delivery, Identity
from landfast.domain.ids import EventId
from tests.processing.shop import Shop

MASTER, OTHER = bytes(range(32)), bytes(range(1, 33))


async def fill(shop: Shop, canary: str) -> list[EventId]:
    """One event that is done, with a result and an effect that failed; one that is dead; one that is ready."""

    async def mail(effect: Any, to: str) -> None:
        raise ValueError(f"no such address {to}")

    shop.effect(mail, attempts=1)

    async def good(event: Any, tx: Any) -> Any:
        tx.stage(mail, to=event.data["name"])
        return {"kept": event.data["name"]}

    async def bad(event: Any, tx: Any) -> None:
        raise ValueError(f"no such customer {event.data['name']}")

    shop.on("good", name="good")(good)
    shop.on("bad", name="bad", attempts=1)(bad)
    found = [await deliver(shop, kind, canary) for kind in ("good", "bad")]
    await shop.settle_down()
    await shop.drain()
    return [*found, await deliver(shop, "later", canary)]


async def deliver(shop: Shop, kind: str, canary: str) -> EventId:
    delivery = Delivery.of(
        "stripe",
        Identity(f"evt_{kind}", kind, entity="cus_9"),
        received_at=shop.clock.now(),
        headers=msgspec.json.encode([["x-customer", canary]]),
        body=msgspec.json.encode({"name": canary}),
    )
    (recorded,) = await shop.inbox.record([delivery])
    return EventId(recorded.event_id)


def files_with(folder: Path, *needles: bytes, leave_out: str = "none") -> list[str]:
    """Every file under the folder that holds one of these, as a thief with a copy of it would see it."""
    pattern = "|".join("".join(f"\\x{byte:02x}" for byte in needle) for needle in needles)
    command = ["grep", "-rlaP", f"--exclude-dir={leave_out}", pattern, str(folder)]
    told = subprocess.run(command, env={"LC_ALL": "C", "PATH": os.environ["PATH"]}, capture_output=True, check=False)
    assert told.returncode in (0, 1) or b"No such file" in told.stderr, told.stderr  # temporary ones come and go
    return told.stdout.decode().splitlines()
