"""Proofs that do not bind the body, such as a signed nonce: each counts for the first body that it comes with.

The inbox remembers a proof with the digest of that body, in the transaction that stores the event. Whoever captured a
request can send its proof again with a body of their own; that body is another, and so nobody believes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from landfast.domain.delivery import Delivery
from landfast.domain.ids import Proof


class Bound(NamedTuple):
    proof: Proof
    digest: bytes
    """The SHA-256 of the body that the proof counts for."""
    received_at: datetime


def have_proofs(deliveries: Sequence[Delivery]) -> bool:
    for delivery in deliveries:  # noqa: SIM110 - every batch passes here, and `any` takes three times as long
        if delivery.proof is not None:
            return True
    return False


def first_bodies(deliveries: Sequence[Delivery]) -> list[Bound]:
    """Each proof with the body that came first with it, by proof: two batches that share some lock them in the same
    order."""
    first: dict[Proof, Bound] = {}
    for delivery in sorted(deliveries, key=lambda one: one.received_at):
        if delivery.proof is not None and delivery.proof not in first:
            digest = hashlib.sha256(delivery.body).digest()
            first[delivery.proof] = Bound(delivery.proof, digest, delivery.received_at)
    return [first[proof] for proof in sorted(first)]


def contradicted(deliveries: Sequence[Delivery], bound: Mapping[Proof, bytes]) -> list[int]:
    """The places of those whose proof counts for another body."""
    return [
        place
        for place, delivery in enumerate(deliveries)
        if delivery.proof is not None and bound[delivery.proof] != hashlib.sha256(delivery.body).digest()
    ]
