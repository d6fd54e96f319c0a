"""Stripe, as far as the demo needs it: signed deliveries of payments."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from landfast.demo.load import post
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.providers.signing import sign

EVENT = "evt_1NqQPbL7xK9"
"""The event of the story: $89.99 for one pair of running shoes."""
PRICE = 8999


class Sender:
    def __init__(self, secret: str) -> None:
        self.secret = secret
        self._profile = provider("stripe")
        self._key = Secret("demo", self._profile.decode_secret(secret))

    def payment(self, event: str = EVENT, **metadata: str) -> bytes:
        payment = {
            "id": f"pi_{event.removeprefix('evt_')}",
            "object": "payment_intent",
            "amount": PRICE,
            "currency": "usd",
            "description": "Running shoes",
            "metadata": metadata,
            "status": "succeeded",
        }
        data: dict[str, Any] = {
            "id": event,
            "object": "event",
            "created": int(time.time()),
            "data": {"object": payment},
        }
        return json.dumps(data | {"type": "payment_intent.succeeded"}).encode()

    def delivery(self, body: bytes) -> bytes:
        """Signed now, as each delivery is."""
        headers = sign(self._profile, body, self._key, now=time.time())
        return post("/in/stripe", headers, body)

    def deliveries(self, body: bytes, count: int) -> Iterator[bytes]:
        return (self.delivery(body) for _ in range(count))
