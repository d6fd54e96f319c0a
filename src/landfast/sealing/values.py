"""Boxes in the values that an inbox stores and gives back: the same on every driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec

from landfast.domain.delivery import Delivery
from landfast.domain.errors import JournalUnavailableError, MasterKeyMissingError, SealedError
from landfast.domain.ids import EventId
from landfast.domain.outcome import NO_MASTER_KEY, Attempt, Claim, Settlement, unopened, unopened_here
from landfast.domain.summary import EventRecord, EventSummary, HistoryLine
from landfast.sealing.seal import SEALED, TEXT, TEXT_ALONE, Seal, key_in_front

DataKeys = Mapping[EventId, bytes | None]
"""The wrapped data keys of events."""

_SEALED = (TEXT, TEXT_ALONE)


def carry(seal: Seal, deliveries: Iterable[Delivery]) -> list[Delivery]:
    """As they lie in a spool or a broker: each with all the keys that it needs, but the master key."""
    if seal.refusal:  # in clear, or so that nobody could open them later: their senders are not told that they are safe
        raise JournalUnavailableError(seal.refusal)
    return [_carried(seal, each) for each in deliveries] if seal.is_on else list(deliveries)


def open_carried(seal: Seal, deliveries: Iterable[Delivery]) -> list[Delivery]:
    """SealedError where one cannot be opened: it waits for the master key."""
    return [_uncarried(seal, each) if each.headers == SEALED else each for each in deliveries]


def tells(settlement: Settlement) -> bool:
    """Whether it has a text that needs sealing."""
    return bool(settlement.message) or any(each.message or each.trace for each in settlement.attempts)


def seal_settlement(seal: Seal, one: Settlement, keys: DataKeys) -> Settlement:
    def sealed(text: str) -> str:
        return seal.text(text, one.event_id, keys.get(one.event_id))

    attempts = [replace(each, message=sealed(each.message), trace=sealed(each.trace)) for each in one.attempts]
    return replace(one, message=sealed(one.message), attempts=tuple(attempts))


def sealed_claims(claims: Iterable[Claim]) -> list[EventId]:
    return [claim.event_id for claim in claims if claim.headers == SEALED]


def open_claims(seal: Seal, claims: Sequence[Claim], keys: DataKeys) -> tuple[list[Claim], list[Settlement]]:
    """Those that can be processed, and how the others are settled."""
    opened, others = [], []
    for claim in claims:
        try:
            opened.append(_open_claim(seal, claim, keys))
        except MasterKeyMissingError as error:
            others.append(unopened_here(claim, str(error)))
        except SealedError as error:
            others.append(unopened(claim, str(error)))
    return opened, others


def waiting_for_a_key(settlements: Iterable[Settlement]) -> Mapping[str, int]:
    """How many wait for a worker with another master key, by what they would need."""
    return Counter(one.message for one in settlements if one.reason == NO_MASTER_KEY)


def _open_claim(seal: Seal, claim: Claim, keys: DataKeys) -> Claim:
    if claim.headers != SEALED:
        return claim
    headers, body = seal.open_event(claim.event_id, claim.body, keys.get(claim.event_id))
    return replace(claim, headers=headers, body=body)


def is_another(seal: Seal, box: bytes, one: Delivery, keys: DataKeys) -> bool:
    """Whether its event is sealed with another body. One that was changed in the database cannot be compared, as one
    that is not there any more: the delivery is a duplicate, and nobody's deliveries wait behind it."""
    try:
        _, body = seal.open_event(one.event_id, box, keys.get(one.event_id))
    except MasterKeyMissingError:
        raise
    except SealedError:
        return False
    return body != one.body


def sealed_summaries(found: Iterable[EventSummary]) -> list[EventId]:
    return [one.event_id for one in found if one.message.startswith(_SEALED)]


def keys_in_front(found: Iterable[EventSummary], lines: Iterable[HistoryLine] = ()) -> list[bytes | None]:
    """Data keys that stand in texts, and not beside their events."""
    texts = [one.message for one in found]
    texts += [text for line in lines for each in line.attempts for text in (each.message, each.trace)]
    return [key_in_front(text) for text in texts]


def open_summary(seal: Seal, one: EventSummary, keys: DataKeys) -> EventSummary:
    if not one.message.startswith(_SEALED):
        return one
    return replace(one, message=_told(seal, one.message, one.event_id, keys))


def open_record(seal: Seal, record: EventRecord, keys: DataKeys) -> EventRecord:
    event = record.summary.event_id
    headers, body = record.headers, record.body
    if headers == SEALED:
        headers, body = seal.open_event(event, body, keys.get(event))

    def opened(each: Attempt) -> Attempt:
        message, trace = (_told(seal, text, event, keys) for text in (each.message, each.trace))
        return replace(each, message=message, trace=trace)

    def line(each: HistoryLine) -> HistoryLine:
        return replace(each, attempts=tuple(map(opened, each.attempts)))

    summary = open_summary(seal, record.summary, keys)
    return replace(record, summary=summary, headers=headers, body=body, history=tuple(map(line, record.history)))


def _carried(seal: Seal, one: Delivery) -> Delivery:
    content = b"".join((len(one.headers).to_bytes(4), one.headers, one.body))
    return msgspec.structs.replace(one, headers=SEALED, body=seal.carried(content, one.event_id))


def _uncarried(seal: Seal, one: Delivery) -> Delivery:
    content = seal.open_carried(one.body, one.event_id)
    end = 4 + int.from_bytes(content[:4])
    return msgspec.structs.replace(one, headers=content[4:end], body=content[end:])


def _told(seal: Seal, text: str, event: EventId, keys: DataKeys) -> str:
    """A listing must not fail for one line in it."""
    try:
        return seal.open_text(text, event, keys.get(event))
    except SealedError as error:
        return f"({error})"
