"""An event that came with others in one request, as a request of its own: for who sends it on, or tests with it."""

from __future__ import annotations

from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import UserError
from landfast.domain.summary import EventRecord, EventSummary
from landfast.providers import Profile
from landfast.providers.items import alone
from landfast.recovery.stored_request import headers_of


def body_alone(profile: Profile, record: EventRecord, command: str) -> bytes:
    """What brings this event when it is delivered. Of one that came in a batch only its own part is kept: it is put
    into a batch of one."""
    event = record.summary
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers_of(record).items()]
    head = Head("POST", f"/in/{event.source}", "", Headers(pairs), len(record.body))
    if profile.items is None or _is_of(profile, head, record.body, event):
        return record.body
    whole = alone(profile.items, record.body)
    if whole is None or not _is_of(profile, head, whole, event):
        raise UserError(
            f"{command}: {profile.name} sends many events in one request, and what stood around this one is not kept;"
            " landfast events export keeps the event itself"
        )
    return whole


def _is_of(profile: Profile, head: Head, body: bytes, event: EventSummary) -> bool:
    found = profile.identify(head, body, received_at=event.received_at)
    return [each.type for each in found] == [event.type]
