"""Strict: the inbox as a journal for which the same key with another body is no duplicate, and the same proof with
another body proves nothing.

The first body wins. Another one under the same key is a bug at the sender, a collision, or worse; so it is neither
processed nor thrown away: it is an event of its own, under the key with the digest of its body behind it, and held
until an operator decides. Sent again, it is a duplicate of itself. The same holds for another body under a proof that
does not bind one (`domain.proofs`): under its own key it could take the place of an event that is still to come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

import msgspec

from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.ids import event_id
from landfast.intake.alerts import Alerts
from landfast.intake.identify import storable_key
from landfast.ports.clock import Clock
from landfast.ports.journal import Journal

VARIANT = "variant"
DISPROVEN = "disproven"
DIGITS = 16
"""Hexadecimal digits of the digest in a variant's key: two bodies that meet in 64 bits do not come by accident."""


class Bodies(Journal, Protocol):
    """An inbox, as far as it is needed here."""

    async def record_drained(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]: ...

    async def differing(self, deliveries: Sequence[Delivery]) -> Sequence[bool]: ...


class StrictJournal:
    """Whoever records into the inbox, live or from a spool or broker, records through this. It also tells of what is
    held, once it is."""

    def __init__(self, inbox: Bodies, *, clock: Clock, drains: bool = False) -> None:
        self._inbox = inbox
        self._drains = drains
        self._alerts = Alerts(clock)

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        recorded = await (self._inbox.record_drained if self._drains else self._inbox.record)(deliveries)
        known = [
            place
            for place, (delivery, row) in enumerate(zip(deliveries, recorded, strict=True))
            if delivery.is_strict and not row.is_new and not row.is_disproven
        ]
        disproven = [place for place, row in enumerate(recorded) if row.is_disproven]
        if disproven:
            recorded = await self._hold(deliveries, recorded, disproven, DISPROVEN, "another body under a known proof")
        if known:
            recorded = await self._hold_variants(deliveries, recorded, known)
        self._tell_of_held(deliveries, recorded)
        return recorded

    async def _hold_variants(
        self, deliveries: Sequence[Delivery], recorded: Sequence[Recorded], known: Sequence[int]
    ) -> Sequence[Recorded]:
        differs = await self._inbox.differing([deliveries[place] for place in known])
        places = [place for place, other in zip(known, differs, strict=True) if other]
        if not places:
            return recorded
        return await self._hold(deliveries, recorded, places, VARIANT, "another body under a known key")

    async def _hold(
        self, deliveries: Sequence[Delivery], recorded: Sequence[Recorded], places: Sequence[int], why: str, told: str
    ) -> Sequence[Recorded]:
        """Crash before the variants' COMMIT: nobody was answered, the senders come again, and are found here again."""
        variants = [variant_of(deliveries[place], why) for place in places]
        found = dict(zip(places, await self._inbox.record(variants), strict=True))
        for place, variant in zip(places, variants, strict=True):
            if found[place].is_new:
                first = deliveries[place]
                facts = {"key": first.key, "id": first.event_id, "variant": variant.event_id}
                self._alerts.error(f"{told}, held", first.source, **facts)
        return [found.get(place, row) for place, row in enumerate(recorded)]

    def _tell_of_held(self, deliveries: Sequence[Delivery], recorded: Sequence[Recorded]) -> None:
        for delivery, row in zip(deliveries, recorded, strict=True):
            if delivery.hold and row.is_new:
                facts = {"key": delivery.key, "id": delivery.event_id, "occurred_at": delivery.occurred_at}
                self._alerts.warn(f"held: {delivery.hold}", delivery.source, **facts)


def variant_of(delivery: Delivery, why: str) -> Delivery:
    """The same delivery as an event of its own, held. It has no proof: what it came with counts for another body."""
    key = storable_key(f"{delivery.key}~{hashlib.sha256(delivery.body).hexdigest()[:DIGITS]}")
    return msgspec.structs.replace(delivery, key=key, event_id=event_id(delivery.source, key), hold=why, proof=None)
