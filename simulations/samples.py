"""Deliveries as intake hands them to a journal: a Stripe payment of 1.3 KB with the headers that Stripe sends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from bench.deliveries import KIND, request
from landfast.domain.delivery import Delivery, Headers, Identity
from landfast.intake.identify import kept_headers
from landfast.providers import provider

SOURCE = "stripe"
_KEY = "evt_3Nq{}{:015}"
"""As long as Stripe's own ids."""


def deliveries(name: str, count: int) -> Sequence[Delivery]:
    """New events in the order of their arrival."""
    now = datetime.now(UTC)
    return [
        Delivery.of(
            SOURCE,
            Identity(_KEY.format(name, number), KIND, entity=f"pi_3NqQPbL7xK9aB2cD{number:08}", occurred_at=now),
            received_at=now,
            headers=HEADERS,
            body=BODY,
        )
        for number in range(count)
    ]


def _sample() -> tuple[bytes, bytes]:
    head, _, body = request("3NqQPbL7xK9aB2cD1eF4gH5i").partition(b"\r\n\r\n")
    pairs = [line.split(b": ", 1) for line in head.split(b"\r\n")[1:]]
    hidden = provider("stripe").hidden_headers
    return kept_headers(Headers([(name, value) for name, value in pairs]), hidden), body


HEADERS, BODY = _sample()
