"""Strict: the inbox as a journal for which the same key with another body, or under another type, is no duplicate, and
the same proof with another body proves nothing.

The first body wins. Another one under the same key is a bug at the sender, a collision, or worse; so it is neither
processed nor thrown away: it is an event of its own, under the key with the digest of its body behind it, and held
until an operator decides. Sent again, it is a duplicate of itself. The same holds for another body under a proof that
does not bind one (`domain.proofs`): under its own key it could take the place of an event that is still to come.

Anybody who has captured a request can change a type that nobody signed. So a known event under another type is either
a sibling, which some senders send, or a forgery. The source tells them apart by the time between the two (ADR 23).
Either is an event of its own; what is taken for a forgery is held.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from landfast.domain.delivery import Delivery, Difference, Recorded
from landfast.domain.ids import EventId, event_id
from landfast.domain.reconciliation import is_reconciled
from landfast.domain.summary import EventRecord
from landfast.domain.text import storable_key
from landfast.intake.diagnosis.alerts import Alerts
from landfast.intake.identify import LATE
from landfast.ports.clock import Clock
from landfast.ports.journal import Journal

VARIANT = "variant"
DISPROVEN = "disproven"
RETYPED = "type"
TOLD = {
    VARIANT: "held_variant",
    DISPROVEN: "held_disproven",
    RETYPED: "held_retyped",
}
VARIANT_DIGITS = 16
"""Hexadecimal digits of the digest in a variant's key: two bodies that meet in 64 bits do not come by accident."""


class Bodies(Journal, Protocol):
    """An inbox, as far as it is needed here."""

    async def record_drained(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]: ...

    async def differing(self, deliveries: Sequence[Delivery]) -> Sequence[Difference | None]: ...

    async def show(self, event: EventId) -> EventRecord | None: ...


class StrictJournal:
    """Everything that is recorded into the inbox, live or from a spool or broker, passes through this. It also logs
    what is held, after the COMMIT."""

    def __init__(self, inbox: Bodies, *, clock: Clock, drains: bool = False) -> None:
        self._inbox = inbox
        self._drains = drains
        self._alerts = Alerts(clock)

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        recorded = await (self._inbox.record_drained if self._drains else self._inbox.record)(deliveries)
        if old := [place for place, row in enumerate(recorded) if not row.is_new]:
            recorded = await self._look_at_old(deliveries, recorded, old)
        self._tell_of_held(deliveries, recorded)
        return recorded

    async def _look_at_old(
        self, deliveries: Sequence[Delivery], recorded: Sequence[Recorded], old: Sequence[int]
    ) -> Sequence[Recorded]:
        """Of those at these places, which are not new, some may be no duplicates."""
        others = {place: variant_of(deliveries[place], DISPROVEN) for place in old if recorded[place].is_disproven}
        known = [
            place
            for place in old
            if (deliveries[place].is_strict or deliveries[place].siblings is not None)
            and not recorded[place].is_disproven
        ]
        if known:
            others |= await self._others(deliveries, known)
        return await self._record_others(deliveries, recorded, others) if others else recorded

    async def _others(self, deliveries: Sequence[Delivery], known: Sequence[int]) -> dict[int, Delivery]:
        """Those that are no duplicates of what is known under their key."""
        differences = await self._inbox.differing([deliveries[place] for place in known])
        others = {
            place: other
            for place, difference in zip(known, differences, strict=True)
            if difference is not None and (other := another_of(deliveries[place], difference)) is not None
        }
        return {
            place: other for place, other in others.items() if not await self._is_late_twin(other, deliveries[place])
        }

    async def _is_late_twin(self, other: Delivery, delivery: Delivery) -> bool:
        """Whether the event was read from the provider's own list, because its delivery did not arrive: here it is,
        and a list never has the same bytes."""
        if other.hold != VARIANT:
            return False
        record = await self._inbox.show(delivery.event_id)
        return record is not None and is_reconciled(record.headers)

    async def _record_others(
        self, deliveries: Sequence[Delivery], recorded: Sequence[Recorded], others: Mapping[int, Delivery]
    ) -> Sequence[Recorded]:
        """Crash before their COMMIT: nobody was answered, the senders come again, and are found here again."""
        found = dict(zip(others, await self._inbox.record(list(others.values())), strict=True))
        for place, other in others.items():
            if found[place].is_new and other.hold in TOLD:
                first = deliveries[place]
                facts = {"key": first.key, "event": first.event_id, "variant": other.event_id}
                if other.hold == DISPROVEN:  # there may be no event under the key that it came with
                    facts = {"key": other.key, "event": other.event_id}
                self._alerts.error(TOLD[other.hold], first.source, **facts)
        return [found.get(place, row) for place, row in enumerate(recorded)]

    def _tell_of_held(self, deliveries: Sequence[Delivery], recorded: Sequence[Recorded]) -> None:
        for place in [place for place, delivery in enumerate(deliveries) if delivery.hold == LATE]:
            delivery = deliveries[place]
            if recorded[place].is_new:
                facts = {"key": delivery.key, "event": delivery.event_id, "occurred_at": delivery.occurred_at}
                self._alerts.warn("held_late", delivery.source, **facts)


def another_of(delivery: Delivery, difference: Difference) -> Delivery | None:
    """The same delivery as an event of its own; None for a duplicate."""
    if difference.body and delivery.is_strict:
        return variant_of(delivery, VARIANT)
    if difference.type and delivery.siblings is not None:
        start, end = delivery.siblings
        # A spool may bring the later one first: what counts is how far the two are apart. And no sender leaves its type
        # out.
        apart = abs((delivery.received_at - difference.first_at).total_seconds())
        is_sibling = start <= apart < end and delivery.type
        return _renamed(delivery, delivery.type, hold=delivery.hold if is_sibling else RETYPED)
    return None


def variant_of(delivery: Delivery, why: str) -> Delivery:
    """The same delivery as an event of its own, held. It has no proof: what it came with counts for another body."""
    return _renamed(delivery, hashlib.sha256(delivery.body).hexdigest()[:VARIANT_DIGITS], hold=why)


def _renamed(delivery: Delivery, ending: str, *, hold: str) -> Delivery:
    key = storable_key(f"{delivery.key}~{ending}")
    return msgspec.structs.replace(delivery, key=key, event_id=event_id(delivery.source, key), hold=hold, proof=None)
