"""Signed Stripe deliveries as raw HTTP requests, made before the clock runs: signing is the sender's cost, not ours."""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SECRET = "whsec_of_the_benchmark"
KIND = "payment_intent.succeeded"
_SENT = "1" * 19
"""Stands for the nanoseconds of sending, which have 19 digits until the year 2286."""


@dataclass(frozen=True, slots=True)
class Requests:
    """A file of requests of one length, one behind the other."""

    path: Path
    length: int
    count: int


def write(path: Path, count: int, *, name: str) -> Requests:
    """`count` new events. Signed now, so they are good for the five minutes that a signature lives."""
    length = 0
    with path.open("wb") as file:
        for request in requests(count, name=name):
            length = len(request)
            file.write(request)
    return Requests(path, length, count)


def requests(count: int, *, name: str) -> Iterator[bytes]:
    sent = str(time.time_ns())
    return (request(f"{name}{number:09}", sent=sent) for number in range(count))


def request(event: str, *, sent: str = _SENT) -> bytes:
    body = b"".join((_BEFORE, event.encode(), _BETWEEN, event.encode(), _AMID, sent.encode(), _AFTER))
    signed_at = str(int(time.time())).encode()
    digest = hmac.digest(SECRET.encode(), signed_at + b"." + body, "sha256").hex().encode()
    return _HEAD % (len(body), signed_at, digest) + body


def verified(header: str, body: bytes) -> bool:
    """What every server that is compared with does about the signature."""
    fields = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    timestamp = fields.get("t", "0")
    expected = hmac.digest(SECRET.encode(), timestamp.encode() + b"." + body, "sha256").hex()
    return hmac.compare_digest(expected, fields.get("v1", "")) and abs(time.time() - int(timestamp)) < 300


def _template() -> bytes:
    """About 1.3 KB, what Stripe sends for a payment."""
    payment = {
        "id": "pi_EVENT",
        "object": "payment_intent",
        "amount": 8999,
        "amount_capturable": 0,
        "amount_received": 8999,
        "application": None,
        "automatic_payment_methods": {"allow_redirects": "always", "enabled": True},
        "capture_method": "automatic_async",
        "client_secret": None,
        "confirmation_method": "automatic",
        "created": 1767225600,
        "currency": "usd",
        "customer": "cus_9s6XKzkNRiz8i3",
        "description": "Running shoes, one pair, size 43",
        "last_payment_error": None,
        "latest_charge": "ch_3NqQPbL7xK9aB2cD1eF4gH5i",
        "livemode": True,
        "metadata": {"order": "6735", "sent": "SENT"},
        "payment_method": "pm_1NqQPbL7xK9aB2cD7jK8lM9n",
        "payment_method_options": {"card": {"installments": None, "request_three_d_secure": "automatic"}},
        "payment_method_types": ["card", "link"],
        "receipt_email": "runner@example.com",
        "shipping": {
            "address": {"city": "Oslo", "country": "NO", "line1": "Storgata 1", "line2": None, "postal_code": "0155"},
            "carrier": None,
            "name": "A. Runner",
        },
        "statement_descriptor": "NORTH PIER SHOES",
        "status": "succeeded",
    }
    event = {
        "id": "evt_EVENT",
        "object": "event",
        "api_version": "2025-09-30.clover",
        "created": int(time.time()),
        "data": {"object": payment},
        "livemode": True,
        "pending_webhooks": 1,
        "request": {"id": "req_8hG2kL4mN6pQ8r", "idempotency_key": "c0ffee00-7a11-4bad-9ead-0123456789ab"},
        "type": KIND,
    }
    return json.dumps(event, separators=(",", ":")).encode()


_BEFORE, _BETWEEN, _REST = _template().split(b"EVENT")
_AMID, _AFTER = _REST.split(b"SENT")
_HEAD = (
    b"POST /in/stripe HTTP/1.1\r\nHost: 127.0.0.1\r\nCache-Control: no-cache\r\n"
    b"User-Agent: Stripe/1.0 (+https://stripe.com/docs/webhooks)\r\nAccept: */*; q=0.5, application/json\r\n"
    b"Content-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\nStripe-Signature: t=%b,v1=%b\r\n\r\n"
)
